"""Shared by the eval commands: options, each defined once, the run store they name, and printing of figures."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import click

from assay.cli.common import STORE, Bar, echo, find_root, format_option, print_json
from assay.core.cautions import Caution
from assay.database.address import configured_store, is_postgres
from assay.evaluate.metrics import Measure, parse
from assay.evaluate.runs import RunStore
from assay.evaluate.selection import Selection
from assay.system.files import FOLDER, place_in
from assay.text.display import one_line


class Decorator(Protocol):
    """A click decorator that adds an option to a command."""

    def __call__(self, function: click.decorators.FC, /) -> click.decorators.FC: ...


PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
EXISTING_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
EXISTING_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)


@dataclass(frozen=True, slots=True)
class Runs:
    """The root of a command and its run store."""

    root: Path
    option: Path | str | None = None  # --runs

    @property
    def address(self) -> Path | str:
        """The store of --runs, of ASSAY_STORE or the user's configuration, or the file of the repository."""
        return self.option or configured_store() or self.root / FOLDER / "runs.db"

    @property
    def shared(self) -> bool:
        """True for the store of a team."""
        return isinstance(self.address, str) and is_postgres(self.address)

    @property
    def exists(self) -> bool:
        """True if there is a store to read; a team's is only known when it is opened."""
        return self.shared or Path(self.address).exists()

    def open(self, write: bool = False) -> AbstractContextManager[RunStore]:
        return RunStore.open(self.address, write)

    def folder(self, *parts: str) -> Path:
        """Return a folder beside the run file; in `.assay`, no part may be a link or another user's."""
        beside = self.option.parent if isinstance(self.option, Path) else None
        return place_in(self.root / FOLDER, *parts) if beside is None else beside.joinpath(*parts)


# kinds of options


def path(*names: str, help: str, type: click.Path = PATH, metavar: str = "FILE", required: bool = False) -> Decorator:
    return click.option(*names, type=type, metavar=metavar, required=required, help=help)


def count(*names: str, help: str, default: int | None = None, least: int = 1) -> Decorator:
    """Add an option for a whole number of at least `least`."""
    kind = click.IntRange(min=least)
    return click.option(*names, type=kind, default=default, show_default=default is not None, help=help)


def repeated(*names: str, metavar: str | None, help: str) -> Decorator:
    """Add an option that may be repeated; its values arrive as a tuple."""
    return click.option(*names, multiple=True, metavar=metavar, help=help)


def golden(
    help: str = "The golden set: a file or a folder, any format.", required: bool = True, *names: str
) -> Decorator:
    return path(*names, "--golden", "golden_path", metavar="PATH", required=required, help=help)


def system(
    help: str = "The system under test: assay, 'cmd:… {query}', http:URL, python:module:function, trec:FILE.",
    default: str = "assay",
) -> Decorator:
    return click.option("--system", "spec", metavar="SPEC", default=default, show_default=True, help=help)


def timeout(help: str = "Seconds per query.") -> Decorator:
    kind = click.FloatRange(min=0, min_open=True)
    return click.option("--timeout", type=kind, default=60.0, show_default=True, help=help)


def corpus(
    help: str = "A folder with one repository per sub-folder, for golden sets over several repositories.",
) -> Decorator:
    return path("--corpus", type=EXISTING_FOLDER, metavar="DIR", help=help)


def matching(help: str) -> Decorator:
    return click.option("--matching", metavar="NAME", help=help)


def force(help: str = "Compare even if golden set or settings differ.") -> Decorator:
    return click.option("--force", is_flag=True, help=help)


def selection(by_id: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add --tier, --tag, --category and, if `by_id`, --query; they are passed as `selection`."""
    names = ("tier", "tag", "category", *(["query"] if by_id else []))

    def with_options(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def with_selection(*arguments: Any, **values: Any) -> None:
            chosen = Selection(**{name: values.pop(f"only_{name}") for name in names})
            function(*arguments, selection=chosen, **values)

        for name in reversed(names):
            title = "query with this id" if name == "query" else f"queries of this {name}"
            metavar = "ID" if name == "query" else "NAME"
            add = repeated(f"--{name}", f"only_{name}", metavar=metavar, help=f"Only the {title}; may be repeated.")
            with_selection = add(with_selection)
        return with_selection

    return with_options


# options that are the same everywhere

cutoff = count("-k", "--k", default=10, help="The cut-off of the measures.")
measures = repeated(
    "--measure",
    "-m",
    "measures",
    metavar="NAME",
    help="A measure such as nDCG@10, P(rel=2)@5, AP; may be repeated. Default: the standard ones.",
)
root = path("--root", metavar="DIR", help="The repository. Default: the one that contains the current folder.")
_runs = click.option(
    "--runs",
    "runs_store",
    type=STORE,
    metavar="STORE",
    help="The run store: a file, or postgresql://…. Default: ASSAY_STORE, the user's configuration, or .assay/runs.db "
    "at the root.",
)


def store(function: Callable[..., None]) -> Callable[..., None]:
    """Add --root, --runs and --format; the first two are passed as `runs`."""

    @root
    @_runs
    @format_option
    @functools.wraps(function)
    def with_runs(*arguments: Any, root: Path | None, runs_store: Path | str | None, **options: Any) -> None:
        function(*arguments, runs=Runs(find_root(root), runs_store), **options)

    return with_runs


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


def echo_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a plain-text table: the first column left-aligned, numeric columns right-aligned."""
    cells = [[one_line(str(cell)) for cell in row] for row in (head, *rows)]
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


def print_result(form: str, facts: Mapping[str, Any], message: str) -> None:
    """Print the outcome of a command: its facts as JSON, or a message."""
    if form == "json":
        print_json(facts)
    else:
        echo(message)


def echo_warnings(warnings: Iterable[Caution | Mapping[str, str]]) -> None:
    """Print the messages of warnings, as values or as they are in JSON."""
    for warning in warnings:
        echo(f"warning: {warning.message if isinstance(warning, Caution) else warning['message']}", err=True)


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
