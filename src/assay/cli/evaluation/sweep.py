"""`assay eval sweep`."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import click

from assay.cli.common import Part, cluster_option, echo, echo_styled, print_json
from assay.cli.evaluation import options
from assay.cli.evaluation.options import Runs, echo_table, echo_warnings, progress_bar
from assay.config.cluster import choose_cluster
from assay.errors import AssayError
from assay.evaluate import golden as golden_sets
from assay.evaluate.matching import matcher_for
from assay.evaluate.metrics import figure
from assay.evaluate.run import Plan
from assay.evaluate.sweep import Sweep, run, save
from assay.evaluate.sweep.execution import configured
from assay.evaluate.sweep.grid import SEARCH, axes_of, combine
from assay.evaluate.sweep.verdict import ALPHA, Measured, band
from assay.html.elements import probability
from assay.text.display import counted

_SHARE = click.FloatRange(0, 1)
_BEST, _FRONT, _ALIKE = "*", "◆", "≈"
_NAMED = 6  # configurations listed by name


def print_sweep(sweep: Sweep, report: dict[str, Any]) -> None:
    """Print a sweep report."""
    golden, first = sweep.golden, sweep.measured[0].info
    echo(
        f"{counted(len(sweep.measured), 'configuration')} on {golden.path}: {counted(len(golden.queries), 'query', 'queries')}, "
        f"matching {first.matching}, k = {first.k}\n"
    )
    _print_table(sweep)
    if len(sweep.measured) > 1:
        echo("\nRecommendations:")
        for line in _recommendations(sweep):
            echo(f"  {line}")
    best = sweep.named[sweep.verdict.best]
    bands = [f"{column.title} {word}" for column in best.figures if (word := band(column.key, best.means[column.key]))]
    if bands:
        echo(f"\n{best.name}: {', '.join(bands)}")
    _print_groups(next(single for single in report["reports"] if single["config"]["name"] == best.name), best)
    _print_difficulty(report["difficulty"], first.k)
    echo("")
    for line in _work(report["work"]):
        echo(line)


def _print_table(sweep: Sweep) -> None:
    """Print a row per configuration, with the best value of every column marked."""
    figures = sweep.measured[0].figures
    numbers = [_column([entry.means[figure.key] for entry in sweep.measured], 4, max) for figure in figures]
    numbers.append(_column([entry.latency if isfinite(entry.latency) else None for entry in sweep.measured], 2, min))
    head = ["Configuration", *(column.title for column in figures), "ms", "", "Run"]
    rows = [
        [entry.name, *(column[position] for column in numbers), _marks(sweep, entry), entry.info.run_id]
        for position, entry in enumerate(sweep.measured)
    ]
    for line in _boxed(head, rows, right=range(1, len(numbers) + 1)):
        echo_styled(*line)
    if len(rows) > 1:
        echo(
            f"{_BEST} best of its column   {_FRONT} Pareto front: none is both better and faster   {_ALIKE} not significantly different from the best"
        )


def _column(values: Sequence[float | None], digits: int, best: Callable[[Iterable[float]], float]) -> list[str]:
    """Format numbers, marking those that equal the best as printed."""
    texts = ["–" if value is None else f"{value:.{digits}f}" for value in values]
    present = [value for value in values if value is not None]
    top = f"{best(present):.{digits}f}" if len(present) > 1 else ""
    return [text + (_BEST if text == top else " ") for text in texts]


def _marks(sweep: Sweep, entry: Measured) -> str:
    front = _FRONT if entry.name in sweep.verdict.front else " "
    alike = (
        _ALIKE if entry.name in sweep.verdict.versus_best and sweep.verdict.is_indistinguishable(entry.name) else " "
    )
    return (front + alike) if len(sweep.measured) > 1 else ""


def _boxed(head: Sequence[str], rows: Sequence[Sequence[str]], right: Container[int]) -> list[list[Part]]:
    """Format a table with borders; the best values are highlighted."""
    shown_columns = [column for column in range(len(head)) if head[column] or any(row[column].strip() for row in rows)]
    widths = {column: max(len(row[column]) for row in (head, *rows)) for column in shown_columns}

    def format_row(row: Sequence[str]) -> list[Part]:
        cells = [
            row[column].rjust(widths[column]) if column in right else row[column].ljust(widths[column])
            for column in shown_columns
        ]
        shown: list[Part] = [(cell, {"bold": True, "fg": "green"}) if cell.endswith(_BEST) else cell for cell in cells]
        return ["│ ", shown[0], *(part for cell in shown[1:] for part in (" │ ", cell)), " │"]

    def border(left: str, middle: str, end: str) -> list[Part]:
        return [left + middle.join("─" * (widths[column] + 2) for column in shown_columns) + end]

    return [
        border("╭", "┬", "╮"),
        format_row(head),
        border("├", "┼", "┤"),
        *map(format_row, rows),
        border("╰", "┴", "╯"),
    ]


def _recommendations(sweep: Sweep) -> list[str]:
    verdict, named = sweep.verdict, sweep.named
    quality = f"nDCG@{sweep.measured[0].info.k}"

    def describe(name: str) -> str:
        entry = named[name]
        return f"{name} ({quality}: {entry.score:.4f}{f', {entry.latency:.2f}ms' if isfinite(entry.latency) else ''})"

    share = f"the best on {verdict.best_shares[verdict.best]:.0%} of resampled query sets"
    lines = [f"Best overall quality: {verdict.best} ({quality}: {named[verdict.best].score:.4f}; {share})"]
    if isfinite(named[verdict.fastest].latency):
        lines.append(f"Fastest: {verdict.fastest} ({named[verdict.fastest].latency:.2f}ms)")
        lines.append(
            f"Best under {verdict.limit:g}ms: {describe(verdict.best_within_limit) if verdict.best_within_limit else 'none'}"
        )
    indistinguishable, worse = (
        verdict.indistinguishable,
        [name for name in verdict.versus_best if not verdict.is_indistinguishable(name)],
    )
    if indistinguishable:
        lines.append(f"Fastest without significant loss: {describe(verdict.fastest_indistinguishable)}")
        lines.append(
            f"Not significantly different from the best (p ≥ {ALPHA:g} after Holm): {_listed(indistinguishable)}"
        )
    if worse:
        lines.append(f"Significantly worse than the best: {_listed(worse)}")
    return lines


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _print_groups(report: dict[str, Any], best: Measured) -> None:
    """Print the best configuration's figures by category, difficulty and file type."""
    for title, key in (
        ("category", "category_metrics"),
        ("difficulty", "difficulty_metrics"),
        ("file type", "file_type_metrics"),
    ):
        if len(report[key]) > 1:
            rows = [
                [group, *(figure(metrics[f"avg_{column.key}"]) for column in best.figures), metrics["count"]]
                for group, metrics in report[key].items()
            ]
            echo("")
            echo_table([title, *(column.title for column in best.figures), "N"], rows)


