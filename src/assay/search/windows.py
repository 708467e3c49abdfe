"""Windows: the text that a hit shows, its passage with the neighbours of the section while they fit into one chunk.

Short passages rank best: a section about one thing has the words of a question about it. A reader, and a model, want what
stands around them as well, so hits are widened after the ranking. A passage belongs to one window only: hits never repeat
each other's text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from assay.core.items import Passage
from assay.search.hits import SearchHit
from assay.store.passages import Passages
from assay.text import tokens

_MAX_GAP = 10  # lines from a passage to the next; many blank lines would only be shown as such


def widen(hits: Sequence[SearchHit], numbers: Mapping[str, int], passages: Passages, limit: int) -> list[SearchHit]:
    """Return hits with the text around their passages, at most `limit` tokens each; `numbers` are of passages, by id.

    Better hits come first and grow first. Other hits stay as they are.
    """
    taken = {numbers[hit.id] for hit in hits if hit.id in numbers}
    out = []
    for hit in hits:
        if hit.id in numbers:
            parts = window(numbers[hit.id], passages, limit, taken)
            taken.update(part.number for part in parts)
            if len(parts) > 1:  # place and headings stay those of the passage that matched
                hit = replace(hit, start=parts[0].first, end=parts[-1].last, text=joined_text(parts), passage=hit.text)
        out.append(hit)
    return out


def window(number: int, passages: Passages, limit: int, taken: Collection[int] = ()) -> list[Passage]:
    """Return the passages of a window: neighbours that are not `taken` join in turn, those below first, while they fit."""
    anchor = passages[number]
    first = last = anchor
    room = limit - tokens.count(anchor.text)
    while room > 0:
        size = last.number - first.number
        for outer in (last.number + 1, first.number - 1):
            if outer in taken or not 0 <= outer < len(passages):
                continue
            neighbour = passages[outer]
            above, below = (last, neighbour) if outer > last.number else (neighbour, first)
            cost = tokens.count(neighbour.text)
            joins = 0 < below.first - above.last <= _MAX_GAP  # not so: parts of one line, overlapping chunks
            if cost <= room and joins and _belongs(neighbour, anchor):
                room -= cost
                first, last = (first, neighbour) if outer > last.number else (neighbour, last)
        if last.number - first.number == size:
            break
    return [passages[part] for part in range(first.number, last.number + 1)]


def joined_text(parts: Sequence[Passage]) -> str:
    """Return the text of neighbouring passages, with the blank lines between them."""
    text = parts[0].text
    for above, below in pairwise(parts):
        text += "\n" * (below.first - above.last) + below.text
    return text


def _belongs(passage: Passage, anchor: Passage) -> bool:
    """Return whether a passage stands in the same section as another, or in the one below or beside it."""
    depth = max(len(anchor.headings) - 1, 0)

    def section(part: Passage) -> tuple[object, ...]:
        return part.repository, part.path, part.page, part.headings[:depth]

    return section(passage) == section(anchor)
