"""Channels: independent ways from a task to candidates, each a list of item numbers, best first. Fusion joins them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import islice

from assay.retrieve import equivalence
from assay.retrieve.equivalence import EquivalenceClass
from assay.retrieve.fusion import Channel
from assay.retrieve.graph import Graph
from assay.retrieve.name_table import NameTable, table_of
from assay.retrieve.names_channel import names
from assay.retrieve.order import Floats, highest
from assay.retrieve.path_context import path_context
from assay.retrieve.places import places
from assay.retrieve.reading import Reading
from assay.store.index import Index

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
