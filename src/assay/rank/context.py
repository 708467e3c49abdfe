"""Inputs of signals: the opened index (`Resources`, `ItemArrays`), and one query with its evidence (`QueryContext`)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.core.items import TYPE_KINDS
from assay.core.packs import Learned
from assay.rank.arrays import Floats, Ints, highest, line, sum_by_index
from assay.rank.descriptions import FileDescriptions, ItemDescriptions
from assay.rank.graph import Graph
from assay.rank.profile import Profile
from assay.rank.query import ParsedTask
from assay.rank.ranking import Ranking
from assay.rank.signals.classes import EquivalenceClass
from assay.rank.signals.fusion import Channel
from assay.rank.signals.lexical import Lexical, TermWeights, name_rarity_of
from assay.rank.signals.signal import Signal, Stage
from assay.rank.signals.table import BY_STAGE
from assay.rank.symbols import NameTable, table_of
from assay.store.columns import KIND_NAMES
from assay.store.history import History
from assay.store.index import Index
from assay.store.item_words import ItemWords
from assay.store.sections import Sections

T = TypeVar("T")


class TextLengths(NamedTuple):
    """Text lengths, relative to their mean, by file number, by folder number, and by item with its members."""

    files: Floats
    folders: Floats
    families: Floats


class ItemArrays:
    """Query-independent arrays of an index under a profile, by item number.

    A signal whose values are the same for every query keeps them here as a cached property.
    """

    def __init__(self, index: Index, profile: Profile, graph: Callable[[], Graph]) -> None:
        self._index, self._profile, self._graph = index, profile, graph
        self.size: int = len(index.postings.lengths)  # of arrays by item number: numbers of deleted items are unused
        self.count: int = len(index.postings.numbers)

    @cached_property
    def files(self) -> Ints:
        """File number of each item."""
        return np.asarray(self._index.columns.file, np.int64)

    @cached_property
    def file_order(self) -> Ints:
        """Rank of each file number by path."""
        order = np.zeros(len(self.file_folders), np.int64)
        order[[self._index.files[path].number for path in sorted(self._index.files)]] = np.arange(
            len(self._index.files)
        )
        return order

    @cached_property
    def order(self) -> Ints:
        """Sort keys by path and place in the file, which break ties: item numbers depend on the index's past."""
        places = np.asarray(self._index.columns.ordinal, np.int64) + 1
        return np.asarray(self.file_order[self.files] * (int(places.max(initial=0)) + 1) + places)

    def highest(self, values: Floats, k: int) -> Ints:
        """Return the numbers of the `k` highest positive values, highest first, ties by path and place."""
        return highest(values, k, self.order)

    @cached_property
    def folders(self) -> Ints:
        """Folder number of each item."""
        return np.asarray(self.file_folders[self.files])

    @cached_property
    def file_folders(self) -> Ints:
        """Folder number of each file."""
        numbers: dict[str, int] = {}
        folders = np.zeros(int(self.files.max(initial=0)) + 1, np.int64)
        for path, row in self._index.files.items():
            folders[row.number] = numbers.setdefault(path.rpartition("/")[0], len(numbers))
        return folders

    @cached_property
    def paths(self) -> Mapping[int, str]:
        """Path of each file number."""
        return {row.number: path for path, row in self._index.files.items()}

    @cached_property
    def file_descriptions(self) -> FileDescriptions:
        """Description of each file number."""
        return FileDescriptions(self.paths)

    @cached_property
    def descriptions(self) -> ItemDescriptions:
        """Descriptions of item numbers."""
        return ItemDescriptions(self._index, self.file_descriptions)

    @cached_property
    def language_shares(self) -> Floats:
        """Share of all items that are in the language of each file."""
        codes: dict[str, int] = {}
        languages = np.zeros(len(self.file_folders), np.int64)
        for row in self._index.files.values():
            languages[row.number] = codes.setdefault(row.language, len(codes) + 1)
        counts = np.bincount(languages[self.files], minlength=len(codes) + 1)
        return np.asarray(counts[languages] / max(self.count, 1), np.float64)

    @cached_property
    def kinds(self) -> Floats:
        """Kind weight of each item; 0 for files, as only their symbols are retrieved."""
        weights = [
            self._profile.kind_weights.get(kind, 1.0) if kind not in ("", "file") else 0.0 for kind in KIND_NAMES
        ]
        return np.array(weights)[self._index.columns.kind]

    @cached_property
    def text_lengths(self) -> TextLengths:
        """Number of terms in each file, each folder, and each item with its members, relative to the mean."""
        lengths, parent = self._index.postings.lengths.sum(axis=1, dtype=np.float64), self._graph().parent
        files = sum_by_index(self.files, lengths, len(self.file_folders))
        folders = sum_by_index(self.folders, lengths, int(self.file_folders.max(initial=0)) + 1)
        families = lengths + sum_by_index(parent, lengths * (parent > 0), self.size)
        return TextLengths(*(_relative_to_mean(group_lengths) for group_lengths in (files, folders, families)))

    @cached_property
    def is_symbol(self) -> NDArray[np.bool_]:
        """Mask of the symbols: no files, no numbers of deleted items. The same for every profile."""
        return np.array([kind not in ("", "file") for kind in KIND_NAMES])[self._index.columns.kind]

    @cached_property
    def is_product_type(self) -> NDArray[np.bool_]:
        """Mask of the types that are no test code."""
        return (
            np.array([kind in TYPE_KINDS for kind in KIND_NAMES])[self._index.columns.kind] & ~self._index.columns.test
        )

    @cached_property
    def is_product_symbol(self) -> NDArray[np.bool_]:
        """Mask of the symbols that are no test code."""
        return self.is_symbol & ~self._index.columns.test

    @cached_property
    def not_retrieved(self) -> Ints:
        """Numbers that are never retrieved: files and numbers of deleted items."""
        return np.flatnonzero(self.kinds <= 0)

    @cached_property
    def tests(self) -> Floats:
        """Test weight of each item."""
        return np.where(self._index.columns.test, self._profile.test_weight, 1.0)

    @cached_property
    def name_rarity(self) -> Floats:
        """Summed rarity of the terms of each item's name; at least 1e-9, as it is a divisor."""
        return np.maximum(name_rarity_of(self._index.postings), 1e-9)

    def by_item(self, shares: Mapping[int, float]) -> Floats:
        """Expand sparse values to an array; 0 for the other items."""
        values = np.zeros(self.size)
        values[list(shares)] = list(shares.values())
        return values

    def by_symbol(self, shares: Mapping[int, float]) -> Floats:
        """Expand sparse values to an array; 0 for the other items and those never retrieved."""
        return self.by_item({number: share for number, share in shares.items() if self.kinds[number] > 0})

    def by_file(self, shares: Mapping[int, float]) -> Floats:
        """Expand sparse values of files to all their items."""
        files = np.zeros(len(self.file_folders))
        files[list(shares)] = list(shares.values())
        return np.asarray(files[self.files], dtype=np.float64)


