"""Open the repository or workspace of a command, offering to build a missing index."""

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
    """Add --root, --index-dir and --index; pass the open repository to the command as `repo`."""

    @roots_options
    @click.option("--index", "build", is_flag=True, help="Build or update the index first, without asking.")
    @functools.wraps(function)
    def opened(*arguments: Any, roots: tuple[str, ...], index_dir: Path | None, build: bool, **options: Any) -> None:
        with open_repository(roots, index_dir) as repo:
            for label, member in repo.members.items():
                if build or (member.home.named() is None and _confirm_build(member.root)):
                    _build(member, f"{label}: " if label else "", may_index(member))
            function(*arguments, repo=repo, **options)

    return opened


def open_repository(
    paths: Sequence[str], index_dir: Path | None, find: Callable[[Path | None], Path] = find_root
) -> Repository:
    """Open the named repository, several as a workspace, or the workspace or repository around the current folder."""
    folders = [Path(path) for path in paths]
    workspace = workspace_around(Path.cwd()) if not folders else None
    if len(folders) == 1 and folders[0].is_dir() and workspace_around(folders[0].resolve()) == folders[0].resolve():
        workspace = folders[0].resolve()
    if workspace is None and len(folders) < 2 and not (folders and "=" in paths[0] and not folders[0].exists()):
        return Repository(find(folders[0] if folders else None), index_dir)
    if index_dir:
        raise AssayError(
            "--index-dir works with a single repository only; in a workspace each keeps its index in its own .assay/"
        )
    from assay.api import Workspace
    from assay.config.roots import roots

    return Workspace.at(workspace) if workspace else Workspace(roots(paths))


def _confirm_build(root: Path) -> bool:
    """Ask whether to build a missing index; False without a terminal."""
    return _is_terminal() and confirm(f"{root}: no index yet. Build it now?", default=True)


def may_index(repo: Repository) -> bool:
    """Ask before indexing a home directory or file system root for the first time; return True if confirmed."""
    try:
        if repo.home.named() is None:
            check_extent(repo.root)
    except TooWide as error:
        return _is_terminal() and confirm(error.question, default=False)
    return False


def check_servable(repo: Repository) -> None:
    """Raise AssayError if a server should not index this folder: servers cannot ask for confirmation."""
    check_root(repo.root)
    if repo.home.named() is None:
        check_extent(repo.root)


def _is_terminal() -> bool:
    return all(
        stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)
    )  # None: closed by the caller


def _build(repo: Repository, prefix: str, anywhere: bool) -> None:
    from assay.cli.common import Bar

    bar = Bar()
    try:
        report = repo.refresh(progress=bar, anywhere=anywhere)
    finally:
        bar.close()
    if report.mode != "fresh":
        echo(f"{prefix}indexed {counted(report.files, 'file')} in {report.seconds:.1f} s", err=True)
    if report.problems:
        echo(f"{prefix}{len(report.problems)} files could not be read; assay index -v lists them", err=True)
