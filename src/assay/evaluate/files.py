"""Files that evaluation commands list and write, and paths confined to the repository."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import AssayError
from assay.git import Listing
from assay.system.files import atomic_write


@contextmanager
def writing(path: Path, hint: str = "") -> Iterator[None]:
    """Raise AssayError, with `hint`, when the file cannot be written."""
    try:
        yield
    except OSError as error:
        raise AssayError(f"{path}: cannot be written ({error.strerror or error}){hint}") from None


def write_text(path: Path, text: str) -> None:
    """Write a file atomically, gzipped when its name ends in .gz; raise AssayError when that fails."""
    target = Path(os.path.realpath(path))  # write through symbolic links
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        raise AssayError(f"{path}: cannot be written as UTF-8 ({error.object[error.start]!r}); remove it") from None
    with writing(path, "; give another path"):
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(target, sync=True) as file:
            file.write(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def write_output(path: Path, text: str, append: bool = False, hint: str = "") -> None:
    """Write or append to a report, which may be a pipe or a device; raise AssayError, with `hint`, when that fails."""
    with writing(path, hint):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if append else "w", encoding="utf-8") as file:
            file.write(text)


def list_files(folder: Path) -> Iterator[str]:
    """Yield the paths of the files below a folder: those that git lists, else all outside hidden folders."""
    git_paths = Listing(folder).paths()
    if git_paths is not None:
        yield from git_paths
        return
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            yield (Path(place) / name).relative_to(folder).as_posix()


def repository_file(root: Path, name: str) -> Path:
    """Return the path of a repository's own file; raise AssayError when a symlink leaves the repository."""
    path = root / name
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise AssayError(f"{path}: a symbolic link leads out of the repository; name another file")
    return path
