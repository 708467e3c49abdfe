"""Compare pages: differences between two runs, and both result lists of a query."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from assay.evaluate.compare import NotComparable, compare_runs
from assay.evaluate.comparison_json import comparison_json
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import run_json
from assay.html.elements import Markup, decimal, element, join
from assay.html.report.comparison import comparison_section
from assay.html.report.data import Comparison, Pair, Query, Summary, read
from assay.html.report.queries import sides
from assay.serve.requests import ComparePage, PairPage
from assay.serve.web.bench import Bench, NotFound
from assay.serve.web.pages.runs import no_runs, run_address
from assay.serve.web.pages.shell import Page, Shown, empty, heading, stored_heading
from assay.text.display import clipped

_MAX_OFFERED = 300  # runs to choose from


def show(bench: Bench, request: ComparePage) -> Shown:
    if not bench.has_runs:
        return Shown("Compare", join([stored_heading(bench, "Compare"), no_runs()]))
    with bench.runs() as store:
        runs = store.runs()
        if len(runs) < 2:
            return Shown("Compare", join([stored_heading(bench, "Compare"), _needs_two_runs()]))
        a, b = _choose_runs(store, runs, request)
        return Shown(
            "Compare",
            join([stored_heading(bench, "Compare"), _form(runs, a, b), _render_comparison(store, a, b, request.force)]),
        )


def query(bench: Bench, request: PairPage) -> Shown:
    """Render a query with the expected and retrieved results of both runs."""
    with bench.runs() as store:
        runs = [store.find(request.a), store.find(request.b)]
        results = [_find_query(store, run, request.query) for run in runs]
    text = next(result.text or result.id for result in results)
    back = f"/compare?{urlencode({'a': runs[0].run_id, 'b': runs[1].run_id})}"
    lists = [_render_results(name, run, result) for name, run, result in zip("AB", runs, results, strict=True)]
    return Shown(
        text[:60],
        join(
            [
                element("p", element("a", "← Comparison", href=back), class_="back"),
                heading(clipped(text, 600), request.query),
                element("div", lists, class_="both"),
            ]
        ),
    )


def _choose_runs(store: RunStore, runs: Sequence[RunInfo], request: ComparePage) -> tuple[RunInfo, RunInfo]:
    """Return the requested runs; by default the latest and the latest earlier one comparable with it."""
    b = store.find(request.b) if request.b else runs[-1]
    if request.a:
        return store.find(request.a), b
    comparable = [run for run in runs if run.created < b.created and _comparison_key(run) == _comparison_key(b)]
    others = [run for run in runs if run.run_id != b.run_id]
    return (comparable or others)[-1], b


def _comparison_key(run: RunInfo) -> tuple[object, ...]:
    return run.golden_hash, run.matching, run.k


def _form(runs: Sequence[RunInfo], a: RunInfo, b: RunInfo) -> Markup:
    choices = [_run_select(f"Run {name.upper()}", name, runs, run) for name, run in (("a", a), ("b", b))]
    return element(
        "form",
        choices,
        element("button", "Compare", type="submit"),
        action="/compare",
        method="get",
        class_="choose",
    )


def _run_select(title: str, name: str, runs: Sequence[RunInfo], chosen: RunInfo) -> Markup:
    offered = list(reversed(runs))[:_MAX_OFFERED]
    options = [
        element(
            "option",
            f"{run.label or run.run_id} · {clipped(run.system, 50)}",
            value=run.run_id,
            selected=run.run_id == chosen.run_id,
        )
        for run in (offered if chosen in offered else [chosen, *offered])
    ]
    return element("label", title, element("select", options, name=name))


def _render_comparison(store: RunStore, a: RunInfo, b: RunInfo, force: bool) -> Markup:
    texts = {query.id: query.text for query in store.golden(b).queries}
    try:
        comparison = read(Comparison, comparison_json(compare_runs(store, a, b, force=force), texts))
    except NotComparable as error:
        force_address = f"/compare?{urlencode({'a': a.run_id, 'b': b.run_id, 'force': 'true'})}"
        return join(
            [
                empty("These two cannot be compared", str(error).partition(". --force")[0]),
                element("p", element("a", "Compare the shared queries anyway", href=force_address), class_="centred"),
            ]
        )

    def link(pair: Pair) -> str:
        return f"/compare/query?{urlencode({'a': a.run_id, 'b': b.run_id, 'query': pair.query_id})}"

    return comparison_section(comparison, min(a.k, b.k), link)


def _needs_two_runs() -> Markup:
    return empty(
        "Only one run yet",
        "A comparison needs two runs. Change something and measure again on the same golden set:",
        command="assay eval run --golden golden.jsonl --system assay",
    )


def _find_query(store: RunStore, run: RunInfo, query_id: str) -> Query:
    for query in read(Summary, run_json(store, run, None)).queries:
        if query.id == query_id:
            return query
    raise NotFound(f"run {run.run_id} has no query '{query_id[:80]}'")


def _render_results(name: str, run: RunInfo, query: Query) -> Markup:
    figures = ", ".join(f"{metric} {decimal(value)}" for metric, value in query.metrics.items())
    return element(
        "section",
        element("h2", f"{name} ", element("a", run.label or run.run_id, href=run_address(run.run_id))),
        element("p", element("code", clipped(run.system, 120)), class_="lead"),
        element("p", figures, class_="note"),
        element("p", query.error, class_="error") if query.error else None,
        sides(query),
    )


PAGES = (Page("/compare", show, ComparePage), Page("/compare/query", query, PairPage, place="/compare"))