def _print_difficulty(difficulty: dict[str, Any], k: int) -> None:
    """Print the predicted difficulty classes and their correlation with quality."""
    ease = difficulty["correlation"]["ease"]
    classes = ", ".join(
        f"{metrics['count']} {name} ({figure(metrics[f'avg_ndcg_at_{k}'])})"
        for name, metrics in difficulty["classes"].items()
    )
    rho = (
        ""
        if ease["spearman"] is None
        else f"; rank correlation with measured quality {ease['spearman']:+.2f} (p {probability(ease['p'])})"
    )
    echo(f"\nPredicted query difficulty (mean nDCG@{k}): {classes}{rho}")


def _work(work: dict[str, Any]) -> list[str]:
    """Return lines on the work done and reused."""
    lines = []
    if work["stages"]:
        texts = sum(stage["passages"] for stage in work["stages"] if stage["model"])
        lines = [
            f"chunked: {counted(work['documents_divided'], 'document')} for {counted(work['chunk_sets'], 'chunk set')}",
            f"embedded: {work['texts_embedded']:,} of {counted(texts, 'text')} for {counted(work['embedding_pairs'], 'pair')} of chunk set and model",
        ]
    before = {
        "answered before": work["queries_answered_before"],
        "configurations finished before": work["finished_before"],
        "resumed": work["resumed"],
    }
    more = "".join(f", {number:,} {label}" for label, number in before.items() if number)
    return [*lines, f"asked: {counted(work['queries_asked'], 'query', 'queries')}{more}"]


# assay eval sweep


