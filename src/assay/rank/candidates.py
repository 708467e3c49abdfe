"""Channels: independent ways from a task to candidates, each a list of item numbers, best first. Fusion joins them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

from assay.rank.graph import Graph
from assay.rank.name_table import NameTable, table_of
from assay.rank.profile import Profile
from assay.rank.query import Reading
from assay.rank.ranking import Floats, highest
from assay.rank.signals import classes as equivalence
from assay.rank.signals.classes import EquivalenceClass
from assay.rank.signals.lexical import Lexical
from assay.rank.signals.names import names
from assay.rank.signals.places import path_context, places
from assay.store.index import Index

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


# Channels: independent ways from a task to candidates, each a list of item numbers, best first. Fusion joins them.

LEXICAL = 30  # results of BM25F that compete with the other channels
_ALIASED = 10  # of the names found: their neighbours' words become phrases for them
_NEIGHBOURS = 20  # of each
_BEARERS = 5  # a name that more have points at none of them
_GAP = 5  # candidates; with fewer, vectors are asked whatever their weight

Vectors = Callable[[str], Sequence[int]]  # from a task to the items nearest in meaning


class Channels:
    """All channels of one index. What a channel needs is made when it is first asked."""

    def __init__(
        self, index: Index, graph: Callable[[], Graph], classes: Sequence[EquivalenceClass], vectors: Vectors | None
    ) -> None:
        self._index, self._graph, self._own, self._vectors = index, graph, classes, vectors

    @cached_property
    def _table(self) -> NameTable:
        return table_of(self._index)

    @cached_property
    def _languages(self) -> set[str]:
        return {row.language for row in self._index.files.values()}

    def lists(self, reading: Reading, lexical: Floats, weights: Mapping[str, float]) -> dict[str, Channel]:
        """The channels that have a weight, each with what it found."""
        found: dict[str, Sequence[int]] = {}
        if weights.get("names"):
            found["names"] = self._names(reading)
        if weights.get("lexical"):
            found["lexical"] = highest(lexical, LEXICAL).tolist()
        if weights.get("classes"):
            found["classes"] = self._classes(reading, found)
        channels = {name: Channel(weights[name], numbers) for name, numbers in found.items()}
        if self._vectors is not None:
            candidates = {number for numbers in found.values() for number in numbers}
            weight = weights.get("vectors", 0.0) or (len(candidates) < _GAP)
            channels["vectors"] = Channel(weight, self._vectors(reading.task) if weight else ())
        return channels

    def places(self, reading: Reading) -> list[int]:
        """What stands at the places in files that the task names."""
        return [hit.number for hit in places(self._index, reading.keywords.pieces)]

    def certain(self, reading: Reading) -> list[int]:
        """What the task calls by a name that few have, and the targets of the project's own classes that surely match."""
        matched = equivalence.matches(reading.task, self._own, self._languages) if self._own else []
        sure = [match for match in matched if match.is_sure]
        found = [hit.number for hit in equivalence.resolve(self._table, sure, len(sure) * _BEARERS)]
        for name in reading.keywords.literal:
            bearers = [row.number for row in islice(self._table.exact(name), _BEARERS + 1)]
            found += bearers if len(bearers) <= _BEARERS else []
        return list(dict.fromkeys(found))

    def paths(self, reading: Reading) -> list[int]:
        """Types under the paths that the task speaks of."""
        return path_context(self._index, reading.task, reading.keywords)

    def called(self, reading: Reading) -> list[int]:
        """What the task calls by its whole name, in quotes or as an identifier."""
        return [row.number for keyword in reading.keywords.primary for row in self._table.exact(keyword)]

    def _names(self, reading: Reading) -> list[int]:
        return [hit.number for hit in names(self._table, reading.keywords)]

    def _classes(self, reading: Reading, primary: Mapping[str, Sequence[int]]) -> list[int]:
        """The targets of the classes that match: the project's own, the curated ones, and those made from the graph around the names found."""
        classes = (*self._own, *equivalence.curated(), *self._aliases(primary.get("names", ())))
        found = equivalence.matches(reading.task, classes, self._languages)
        competing = len({number for numbers in primary.values() for number in numbers})
        return [hit.number for hit in equivalence.resolve(self._table, found, competing)]

    def _aliases(self, named: Sequence[int]) -> list[EquivalenceClass]:
        around = {
            number: self._graph().neighbours(number, "calls")[:_NEIGHBOURS].tolist() for number in named[:_ALIASED]
        }
        names = self._index.names_of({*around, *(one for numbers in around.values() for one in numbers)})
        return equivalence.aliases(
            {names[number]: [names[one] for one in others] for number, others in around.items() if others}
        )


# What an index says about a task before anything is weighed: made once, however many profiles weigh it.

T = TypeVar("T")

# what evidence depends on of a profile; profiles that agree in all of it may share the evidence
READING = ("field_weights", "field_lengths", "saturation", "repeats", "later", "thesaurus", "channels", "edge_weights")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A task read, its words found, its channels listed. What only some profiles ask for is made when the first of them does."""

    reading: Reading
    lexical: Lexical
    channels: Mapping[str, Channel]
    _known: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What goes by that name, made if nobody has asked for it before."""
        if name not in self._known:
            self._known[name] = make()
        known: T = self._known[name]
        return known


def read_alike(first: Profile, second: Profile) -> bool:
    """Whether two profiles may share the evidence of a task."""
    return all(getattr(first, name) == getattr(second, name) for name in READING)
