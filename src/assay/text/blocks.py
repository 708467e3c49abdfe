"""Block structure of Markdown, reStructuredText and AsciiDoc: the only reader of markup.

- `outline` finds the headings and code blocks of a document. It is fast: indexing runs it over every document.
- `blocks` splits a text, whole or a passage of a document, into typed blocks with the term or directive that each
  belongs to. Text in another format is read by the rules that all markup languages share.
- `paragraphs` splits Markdown into paragraphs and fenced code, for rendering and judging answers.

Everything is recognized by syntax alone. Lines count from 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: first line, level (1 at the top), title, and its last line if it is underlined."""

    line: int
    level: int
    title: str
    last: int = -1

    @property
    def title_line(self) -> int:
        """Line of the title itself, below an overline."""
        return max(self.line, self.last - 1)


@dataclass(frozen=True, slots=True)
class Outline:
    """The headings of a document in order, and the lines inside code blocks, which are never headings or split."""

    headings: list[Heading] = field(default_factory=list)
    code: set[int] = field(default_factory=set)


# Fences

FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")  # opens a code block of Markdown, at the start of a line
_TICKS = re.compile("`+")


def closes(line: str, fence: str) -> bool:
    """Return whether a line closes the code block that `fence` opened: as many of its signs or more, nothing else."""
    line = line.strip()
    return line.startswith(fence) and not line.strip(fence[0])


def ticks_around(text: str, least: int = 3) -> str:
    """Return a run of backticks longer than any in the text: a fence or code span that the text cannot close."""
    return "`" * max(least, 1 + max((len(run) for run in _TICKS.findall(text)), default=0))


class Paragraph(NamedTuple):
    """A paragraph, or the content of a fenced code block."""

    text: str
    code: bool


def paragraphs(text: str) -> Iterator[Paragraph]:
    """Yield the paragraphs and fenced code blocks of a Markdown text; an unclosed block ends with the text."""
    lines: list[str] = []
    fence = ""
    for line in [*text.split("\n"), ""]:
        opening = None if fence else MARKUPS["markdown"].fence.match(line)
        if fence and not closes(line, fence):
            lines.append(line)
        elif fence or opening or not line.strip():
            if lines:
                yield Paragraph("\n".join(lines), bool(fence))
            lines, fence = [], opening[1] if opening else ""
        else:
            lines.append(line)
    if code := lines[:-1]:
        yield Paragraph("\n".join(code), True)


# Inline markup

_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\s]*\)|\[[^\[\]]*\])")
_ATTRIBUTES = re.compile(r"\{[#.:][^{}]*\}$")
# displayed text of `:mod:`csv``, `:ref:`loading <load>`` and ``` ``code`` ```
_ROLE = re.compile(r"(?::[\w:+.-]+:)?(`{1,2})[~!]?([^`<>]+?)(?:\s*<[^`<>]*>)?\1_{0,2}")


def without_roles(text: str) -> str:
    """Return reStructuredText as displayed: `:func:`~flask.url_for`` → flask.url_for."""
    return _ROLE.sub(r"\2", text)


def without_links(text: str) -> str:
    """Return Markdown with the texts of its links: `[guide](x.md)` → guide."""
    return _LINK.sub(r"\1", text)


# Front matter

_FRONT = {"---": ("---", "..."), "+++": ("+++",)}  # opening line → closing lines
_MAX_FRONT = 200  # lines of front matter; a rule that is not closed by then is not front matter
_TITLE = re.compile(r"title\s*[:=](.*)")


def front_matter(lines: Sequence[str]) -> tuple[str, int]:
    """Return the title in the front matter of a document and the line after it; 0 if it has none."""
    closing = _FRONT.get(lines[0].rstrip()) if lines else None
    title = ""
    for number in range(1, min(len(lines), _MAX_FRONT)) if closing else ():
        if closing and lines[number].rstrip() in closing:
            return title, number + 1
        if not title and (match := _TITLE.match(lines[number])):
            title = _unquoted(match[1].strip())
    return "", 0


def _unquoted(text: str) -> str:
    text = text[1:] if text[:1] in ('"', "'") else text
    return text[:-1] if text[-1:] in ('"', "'") else text


# Outlines

_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t])")
_SETEXT = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_NOT_TITLE = re.compile(
    r"[ \t]*(?:[>|<]|[-*+][ \t]|\d+[.)][ \t]|\.\. |$)|.*\|[ \t]*$"
)  # quotes, tables, lists, directives


