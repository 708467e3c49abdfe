"""Commands on stored runs: report, show, compare, diagnose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from assay.cli.common import echo, print_json
from assay.cli.evaluation import options
from assay.cli.evaluation.options import Runs, echo_table, echo_warnings, parsed, print_result
from assay.cli.evaluation.run import print_run
from assay.errors import AssayError
from assay.evaluate.compare import (
    KINDS,
    Comparison,
    compare_runs,
    compare_sets,
    compare_with_baseline,
    config_differences,
)
from assay.evaluate.comparison_json import comparison_json, statistics_json
from assay.evaluate.files import write_output
from assay.evaluate.gate import find_baseline
from assay.evaluate.markdown import comparison_report
from assay.evaluate.matching import matcher
from assay.evaluate.metrics import figure, signed
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import main_measures, read_baseline, recompute, run_json
from assay.evaluate.selection import Selection
from assay.evaluate.verdicts import verdict
from assay.evaluate.verify import diagnose, diagnosis_json, existence
from assay.html.report import render
from assay.text.display import collapsed, one_line
from assay.text.suggest import did_you_mean


@click.command("report")
@click.argument("run", default="latest")
@click.option("--against", metavar="RUN", help="Include a comparison with this earlier run.")
@options.path("--output", "-o", type=options.FILE, metavar="FILE.html", help="Default: .assay/runs/RUN/report.html.")
@options.force()
@options.store
def report_command(run: str, against: str | None, output: Path | None, force: bool, runs: Runs, form: str) -> None:
    """Render RUN (default: the last) as one HTML page: summary, distributions and every query.

    With --against, it includes a comparison. The page is self-contained and opens offline.
    """
    with runs.open() as store:
        info = store.find(run)
        summary = run_json(store, info, None)
        comparison = None
        if against:
            texts = {query.id: query.text for query in store.golden(info).queries}
            comparison = comparison_json(compare_runs(store, store.find(against), info, force=force), texts)
    path = output or runs.folder("runs", info.run_id) / "report.html"
    write_output(path, render(summary, comparison))
    print_result(form, {"run_id": info.run_id, "file": str(path)}, str(path))


# assay eval show


@click.command("show")
@click.argument("run", default="latest")
@click.option(
    "--query", "query_id", metavar="ID", help="Show one query: expected and retrieved items with their ranks."
)
@options.matching("Judge the stored results with another matcher.")
@options.selection(by_id=False)
@click.option("--store", "again", is_flag=True, help="Store the recomputed figures with the run.")
@options.measures
@options.store
def show_command(
    run: str,
    query_id: str | None,
    matching: str | None,
    selection: Selection,
    again: bool,
    measures: tuple[str, ...],
    runs: Runs,
    form: str,
) -> None:
    """Show a stored run. RUN is its id, a prefix of it, its label, `latest` or `latest~1`.

    Metrics are computed from the stored responses, so other measures and matchers can be applied later.
    """
    chosen = parsed(measures)
    if again and (matching or chosen or selection):
        raise AssayError("--store keeps the run's own figures: leave out --matching, --measure and the filters")
    with runs.open(write=again) as store:
        info = recompute(store, store.find(run)) if again else store.find(run)
        summary = run_json(store, info, chosen, matching or "", selection=selection)
    if query_id is not None:
        query = _find_query(summary["queries"], query_id)
        print_json(query) if form == "json" else _print_query(query)
    elif form == "json":
        print_json(summary)
    else:
        print_run(summary, chosen or main_measures(summary["k"]))


def _find_query(queries: list[dict[str, Any]], query_id: str) -> dict[str, Any]:
    by_id = {query["id"]: query for query in queries}
    if query_id not in by_id:
        raise AssayError(f"no query '{query_id}' in this run.{did_you_mean(query_id, by_id, 3)}")
    return by_id[query_id]


def _print_query(query: dict[str, Any]) -> None:
    echo(f"{one_line(query['id'])}  {query['tier']}\n  {query['text']}\n")
    for name in query["expected"]:
        rank = query["found"].get(name)
        echo(f"  expected  {name}  " + (f"found at {rank}" if rank else "not found"))
    if query["refuse"]:
        echo(f"  should be refused; was {'' if query['refused'] else 'not '}refused")
    ranks = {rank: name for name, rank in query["found"].items()}
    echo("")
    for rank, name in enumerate(query["retrieved"], 1):
        echo(f"  {rank:3}  {name}" + (f"   ← {ranks[rank]}" if rank in ranks else ""))
    if query["error"]:
        echo(f"  failed: {query['error']}")


_SHOWN = 10  # changed queries per kind printed without --verbose
_QUESTION = 70  # characters of a query's text in a list
_REPORTED = 10_000  # maximum number of queries for report.md


@click.command("compare")
@click.argument("a", required=False)
@click.argument("b", required=False)
@click.option("--baseline", metavar="FILE|NAME", help="Compare with a baseline, in a file or in the store, as run A.")
@click.option(
    "--also",
    nargs=2,
    multiple=True,
    metavar="A B",
    help="A further pair of runs, on another golden set; may be repeated. The sets are pooled, each a cluster.",
)
@click.option(
    "--strict-chunker-version",
    is_flag=True,
    help="Refuse runs of different chunkers instead of matching by document and span.",
)
@options.force("Compare what two different golden sets or settings share; the report notes it.")
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Differences up to this are `within tolerance`, whatever the tests say.",
)
@options.selection()
@options.path("--output", help="The report file. Default: .assay/runs/B/report.md.")
@click.option("--verbose", "-v", is_flag=True, help="List every query that changed.")
@options.measures
@options.store
def compare_command(
    a: str | None,
    b: str | None,
    baseline: str | None,
    also: tuple[tuple[str, str], ...],
    strict_chunker_version: bool,
    force: bool,
    tolerance: float,
    selection: Selection,
    output: Path | None,
    verbose: bool,
    measures: tuple[str, ...],
    runs: Runs,
    form: str,
) -> None:
    """Compare run A with run B, with significance tests. Default: the last two runs.

    With --baseline, the one run named (default: the last) is compared with that file or stored baseline.
    """
    chosen = parsed(measures)
    with runs.open() as store:
        if baseline is not None:
            if b is not None:
                raise AssayError("--baseline replaces run A: name only one run")
            run_b = store.find(a or "latest")
            only = _selected(store, run_b, selection)
            before = find_baseline(store, baseline, runs.root)
            if isinstance(before, RunInfo):
                comparison = compare_runs(store, before, run_b, chosen, strict_chunker_version, force, only)
            else:
                file = before or Path(baseline)
                comparison = compare_with_baseline(store, read_baseline(file), run_b, chosen, force, only)
        else:
            run_a, run_b = store.find(a or "latest~1"), store.find(b or "latest")
            if also and selection:
                raise AssayError("--also pools whole sets: leave out --tier, --tag, --category and --query")
            if also:
                pairs = [(run_a, run_b), *((store.find(before), store.find(after)) for before, after in also)]
                comparison = compare_sets(store, pairs, chosen, force)
            else:
                only = _selected(store, run_b, selection)
                comparison = compare_runs(store, run_a, run_b, chosen, strict_chunker_version, force, only)
        comparison = replace(comparison, tolerance=tolerance)
        small = len(comparison.queries) <= _REPORTED
        texts = None
        if small:
            newer = [run_b, *(store.find(after) for _, after in also)]
            words = [query.text for run in newer for query in store.golden(run).queries]
            names = comparison.b.queries if also else [query.id for query in store.golden(run_b).queries]
            texts = dict(zip(names, words, strict=True))
        shown = texts if texts is not None else _texts(store, run_b, comparison, verbose)
    full = comparison_json(comparison, texts) if small or output is not None or form == "json" else {}
    report_path = output
    if output is not None:
        write_output(output, comparison_report(full))
    elif small:
        report_path = _write_default(runs.folder("runs", run_b.run_id) / "report.md", comparison_report(full))
    if form == "json":
        print_json(full)
        return
    print_comparison(comparison, verbose, shown)
    if report_path:
        echo(f"\nsaved: {report_path}")


def _selected(store: RunStore, run: RunInfo, selection: Selection) -> frozenset[str] | None:
    """Return the ids of the selected queries; None for all."""
    return frozenset(query.id for query in selection.of(store.golden(run)).queries) if selection else None


def _texts(store: RunStore, run: RunInfo, comparison: Comparison, verbose: bool) -> dict[str, str]:
    """Return the texts of the queries to list, by id."""
    numbers = [number for numbers in listed(comparison, verbose).values() for number in numbers]
    positions = comparison.b.rows([comparison.queries[number] for number in numbers]).tolist()
    return {query.id: query.text for query in store.queries(run, positions)}


def _write_default(path: Path, text: str) -> Path | None:
    """Write the report nobody asked for and return its path; None if it cannot be written."""
    try:
        write_output(path, text)
    except AssayError:
        return None
    return path


def print_comparison(comparison: Comparison, verbose: bool, texts: Mapping[str, str]) -> None:
    """Print metrics with tests, and the changed queries by their texts."""
    echo_warnings(comparison.warnings)
    echo(f"{comparison.a.run_id} → {comparison.b.run_id}, {len(comparison.queries):,} queries")
    for cause in config_differences(comparison.a.config, comparison.b.config):
        echo(f"  known difference: {cause}")
    echo("")
    rows = []
    for name, pair in comparison.statistics.items():
        row = statistics_json(pair, comparison.adjusted[name])
        rows.append([
            name, figure(row["a"]), figure(row["b"]), signed(row["delta"]), f"{signed(row['low'])} … {signed(row['high'])}",
            figure(row["p_holm"]), figure(row["effect"]), f"{pair.wins}/{pair.losses}/{pair.ties}", figure(row["detectable"]),
            verdict(name, pair, comparison.adjusted[name], comparison.tolerance),
        ])  # fmt: skip
    echo_table(["metric", "a", "b", "Δ", "95 % interval", "p (Holm)", "d", "+/-/=", "detectable", "verdict"], rows)
    echo("\n" + ", ".join(f"{count:,} {kind}" for kind, count in comparison.counts.items()))
    shown = listed(comparison, verbose)
    for kind, numbers in shown.items():
        for number in numbers:
            query = comparison.queries[number]
            text = collapsed(texts.get(query, ""), _QUESTION)
            note = comparison.notes.get(query, "")
            before, after = _outcomes(comparison, number)
            echo(
                f"  {kind:10} {text or query}: {before} → {after}"
                + (f"  ({note})" if note else "")
                + (f"  [{query}]" if text else "")
            )
        left = int((comparison.kinds == KINDS.index(kind)).sum()) - len(numbers)
        if left:
            echo(f"  {kind:10} … and {left:,} more; --verbose lists them")


def listed(comparison: Comparison, verbose: bool) -> dict[str, list[int]]:
    """Return the numbers of the changed queries to list, by kind, the worst first."""
    return {
        kind: (comparison.kinds == KINDS.index(kind)).nonzero()[0].tolist()[: None if verbose else _SHOWN]
        for kind in ("Regression", "Loss", "Win")
    }


def _outcomes(comparison: Comparison, number: int) -> tuple[str, str]:
    """Return a query's outcome in both runs: the rank of its first relevant result, or the refusal."""
    if number in comparison.refusals:
        before, after = ("refused" if refused else "answered" for refused in comparison.refusals[number])
        return before, after
    return f"rank {int(comparison.a_rank[number]) or '–'}", f"{int(comparison.b_rank[number]) or '–'}"


