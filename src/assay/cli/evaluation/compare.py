"""`assay eval compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from assay.cli.common import echo, format_option, print_json
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
from assay.errors import AssayError
from assay.evaluate.compare import (
    KINDS,
    Comparison,
    as_json,
    better,
    compare_runs,
    compare_with_baseline,
    statistics_json,
)
from assay.evaluate.findings import report
from assay.evaluate.notes import causes
from assay.evaluate.scores import read_baseline

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
def command(
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
    full = as_json(comparison, texts or None) if wanted or form == "json" else {}
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
