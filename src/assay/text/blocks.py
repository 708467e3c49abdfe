"""Typed blocks of a text, whole or a passage of a document, with the term or directive that each belongs to.

Text in a format without markup is read by the rules that all markup languages share. Lines count from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import NamedTuple

from assay.text.markup import ANY, FENCE, MARKUPS, closes
from assay.text.tables import Row, read_table

HEADING, PARAGRAPH, ITEM, TABLE, CODE, DIRECTIVE, TERM, MARK = (
    "heading", "paragraph", "item", "table", "code", "directive", "term", "mark",
)  # fmt: skip

_SIGNED_HEADING = re.compile(r"^(#{1,6}|={1,6})\s+\S")
_RULE = re.compile(
    r"^\s*([=\-~^\"'`#*+.:_])\1{2,}\s*$|^\s*([-*_])(?:\s+\2){2,}\s*$|^\s*\|?[\s:|+=-]*-{2,}[\s:|+=-]*$"
)  # underlines, and lines inside tables
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|\(?[a-z][.)]|#\.)\s+\S")
_QUOTE = re.compile(r" {0,3}(?:>(?!>>)[ ]?)+(?!>)(?:\[!\w+\]\s*$)?")  # `>>>` is a prompt of Python, `[!NOTE]` an alert
_NO_QUOTES = frozenset(["rst", "asciidoc"])
_ASCIIDOC_ITEM = re.compile(r"^\s*(?:-|\*{1,5}|\.{1,5}|\d{1,3}\.)\s+\S")
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_CELLS = re.compile(r"^\s*\|.*\|\s*$|^.*\S \| ")  # of tables extracted from formats without markup
_EXTRACTED = frozenset(["html", "docx", "man"])
_DIRECTIVE = re.compile(r"^\s*\.\. +(?:([\w:+-]+)::(?:\s+(.*))?|_[^:]+:.*|\|.*|.*)$")
_LITERAL = re.compile(r"\s+::\s*$|^::\s*$|(?<=:):\s*$")  # introduces the code below, without text of its own
# anchors, attributes, containers, comments, pictures
_MARK = re.compile(r"^\s*(?:\[\[.*\]\]|\[[\w=,.\"' -]+\]|:[\w-]+:(?!`).*|:{3,}.*|<!--.*-->|!\[.*\]\(.*\))\s*$")
_INDENT = 4  # columns: text indented as much further than what it belongs to is code

_CODE_DIRECTIVES = frozenset(
    ["code-block", "code", "sourcecode", "parsed-literal", "prompt", "literalinclude", "highlight"]
)
_EMPTY_DIRECTIVES = frozenset(
    [
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
    ]
)  # without a body that is text of the document
_MYST_DIRECTIVE = re.compile(r"\s*[`~:]{3,}\s*\{([\w:-]+)\}")
_OPTION = re.compile(r"\s*:[\w-]+:(?:\s|$)")
_MYST_TARGET = re.compile(r"\([\w./: -]+\)=\s*$")
_EMBEDDED_RST = "{eval-rst}"  # MyST: what stands in the fence is reStructuredText
ADMONITIONS = frozenset(
    [
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
    ]
)  # their argument is text


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its number; tabs are expanded."""

    number: int
    text: str

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())

    @property
    def blank(self) -> bool:
        return not self.text.strip()


class Label(NamedTuple):
    """The term, option or setting that indented text explains, and its line."""

    text: str
    line: int
    indent: int