def _relative_to_mean(lengths: Floats) -> Floats:
    """Return lengths relative to the mean of those that are not 0."""
    return np.asarray(lengths / max(lengths.sum() / max(np.count_nonzero(lengths), 1), 1e-9), np.float64)


class Resources:
    """The parts of an index that rankings read, opened on first use and shared by profiles that share evidence."""

    def __init__(self, index: Index, profile: Profile, classes: Sequence[EquivalenceClass]) -> None:
        self.index, self.classes = index, classes
        self._profile = profile
        self.items = ItemArrays(index, profile, lambda: self.graph)
        self.term_weights = TermWeights(index.postings, profile)
        self.item_words = ItemWords(index)

    def under(self, profile: Profile) -> Resources:
        """Return the same resources with the item weights of another profile."""
        if (profile.kind_weights, profile.test_weight) == (self._profile.kind_weights, self._profile.test_weight):
            return self
        _ = self.graph  # built here at the latest, so that all variants share it
        other = copy.copy(self)
        other._profile, other.items = profile, ItemArrays(self.index, profile, lambda: self.graph)
        return other

    @cached_property
    def graph(self) -> Graph:
        return Graph(
            self.index.edges,
            self.items.size,
            self._profile,
            [part.first for part in self.index.parts],
            self.items.order,
        )

    @cached_property
    def names(self) -> NameTable:
        return table_of(self.index)

    @cached_property
    def languages(self) -> set[str]:
        return {row.language for row in self.index.files.values()}

    @cached_property
    def history(self) -> History:
        return History.open(self.index)

    @cached_property
    def sections(self) -> Sections:
        return Sections.open(self.index)


@dataclass(frozen=True, slots=True)
class QueryContext:
    """One query under one profile. The cached evidence is valid for all profiles that share evidence."""

    profile: Profile
    resources: Resources
    task: ParsedTask
    lexical: Lexical
    learned: Learned
    _cache: dict[object, Any] = field(default_factory=dict)

    @property
    def index(self) -> Index:
        return self.resources.index

    @property
    def items(self) -> ItemArrays:
        return self.resources.items

    @property
    def graph(self) -> Graph:
        return self.resources.graph

    def cached(self, key: object, make: Callable[[], T]) -> T:
        """Return the cached value of that key; compute it on first use."""
        if key not in self._cache:
            self._cache[key] = make()
        value: T = self._cache[key]
        return value

    def evidence(self, signal: Signal) -> Any:
        """Return what a signal generates for this query."""
        assert signal.generate is not None, signal.name
        generate = signal.generate
        return self.cached(signal, lambda: generate(self))

    def hits(self, channel: str) -> Sequence[int]:
        """Return the ranked items of a channel; none if the profile has it switched off."""
        signal = BY_STAGE[Stage.CHANNEL][channel]
        hits: Sequence[int] = self.evidence(signal) if signal.is_on(self.profile) else ()
        return hits

    def apply(self, signal: Signal, ranking: Ranking) -> Any:
        """Return the values of a signal for its stage; None if it has nothing to contribute."""
        if signal.score is not None:
            return signal.score(self, ranking)
        weight = signal.weight(self.profile)
        if signal.stage is Stage.CHANNEL:
            return {signal.name: Channel(weight, self.evidence(signal))}
        return line(self.evidence(signal), weight, 1)
