"""Options of the eval commands, each defined once, and the run store they name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import click

from assay.cli.common import find_root, format_option
from assay.evaluate.runs import RunStore
from assay.system.files import FOLDER, place_in


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
    file: Path | None = None  # --runs

    @property
    def path(self) -> Path:
        return self.file or self.root / FOLDER / "runs.db"

    def open(self, write: bool = False) -> AbstractContextManager[RunStore]:
        return RunStore.open(self.path, write)

    def folder(self, *parts: str) -> Path:
        """Return a folder beside the run store; in `.assay`, no part may be a link or another user's."""
        return place_in(self.root / FOLDER, *parts) if self.file is None else self.file.parent.joinpath(*parts)


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
_runs = path("--runs", "runs_file", type=FILE, help="The run store. Default: .assay/runs.db at the root.")


def store(function: Callable[..., None]) -> Callable[..., None]:
    """Add --root, --runs and --format; the first two are passed as `runs`."""

    @root
    @_runs
    @format_option
    @functools.wraps(function)
    def with_runs(*arguments: Any, root: Path | None, runs_file: Path | None, **options: Any) -> None:
        function(*arguments, runs=Runs(find_root(root), runs_file), **options)

    return with_runs
