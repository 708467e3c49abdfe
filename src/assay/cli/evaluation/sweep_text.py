"""A sweep for people at a terminal: the table, what to take, and why."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from math import isfinite
from typing import Any

from assay.cli.common import Part, echo, echo_styled
from assay.cli.evaluation.common import columns, figure
from assay.evaluate.report.wording import probability
from assay.evaluate.sweep.measured import Measured
from assay.evaluate.sweep.sweep import Sweep
from assay.evaluate.sweep.verdict import ALPHA, band
from assay.text.counting import counted

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
