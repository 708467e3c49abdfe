"""Files named on the command line, as the index calls them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from assay.errors import AssayError
from assay.store.index import Index
from assay.text.identifiers import nearest
from assay.text.limits import LONGEST_NAME

_SUGGESTED = 3
_SHOWN = 80  # characters of a path that is too long to be one


def indexed_paths(files: Sequence[str], root: Path, index: Index) -> list[str]:
    """The paths of files in the index, each once; one that it does not have is an error that says why."""
    out = dict.fromkeys(_indexed(file, root, index) for file in files)
    return list(out)


def _indexed(file: str, root: Path, index: Index) -> str:
    """A file relative to the current folder, else to the root; absolute ones must be inside of it."""
    places = [Path(file)] if os.path.isabs(file) else [Path.cwd() / file, root / file]
    inside = [path for place in places if (path := _inside(place, root)) is not None]
    if not inside:
        raise AssayError(f"{file}: outside {root}")
    known = [path for path in inside if path in index.files]
    if known:
        return known[0]
    existing = [path for path in inside if os.path.exists(root / path)]  # False for what no file can be called
    path = (existing or inside)[0]
    shown = path if len(path) <= LONGEST_NAME else f"{path[:_SHOWN]}… ({len(path):,} characters)"
    raise AssayError(f"{shown}: not in the index. {_reason(path, root, index)}")


def _inside(place: Path, root: Path) -> str | None:
    try:
        return place.resolve().relative_to(root.resolve()).as_posix()
    except (ValueError, OSError, RuntimeError):
        return None


def _reason(path: str, root: Path, index: Index) -> str:
    """Why a file is not in the index, and what to do."""
    try:
        there = root / path
        if there.is_dir():
            return "It is a folder; name files in it."
        if not there.exists():
            near = nearest(path, index.files, _SUGGESTED)
            return f"Nearest: {', '.join(near)}" if near else f"There is no such file in {root}."
    except (OSError, ValueError):
        return f"There is no such file in {root}."
    from assay.ingest.languages import language_of
    from assay.ingest.walk import scan

    passed = index.catalogue.connection.execute("SELECT reason FROM skipped WHERE path = ?", (path,)).fetchone()
    found = scan(root)
    reason = found.skipped.get(path) or found.problems.get(path) or (passed and passed[0])
    if reason:
        return f"It was passed over: {reason}."
    if path in found.files:
        return f"If it is new, run: assay index {root}"
    if language_of(path) is None:
        return "It is in no language that assay parses."
    return "It is ignored by .gitignore or .assayignore."
