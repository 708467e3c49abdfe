"""Units of a passage: sentences, list items, table rows and blocks of code, each with its lines.

Markdown, reStructuredText and AsciiDoc share one set of rules; other text is read as paragraphs.
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
_MAX_CODE_LINES = 10  # longer blocks are split
_MAX_ITEM_WORDS = 60  # longer list items are split into sentences
_MAX_SENTENCE_WORDS = 80  # longer ones are not sentences

_FENCE = re.compile(r"^\s*(`{3,}|~{3,}|-{4,}$|\.{4,}$)")  # Markdown, and the listing and literal blocks of AsciiDoc
_HEADING = re.compile(r"^(#{1,6}|={1,6})\s+\S")
_RULE = re.compile(
    r"^\s*([=\-~^\"'`#*+.:_])\1{2,}\s*$|^\s*\|?[\s:|+=-]*-{2,}[\s:|+=-]*$"
)  # underlines, and lines inside tables
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|\(?[a-z][.)]|#\.)\s+\S")
_NUMBERING = re.compile(r"^\s*(?:\d+(?:\.\d+)*\.?\s)?")
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_DIRECTIVE = re.compile(r"^\s*\.\. +(?:([\w:+-]+)::(?:\s+(.*))?|_[^:]+:.*|\|.*|.*)$")
_LITERAL = re.compile(r"\s+::\s*$|^::\s*$|(?<=:):\s*$")  # introduces the code below, without text of its own
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
_IGNORED_DIRECTIVES = frozenset(
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
    """The term, option or setting that indented text explains, and its line."""

    text: str
    line: int
    indent: int


NO_LABEL = Label("", 0, -1)


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest piece that is quoted whole. Lines count from 0 within the passage."""

    kind: str
    text: str
    first: int
    last: int
    block: int  # shared by the units of a paragraph, list or table
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
    """Split a passage into units in reading order, without its headings; `code` marks it as source code."""
    titles = {_bare(heading) for heading in headings}
    lines = [
        _Line(number, "" if _bare(line) in titles else line.expandtabs(4))
        for number, line in enumerate(text.split("\n"))
    ]
    if code:
        return [unit for block, part in enumerate(_parts(lines)) for unit in _code(part, block, NO_LABEL)]
    return list(_Parser(lines).units())


def _bare(line: str) -> str:
    """Normalize a line for comparison with headings: in a PDF, a heading is a line like any other."""
    return _NUMBERING.sub("", line).strip(" #=*_").lower() or "\0"


