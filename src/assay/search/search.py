"""Search: passages of documents, definitions of code and files in one ranked list.

`Search.ranked` is the algorithm, top to bottom: passages by words and vectors (`passage_ranker.py`), code by the
engine's ranking (`code_ranker.py`), both on one scale by a learned model (`merge.py`). Candidates share one numbering:
passages first, then the items of the index.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from assay.rank.arrays import Floats, Ints
from assay.rank.engine import Engine
from assay.rank.vocabulary import COMMON, word_set
from assay.search import merge
from assay.search.code_ranker import MIN_COSINE, CodeRanker, FileVectors
from assay.search.collapse import Editions
from assay.search.embed import Candidate
from assay.search.embed.rerankers import DEFAULT
from assay.search.filters import Bools, Filters, Subset, filter_mask
from assay.search.hits import Reader, Scored, SearchHit
from assay.search.intent import intent
from assay.search.passage_ranker import PassageRanker, PassageVectors, Weights, Word
from assay.search.pattern import Pattern
from assay.search.similar_words import SimilarWords
from assay.search.windows import widen as widened
from assay.store.index import Index, UnusableIndex
from assay.store.passages import Passages
from assay.store.word_vectors import TextVectors
from assay.text.display import counted
from assay.text.terms import stem, words
from assay.text.tokens import LONGEST_QUERY
from assay.text.variants import without_contractions, word_variants

if TYPE_CHECKING:
    from assay.search.embed import Reranker
    from assay.search.embed.vector_index import VectorIndex

# Query terms. Unlike in a task for code, verbs count: documents explain how to create and remove things.

# Pronouns and the remains of `don't` and `it's`: rare in documents, so they would get the highest idf. `why` stays, as
# headings use it.
_PRONOUNS = word_set(
    "my me mine our ours us your yours he she him her his hers them one ones but am been being did had s t d m ll ve re don doesn didn isn"
)
_STOP_WORDS = COMMON | _PRONOUNS
_QUESTION_WORD = re.compile(r"\w+")


def question_words(question: str) -> list[Word]:
    """Return the content words of a question, each with its other forms and spellings."""
    names = (name for name in _QUESTION_WORD.findall(without_contractions(question)) if name.lower() not in _STOP_WORDS)
    out, seen = list[Word](), set(_STOP_WORDS)
    for word in chain.from_iterable(map(words, names)):
        if stem(word) not in seen:
            out.append(tuple(term for term in word_variants(word) if term not in _STOP_WORDS))
            seen.update(out[-1])
    return out


def question_terms(question: str) -> dict[str, int]:
    """Return the terms of a question's content words and their variants, each with count 1."""
    return {term: 1 for word in question_words(question) for term in word}


# Ranking

_DEPTH = 50  # passages that are merged with code, or k if larger
_NEAREST = 30  # passages that general vectors propose besides
_RERANK_DEPTH = 50  # candidates that a reranker reads, or k if larger
_MIN_SCORE = 0.0002  # probability below which a candidate is not a result


