"""Candidate channels: independent ranked lists of item numbers for a task, joined by reciprocal rank fusion."""

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
from assay.rank.query import ParsedTask
from assay.rank.ranking import Floats, highest
from assay.rank.signals import classes as equivalence
from assay.rank.signals.classes import EquivalenceClass
from assay.rank.signals.lexical import Lexical
from assay.rank.signals.names import names
from assay.rank.signals.places import path_context, places
from assay.store.index import Index

K = 60  # the usual constant of reciprocal rank fusion: agreement between channels outweighs the top ranks


@dataclass(frozen=True, slots=True)
class Channel:
    """A ranked list of item numbers, best first, with its weight."""

    weight: float
    items: Sequence[int]


@dataclass(frozen=True, slots=True)
class Share:
    """The contribution of one channel to an item; `rank` counts from 0."""

    channel: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Fused:
    """An item with its fused score and the shares that sum to it, largest first."""

    number: int
    score: float
    shares: tuple[Share, ...]


def fuse(channels: Mapping[str, Channel], limit: int | None = None) -> list[Fused]:
    """Fuse channels by reciprocal rank, best first, ties by number; a repeated item counts once, at its best rank."""
    shares: dict[int, list[Share]] = {}
    for name, rank, number, score in _contributions(channels):
        shares.setdefault(number, []).append(Share(name, rank, score))
    fused = [Fused(number, _total(item_shares), _ordered(item_shares)) for number, item_shares in shares.items()]
    return sorted(fused, key=lambda item: (-item.score, item.number))[:limit]


def totals(channels: Mapping[str, Channel]) -> dict[int, float]:
    """Return the fused scores only, by item number."""
    scores: dict[int, list[float]] = {}
    for _, _, number, score in _contributions(channels):
        scores.setdefault(number, []).append(score)
    return {number: math.fsum(contributions) for number, contributions in scores.items()}


def _contributions(channels: Mapping[str, Channel]) -> Iterator[tuple[str, int, int, float]]:
    """Yield (channel name, rank, item number, score) of every channel entry."""
    for name, channel in channels.items():
        if channel.weight > 0:
            for rank, number in enumerate(dict.fromkeys(channel.items)):
                yield name, rank, number, channel.weight / (K + rank + 1)


def _total(shares: Iterable[Share]) -> float:
    """Return the exact sum, independent of the channel order."""
    return math.fsum(share.score for share in shares)


def _ordered(shares: Iterable[Share]) -> tuple[Share, ...]:
    return tuple(sorted(shares, key=lambda share: (-share.score, share.channel)))


# Channels of an index

LEXICAL = 30  # BM25F results that enter the fusion
_ALIASED_HITS = 10  # name hits whose neighbours' words become phrases for them
_NEIGHBOURS = 20  # neighbours per name hit
_MAX_BEARERS = 5  # a name with more bearers points at none of them
_FEW_CANDIDATES = 5  # with fewer candidates, vectors are queried whatever their weight

Vectors = Callable[[str], Sequence[int]]  # task → item numbers by vector similarity


