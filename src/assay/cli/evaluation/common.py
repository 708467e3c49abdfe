"""What several eval commands share: where runs are kept, naming measures, printing tables."""

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
        help="The repository. Default: the one around the current folder.",
    )(function)


def runs_option(function: F) -> F:
    return click.option(
        "--runs",
        "runs_file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Where runs are kept. Default: .assay/runs.db at the root.",
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
        help="Whom to ask: assay, 'cmd:… {query}', http:URL, python:module:function, trec:FILE.",
    )(function)


def timeout_option(function: F) -> F:
    return click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=60.0,
        show_default=True,
        help="Seconds for one query.",
    )(function)


def corpus_option(function: F) -> F:
    return click.option(
        "--corpus",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        metavar="DIR",
        help="A folder with one repository in each sub-folder, for golden sets over several.",
    )(function)


def measures_option(function: F) -> F:
    return click.option(
        "--measure",
        "-m",
        "measures",
        multiple=True,
        metavar="NAME",
        help="A measure such as nDCG@10, P(rel=2)@5, AP; may be given several times. Default: the usual ones.",
    )(function)


def parsed(names: Sequence[str]) -> list[Measure] | None:
    """The measures asked for; None when none was."""
    return [parse(name) for text in names for name in _split(text)] or None


def _split(text: str) -> list[str]:
    """Several measures in one, separated by commas or spaces outside brackets."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign in ", " and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part for part in parts if part]


@contextmanager
def run_store(root: Path | None, runs_file: Path | None, write: bool = False) -> Iterator[RunStore]:
    with RunStore.open(runs_path(root, runs_file), write) as store:
        yield store


def runs_path(root: Path | None, runs_file: Path | None) -> Path:
    return runs_file or find_root(root) / FOLDER / "runs.db"


def kept_at(root: Path | None, runs_file: Path | None, *parts: str) -> Path:
    """The folder of these names beside the run file; in `.assay` no part of the way may be a link or another user's."""
    return place_in(find_root(root) / FOLDER, *parts) if runs_file is None else runs_file.parent.joinpath(*parts)


def figure(value: float | None, signed: bool = False) -> str:
    if value is None:
        return "–"
    return f"{value:+.4f}" if signed else f"{value:.4f}"


def columns(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """A table in plain text: the first column to the left, numbers to the right."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    right = [at > 0 and all(_numeric(row[at]) for row in cells[1:]) for at in range(len(head))]
    return [
        "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)).rstrip()
        for row in cells
    ]


def _numeric(cell: str) -> bool:
    return cell.strip("+-−%.…/–= 0123456789") == ""


def shortened(text: str, limit: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def echo_warnings(warnings: Sequence[str]) -> None:
    for warning in warnings:
        echo(f"warning: {warning}", err=True)
