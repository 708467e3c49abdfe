"""Code view: ranked symbols of a task with score contributions, and a "why not" form."""

from __future__ import annotations

import time
from collections.abc import Sequence
from urllib.parse import urlencode

from assay.api import Repository
from assay.core.items import Item
from assay.html.elements import Markup, decimal, element, join
from assay.pack.render.form import percent
from assay.rank.confidence import confidence, unseen_words
from assay.rank.explain import Explanation, contributions, explain
from assay.rank.ranking import Ranking
from assay.rank.signals.signal import COMPONENTS
from assay.rank.symbols import NoSuchSymbol
from assay.serve.web.bench import Bench
from assay.serve.web.pages.details import legend, render_explanation, stacked
from assay.serve.web.pages.shell import absent, empty, freshness_badge, took
from assay.text.display import counted

_MAX_RESULTS = 20  # results on a page


def ranked(bench: Bench, task: str, profile: str | None, expected: str) -> Markup:
    """Render the results of a task and the "why not" form."""
    with bench.using() as repo:
        started = time.perf_counter()
        cache_key = ("results", task, profile)
        count, confidence_badge, colours, rows = bench.remembered(
            repo, cache_key, lambda: _render_results(repo, task, profile)
        )
        elapsed = time.perf_counter() - started
        summary = element("p", element("strong", count), took(elapsed), freshness_badge(repo), confidence_badge)
        results = join([element("div", summary, colours, class_="summary"), rows])
        return join([absent(bench, repo), results if colours else rows, _render_why_not(repo, task, profile, expected)])


def _render_results(repo: Repository, task: str, profile: str | None) -> tuple[str, Markup, Markup, Markup]:
    """Return count, confidence, legend and results; the legend is empty if there are no results."""
    ranking = repo.ranking(task, profile=profile)
    explanations = _explain_top(repo, ranking, profile)
    if not explanations:
        nothing = "No word of the task occurs in the index. Try other words, or a name."
        return "", Markup(), Markup(), empty("Nothing found", nothing)
    components = [
        name for name in COMPONENTS if any(name in contributions(explanation) for explanation in explanations)
    ]
    rows = [
        _render_result(rank, explanation, explanations[0].score, task, profile)
        for rank, explanation in enumerate(explanations, 1)
    ]
    results = element("ol", rows, class_="results", id="results")
    return counted(len(explanations), "result"), _render_confidence(repo, ranking, profile), legend(components), results


def _render_confidence(repo: Repository, ranking: Ranking, profile: str | None) -> Markup:
    """Render the confidence badge, with hints if it is low; empty if there is no estimate."""
    probability = confidence(ranking, repo.configuration.profile(profile))
    if probability is None:
        return Markup()
    confident = probability >= repo.configuration.context.threshold
    unmatched = unseen_words(ranking)
    missing = f"Nothing in this corpus mentions {', '.join(unmatched)}. " if unmatched else ""
    hint = f" Probably not here, or worded differently. {missing}Try other words, or a name from the code."
    badge = element(
        "span",
        f"{percent(probability)} sure",
        class_=f"badge kind-{'win' if confident else 'loss'}",
        title="Estimated probability that one of the first five is right",
    )
    return join([" · ", badge, None if confident else hint])


def _explain_top(repo: Repository, ranking: Ranking, profile: str | None) -> Sequence[Explanation]:
    """Return explanations of the top results of one ranking."""
    engine = repo.engine(profile)
    best = ranking.best(_MAX_RESULTS)
    items = repo.index.numbered(best)
    return explain(engine, ranking, [items[number] for number in best], _MAX_RESULTS)


def _render_result(rank: int, explanation: Explanation, top_score: float, task: str, profile: str | None) -> Markup:
    item = explanation.item
    parameters = {"task": task, "id": item.id} | ({"profile": profile} if profile else {})
    head = element(
        "summary",
        element("span", rank, class_="rank"),
        element("span", element("code", item.symbol or item.path, class_="symbol"), " ", _kind(item), class_="name"),
        element("span", element("bdi", item.path), f":{item.start}", class_="place"),
        element("span", decimal(explanation.score), class_="score", title="score"),
        stacked(contributions(explanation), top_score),
    )
    own_page = element(
        "p", element("a", "Open on a page of its own", href=f"/result?{urlencode(parameters)}"), class_="alone"
    )
    body = element("div", own_page, class_="opened", data_source=f"/result-part?{urlencode(parameters)}")
    return element("li", element("details", head, body))


def _kind(item: Item) -> Markup:
    return element("span", item.kind, class_="kind")


def _render_why_not(repo: Repository, task: str, profile: str | None, expected: str) -> Markup:
    """Render the form that explains an expected symbol, with its answer."""
    form = element(
        "form",
        element("input", type="hidden", name="task", value=task),
        element("input", type="hidden", name="profile", value=profile) if profile else None,
        element("label", "Expected something else? Why not ", for_="why"),
        element(
            "input", id="why", name="why", value=expected, required=True, placeholder="Class.method", maxlength=500
        ),
        element("button", "Explain", type="submit"),
        action="/#why-not",
        method="get",
    )
    answer = _render_why(repo, task, profile, expected) if expected else None
    return element("section", element("h2", "Why not …?"), form, answer, id="why-not", class_="why-not")


def _render_why(repo: Repository, task: str, profile: str | None, expected: str) -> Markup:
    try:
        explanations = repo.why(task, expected, _MAX_RESULTS, profile=profile)
    except NoSuchSymbol as error:
        near = [
            element(
                "li", element("a", element("code", name), href=f"/?{urlencode({'task': task, 'why': name})}#why-not")
            )
            for name in error.near
        ]
        return element(
            "div", element("p", f"There is no symbol called {expected}."), element("ul", near, class_="near")
        )
    more = (
        element("p", f"… and {len(explanations) - 3} more of that name", class_="note")
        if len(explanations) > 3
        else None
    )
    return element("div", [render_explanation(explanation, wanted=True) for explanation in explanations[:3]], more)
