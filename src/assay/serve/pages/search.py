"""The search page: a task, the ranking with what each component contributed, and why something is not in it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from assay.core.items import Item
from assay.evaluate.report.markup import Markup, element, join
from assay.evaluate.report.wording import decimal
from assay.live import State
from assay.repository import Repository
from assay.retrieve.confidence import confidence, unseen_words
from assay.retrieve.contributions import COMPONENTS, contributions
from assay.retrieve.explain import Explanation, explain
from assay.retrieve.ranking import Ranking
from assay.retrieve.render.form import percent
from assay.serve.bench import Bench
from assay.serve.pages.bars import legend, stacked
from assay.serve.pages.details import explained, opened
from assay.serve.pages.shell import Page, Shown, empty
from assay.serve.parameters import LONGEST, Parameter
from assay.store.index import NoIndex, UnusableIndex
from assay.text.counting import counted

_SHOWN = 20  # results on a page
_AGAIN = 2  # seconds until a page that waits for the index comes back
_TASK = Parameter("task", "what you want to understand or change", longest=LONGEST)
_KEYS = {"/": "to the box", "↑ ↓": "through the results", "Enter": "opens one", "Esc": "closes it"}


def show(bench: Bench, values: dict[str, Any]) -> Shown:
    task, wanted = (values["task"] or "").strip(), (values["why"] or "").strip()
    try:
        with bench.using() as repo:
            if not task:
                return Shown("Search", join([_form(""), _invitation(repo)]))
            return Shown(task[:60], join([_form(task), _answer(repo, task, values["profile"], wanted)]))
    except (NoIndex, UnusableIndex):
        waiting = not_ready(bench.resident.state)
        return Shown("Search", join([_form(task), waiting.body]), waiting.again)


def detail(bench: Bench, values: dict[str, Any]) -> Shown:
    """One result opened: its code, its neighbourhood, why it stands where it stands."""
    with bench.using() as repo:
        return Shown(values["id"], opened(repo, values["task"], values["id"], values["profile"]))


def not_ready(state: State) -> Shown:
    """What to show while there is no index to ask."""
    if state.name == "failed":
        return Shown("", empty("The index could not be made", state.why, command="assay index -v"))
    share = element("progress", value=round(state.share, 3), max=1, aria_label="Share of the index that is built")
    about = f"{state.share:.0%} of the index is built. This page comes back by itself."
    return Shown("", element("div", element("h2", "Indexing"), element("p", about), share, class_="empty"), _AGAIN)


def _form(task: str) -> Markup:
    box = element(
        "textarea",
        task,
        name="task",
        id="task",
        rows=2,
        required=True,
        maxlength=LONGEST,
        placeholder="What do you want to understand or change?",
        aria_label="Task",
        autofocus=not task,
    )
    keys = [element("span", element("kbd", key), f" {about}") for key, about in _KEYS.items()]
    return element(
        "form",
        box,
        element("button", "Search", type="submit"),
        element("p", keys, class_="keys"),
        action="/",
        method="get",
        role="search",
        class_="ask",
    )


def _invitation(repo: Repository) -> Markup:
    names = len(repo.index.postings.numbers) - len(repo.files)
    about = f"{counted(names, 'symbol')} of {counted(len(repo.files), 'file')} are indexed."
    hint = "Say in words what you want to do; an error message, a stack trace or a path may be part of it."
    return element("div", element("p", about), element("p", hint), class_="empty")


def _answer(repo: Repository, task: str, profile: str | None, wanted: str) -> Markup:
    began = time.perf_counter()
    ranking = repo.ranking(task, profile=profile)
    found = _explained(repo, ranking, profile)
    spent = time.perf_counter() - began
    stale = repo.freshness().stale
    if not found:
        nothing = "No word of the task is in the index. Try other words, or a name."
        return join([_nothing(nothing), _why_not(repo, task, profile, wanted)])
    told = [
        element("strong", counted(len(found), "result")),
        f" in {spent * 1000:,.0f} ms · ",
        element("span", "fresh", class_="badge kind-win")
        if not stale
        else element("span", f"{counted(len(stale), 'file')} changed since", class_="badge kind-loss"),
        _chance(repo, ranking, profile),
    ]
    used = [name for name in COMPONENTS if any(name in contributions(one) for one in found)]
    return join(
        [
            element("div", element("p", told), legend(used), class_="summary"),
            element("ol", _results(found, task, profile), class_="results", id="results"),
            _why_not(repo, task, profile, wanted),
        ]
    )


def _chance(repo: Repository, ranking: Ranking, profile: str | None) -> Markup:
    """How sure it is, and what to try where it is not; nothing where that is not known."""
    chance = confidence(ranking, repo.configuration.profile(profile))
    if chance is None:
        return join([])
    sure = chance >= repo.configuration.context.threshold
    words = unseen_words(ranking)
    missing = f"Nothing here has {', '.join(words)}. " if words else ""
    hint = f" Probably not here, or in other words. {missing}Try other words, or a name from the code."
    said = element(
        "span",
        f"{percent(chance)} sure",
        class_=f"badge kind-{'win' if sure else 'loss'}",
        title="The chance that one of the first five is right",
    )
    return join([" · ", said, None if sure else hint])


def _explained(repo: Repository, ranking: Ranking, profile: str | None) -> list[Explanation]:
    """The best items, each with everything its score was made of; ranked once for all of them."""
    engine = repo.engine(profile)
    best = ranking.best(_SHOWN)
    items = repo.index.numbered(best)
    return explain(engine, ranking, [items[number] for number in best], _SHOWN)


def _results(found: Sequence[Explanation], task: str, profile: str | None) -> list[Markup]:
    return [_result(rank, one, found[0].score, task, profile) for rank, one in enumerate(found, 1)]


def _result(rank: int, one: Explanation, best: float, task: str, profile: str | None) -> Markup:
    item = one.item
    asked = {"task": task, "id": item.id} | ({"profile": profile} if profile else {})
    head = element(
        "summary",
        element("span", rank, class_="rank"),
        element("span", element("code", item.symbol or item.path, class_="symbol"), " ", _kind(item), class_="name"),
        element("span", element("bdi", item.path), f":{item.start}", class_="place"),
        element("span", decimal(one.score), class_="score", title="score"),
        stacked(contributions(one), best),
    )
    alone = element("p", element("a", "Open on a page of its own", href=f"/result?{urlencode(asked)}"), class_="alone")
    body = element("div", alone, class_="opened", data_source=f"/result-part?{urlencode(asked)}")
    return element("li", element("details", head, body))


def _kind(item: Item) -> Markup:
    return element("span", item.kind, class_="kind")


def _nothing(words: str) -> Markup:
    return empty("Nothing found", words)


def _why_not(repo: Repository, task: str, profile: str | None, wanted: str) -> Markup:
    """The box that asks after something that was expected."""
    form = element(
        "form",
        element("input", type="hidden", name="task", value=task),
        element("input", type="hidden", name="profile", value=profile) if profile else None,
        element("label", "Expected something else? Why not ", for_="why"),
        element("input", id="why", name="why", value=wanted, required=True, placeholder="Class.method", maxlength=500),
        element("button", "Explain", type="submit"),
        action="/#why-not",
        method="get",
    )
    answer = _why(repo, task, profile, wanted) if wanted else None
    return element("section", element("h2", "Why not …?"), form, answer, id="why-not", class_="why-not")


def _why(repo: Repository, task: str, profile: str | None, wanted: str) -> Markup:
    from assay.retrieve.names import NoSuchSymbol

    try:
        told = repo.why(task, wanted, _SHOWN, profile=profile)
    except NoSuchSymbol as error:
        near = [
            element(
                "li", element("a", element("code", name), href=f"/?{urlencode({'task': task, 'why': name})}#why-not")
            )
            for name in error.near
        ]
        return element("div", element("p", f"There is no symbol called {wanted}."), element("ul", near, class_="near"))
    more = element("p", f"… and {len(told) - 3} more of that name", class_="note") if len(told) > 3 else None
    return element("div", [explained(one, wanted=True) for one in told[:3]], more)


_ONE = (
    Parameter("task", "what you want to understand or change", required=True, longest=LONGEST),
    Parameter("id", "the id of a symbol", required=True),
    Parameter("profile", "how to rank"),
)
PAGES = (
    Page("/", show, (_TASK, Parameter("why", "a symbol to explain"), Parameter("profile", "how to rank"))),
    Page("/result", detail, _ONE, place="/"),
    Page("/result-part", detail, _ONE, fragment=True),
)
