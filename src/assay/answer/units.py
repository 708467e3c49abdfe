"""What a passage is made of: sentences, list items, table rows and blocks of code, each with its lines.

Markdown, reStructuredText and AsciiDoc are read by the same few rules; text that follows none of them is paragraphs.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from assay.text.prose import sentences

SENTENCE, ITEM, ROW, CODE = "sentence", "item", "row", "code"
_LONGEST_CODE = 10  # lines of a block that are said at once; longer ones are divided
_LONGEST_ITEM = 60  # words of a list item that stays whole
_LONGEST_SENTENCE = 80  # words of a sentence; longer ones are none

_FENCE = re.compile(r"^\s*(`{3,}|~{3,}|-{4,}$|\.{4,}$)")  # Markdown, and the listing and literal blocks of AsciiDoc
_HEADING = re.compile(r"^(#{1,6}|={1,6})\s+\S")
_RULE = re.compile(
    r"^\s*([=\-~^\"'`#*+.:_])\1{2,}\s*$|^\s*\|?[\s:|+=-]*-{2,}[\s:|+=-]*$"
)  # underlines, and lines inside tables
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|\(?[a-z][.)]|#\.)\s+\S")
_NUMBERING = re.compile(r"^\s*(?:\d+(?:\.\d+)*\.?\s)?")
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_DIRECTIVE = re.compile(r"^\s*\.\. +(?:([\w:+-]+)::(?:\s+(.*))?|_[^:]+:.*|\|.*|.*)$")
_LITERAL = re.compile(r"\s+::\s*$|^::\s*$|(?<=:):\s*$")  # announces the code below, and says nothing
_MARK = re.compile(
    r"^\s*(?:\[\[.*\]\]|\[[\w=,.\"' -]+\]|:[\w-]+:.*|<!--.*-->|!\[.*\]\(.*\))\s*$"
)  # anchors, attributes, pictures

_CODE_DIRECTIVES = frozenset(
    {"code-block", "code", "sourcecode", "parsed-literal", "prompt", "literalinclude", "highlight"}
)
_ADMONITIONS = frozenset(
    {
        "note",
        "warning",
        "tip",
        "hint",
        "important",
        "caution",
        "danger",
        "admonition",
        "seealso",
        "attention",
        "tab",
        "tabs",
    }
)
_SILENT = frozenset(
    {
        "versionadded",
        "versionchanged",
        "deprecated",
        "toctree",
        "image",
        "figure",
        "module",
        "currentmodule",
        "contents",
        "include",
        "index",
    }
)


class Label(NamedTuple):
    """The term, option or setting that indented text explains, and the line it stands on."""

    text: str
    line: int
    indent: int


NO_LABEL = Label("", 0, -1)


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest piece that is said whole. Lines count from 0 within the passage."""

    kind: str
    text: str
    first: int
    last: int
    block: int  # units of one paragraph, list or table share it
    label: Label = NO_LABEL


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    text: str

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())

    @property
    def blank(self) -> bool:
        return not self.text.strip()


def units(text: str, headings: Sequence[str] = (), code: bool = False) -> list[Unit]:
    """The units of a passage in reading order, without its headings; `code` says that all of it is a program."""
    titles = {_bare(heading) for heading in headings}
    lines = [
        _Line(number, "" if _bare(line) in titles else line.expandtabs(4))
        for number, line in enumerate(text.split("\n"))
    ]
    if code:
        return [unit for block, part in enumerate(_parts(lines)) for unit in _code(part, block, NO_LABEL)]
    return list(_Reading(lines).units())


def _bare(line: str) -> str:
    """A line without marks and numbers, to tell a heading by: of a PDF it is a line as any other."""
    return _NUMBERING.sub("", line).strip(" #=*_").lower() or "\0"


