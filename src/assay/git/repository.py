"""Asking git about a repository: a single call, a stream of lines, or many blobs from one process."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

from assay.errors import AssayError
from assay.git import launcher
from assay.git.place import Place, find_place, is_partial
from assay.system.files import UnsafeFolder

_REGULAR = ("100644", "100755")  # not links, not submodules
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_FILES = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
_LARGEST_BLOB = 50_000_000  # bytes: no larger document is read from the working tree, either
_SKIPPED_AT_ONCE = 1 << 20

_untracked: set[Path] = set()  # index folders that git was asked about by this process


@dataclass(frozen=True, slots=True)
class Blob:
    """A regular file of a tree."""

    path: str
    id: str


class Git:
    """The repository around a folder; paths are relative to that folder and nothing outside it is looked at.

    Outside of repositories, and in a folder that is itself a bare one, git is not started and answers nothing. Where git refuses
    because the repository belongs to somebody else, every question raises NotTrusted.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def place(self) -> Place | None:
        """The repository; None where git is not asked."""
        found = find_place(self.root)
        return found if found and not found.inside_bare else None

    @property
    def shallow(self) -> bool:
        return self.ask("rev-parse", "--is-shallow-repository") == "true"

    @property
    def partial(self) -> bool:
        """Whether objects are missing because the clone left them at its remote repository."""
        return self.place is not None and is_partial(self.place.settings)

    @property
    def prefix(self) -> str:
        """The folder's place in its repository; empty at the top."""
        return self.place.prefix if self.place else ""

    def revision(self, name: str) -> str | None:
        """The commit a branch, tag or hash names."""
        return self.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}") or None

    def ask(self, *arguments: str, settings: Sequence[str] = ()) -> str | None:
        """Return git's output without white space around it; None when git fails. `settings` are written key=value."""
        done = launcher.run(self.place, arguments, settings) if self.place else None
        return done.output.decode("utf-8", "replace").strip() if done and done.code == 0 else None

    def paths(self, *arguments: str) -> list[str]:
        """Return the paths that a command prints with -z; raise AssayError when git fails."""
        if self.place is None:
            raise self._no_repository()
        done = launcher.run(self.place, arguments)
        if done.code:
            raise self._failed(arguments, done.complaint)
        return [os.fsdecode(path) for path in done.output.split(b"\0") if path]

    @contextmanager
    def lines(self, *arguments: str, told: bytes = b"", settings: Sequence[str] = ()) -> Iterator[IO[bytes]]:
        """Yield git's output while it works; `told` is its input. To be read to its end; an exception, or closing a generator around it, ends git."""
        if self.place is None:
            raise self._no_repository()
        with tempfile.TemporaryFile() as complaints, tempfile.TemporaryFile() as told_file:
            told_file.write(told)
            told_file.seek(0)
            with launcher.stream(self.place, arguments, settings, told_file, complaints) as (process, output):
                yield output
                code = launcher.wait(self.place, process, arguments)
            if code:
                complaints.seek(0)
                done = launcher.checked(self.place, code, b"", complaints.read())
                raise self._failed(arguments, done.complaint)

    @contextmanager
    def blobs(self) -> Iterator[Blobs]:
        """A process that hands out blobs for as long as it is needed."""
        if self.place is None:
            raise self._no_repository()
        with launcher.stream(self.place, ("cat-file", "--batch"), stdin=subprocess.PIPE) as (process, output):
            assert process.stdin is not None
            yield Blobs(process.stdin, output)

    def tree(self, revision: str = "HEAD") -> list[Blob]:
        """The regular files of a revision below the folder, by path."""
        out: list[Blob] = []
        with self.lines("ls-tree", "-r", "-z", revision) as output:
            for row in output.read().split(b"\0")[:-1]:
                described, path = row.split(b"\t", 1)
                mode, _, blob = described.decode().split(" ")
                if mode in _REGULAR:
                    out.append(Blob(path.decode("utf-8", "replace"), blob))
        return sorted(out, key=lambda blob: blob.path)

    def _no_repository(self) -> AssayError:
        return AssayError(f"{self.root}: not a git repository")

    def _failed(self, arguments: Sequence[str], complaint: str) -> AssayError:
        why = complaint.splitlines()[-1] if complaint else "no reason given"
        return AssayError(f"{self.root}: git {arguments[0]} failed: {why}")


class Blobs:
    """Texts by blob id, from one `git cat-file --batch`."""

    def __init__(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        self._requests, self._answers = requests, answers

    def text(self, blob: str) -> str:
        """The text of a blob; empty when the repository does not have it, or it is too large for a text."""
        self._requests.write(blob.encode() + b"\n")
        self._requests.flush()
        head = self._answers.readline().split()
        if len(head) != 3:
            return ""  # "<id> missing": a partial clone
        size = int(head[2])
        if size > _LARGEST_BLOB:
            for left in range(size + 1, 0, -_SKIPPED_AT_ONCE):
                self._answers.read(min(left, _SKIPPED_AT_ONCE))
            return ""
        data = self._answers.read(size)
        self._answers.read(1)
        return data.decode("utf-8", "replace")


class Listing:
    """The files that git lists below a folder, tracked or new: asked for at once, read when they are needed.

    Meanwhile git works on another core. `trouble` says why there is no list in a repository that should have one.
    """

    def __init__(self, root: Path) -> None:
        self.trouble = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._place = Git(root).place
        with self._noting():
            if self._place is not None:
                self._process = launcher.start(self._place, _FILES, stderr=subprocess.PIPE)

    def paths(self) -> list[str] | None:
        """Return paths relative to the root, in order, or None where git does not answer for it."""
        if self._place is None or self._process is None:
            return None
        with self._noting():
            done = launcher.finish(self._place, self._process, _FILES)
            if done.code == 0:
                return sorted(filter(None, {*os.fsdecode(done.output).split("\0")}))  # a conflict lists its file thrice
        return None

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except AssayError as error:
            self.trouble = str(error)


def unquote(path: bytes) -> str:
    """A path as git prints it, in quotes and with escapes where it is not plain, as it is."""
    quoted = _QUOTED.fullmatch(path)
    if quoted:
        path = quoted.group(1).decode("unicode_escape").encode("latin-1")
    return path.decode("utf-8", "replace")


def refuse_tracked(folder: Path, again: bool = True) -> None:
    """Raise UnsafeFolder when git tracks anything in an index folder: it came with the repository, and somebody else made it.

    Without `again`, what this process was once told still counts.
    """
    if not again and folder in _untracked:
        return
    try:
        tracked = Git(folder.parent).ask("ls-files", "-z", "--", f":(icase){folder.name}")
    except AssayError:  # without git nothing is tracked
        tracked = None
    if tracked:
        raise UnsafeFolder(
            f"{folder}: tracked by git, so it came with the repository and somebody else made it",
            f"Remove it with: git rm -r {folder.name} (--cached keeps the files, if you made them)",
        )
    _untracked.add(folder)
