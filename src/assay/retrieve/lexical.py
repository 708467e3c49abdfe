"""Ranking symbols by the words of a task: BM25 over names, paths, signatures, comments and body identifiers.

The plain base line of retrieval: what the engine of `assay context` must beat, and what `eval` measures until it exists.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from assay.core.items import Item
from assay.store.index import Index
from assay.text.identifiers import words

_K1, _B = 1.2, 0.75  # the usual saturation and length normalisation
_NAME_WEIGHT = 3  # a word of the name counts as often as this many in the text
_TEST_WEIGHT = 0.3  # tests use the words of everything they test
_WORD = re.compile(r"\w+")
_STOP = frozenset(
    _WORD.findall(
        "a an and are as at be by can do does for from has how i if in into is it its not of on or that the this to we what when where which "
        "with you"
    )
)

_ROWS = (
    "SELECT s.number, s.name, s.symbol, f.path, s.test, coalesce(t.signature, ''), coalesce(t.doc, ''), coalesce(t.identifiers, '') "
    "FROM symbols s JOIN files f ON f.number = s.file LEFT JOIN texts t ON t.number = s.number WHERE s.ordinal >= 0 ORDER BY s.id"
)


class Lexicon:
    """The words of every symbol of an index, ready to be searched."""

    def __init__(self, index: Index) -> None:
        self.index = index
        numbers: list[int] = []
        lengths: list[int] = []
        tests: list[int] = []
        postings: dict[str, list[tuple[int, int]]] = {}
        for row, (number, name, symbol, path, test, *texts) in enumerate(index.catalogue.connection.execute(_ROWS)):
            counts = Counter(_terms(" ".join([symbol, path, *texts])))
            for word in _terms(name):
                counts[word] += _NAME_WEIGHT
            for word, count in counts.items():
                postings.setdefault(word, []).append((row, count))
            numbers.append(number)
            lengths.append(counts.total())
            tests.append(test)
        self._numbers = numbers
        self._weight = np.where(np.array(tests, dtype=bool), _TEST_WEIGHT, 1.0)
        self._norm = _K1 * (1 - _B + _B * np.array(lengths) / (np.mean(lengths) if lengths else 1.0))
        self._postings: dict[str, NDArray[np.int64]] = {word: np.array(rows) for word, rows in postings.items()}

    def search(self, text: str, k: int) -> list[tuple[Item, float]]:
        """The best `k` symbols for a text, best first; ties by id."""
        total = len(self._numbers)
        scores = np.zeros(total)
        for word in set(_terms(text)):
            found = self._postings.get(word)
            if found is None:
                continue
            rows, counts = found[:, 0], found[:, 1]
            rarity = np.log1p((total - len(rows) + 0.5) / (len(rows) + 0.5))
            scores[rows] += rarity * counts * (_K1 + 1) / (counts + self._norm[rows])
        scores *= self._weight
        order = np.argsort(-scores, kind="stable")[:k]
        return [(self.index.item(self._numbers[row]), float(scores[row])) for row in order.tolist() if scores[row] > 0]


def _terms(text: str) -> list[str]:
    return [_stem(word) for piece in _WORD.findall(text) for word in words(piece) if word not in _STOP]


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    """Plural and the commonest endings off: enough for `resolves` to meet `resolve`."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)]
    return word
