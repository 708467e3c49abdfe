"""Exact phrases and regular expressions, matched line by line in time linear in the text (RE2).

Neither a user's expression nor a repository's text can make RE2 backtrack, exhaust memory or recurse. It has no
backreferences and no look-around, as in other code search engines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from assay.errors import AssayError
from assay.search.query import Exact

Span = tuple[int, int]  # offsets, end exclusive

_MAX_SPANS = 20  # marked in one line
_MAX_BYTES = 8 << 20  # of memory for one compiled expression and its automata, RE2's own default
_WIDTH = 160  # characters of an excerpt of a line
_BEFORE = 40  # characters of an excerpt before its first match


class LineMatch(NamedTuple):
    """The first match in a line: line number from 1 and byte offsets in the whole text."""

    line: int
    start: int
    end: int


class Match(NamedTuple):
    """A matching line of a result."""

    line: int  # from 1; 0 if the text's lines are not lines of the file
    spans: tuple[Span, ...]  # characters of the line, from 0; without empty matches
    text: str  # the line, or an excerpt of a long one


class Pattern:
    """A compiled phrase or regular expression. Raises AssayError with the position if it is invalid."""

    def __init__(self, part: Exact) -> None:
        import re2

        options = re2.Options()
        options.max_mem = _MAX_BYTES
        options.log_errors = False
        options.never_nl = options.never_capture = True
        options.case_sensitive = not part.ignore_case
        self.part = part
        source = part.text.encode("utf-8", "surrogatepass")
        try:
            if part.regex:
                re2.compile(source, options)  # by itself: the position in a message counts from its own beginning
            self._regexp = re2.compile(b"(?m)" + (source if part.regex else re2.escape(source)), options)
        except re2.error as error:
            raise AssayError(_describe_error(part, error)) from None
        re2.purge()  # its cache would keep 128 expressions with their automata, 1 GB in a server

    def first_in_lines(self, data: bytes) -> Iterator[LineMatch]:
        """Yield the first match of every matching line of a UTF-8 text.

        The search for the next goes on after the line, which makes the whole linear, however many matches there are.
        """
        position, line, counted = 0, 1, 0
        while position < len(data) and (match := self._regexp.search(data, position)):
            start, end = match.span()
            if start == len(data) and data.endswith(b"\n"):  # an empty match after the last line
                return
            line += data.count(b"\n", counted, start)
            counted = start
            yield LineMatch(line, start, end)
            position = data.find(b"\n", end) + 1 or len(data)

    def spans(self, text: str) -> list[Span]:
        """Return the first matches in a line, without empty ones."""
        matches = islice(self._regexp.finditer(text.encode("utf-8", "replace").decode()), _MAX_SPANS)
        return [match.span() for match in matches if match.end() > match.start()]

    def is_in(self, text: str) -> bool:
        return self._regexp.search(text.encode("utf-8", "replace")) is not None

    def is_all_of(self, text: str) -> bool:
        return self._regexp.fullmatch(text.encode("utf-8", "replace")) is not None


def matches_in(lines: Iterable[str], first: int, patterns: Sequence[Pattern], most: int) -> list[Match]:
    """Return the first `most` lines that match a pattern; `first` is the number of the first line, or 0."""
    matching = (
        Match(first and first + offset, spans, _excerpt(line, spans))
        for offset, line in enumerate(lines)
        if any(pattern.is_in(line) for pattern in patterns)
        for spans in [merged_spans(span for pattern in patterns for span in pattern.spans(line))]
    )
    return list(islice(matching, most))


def merged_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return spans in order, overlapping ones joined."""
    merged = list[Span]()
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def _excerpt(line: str, spans: Sequence[Span]) -> str:
    """Return a line, or the part of a long one around its first match."""
    if len(line) <= _WIDTH:
        return line
    start = max(min(spans[0][0] if spans else 0, len(line) - _WIDTH + _BEFORE) - _BEFORE, 0)
    text = line[start : start + _WIDTH - 2]
    return f"{'…' if start else ''}{text}{'…' if start + len(text) < len(line) else ''}"


# Messages

_MAX_QUOTED = 80  # characters of an expression in a message
_PARENTHESES = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|([()])", re.DOTALL)  # outside escapes and classes


def _describe_error(part: Exact, error: Exception) -> str:
    """Return a message with the position of an error, from RE2's reason and the fragment it blames."""
    raw = error.args[0] if error.args else b""
    reason = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
    problem, _, fragment = reason.partition(": ")
    if problem in ("missing )", "unexpected )"):  # RE2 blames the whole
        place = f" at character {_unbalanced(part.text) + 1}"
    elif fragment:
        place = f" {fragment} at character {max(part.text.find(fragment), 0) + 1}"
    else:  # a trailing backslash, or too large
        place = " at its end" if problem.startswith("trailing") else ""
    written = str(part) if len(part.text) <= _MAX_QUOTED else f"{str(part)[:_MAX_QUOTED]}…"
    return (
        f"invalid regular expression {written}: {problem}{place}. Expressions are those of RE2, without look-around "
        'and backreferences; search for the text itself with "quotes".'
    )


def _unbalanced(expression: str) -> int:
    """Return the position of a parenthesis without its counterpart."""
    opened = list[int]()
    for match in _PARENTHESES.finditer(expression):
        if match[1] == "(":
            opened.append(match.start())
        elif match[1] and not opened:
            return match.start()
        elif match[1]:
            opened.pop()
    return opened[-1] if opened else 0
