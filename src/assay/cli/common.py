"""What several commands share: finding the root, printing in the format asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from assay.errors import AssayError
from assay.root import root_around, workspace_around
from assay.store.layout import Home

F = TypeVar("F", bound=Callable[..., Any])


_index_dir_option = click.option(
    "--index-dir",
    type=click.Path(path_type=Path),
    help="Keep the index in DIR instead of .assay/ at the root.",
    metavar="DIR",
)


def roots_options(function: F) -> F:
    """--root, as often as there are repositories, and --index-dir."""
    return click.option(
        "--root",
        "roots",
        multiple=True,
        metavar="DIR",
        help="The repository. Several, each perhaps LABEL=DIR, are asked as one. Default: the workspace or repository around the current folder.",
    )(_index_dir_option(function))


def root_options(function: F) -> F:
    """--root and --index-dir, for commands about one repository."""
    function = _index_dir_option(function)
    return click.option(
        "--root",
        type=click.Path(path_type=Path),
        help="The repository. Default: the one around the current folder.",
        metavar="DIR",
    )(function)


def format_option(function: F) -> F:
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="How to print the answer.",
    )(function)


def find_root(given: Path | None) -> Path:
    """The folder given, else the nearest with an index, else the repository around the current folder, else that folder."""
    if given is not None:
        return given.resolve()
    return root_around(Path.cwd())


def find_one(given: Path | None) -> Path:
    """The same for what is about one repository: a workspace is none."""
    folder = workspace_around((given or Path.cwd()).resolve())
    if folder is not None and (given is None or folder == given.resolve()):
        from assay.workspace import Workspace

        Workspace.at(folder).only("this")
    return find_root(given)


def find_repository(given: Path | None) -> Path:
    """The same for what runs by itself: it never takes somebody's whole home, or disk, for a repository unless it is told to."""
    found = find_root(given)
    if given is None and found in (Path.home().resolve(), Path(found.anchor)) and not (found / ".git").exists():
        raise AssayError(f"{found} is not a repository: run it inside of one, or name it with --root DIR")
    return found


def home_of(root: Path, index_dir: Path | None) -> Home:
    return Home.of(root, index_dir)


def print_json(value: object) -> None:
    """Indented JSON; a number that is none becomes null."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
