"""The headings of a document in each markup, and the lines that belong together.

An outline is made of a document's lines without looking at what they say; numbers of lines count from 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Heading:
    """Where a heading begins, how deep it is (1 at the top) and what it says."""

    line: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Outline:
    """The headings of a document in order, and the lines inside code blocks, which are never headings nor split."""

    headings: list[Heading] = field(default_factory=list)
    code: set[int] = field(default_factory=set)


_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t])")
_SETEXT = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_NO_TITLE = re.compile(
    r"[ \t]*(?:[>|<]|[-*+][ \t]|\d+[.)][ \t]|\.\. |$)|.*\|[ \t]*$"
)  # quotes, tables, lists, directives
_ATTRIBUTES = re.compile(r"\{[#.:][^{}]*\}$")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\s]*\)|\[[^\[\]]*\])")


def markdown(lines: Sequence[str], start: int) -> Outline:
    """`# Title`, or a title underlined with `=` or `-`; from the line where the front matter ends."""
    out, fence = Outline(), ""
    for number in range(start, len(lines)):
        line = lines[number]
        found = _FENCE.match(line)
        if fence:
            out.code.add(number)
            if found and found[1].startswith(fence) and not line[found.end() :].strip():
                fence = ""
        elif found:
            out.code.add(number)
            fence = found[1]
        elif (atx := _ATX.match(line)) and (title := _unclosed(line[atx.end() :])):
            out.headings.append(Heading(number, len(atx[1]), _plain(title)))
        elif (under := _SETEXT.match(line)) and _is_title(lines, number - 1, start, out):
            out.headings.append(Heading(number - 1, 1 if under[1][0] == "=" else 2, _plain(lines[number - 1])))
    return out


_RULE = re.compile(r"([!-/:-@\[-`{-~])\1+[ \t]*$")
# `:mod:`csv``, `:ref:`loading <load>``, ``` ``code`` ```: what is read of them
_ROLE = re.compile(r"(?::[\w:+.-]+:)?(`{1,2})[~!]?([^`<>]+?)(?:\s*<[^`<>]*>)?\1_{0,2}")
_LONGEST = 300  # characters of a title that is underlined; matching takes quadratic time in them
_SHORTEST = 4  # characters: a shorter line under a longer title is text


# what an indented literal block follows: a directive for code, or a paragraph that ends with two colons
_DIRECTIVE = re.compile(
    r"[ \t]*\.\. (?:code-block|code|sourcecode|parsed-literal|literalinclude|doctest|testcode|productionlist)::"
)


def restructured(lines: Sequence[str], start: int) -> Outline:
    """A title underlined with any punctuation, perhaps overlined, too; the style that comes first is the highest. Plain text is read the same way."""
    out, levels = Outline(code=_literal_blocks(lines, start)), dict[tuple[str, bool], int]()
    for number in range(start + 1, len(lines)):
        rule, title = lines[number].rstrip(), lines[number - 1].rstrip()
        if not rule or not _RULE.match(rule) or not title or _RULE.match(title):
            continue
        over = number - 2 >= start and lines[number - 2].rstrip() == rule
        at = number - 2 if over else number - 1
        fits = len(rule) >= len(title) or len(rule) >= _SHORTEST
        if fits and (over or not title[0].isspace()) and _is_title(lines, number - 1, start, out, at):
            level = levels.setdefault((rule[0], over), len(levels) + 1)
            out.headings.append(Heading(at, level, _ROLE.sub(r"\2", title.strip())))
    return out


def _literal_blocks(lines: Sequence[str], start: int) -> set[int]:
    """The lines of blocks that are indented deeper than what announces them, blank ones inside included."""
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
_TOLERANCE = 2  # characters by which an underline may differ from its title


def asciidoc(lines: Sequence[str], start: int) -> Outline:
    """`== Title`, or a title underlined with a line of its length."""
    out, block = Outline(), ""
    for number in range(start, len(lines)):
        line = lines[number].rstrip()
        if block:
            out.code.add(number)
            if line == block:
                block = ""
        elif signs := _SIGNS.match(line):
            out.headings.append(Heading(number, len(signs[1]), signs[2].removesuffix(signs[1]).strip()))
        elif _underlines(lines, number, start) and _is_title(lines, number - 1, start, out):
            level = _UNDERLINES.index(line[0]) + 1
            out.headings.append(Heading(number - 1, level, lines[number - 1].strip()))
        elif found := _BLOCK.match(line):
            out.code.add(number)
            block = found[1]
    return out


def _underlines(lines: Sequence[str], number: int, start: int) -> bool:
    line, title = lines[number].rstrip(), lines[number - 1].rstrip() if number > start else ""
    near = abs(len(line) - len(title)) <= _TOLERANCE
    return bool(title) and near and line[:1] in _UNDERLINES and bool(_RULE.match(line)) and title[0].isalnum()


def _is_title(lines: Sequence[str], number: int, start: int, out: Outline, begins: int | None = None) -> bool:
    """Whether a line above a rule is a title: text that stands by itself, and no heading yet."""
    begins = number if begins is None else begins
    if number < start or number in out.code or len(lines[number]) > _LONGEST or _NO_TITLE.match(lines[number]):
        return False
    last = out.headings[-1].line if out.headings else -1
    alone = begins == start or not lines[begins - 1].strip() or begins - 1 in out.code or begins - 1 == last
    return alone and number != last


def _unclosed(title: str) -> str:
    """What stands behind the signs of a Markdown heading, without those that close it."""
    title = title.strip(" \t")
    bare = title.rstrip("#")
    return bare.rstrip(" \t") if bare[-1:] in (" ", "\t") else title


def _plain(title: str) -> str:
    """A title without links and attributes."""
    title = title.rstrip(" \t")
    if title.endswith("}"):
        title = title[: title.rfind("{")] + _ATTRIBUTES.sub("", title[title.rfind("{") :])
    return _LINK.sub(r"\1", title).strip()
