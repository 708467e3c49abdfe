"""Query a git repository: single commands, streamed output, and many blobs from one process."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

from assay.errors import AssayError
from assay.git import launcher
from assay.git.place import Place, is_partial, locate
from assay.system.files import UnsafeFolder

_REGULAR = ("100644", "100755")  # no symlinks or submodules
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_FILES = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
_MAX_BLOB_BYTES = 50_000_000  # same limit as for documents in the working tree
_SKIP_BYTES = 1 << 20

_untracked: set[Path] = set()  # index folders already checked by this process


@dataclass(frozen=True, slots=True)
class Blob:
    """A regular file of a tree."""

    path: str
    id: str


class Git:
    """The repository around a folder; paths are relative to that folder and nothing outside it is read.

    Outside repositories, in a folder that is itself a bare one, and if the data is that of another repository (`trouble`
    is the reason), git is not started and results are empty. If git refuses the repository because another user owns it,
    every query raises NotTrusted.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def _located(self) -> Place | None:
        place = locate(self.root)
        return None if place is None or place.inside_bare else place

    @property
    def place(self) -> Place | None:
        """Position in the repository; None if git is not used."""
        return None if self.trouble else self._located

    @property
    def trouble(self) -> str:
        """Message why the repository around the folder is not read, and what to do; empty if there is none, or it is."""
        return self._located.outside if self._located else ""

    @property
    def shallow(self) -> bool:
        """True if the clone is shallow."""
        return self.ask("rev-parse", "--is-shallow-repository") == "true"

    @property
    def partial(self) -> bool:
        """True if the clone is partial, so that objects may be missing."""
        return self.place is not None and is_partial(self.place.settings)

    @property
    def prefix(self) -> str:
        """Path of the folder in its repository; empty at the top."""
        return self.place.prefix if self.place else ""

    def revision(self, name: str) -> str | None:
        """Return the commit that a branch, tag or hash names; None if there is none."""
        return self.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}") or None

    def ask(self, *arguments: str, settings: Sequence[str] = ()) -> str | None:
        """Return git's stripped output; None if git fails. `settings` are key=value strings."""
        result = launcher.run(self.place, arguments, settings) if self.place else None
        return result.output.decode("utf-8", "replace").strip() if result and result.code == 0 else None

    def paths(self, *arguments: str) -> list[str]:
        """Return the paths that a command prints with -z; raise AssayError if git fails."""
        if self.place is None:
            raise self._no_repository()
        result = launcher.run(self.place, arguments)
        if result.code:
            raise self._failed(arguments, result.complaint)
        return [os.fsdecode(path) for path in result.output.split(b"\0") if path]

    @contextmanager
    def lines(self, *arguments: str, told: bytes = b"", settings: Sequence[str] = ()) -> Iterator[IO[bytes]]:
        """Yield git's output as a stream; `told` is its stdin.

        Read it to the end; an exception, or closing a generator around it, ends git.
        """
        if self.place is None:
            raise self._no_repository()
        import tempfile  # not needed by a question

        with tempfile.TemporaryFile() as stderr_file, tempfile.TemporaryFile() as stdin_file:
            stdin_file.write(told)
            stdin_file.seek(0)
            with launcher.stream(self.place, arguments, settings, stdin_file, stderr_file) as (process, output):
                yield output
                code = launcher.wait(self.place, process, arguments)
            if code:
                stderr_file.seek(0)
                result = launcher.check_trust(self.place, code, b"", stderr_file.read())
                raise self._failed(arguments, result.complaint)

    @contextmanager
    def blobs(self) -> Iterator[Blobs]:
        """Yield a process that returns blobs by id."""
        if self.place is None:
            raise self._no_repository()
        with launcher.stream(self.place, ("cat-file", "--batch"), stdin=subprocess.PIPE) as (process, output):
            assert process.stdin is not None
            yield Blobs(process.stdin, output)

    def tree(self, revision: str = "HEAD") -> list[Blob]:
        """Return the regular files of a revision below the folder, sorted by path."""
        out: list[Blob] = []
        with self.lines("ls-tree", "-r", "-z", revision) as output:
            for row in output.read().split(b"\0")[:-1]:
                attributes, path = row.split(b"\t", 1)
                mode, _, blob = attributes.decode().split(" ")
                if mode in _REGULAR:
                    out.append(Blob(path.decode("utf-8", "replace"), blob))
        return sorted(out, key=lambda blob: blob.path)

    def _no_repository(self) -> AssayError:
        return AssayError(self.trouble or f"{self.root}: not a git repository")

    def _failed(self, arguments: Sequence[str], complaint: str) -> AssayError:
        why = complaint.splitlines()[-1] if complaint else "no reason given"
        return AssayError(f"{self.root}: git {arguments[0]} failed: {why}")


