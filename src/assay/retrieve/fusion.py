"""Weighted reciprocal rank fusion: many ranked lists become one, and every item can say which lists it came from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

K = 60  # the usual constant: the first ranks differ little, so agreement between channels decides


@dataclass(frozen=True, slots=True)
class Channel:
    """One ranked list of item numbers, best first, and how much it counts."""

    weight: float
    items: Sequence[int]


@dataclass(frozen=True, slots=True)
class Share:
    """What one channel gave an item; `rank` counts from 0."""

    channel: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Fused:
    """An item with its fused score and the shares it is the sum of, largest first."""

    number: int
    score: float
    shares: tuple[Share, ...]


def fuse(channels: Mapping[str, Channel], limit: int | None = None) -> list[Fused]:
    """The items of all channels, best first, ties by number. An item repeated in a channel counts once, at its best rank."""
    shares: dict[int, list[Share]] = {}
    for name, rank, number, score in _given(channels):
        shares.setdefault(number, []).append(Share(name, rank, score))
    fused = [Fused(number, _total(found), _ordered(found)) for number, found in shares.items()]
    return sorted(fused, key=lambda item: (-item.score, item.number))[:limit]


def totals(channels: Mapping[str, Channel]) -> dict[int, float]:
    """The fused scores alone."""
    scores: dict[int, list[float]] = {}
    for _, _, number, score in _given(channels):
        scores.setdefault(number, []).append(score)
    return {number: math.fsum(found) for number, found in scores.items()}


def _given(channels: Mapping[str, Channel]) -> Iterator[tuple[str, int, int, float]]:
    """What every channel gives: its name, a rank, the item there, and the score."""
    for name, channel in channels.items():
        if channel.weight > 0:
            for rank, number in enumerate(dict.fromkeys(channel.items)):
                yield name, rank, number, channel.weight / (K + rank + 1)


def _total(shares: Iterable[Share]) -> float:
    """The exact sum, so that the order of the channels cannot change it."""
    return math.fsum(share.score for share in shares)


def _ordered(shares: Iterable[Share]) -> tuple[Share, ...]:
    return tuple(sorted(shares, key=lambda share: (-share.score, share.channel)))
