"""A repository at a cutoff commit, indexed without later data, and tasks mined from the later commits.

prepare(clone, folder, …) ──▶ folder/state (a repository, its index), folder/tasks.jsonl (a golden set)
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from assay.cli.evaluation.mine import locate
from assay.core.golden import Expected, GoldenQuery
from assay.errors import AssayError
from assay.evaluate.golden import load, save
from assay.evaluate.mine import Options, mine_history
from assay.evaluate.mine import mined as message
from assay.git import Git, find_place
from assay.index.pipeline import index
from assay.store.index import Index
from assay.store.layout import Home

LEAST_GOLD = 0.5  # of a task's definitions that the state must have: what it has not cannot be found in it
STATE, TASKS = "state", "tasks.jsonl"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A repository as it was at the cutoff, and the tasks of what came later."""

    name: str
    root: Path
    tasks: tuple[GoldenQuery, ...]


def prepare(source: Path, folder: Path, wanted: int, strip_names: bool) -> Prepared:
    """The state at the cutoff with its index, and the tasks; what is there already is kept."""
    root, golden = folder / STATE, folder / TASKS
    if not golden.exists():
        options = Options(strip_ids=True, strip_names=strip_names)
        cutoff = cutoff_of(source, replace(options, limit=wanted))
        checkout(source, root, cutoff)
        index(root, Home.of(root))
        mined = mine_history(source, locate, replace(options, since=cutoff)).queries
        tasks = answerable(mined, root, moves(Git(source), cutoff), subjects(Git(root)))
        if not tasks:
            raise AssayError(f"{source}: no later commit changes what was there at {cutoff[:12]}; ask for more --tasks")
        save(tasks, golden, "pairs")
    return prepared(folder)


def prepared(folder: Path) -> Prepared:
    """Return the prepared state of a folder, re-indexed if the index version changed."""
    root = folder / STATE
    index(root, Home.of(root))
    return Prepared(folder.name, root, load(folder / TASKS).queries)


def cutoff_of(source: Path, options: Options) -> str:
    """The last commit of the main line that is older than the newest usable ones."""
    mined = mine_history(source, locate, options).queries
    if not mined:
        raise AssayError(f"{source}: no commit makes a task; `assay eval mine --root {source}` says why")
    oldest = datetime.fromisoformat(min(query.notes for query in mined))
    cutoff = Git(source).ask("rev-list", "-1", "--first-parent", f"--min-age={int(oldest.timestamp()) - 1}", "HEAD")
    if not cutoff:
        raise AssayError(f"{source}: the history begins with the tasks; ask for fewer --tasks")
    return cutoff


def checkout(source: Path, root: Path, commit: str) -> None:
    """Make a repository that knows the cutoff and what led up to it, by HEAD alone, with objects of its own."""
    root.mkdir(parents=True, exist_ok=True)
    place = find_place(source)
    if place is None or _run(root, "init", "--quiet"):
        raise AssayError(f"{source}: no repository")
    alternates = root / ".git/objects/info/alternates"
    alternates.write_text(f"{place.common_dir / 'objects'}\n")
    if _run(root, "checkout", "--quiet", "--force", "--detach", commit) or _run(root, "repack", "-a", "-d", "--quiet"):
        raise AssayError(f"{source}: {commit[:12]} cannot be checked out; is the clone whole?")
    alternates.unlink()


def _run(root: Path, *arguments: str) -> int:
    return subprocess.run(["git", "-C", str(root), *arguments], check=False).returncode


def subjects(git: Git) -> set[str]:
    """Return the subject lines of the commits up to HEAD."""
    return {_told(subject) for subject in (git.ask("log", "--format=%s") or "").splitlines()}


def _told(text: str) -> str:
    return message.fingerprint(message.without_ids(text.partition("\n")[0]))


def moves(git: Git, cutoff: str) -> dict[str, str]:
    """The files that moved since: their path afterwards → before."""
    said = git.ask(
        *("log", "--first-parent", "--diff-merges=first-parent", "--format="),
        *("--name-status", "--find-renames=50%", "-l2000", "--diff-filter=R", f"{cutoff}..HEAD"),
        settings=["core.quotePath=false"],
    )
    moved: dict[str, str] = {}
    for row in (said or "").splitlines():
        _, before, after = row.split("\t")
        moved.setdefault(after, before)
    return moved


def answerable(
    mined: Iterable[GoldenQuery], root: Path, moved: dict[str, str], said_before: set[str]
) -> list[GoldenQuery]:
    """The tasks that ask something new about what is there, with those of their answers that are, under their paths there."""
    opened = Index.open(root, Home.of(root))
    symbols = {(item.path, item.symbol) for item in opened.items("s.ordinal >= 0")}
    files = set(opened.files)
    opened.close()
    tasks = []
    for query in mined:
        paths = sorted({_before(one.name, moved, files) for one in query.at("file")} & files)
        names = [one for one in query.at("symbol") if any((path, one.name) in symbols for path in paths)]
        if names and len(names) >= LEAST_GOLD * len(query.at("symbol")) and _told(query.text) not in said_before:
            tasks.append(replace(query, expected=(*names, *(Expected(path, "file") for path in paths))))
    return tasks


def _before(path: str, moved: dict[str, str], files: set[str]) -> str:
    """Return the earlier path of a file, given the paths of that time."""
    for _ in range(len(moved)):
        if path in files or path not in moved:
            break
        path = moved[path]
    return path
