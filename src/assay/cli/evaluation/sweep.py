"""`assay eval sweep`."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import click

from assay.cli.common import Bar, Part, echo, echo_styled, find_root, format_option, print_json
from assay.cli.evaluation.common import (
    columns,
    corpus_option,
    cutoff_option,
    echo_warnings,
    figure,
    kept_at,
    root_option,
    runs_option,
    runs_path,
    timeout_option,
)
from assay.errors import AssayError
from assay.evaluate import golden as golden_sets
from assay.evaluate.matching import matcher_for
from assay.evaluate.run import Plan
from assay.evaluate.sweep import grid as grid_file
from assay.evaluate.sweep.asking import configured
from assay.evaluate.sweep.grid import ENGINE, SEARCH, Grid, of_chunker, of_size
from assay.evaluate.sweep.sweep import Sweep, run, save
from assay.evaluate.sweep.verdict import ALPHA, Measured, band
from assay.evaluate.systems import reaches_out
from assay.html.elements import probability
from assay.text.display import counted, printable

_BEST, _FRONT, _ALIKE = "*", "◆", "≈"
_NAMED = 6  # configurations in a line


def print_sweep(sweep: Sweep, report: dict[str, Any]) -> None:
    """Everything there is to say on one screen."""
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
    words = [f"{one.title} {word}" for one in best.figures if (word := band(one.key, best.means[one.key]))]
    if words:
        echo(f"\n{best.name}: {', '.join(words)}")
    _print_groups(next(one for one in report["reports"] if one["config"]["name"] == best.name), best)
    _print_difficulty(report["difficulty"], first.k)
    echo("")
    for line in _work(report["work"]):
        echo(line)


def _print_table(sweep: Sweep) -> None:
    """One row for each configuration; the best of every column is marked."""
    figures = sweep.measured[0].figures
    numbers = [_column([one.means[figure.key] for one in sweep.measured], 4, max) for figure in figures]
    numbers.append(_column([one.latency if isfinite(one.latency) else None for one in sweep.measured], 2, min))
    head = ["Configuration", *(one.title for one in figures), "ms", "", "Run"]
    rows = [
        [one.name, *(column[at] for column in numbers), _marks(sweep, one), one.info.run_id]
        for at, one in enumerate(sweep.measured)
    ]
    for line in _boxed(head, rows, right=range(1, len(numbers) + 1)):
        echo_styled(*line)
    if len(rows) > 1:
        echo(
            f"{_BEST} best of its column   {_FRONT} nothing is both better and faster   {_ALIKE} not told apart from the best"
        )


def _column(values: Sequence[float | None], digits: int, best: Callable[[Iterable[float]], float]) -> list[str]:
    """Numbers as text, those that read like the best with a mark behind them."""
    texts = ["–" if value is None else f"{value:.{digits}f}" for value in values]
    known = [value for value in values if value is not None]
    top = f"{best(known):.{digits}f}" if len(known) > 1 else ""
    return [text + (_BEST if text == top else " ") for text in texts]


def _marks(sweep: Sweep, one: Measured) -> str:
    front = _FRONT if one.name in sweep.verdict.front else " "
    alike = _ALIKE if one.name in sweep.verdict.against and sweep.verdict.alike(one.name) else " "
    return (front + alike) if len(sweep.measured) > 1 else ""


def _boxed(head: Sequence[str], rows: Sequence[Sequence[str]], right: Container[int]) -> list[list[Part]]:
    """A table with lines around it; what is marked as the best stands out in a terminal."""
    kept = [at for at in range(len(head)) if head[at] or any(row[at].strip() for row in rows)]
    widths = {at: max(len(row[at]) for row in (head, *rows)) for at in kept}

    def written(row: Sequence[str]) -> list[Part]:
        cells = [row[at].rjust(widths[at]) if at in right else row[at].ljust(widths[at]) for at in kept]
        shown: list[Part] = [(cell, {"bold": True, "fg": "green"}) if cell.endswith(_BEST) else cell for cell in cells]
        return ["│ ", shown[0], *(part for cell in shown[1:] for part in (" │ ", cell)), " │"]

    def line(left: str, middle: str, end: str) -> list[Part]:
        return [left + middle.join("─" * (widths[at] + 2) for at in kept) + end]

    return [line("╭", "┬", "╮"), written(head), line("├", "┼", "┤"), *map(written, rows), line("╰", "┴", "╯")]


def _recommendations(sweep: Sweep) -> list[str]:
    verdict, named = sweep.verdict, sweep.named
    quality = f"NDCG@{sweep.measured[0].info.k}"

    def told(name: str) -> str:
        one = named[name]
        return f"{name} ({quality}: {one.score:.4f}{f', {one.latency:.2f}ms' if isfinite(one.latency) else ''})"

    share = f"the best on {verdict.chosen[verdict.best]:.0%} of resampled query sets"
    lines = [f"Best overall quality: {verdict.best} ({quality}: {named[verdict.best].score:.4f}; {share})"]
    if isfinite(named[verdict.fastest].latency):
        lines.append(f"Fastest: {verdict.fastest} ({named[verdict.fastest].latency:.2f}ms)")
        lines.append(f"Best under {verdict.limit:g}ms: {told(verdict.in_time) if verdict.in_time else 'none'}")
    alike, apart = verdict.not_told_apart, [name for name in verdict.against if not verdict.alike(name)]
    if alike:
        lines.append(f"Fastest not told apart from the best: {told(verdict.thrifty)}")
        lines.append(f"Not told apart from the best (p ≥ {ALPHA:g} after Holm): {_listed(alike)}")
    if apart:
        lines.append(f"Worse than the best, more than by chance: {_listed(apart)}")
    return lines


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _print_groups(report: dict[str, Any], best: Measured) -> None:
    """The best configuration by category, difficulty and type of file, where there is more than one."""
    for title, key in (
        ("category", "category_metrics"),
        ("difficulty", "difficulty_metrics"),
        ("file type", "file_type_metrics"),
    ):
        if len(report[key]) > 1:
            rows = [
                [group, *(figure(told[f"avg_{one.key}"]) for one in best.figures), told["count"]]
                for group, told in report[key].items()
            ]
            echo("")
            for line in columns([title, *(one.title for one in best.figures), "N"], rows):
                echo(line)


def _print_difficulty(told: dict[str, Any], k: int) -> None:
    """How hard the queries looked before anybody looked at labels."""
    ease = told["correlation"]["ease"]
    classes = ", ".join(
        f"{one['count']} {name} ({figure(one[f'avg_ndcg_at_{k}'])})" for name, one in told["classes"].items()
    )
    rho = (
        ""
        if ease["spearman"] is None
        else f"; rank correlation with what was measured {ease['spearman']:+.2f} (p {probability(ease['p'])})"
    )
    echo(f"\nPredicted difficulty of the queries, with the NDCG@{k} they had: {classes}{rho}")


def _work(work: dict[str, Any]) -> list[str]:
    """What had to be done, and what had been done before."""
    lines = []
    if work["stages"]:
        texts = sum(stage["passages"] for stage in work["stages"] if stage["model"])
        lines = [
            f"divided: {counted(work['documents_divided'], 'document')} for {counted(work['chunk_sets'], 'chunk set')}",
            f"embedded: {work['texts_embedded']:,} of {counted(texts, 'text')} for {counted(work['embedding_pairs'], 'pair')} of chunk set and model",
        ]
    before = {
        "answered before": work["queries_answered_before"],
        "configurations finished before": work["finished_before"],
        "resumed": work["resumed"],
    }
    more = "".join(f", {number:,} {what}" for what, number in before.items() if number)
    return [*lines, f"asked: {counted(work['queries_asked'], 'query', 'queries')}{more}"]


# `assay eval sweep`.


@click.command("sweep")
@click.option(
    "--queries",
    "--golden",
    "golden_path",
    type=click.Path(path_type=Path),
    metavar="PATH",
    required=True,
    help="The golden set: a file or a folder, any format.",
)
@click.option("--chunk-sizes", metavar="N,N,…", help="Sizes of passages in tokens. Default: 512,1024,2048,4096.")
@click.option(
    "--chunkers", metavar="SPEC,…", help="Chunkers: structure:512, tokens:1024:128, … With --chunk-sizes, more of them."
)
@click.option(
    "--embedders", metavar="SPEC,…", help="Embedders: lsa, none, folder:PATH, openai:URL#MODEL. Default: lsa."
)
@click.option(
    "--rerankers",
    metavar="SPEC,…",
    help="Rerankers: none, features, folder:PATH, rerank:URL#MODEL. Default: none,features.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=V,V,…",
    help="Values of any other setting of the system; may be given several times.",
)
@click.option(
    "--grid",
    "grid_path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The axes, and combinations to leave out, in YAML. Options given beside it come first.",
)
@click.option(
    "--trust-grid",
    is_flag=True,
    help="Start the programs and contact the servers that the grid file names; without it, only what you type is.",
)
@click.option(
    "--system",
    metavar="SPEC",
    help="What is configured: search, assay:PROFILE, or any system with {NAME} where a setting belongs. Default: search.",
)
@click.option("--single", is_flag=True, help="Only the configuration of assay.toml.")
@click.option("--min-mrr", type=click.FloatRange(0, 1), metavar="X", help="Exit code 1 when the best has a lower MRR.")
@click.option(
    "--min-ndcg", type=click.FloatRange(0, 1), metavar="X", help="Exit code 1 when the best has a lower NDCG."
)
@click.option(
    "--under",
    type=click.FloatRange(min=0, min_open=True),
    default=100.0,
    show_default=True,
    metavar="MS",
    help="Recommend the best that answers in so many milliseconds, too.",
)
@click.option(
    "--matching", metavar="NAME", help="What counts as found: exact, strict, file, doc, span, … Default: by the set."
)
@cutoff_option
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Configurations asked at once, in processes of their own. Latencies are then measured under load.",
)
@timeout_option
@corpus_option
@click.option("--fresh", is_flag=True, help="Ask also what an earlier sweep or run has asked before.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where to save comparison.json, a report for each configuration and report.html. Default: .assay/sweeps/ID.",
)
@root_option
@runs_option
@format_option
def sweep_command(
    golden_path: Path,
    chunk_sizes: str | None,
    chunkers: str | None,
    embedders: str | None,
    rerankers: str | None,
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
    timeout: float,
    corpus: Path | None,
    fresh: bool,
    output: Path | None,
    root: Path | None,
    runs_file: Path | None,
    form: str,
) -> None:
    """Try every combination of chunk sizes, embedders, rerankers and other settings on a golden set, and say which to take.

    Documents are divided once for each chunker and embedded once for each chunker and embedder. Every configuration is stored as a run, so
    the same command goes on after it was killed. Exit code 1 when the best is below --min-mrr or --min-ndcg, or queries failed.
    """
    axes = _axes(chunk_sizes, chunkers, embedders, rerankers, settings)
    if single and (axes or grid_path):
        raise AssayError("--single measures the configuration of assay.toml: leave out the axes, or leave out --single")
    golden, where = golden_sets.load(golden_path), find_root(root)
    if single:
        configurations = [configured(system or SEARCH, where, corpus)]
    else:
        configurations = _grid(grid_path, system, axes, trust_grid).configurations()
    plan = Plan(matcher_for(golden, matching), k, corpus=str(corpus.resolve()) if corpus else "")
    bar = Bar()
    try:
        sweep = run(
            configurations, golden, plan, where, runs_path(where, runs_file), corpus=corpus, jobs=jobs, limit=under,
            timeout=timeout, fresh=fresh, progress=bar,
        )  # fmt: skip
    finally:
        bar.close()
    folder = output or kept_at(where, runs_file, "sweeps", sweep.id)
    report, saved = save(sweep, folder)
    if form == "json":
        print_json(report)
    else:
        print_sweep(sweep, report)
        echo(f"\nsaved: {', '.join(map(str, saved))}")
    echo_warnings(report["warnings"])
    raise click.exceptions.Exit(_code(sweep, {"MRR": min_mrr, f"NDCG@{k}": min_ndcg}, report))


def _axes(
    chunk_sizes: str | None, chunkers: str | None, embedders: str | None, rerankers: str | None, settings: Sequence[str]
) -> dict[str, list[str]]:
    """The axes that options give."""
    divided = [*map(of_size, _values("--chunk-sizes", chunk_sizes)), *map(of_chunker, _values("--chunkers", chunkers))]
    axes = {
        "chunker": divided,
        "embedder": _values("--embedders", embedders),
        "reranker": _values("--rerankers", rerankers),
    }
    for text in settings:
        name, sign, values = text.partition("=")
        if not sign or not name.strip():
            raise AssayError(f"--set {text}: write it as NAME=VALUE,VALUE")
        if axes.get(name.strip()):
            raise AssayError(f"--set {text}: {name.strip()} is given twice")
        axes[name.strip()] = _values(f"--set {name.strip()}", values)
    return {name: values for name, values in axes.items() if values}


def _values(option: str, text: str | None) -> list[str]:
    if text is None:
        return []
    values = [value.strip() for value in text.split(",")]
    if not all(values):
        raise AssayError(f"{option} '{text}' has an empty value; write values with commas between them")
    return values


def _grid(path: Path | None, system: str | None, axes: dict[str, list[str]], trusted: bool) -> Grid:
    """What the file says, and before it what the options say."""
    grid = grid_file.read(path) if path else Grid()
    chosen = system or grid.system
    if path and not trusted:
        if system is None and reaches_out(chosen):
            raise AssayError(printable(f"{path}: asks {chosen}; type that yourself (--system), or give --trust-grid"))
        filled = [(name, value) for name, values in grid.axes.items() if name not in axes for value in values]
        if risky := next((f"{name} {value}" for name, value in filled if not _is_harmless(chosen, name, value)), ""):
            what = f"{path}: {risky} becomes part of a command, or contacts a server"
            raise AssayError(printable(f"{what}; type that yourself, or give --trust-grid"))
    return replace(grid, system=chosen, axes=dict(grid.axes) | axes)


def _is_harmless(system: str, name: str, value: str) -> bool:
    """Tell whether a file may fill in a setting: numbers of ours, but nothing of a command line or an address."""
    kind = system.partition(":")[0]
    return kind == ENGINE or (kind == SEARCH and not reaches_out(f"{SEARCH}:{name}={value}"))


def _code(sweep: Sweep, least: dict[str, float | None], report: dict[str, Any]) -> int:
    """Says what is below its floor; 1 when anything is, or when queries failed."""
    best = sweep.named[sweep.verdict.best]
    reached = {figure.title: best.means[figure.key] for figure in best.figures}
    low = {title: floor for title, floor in least.items() if floor is not None and (reached[title] or 0.0) < floor}
    for title, floor in low.items():
        echo(f"{best.name}: {title} {reached[title] or 0.0:.4f} is below {floor:g}", err=True)
    return int(bool(low) or any(one["failed_queries"] for one in report["reports"]))