class Search:
    """An index and its passages with their vectors and a reranker, ready for any number of queries."""

    def __init__(
        self,
        index: Index,
        passages: Passages,
        engine: Engine,
        weights: Weights = Weights(),  # noqa: B008 (frozen)
        file_vectors: FileVectors | None = None,
        general: PassageVectors | None = None,
        table: TextVectors | None = None,
        vector_index: VectorIndex | None = None,
        reranker: Reranker | None = None,
        passage_size: int = 0,
    ) -> None:
        """Take what is prepared; `general` are the vectors of passages by the `table` that ships with assay.

        `passage_size` are the tokens of a passage, at most; 0 if they are not known.
        """
        self.index, self.passages, self._general, self.table = index, passages, general, table
        self.vector_index, self.reranker, self.passage_size = vector_index, reranker, passage_size
        self.passage_ranker = PassageRanker(passages, index.postings, weights)
        self.code_ranker = CodeRanker(engine, file_vectors)

    def ranked(
        self,
        query: str,
        k: int = 10,
        filters: Filters = Filters(),  # noqa: B008 (frozen)
        subset: Subset | None = None,
        by_file: bool = False,
        widen: bool = False,
    ) -> list[SearchHit]:
        """Return the best `k` hits for a query, best first; with a `subset`, among its candidates only.

        `by_file` keeps the best hit of each file. `widen` shows short passages with what stands around them, up to the
        size of a passage. Raises UnusableIndex if the stored passages are damaged.
        """
        query = query[:LONGEST_QUERY]
        candidates = self.candidates(query, k, filters, subset)
        return self.top(query, candidates, k, subset.patterns if subset else (), by_file, widen)

    def top(
        self,
        query: str,
        candidates: Sequence[Scored],
        k: int,
        patterns: Sequence[Pattern] = (),
        by_file: bool = False,
        widen: bool = False,
    ) -> list[SearchHit]:
        """Return the best `k` of a query's candidates as hits, spread over files."""
        likely = [candidate for candidate in candidates if candidate.score >= _MIN_SCORE]
        with self.checked():
            ranking = merge.spread(likely, self._paths(likely), by_file, len(self.passages))
            ranking = ranking[: max(k, _RERANK_DEPTH) if self._reranks else k]
            read = self._hits(query, ranking, patterns)
            hits = self._reranked(query, read)[:k] if self._reranks else read
            if not (widen and self.passage_size):
                return hits
            first_item = len(self.passages)
            numbers = {
                hit.id: scored.number for scored, hit in zip(ranking, read, strict=True) if scored.number < first_item
            }
            return widened(hits, numbers, self.passages, self.passage_size)

    def read(self, query: str, candidates: Sequence[Scored]) -> list[SearchHit]:
        """Return candidates as hits; with a reranker that reads texts, in its order."""
        with self.checked():
            hits = self._hits(query, candidates)
        return self._reranked(query, hits) if self._reranks else hits

    def _hits(self, query: str, candidates: Sequence[Scored], patterns: Sequence[Pattern] = ()) -> list[SearchHit]:
        """Return candidates of a query as hits; `patterns` mark matching lines."""
        hits = Reader(self.index, self.passages, frozenset(question_terms(query)), patterns).read(candidates)
        return [replace(hit, also=also) if (also := self._editions.also(hit.path)) else hit for hit in hits]

    @property
    def _reranks(self) -> bool:
        """True if the reranker is a stage after the merged ranking; the default one is a feature of that ranking."""
        return self.reranker is not None and self.reranker.name != DEFAULT

    def _reranked(self, query: str, hits: Sequence[SearchHit]) -> list[SearchHit]:
        scores = self._reranker_scores(query, hits)
        rescored = [replace(hit, score=score) for hit, score in zip(hits, scores, strict=True)]
        return sorted(rescored, key=lambda hit: -hit.score)  # ties keep their order

    def _reranker_scores(self, query: str, hits: Sequence[SearchHit]) -> list[float]:
        assert self.reranker is not None
        candidates = [Candidate(hit.text, hit.title, hit.score) for hit in hits]
        return [float(score) for score in self.reranker.scores(query, candidates)]

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Raise UnusableIndex where damaged passages are read."""
        try:
            yield
        except IndexError as error:  # mapped arrays are not read whole, so damage inside them shows only here
            folders = ", ".join(str(part.generation.home) for part in self.index.parts)
            text = f"{folders}: the index of passages is damaged ({error}). Rebuild it with: assay index --rebuild"
            raise UnusableIndex(text) from None

    def candidates(self, query: str, k: int, filters: Filters, subset: Subset | None = None) -> list[Scored]:
        """Return passages and code on one scale, best first, at least `k` of each if there are so many.

        None for a query without content words.
        """
        if not question_terms(query):
            return []
        with self.checked():
            allowed = self.allowed(query, filters)
            if subset:
                allowed &= subset.allowed
            first_item = len(self.passages)
            similar = self.similar_words(query)
            code = None
            if allowed[first_item:].any():
                code = self.code_ranker.candidates(query, allowed[first_item:], similar)
            passages, values = self.passage_candidates(query, max(k, _DEPTH), allowed[:first_item], similar)
            return merge.scored(merge.shipped(), intent(query), passages, values, code, first_item)

    def allowed(self, query: str, filters: Filters) -> Bools:
        """Return a mask of the candidates that pass the filters, with one edition of each page."""
        mask = filter_mask(self.index, self.passages, filters)
        if not filters.paths:  # a path asks for that very edition
            mask[: len(self.passages)] &= self._editions.visible(query)[self.passages.documents]
        return mask

    def passage_candidates(
        self,
        query: str,
        k: int,
        allowed: Bools,
        similar: SimilarWords | None,
    ) -> tuple[list[Scored], Mapping[str, Floats]]:
        """Return the best `k` passages and their features."""
        query_words = question_words(query)
        near, highest = self._nearest(query, allowed)
        passages = self.passage_ranker.ranked(query, query_words, k, allowed, self.vector_index, near)
        hits = self._hits(query, passages)
        weights = self._word_weights(query)
        features = merge.passage_features(
            hits,
            _relative([passage.score for passage in passages]),
            self._reranker_scores(query, hits) if self.reranker and not self._reranks else (),
            weights,
            self.passage_ranker.coverage([passage.number for passage in passages], weights),
            query,
            similar,
        )
        match = float(features["lexical"].max(initial=0.0))
        return passages, features | self._general_features(query, passages, highest, match)

    def similar_words(self, query: str) -> SimilarWords | None:
        """Return the words of a query for soft matching; None without general vectors."""
        return SimilarWords.of(self.table, self._word_weights(query)) if self.table else None

    def _word_weights(self, query: str) -> dict[Word, float]:
        return {word: self.passage_ranker.idf(*word) for word in question_words(query)}

    def _nearest(self, query: str, allowed: Bools) -> tuple[Ints, float]:
        """Return the nearest passages by general vectors, none if all are unrelated, and the highest cosine."""
        nothing = np.zeros(0, np.int64)
        if self._general is None or not allowed.any():
            return nothing, 0.0
        among = None if allowed.all() else np.flatnonzero(allowed)
        passages, cosines = self._general.near(query, _NEAREST, nothing, among)
        return passages[cosines >= MIN_COSINE], float(cosines.max(initial=0.0))

    def _general_features(
        self, query: str, passages: Sequence[Scored], highest: float, match: float
    ) -> dict[str, Floats]:
        """Return the cosines of passages by general vectors, absolute and relative to the highest.

        `match` is the lexical score of the best passage over the rarity of the query: vectors count less where the words
        of the query stand together somewhere.
        """
        if self._general is None or not passages:
            return {}
        numbers = np.array([passage.number for passage in passages], np.int64)
        rows, cosines = self._general.near(query, 0, numbers, np.zeros(0, np.int64))
        by_number = dict(zip(rows.tolist(), cosines.tolist(), strict=True))
        values = np.array([by_number.get(number, 0.0) for number in numbers.tolist()])
        relative = np.clip(values / max(highest, 1e-6), -1.0, 1.0)  # the highest may be next to nothing
        return {
            "general vector": values,
            "general vector, relative": relative,
            "general vector, relative × lexical match": relative * match,
        }

    def _paths(self, candidates: Sequence[Scored]) -> dict[int, str]:
        """Return the path of each candidate's file, by candidate number."""
        first, files = len(self.passages), self.index.columns.file
        return {
            candidate.number: self.passages.paths[int(self.passages.documents[candidate.number])]
            if candidate.number < first
            else self._file_paths[int(files[candidate.number - first])]
            for candidate in candidates
        }

    @cached_property
    def _editions(self) -> Editions:
        return Editions(self.passages.paths)

    @cached_property
    def _file_paths(self) -> Mapping[int, str]:
        return {row.number: path for path, row in self.index.files.items()}

    def idf(self, word: str) -> float:
        """Return the inverse document frequency of a word over all candidates."""
        return self.passage_ranker.idf(word)

    @property
    def extent(self) -> str:
        """Human-readable size of the corpus: passages and definitions."""
        definitions = len(self.index.postings.numbers) - len(self.index.files)  # files are items, too
        return f"{counted(len(self.passages), 'passage')} and {counted(definitions, 'definition')}"


def _relative(scores: Sequence[float]) -> list[float]:
    """Return scores relative to the best: a ranking without vectors is not on a scale of 0 to 1."""
    best = max(scores, default=0.0)
    return [score / best for score in scores] if best > 1 else list(scores)
