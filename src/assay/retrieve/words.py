"""The words of an index in memory, made from the texts of its catalogue."""

from __future__ import annotations

from array import array
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from assay.retrieve.profile import FIELDS
from assay.store.index import Index
from assay.text.terms import terms

_ROWS = (
    "SELECT s.number, s.name, s.symbol, f.path, coalesce(t.signature, ''), coalesce(t.doc, ''), coalesce(t.identifiers, ''), "
    "coalesce(t.literals, '') "
    "FROM symbols s JOIN files f ON f.number = s.file LEFT JOIN texts t ON t.number = s.number WHERE s.ordinal >= 0 ORDER BY s.number"
)
_MOST = 255  # a count above says no more


class IndexedWords:
    """For each term the items that have it and how often each field does."""

    def __init__(self, index: Index) -> None:
        connection = index.catalogue.connection
        size = connection.execute("SELECT coalesce(max(number), 0) + 1 FROM symbols").fetchone()[0]
        self.lengths: NDArray[np.float32] = np.zeros((size, len(FIELDS)), np.float32)
        self.name_terms: dict[int, list[str]] = {}
        self.count = 0
        postings: dict[str, array[int]] = {}
        for number, name, symbol, path, *texts in connection.execute(_ROWS):
            self.count += 1
            counts = [Counter(terms(text)) for text in (name, symbol.removesuffix(name), path, *texts)]
            self.lengths[number] = [counted.total() for counted in counts]
            self.name_terms[number] = list(counts[0])
            for term in set().union(*counts):
                flat = postings.setdefault(term, array("i"))
                flat.append(number)
                flat.extend(min(counted[term], _MOST) for counted in counts)
        self._postings = {
            term: np.frombuffer(flat, np.int32).reshape(-1, 1 + len(FIELDS)) for term, flat in postings.items()
        }

    def get(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.uint8]] | None:
        found = self._postings.get(term)
        return None if found is None else (found[:, 0], found[:, 1:].astype(np.uint8))
