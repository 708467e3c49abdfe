"""Where the sentences of a text begin and end."""

from __future__ import annotations

import re
from collections.abc import Iterator

_END = re.compile(
    r"[.!?][\"'”’)\]*_`]*(?=\s+(?:[\"'“‘(\[*_:]*[^\W_a-z]|[*`])|\s*$)"
)  # the next begins with a capital, a digit or markup
_SHORT = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|fig|no|nr|mr|mrs|dr|st|al|[A-Za-z])\.$", re.IGNORECASE)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """The spans of a paragraph's sentences, without the blanks between them. Abbreviations end none."""
    start = 0
    for found in _END.finditer(text):
        end = found.end()
        if _SHORT.search(text, start, found.start() + 1) and end < len(text.rstrip()):
            continue
        yield from _trimmed(text, start, end)
        start = end
    yield from _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    said = text[start:end]
    if said.strip():
        yield start + len(said) - len(said.lstrip()), start + len(said.rstrip())
