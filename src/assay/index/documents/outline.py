"""Outlines: the headings and code blocks of a document, for each markup language.

An outline is built from the document's lines by syntax alone; line numbers start at 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: line, level (1 at the top) and title."""

    line: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Outline:
    """The headings of a document in order, and the lines inside code blocks, which are never headings or split."""

    headings: list[Heading] = field(default_factory=list)
    code: set[int] = field(default_factory=set)


_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t])")
_SETEXT = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_NOT_TITLE = re.compile(
    r"[ \t]*(?:[>|<]|[-*+][ \t]|\d+[.)][ \t]|\.\. |$)|.*\|[ \t]*$"
)  # quotes, tables, lists, directives
_ATTRIBUTES = re.compile(r"\{[#.:][^{}]*\}$")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\s]*\)|\[[^\[\]]*\])")


def markdown(lines: Sequence[str], start: int) -> Outline:
    """Return the outline of Markdown from line `start`: `# Title`, or a title underlined with `=` or `-`."""
    out, fence = Outline(), ""
    for number in range(start, len(lines)):
        line = lines[number]
        fence_match = _FENCE.match(line)
        if fence:
            out.code.add(number)
            if fence_match and fence_match[1].startswith(fence) and not line[fence_match.end() :].strip():
                fence = ""
        elif fence_match:
            out.code.add(number)
            fence = fence_match[1]
        elif (atx := _ATX.match(line)) and (title := _strip_closing_signs(line[atx.end() :])):
            out.headings.append(Heading(number, len(atx[1]), _plain(title)))
        elif (under := _SETEXT.match(line)) and _is_title(lines, number - 1, start, out):
            out.headings.append(Heading(number - 1, 1 if under[1][0] == "=" else 2, _plain(lines[number - 1])))
    return out


_RULE = re.compile(r"([!-/:-@\[-`{-~])\1+[ \t]*$")
# displayed text of `:mod:`csv``, `:ref:`loading <load>`` and ``` ``code`` ```
_ROLE = re.compile(r"(?::[\w:+.-]+:)?(`{1,2})[~!]?([^`<>]+?)(?:\s*<[^`<>]*>)?\1_{0,2}")
_MAX_TITLE = 300  # characters of an underlined title; matching takes quadratic time
_MIN_RULE = 4  # characters of an underline that is shorter than its title


# introduces an indented literal block, like a paragraph that ends with two colons
_DIRECTIVE = re.compile(
    r"[ \t]*\.\. (?:code-block|code|sourcecode|parsed-literal|literalinclude|doctest|testcode|productionlist)::"
)


def restructured(lines: Sequence[str], start: int) -> Outline:
    """Return the outline of reStructuredText or plain text: titles underlined, perhaps overlined, with punctuation.

    Levels are assigned to underline styles in order of appearance.
    """
    out, levels = Outline(code=_literal_blocks(lines, start)), dict[tuple[str, bool], int]()
    for number in range(start + 1, len(lines)):
        rule, title = lines[number].rstrip(), lines[number - 1].rstrip()
        if not rule or not _RULE.match(rule) or not title or _RULE.match(title):
            continue
        overlined = number - 2 >= start and lines[number - 2].rstrip() == rule
        at = number - 2 if overlined else number - 1
        fits = len(rule) >= len(title) or len(rule) >= _MIN_RULE
        if fits and (overlined or not title[0].isspace()) and _is_title(lines, number - 1, start, out, at):
            level = levels.setdefault((rule[0], overlined), len(levels) + 1)
            out.headings.append(Heading(at, level, _ROLE.sub(r"\2", title.strip())))
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
    return ends or _DIRECTIVE.match(line) is not None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


_SIGNS = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)$")
_BLOCK = re.compile(r"(-{4,}+|\.{4,}|\+{4,}+|/{4,}|`{3,})[\w,+-]*+[ \t]*$")
_UNDERLINES = "=-~^+"  # by level
_TOLERANCE = 2  # allowed difference in length between underline and title


def asciidoc(lines: Sequence[str], start: int) -> Outline:
    """Return the outline of AsciiDoc: `== Title`, or a title underlined with a line of the same length."""
    out, block = Outline(), ""
    for number in range(start, len(lines)):
        line = lines[number].rstrip()
        if block:
            out.code.add(number)
            if line == block:
                block = ""
        elif signs := _SIGNS.match(line):
            out.headings.append(Heading(number, len(signs[1]), signs[2].removesuffix(signs[1]).strip()))
        elif _is_underline(lines, number, start) and _is_title(lines, number - 1, start, out):
            level = _UNDERLINES.index(line[0]) + 1
            out.headings.append(Heading(number - 1, level, lines[number - 1].strip()))
        elif delimiter := _BLOCK.match(line):
            out.code.add(number)
            block = delimiter[1]
    return out


def _is_underline(lines: Sequence[str], number: int, start: int) -> bool:
    line, title = lines[number].rstrip(), lines[number - 1].rstrip() if number > start else ""
    near = abs(len(line) - len(title)) <= _TOLERANCE
    return bool(title) and near and line[:1] in _UNDERLINES and bool(_RULE.match(line)) and title[0].isalnum()


def _is_title(lines: Sequence[str], number: int, start: int, out: Outline, begins: int | None = None) -> bool:
    """Return whether a line above a rule is a title: text on its own, and not a heading already."""
    begins = number if begins is None else begins
    if number < start or number in out.code or len(lines[number]) > _MAX_TITLE or _NOT_TITLE.match(lines[number]):
        return False
    last = out.headings[-1].line if out.headings else -1
    alone = begins == start or not lines[begins - 1].strip() or begins - 1 in out.code or begins - 1 == last
    return alone and number != last


def _strip_closing_signs(title: str) -> str:
    """Strip the closing signs of a Markdown heading: `Title ##` → Title."""
    title = title.strip(" \t")
    bare = title.rstrip("#")
    return bare.rstrip(" \t") if bare[-1:] in (" ", "\t") else title


def _plain(title: str) -> str:
    """Return a title without links and attributes."""
    title = title.rstrip(" \t")
    if title.endswith("}"):
        title = title[: title.rfind("{")] + _ATTRIBUTES.sub("", title[title.rfind("{") :])
    return _LINK.sub(r"\1", title).strip()
