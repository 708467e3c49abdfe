"""Shared by the eval commands: options, the run store, parsing of measures, text tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from assay.cli.common import echo, find_root
from assay.evaluate.metrics.measures import Measure, parse
from assay.evaluate.runs import RunStore
from assay.system.files import FOLDER, place_in

F = TypeVar("F", bound=Callable[..., Any])


def root_option(function: F) -> F:
    return click.option(
        "--root",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="The repository. Default: the one that contains the current folder.",
    )(function)


def runs_option(function: F) -> F:
    return click.option(
        "--runs",
        "runs_file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="The run store. Default: .assay/runs.db at the root.",
    )(function)


def cutoff_option(function: F) -> F:
    return click.option(
        "-k", "--k", type=click.IntRange(min=1), default=10, show_default=True, help="The cut-off of the measures."
    )(function)


def system_option(function: F) -> F:
    return click.option(
        "--system",
        "spec",
        metavar="SPEC",
        default="assay",
        show_default=True,
        help="The system under test: assay, 'cmd:… {query}', http:URL, python:module:function, trec:FILE.",
    )(function)


def timeout_option(function: F) -> F:
    return click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=60.0,
        show_default=True,
        help="Seconds per query.",
    )(function)


def corpus_option(function: F) -> F:
    return click.option(
        "--corpus",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        metavar="DIR",
        help="A folder with one repository per sub-folder, for golden sets over several repositories.",
    )(function)


def measures_option(function: F) -> F:
    return click.option(
        "--measure",
        "-m",
        "measures",
        multiple=True,
        metavar="NAME",
        help="A measure such as nDCG@10, P(rel=2)@5, AP; may be repeated. Default: the standard ones.",
    )(function)


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


@contextmanager
def run_store(root: Path | None, runs_file: Path | None, write: bool = False) -> Iterator[RunStore]:
    """Open the run store of a root, or the given file."""
    with RunStore.open(runs_path(root, runs_file), write) as store:
        yield store


def runs_path(root: Path | None, runs_file: Path | None) -> Path:
    """Return the path of the run store."""
    return runs_file or find_root(root) / FOLDER / "runs.db"


def kept_at(root: Path | None, runs_file: Path | None, *parts: str) -> Path:
    """Return a folder beside the run store; in `.assay`, no part may be a link or another user's."""
    return place_in(find_root(root) / FOLDER, *parts) if runs_file is None else runs_file.parent.joinpath(*parts)


def figure(value: float | None, signed: bool = False) -> str:
    """Format a metric, or a dash for None."""
    if value is None:
        return "–"
    return f"{value:+.4f}" if signed else f"{value:.4f}"


def columns(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Format a plain-text table: the first column left-aligned, numeric columns right-aligned."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    right_aligned = [column > 0 and all(_is_numeric(row[column]) for row in cells[1:]) for column in range(len(head))]
    return [
        "  ".join(
            cell.rjust(width) if align_right else cell.ljust(width)
            for cell, width, align_right in zip(row, widths, right_aligned, strict=True)
        ).rstrip()
        for row in cells
    ]


def _is_numeric(cell: str) -> bool:
    return cell.strip("+-−%.…/–= 0123456789") == ""


def shortened(text: str, limit: int) -> str:
    """Collapse whitespace and truncate to `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def echo_warnings(warnings: Sequence[str]) -> None:
    for warning in warnings:
        echo(f"warning: {warning}", err=True)
