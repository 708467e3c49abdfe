"""Plain BM25 over the words of an index: the baseline that a retriever has to beat.

    cd REPOSITORY && PYTHONPATH=…/benchmarks assay eval run --golden FILE --system python:bm25:Symbols
    cd REPOSITORY && PYTHONPATH=…/benchmarks assay eval run --golden FILE --system python:bm25:Files --matching file

It sees the very words that the engine sees, stemmed alike, the task without the same stop words. But they lie in one bag: a word in a name counts as
much as one in a body, tests as much as what they test, and nobody knows who calls whom. `Symbols` ranks definitions, `Files` whole files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.core.golden import Hit, Response
from assay.rank.query import query_terms
from assay.store.index import Index
from assay.store.layout import Home
from assay.store.postings import PATH

K1, B = 1.2, 0.75  # the usual ones
REPEATS = 2  # how often a word of the task counts at most, as in the engine
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Bags:
    """Bags of words, one for each document; documents are numbers, and those without words are none."""

    def __init__(self, vocabulary: list[str], terms: Ints, documents: Ints, counts: Ints) -> None:
        order = np.argsort(terms, kind="stable")
        self._places = {term: place for place, term in enumerate(vocabulary)}
        self._starts = np.searchsorted(terms[order], np.arange(len(vocabulary) + 1))
        self._documents, self._counts = documents[order], counts[order]
        lengths = np.bincount(documents, weights=counts, minlength=1)
        self._total = int(np.count_nonzero(lengths))
        self._norms = K1 * (1 - B + B * lengths / max(lengths.sum() / max(self._total, 1), 1e-9))

    def scores(self, query: Mapping[str, float]) -> Floats:
        """The BM25 score of every document for words and how often each counts."""
        scores = np.zeros(len(self._norms))
        for term, times in query.items():
            place = self._places.get(term)
            if place is None:
                continue
            rows = slice(self._starts[place], self._starts[place + 1])
            documents, counts = self._documents[rows], self._counts[rows]
            rarity = math.log(1 + (self._total - len(counts) + 0.5) / (len(counts) + 0.5))
            scores[documents] += times * rarity * counts * (K1 + 1) / (counts + self._norms[documents])
        return scores


class Symbols:
    """Definitions, each a bag of all words of its name, place, signature, documentation and body."""

    def __init__(self, root: Path | None = None) -> None:
        root = root or Path.cwd()
        self._index = Index.open(root, Home.of(root))
        self._hits, self._bags = self._read(self._index)

    def _read(self, index: Index) -> tuple[dict[int, Hit], Bags]:
        hits = {one.number: _hit(one.path, one.symbol) for one in index.items("s.ordinal >= 0")}
        words = index.generation.postings.words()
        is_symbol = np.zeros(len(index.postings.lengths), bool)
        is_symbol[list(hits)] = True
        rows = np.flatnonzero(is_symbol[words.items])
        counts = words.counts[rows].sum(axis=1, dtype=np.int64)
        return hits, Bags(words.vocabulary, words.terms[rows], words.items[rows].astype(np.int64), counts)

    def retrieve(self, text: str, k: int) -> Response:
        scores = self._bags.scores(query_terms(text, REPEATS))
        best = np.argsort(-scores, kind="stable")[:k]
        return Response(tuple(self._hits[number] for number in best.tolist() if scores[number] > 0))

    def close(self) -> None:
        self._index.close()


class Files(Symbols):
    """Files, each a bag of the words of all that it defines; those of its path once, however much it defines."""

    def _read(self, index: Index) -> tuple[dict[int, Hit], Bags]:
        hits = {row.number: _hit(path) for path, row in index.files.items()}
        files = np.zeros(len(index.postings.lengths), np.int64)
        for number, file in index.catalogue.connection.execute("SELECT number, file FROM symbols"):
            files[number] = file
        words = index.generation.postings.words()
        own = words.counts.sum(axis=1, dtype=np.int64) - words.counts[:, PATH]
        pairs, rows = np.unique(words.terms.astype(np.int64) << 32 | files[words.items], return_inverse=True)
        counts = np.bincount(rows, weights=own).astype(np.int64)
        in_path = np.zeros(len(pairs), np.int64)
        np.maximum.at(in_path, rows, words.counts[:, PATH])
        return hits, Bags(words.vocabulary, pairs >> 32, pairs & 0xFFFFFFFF, counts + in_path)


def _hit(path: str, symbol: str = "") -> Hit:
    return Hit(f"{path}::{symbol}" if symbol else path, symbol, path, path)
