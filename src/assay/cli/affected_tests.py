"""`assay tests`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import click

from assay.cli.common import find_root, format_option, home_of, print_json, root_options
from assay.cli.impact import affected_json
from assay.errors import AssayError
from assay.retrieve.impact import affected_tests, items_in
from assay.store.index import Index
from assay.text.identifiers import nearest


@click.command("tests")
@click.argument("files", nargs=-1)
@root_options
@click.option("--depth", type=click.IntRange(min=1), default=6, show_default=True, help="How many steps to follow.")
@click.option("--paths", is_flag=True, help="Print only the paths of the test files, for a test runner.")
@format_option
def command(
    files: tuple[str, ...], root: Path | None, index_dir: Path | None, depth: int, paths: bool, form: str
) -> None:
    """The tests that reach FILES, or without FILES what git diff HEAD shows, nearest and surest first."""
    where = find_root(root)
    index = Index.open(where, home_of(where, index_dir))
    wanted = [_relative(file, where) for file in files] if files else _changed(where)
    known = [path for path in wanted if path in index.files]
    if files:
        for path in wanted:
            if path not in index.files:
                raise AssayError(f"{path}: not in the index. {_hint(path, where, index)}")
    changed = [item for path in known for item in items_in(index, path)]
    found = affected_tests(index, changed, depth)
    test_files = list(dict.fromkeys(a.item.path for a in found))
    if form == "json":
        print_json({"files": known, "test_files": test_files, "tests": [affected_json(a) for a in found]})
    elif paths:
        for path in test_files:
            click.echo(path)
    elif not wanted:
        click.echo("nothing changed since the last commit; name files to ask about them")
    elif not found:
        click.echo(f"no test reaches {', '.join(known) or 'the changed files'}")
    else:
        for affected in found:
            click.echo(
                f"{affected.confidence:4.2f}  {affected.item.path}:{affected.item.start}  {affected.item.symbol or '(file)'}"
            )


def _hint(path: str, root: Path, index: Index) -> str:
    if (root / path).exists():
        return f"If it is new, run: assay index {root}"
    near = nearest(path, index.files, 3)
    return f"Nearest: {', '.join(near)}" if near else f"There is no such file in {root}."


def _relative(file: str, root: Path) -> str:
    path = Path(file)
    full = path if path.is_absolute() else (root / path if (root / path).exists() else Path.cwd() / path)
    try:
        return full.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        raise AssayError(f"{file}: outside {root}") from None


def _changed(root: Path) -> list[str]:
    """Tracked files that differ from HEAD, and new ones; before the first commit, all of them."""
    new = ["ls-files", "-z", "--others", "--exclude-standard"]
    if _git(root, "rev-parse", "--verify", "--quiet", "HEAD").returncode == 0:
        commands = [["diff", "--name-only", "-z", "--relative", "HEAD"], new]
    else:
        commands = [[*new, "--cached"]]
    out: set[str] = set()
    for arguments in commands:
        done = _git(root, *arguments)
        if done.returncode != 0:
            said = os.fsdecode(done.stderr).strip().splitlines() or ["?"]
            raise AssayError(f"{root}: git cannot tell what changed ({said[0]}); name the files")
        out |= {os.fsdecode(path) for path in done.stdout.split(b"\0") if path}
    return sorted(out)


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False)
    except OSError as error:
        raise AssayError(f"git cannot be run ({error.strerror}); name the files") from None
