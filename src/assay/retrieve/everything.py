"""What is known of every item, whatever is asked: arrays by item number."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from assay.retrieve.lexical import name_rarity_of
from assay.retrieve.order import Floats, Ints
from assay.retrieve.profile import Profile
from assay.store.columns import KIND_NAMES
from assay.store.index import Index


class Everything:
    """The columns of an index as the ranking weighs them."""

    def __init__(self, index: Index, profile: Profile) -> None:
        self._index, self._profile = index, profile
        self.size = len(index.postings.lengths)

    @cached_property
    def files(self) -> Ints:
        """The number of the file each item is in."""
        return np.asarray(self._index.columns.file, np.int64)

    @cached_property
    def folders(self) -> Ints:
        """A number for the folder each item is in."""
        return np.asarray(self.file_folders[self.files])

    @cached_property
    def file_folders(self) -> Ints:
        """The same by number of the file. There are no more folders than that."""
        known: dict[str, int] = {}
        folders = np.zeros(int(self.files.max(initial=0)) + 1, np.int64)
        for path, row in self._index.files.items():
            folders[row.number] = known.setdefault(path.rpartition("/")[0], len(known))
        return folders

    @cached_property
    def kinds(self) -> Floats:
        """The weight of each item's kind. Files are not retrieved themselves: their symbols are."""
        weights = [
            self._profile.kind_weights.get(kind, 1.0) if kind not in ("", "file") else 0.0 for kind in KIND_NAMES
        ]
        return np.array(weights)[self._index.columns.kind]

    @cached_property
    def no_symbols(self) -> Ints:
        """What is never retrieved: files, and numbers that no item has."""
        return np.flatnonzero(self.kinds <= 0)

    @cached_property
    def tests(self) -> Floats:
        """The weight of what belongs to tests."""
        return np.where(self._index.columns.test, self._profile.test_weight, 1.0)

    @cached_property
    def name_rarity(self) -> Floats:
        """How rare the words of each item's name are, added up; hardly anything where it has none, to divide by."""
        return np.maximum(name_rarity_of(self._index.postings), 1e-9)

    def by_item(self, shares: Mapping[int, float]) -> Floats:
        """Values of some items, 0 for the others."""
        values = np.zeros(self.size)
        values[list(shares)] = list(shares.values())
        return values

    def by_symbol(self, shares: Mapping[int, float]) -> Floats:
        """Values of some items, 0 for the others and for what is never retrieved."""
        return self.by_item({number: share for number, share in shares.items() if self.kinds[number] > 0})

    def by_file(self, shares: Mapping[int, float]) -> Floats:
        """Values of files, given to all that is in them."""
        files = np.zeros(len(self.file_folders))
        files[list(shares)] = list(shares.values())
        return np.asarray(files[self.files], dtype=np.float64)
