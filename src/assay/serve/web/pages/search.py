"""Search page: one query box with three views (code, passages, answer), and the page of one result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from assay.api import Repository
from assay.html.elements import Markup, element, join
from assay.serve.requests import ResultPage, SearchPage
from assay.serve.watch import State
from assay.serve.web.bench import Bench, NotYet
from assay.serve.web.pages import code, passages
from assay.serve.web.pages.code import opened
from assay.serve.web.pages.shell import Page, Shown, absent, empty
from assay.store.index import NoIndex, UnusableIndex
from assay.text.display import counted
from assay.text.tokens import LONGEST_TASK

_RELOAD_SECONDS = 2  # for a page that waits for the index
_KEYS = {"/": "search box", "↑ ↓": "select a result", "Enter": "open", "Esc": "close"}


@dataclass(frozen=True, slots=True)
class View:
    """A view of the search page: title, placeholder, hint and renderer."""

    title: str
    asks: str
    hint: str
    show: Callable[[Bench, SearchPage], Markup]


VIEWS = {
    "code": View(
        "Code",
        "What do you want to understand or change?",
        "Describe the task in words; it may include an error message, a stack trace or a path.",
        lambda bench, request: code.ranked(bench, request.task.strip(), request.profile, request.why.strip()),
    ),
    "passages": View(
        "Passages",
        "What are you looking for?",
        'Passages of documents and definitions of code that match the words or their meaning. Also: "exact phrase", '
        "/regular expression/, -excluded, path:src, lang:python, kind:function, kind:docs.",
        lambda bench, request: passages.render_results(bench, request.task.strip()),
    ),
    "answer": View(
        "Answer",
        "What do you want to know?",
        "An answer from the documents and the code with a source for every sentence, or a refusal.",
        lambda bench, request: passages.render_answer(bench, request.task.strip()),
    ),
}


def show(bench: Bench, request: SearchPage) -> Shown:
    task, view_name = request.task.strip(), request.view
    view = VIEWS[view_name]
    try:
        if not task:
            with bench.using() as repo:
                return Shown(
                    "Search", join([_search_form("", view_name), absent(bench, repo), _render_start(repo, view)])
                )
        return Shown(task[:60], join([_search_form(task, view_name), view.show(bench, request)]))
    except (NoIndex, UnusableIndex):
        fallback = _render_progress(bench)
        if task and bench.members:
            fallback = replace(fallback, body=join([fallback.body, _render_first_look(bench, task)]))
    except NotYet as error:
        fallback = Shown("", empty("Nearly ready", f"{error}. This page reloads by itself."), _RELOAD_SECONDS)
    return Shown("Search", join([_search_form(task, view_name), fallback.body]), fallback.again)


def detail(bench: Bench, request: ResultPage) -> Shown:
    """Render a result: its code, its neighbourhood and its score explanation."""
    task, id, profile = request.task, request.id, request.profile
    with bench.using() as repo:
        [body] = bench.remembered(repo, ("opened", task, id, profile), lambda: (opened(repo, task, id, profile),))
        return Shown(id, join([body]))


def _render_progress(bench: Bench) -> Shown:
    """Render the progress of every missing index."""
    if not bench.members:
        return Shown("", empty("No repository yet", bench.resident.state.why), _RELOAD_SECONDS)
    parts = [waiting(resident.state, label) for label, resident in bench.members.items()]
    return Shown("", join(part.body for part in parts), max(part.again for part in parts))


def waiting(state: State, label: str = "") -> Shown:
    """Render the progress, or the failure, of a missing index."""
    if state.name == "failed":
        suffix = f" of {label}" if label else ""
        return Shown("", empty(f"The index{suffix} could not be built", state.why, command="assay index -v"))
    progress = element("progress", value=round(state.share, 3), max=1, aria_label="Share of the index that is built")
    rebuilding = (
        element("p", "The previous index is missing or unusable. It is being built again.") if state.again else None
    )
    about = f"{state.share:.0%} of the index is built. This page reloads by itself."
    why = element("p", f"{state.why}.".capitalize()) if state.why else None
    return Shown(
        "",
        element(
            "div",
            element("h2", f"Indexing {label}".strip()),
            rebuilding,
            why,
            element("p", about),
            progress,
            class_="empty",
        ),
        _RELOAD_SECONDS,
    )


def _render_first_look(bench: Bench, task: str) -> Markup:
    """Render the results of an index-free search."""
    look = bench.first_look(task)
    if not look.matches:
        return element("p", f"Until then, {look}: nothing found.", class_="centred")
    rows = [
        element(
            "div",
            element("span", rank, class_="rank"),
            element("span", element("code", match.path, class_="symbol"), class_="name"),
            element(
                "span", [element("span", f"{number}: {line}") for number, line in match.lines], class_="said code-said"
            ),
            class_="row",
        )
        for rank, match in enumerate(look.matches, 1)
    ]
    summary = element("div", element("p", element("strong", "Until then"), f", {look}:"), class_="summary")
    return join([summary, element("ol", [element("li", row) for row in rows], class_="results passages")])


def _search_form(task: str, view_name: str) -> Markup:
    box = element(
        "textarea",
        task,
        name="task",
        id="task",
        rows=2,
        required=True,
        maxlength=LONGEST_TASK,
        placeholder=VIEWS[view_name].asks,
        aria_label="Task",
        autofocus=not task,
    )
    keys = [element("span", element("kbd", key), f" {about}") for key, about in _KEYS.items()]
    return element(
        "form",
        _view_buttons(view_name),
        box,
        element("button", "Search", type="submit", name="view", value=view_name, class_="go"),
        element("p", keys, class_="keys"),
        action="/",
        method="get",
        role="search",
        class_="ask",
    )


def _view_buttons(selected: str) -> Markup:
    """Render the views as submit buttons, which keep the text of the box."""
    buttons = [
        element(
            "button", view.title, type="submit", name="view", value=name, formnovalidate=True,
            aria_pressed="true" if name == selected else "false", title=view.hint,
        )
        for name, view in VIEWS.items()
    ]  # fmt: skip
    return element("div", buttons, role="group", aria_label="View", class_="views")


def _render_start(repo: Repository, view: View) -> Markup:
    symbols = len(repo.index.postings.numbers) - len(repo.files)
    about = f"{counted(symbols, 'symbol')} of {counted(len(repo.files), 'file')} are indexed."
    return element("div", element("p", about), element("p", view.hint), class_="empty")


PAGES = (
    Page("/", show, SearchPage),
    Page("/result", detail, ResultPage, place="/"),
    Page("/result-part", detail, ResultPage, fragment=True),
    *passages.PAGES,
)
