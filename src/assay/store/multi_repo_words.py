"""The words of several indexes: how rare one is, and how long a text is on average, is counted over all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from assay.store.postings import FIELDS, Array, Postings


class PostingsOfAll(Postings):
    """Postings, each with the number its items begin from. Terms have a place in each of them, one after the other."""

    def __init__(self, parts: Sequence[tuple[Postings, int]], size: int) -> None:
        self._parts = parts
        self.lengths = np.zeros((size, len(FIELDS)), "<u2")
        for words, first in parts:
            self.lengths[first : first + len(words.lengths)] = words.lengths

    def __len__(self) -> int:
        return sum(len(words) for words, _ in self._parts)

    def get(self, term: str) -> tuple[Array, Array]:
        found = [(words.get(term), first) for words, first in self._parts]
        items = np.concatenate([items + np.int64(first) for (items, _), first in found])
        return items, np.concatenate([counts for (_, counts), _ in found])

    def document_frequency(self, term: str) -> int:
        return sum(words.document_frequency(term) for words, _ in self._parts)

    @cached_property
    def frequencies(self) -> Array:
        """How many items of all have each term, by its place."""
        counted: Counter[bytes] = Counter()
        vocabularies = [words.vocabulary() for words, _ in self._parts]
        for vocabulary, (words, _) in zip(vocabularies, self._parts, strict=True):
            counted.update(dict(zip(vocabulary, words.frequencies.tolist(), strict=True)))
        terms = (counted[term] for vocabulary in vocabularies for term in vocabulary)
        return np.fromiter(terms, np.int64, len(self))

    def terms_like(self, prefix: str) -> list[str]:
        return sorted({term for words, _ in self._parts for term in words.terms_like(prefix)})

    def having(self, field: int) -> tuple[Array, Array]:
        terms, items, before = [], [], 0
        for words, first in self._parts:
            places, numbers = words.having(field)
            terms.append(places + before)
            items.append(numbers + np.int64(first))
            before += len(words)
        return np.concatenate(terms), np.concatenate(items)
