"""The compare page: what changed from one run to another, and each query with both of its result lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from assay.evaluate.compare import NotComparable, compare_runs, comparison_json
from assay.evaluate.report.comparison import comparison_section
from assay.evaluate.report.data import Comparison, Pair, Query, Summary, read
from assay.evaluate.report.queries import sides
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.summary import told
from assay.html.elements import Markup, decimal, element, join, shortened
from assay.serve.web.bench import Bench, NotFound
from assay.serve.web.pages.runs import no_runs, run_address
from assay.serve.web.pages.shell import Page, Shown, empty, heading, stored_heading
from assay.serve.web.parameters import Parameter

_OFFERED = 300  # runs to choose from


def show(bench: Bench, values: dict[str, Any]) -> Shown:
    if not bench.has_runs:
        return Shown("Compare", join([stored_heading(bench, "Compare"), no_runs()]))
    with bench.runs() as store:
        runs = store.runs()
        if len(runs) < 2:
            return Shown("Compare", join([stored_heading(bench, "Compare"), _one_run_only()]))
        a, b = _chosen(store, runs, values)
        return Shown(
            "Compare",
            join([stored_heading(bench, "Compare"), _form(runs, a, b), _compared(store, a, b, values["force"])]),
        )


def query(bench: Bench, values: dict[str, Any]) -> Shown:
    """One query: what both runs were to find, and what they found."""
    with bench.runs() as store:
        runs = [store.find(values["a"]), store.find(values["b"])]
        found = [_query(store, run, values["query"]) for run in runs]
    text = next(one.text or one.id for one in found)
    back = f"/compare?{urlencode({'a': runs[0].run_id, 'b': runs[1].run_id})}"
    lists = [_list(name, run, one) for name, run, one in zip("AB", runs, found, strict=True)]
    return Shown(
        text[:60],
        join(
            [
                element("p", element("a", "← Comparison", href=back), class_="back"),
                heading(shortened(text, 600), values["query"]),
                element("div", lists, class_="both"),
            ]
        ),
    )


def _chosen(store: RunStore, runs: Sequence[RunInfo], values: dict[str, Any]) -> tuple[RunInfo, RunInfo]:
    """The runs asked for; else the last, and the last before it that it can be compared with."""
    b = store.find(values["b"]) if values["b"] else runs[-1]
    if values["a"]:
        return store.find(values["a"]), b
    alike = [run for run in runs if run.created < b.created and _kind(run) == _kind(b)]
    others = [run for run in runs if run.run_id != b.run_id]
    return (alike or others)[-1], b


def _kind(run: RunInfo) -> tuple[object, ...]:
    return run.golden_hash, run.matching, run.k


def _form(runs: Sequence[RunInfo], a: RunInfo, b: RunInfo) -> Markup:
    choices = [_choice(f"Run {name.upper()}", name, runs, run) for name, run in (("a", a), ("b", b))]
    return element(
        "form",
        choices,
        element("button", "Compare", type="submit"),
        action="/compare",
        method="get",
        class_="choose",
    )


def _choice(title: str, name: str, runs: Sequence[RunInfo], chosen: RunInfo) -> Markup:
    offered = list(reversed(runs))[:_OFFERED]
    options = [
        element(
            "option",
            f"{run.label or run.run_id} · {shortened(run.system, 50)}",
            value=run.run_id,
            selected=run.run_id == chosen.run_id,
        )
        for run in (offered if chosen in offered else [chosen, *offered])
    ]
    return element("label", title, element("select", options, name=name))


def _compared(store: RunStore, a: RunInfo, b: RunInfo, force: bool) -> Markup:
    texts = {one.id: one.text for one in store.golden(b).queries}
    try:
        comparison = read(Comparison, comparison_json(compare_runs(store, a, b, force=force), texts))
    except NotComparable as error:
        anyway = f"/compare?{urlencode({'a': a.run_id, 'b': b.run_id, 'force': 'true'})}"
        return join(
            [
                empty("These two cannot be compared", str(error).partition(". --force")[0]),
                element("p", element("a", "Compare what they share all the same", href=anyway), class_="centred"),
            ]
        )

    def link(pair: Pair) -> str:
        return f"/compare/query?{urlencode({'a': a.run_id, 'b': b.run_id, 'query': pair.query_id})}"

    return comparison_section(comparison, min(a.k, b.k), link)


def _one_run_only() -> Markup:
    return empty(
        "Only one run yet",
        "A comparison needs two. Change something, then measure again on the same golden set:",
        command="assay eval run --golden golden.jsonl --system assay",
    )


def _query(store: RunStore, run: RunInfo, wanted: str) -> Query:
    for one in read(Summary, told(store, run, None)).queries:
        if one.id == wanted:
            return one
    raise NotFound(f"run {run.run_id} has no query '{wanted[:80]}'")


def _list(name: str, run: RunInfo, one: Query) -> Markup:
    figures = ", ".join(f"{metric} {decimal(value)}" for metric, value in one.metrics.items())
    return element(
        "section",
        element("h2", f"{name} ", element("a", run.label or run.run_id, href=run_address(run.run_id))),
        element("p", element("code", shortened(run.system, 120)), class_="lead"),
        element("p", figures, class_="note"),
        element("p", one.error, class_="error") if one.error else None,
        sides(one),
    )


_RUNS = (Parameter("a", "a run"), Parameter("b", "a later run"))
PAGES = (
    Page("/compare", show, (*_RUNS, Parameter("force", "compare what two golden sets share", bool, default=False))),
    Page(
        "/compare/query",
        query,
        (
            Parameter("a", "a run", required=True),
            Parameter("b", "a later run", required=True),
            Parameter("query", "the id of a query", required=True),
        ),
        place="/compare",
    ),
)
