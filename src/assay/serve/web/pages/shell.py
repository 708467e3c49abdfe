"""What stands around every page: the head, the way to the other pages, the switch between light and dark."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import HTMLResponse, Response

from assay.api import Repository
from assay.html.elements import Child, Markup, element, join
from assay.serve.web.bench import Bench
from assay.serve.web.parameters import Parameter
from assay.serve.web.static import address
from assay.text.display import counted

_LONG = 60  # characters of a title that is set smaller
PLACES = {"Search": "/", "Runs": "/runs", "Compare": "/compare", "Sweeps": "/sweeps", "Index": "/index"}


@dataclass(frozen=True, slots=True)
class Shown:
    """What a page shows. `again` asks the browser to come back in so many seconds."""

    title: str
    body: Markup
    again: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """One page: where it is, what may be asked of it, and how it is drawn."""

    path: str
    show: Callable[[Bench, dict[str, Any]], Shown]
    parameters: tuple[Parameter, ...] = ()
    fragment: bool = False  # only the body, to be put into a page that is there already
    place: str = ""  # which of PLACES it belongs to; else it is one itself


def document(shown: Shown, here: str = "", asked: str = "") -> str:
    """The whole page; `asked` names the repository, or several."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        _again(shown.again) if shown.again else None,
        element("title", f"{shown.title} – assay" if shown.title else "assay"),
        element("link", rel="icon", href=address("icon.svg"), type="image/svg+xml"),
        element("link", rel="stylesheet", href=address("report.css")),
        element("link", rel="stylesheet", href=address("app.css")),
        element("script", src=address("app.js")),  # before the first paint: it sets the colours
        element("script", src=address("report.js"), defer=True),
    )
    body = element(
        "body",
        element("a", "Skip to the content", href="#content", class_="skip"),
        _header(here, asked),
        element("main", shown.body, id="content", data_again=shown.again or None),
    )
    return join([Markup("<!doctype html>\n"), element("html", head, body, lang="en"), Markup("\n")])


def _again(seconds: int) -> Markup:
    """For browsers without scripts; with them, what somebody is typing stays."""
    return element("noscript", element("meta", http_equiv="refresh", content=str(seconds)))


def _header(here: str, asked: str) -> Markup:
    links = [
        element("a", name, href=path, aria_current="page" if path == here else None) for name, path in PLACES.items()
    ]
    switch = element(
        "button", type="button", id="theme", aria_label="Switch between light and dark", title="Light or dark"
    )
    return element(
        "header",
        element("a", "assay", href="/", class_="brand"),
        element("span", element("bdi", asked), class_="where", title=f"What is asked: {asked}") if asked else None,
        element("nav", links, aria_label="Pages") if asked else None,
        switch,
        class_="site",
    )


def heading(title: str, *about: Child) -> Markup:
    name = element("h1", title, class_="long" if len(title) > _LONG else None)
    return element("div", name, element("p", *about, class_="lead") if about else None, class_="opening")


def stored_heading(bench: Bench, title: str, *about: Child) -> Markup:
    """The heading of what was stored; over several repositories it says whose that is."""
    if not bench.several:
        return heading(title, *about)
    place = element("code", str(bench.runs_file.parent))
    whose = ["Those of the workspace, in ", place, "; to see those of one repository, serve it alone."]
    return heading(title, *about, " " if about else None, *whose)


def took(seconds: float) -> str:
    return f" in {seconds * 1000:,.0f} ms · " if seconds >= 0.001 else " in less than 1 ms · "


def freshness_badge(repo: Repository) -> Markup:
    """Whether an answer is made of files as they are now."""
    stale = repo.freshness().stale
    if not stale:
        return element("span", "fresh", class_="badge kind-win")
    return element("span", f"{counted(len(stale), 'file')} changed since", class_="badge kind-loss")


def absent(bench: Bench, repo: Repository) -> Markup:
    """Which repositories an answer is without; nothing where it is of all."""
    return join(
        element("p", element("strong", f"Without {label}"), f": its index is {why.rstrip('.')}.", class_="note absent")
        for label, why in bench.without(repo).items()
    )


def empty(title: str, *about: Child, command: str = "") -> Markup:
    """What to do where there is nothing to see yet."""
    return element(
        "div",
        element("h2", title),
        element("p", *about),
        element("pre", element("code", command), class_="command") if command else None,
        class_="empty",
    )


def failed(status: int, line: str) -> Shown:
    """An error as a page."""
    titles = {404: "Not found", 503: "Not ready", 504: "Too slow", 500: "Something broke"}
    title = titles.get(status, "That cannot be shown")
    return Shown(title, empty(title, line))


# The form for the token.


def login_page(wrong: bool = False) -> Response:
    form = element(
        "form",
        element("h2", "A token is needed"),
        element("p", "That is not the token." if wrong else "The one this server was started with.", role="alert" if wrong else None),
        element("input", type="password", name="token", aria_label="Token", required=True, autofocus=True, autocomplete="current-password"),
        element("button", "Enter", type="submit"),
        action="/login",
        method="post",
        class_="empty login",
    )  # fmt: skip
    # a form of a page that sends no referrer has no origin either
    headers = {"referrer-policy": "same-origin"}
    return HTMLResponse(document(Shown("Token", form)), 401 if wrong else 200, headers)


# Text as lines with their numbers.


def numbered(
    rows: Sequence[str], start: int, end: int, paged: bool = False, cited: Container[int] = frozenset()
) -> Markup:
    """Lines that wrap. They have numbers where they are those of a file: not in formats whose text had to be made first."""
    counts = not paged and len(rows) == end - start + 1
    shown, anchor = [], "cited"
    for number, row in enumerate(rows, start):
        stands_out = counts and number in cited
        shown.append(
            element(
                "span",
                row or " ",
                class_="line cited" if stands_out else "line",
                data_number=number if counts else None,
                id=anchor if stands_out and anchor else None,
            )
        )
        anchor = "" if stands_out else anchor
    return element("pre", element("code", shown), class_="code prose", tabindex="0")
