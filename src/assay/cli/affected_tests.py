"""`assay tests`."""

from __future__ import annotations

from pathlib import Path

import click

from assay import json_answers
from assay.cli.common import echo, format_option, print_json
from assay.cli.opening import repository_options
from assay.errors import AssayError
from assay.git import Git
from assay.repository import Repository


@click.command("tests")
@click.argument("files", nargs=-1)
@repository_options
@click.option("--depth", type=click.IntRange(min=1), default=6, show_default=True, help="How many steps to follow.")
@click.option("--paths", is_flag=True, help="Print only the paths of the test files, for a test runner.")
@format_option
def command(files: tuple[str, ...], repo: Repository, depth: int, paths: bool, form: str) -> None:
    """The tests that reach FILES, or without FILES what git diff HEAD shows, nearest and surest first."""
    wanted = repo.paths_of(files) if files else _changed(repo.only("what git diff shows").root)
    known = wanted if files else [path for path in wanted if path in repo.files]
    found = repo.affected_tests(known, depth=depth)
    test_files = list(dict.fromkeys(a.item.path for a in found))
    if form == "json":
        print_json({"files": known, "test_files": test_files, "tests": [json_answers.affected(one) for one in found]})
    elif paths:
        for path in test_files:
            echo(path)
    elif not wanted:
        echo("nothing changed since the last commit; name files to ask about them")
    elif not found:
        echo(f"no test reaches {', '.join(known) or 'the changed files'}")
    else:
        for affected in found:
            echo(
                f"{affected.confidence:4.2f}  {affected.item.path}:{affected.item.start}  {affected.item.symbol or '(file)'}"
            )


def _changed(root: Path) -> list[str]:
    """Tracked files that differ from HEAD, and new ones; before the first commit, all of them."""
    git, new = Git(root), ("ls-files", "-z", "--others", "--exclude-standard")
    try:
        if git.revision("HEAD"):
            return sorted({*git.paths("diff", "--name-only", "-z", "--relative", "HEAD"), *git.paths(*new)})
        return sorted({*git.paths(*new, "--cached")})
    except AssayError as error:
        raise AssayError(f"{error}; name the files whose tests are wanted") from None