NO_LABEL = Label("", 0, -1)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a text. Its lines are content: without fences, options of directives, header and rules of tables.

    Kinds: HEADING, PARAGRAPH, ITEM (one of a list), TABLE, CODE, TERM (of a definition), DIRECTIVE, and MARK: rules,
    anchors, attributes, pictures and comments. Quotations are read as what they quote.
    """

    kind: str
    lines: tuple[Line, ...]
    label: Label = NO_LABEL  # innermost term or directive that the block belongs to
    level: int = 0  # of a heading, if known
    name: str = ""  # of a directive: `note`, `py:data`; empty for a comment
    argument: str = ""  # of a directive, or the title of a heading
    rows: tuple[Row, ...] = ()  # of a table

    @property
    def text(self) -> str:
        """Content on one line."""
        return " ".join(line.text.strip() for line in self.lines)


def blocks(lines: Sequence[str], markup: str = "") -> Iterator[Block]:
    """Yield the blocks of a text in order. `markup` is its document format; empty if unknown."""
    return _Reader([Line(number, line.expandtabs(4)) for number, line in enumerate(lines)], markup).blocks()


def _without_quotation_marks(lines: Sequence[Line]) -> list[Line]:
    """Return the lines without the signs of quotations, outside fenced code."""
    out, fence = [], ""
    for line in lines:
        opening = FENCE.match(line.text) if not fence else None
        if not fence and not opening and (mark := _QUOTE.match(line.text)) and ">" in mark[0]:
            line = Line(line.number, line.text[mark.end() :])
        out.append(line)
        fence = "" if fence and closes(line.text, fence) else opening[1] if opening else fence
    return out


class _Reader:
    """Line-by-line reader. `_labels` is the stack of terms, items and directives that indented text belongs to."""

    def __init__(self, lines: Sequence[Line], markup: str) -> None:
        self._lines, self._at = list(lines if markup in _NO_QUOTES else _without_quotation_marks(lines)), 0
        self._texts = [line.text for line in self._lines]
        language = MARKUPS.get(markup, ANY)
        self._fence, self._markup = language.fence, markup
        self._item = _ASCIIDOC_ITEM if markup == "asciidoc" else _ITEM
        self._row = _CELLS if markup in _EXTRACTED else _ROW
        self._headings = {
            heading.line: heading for heading in language.outline([line.text for line in lines], 0).headings
        }
        self._labels: list[Label] = []
        self._literal = False  # the preceding paragraph ended with `::`
        self._paragraph_indent = 0  # of the preceding paragraph

    def blocks(self) -> Iterator[Block]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.blank:
                self._at += 1
                continue
            self._labels = [label for label in self._labels if label.indent < line.indent]
            yield self._next(line)

    def _next(self, line: Line) -> Block:
        """Read the block that starts at a line."""
        literal, self._literal = self._literal, False
        if fence := self._fence.match(line.text):
            if line.text[fence.end() :].strip() == _EMBEDDED_RST:
                return self._embedded(line, fence[1])
            return self._fenced(line, fence[1])
        too_deep = line.indent - self._text_indent >= _INDENT and not self._item.match(line.text)
        if too_deep or (literal and line.indent > self._paragraph_indent):
            return Block(CODE, self._indented(line.indent), self._label)
        if table := self._table(line):
            return table
        if self._markup != "asciidoc" and (directive := _DIRECTIVE.match(line.text)):
            return self._directive(line, directive[1] or "", (directive[2] or "").strip())
        if line.number in self._headings:
            heading = self._headings[line.number]
            title = self._lines[heading.title_line]
            self._at = max(heading.last, heading.line) + 1
            return Block(HEADING, (title,), self._label, heading.level, argument=heading.title)
        if self._is_mark(line):
            self._at += 1
            return Block(MARK, (line,), self._label)
        if self._is_term(line):
            self._at += 1
            self._labels.append(Label(line.text.strip(), line.number, line.indent))
            return Block(TERM, (line,), self._label)
        return self._paragraph(line)

    @property
    def _label(self) -> Label:
        return self._labels[-1] if self._labels else NO_LABEL

    @property
    def _text_indent(self) -> int:
        """Indentation of text that belongs to the innermost term or item."""
        return max((label.indent + _INDENT for label in self._labels), default=0)

    def _below(self) -> Line | None:
        return self._lines[self._at + 1] if self._at + 1 < len(self._lines) else None

    def _is_mark(self, line: Line) -> bool:
        patterns = (_SIGNED_HEADING, _RULE, _MARK, _MYST_TARGET)
        return any(pattern.match(line.text) for pattern in patterns) or self._underlined()

    def _underlined(self) -> bool:
        below = self._below()
        return (
            below is not None and bool(_RULE.match(below.text)) and "|" not in below.text and not below.indent
            and not self._delimits(below)
        )  # fmt: skip

    def _delimits(self, line: Line) -> bool:
        """Return whether a line opens or closes a quotation of AsciiDoc, or a container of Markdown."""
        sign = {"asciidoc": "____", "rst": None}.get(self._markup, ":::")
        return sign is not None and line.text.startswith(sign)

    def _is_term(self, line: Line) -> bool:
        """Return whether a line is the term of a definition: more deeply indented text follows directly."""
        below = self._below()
        return (
            below is not None and not below.blank and below.indent > line.indent + 1 and not self._item.match(line.text)
            and not line.text.rstrip().endswith((":", ","))
        )  # fmt: skip

    def _fenced(self, line: Line, fence: str) -> Block:
        """Read fenced code. In a passage that starts or ends inside code, a fence without a partner is only a mark."""
        end = self._closing(fence, bare=closes(line.text, fence))
        if end is None:
            self._at += 1
            return Block(MARK, (line,), self._label)
        content = tuple(self._lines[self._at + 1 : end])
        self._at = end + 1
        directive = _MYST_DIRECTIVE.match(line.text)
        if directive and directive[1] in _EMPTY_DIRECTIVES:
            return Block(DIRECTIVE, content, self._label, name=directive[1])
        if directive:
            content = tuple(dropwhile(lambda inner: inner.blank or _OPTION.match(inner.text), content))
        return Block(CODE, content, self._label)

    def _embedded(self, line: Line, fence: str) -> Block:
        """Read past the opening of embedded reStructuredText: its blocks follow, its closing fence is dropped."""
        end = self._closing(fence, bare=False)
        if end is not None:
            self._lines[end], self._texts[end] = Line(self._lines[end].number, ""), ""
        self._at += 1
        return Block(MARK, (line,), self._label)

    def _closing(self, fence: str, bare: bool) -> int | None:
        """Return the line that closes a fence. One without a language closes nothing if another opens before."""
        for at in range(self._at + 1, len(self._lines)):
            text = self._lines[at].text
            if closes(text, fence):
                return at
            if bare and text.lstrip().startswith(fence) and self._fence.match(text):
                return None
        return None

    def _indented(self, indent: int) -> tuple[Line, ...]:
        """Consume the following lines that are blank or indented at least as far."""
        start = self._at
        while self._at < len(self._lines) and (self._lines[self._at].blank or self._lines[self._at].indent >= indent):
            self._at += 1
        return tuple(self._lines[start : self._at])

    def _directive(self, line: Line, name: str, argument: str) -> Block:
        self._at += 1
        plain = name.removeprefix("py:")
        # a directive of an extension without an argument, such as `click:example`, shows code; with one, it describes
        if plain in _CODE_DIRECTIVES or (":" in plain and not argument):
            body = self._indented(line.indent + 1)
            content = tuple(inner for inner in body if not inner.text.strip().startswith(":"))
            return Block(CODE, content, self._label, name=plain, argument=argument)
        if plain in _EMPTY_DIRECTIVES or not name:
            return Block(DIRECTIVE, self._indented(line.indent + 1), self._label, name=plain, argument=argument)
        explains = argument and plain not in ADMONITIONS
        label = Label(argument, line.number, line.indent) if explains else self._label._replace(indent=line.indent)
        self._labels.append(label)
        return Block(DIRECTIVE, (Line(line.number, argument),), self._label, name=plain, argument=argument)

    def _table(self, line: Line) -> Block | None:
        """Read a table, if one begins here."""
        if table := read_table(self._texts, self._at, self._markup):
            rows, end = table
        elif self._row.match(line.text):  # of a format without markup
            end = self._at + 1
            while end < len(self._lines) and self._row.match(self._lines[end].text):
                end += 1
            inside = [each for each in self._lines[self._at : end] if not _RULE.match(each.text)]
            rows = [Row(each.number, each.number, tuple(each.text.split(" | "))) for each in inside]
        else:
            return None
        block = Block(TABLE, tuple(self._lines[self._at : end]), self._label, rows=tuple(rows))
        self._at = end
        return block

    def _paragraph(self, line: Line) -> Block:
        """Read lines up to a blank one or the start of another block."""
        self._paragraph_indent = line.indent
        lines = [line]
        self._at += 1
        while self._at < len(self._lines) and not self._interrupts(self._lines[self._at]):
            lines.append(self._lines[self._at])
            self._at += 1
        self._literal = lines[-1].text.rstrip().endswith("::")
        lines[-1] = Line(lines[-1].number, _LITERAL.sub("", lines[-1].text))
        kind = ITEM if self._item.match(line.text) else PARAGRAPH
        if kind == ITEM:
            self._labels.append(self._label._replace(indent=line.indent))
        return Block(kind, tuple(lines), self._label)

    def _interrupts(self, line: Line) -> bool:
        """Return whether a line ends the paragraph before it."""
        if line.blank or line.number in self._headings or self._underlined() or self._delimits(line):
            return True
        return any(pattern.match(line.text) for pattern in (self._item, self._row, self._fence, _SIGNED_HEADING))
