"""Similarity of candidates to a task by general word vectors: features of the learned ranker.

Two views. The cosine of the task with a candidate's text (qualified name, signature, opening of its comment). And soft
matching of words: for each word of a name the most similar word of the task, and the reverse. Both find `severity` for
"how serious a finding is", where no term matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain

import numpy as np

from assay.rank.arrays import Floats, Ints
from assay.store.index import Index
from assay.store.word_vectors import TextVectors, Vectors, shipped_table
from assay.text.terms import COMMON, words

_MOST = 1 << 15  # items kept: 16 MB of vectors
_COMMENT = 300  # characters of a comment that count
_LONGEST = 4000  # characters of a task that count: a pasted log says no more
_TASK_WORDS = 48  # words of a task that are matched with names
_MIN_LETTERS = 3  # of a word of the task
_BEST_WORDS = 4  # words of the task that a name may cover


class ItemVectors:
    """Vectors of items, and the rows of their names' words; made when an item is first a candidate."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._vectors: dict[int, Vectors] = {}
        self._name_rows: dict[int, tuple[int, ...]] = {}

    @cached_property
    def texts(self) -> TextVectors:
        return TextVectors(shipped_table())

    def prepare(self, numbers: Sequence[int]) -> None:
        """Make the vectors of items that have none yet."""
        if len(self._vectors) > _MOST:
            self._vectors, self._name_rows = {}, {}
        new = [number for number in numbers if number not in self._vectors]
        described = self._index.descriptions_of(new, _COMMENT)
        vectors = self.texts.embed([described[number][1] for number in new])
        for number, vector in zip(new, vectors, strict=True):
            self._vectors[number] = vector
            self._name_rows[number] = self.texts.table.find(described[number][0])

    def vectors(self, numbers: Sequence[int]) -> Vectors:
        """Return the vectors of prepared items."""
        return np.array([self._vectors[number] for number in numbers], np.float32).reshape(len(numbers), -1)

    def name_rows(self, numbers: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the table's rows of the words of prepared items' names."""
        return [self._name_rows[number] for number in numbers]


class Similarity:
    """Similarity of a task to candidates; arrays are by candidate."""

    def __init__(self, items: ItemVectors, task: str, numbers: Sequence[int]) -> None:
        self._items, self._task, self._numbers = items, task[:_LONGEST], numbers
        items.prepare(numbers)

    @cached_property
    def cosine(self) -> Floats:
        """Cosine of the task with a candidate's text."""
        vector = self._items.texts.embed([self._task])[0]
        return np.asarray(self._items.vectors(self._numbers) @ vector if self._numbers else np.zeros(0), np.float64)

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
        name_words, task_words = np.zeros(len(self._numbers)), np.zeros(len(self._numbers))
        rows = self._items.name_rows(self._numbers)
        sizes = np.array([len(row) for row in rows], np.int64)
        task_rows = self._task_rows
        if not sizes.any() or not task_rows:
            return name_words, task_words
        distinct, places = np.unique(np.array([*chain.from_iterable(rows)]), return_inverse=True)
        texts = self._items.texts
        similar = (texts.words(distinct) @ texts.words(task_rows).T)[places]  # words of all names × words of the task
        named = np.flatnonzero(sizes)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])[named]  # first word of each name that has one
        name_words[named] = np.add.reduceat(similar.max(axis=1), starts) / sizes[named]
        covered = np.maximum.reduceat(similar, starts, axis=0)
        best = min(_BEST_WORDS, len(task_rows))
        task_words[named] = np.partition(covered, -best, axis=1)[:, -best:].mean(axis=1)
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
        find = self._items.texts.table.find
        return [*dict.fromkeys(row for word in dict.fromkeys(content) for row in find(word))][:_TASK_WORDS]


def relative_to_best(values: Floats) -> Floats:
    """Return the distance of values to the highest: 0 for the best, negative for the others."""
    return np.asarray(values - values.max(initial=-1.0), np.float64)
