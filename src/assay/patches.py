"""Patches as git prints them without context lines: which lines went, which came, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# how every patch must be asked for, whatever the user's configuration says
OPTIONS = ("--patch", "--unified=0", "--inter-hunk-context=0", "--diff-algorithm=histogram")

_RANGE = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_SPACE = re.compile(rb"\s+")


@dataclass(frozen=True, slots=True)
class Hunk:
    """A run of changed lines: what stood at `start` of the old text, and what stands at `new_start` of the new one."""

    start: int  # first removed line; the line before the insertion when nothing is removed
    removed: tuple[bytes, ...] = ()
    added: tuple[bytes, ...] = ()
    new_start: int = 0  # first added line; the line before the gap when nothing is added
    context: str = ""  # the definition that git finds above it

    @property
    def formatting(self) -> bool:
        """Whether only white space differs."""
        return _SPACE.sub(b"", b"".join(self.removed)) == _SPACE.sub(b"", b"".join(self.added))

    def places(self) -> Iterator[tuple[int, int]]:
        """The old lines it touches, each as a range: removed lines one by one, or both neighbours of an insertion."""
        return _places(self.start, self.removed)

    def new_places(self) -> Iterator[tuple[int, int]]:
        """The new lines it touches, likewise."""
        return _places(self.new_start, self.added)


def read_hunk(line: bytes, lines: Iterator[bytes]) -> Hunk | None:
    """The hunk that a line opens, taking its lines from those that follow; None when it opens none."""
    found = _RANGE.match(line)
    if found is None:
        return None
    start, removed, new_start, added = (1 if number is None else int(number) for number in found.groups()[:4])
    context = found.group(5).decode("utf-8", "replace")
    return Hunk(start, _taken(lines, removed), _taken(lines, added), new_start, context)


def _places(start: int, texts: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    if not texts:
        yield start, start + 1
    for line, text in enumerate(texts, start):
        if text.strip():
            yield line, line


def _taken(lines: Iterator[bytes], number: int) -> tuple[bytes, ...]:
    """The next lines of a patch without their sign; git's remark about a missing last newline is none of them."""
    out: list[bytes] = []
    while len(out) < number:
        line = next(lines)
        if not line.startswith(b"\\"):
            out.append(line[1:].rstrip(b"\n"))
    return tuple(out)
