"""Query-independent arrays of an index: file, folder, kind weight, test weight and name rarity of each item."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from assay.rank.arrays import Floats, Ints
from assay.rank.profile import Profile
from assay.rank.signals.lexical import name_rarity_of
from assay.store.columns import KIND_NAMES
from assay.store.index import Index


class ItemArrays:
    """Query-independent arrays of an index under a profile, by item number."""

    def __init__(self, index: Index, profile: Profile) -> None:
        self._index, self._profile = index, profile
        self.size: int = len(index.postings.lengths)

    @cached_property
    def files(self) -> Ints:
        """File number of each item."""
        return np.asarray(self._index.columns.file, np.int64)

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
    def kinds(self) -> Floats:
        """Kind weight of each item; 0 for files, as only their symbols are retrieved."""
        weights = [
            self._profile.kind_weights.get(kind, 1.0) if kind not in ("", "file") else 0.0 for kind in KIND_NAMES
        ]
        return np.array(weights)[self._index.columns.kind]

    @cached_property
    def not_retrieved(self) -> Ints:
        """Numbers that are never retrieved: files and unused numbers."""
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
