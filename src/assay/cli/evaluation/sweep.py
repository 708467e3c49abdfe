"""`assay eval sweep`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from assay.cli.common import echo, find_root, format_option, print_json
from assay.cli.evaluation.common import (
    corpus_option,
    cutoff_option,
    echo_warnings,
    kept_at,
    root_option,
    runs_option,
    runs_path,
    timeout_option,
)
from assay.cli.evaluation.sweep_text import print_sweep
from assay.cli.progress import Bar
from assay.errors import AssayError
from assay.evaluate import golden as golden_sets
from assay.evaluate.matching import matcher_for
from assay.evaluate.run import Plan
from assay.evaluate.sweep import grid_file
from assay.evaluate.sweep.grid import ENGINE, SEARCH, Grid, of_chunker, of_size
from assay.evaluate.sweep.stages import configured
from assay.evaluate.sweep.sweep import Sweep, run, save
from assay.evaluate.systems import reaches_out
from assay.text.printable import printable


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
def command(
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