def _markdown(lines: Sequence[str], start: int) -> Outline:
    """Return the outline of Markdown: `# Title`, or a title underlined with `=` or `-`."""
    out, fence = Outline(), ""
    for number in range(start, len(lines)):
        line = lines[number]
        opening = FENCE.match(line)
        if fence:
            out.code.add(number)
            if opening and closes(line, fence):
                fence = ""
        elif opening:
            out.code.add(number)
            fence = opening[1]
        elif (atx := _ATX.match(line)) and (title := _strip_closing_signs(line[atx.end() :])):
            out.headings.append(Heading(number, len(atx[1]), _markdown_title(title), number))
        elif (under := _SETEXT.match(line)) and _is_title(lines, number - 1, start, out):
            level = 1 if under[1][0] == "=" else 2
            out.headings.append(Heading(number - 1, level, _markdown_title(lines[number - 1]), number))
    return out


def _strip_closing_signs(title: str) -> str:
    """Strip the closing signs of a Markdown heading: `Title ##` → Title."""
    title = title.strip(" \t")
    bare = title.rstrip("#")
    return bare.rstrip(" \t") if bare[-1:] in (" ", "\t") else title


def _markdown_title(title: str) -> str:
    """Return a title without links and attributes."""
    title = title.rstrip(" \t")
    if title.endswith("}"):
        title = title[: title.rfind("{")] + _ATTRIBUTES.sub("", title[title.rfind("{") :])
    return without_links(title).strip()


_UNDERLINE = re.compile(r"([!-/:-@\[-`{-~])\1+[ \t]*$")
_MAX_TITLE = 300  # characters of an underlined title; matching takes quadratic time
_MIN_UNDERLINE = 4  # characters of an underline that is shorter than its title
# introduces an indented literal block, like a paragraph that ends with two colons
_CODE_DIRECTIVE = re.compile(
    r"[ \t]*\.\. (?:code-block|code|sourcecode|parsed-literal|literalinclude|doctest|testcode|productionlist)::"
)


def _restructured(lines: Sequence[str], start: int) -> Outline:
    """Return the outline of reStructuredText or plain text: titles underlined, perhaps overlined, with punctuation.

    Levels are assigned to underline styles in order of appearance.
    """
    out, levels = Outline(code=_literal_blocks(lines, start)), dict[tuple[str, bool], int]()
    for number in range(start + 1, len(lines)):
        rule, title = lines[number].rstrip(), lines[number - 1].rstrip()
        if not rule or not _UNDERLINE.match(rule) or not title or _UNDERLINE.match(title):
            continue
        overlined = number - 2 >= start and lines[number - 2].rstrip() == rule
        at = number - 2 if overlined else number - 1
        fits = len(rule) >= len(title) or len(rule) >= _MIN_UNDERLINE
        if fits and (overlined or not title[0].isspace()) and _is_title(lines, number - 1, start, out, at):
            level = levels.setdefault((rule[0], overlined), len(levels) + 1)
            out.headings.append(Heading(at, level, without_roles(title.strip()), number))
    return out


def _literal_blocks(lines: Sequence[str], start: int) -> set[int]:
    """Return the lines of literal blocks: those indented deeper than the line that introduces them.

    Blank lines inside are included.
    """
    code: set[int] = set()
    number = start
    while number < len(lines):
        if not _announces_code(lines[number]):
            number += 1
            continue
        depth, first = _indent(lines[number]), number + 1
        last = number = first
        while number < len(lines) and (not lines[number].strip() or _indent(lines[number]) > depth):
            number += 1
            last = number if lines[number - 1].strip() else last
        while first < last and not lines[first].strip():
            first += 1
        code.update(range(first, last))
    return code


def _announces_code(line: str) -> bool:
    ends = line.rstrip(" \t").endswith("::") and not line.startswith((".. ", "..\t"))
    return ends or _CODE_DIRECTIVE.match(line) is not None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


_SIGNS = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)$")
_DELIMITER = re.compile(r"(-{4,}+|\.{4,}|\+{4,}+|/{4,}|`{3,})[\w,+-]*+[ \t]*$")
_UNDERLINES = "=-~^+"  # by level
_TOLERANCE = 2  # allowed difference in length between underline and title


