"""Symbols for a task: the ranking with what each component contributed, and why something is not in it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from assay.api import Repository
from assay.core.items import Item
from assay.html.elements import Markup, decimal, element, join
from assay.pack.render.form import percent
from assay.rank.confidence import confidence, unseen_words
from assay.rank.explain import COMPONENTS, Explanation, contributions, explain
from assay.rank.ranking import Ranking
from assay.rank.symbols import NoSuchSymbol
from assay.serve.web.bench import Bench
from assay.serve.web.pages.details import explained, legend, stacked
from assay.serve.web.pages.shell import absent, empty, freshness_badge, took
from assay.text.display import counted

_SHOWN = 20  # results on a page


def ranked(bench: Bench, task: str, values: dict[str, Any]) -> Markup:
    """The results of a task, and the box that asks after others."""
    profile, wanted = values["profile"], (values["why"] or "").strip()
    with bench.using() as repo:
        began = time.perf_counter()
        asked = ("results", task, profile)
        number, chance, key, rows = bench.remembered(repo, asked, lambda: _results(repo, task, profile))
        spent = time.perf_counter() - began
        told = element("p", element("strong", number), took(spent), freshness_badge(repo), chance)
        results = join([element("div", told, key, class_="summary"), rows])
        return join([absent(bench, repo), results if key else rows, _why_not(repo, task, profile, wanted)])


def _results(repo: Repository, task: str, profile: str | None) -> tuple[str, Markup, Markup, Markup]:
    """How many there are, how sure that is, what the colours mean, and the results; no colours where nothing was found."""
    ranking = repo.ranking(task, profile=profile)
    found = _found(repo, ranking, profile)
    if not found:
        nothing = "No word of the task is in the index. Try other words, or a name."
        return "", Markup(), Markup(), empty("Nothing found", nothing)
    used = [name for name in COMPONENTS if any(name in contributions(one) for one in found)]
    rows = [_result(rank, one, found[0].score, task, profile) for rank, one in enumerate(found, 1)]
    results = element("ol", rows, class_="results", id="results")
    return counted(len(found), "result"), _chance(repo, ranking, profile), legend(used), results


def _chance(repo: Repository, ranking: Ranking, profile: str | None) -> Markup:
    """How sure it is, and what to try where it is not; nothing where that is not known."""
    chance = confidence(ranking, repo.configuration.profile(profile))
    if chance is None:
        return Markup()
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


def _found(repo: Repository, ranking: Ranking, profile: str | None) -> Sequence[Explanation]:
    """The best items, each with everything its score was made of; ranked once for all of them."""
    engine = repo.engine(profile)
    best = ranking.best(_SHOWN)
    items = repo.index.numbered(best)
    return explain(engine, ranking, [items[number] for number in best], _SHOWN)


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