class Channels:
    """All channels of one index; their tables are built on first use."""

    def __init__(
        self, index: Index, graph: Callable[[], Graph], classes: Sequence[EquivalenceClass], vectors: Vectors | None
    ) -> None:
        self._index, self._graph, self._project_classes, self._vectors = index, graph, classes, vectors

    @cached_property
    def _table(self) -> NameTable:
        return table_of(self._index)

    @cached_property
    def _languages(self) -> set[str]:
        return {row.language for row in self._index.files.values()}

    def lists(self, reading: ParsedTask, lexical: Floats, weights: Mapping[str, float]) -> dict[str, Channel]:
        """Return the channels with a weight, each with its hits."""
        hits: dict[str, Sequence[int]] = {}
        if weights.get("names"):
            hits["names"] = self._names(reading)
        if weights.get("lexical"):
            hits["lexical"] = highest(lexical, LEXICAL).tolist()
        if weights.get("classes"):
            hits["classes"] = self._classes(reading, hits)
        channels = {name: Channel(weights[name], numbers) for name, numbers in hits.items()}
        if self._vectors is not None:
            candidates = {number for numbers in hits.values() for number in numbers}
            weight = weights.get("vectors", 0.0) or (len(candidates) < _FEW_CANDIDATES)
            channels["vectors"] = Channel(weight, self._vectors(reading.task) if weight else ())
        return channels

    def places(self, reading: ParsedTask) -> list[int]:
        """Return the items at the file locations the task names."""
        return [hit.number for hit in places(self._index, reading.keywords.pieces)]

    def certain(self, reading: ParsedTask) -> list[int]:
        """Return items the task calls by a rare name, and targets of surely matching project classes."""
        matched = (
            equivalence.matches(reading.task, self._project_classes, self._languages) if self._project_classes else []
        )
        sure = [match for match in matched if match.is_sure]
        numbers = [hit.number for hit in equivalence.resolve(self._table, sure, len(sure) * _MAX_BEARERS)]
        for name in reading.keywords.literal:
            bearers = [row.number for row in islice(self._table.exact(name), _MAX_BEARERS + 1)]
            numbers += bearers if len(bearers) <= _MAX_BEARERS else []
        return list(dict.fromkeys(numbers))

    def paths(self, reading: ParsedTask) -> list[int]:
        """Return types under the paths the task mentions."""
        return path_context(self._index, reading.task, reading.keywords)

    def called(self, reading: ParsedTask) -> list[int]:
        """Return items the task calls by their whole name, quoted or as an identifier."""
        return [row.number for keyword in reading.keywords.primary for row in self._table.exact(keyword)]

    def _names(self, reading: ParsedTask) -> list[int]:
        return [hit.number for hit in names(self._table, reading.keywords)]

    def _classes(self, reading: ParsedTask, primary: Mapping[str, Sequence[int]]) -> list[int]:
        """Return targets of matching classes: the project's, the curated ones, and aliases from the graph."""
        classes = (*self._project_classes, *equivalence.curated(), *self._aliases(primary.get("names", ())))
        matched = equivalence.matches(reading.task, classes, self._languages)
        primary_hits = len({number for numbers in primary.values() for number in numbers})
        return [hit.number for hit in equivalence.resolve(self._table, matched, primary_hits)]

    def _aliases(self, name_hits: Sequence[int]) -> list[EquivalenceClass]:
        linked = {
            number: self._graph().neighbours(number, "calls")[:_NEIGHBOURS].tolist()
            for number in name_hits[:_ALIASED_HITS]
        }
        names = self._index.names_of({*linked, *(neighbour for numbers in linked.values() for neighbour in numbers)})
        return equivalence.aliases(
            {
                names[number]: [names[neighbour] for neighbour in neighbours]
                for number, neighbours in linked.items()
                if neighbours
            }
        )


# Evidence: the unweighted matches of a task, shared by all profiles that read tasks alike.

T = TypeVar("T")

# profile settings that evidence depends on; profiles that agree in all of them may share it
READING = ("field_weights", "field_lengths", "saturation", "repeats", "later", "thesaurus", "channels", "edge_weights")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A parsed task with its lexical matches and channels; values only some profiles need are made on first use."""

    reading: ParsedTask
    lexical: Lexical
    channels: Mapping[str, Channel]
    _cache: dict[str, Any] = field(default_factory=dict)

    def cached(self, name: str, make: Callable[[], T]) -> T:
        """Return the cached value of that name; compute it on first use."""
        if name not in self._cache:
            self._cache[name] = make()
        value: T = self._cache[name]
        return value


def can_share_evidence(first: Profile, second: Profile) -> bool:
    """Return whether two profiles may share the evidence of a task."""
    return all(getattr(first, name) == getattr(second, name) for name in READING)
