"""`assay eval compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from assay.cli.common import echo, find_root, format_option, print_json
from assay.cli.evaluation.common import (
    columns,
    echo_warnings,
    figure,
    kept_at,
    measures_option,
    parsed,
    root_option,
    run_store,
    runs_option,
)
from assay.core.golden import Expected
from assay.errors import AssayError
from assay.evaluate.compare import (
    KINDS,
    Comparison,
    better,
    causes,
    compare_runs,
    compare_with_baseline,
    comparison_json,
    statistics_json,
)
from assay.evaluate.diagnose import Exists, diagnose, diagnosis_json
from assay.evaluate.matching import MATCHERS, matcher
from assay.evaluate.runs import RunInfo
from assay.evaluate.scores import read_baseline
from assay.evaluate.verify import Inventory, report

_SHOWN = 10  # changed queries of a kind printed without --verbose
_REPORTED = 10_000  # queries up to which report.md is written


@click.command("compare")
@click.argument("a", required=False)
@click.argument("b", required=False)
@click.option(
    "--baseline", type=click.Path(path_type=Path), metavar="FILE", help="Compare with a baseline file instead of run A."
)
@click.option(
    "--strict-chunker-version",
    is_flag=True,
    help="Refuse runs of different chunkers instead of matching by document and span.",
)
@click.option(
    "--force", is_flag=True, help="Compare what two different golden sets or settings share; the report says so."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to write the report. Default: .assay/runs/B/report.md.",
)
@click.option("--verbose", "-v", is_flag=True, help="List every query that changed.")
@measures_option
@root_option
@runs_option
@format_option
def compare_command(
    a: str | None,
    b: str | None,
    baseline: Path | None,
    strict_chunker_version: bool,
    force: bool,
    output: Path | None,
    verbose: bool,
    measures: tuple[str, ...],
    root: Path | None,
    runs_file: Path | None,
    form: str,
) -> None:
    """What changed from run A to run B, and whether it is more than chance. Default: the last two runs.

    With --baseline FILE, the one RUN named (default: the last) is compared with that file.
    """
    chosen = parsed(measures)
    with run_store(root, runs_file) as store:
        if baseline is not None:
            if b is not None:
                raise AssayError("--baseline takes the place of run A: name one run only")
            run_b = store.find(a or "latest")
            comparison = compare_with_baseline(store, read_baseline(baseline), run_b, chosen, force)
        else:
            run_a, run_b = store.find(a or "latest~1"), store.find(b or "latest")
            comparison = compare_runs(store, run_a, run_b, chosen, strict_chunker_version, force)
        texts = {}
        if len(comparison.queries) <= _REPORTED:
            texts = {query.id: query.text for query in store.golden(run_b).queries}
    wanted = len(comparison.queries) <= _REPORTED or output is not None
    full = comparison_json(comparison, texts or None) if wanted or form == "json" else {}
    written = None
    if wanted:
        path = output or kept_at(root, runs_file, "runs", run_b.run_id) / "report.md"
        written = _write(full, path, output is not None)
    if form == "json":
        print_json(full)
        return
    print_comparison(comparison, verbose)
    if written:
        echo(f"\nsaved: {written}")


def _write(full: dict[str, Any], path: Path, asked: bool) -> Path | None:
    """Writes the report. Where nobody asked for it, a place that cannot be written to is no reason to fail."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(report(full), "utf-8")
    except OSError as error:
        if asked:
            raise AssayError(f"{path}: cannot be written ({error.strerror or error})") from None
        return None
    return path


