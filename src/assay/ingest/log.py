"""Commits read from `git log`: first their messages and files, then, for those it is worth it, the names in their patches.

Every option that a user's configuration could change is given, so that a commit says the same everywhere.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from assay.errors import AssayError
from assay.git import Git, unquote
from assay.ingest import hunks
from assay.ingest.walk import MAX_BYTES
from assay.patches import OPTIONS, read_hunk
from assay.text.messages import searchable
from assay.text.terms import terms

MOST_COMMITS = 12_000  # looked at, the newest first: older ones speak of other code
MOST_FILES = 25  # a commit that touches more speaks of none of them
MOST_GAPS = 100  # times that git is started again after a commit it cannot show

_FIELDS = ("%H", "%ct", "%an <%ae>", "%B")
_COMMON = (
    "--no-walk=unsorted", "--stdin", "--encoding=UTF-8", "--find-renames=50%", "-l400", "--no-relative",
    "--no-color", "--submodule=short", "--no-notes", "--no-mailmap", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
# a line that starts with NUL opens a commit; nothing else in a log can
_FILES = ("--format=" + "".join("%x00" + one for one in _FIELDS) + "%x00", "--raw", "--no-abbrev")
_PATCHES = ("--format=%x00%H", *OPTIONS)
_BOT = re.compile(r"\[bot\]|\b(?:dependabot|renovate|greenkeeper|pre-commit-ci|github-actions|bors)\b|-bot\b", re.I)
_FILE = "100"  # how the modes of regular files begin
_LONGEST_MESSAGE = 10_000  # characters: what is longer quotes logs or lists of changes

Read = TypeVar("Read")
Names = dict[str, list[tuple[str, int]]]  # of definitions, by path, each with a line where it was touched


class CommitFacts(msgspec.Struct, array_like=True, gc=False):
    """A commit's message and files. One that is left out, because a program or too much is behind it, has no files."""

    id: str
    time: int
    subject: str
    terms: dict[str, int]
    files: list[tuple[str, str]]  # path, and the path before when it moved; from the top of the repository


@dataclass(frozen=True, slots=True)
class Place:
    """Where a folder stands in its repository."""

    head: str
    prefix: str  # of the folder below the top, "" or ending in /


def place(git: Git) -> Place | None:
    """Where the folder stands; None outside of repositories and in those without a commit."""
    head = git.revision("HEAD")
    return Place(head, git.prefix) if head else None


def newest(git: Git, place: Place) -> list[str]:
    """The newest commits that lead up to HEAD; no merges, which say nothing of their own, and none without a parent, to which all files look new."""
    if git.partial:
        return []  # most of the files to compare are not there
    only = ("--", ".") if place.prefix else ("--",)
    bounds = (f"--max-count={MOST_COMMITS}", "--min-parents=1", "--max-parents=1")
    return (git.ask("rev-list", *bounds, place.head, *only) or "").split()


def read_commits(git: Git, ids: Sequence[str]) -> Iterator[CommitFacts]:
    """The messages and files of commits."""
    yield from _resumed(_read_commits, git, ids, lambda one: CommitFacts(one, 0, "", {}, []))


def read_names(git: Git, ids: Sequence[str]) -> Iterator[tuple[str, Names]]:
    """The names whose definitions commits touched."""
    yield from _resumed(_read_names, git, ids, lambda one: (one, {}))


def _resumed(
    read: Callable[[Git, Sequence[str]], Iterator[Read]], git: Git, ids: Sequence[str], nothing: Callable[[str], Read]
) -> Iterator[Read]:
    """What can be read, one for every commit: of those that git cannot show, as one of their objects is missing, nothing."""
    left = list(ids)
    for _ in range(MOST_GAPS):
        done = 0
        try:
            for found in read(git, left) if left else ():
                yield found
                done += 1
            return
        except AssayError:  # because of this commit, or of the next if git had nothing to say of that one yet
            try:
                yield next(read(git, left[done : done + 1]))
            except AssayError:
                yield nothing(left[done])
            left = left[done + 1 :]


def _read_commits(git: Git, ids: Sequence[str]) -> Iterator[CommitFacts]:
    head: list[str] = []
    files: list[tuple[str, str]] = []
    with git.lines("log", *_COMMON, *_FILES, told="\n".join(ids).encode()) as output:
        lines = iter(output)
        for line in lines:
            if line.startswith(b"\0"):
                if head:
                    yield _facts(head, files)
                head, files = _head(line, lines), []
            elif line.startswith(b":"):
                files += _touched(line)
    if head:  # which is whole only if git came to its end
        yield _facts(head, files)


def _head(line: bytes, lines: Iterator[bytes]) -> list[str]:
    """The fields of a commit, from their first line on."""
    pieces, ends = [line], line.count(b"\0")
    while ends <= len(_FIELDS) and (line := next(lines, b"")):
        pieces.append(line)
        ends += line.count(b"\0")
    return b"".join(pieces).decode("utf-8", "replace").split("\0")[1:-1]


def _read_names(git: Git, ids: Sequence[str]) -> Iterator[tuple[str, Names]]:
    with tempfile.NamedTemporaryFile("w", suffix=".attributes") as file:
        file.write(hunks.attributes())
        file.flush()
        settings = [f"core.attributesFile={file.name}", f"core.bigFileThreshold={MAX_BYTES}", *hunks.settings()]
        with git.lines("log", *_COMMON, *_PATCHES, told="\n".join(ids).encode(), settings=settings) as output:
            last = yield from _names(iter(output))
    if last:  # which is whole only if git came to its end
        yield last


def _facts(head: list[str], files: list[tuple[str, str]]) -> CommitFacts:
    one, time, author, message = head
    if len(files) > MOST_FILES or _BOT.search(author):
        return CommitFacts(one, int(time), "", {}, [])
    subject = message.strip().partition("\n")[0].strip()
    return CommitFacts(one, int(time), subject, dict(Counter(terms(searchable(message[:_LONGEST_MESSAGE])))), files)


def _touched(line: bytes) -> Iterator[tuple[str, str]]:
    """The regular file one row of --raw is about."""
    described, *paths = line.rstrip(b"\n").split(b"\t")
    old_mode, new_mode, _, _, status = described[1:].decode().split(" ")
    if _FILE in (old_mode[:3], new_mode[:3]):
        yield unquote(paths[-1]), unquote(paths[0]) if status.startswith("R") else ""


def _names(lines: Iterator[bytes]) -> Generator[tuple[str, Names], None, tuple[str, Names] | None]:
    """The names of each commit in patches; those of the last are returned."""
    commit, path = "", ""
    found: dict[str, set[tuple[str, int]]] = {}
    for line in lines:
        if line.startswith(b"\0"):
            if commit:
                yield commit, {path: sorted(names) for path, names in found.items() if names}
            commit, found = line[1:].decode().strip(), {}
        elif line.startswith((b"--- a/", b"+++ b/", b'--- "a/', b'+++ "b/')):
            path = unquote(line[4:].rstrip(b"\t\n"))[2:]
        elif (hunk := read_hunk(line, lines)) is not None:
            for start, changed in ((hunk.start, hunk.removed), (hunk.new_start, hunk.added)):
                texts = [text.decode("utf-8", "replace").rstrip("\r\n") for text in changed]
                names = hunks.names(path, hunk.context, texts)
                found.setdefault(path, set()).update((name, start + place) for name, place in names)
    return (commit, {path: sorted(names) for path, names in found.items() if names}) if commit else None
