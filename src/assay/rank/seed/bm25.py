"""The BM25 channel of seed 003: a column for the words of file and folder, related words, and phrases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise

import numpy as np

from assay.rank.arrays import Floats
from assay.rank.context import ItemArrays
from assay.rank.query import ParsedTask
from assay.rank.seed.specification import COLUMNS, EXPANSIONS
from assay.rank.signals.lexical import Counts, TermWeights
from assay.store.postings import FIELDS, Postings
from assay.text.terms import terms

assert (*FIELDS, "concepts") == tuple(COLUMNS)


class Columns:
    """The postings of an index with one more field, `concepts`: the words of an item's file name and its folder."""

    def __init__(self, postings: Postings, items: ItemArrays) -> None:
        self._postings, self._files, self.numbers = postings, items.files, postings.numbers
        self._files_with = defaultdict[str, list[int]](list)
        self._file_count = len(items.file_folders)
        lengths = np.zeros(self._file_count, postings.lengths.dtype)
        for file, path in items.paths.items():
            folder, _, name = path.rpartition("/")
            words = dict.fromkeys((*terms(name.partition(".")[0]), *terms(folder.rpartition("/")[2])))
            lengths[file] = len(words)
            for word in words:
                self._files_with[word].append(file)
        self.lengths = np.column_stack([postings.lengths, lengths[self._files] * postings.lengths.any(axis=1)])

    def get(self, term: str) -> tuple[Counts, Counts]:
        """Return the items with a term, and its counts by field; words of a path are in the field `path`, too."""
        items, counts = self._postings.get(term)
        named = np.zeros(self._file_count, counts.dtype)
        named[self._files_with.get(term, [])] = 1
        return items, np.column_stack([counts, named[self._files[items]]])


# Concept thesaurus


@cache
def clusters() -> tuple[tuple[str, ...], ...]:
    """Load the clusters of related words from thesaurus.toml."""
    import tomllib  # here, because `assay why` reads this module for every profile

    table = tomllib.loads(resources.files(__package__).joinpath("thesaurus.toml").read_text("utf-8"))
    return tuple(tuple(line.split()) for line in table["clusters"])


@cache
def _related() -> dict[str, tuple[str, ...]]:
    related: dict[str, dict[str, None]] = {}
    for cluster in clusters():
        for word in cluster:
            related.setdefault(word, {}).update(dict.fromkeys(other for other in cluster if other != word))
    return {word: tuple(others) for word, others in related.items()}


def expand(components: Iterable[str]) -> dict[str, list[str]]:
    """Return up to five related words per word, without words of the task; a plural is looked up as its singular."""
    own = list(dict.fromkeys(word.lower() for word in components))
    expanded = {}
    for word in own:
        others = _related().get(word) or _related().get(word.removesuffix("s"), ())
        fresh = [other for other in others if other not in own and other != word.removesuffix("s")][:EXPANSIONS]
        if fresh:
            expanded[word] = fresh
    return expanded


def expansions(task: ParsedTask) -> list[str]:
    """Return the terms of related words, without terms of the task."""
    related = (term for words in expand(task.keywords.components).values() for word in words for term in terms(word))
    return [term for term in dict.fromkeys(related) if term not in task.terms]


def has_phrase(term_weights: TermWeights, sequence: Sequence[str]) -> Floats:
    """Return 1 for items whose name contains two terms that are adjacent in the task, else 0."""
    matches = np.zeros(len(term_weights.words.lengths))
    for pair in {*pairwise(sequence)}:
        first, second = (term_weights[term].named for term in pair)
        if pair[0] != pair[1]:
            matches[np.intersect1d(first, second, assume_unique=True)] = 1.0
    return matches