def _asciidoc(lines: Sequence[str], start: int) -> Outline:
    """Return the outline of AsciiDoc: `== Title`, or a title underlined with a line of the same length."""
    out, block = Outline(), ""
    for number in range(start, len(lines)):
        line = lines[number].rstrip()
        if block:
            out.code.add(number)
            if line == block:
                block = ""
        elif signs := _SIGNS.match(line):
            title = signs[2].removesuffix(signs[1]).strip()
            out.headings.append(Heading(number, len(signs[1]), title, number))
        elif _is_underline(lines, number, start) and _is_title(lines, number - 1, start, out):
            level = _UNDERLINES.index(line[0]) + 1
            out.headings.append(Heading(number - 1, level, lines[number - 1].strip(), number))
        elif delimiter := _DELIMITER.match(line):
            out.code.add(number)
            block = delimiter[1]
    return out


def _is_underline(lines: Sequence[str], number: int, start: int) -> bool:
    line, title = lines[number].rstrip(), lines[number - 1].rstrip() if number > start else ""
    near = abs(len(line) - len(title)) <= _TOLERANCE
    return bool(title) and near and line[:1] in _UNDERLINES and bool(_UNDERLINE.match(line)) and title[0].isalnum()


def _is_title(lines: Sequence[str], number: int, start: int, out: Outline, begins: int | None = None) -> bool:
    """Return whether a line above a rule is a title: text on its own, and not a heading already."""
    begins = number if begins is None else begins
    if number < start or number in out.code or len(lines[number]) > _MAX_TITLE or _NOT_TITLE.match(lines[number]):
        return False
    last = out.headings[-1].line if out.headings else -1
    alone = begins == start or not lines[begins - 1].strip() or begins - 1 in out.code or begins - 1 == last
    return alone and number != last


# Markup languages by document format


class Markup(NamedTuple):
    """A markup language: its outline, and the pattern of lines that open a code block up to the same line again."""

    outline: Callable[[Sequence[str], int], Outline]
    fence: re.Pattern[str]


_BACKTICKS = r"^\s*(`{3,}(?=[^`]*$)|~{3,}"  # indented in a list
_ANY = Markup(_markdown, re.compile(rf"{_BACKTICKS}|-{{4,}}$|\.{{4,}}$)"))
MARKUPS = {
    "markdown": Markup(_markdown, re.compile(rf"{_BACKTICKS})")),
    "notebook": Markup(_markdown, re.compile(rf"{_BACKTICKS})")),
    "rst": Markup(_restructured, re.compile(r"(?!)")),
    "asciidoc": Markup(_asciidoc, re.compile(r"^\s*(`{3,}|-{4,}$|\.{4,}$)")),
    # guides in plain text are often reStructuredText, or underlined like it
    "text": Markup(_restructured, re.compile(r"^\s*(`{3,}(?=[^`]*$))")),
}


def outline(lines: Sequence[str], markup: str, start: int = 0) -> Outline:
    """Return the outline of a document from line `start`; empty for a format without markup."""
    return MARKUPS[markup].outline(lines, start) if markup in MARKUPS else Outline()


# Blocks

HEADING, PARAGRAPH, ITEM, TABLE, CODE, DIRECTIVE, TERM, QUOTE, MARK = (
    "heading", "paragraph", "item", "table", "code", "directive", "term", "quote", "mark",
)  # fmt: skip

