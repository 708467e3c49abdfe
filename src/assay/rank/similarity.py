"""Similarity of candidates to a task by general word vectors: features of the learned ranker.

Two views. The cosine of the task with a candidate's text (qualified name, signature, opening of its comment). And soft
matching of words: for each word of a name the most similar word of the task, and the reverse. Both find `severity` for
"how serious a finding is", where no term matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from assay.rank.arrays import Floats, Ints
from assay.store.item_words import ItemWords
from assay.store.word_vectors import TextVectors, Vectors, unit
from assay.text.terms import COMMON, words

_LONGEST = 4000  # characters of a task that count: a pasted log says no more
_TASK_WORDS = 48  # words of a task that are matched with names
_MIN_LETTERS = 3  # of a word of the task
_BEST_WORDS = 4  # words of the task that a name may cover


class SoftMatches:
    """Cosines of some words with the words of texts, which are given as rows of the table; each row is compared once."""

    def __init__(self, table: TextVectors, words: Vectors) -> None:
        self._table, self._words = table, words
        self._cosines = np.zeros((len(words), len(table.table.codes)), np.float32)  # pages are mapped on first use
        self._compared = np.zeros(len(table.table.codes), bool)

    def __getitem__(self, rows: Ints) -> Vectors:
        """Return the matrix words × rows."""
        new, _ = self._table.distinct(rows[~self._compared[rows]])
        self._cosines[:, new] = self._words @ unit(self._table.table.vectors(new)).T
        self._compared[new] = True
        return np.asarray(self._cosines[:, rows], np.float32)


class Similarity:
    """Similarity of a task to candidates; arrays are by candidate."""

    def __init__(self, items: ItemWords, task: str, numbers: Sequence[int]) -> None:
        self._task, self._table, self._words = task[:_LONGEST], items.texts, items.of(numbers)

    @cached_property
    def cosine(self) -> Floats:
        """Cosine of the task with a candidate's text."""
        cosines = np.zeros(len(self._words.texts))
        sizes = np.array([len(rows) for rows in self._words.texts], np.int64)
        filled = np.flatnonzero(sizes * (self._words.lengths > 0))
        if not len(filled):
            return cosines
        distinct, places = self._table.distinct(np.concatenate([self._words.texts[place] for place in filled]))
        products = self._table.table.vectors(distinct) @ self._table.embed([self._task], "query")[0]
        starts = np.cumsum(sizes[filled]) - sizes[filled]
        cosines[filled] = np.add.reduceat(products[places], starts) / self._words.lengths[filled]
        return cosines

    def best_of(self, groups: Ints) -> Floats:
        """Return the highest cosine of the candidates of the same group."""
        best = np.full(int(groups.max(initial=0)) + 1, -1.0)
        np.maximum.at(best, groups, self.cosine)
        return best[groups]

    @property
    def name_words(self) -> Floats:
        """Mean over the words of the name of the similarity to the most similar word of the task."""
        return self._soft[0]

    @property
    def task_words(self) -> Floats:
        """Mean over the words of the task that the name covers best of the similarity to a word of the name."""
        return self._soft[1]

    @cached_property
    def _soft(self) -> tuple[Floats, Floats]:
        names = self._words.names
        name_words, task_words = np.zeros(len(names)), np.zeros(len(names))
        sizes = np.array([len(rows) for rows in names], np.int64)
        task_rows = self._task_rows
        if not sizes.any() or not task_rows:
            return name_words, task_words
        similar = SoftMatches(self._table, self._table.words(task_rows))[np.concatenate(names)]
        named = np.flatnonzero(sizes)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])[named]  # first word of each name that has one
        name_words[named] = np.add.reduceat(similar.max(axis=0), starts) / sizes[named]
        covered = np.maximum.reduceat(similar, starts, axis=1)
        best = min(_BEST_WORDS, len(task_rows))
        task_words[named] = np.partition(covered, -best, axis=0)[-best:].mean(axis=0)
        return name_words, task_words

    @property
    def _task_rows(self) -> list[int]:
        """Rows of the task's content words."""
        content = (
            word
            for piece in self._task.split()
            for word in words(piece)
            if len(word) >= _MIN_LETTERS and word not in COMMON
        )
        find = self._table.table.find
        return [*dict.fromkeys(row for word in dict.fromkeys(content) for row in find(word))][:_TASK_WORDS]


def relative_to_best(values: Floats) -> Floats:
    """Return the distance of values to the highest: 0 for the best, negative for the others."""
    return np.asarray(values - values.max(initial=-1.0), np.float64)
