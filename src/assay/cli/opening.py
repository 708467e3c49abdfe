"""Opening the repository a command speaks of; where there is no index yet, offering to build it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from assay.api import Repository
from assay.cli.common import confirm, echo, find_root, roots_options
from assay.config.roots import workspace_around
from assay.errors import AssayError
from assay.index.scan import check_root
from assay.system.files import TooWide, check_extent
from assay.text.display import counted


def repository_options(function: Callable[..., None]) -> Callable[..., None]:
    """--root, --index-dir and --index. The command gets the open repository as `repo`."""

    @roots_options
    @click.option(
        "--index", "build", is_flag=True, help="Bring the index up to date first, or build it, without asking."
    )
    @functools.wraps(function)
    def opened(*arguments: Any, roots: tuple[str, ...], index_dir: Path | None, build: bool, **options: Any) -> None:
        with repository_at(roots, index_dir) as repo:
            for label, member in repo.members.items():
                if build or (member.home.named() is None and _is_wanted(member.root)):
                    _build(member, f"{label}: " if label else "", may_index(member))
            function(*arguments, repo=repo, **options)

    return opened


def repository_at(
    given: Sequence[str], index_dir: Path | None, find: Callable[[Path | None], Path] = find_root
) -> Repository:
    """The repository that is named, several as one, the workspace in or around the current folder, or the repository around it."""
    named = [Path(one) for one in given]
    workspace = workspace_around(Path.cwd()) if not named else None
    if len(named) == 1 and named[0].is_dir() and workspace_around(named[0].resolve()) == named[0].resolve():
        workspace = named[0].resolve()
    if workspace is None and len(named) < 2 and not (named and "=" in given[0] and not named[0].exists()):
        return Repository(find(named[0] if named else None), index_dir)
    if index_dir:
        raise AssayError("--index-dir is about one repository: each of several keeps its index in its own .assay/")
    from assay.api import Workspace
    from assay.config.roots import roots

    return Workspace.at(workspace) if workspace else Workspace(roots(given))


def _is_wanted(root: Path) -> bool:
    """Asks a person at a terminal; nobody else can answer."""
    return _is_terminal() and confirm(f"{root}: no index yet. Build it now?", default=True)


def may_index(repo: Repository) -> bool:
    """Return whether a person agreed to index a home directory or a file system's root; whoever has an index of it did."""
    try:
        if repo.home.named() is None:
            check_extent(repo.root)
    except TooWide as error:
        return _is_terminal() and confirm(error.question, default=False)
    return False


def check_servable(repo: Repository) -> None:
    """Refuse what has no index yet and is not a folder to make one of: servers ask nobody."""
    check_root(repo.root)
    if repo.home.named() is None:
        check_extent(repo.root)


def _is_terminal() -> bool:
    return all(
        stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)
    )  # None: closed by the caller


def _build(repo: Repository, whose: str, anywhere: bool) -> None:
    from assay.cli.common import Bar

    bar = Bar()
    try:
        report = repo.refresh(progress=bar, anywhere=anywhere)
    finally:
        bar.close()
    if report.mode != "fresh":
        echo(f"{whose}indexed {counted(report.files, 'file')} in {report.seconds:.1f} s", err=True)
    if report.problems:
        echo(f"{whose}{len(report.problems)} files could not be read; assay index -v lists them", err=True)