@click.command("sweep")
@options.golden("The golden set: a file or a folder, any format.", True, "--queries")
@click.option("--chunk-sizes", metavar="N,N,…", help="Passage sizes in tokens. Default: 512,1024,2048,4096.")
@click.option(
    "--chunkers", metavar="SPEC,…", help="Chunkers: structure:512, tokens:1024:128, … Added to --chunk-sizes."
)
@click.option(
    "--embedders", metavar="SPEC,…", help="Embedders: lsa, none, folder:PATH, openai:URL#MODEL. Default: lsa."
)
@click.option(
    "--rerankers",
    metavar="SPEC,…",
    help="Rerankers: none, features, folder:PATH, rerank:URL#MODEL. Default: none,features.",
)
@options.repeated(
    "--set", "settings", metavar="NAME=V,V,…", help="Values of another setting of the system; may be repeated."
)
@options.path(
    "--grid", "grid_path", type=options.FILE, help="Axes and excluded combinations in YAML. Options override its axes."
)
@click.option(
    "--trust-grid",
    is_flag=True,
    help="Allow the grid file to start programs and contact servers. Default: only systems typed as options may.",
)
@click.option(
    "--system",
    metavar="SPEC",
    help="The system: search, assay:PROFILE, or any SPEC with {NAME} placeholders for settings. Default: search.",
)
@click.option("--single", is_flag=True, help="Measure only the configuration of assay.toml.")
@click.option("--min-mrr", type=_SHARE, metavar="X", help="Exit code 1 when the best has a lower RR@k.")
@click.option("--min-ndcg", type=_SHARE, metavar="X", help="Exit code 1 when the best has a lower nDCG@k.")
@click.option(
    "--under",
    type=click.FloatRange(min=0, min_open=True),
    default=100.0,
    show_default=True,
    metavar="MS",
    help="Also recommend the best configuration within this mean latency.",
)
@options.matching("The matcher: exact, strict, file, doc, span, … Default: by the set.")
@options.cutoff
@options.count(
    "--jobs",
    default=1,
    help="Configurations measured at once, in separate processes. Latencies are then measured under load.",
)
@cluster_option
@options.timeout()
@options.corpus()
@click.option("--fresh", is_flag=True, help="Repeat queries that an earlier sweep or run has answered.")
@options.path(
    "--output",
    metavar="DIR",
    help="Where to save comparison.json, a report for each configuration and report.html. Default: .assay/sweeps/ID.",
)
@options.store
def sweep_command(
    golden_path: Path,
    settings: tuple[str, ...],
    grid_path: Path | None,
    trust_grid: bool,
    system: str | None,
    single: bool,
    min_mrr: float | None,
    min_ndcg: float | None,
    under: float,
    matching: str | None,
    k: int,
    jobs: int,
    cluster: str | None,
    timeout: float,
    corpus: Path | None,
    fresh: bool,
    output: Path | None,
    runs: Runs,
    form: str,
    **axis_options: str | None,
) -> None:
    """Measure every combination of chunk sizes, embedders, rerankers and other settings, and recommend one.

    Documents are chunked once per chunker and embedded once per chunker and embedder. Every configuration is stored as
    a run; a killed sweep resumes when repeated. Exit code 1 when the best is below --min-mrr or --min-ndcg, or queries
    failed.
    """
    axes = axes_of(axis_options, settings)
    if single and (axes or grid_path):
        raise AssayError("--single measures the configuration of assay.toml: leave out the axes, or leave out --single")
    chosen_cluster = choose_cluster(cluster)
    golden = golden_sets.load(golden_path)
    if single:
        configurations = [configured(system or SEARCH, runs.root, corpus)]
    else:
        configurations = combine(grid_path, system, axes, trust_grid).configurations()
    plan = Plan(matcher_for(golden, matching), k, corpus=str(corpus.resolve()) if corpus else "")
    with progress_bar() as bar:
        sweep = run(
            configurations, golden, plan, runs.root, runs.address, corpus=corpus, jobs=jobs, cluster=chosen_cluster,
            limit=under, timeout=timeout, fresh=fresh, progress=bar,
        )  # fmt: skip
    report, saved = save(sweep, output or runs.folder("sweeps", sweep.id))
    if form == "json":
        print_json(report)
    else:
        print_sweep(sweep, report)
        echo(f"\nsaved: {', '.join(map(str, saved))}")
    echo_warnings(report["warnings"])
    raise click.exceptions.Exit(_code(sweep, {f"RR@{k}": min_mrr, f"nDCG@{k}": min_ndcg}, report))


def _code(sweep: Sweep, floors: dict[str, float | None], report: dict[str, Any]) -> int:
    """Report figures below their floor; return 1 if there are any, or if queries failed, else 0."""
    best = sweep.named[sweep.verdict.best]
    values = {figure.title: best.means[figure.key] for figure in best.figures}
    missed = {title: floor for title, floor in floors.items() if floor is not None and (values[title] or 0.0) < floor}
    for title, floor in missed.items():
        echo(f"{best.name}: {title} {values[title] or 0.0:.4f} is below {floor:g}", err=True)
    return int(bool(missed) or any(single["failed_queries"] for single in report["reports"]))