_SIGNED_HEADING = re.compile(r"^(#{1,6}|={1,6})\s+\S")
_RULE = re.compile(
    r"^\s*([=\-~^\"'`#*+.:_])\1{2,}\s*$|^\s*\|?[\s:|+=-]*-{2,}[\s:|+=-]*$"
)  # underlines, and lines inside tables
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|\(?[a-z][.)]|#\.)\s+\S")
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_DIRECTIVE = re.compile(r"^\s*\.\. +(?:([\w:+-]+)::(?:\s+(.*))?|_[^:]+:.*|\|.*|.*)$")
_LITERAL = re.compile(r"\s+::\s*$|^::\s*$|(?<=:):\s*$")  # introduces the code below, without text of its own
# anchors, attributes, comments, pictures
_MARK = re.compile(r"^\s*(?:\[\[.*\]\]|\[[\w=,.\"' -]+\]|:[\w-]+:.*|<!--.*-->|!\[.*\]\(.*\))\s*$")
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
        return _indent(self.text)

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

    Kinds: HEADING, PARAGRAPH, QUOTE, ITEM (one of a list), TABLE (its lines are rows), CODE, TERM (of a definition),
    DIRECTIVE, and MARK: rules, anchors, attributes, pictures and comments.
    """

    kind: str
    lines: tuple[Line, ...]
    label: Label = NO_LABEL  # innermost term or directive that the block belongs to
    level: int = 0  # of a heading, if known
    name: str = ""  # of a directive: `note`, `py:data`; empty for a comment
    argument: str = ""  # of a directive, or the title of a heading

    @property
    def text(self) -> str:
        """Content on one line."""
        return " ".join(line.text.strip() for line in self.lines)


def blocks(lines: Sequence[str], markup: str = "") -> Iterator[Block]:
    """Yield the blocks of a text in order. `markup` is its document format; empty if unknown."""
    return _Reader([Line(number, line.expandtabs(4)) for number, line in enumerate(lines)], markup).blocks()


class _Reader:
    """Line-by-line reader. `_labels` is the stack of terms, items and directives that indented text belongs to."""

    def __init__(self, lines: Sequence[Line], markup: str) -> None:
        self._lines, self._at = lines, 0
        language = MARKUPS.get(markup, _ANY)
        self._fence = language.fence
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
            return self._fenced(line, fence[1])
        too_deep = line.indent - self._text_indent >= _INDENT and not _ITEM.match(line.text)
        if too_deep or (literal and line.indent > self._paragraph_indent):
            return Block(CODE, self._indented(line.indent), self._label)
        if directive := _DIRECTIVE.match(line.text):
            return self._directive(line, directive[1] or "", (directive[2] or "").strip())
        if line.number in self._headings:
            heading = self._headings[line.number]
            title = self._lines[heading.title_line]
            self._at = max(heading.last, heading.line) + 1
            return Block(HEADING, (title,), self._label, heading.level, argument=heading.title)
        if self._is_mark(line):
            self._at += 1
            return Block(MARK, (line,), self._label)
        if _ROW.match(line.text):
            return self._table()
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
        patterns = (_SIGNED_HEADING, _RULE, _MARK)
        return any(pattern.match(line.text) for pattern in patterns) or self._underlined()

    def _underlined(self) -> bool:
        below = self._below()
        return below is not None and bool(_RULE.match(below.text)) and "|" not in below.text and not below.indent

    def _is_term(self, line: Line) -> bool:
        """Return whether a line is the term of a definition: more deeply indented text follows directly."""
        below = self._below()
        return (
            below is not None and not below.blank and below.indent > line.indent + 1 and not _ITEM.match(line.text)
            and not line.text.rstrip().endswith((":", ","))
        )  # fmt: skip

    def _fenced(self, line: Line, fence: str) -> Block:
        """Read fenced code. In a passage that starts or ends inside code, a fence without a partner is only a mark."""
        end = self._closing(fence, bare=closes(line.text, fence))
        if end is None:
            self._at += 1
            return Block(MARK, (line,), self._label)
        content = self._lines[self._at + 1 : end]
        self._at = end + 1
        return Block(CODE, tuple(content), self._label)

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
        if plain in _CODE_DIRECTIVES:
            body = self._indented(line.indent + 1)
            content = tuple(inner for inner in body if not inner.text.strip().startswith(":"))
            return Block(CODE, content, self._label, name=plain, argument=argument)
        if plain in _EMPTY_DIRECTIVES or not name:
            return Block(DIRECTIVE, self._indented(line.indent + 1), self._label, name=plain, argument=argument)
        explains = argument and plain not in ADMONITIONS
        label = Label(argument, line.number, line.indent) if explains else self._label._replace(indent=line.indent)
        self._labels.append(label)
        return Block(DIRECTIVE, (Line(line.number, argument),), self._label, name=plain, argument=argument)

    def _table(self) -> Block:
        rows = []
        while self._at < len(self._lines) and _ROW.match(self._lines[self._at].text):
            line, below = self._lines[self._at], self._below()
            header = below is not None and bool(_RULE.match(below.text))
            if not header and not _RULE.match(line.text):
                rows.append(line)
            self._at += 1
        return Block(TABLE, tuple(rows), self._label)

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
        kind = QUOTE if line.text.lstrip().startswith(">") else PARAGRAPH
        if _ITEM.match(line.text):
            kind = ITEM
            self._labels.append(self._label._replace(indent=line.indent))
        return Block(kind, tuple(lines), self._label)

    def _interrupts(self, line: Line) -> bool:
        """Return whether a line ends the paragraph before it."""
        if line.blank or line.number in self._headings or self._underlined():
            return True
        return any(pattern.match(line.text) for pattern in (_ITEM, _ROW, self._fence, _SIGNED_HEADING))
