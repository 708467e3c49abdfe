"""Postings of several indexes as one: document frequencies and average lengths are computed over all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from assay.store.postings import FIELDS, Array, Postings


class MultiPostings(Postings):
    """Concatenated postings, each with its item offset. Term positions are concatenated, too."""

    def __init__(self, parts: Sequence[tuple[Postings, int]], size: int) -> None:
        self._parts = parts
        self.lengths = np.zeros((size, len(FIELDS)), "<u2")
        for postings, first in parts:
            self.lengths[first : first + len(postings.lengths)] = postings.lengths

    def __len__(self) -> int:
        return sum(len(postings) for postings, _ in self._parts)

    def get(self, term: str) -> tuple[Array, Array]:
        results = [(postings.get(term), first) for postings, first in self._parts]
        items = np.concatenate([items + np.int64(first) for (items, _), first in results])
        return items, np.concatenate([counts for (_, counts), _ in results])

    def document_frequency(self, term: str) -> int:
        return sum(postings.document_frequency(term) for postings, _ in self._parts)

    @cached_property
    def frequencies(self) -> Array:
        """Document frequency over all indexes of each term, by position."""
        totals: Counter[bytes] = Counter()
        vocabularies = [postings.vocabulary() for postings, _ in self._parts]
        for vocabulary, (postings, _) in zip(vocabularies, self._parts, strict=True):
            totals.update(dict(zip(vocabulary, postings.frequencies.tolist(), strict=True)))
        terms = (totals[term] for vocabulary in vocabularies for term in vocabulary)
        return np.fromiter(terms, np.int64, len(self))

    def terms_like(self, prefix: str) -> list[str]:
        return sorted({term for postings, _ in self._parts for term in postings.terms_like(prefix)})

    def having(self, field: int) -> tuple[Array, Array]:
        terms, items, offset = [], [], 0
        for postings, first in self._parts:
            places, numbers = postings.having(field)
            terms.append(places + offset)
            items.append(numbers + np.int64(first))
            offset += len(postings)
        return np.concatenate(terms), np.concatenate(items)
