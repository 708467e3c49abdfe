"""Dividing a text into pieces of limited size at the best places: what belongs together stays together as long as it fits."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from assay.text import tokens
from assay.text.chunk.text import Span, Text

Cuts = Sequence[int]  # lines before which a text may be cut, in order
_LITTLE = 0.1  # of an even share


class _Piece(NamedTuple):
    start: int
    end: int
    cost: int


def divided(text: Text, hard: Iterable[int], levels: Sequence[Cuts], limit: int) -> list[Span]:
    """Spans of at most `limit` tokens that cover the text. It is cut at every hard place; at places of a level only where those before it do not
    suffice; inside a line as a last resort. Neighbours that fit together become one."""
    borders = sorted({0, *hard, len(text.lines)})
    return [
        (piece.start, piece.end)
        for low, high in pairwise(borders)
        for piece in _divide(text, low, high, [*levels, range(len(text.lines))], limit)
    ]


def _divide(text: Text, low: int, high: int, levels: Sequence[Cuts], limit: int) -> list[_Piece]:
    whole = _Piece(text.starts[low], text.starts[high], text.costs[high] - text.costs[low])
    if whole.cost <= limit:
        return [whole]
    if high - low == 1:
        return list(_windows(text.whole, whole.start, whole.end, limit))
    cuts = levels[0][bisect_right(levels[0], low) : bisect_left(levels[0], high)]
    parts = pairwise([low, *cuts, high])
    pieces = [piece for part in parts for piece in _divide(text, *part, levels[1:] or levels, limit)]
    return _joined(pieces, limit, whole.cost / ceil(whole.cost / limit))


def _joined(pieces: Iterable[_Piece], limit: int, even: float) -> list[_Piece]:
    """Neighbours as one, as near as can be to an even share of the whole, so that little is left over at the end; what is little joins if it fits."""
    out: list[_Piece] = []
    for piece in pieces:
        wanted = out and (out[-1].cost + piece.cost / 2 <= even or piece.cost < even * _LITTLE)
        if wanted and out[-1].cost + piece.cost <= limit:
            out[-1] = _Piece(out[-1].start, piece.end, out[-1].cost + piece.cost)
        else:
            out.append(piece)
    return out


def _windows(whole: str, start: int, end: int, limit: int) -> Iterator[_Piece]:
    """A line in pieces of as many tokens as fit."""
    return (_Piece(first, last, cost) for first, last, cost in windows(whole[start:end], limit, 0, start))


def windows(text: str, limit: int, overlap: int, offset: int = 0) -> Iterator[tuple[int, int, int]]:
    """Windows of as many tokens as fit, each with the last `overlap` tokens of the one before; start, end and cost."""
    places, costs = [0], [0]
    for end, cost in tokens.ends(text):
        places.append(end)
        costs.append(costs[-1] + cost)
    first = 0
    while first < len(places) - 1:
        last = bisect_right(costs, costs[first] + limit) - 1
        yield offset + places[first], offset + places[last], costs[last] - costs[first]
        if last == len(places) - 1:
            return
        first = max(bisect_left(costs, costs[last] - overlap), first + 1)
