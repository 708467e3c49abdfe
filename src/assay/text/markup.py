"""Markup: Markdown, reStructuredText and AsciiDoc. Only this module, `blocks` and `plain` read it.

- `outline` finds the headings and code blocks of a document. It is fast: indexing runs it over every document.
- `paragraphs` splits Markdown into paragraphs and fenced code, for rendering and judging answers.

Everything is recognized by syntax alone. Lines count from 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from assay.text.display import one_line


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


def span(text: str) -> str:
    """Return a code span of Markdown that shows the text verbatim, on one line."""
    text = one_line(text)
    ticks = ticks_around(text, 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


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
ANY = Markup(_markdown, re.compile(rf"{_BACKTICKS}|-{{4,}}$|\.{{4,}}$)"))
MARKUPS = {
    "markdown": Markup(_markdown, re.compile(rf"{_BACKTICKS})")),
    "mdx": Markup(_markdown, re.compile(rf"{_BACKTICKS})")),
    "notebook": Markup(_markdown, re.compile(rf"{_BACKTICKS})")),
    "rst": Markup(_restructured, re.compile(r"(?!)")),
    "asciidoc": Markup(_asciidoc, re.compile(r"^\s*(`{3,}|-{4,}$|\.{4,}$)")),
    # guides in plain text are often reStructuredText, or underlined like it
    "text": Markup(_restructured, re.compile(r"^\s*(`{3,}(?=[^`]*$))")),
}


def outline(lines: Sequence[str], markup: str, start: int = 0) -> Outline:
    """Return the outline of a document from line `start`; empty for a format without markup."""
    return MARKUPS[markup].outline(lines, start) if markup in MARKUPS else Outline()
