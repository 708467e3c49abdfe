"""Searching: passages of documents and definitions of code in one ranked list. `Search.ranked` reads top to bottom as the algorithm.

Both are scored with BM25F, each over its own fields, with one rarity of words over all of them: so their scores can be compared. Passages near in
meaning join them, by vectors; a reranker has the last word. Candidates share one numbering: passages first, then the items of the index behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from assay.retrieve.filters import Filters, admitted
from assay.retrieve.found import Found, Reader, Scored
from assay.retrieve.lexical import Norms, rarity_of, saturated
from assay.retrieve.order import Floats, Ints, highest, share_of_best
from assay.retrieve.profile import Profile
from assay.retrieve.question import question_terms
from assay.store.columns import KIND_NAMES
from assay.store.index import Index
from assay.store.passages import Passages
from assay.text.counting import counted
from assay.text.limits import LONGEST_QUERY

Bools = NDArray[np.bool_]


class Meaning(Protocol):
    """The passages as vectors."""

    def near(self, query: str, count: int, besides: Ints, among: Ints | None) -> tuple[Ints, Floats]:
        """The `count` passages nearest to a query (`among` some, None: all) and others `besides`, with their cosines."""

    def alike(self, passages: Ints) -> Floats:
        """The cosines of some passages with each other."""


Rerank = Callable[[str, Sequence[Found]], Sequence[Found]]

_CANDIDATES = 200  # of each ranking that are blended
_RERANKED = 50  # that a reranker reads, or as many as are wanted
_NEAR_ENOUGH = 0.5  # what no word found must be so near, as a share of the nearest
_COMPARED = 50  # of the best that are compared with each other
_SAME, _SAME_WEIGHT = 0.95, 0.6  # so near, a passage says what a better one said; what it then counts


@dataclass(frozen=True, slots=True)
class Weights:
    """The numbers of the lexical ranking."""

    # heading, path, text of passages: the weight of a field, and how much its length counts
    fields: tuple[float, ...] = (2.0, 0.5, 1.0)
    lengths: tuple[float, ...] = (0.5, 0.3, 0.75)
    saturation: float = 1.5
    code: float = 1.1  # what a definition counts, a passage being 1
    vectors: float = 0.5  # what nearness in meaning counts, all being 1


class Search:
    """An index and passages, ready to be searched again and again."""

    def __init__(self, index: Index, passages: Passages, weights: Weights = Weights()) -> None:  # noqa: B008 (frozen)
        self.index, self.passages, self.weights = index, passages, weights
        self._profile = Profile()

    def ranked(
        self,
        query: str,
        k: int = 10,
        filters: Filters = Filters(),  # noqa: B008 (frozen)
        meaning: Meaning | None = None,
        rerank: Rerank | None = None,
    ) -> list[Found]:
        """The best `k` for a query, best first."""
        query = query[:LONGEST_QUERY]
        words = question_terms(query)
        allowed = admitted(self.index, self.passages, filters)
        scores = np.where(allowed, self.scores(words), 0.0)
        best = highest(scores, max(k, _CANDIDATES))
        if meaning and words:
            ranking = self._blended(scores, best, *self._nearest(query, best, allowed, meaning))
            ranking = self._distinct(ranking, meaning)
        else:
            ranking = [Scored(int(number), float(scores[number]), float(scores[number])) for number in best]
        reader = Reader(self.index, self.passages, frozenset(words))
        if rerank:
            return list(rerank(query, reader.read(ranking[: max(k, _RERANKED)])))[:k]
        return reader.read(ranking[:k])

    def _nearest(self, query: str, best: Ints, allowed: Bools, meaning: Meaning) -> tuple[Ints, Floats]:
        """The passages nearest in meaning, and those that the words found, with their cosines."""
        passages = allowed[: len(self.passages)]
        among = None if passages.all() else np.flatnonzero(passages)
        return meaning.near(query, max(len(best), _CANDIDATES), best[best < len(passages)], among)

    def _blended(self, scores: Floats, best: Ints, rows: Ints, cosines: Floats) -> list[Scored]:
        """Words and meaning, each as a share of its best; what has no vector is judged by its words alone."""
        near = self._comparable(scores, rows, cosines)
        close = (scores[rows] > 0) | (near >= _NEAR_ENOUGH * near.max(initial=0.0))
        rows, cosines, near = rows[close], cosines[close], near[close]
        numbers = np.union1d(best, rows)
        said = share_of_best(scores[numbers])
        meant = said.copy()
        places = np.searchsorted(numbers, rows)
        meant[places] = share_of_best(np.maximum(near, 0.0))
        weight = self.weights.vectors if len(rows) else 0.0
        blended = (1 - weight) * said + weight * meant
        cosine = np.full(len(numbers), np.nan)
        cosine[places] = cosines
        return [
            Scored(int(numbers[place]), float(blended[place]), float(scores[numbers[place]]), float(cosine[place]))
            for place in highest(blended, len(numbers))
        ]

    def _comparable(self, scores: Floats, rows: Ints, cosines: Floats) -> Floats:
        """Cosines of several repositories, whose spaces differ: each counts as far as the words of its repository's best passage do."""
        starts = self.passages.starts
        if len(starts) == 1:
            return cosines
        ends = [*starts[1:], len(self.passages)]
        best = np.array([scores[start:end].max(initial=0.0) for start, end in zip(starts, ends, strict=True)])
        owners = np.searchsorted(starts, rows, "right") - 1
        return cosines * share_of_best(best)[owners] if best.any() else cosines

    @property
    def extent(self) -> str:
        """What is searched, in words."""
        definitions = len(self.index.postings.numbers) - len(self.index.files)  # a file is an item, too
        return f"{counted(len(self.passages), 'passage')} and {counted(definitions, 'definition')}"

    def _distinct(self, ranking: list[Scored], meaning: Meaning) -> list[Scored]:
        """What repeats a better passage counts less, so that one of many copies leaves room for others."""
        best = [one for one in ranking[:_COMPARED] if one.number < len(self.passages)]
        alike = meaning.alike(np.array([one.number for one in best], np.int64))
        copies = {one.number for place, one in enumerate(best) if (alike[place, :place] >= _SAME).any()}
        weighed = [one._replace(score=one.score * _SAME_WEIGHT) if one.number in copies else one for one in ranking]
        return sorted(weighed, key=lambda one: -one.score)  # equals keep their order

    def rarity(self, word: str) -> float:
        """How rare a word is among all candidates."""
        having, named = self.passages.having(word)[0], self.index.postings.get(word)[0]
        return rarity_of(len(self.passages) + len(self.index.postings.numbers), len(having) + len(named))

    def scores(self, words: Mapping[str, int]) -> Floats:
        """BM25F of every candidate."""
        items, passages, weights = self.index.postings, self.passages, self.weights
        first = len(passages)
        scores = np.zeros(first + len(items.lengths))
        for word, times in words.items():
            having, counts = passages.having(word)
            named, item_counts = items.get(word)
            rarity = rarity_of(first + len(items.numbers), len(having) + len(named))
            if len(having):
                frequency = (counts * np.array(weights.fields) / self._norms[having]).sum(axis=1)
                worth = frequency * (weights.saturation + 1) / (weights.saturation + frequency)
                scores[having] += times * rarity * worth
            if len(named):
                worth = saturated(item_counts, self._item_norms[named], self._profile)
                scores[first + named] += times * rarity * worth
        scores[first:] *= self._item_weights
        return scores

    @cached_property
    def _norms(self) -> Floats:
        lengths = self.passages.lengths.astype(np.float64)
        average = lengths.mean(axis=0) if len(lengths) else np.ones(lengths.shape[1])
        share = np.array(self.weights.lengths)
        return np.asarray(1 - share + share * lengths / np.maximum(average, 1e-9), dtype=np.float64)

    @cached_property
    def _item_norms(self) -> Norms:
        return Norms(self.index.postings, self._profile)

    @cached_property
    def _item_weights(self) -> Floats:
        """What each item counts for what it is: data and tests less than definitions, files by themselves nothing."""
        kinds = np.array(
            [0.0 if kind in ("", "file") else self._profile.kind_weights.get(kind, 1.0) for kind in KIND_NAMES]
        )
        columns = self.index.columns
        weights = np.zeros(len(self.index.postings.lengths))
        size = min(len(weights), len(columns))
        weights[:size] = kinds[columns.kind[:size]] * np.where(columns.test[:size], self._profile.test_weight, 1.0)
        return weights * self.weights.code
