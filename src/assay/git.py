"""Asking git: one call, a stream of lines, or many blobs from one process."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO

from assay.errors import AssayError

_ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat"}
_REGULAR = ("100644", "100755")  # not links, not submodules
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Blob:
    """A regular file of a tree."""

    path: str
    id: str


class Git:
    """The repository around a folder; paths are relative to that folder and nothing outside it is looked at."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def shallow(self) -> bool:
        return self.ask("rev-parse", "--is-shallow-repository") == "true"

    @property
    def prefix(self) -> str:
        """The folder's place in its repository; empty at the top."""
        return self.ask("rev-parse", "--show-prefix") or ""

    def revision(self, name: str) -> str | None:
        """The commit a branch, tag or hash names."""
        return self.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}") or None

    def ask(self, *arguments: str) -> str | None:
        """What git prints; None when it fails."""
        try:
            done = subprocess.run(self._command(arguments), env=_environment(), capture_output=True, check=False)
        except FileNotFoundError:
            raise _missing() from None
        return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None

    @contextmanager
    def lines(self, *arguments: str, told: bytes = b"") -> Iterator[IO[bytes]]:
        """What git prints, while it prints, when told this. To be read to its end; an exception, or closing a generator around it, ends git."""
        with tempfile.TemporaryFile() as complaints, tempfile.TemporaryFile() as told_file:
            told_file.write(told)
            told_file.seek(0)
            process = self._start(arguments, stdin=told_file, stderr=complaints)
            assert process.stdout is not None
            try:
                yield process.stdout
                failed = process.wait()
            finally:
                process.stdout.close()
                process.kill()
                process.wait()
            if failed:
                complaints.seek(0)
                said = complaints.read().decode("utf-8", "replace").strip().splitlines()
                why = said[-1] if said else "no reason given"
                raise AssayError(f"{self.root}: git {_command_of(arguments)} failed: {why}")

    @contextmanager
    def blobs(self) -> Iterator[Blobs]:
        """A process that hands out blobs for as long as it is needed."""
        process = self._start(("cat-file", "--batch"), stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Blobs(process.stdin, process.stdout)
        finally:
            process.stdin.close()
            process.stdout.close()
            process.wait()

    def tree(self, revision: str = "HEAD") -> list[Blob]:
        """The regular files of a revision below the folder, by path."""
        out: list[Blob] = []
        with self.lines("ls-tree", "-r", "-z", revision) as output:
            for row in output.read().split(b"\0")[:-1]:
                described, path = row.split(b"\t", 1)
                mode, _, blob = described.decode().split(" ")
                if mode in _REGULAR:
                    out.append(Blob(path.decode("utf-8", "replace"), blob))
        return sorted(out, key=lambda found: found.path)

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        return ["git", "-C", str(self.root), *arguments]

    def _start(
        self,
        arguments: tuple[str, ...],
        stdin: IO[bytes] | int = subprocess.DEVNULL,
        stderr: IO[bytes] | int = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self._command(arguments), env=_environment(), stdin=stdin, stdout=subprocess.PIPE, stderr=stderr
            )
        except FileNotFoundError:
            raise _missing() from None


class Blobs:
    """Texts by blob id, from one `git cat-file --batch`."""

    def __init__(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        self._requests, self._answers = requests, answers

    def text(self, blob: str) -> str:
        """The text of a blob; empty when the repository does not have it."""
        self._requests.write(blob.encode() + b"\n")
        self._requests.flush()
        head = self._answers.readline().split()
        if len(head) != 3:
            return ""  # "<id> missing": a partial clone
        data = self._answers.read(int(head[2]))
        self._answers.read(1)
        return data.decode("utf-8", "replace")


def unquote(path: bytes) -> str:
    """A path as git prints it, in quotes and with escapes where it is not plain, as it is."""
    quoted = _QUOTED.fullmatch(path)
    if quoted:
        path = quoted.group(1).decode("unicode_escape").encode("latin-1")
    return path.decode("utf-8", "replace")


def _command_of(arguments: Sequence[str]) -> str:
    """What git was told to do, past the settings before it: `diff` of `-c core.quotePath=true diff --raw`."""
    return next(one for before, one in pairwise(("", *arguments)) if "-c" not in (before, one))


def _environment() -> dict[str, str]:
    return os.environ | _ENVIRONMENT


def _missing() -> AssayError:
    return AssayError("git was not found; install it or put it on PATH: the repository's history is read with it")
