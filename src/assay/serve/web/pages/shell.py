"""Page layout and shared components: document head, navigation, headings, badges, empty states, login form."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from starlette.responses import HTMLResponse, Response

from assay.api import Repository
from assay.html.elements import Child, Markup, element, join
from assay.serve.requests import Request
from assay.serve.web.bench import Bench
from assay.text.display import counted

_LONG_TITLE = 60  # characters: longer titles use a smaller font
PLACES = {"Search": "/", "Runs": "/runs", "Compare": "/compare", "Sweeps": "/sweeps", "Index": "/index"}


@dataclass(frozen=True, slots=True)
class Shown:
    """Rendered page content. `again`: seconds until the browser reloads, 0 for never."""

    title: str
    body: Markup
    again: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """A page: path, render function and request."""

    path: str
    show: Callable[[Bench, Any], Shown]
    takes: type[Request] = Request
    fragment: bool = False  # body only, to be inserted into another page
    place: str = ""  # entry of PLACES it belongs to; default: its own path


def document(shown: Shown, here: str = "", served: str = "") -> str:
    """Render the HTML document; `served` names the served repositories."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        _reload_tag(shown.again) if shown.again else None,
        element("title", f"{shown.title} – assay" if shown.title else "assay"),
        element("link", rel="icon", href=address("icon.svg"), type="image/svg+xml"),
        element("link", rel="stylesheet", href=address("report.css")),
        element("link", rel="stylesheet", href=address("app.css")),
        element("script", src=address("app.js")),  # before the first paint: it sets the theme
        element("script", src=address("report.js"), defer=True),
    )
    body = element(
        "body",
        element("a", "Skip to the content", href="#content", class_="skip"),
        _header(here, served),
        element("main", shown.body, id="content", data_again=shown.again or None),
    )
    return join([Markup("<!doctype html>\n"), element("html", head, body, lang="en"), Markup("\n")])


def _reload_tag(seconds: int) -> Markup:
    """Return a reload tag for browsers without scripts; the script reloads without losing typed text."""
    return element("noscript", element("meta", http_equiv="refresh", content=str(seconds)))


def _header(current_path: str, served: str) -> Markup:
    links = [
        element("a", name, href=path, aria_current="page" if path == current_path else None)
        for name, path in PLACES.items()
    ]
    switch = element(
        "button", type="button", id="theme", aria_label="Switch between light and dark", title="Light or dark"
    )
    return element(
        "header",
        element("a", "assay", href="/", class_="brand"),
        element("span", element("bdi", served), class_="where", title=f"Served: {served}") if served else None,
        element("nav", links, aria_label="Pages") if served else None,
        switch,
        class_="site",
    )


def heading(title: str, *about: Child) -> Markup:
    name = element("h1", title, class_="long" if len(title) > _LONG_TITLE else None)
    return element("div", name, element("p", *about, class_="lead") if about else None, class_="opening")


def stored_heading(bench: Bench, title: str, *about: Child) -> Markup:
    """Render the heading of a page of stored data; for several repositories it names the folder."""
    if not bench.multi_repo or bench.store:
        return heading(title, *about)
    folder = element("code", str(bench.runs_file.parent))
    location = ["Stored for the workspace in ", folder, "; to see those of one repository, serve it alone."]
    return heading(title, *about, " " if about else None, *location)


def took(seconds: float) -> str:
    return f" in {seconds * 1000:,.0f} ms · " if seconds >= 0.001 else " in less than 1 ms · "


def freshness_badge(repo: Repository) -> Markup:
    """Render a badge: fresh, the number of stale files, or what is still to come."""
    stale = repo.freshness().stale
    if not stale and (pending := repo.pending):
        return element("span", pending, class_="badge kind-loss")
    if not stale:
        return element("span", "fresh", class_="badge kind-win")
    return element("span", f"{counted(len(stale), 'file')} changed since", class_="badge kind-loss")


def absent(bench: Bench, repo: Repository) -> Markup:
    """Render a note per repository missing from an answer; empty if none is."""
    return join(
        element("p", element("strong", f"Without {label}"), f": its index is {why.rstrip('.')}.", class_="note absent")
        for label, why in bench.without(repo).items()
    )


def empty(title: str, *about: Child, command: str = "") -> Markup:
    """Render an empty state: title, explanation and a command to run."""
    return element(
        "div",
        element("h2", title),
        element("p", *about),
        element("pre", element("code", command), class_="command") if command else None,
        class_="empty",
    )


def failed(status: int, line: str) -> Shown:
    """Render an error page."""
    titles = {404: "Not found", 503: "Not ready", 504: "Too slow", 500: "Internal error"}
    title = titles.get(status, "Invalid request")
    return Shown(title, empty(title, line))


# Login form


def login_page(wrong: bool = False) -> Response:
    form = element(
        "form",
        element("h2", "Token required"),
        element("p", "Wrong token." if wrong else "Enter the token this server was started with.", role="alert" if wrong else None),
        element("input", type="password", name="token", aria_label="Token", required=True, autofocus=True, autocomplete="current-password"),
        element("button", "Enter", type="submit"),
        action="/login",
        method="post",
        class_="empty login",
    )  # fmt: skip
    # with no-referrer, the form would be sent with Origin: null
    headers = {"referrer-policy": "same-origin"}
    return HTMLResponse(document(Shown("Token", form)), 401 if wrong else 200, headers)


# Numbered lines


def numbered(
    rows: Sequence[str], start: int, end: int, paged: bool = False, cited: Container[int] = frozenset()
) -> Markup:
    """Render wrapped lines; numbered only if they are lines of the file, not of text extracted from another format."""
    has_numbers = not paged and len(rows) == end - start + 1
    lines, anchor = [], "cited"
    for number, row in enumerate(rows, start):
        highlighted = has_numbers and number in cited
        lines.append(
            element(
                "span",
                row or " ",
                class_="line cited" if highlighted else "line",
                data_number=number if has_numbers else None,
                id=anchor if highlighted and anchor else None,
            )
        )
        anchor = "" if highlighted else anchor
    return element("pre", element("code", lines), class_="code prose", tabindex="0")


# name in the URL → (package, file, media type); the first two are shared with the reports
_FILES = {
    "report.css": ("assay.html", "page.css", "text/css"),
    "report.js": ("assay.html", "page.js", "text/javascript"),
    "app.css": ("assay.serve.web", "static/app.css", "text/css"),
    "app.js": ("assay.serve.web", "static/app.js", "text/javascript"),
    "icon.svg": ("assay.serve.web", "static/icon.svg", "image/svg+xml"),
}


@dataclass(frozen=True, slots=True)
class Static:
    content: bytes
    type: str
    digest: str


@cache
def static(name: str) -> Static | None:
    """Return a static file by name, or None for an unknown one."""
    if name not in _FILES:
        return None
    package, file, media_type = _FILES[name]
    content = files(package).joinpath(file).read_bytes()
    return Static(content, f"{media_type}; charset=utf-8", hashlib.sha256(content).hexdigest()[:12])


def address(name: str) -> str:
    file = static(name)
    return f"/static/{name}?v={file.digest if file else ''}"
