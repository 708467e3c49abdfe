"""Shared by the eval commands: parsing of measures, text tables, warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from assay.cli.common import Bar, echo
from assay.evaluate.metrics import Measure, parse


def parsed(names: Sequence[str]) -> list[Measure] | None:
    """Parse the measures; None if there are none."""
    return [parse(name) for text in names for name in _split(text)] or None


def _split(text: str) -> list[str]:
    """Split measures at commas and spaces outside brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character in ", " and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part]


def figure(value: float | None, signed: bool = False) -> str:
    """Format a metric, or a dash for None."""
    if value is None:
        return "–"
    return f"{value:+.4f}" if signed else f"{value:.4f}"


def echo_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a plain-text table: the first column left-aligned, numeric columns right-aligned."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    right_aligned = [column > 0 and all(_is_numeric(row[column]) for row in cells[1:]) for column in range(len(head))]
    for row in cells:
        aligned = (
            cell.rjust(width) if align_right else cell.ljust(width)
            for cell, width, align_right in zip(row, widths, right_aligned, strict=True)
        )
        echo("  ".join(aligned).rstrip())


def _is_numeric(cell: str) -> bool:
    return cell.strip("+-−%.…/–= 0123456789") == ""


def shortened(text: str, limit: int) -> str:
    """Collapse whitespace and truncate to `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def echo_warnings(warnings: Sequence[str]) -> None:
    for warning in warnings:
        echo(f"warning: {warning}", err=True)


@contextmanager
def progress_bar(stage: str = "", total: int = 0) -> Iterator[Bar]:
    """Show a progress bar while the block runs."""
    bar = Bar()
    try:
        if stage:
            bar.start(stage, total)
        yield bar
    finally:
        bar.close()
