"""The query files of TREC collections: SGML topics, tab-separated lines, and the .I/.W files of the SMART collections."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Iterator

from assay.evaluate.golden.judgements import Topic
from assay.evaluate.golden.problems import Unreadable

# Bounded, and without a search for the end at every beginning, so that no file takes quadratic time.
_OPENING = re.compile(r"<(top|topic)\b([^>]{0,200})>", re.IGNORECASE)
_CLOSING = {"top": re.compile("</top>", re.IGNORECASE), "topic": re.compile("</topic>", re.IGNORECASE)}
_HEAD = 4096  # characters that tell the kind of a file
_NUMBER = re.compile(r"""\bnumber\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
_PART = re.compile(r"<(num|title|query|desc|description)\b[^>]{0,200}>([^<]*)", re.IGNORECASE)
_LABEL = re.compile(r"\s*(Number|Topic|Description)\s*:\s*", re.IGNORECASE)
_RECORD = re.compile(r"^\.I\b", re.MULTILINE)
_SPACES = re.compile(r"\s+")


def is_sgml(head: str) -> bool:
    return head.lstrip().startswith("<") and bool(re.search(r"<(top|topic)\b", head, re.IGNORECASE))


def is_smart(head: str) -> bool:
    """Queries have a text right after their number; documents have a title there."""
    return bool(re.match(r"\s*\.I\b[^\n]*\n\.W", head))


def is_tabbed(head: str) -> bool:
    first = next((line for line in head.split("\n") if line.strip()), "")
    return first.count("\t") == 1 and all(part.strip() for part in first.split("\t"))


def topics(text: str) -> Iterator[Topic]:
    """The topics of a file, whatever its kind."""
    head = text[:_HEAD]
    return next(read for is_one, read in _KINDS if is_one(head))(text)


def is_topics(head: str) -> bool:
    return any(is_one(head) for is_one, _ in _KINDS)


def _sgml(text: str) -> Iterator[Topic]:
    """`<top> <num> Number: 301 <title> … <desc> Description: …`; the title is what is asked, else the description."""
    at, lines, closing = 0, _Lines(text), dict(_CLOSING)  # a kind that is not closed any more is left out
    while opening := _OPENING.search(text, at):
        kind = opening[1].lower()
        closed = closing[kind].search(text, opening.end()) if kind in closing else None
        if closed is None:
            at = opening.end()
            closing.pop(kind, None)
            continue
        at, line = closed.end(), lines.at(opening.start())
        parts = {name.lower()[:4]: _clean(value) for name, value in _PART.findall(text[opening.end() : closed.start()])}
        number = _NUMBER.search(opening[2])
        name = parts.get("num") or (number[1] if number else "")
        if not name:
            raise Unreadable(line, "a topic needs `<num>`")
        description = parts.get("desc", "")
        title = parts.get("titl") or parts.get("quer") or description
        yield Topic(name, title, line, notes=description if description != title else "")


def _clean(value: str) -> str:
    return _SPACES.sub(" ", html.unescape(_LABEL.sub("", value, count=1))).strip()


def _tabbed(text: str) -> Iterator[Topic]:
    for number, line in enumerate(io.StringIO(text, newline="\n"), 1):
        name, tab, asked = line.partition("\t")
        if line.strip() and not line.startswith("#"):
            if not tab or not name.strip():
                raise Unreadable(number, "a topic is an id, a tab and a text")
            yield Topic(name.strip(), asked.strip(), number)


def _smart(text: str) -> Iterator[Topic]:
    """Numbered by position: the judgements of Cranfield count its questions, their own numbers have gaps."""
    lines = _Lines(text)
    starts = [found.start() for found in _RECORD.finditer(text)]
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(text)], strict=True), 1):
        _, _, asked = text[start:end].partition("\n.W")
        yield Topic(str(number), _SPACES.sub(" ", asked).strip(), lines.at(start))


class _Lines:
    """Line numbers of places that are asked for in ascending order."""

    def __init__(self, text: str) -> None:
        self._text, self._place, self._line = text, 0, 1

    def at(self, place: int) -> int:
        self._line += self._text.count("\n", self._place, place)
        self._place = place
        return self._line


_KINDS: tuple[tuple[Callable[[str], bool], Callable[[str], Iterator[Topic]]], ...] = (
    (is_sgml, _sgml),
    (is_smart, _smart),
    (is_tabbed, _tabbed),
)
