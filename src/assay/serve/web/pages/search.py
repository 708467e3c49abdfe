"""The search page: one box, and three ways to answer what is in it: symbols of code, passages, an answer with its sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from assay.api import Repository
from assay.html.elements import Markup, element, join
from assay.serve.watch import State
from assay.serve.web.bench import Bench, NotYet
from assay.serve.web.pages import answer, code, passages
from assay.serve.web.pages.details import opened
from assay.serve.web.pages.shell import Page, Shown, absent, empty
from assay.serve.web.parameters import Parameter
from assay.store.index import NoIndex, UnusableIndex
from assay.text.display import counted
from assay.text.tokens import LONGEST_TASK

_AGAIN = 2  # seconds until a page that waits for the index comes back
_KEYS = {"/": "to the box", "↑ ↓": "through the results", "Enter": "opens one", "Esc": "closes it"}


@dataclass(frozen=True, slots=True)
class View:
    """One way to answer: what it is called, what to type, and what it shows."""

    title: str
    asks: str
    hint: str
    show: Callable[[Bench, str, dict[str, Any]], Markup]


VIEWS = {
    "code": View(
        "Code",
        "What do you want to understand or change?",
        "Say in words what you want to do; an error message, a stack trace or a path may be part of it.",
        code.ranked,
    ),
    "passages": View(
        "Passages",
        "What should be written somewhere?",
        "Passages of documents and definitions of code that have the words, or mean the same.",
        passages.found,
    ),
    "answer": View(
        "Answer",
        "What do you want to know?",
        "A question, answered with what the documents and the code say, each sentence with its source; or not at all.",
        answer.answered,
    ),
}


def show(bench: Bench, values: dict[str, Any]) -> Shown:
    task, name = (values["task"] or "").strip(), values["view"]
    view = VIEWS[name]
    try:
        if not task:
            with bench.using() as repo:
                return Shown("Search", join([_form("", name), absent(bench, repo), _invitation(repo, view)]))
        return Shown(task[:60], join([_form(task, name), view.show(bench, task, values)]))
    except (NoIndex, UnusableIndex):
        instead = _not_ready(bench)
        if task:
            instead = replace(instead, body=join([instead.body, _glimpse(bench, task)]))
    except NotYet as error:
        instead = Shown("", empty("Nearly there", f"{error}. This page comes back by itself."), _AGAIN)
    return Shown("Search", join([_form(task, name), instead.body]), instead.again)


def detail(bench: Bench, values: dict[str, Any]) -> Shown:
    """One result opened: its code, its neighbourhood, why it stands where it stands."""
    task, id, profile = values["task"], values["id"], values["profile"]
    with bench.using() as repo:
        [body] = bench.remembered(repo, ("opened", task, id, profile), lambda: (opened(repo, task, id, profile),))
        return Shown(id, join([body]))


def _not_ready(bench: Bench) -> Shown:
    """What to show while there is no index to ask."""
    shown = [waiting(one.state, label) for label, one in bench.members.items()]
    return Shown("", join(one.body for one in shown), max(one.again for one in shown))


def waiting(state: State, label: str = "") -> Shown:
    """How far the index of a repository is that is not there yet."""
    if state.name == "failed":
        whose = f" of {label}" if label else ""
        return Shown("", empty(f"The index{whose} could not be made", state.why, command="assay index -v"))
    share = element("progress", value=round(state.share, 3), max=1, aria_label="Share of the index that is built")
    gone = (
        element("p", "The index that was here is gone or of no use any more. It is being built again.")
        if state.again
        else None
    )
    about = f"{state.share:.0%} of the index is built. This page comes back by itself."
    why = element("p", f"{state.why}.".capitalize()) if state.why else None
    return Shown(
        "",
        element(
            "div", element("h2", f"Indexing {label}".strip()), gone, why, element("p", about), share, class_="empty"
        ),
        _AGAIN,
    )


def _glimpse(bench: Bench, task: str) -> Markup:
    """What a look at the files gives, before there is an index."""
    found = bench.first_look(task)
    if not found.matches:
        return element("p", f"Until then, {found}: nothing found.", class_="centred")
    rows = [
        element(
            "div",
            element("span", rank, class_="rank"),
            element("span", element("code", one.path, class_="symbol"), class_="name"),
            element(
                "span", [element("span", f"{number}: {line}") for number, line in one.lines], class_="said code-said"
            ),
            class_="row",
        )
        for rank, one in enumerate(found.matches, 1)
    ]
    told = element("div", element("p", element("strong", "Until then"), f", {found}:"), class_="summary")
    return join([told, element("ol", [element("li", row) for row in rows], class_="results passages")])


def _form(task: str, name: str) -> Markup:
    box = element(
        "textarea",
        task,
        name="task",
        id="task",
        rows=2,
        required=True,
        maxlength=LONGEST_TASK,
        placeholder=VIEWS[name].asks,
        aria_label="Task",
        autofocus=not task,
    )
    keys = [element("span", element("kbd", key), f" {about}") for key, about in _KEYS.items()]
    return element(
        "form",
        _switch(name),
        box,
        element("button", "Search", type="submit", name="view", value=name, class_="go"),
        element("p", keys, class_="keys"),
        action="/",
        method="get",
        role="search",
        class_="ask",
    )


def _switch(name: str) -> Markup:
    """The ways to answer as buttons of the form: each takes along what is in the box."""
    buttons = [
        element(
            "button", view.title, type="submit", name="view", value=one, formnovalidate=True,
            aria_pressed="true" if one == name else "false", title=view.hint,
        )
        for one, view in VIEWS.items()
    ]  # fmt: skip
    return element("div", buttons, role="group", aria_label="What to look for", class_="views")


def _invitation(repo: Repository, view: View) -> Markup:
    names = len(repo.index.postings.numbers) - len(repo.files)
    about = f"{counted(names, 'symbol')} of {counted(len(repo.files), 'file')} are indexed."
    return element("div", element("p", about), element("p", view.hint), class_="empty")


_PROFILE = Parameter("profile", "how to rank")
_ONE = (
    Parameter("task", "what you want to understand or change", required=True, longest=LONGEST_TASK),
    Parameter("id", "the id of a symbol", required=True),
    _PROFILE,
)
PAGES = (
    Page(
        "/",
        show,
        (
            Parameter("task", "what you want to understand, change or know", longest=LONGEST_TASK),
            Parameter("view", "how to answer it", choices=tuple(VIEWS), default="code"),
            Parameter("why", "a symbol to explain"),
            _PROFILE,
        ),
    ),
    Page("/result", detail, _ONE, place="/"),
    Page("/result-part", detail, _ONE, fragment=True),
    *passages.PAGES,
)
