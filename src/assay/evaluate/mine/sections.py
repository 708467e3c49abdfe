"""Documents as sections: a heading, the lines below it, and its opening paragraph. Markdown, reStructuredText and plain text alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_ATX = re.compile(r"#{1,6}\s+(.+?)\s*#*\s*$")
_UNDERLINE = re.compile(r"""([=\-~^"'`+#*:.<>_])\1{2,}\s*$""")
_FENCE = re.compile(r"\s*(```|~~~)")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.S)
# lines that are not prose: directives, fields, tables, images, badges, comments, indented code
_NOT_PROSE = re.compile(r"\.\.(\s|$)|:[\w-]+:(\s|$)|[|!<]|\[!\[|\s{2,}\S|>>>|\$ ")


@dataclass(frozen=True, slots=True)
class Section:
    """The text between two headings, without code blocks."""

    heading: str
    line: int  # of the heading, 1-based
    text: str

    @property
    def opening(self) -> str:
        """Its first paragraph of prose, on one line."""
        for paragraph in re.split(r"\n\s*\n", self.text):
            lines = [line for line in paragraph.split("\n") if line.strip()]
            if lines and not _NOT_PROSE.match(lines[0]):
                return " ".join(" ".join(lines).split())
        return ""


def sections(text: str) -> Iterator[Section]:
    """The sections of a document that have a heading, in its order."""
    text = text.replace("\r\n", "\n")
    front = _FRONT_MATTER.match(text)
    if front:
        text = "\n" * front.group().count("\n") + text[front.end() :]
    lines = text.split("\n")
    code = _fenced(lines)
    starts = [number for number in range(len(lines)) if number not in code and _heading(lines, number)]
    for start, end in pairwise([*starts, len(lines)]):
        body = [line for number, line in enumerate(lines[start + 1 : end], start + 1) if number not in code]
        if body and _UNDERLINE.match(body[0]):
            body = body[1:]
        yield Section(_heading(lines, start), start + 1, "\n".join(body))


def _heading(lines: list[str], number: int) -> str:
    """The heading that a line is; empty for other lines."""
    line = lines[number]
    atx = _ATX.match(line)
    if atx:
        return atx.group(1)
    under = lines[number + 1] if number + 1 < len(lines) else ""
    if line.strip() and not _NOT_PROSE.match(line) and _UNDERLINE.match(under) and not _UNDERLINE.match(line):
        return line.strip()
    return ""


def _fenced(lines: list[str]) -> set[int]:
    """The lines of fenced code blocks, fences included."""
    out: set[int] = set()
    fence = ""
    for number, line in enumerate(lines):
        found = _FENCE.match(line)
        if fence or found:
            out.add(number)
        if found and not fence:
            fence = found.group(1)
        elif found and found.group(1) == fence:
            fence = ""
    return out
