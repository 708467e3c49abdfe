"""Rank the passages of documents: BM25F over heading, path and text, blended with vector similarity.

Document frequencies count passages and definitions together, so that a word of the code is not rare in the documents.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Protocol

import numpy as np

from assay.languages.conventions import is_test_path
from assay.rank.arrays import Floats, Ints, highest, share_of_best
from assay.rank.signals.lexical import inverse_document_frequency
from assay.search.filters import Bools
from assay.search.hits import Scored
from assay.store.passages import FIELDS, Passages
from assay.store.postings import Postings

Word = tuple[str, ...]  # stems of a word and of its other forms and spellings, which count as one term


class PassageVectors(Protocol):
    """Vector index of the passages."""

    def near(self, query: str, count: int, besides: Ints, among: Ints | None) -> tuple[Ints, Floats]:
        """Return the `count` nearest passages (`among` some; None: all) and the passages `besides`, with their cosines."""

    def alike(self, passages: Ints) -> Floats:
        """Return the matrix of cosines between some passages."""


_TEXT = FIELDS.index("text")
_CANDIDATES_PER_RANKING = 200  # lexical and vector
_MIN_RELATIVE_COSINE = 0.5  # of candidates without a lexical match, relative to the nearest
_TEST_WEIGHT = 0.25  # of documents in folders of tests
_DUPLICATE_DEPTH = 50  # top candidates compared with each other
_DUPLICATE_COSINE, _DUPLICATE_WEIGHT = 0.95, 0.6  # similarity that makes a duplicate, and its score multiplier


@dataclass(frozen=True, slots=True)
class Weights:
    """Tuning parameters of the ranking of passages."""

    # fields of passages (heading, path, text): weights and length normalization (b)
    fields: tuple[float, ...] = (2.0, 0.5, 1.0)
    lengths: tuple[float, ...] = (0.5, 0.3, 0.75)
    saturation: float = 1.5
    vectors: float = 0.5  # share of the vector score in the blend


class PassageRanker:
    """The passages of an index, ready for any number of queries."""

    def __init__(self, passages: Passages, items: Postings, weights: Weights) -> None:
        self.passages, self._items, self.weights = passages, items, weights

    def ranked(
        self,
        query: str,
        words: Sequence[Word],
        k: int,
        allowed: Bools,
        vectors: PassageVectors | None,
        proposed: Ints | None = None,
    ) -> list[Scored]:
        """Return the best `k` passages for a query and those `proposed`, best first."""
        scores = np.where(allowed, self.scores(words), 0.0) * self._trust
        best = highest(scores, max(k, _CANDIDATES_PER_RANKING))
        extra = frozenset(proposed.tolist()) if proposed is not None else frozenset[int]()
        ranking = self._ranked(query, scores, best, allowed, vectors if words else None, extra)
        return [scored for rank, scored in enumerate(ranking) if rank < k or scored.number in extra]

    def _ranked(
        self,
        query: str,
        scores: Floats,
        best: Ints,
        allowed: Bools,
        vectors: PassageVectors | None,
        extra: Collection[int],
    ) -> list[Scored]:
        best = np.concatenate([best, np.array(sorted(set(extra) - set(best.tolist())), np.int64)])
        if vectors is None:
            return [Scored(int(number), float(scores[number]), float(scores[number])) for number in best]
        among = None if allowed.all() else np.flatnonzero(allowed)
        near = vectors.near(query, max(len(best), _CANDIDATES_PER_RANKING), best, among)
        return self._demote_duplicates(self._blend(scores, best, extra, *near), vectors)

    def idf(self, *forms: str) -> float:
        """Return the inverse document frequency of a word, in any of its forms, over passages and definitions."""
        return self._idf(self.frequency(forms))

    def _idf(self, frequency: int) -> float:
        return inverse_document_frequency(len(self.passages) + len(self._items.numbers), frequency)

    def frequency(self, forms: Word, definitions: bool = True) -> int:
        """Count the passages, and the definitions, that have a word in any of its forms."""
        return len(self._having(forms)[0]) + (self._count_items(forms) if definitions else 0)

    def _count_items(self, forms: Word) -> int:
        return len(reduce(np.union1d, (self._items.get(form)[0] for form in forms)))

    def scores(self, words: Sequence[Word]) -> Floats:
        """Return the BM25F score of every passage; the forms of a word count as one term."""
        weights = self.weights
        scores = np.zeros(len(self.passages))
        for word in words:
            with_word, counts = self._having(word)
            if len(with_word):
                frequency = (counts * np.array(weights.fields) / self._norms[with_word]).sum(axis=1)
                saturation = frequency * (weights.saturation + 1) / (weights.saturation + frequency)
                scores[with_word] += self._idf(len(with_word) + self._count_items(word)) * saturation
        return scores

    def coverage(self, numbers: Sequence[int], idf: Mapping[Word, float]) -> Floats:
        """Return the share of the words, by rarity, that the text of each of some passages has."""
        wanted, covered = np.array(numbers, np.int64), np.zeros(len(numbers))
        for word, weight in idf.items():
            rows, counts = self._having(word)
            if len(rows):
                places = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
                covered += weight * ((rows[places] == wanted) & (counts[places, _TEXT] > 0))
        return covered / (sum(idf.values()) or 1.0)

    def _having(self, forms: Word) -> tuple[Ints, Floats]:
        """Return the passages that have a word in any of its forms, and its counts by field."""
        if len(forms) == 1:
            return self.passages.having(forms[0])
        postings = [self.passages.having(form) for form in forms]
        rows = reduce(np.union1d, (rows for rows, _ in postings))
        counts = np.zeros((len(rows), len(self.weights.fields)))
        for form_rows, form_counts in postings:
            counts[np.searchsorted(rows, form_rows)] += form_counts
        return rows, counts

    @cached_property
    def _trust(self) -> Floats:
        """Weight of each passage: sample documents of tests count less, as test code does."""
        weights = np.array([_TEST_WEIGHT if is_test_path(path) else 1.0 for path in self.passages.paths])
        return weights[self.passages.documents] if len(weights) else np.zeros(0)

    @cached_property
    def _norms(self) -> Floats:
        lengths = self.passages.lengths.astype(np.float64)
        average = lengths.mean(axis=0) if len(lengths) else np.ones(lengths.shape[1])
        share = np.array(self.weights.lengths)
        return np.asarray(1 - share + share * lengths / np.maximum(average, 1e-9), dtype=np.float64)

    def _blend(self, scores: Floats, best: Ints, extra: Collection[int], rows: Ints, cosines: Floats) -> list[Scored]:
        """Blend lexical and vector scores, each relative to its best; `extra` stay without any."""
        similarities = self._scale_across_repositories(scores, rows, cosines) * self._trust[rows]
        close = (scores[rows] > 0) | (similarities >= _MIN_RELATIVE_COSINE * similarities.max(initial=0.0))
        rows, cosines, similarities = rows[close], cosines[close], similarities[close]
        numbers = np.union1d(best, rows)
        lexical = share_of_best(scores[numbers])
        semantic = lexical.copy()
        places = np.searchsorted(numbers, rows)
        semantic[places] = share_of_best(np.maximum(similarities, 0.0))
        weight = self.weights.vectors if len(rows) else 0.0
        blended = (1 - weight) * lexical + weight * semantic
        cosine = np.full(len(numbers), np.nan)
        cosine[places] = cosines
        return [
            Scored(int(numbers[place]), float(blended[place]), float(scores[numbers[place]]), float(cosine[place]))
            for place in np.argsort(-blended, kind="stable")
            if blended[place] > 0 or int(numbers[place]) in extra
        ]

    def _scale_across_repositories(self, scores: Floats, rows: Ints, cosines: Floats) -> Floats:
        """Scale cosines across repositories, whose vector spaces differ.

        Each is weighted by the best lexical score in its repository, relative to the best of all.
        """
        starts = self.passages.starts
        if len(starts) == 1:
            return cosines
        ends = [*starts[1:], len(self.passages)]
        best = np.array([scores[start:end].max(initial=0.0) for start, end in zip(starts, ends, strict=True)])
        owners = np.searchsorted(starts, rows, "right") - 1
        return cosines * share_of_best(best)[owners] if best.any() else cosines

    def _demote_duplicates(self, ranking: list[Scored], vectors: PassageVectors) -> list[Scored]:
        """Down-weight near-duplicates of better passages to leave room for others."""
        best = ranking[:_DUPLICATE_DEPTH]
        alike = vectors.alike(np.array([scored.number for scored in best], np.int64))
        copies = {
            scored.number for place, scored in enumerate(best) if (alike[place, :place] >= _DUPLICATE_COSINE).any()
        }
        reweighted = [
            scored._replace(score=scored.score * _DUPLICATE_WEIGHT) if scored.number in copies else scored
            for scored in ranking
        ]
        return sorted(reweighted, key=lambda scored: -scored.score)  # stable: ties keep their order
