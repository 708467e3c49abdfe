"""Rank code for a search: definitions by the engine's ranking, and files as wholes.

A file is found by more than its definitions: its path, the words of its whole text, and what it is about (vector of
its path, names and comments). Files that no ranked definition stands for are candidates of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from assay.languages.conventions import described_path
from assay.rank.arrays import Floats, Ints, highest, share_of_best, sorted_unique, sum_by_index
from assay.rank.context import QueryContext
from assay.rank.engine import Engine
from assay.rank.groups import file_scores
from assay.rank.signals.lexical import inverse_document_frequency
from assay.search.filters import Bools
from assay.search.similar_words import SimilarWords
from assay.store.columns import KIND_NAMES
from assay.store.postings import PATH

_DEFINITIONS = 300  # best definitions that are candidates
_FILES = 40  # best files by text and by vector that are candidates
_FILES_BY_PATH = 20
_MIN_RELATIVE_COSINE = 0.5  # of a file that matches by its vector alone, relative to the nearest
MIN_COSINE = 0.2  # general vectors of texts that have nothing in common reach almost that
_UNRANKED = 400  # rank of files without a ranked definition


class FileVectors(Protocol):
    """Vectors of what the source files are about."""

    def cosines(self, query: str) -> Floats:
        """Return the cosine of every file, by file number."""


@dataclass(frozen=True, slots=True)
class CodeCandidates:
    """Definitions and files that match a query. Arrays are by candidate."""

    numbers: Ints  # of items
    lexical: Floats  # BM25F
    features: Mapping[str, Floats]


class CodeRanker:
    """The code of an index, ready for any number of queries."""

    def __init__(self, engine: Engine, vectors: FileVectors | None = None) -> None:
        self.engine, self._vectors = engine, vectors

    def candidates(self, text: str, allowed: Bools, similar: SimilarWords | None = None) -> CodeCandidates:
        """Return the candidates of a query among the allowed items, definitions first, each group best first.

        `similar` matches the query's words with words of paths.
        """
        query = self.engine.read(text)
        ranking = self.engine.score(query)
        numbers = ranking.highest(np.where(allowed, ranking.scores, 0.0), _DEFINITIONS)
        by_text, by_path = file_scores(query), self._path_coverage(query)
        cosines = self._vectors.cosines(text) if self._vectors else np.zeros(len(by_text))
        whole = self._whole_files(query, numbers, allowed, by_text, by_path, cosines)
        numbers = np.concatenate([numbers, whole]).astype(np.int64)
        files: Ints = query.items.files[numbers]
        ranks = np.arange(len(numbers), dtype=np.float64)
        ranks[len(numbers) - len(whole) :] = _UNRANKED
        nearness = np.maximum(cosines / max(cosines.max(initial=0.0), 1e-6), 0.0)
        features = {
            "engine": ranking.scores[numbers],
            "reciprocal rank": 1 / (1 + ranks),
            "coverage": ranking.coverage[numbers],
            "file text": share_of_best(by_text)[files],
            "file vector": cosines[files],
            "file vector, relative": nearness[files],
            "file vector, nearest": nearness[files] ** 4,
            "path": by_path[files],
            "test": self._is_test[files].astype(np.float64),
            "file length": np.log1p(query.items.text_lengths.files[files]),
            "share of the file in all scores": share_of_best(
                sum_by_index(files, ranking.scores[numbers], len(by_text))
            )[files],
        } | self._file_features(query, files, similar)
        lexical = ranking.factors["lexical"] if ranking.factors else np.zeros(query.items.size)
        return CodeCandidates(numbers, lexical[numbers], features)

    def _file_features(self, query: QueryContext, files: Ints, similar: SimilarWords | None) -> dict[str, Floats]:
        """Return features of the files of candidates by their paths, each file looked at once."""
        chosen = sorted_unique(files)
        paths = [query.items.paths[number] for number in chosen.tolist()]
        columns = {
            "depth of path": [path.count("/") for path in paths],
            "lines of file": [math.log1p(self.engine.index.files[path].lines) for path in paths],
            "support": [query.items.file_descriptions[number].is_support for number in chosen.tolist()],
        } | (
            {"similar words, path": similar.coverage(similar.rows([*map(described_path, paths)])).tolist()}
            if similar
            else {}
        )
        places = np.searchsorted(chosen, files)
        return {name: np.array(values, np.float64)[places] for name, values in columns.items()}

    def _whole_files(
        self, query: QueryContext, ranked: Ints, allowed: Bools, by_text: Floats, by_path: Floats, cosines: Floats
    ) -> Ints:
        """Return the items of files that match as a whole and have no ranked definition."""
        weight = np.where(self._is_test, self.engine.profile.test_weight, 1.0)
        least = max(_MIN_RELATIVE_COSINE * cosines.max(initial=0.0), MIN_COSINE)
        near = np.where(cosines >= least, cosines, 0.0)
        taken = np.zeros(len(by_text), bool)
        taken[query.items.files[ranked]] = True
        chosen = (
            number
            for scores, most in ((by_text, _FILES), (near, _FILES), (by_path, _FILES_BY_PATH))
            for number in highest(scores * weight, most, query.items.file_order).tolist()
        )
        items = [self._file_items[number] for number in dict.fromkeys(chosen) if not taken[number]]
        return np.array([item for item in items if item >= 0 and allowed[item]], np.int64)

    def _path_coverage(self, query: QueryContext) -> Floats:
        """Return the share of the query's terms in each file's path, weighted by their rarity among paths."""
        postings, files = self.engine.index.postings, query.items.files
        coverage, total = np.zeros(len(self._file_items)), 0.0
        for term in query.task.terms:
            items, counts = postings.get(term)
            with_term = items[(counts[:, PATH] > 0) & self._is_file[items]]
            rarity = inverse_document_frequency(len(self.engine.index.files), len(with_term))
            coverage[files[with_term]] += rarity
            total += rarity
        return coverage / max(total, 1e-9)

    # arrays that are the same for every query

    @cached_property
    def _is_file(self) -> Bools:
        return np.array([kind == "file" for kind in KIND_NAMES])[self.engine.index.columns.kind]

    @cached_property
    def _file_items(self) -> Ints:
        """Item of each file number; -1 for unused numbers."""
        items = np.flatnonzero(self._is_file)
        files = self.engine.resources.items.files
        numbers = np.full(len(self.engine.resources.items.file_folders), -1, np.int64)
        numbers[files[items]] = items
        return numbers

    @cached_property
    def _is_test(self) -> Bools:
        """Mask of the test files, by file number."""
        tests = np.asarray(self.engine.index.columns.test, bool)
        return np.asarray(np.where(self._file_items >= 0, tests[self._file_items], False), bool)