class _Reading:
    """Reads lines from the first to the last. `_labels` are the terms that the indented text below them explains."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        self._lines, self._at, self._block = lines, 0, 0
        self._labels: list[Label] = []
        self._literal = False  # the paragraph before ended with `::`
        self._left = 0  # indentation of the paragraph before

    def units(self) -> Iterator[Unit]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.blank:
                self._at += 1
                continue
            self._block += 1
            self._labels = [label for label in self._labels if label.indent < line.indent]
            yield from self._next(line)

    def _next(self, line: _Line) -> Iterator[Unit]:
        """The units of the block that begins with a line."""
        literal, self._literal = self._literal, False
        if fence := _FENCE.match(line.text):
            if not self._closes(fence[1]):
                self._at += 1
                return
            yield from _code(self._fenced(fence[1]), self._block, self._label)
        elif (literal and line.indent > self._left) or (line.indent - self._inside >= 4 and not _ITEM.match(line.text)):
            yield from _code(self._indented(line.indent), self._block, self._label)
        elif directive := _DIRECTIVE.match(line.text):
            yield from self._directive(line, directive[1] or "", (directive[2] or "").strip())
        elif _HEADING.match(line.text) or _RULE.match(line.text) or _MARK.match(line.text) or self._underlined():
            self._at += 1
        elif _ROW.match(line.text):
            yield from self._rows()
        elif self._is_term(line):
            self._labels.append(Label(line.text.strip(), line.number, line.indent))
            self._at += 1
        else:
            yield from self._paragraph(line)

    @property
    def _label(self) -> Label:
        return self._labels[-1] if self._labels else NO_LABEL

    @property
    def _inside(self) -> int:
        """How far text may be indented without being code: as far as what stands under a term or an item is."""
        return max((label.indent + 4 for label in self._labels), default=0)

    def _peek(self, ahead: int = 1) -> _Line | None:
        at = self._at + ahead
        return self._lines[at] if at < len(self._lines) else None

    def _underlined(self) -> bool:
        below = self._peek()
        return below is not None and bool(_RULE.match(below.text)) and "|" not in below.text and not below.indent

    def _is_term(self, line: _Line) -> bool:
        """A line with more deeply indented text right below it is the term of a definition."""
        below = self._peek()
        return (
            below is not None and not below.blank and below.indent > line.indent + 1 and not _ITEM.match(line.text)
            and not line.text.rstrip().endswith((":", ","))
        )  # fmt: skip

    def _closes(self, fence: str) -> bool:
        return any(one.text.strip().startswith(fence) for one in self._lines[self._at + 1 :])

    def _fenced(self, fence: str) -> list[_Line]:
        self._at += 1
        inside = []
        while self._at < len(self._lines) and not self._lines[self._at].text.strip().startswith(fence):
            inside.append(self._lines[self._at])
            self._at += 1
        self._at += 1
        return inside

    def _indented(self, indent: int) -> list[_Line]:
        """The lines from here that are indented as far or are blank."""
        inside = []
        while self._at < len(self._lines) and (self._lines[self._at].blank or self._lines[self._at].indent >= indent):
            inside.append(self._lines[self._at])
            self._at += 1
        return inside

    def _directive(self, line: _Line, name: str, argument: str) -> Iterator[Unit]:
        self._at += 1
        plain = name.rpartition(":")[2] if name.startswith("py:") else name
        if plain in _CODE_DIRECTIVES:
            body = [one for one in self._indented(line.indent + 1) if not one.text.strip().startswith(":")]
            yield from _code(body, self._block, self._label)
        elif plain in _SILENT or not name:
            self._indented(line.indent + 1)
        elif plain in _ADMONITIONS:
            self._labels.append(self._label._replace(indent=line.indent))
            yield from _prose([_Line(line.number, argument)], self._block, self._label) if argument else ()
        else:
            label = Label(argument, line.number, line.indent)
            self._labels.append(label if argument else self._label._replace(indent=line.indent))

    def _rows(self) -> Iterator[Unit]:
        while self._at < len(self._lines) and _ROW.match(self._lines[self._at].text):
            line, below = self._lines[self._at], self._peek()
            header = below is not None and bool(_RULE.match(below.text))
            if not header and not _RULE.match(line.text):
                yield Unit(ROW, line.text.strip(), line.number, line.number, self._block, self._label)
            self._at += 1

    def _paragraph(self, line: _Line) -> Iterator[Unit]:
        """Lines up to a blank one, or to one that begins something else."""
        item = bool(_ITEM.match(line.text))
        self._left = line.indent
        inside = [line]
        self._at += 1
        while self._at < len(self._lines):
            one = self._lines[self._at]
            if one.blank or _ITEM.match(one.text) or _ROW.match(one.text) or _FENCE.match(one.text):
                break
            if _HEADING.match(one.text) or self._underlined():
                break
            inside.append(one)
            self._at += 1
        self._literal = inside[-1].text.rstrip().endswith("::")
        if item:
            self._labels.append(self._label._replace(indent=line.indent))
        inside[-1] = _Line(inside[-1].number, _LITERAL.sub("", inside[-1].text))
        said = " ".join(one.text.strip() for one in inside)
        if item and len(said.split()) <= _LONGEST_ITEM:
            yield Unit(ITEM, said, inside[0].number, inside[-1].number, self._block, self._label)
        else:
            yield from _prose(inside, self._block, self._label)


def _prose(lines: Sequence[_Line], block: int, label: Label) -> Iterator[Unit]:
    """The sentences of a paragraph, each with the lines it runs over; what never ends (a table of a PDF) is divided where its lines end."""
    parts = [line.text.strip() for line in lines]
    said = " ".join(parts)
    starts = list(accumulate((len(part) + 1 for part in parts), initial=0))[:-1]
    for start, end in sentences(said):
        ends = [end]
        if len(said[start:end].split()) > _LONGEST_SENTENCE:
            ends = [*(begins for begins in starts if start < begins < end), end]
        for until in ends:
            first, last = bisect_right(starts, start) - 1, bisect_left(starts, until) - 1
            yield Unit(SENTENCE, said[start:until].strip(), lines[first].number, lines[last].number, block, label)
            start = until


def _code(lines: Sequence[_Line], block: int, label: Label) -> Iterator[Unit]:
    """A block of code, in parts that are short enough to be said."""
    for part in _parts(lines):
        for start in range(0, len(part), _LONGEST_CODE):
            some = part[start : start + _LONGEST_CODE]
            left = min(line.indent for line in some if not line.blank) if any(not one.blank for one in some) else 0
            said = "\n".join(line.text[left:].rstrip() for line in some)
            if said.strip():
                yield Unit(CODE, said, some[0].number, some[-1].number, block, label)


def _parts(lines: Sequence[_Line]) -> list[list[_Line]]:
    """Short code whole; long code where it has blank lines, neighbours joined as long as they are short."""
    parts: list[list[_Line]] = [[]]
    for line in lines:
        if line.blank:
            parts.append([])
        else:
            parts[-1].append(line)
    joined: list[list[_Line]] = []
    for part in filter(None, parts):
        if joined and part[-1].number - joined[-1][0].number < _LONGEST_CODE:
            between = [line for line in lines if joined[-1][-1].number < line.number < part[0].number]
            joined[-1] += [*between, *part]
        else:
            joined.append(part)
    return joined