class Blobs:
    """Blob contents by id, from one `git cat-file --batch`."""

    def __init__(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        self._requests, self._answers = requests, answers

    def text(self, blob: str) -> str:
        """Return the text of a blob; empty if it is missing or too large."""
        return self.content(blob).decode("utf-8", "replace")

    def content(self, blob: str) -> bytes:
        """Return the content of a blob; empty if it is missing or too large."""
        self._requests.write(blob.encode() + b"\n")
        self._requests.flush()
        head = self._answers.readline().split()
        if len(head) != 3:
            return b""  # "<id> missing", in a partial clone
        size = int(head[2])
        if size > _MAX_BLOB_BYTES:
            for remaining in range(size + 1, 0, -_SKIP_BYTES):
                self._answers.read(min(remaining, _SKIP_BYTES))
            return b""
        data = self._answers.read(size)
        self._answers.read(1)
        return data


class Listing:
    """Files that git lists below a folder, tracked or untracked: started at once, read when needed.

    Git runs on another core meanwhile. `trouble` is the reason if a repository could not be listed.
    """

    def __init__(self, root: Path) -> None:
        git = Git(root)
        self.trouble, self._place = git.trouble, git.place
        self._process: subprocess.Popen[bytes] | None = None
        with self._recording_trouble():
            if self._place is not None:
                self._process = launcher.start(self._place, _FILES, stderr=subprocess.PIPE)

    def paths(self) -> list[str] | None:
        """Return sorted paths relative to the root, or None if git does not list them."""
        if self._place is None or self._process is None:
            return None
        with self._recording_trouble():
            result = launcher.finish(self._place, self._process, _FILES)
            if result.code == 0:
                return sorted(
                    filter(None, {*os.fsdecode(result.output).split("\0")})
                )  # a merge conflict lists its file three times
        return None

    @contextmanager
    def _recording_trouble(self) -> Iterator[None]:
        try:
            yield
        except AssayError as error:
            self.trouble = str(error)


def unquote(path: bytes) -> str:
    """Decode a path as git prints it, quoted and escaped if necessary."""
    quoted = _QUOTED.fullmatch(path)
    if quoted:
        path = quoted.group(1).decode("unicode_escape").encode("latin-1")
    return path.decode("utf-8", "replace")


def refuse_tracked(folder: Path, again: bool = True) -> None:
    """Raise UnsafeFolder if git tracks files in an index folder: it came with the repository and is not trusted.

    With `again=False`, an earlier check by this process is sufficient.
    """
    if not again and folder in _untracked:
        return
    try:
        tracked = Git(folder.parent).ask("ls-files", "-z", "--", f":(icase){folder.name}")
    except AssayError:  # without git nothing is tracked
        tracked = None
    if tracked:
        raise UnsafeFolder(
            f"{folder}: tracked by git, so it came with the repository and may not be yours",
            f"Remove it with: git rm -r {folder.name} (--cached keeps the files, if you made them)",
        )
    _untracked.add(folder)