class _Parser:
    """Line-by-line parser. `_labels` is the stack of terms that the indented text below them explains."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        self._lines, self._at, self._block = lines, 0, 0
        self._labels: list[Label] = []
        self._literal = False  # the preceding paragraph ended with `::`
        self._paragraph_indent = 0  # of the preceding paragraph

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
        """Yield the units of the block that starts at a line."""
        literal, self._literal = self._literal, False
        if fence := _FENCE.match(line.text):
            if not self._closes(fence[1]):
                self._at += 1
                return
            yield from _code(self._fenced(fence[1]), self._block, self._label)
        elif (literal and line.indent > self._paragraph_indent) or (
            line.indent - self._text_indent >= 4 and not _ITEM.match(line.text)
        ):
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
    def _text_indent(self) -> int:
        """Indentation at which text becomes code: four columns beyond the innermost term or item."""
        return max((label.indent + 4 for label in self._labels), default=0)

    def _peek(self, ahead: int = 1) -> _Line | None:
        at = self._at + ahead
        return self._lines[at] if at < len(self._lines) else None

    def _underlined(self) -> bool:
        below = self._peek()
        return below is not None and bool(_RULE.match(below.text)) and "|" not in below.text and not below.indent

    def _is_term(self, line: _Line) -> bool:
        """Return whether a line is the term of a definition: more deeply indented text follows directly."""
        below = self._peek()
        return (
            below is not None and not below.blank and below.indent > line.indent + 1 and not _ITEM.match(line.text)
            and not line.text.rstrip().endswith((":", ","))
        )  # fmt: skip

    def _closes(self, fence: str) -> bool:
        return any(line.text.strip().startswith(fence) for line in self._lines[self._at + 1 :])

    def _fenced(self, fence: str) -> list[_Line]:
        self._at += 1
        lines = []
        while self._at < len(self._lines) and not self._lines[self._at].text.strip().startswith(fence):
            lines.append(self._lines[self._at])
            self._at += 1
        self._at += 1
        return lines

    def _indented(self, indent: int) -> list[_Line]:
        """Consume the following lines that are blank or indented at least as far."""
        lines = []
        while self._at < len(self._lines) and (self._lines[self._at].blank or self._lines[self._at].indent >= indent):
            lines.append(self._lines[self._at])
            self._at += 1
        return lines

    def _directive(self, line: _Line, name: str, argument: str) -> Iterator[Unit]:
        self._at += 1
        plain = name.rpartition(":")[2] if name.startswith("py:") else name
        if plain in _CODE_DIRECTIVES:
            body = [
                body_line for body_line in self._indented(line.indent + 1) if not body_line.text.strip().startswith(":")
            ]
            yield from _code(body, self._block, self._label)
        elif plain in _IGNORED_DIRECTIVES or not name:
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
        """Consume lines up to a blank one or the start of another block."""
        item = bool(_ITEM.match(line.text))
        self._paragraph_indent = line.indent
        lines = [line]
        self._at += 1
        while self._at < len(self._lines):
            following = self._lines[self._at]
            if (
                following.blank
                or _ITEM.match(following.text)
                or _ROW.match(following.text)
                or _FENCE.match(following.text)
            ):
                break
            if _HEADING.match(following.text) or self._underlined():
                break
            lines.append(following)
            self._at += 1
        self._literal = lines[-1].text.rstrip().endswith("::")
        if item:
            self._labels.append(self._label._replace(indent=line.indent))
        lines[-1] = _Line(lines[-1].number, _LITERAL.sub("", lines[-1].text))
        text = " ".join(following.text.strip() for following in lines)
        if item and len(text.split()) <= _MAX_ITEM_WORDS:
            yield Unit(ITEM, text, lines[0].number, lines[-1].number, self._block, self._label)
        else:
            yield from _prose(lines, self._block, self._label)


def _prose(lines: Sequence[_Line], block: int, label: Label) -> Iterator[Unit]:
    """Yield the sentences of a paragraph with their lines; overlong ones (tables in PDFs) are split at line ends."""
    parts = [line.text.strip() for line in lines]
    text = " ".join(parts)
    starts = list(accumulate((len(part) + 1 for part in parts), initial=0))[:-1]
    for start, end in sentences(text):
        ends = [end]
        if len(text[start:end].split()) > _MAX_SENTENCE_WORDS:
            ends = [*(offset for offset in starts if start < offset < end), end]
        for stop in ends:
            first, last = bisect_right(starts, start) - 1, bisect_left(starts, stop) - 1
            yield Unit(SENTENCE, text[start:stop].strip(), lines[first].number, lines[last].number, block, label)
            start = stop


def _code(lines: Sequence[_Line], block: int, label: Label) -> Iterator[Unit]:
    """Yield a block of code in parts short enough to quote."""
    for part in _parts(lines):
        for start in range(0, len(part), _MAX_CODE_LINES):
            chunk = part[start : start + _MAX_CODE_LINES]
            indent = (
                min(line.indent for line in chunk if not line.blank) if any(not line.blank for line in chunk) else 0
            )
            text = "\n".join(line.text[indent:].rstrip() for line in chunk)
            if text.strip():
                yield Unit(CODE, text, chunk[0].number, chunk[-1].number, block, label)


def _parts(lines: Sequence[_Line]) -> list[list[_Line]]:
    """Split long code at blank lines and rejoin neighbours while they stay short."""
    parts: list[list[_Line]] = [[]]
    for line in lines:
        if line.blank:
            parts.append([])
        else:
            parts[-1].append(line)
    joined: list[list[_Line]] = []
    for part in filter(None, parts):
        if joined and part[-1].number - joined[-1][0].number < _MAX_CODE_LINES:
            between = [line for line in lines if joined[-1][-1].number < line.number < part[0].number]
            joined[-1] += [*between, *part]
        else:
            joined.append(part)
    return joined
