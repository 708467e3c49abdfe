"""The document around a report: everything it needs is in it, and nothing else can run or be fetched."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files

from assay.evaluate.report.markup import Markup, element, join


def contents(titles: Mapping[str, str]) -> Markup | None:
    """Links to the sections of these ids, where there are several."""
    links = [element("a", title, href=f"#{name}") for name, title in titles.items()]
    return element("nav", links, aria_label="Sections") if len(links) > 1 else None


def document(title: str, *body: Markup | None) -> str:
    """The document around the body, with its style, its script and the policy that allows no other."""
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
