"""Self-contained HTML document with a content security policy that blocks other scripts and all requests."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TypeVar

from assay.html.elements import Markup, element, join

Data = TypeVar("Data")
Sections = Mapping[str, tuple[str, Callable[[Data], Markup | None]]]  # id → title in the table of contents, renderer


@dataclass(frozen=True, slots=True)
class PageContent:
    """Page content without the document around it."""

    title: str
    header: Markup
    contents: Markup | None
    main: Markup


def page(drawn: PageContent) -> str:
    """Render page content as a complete document."""
    return document(
        drawn.title,
        element("a", "Skip to the results", href="#results", class_="skip"),
        drawn.header,
        drawn.contents,
        element("main", drawn.main, id="results"),
        element("footer", "Written by assay. Hover over a mark of a plot for its value."),
    )


def render_sections(table: Sections[Data], data: Data) -> tuple[Markup | None, list[Markup]]:
    """Render the sections that the data has; return links to them (None for fewer than two) and the sections."""
    rendered = {name: markup for name, (_, render) in table.items() if (markup := render(data))}
    links = [element("a", table[name][0], href=f"#{name}") for name in rendered]
    contents = element("nav", links, aria_label="Sections") if len(links) > 1 else None
    return contents, list(rendered.values())


def document(title: str, *body: Markup | None) -> str:
    """Wrap a body in a document with its style, its script and the policy that allows no other."""
    style, script = (Markup(files(__package__).joinpath(name).read_text("utf-8")) for name in ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", style),
    )
    page = element("html", head, element("body", *body, element("script", script)), lang="en")
    return join([Markup("<!doctype html>\n"), page, Markup("\n")])