# assay eval diagnose

_SHOWN_DIAGNOSES = 30


@click.command("diagnose")
@click.argument("run", default="latest")
@options.corpus("The corpus of the run, if it had one.")
@click.option("--verbose", "-v", is_flag=True, help="List every missed expectation.")
@options.store
def diagnose_command(run: str, corpus: Path | None, verbose: bool, runs: Runs, form: str) -> None:
    """Show at which stage each missed expectation of RUN (default: the last) was lost, with totals per stage.

    Stages come from the trace that a system returns. Without one, only "ranked low" (see --depth of eval run), "not
    returned" and "empty result" can be distinguished.
    """
    with runs.open() as store:
        info = store.find(run)
        golden = store.golden(info)
        responses = store.responses(info.run_id, len(golden.queries))
    exists = existence(info.system, runs.root, corpus)
    lost = diagnose(golden.queries, responses, matcher(info.matching), info.level, info.k, exists)
    report_json = diagnosis_json(lost, len(golden.queries))
    if form == "json":
        print_json({"run_id": info.run_id, **report_json})
        return
    expected = sum(len(query.at(info.level)) for query in golden.queries)
    echo(f"run {info.run_id}: {len(lost)} of {expected} expectations missed in the first {info.k}\n")
    rows = [[stage, count, f"{count / max(len(lost), 1):.0%}"] for stage, count in report_json["stages"].items()]
    echo_table(["lost at", "missed", "share"], rows)
    echo("")
    for loss in lost[: None if verbose else _SHOWN_DIAGNOSES]:
        echo(one_line(f"  {loss.query}: {loss.expected}: {loss.stage} ({loss.detail})"))
    if len(lost) > _SHOWN_DIAGNOSES and not verbose:
        echo(f"  … and {len(lost) - _SHOWN_DIAGNOSES} more; --verbose lists them")
