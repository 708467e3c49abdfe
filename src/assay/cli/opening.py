"""Opening the repository a command speaks of; where there is no index yet, offering to build it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from assay.cli.common import find_root, root_options
from assay.repository import Repository
from assay.text.counting import counted


def repository_options(function: Callable[..., None]) -> Callable[..., None]:
    """--root, --index-dir and --index. The command gets the open repository as `repo`."""

    @root_options
    @click.option(
        "--index", "build", is_flag=True, help="Bring the index up to date first, or build it, without asking."
    )
    @functools.wraps(function)
    def opened(*arguments: Any, root: Path | None, index_dir: Path | None, build: bool, **options: Any) -> None:
        with Repository(find_root(root), index_dir) as repo:
            if build or (repo.home.named() is None and _is_wanted(repo.root)):
                _build(repo)
            function(*arguments, repo=repo, **options)

    return opened


def _is_wanted(root: Path) -> bool:
    """Asks a person at a terminal; nobody else can answer."""
    if not all(
        stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)
    ):  # None: closed by the caller
        return False
    return click.confirm(f"{root}: no index yet. Build it now?", default=True, err=True)


def _build(repo: Repository) -> None:
    from assay.cli.progress import Bar

    bar = Bar()
    try:
        report = repo.refresh(progress=bar)
    finally:
        bar.close()
    if report.mode != "fresh":
        click.echo(f"indexed {counted(report.files, 'file')} in {report.seconds:.1f} s", err=True)
    if report.problems:
        click.echo(f"{len(report.problems)} files could not be read; assay index -v lists them", err=True)