def print_comparison(comparison: Comparison, verbose: bool) -> None:
    echo_warnings(comparison.warnings)
    echo(f"{comparison.a.run_id} → {comparison.b.run_id}, {len(comparison.queries):,} queries")
    for cause in causes(comparison.a.config, comparison.b.config):
        echo(f"  known difference: {cause}")
    echo("")
    rows = []
    for name, pair in comparison.statistics.items():
        told = statistics_json(pair, comparison.adjusted[name])
        mark = {True: "better", False: "worse", None: ""}[better(name, pair.delta)]
        verdict = mark if mark and told["p_holm"] < 0.05 else (f"{mark}?" if mark else "same")
        rows.append([
            name, figure(told["a"]), figure(told["b"]), figure(told["delta"], True), f"{figure(told['low'], True)} … {figure(told['high'], True)}",
            figure(told["p_holm"]), figure(told["effect"]), f"{pair.wins}/{pair.losses}/{pair.ties}", figure(told["detectable"]), verdict,
        ])  # fmt: skip
    for line in columns(["metric", "a", "b", "Δ", "95 % interval", "p (Holm)", "d", "+/-/=", "detectable", ""], rows):
        echo(line)
    echo("\n" + ", ".join(f"{count:,} {kind}" for kind, count in comparison.counts.items()))
    for kind in ("Regression", "Loss", "Win"):
        numbers = (comparison.kinds == KINDS.index(kind)).nonzero()[0].tolist()
        for number in numbers[: None if verbose else _SHOWN]:
            query = comparison.queries[number]
            before, after = int(comparison.a_rank[number]) or "–", int(comparison.b_rank[number]) or "–"
            note = comparison.notes.get(query, "")
            echo(f"  {kind:10} {query}: rank {before} → {after}" + (f"  ({note})" if note else ""))
        if len(numbers) > _SHOWN and not verbose:
            echo(f"  {kind:10} … and {len(numbers) - _SHOWN:,} more; --verbose lists them")


# `assay eval diagnose`.

_SHOWN_DIAGNOSES = 30


@click.command("diagnose")
@click.argument("run", default="latest")
@click.option(
    "--corpus",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="The corpus of the run, if it had one.",
)
@click.option("--verbose", "-v", is_flag=True, help="List every missed expectation.")
@root_option
@runs_option
@format_option
def diagnose_command(
    run: str, corpus: Path | None, verbose: bool, root: Path | None, runs_file: Path | None, form: str
) -> None:
    """Where each missed expectation of RUN (default: the last) was lost: the stage, aggregated, so that it is clear where to work next.

    Stages come from the trace a system returns; without one only "ranked low" (see --depth of eval run), "not returned" and "empty
    result" can be told.
    """
    with run_store(root, runs_file) as store:
        info = store.find(run)
        golden = store.golden(info)
        responses = store.responses(info.run_id, len(golden.queries))
    exists = _existence(info, find_root(root), corpus)
    lost = diagnose(golden.queries, responses, matcher(info.matching), info.level, info.k, exists)
    told = diagnosis_json(lost, len(golden.queries))
    if form == "json":
        print_json({"run_id": info.run_id, **told})
        return
    expected = sum(len(query.at(info.level)) for query in golden.queries)
    echo(f"run {info.run_id}: {len(lost)} of {expected} expectations missed in the first {info.k}\n")
    for line in columns(
        ["lost at", "missed", "share"], [[s, n, f"{n / max(len(lost), 1):.0%}"] for s, n in told["stages"].items()]
    ):
        echo(line)
    echo("")
    for one in lost[: None if verbose else _SHOWN_DIAGNOSES]:
        echo(f"  {one.query}: {one.expected}: {one.stage} ({one.detail})")
    if len(lost) > _SHOWN_DIAGNOSES and not verbose:
        echo(f"  … and {len(lost) - _SHOWN_DIAGNOSES} more; --verbose lists them")


def _existence(info: RunInfo, root: Path, corpus: Path | None) -> Exists:
    """For our own system the index says whether an expectation exists at all; of others nobody knows."""
    if not info.system.startswith("assay"):
        return lambda expected, repository: None
    from assay.errors import AssayError
    from assay.evaluate.systems.assay import Assay

    system = Assay(root, corpus)
    known: dict[str, Inventory | None] = {}

    def exists(expected: Expected, repository: str) -> bool | None:
        if repository not in known:
            try:
                known[repository] = system.inventory(repository)
            except AssayError:
                known[repository] = None
        inventory = known[repository]
        if inventory is None or expected.level not in inventory.levels:
            return None
        return inventory.has(expected, MATCHERS["strict"])

    return exists
