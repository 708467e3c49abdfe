"""Descriptions of items and files: the same for every query, but they cost a catalogue lookup or a pattern search.

They are made when an item is first a candidate, as the tasks of a session share most of their candidates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assay.rank.symbols import squeeze
from assay.store.index import Index
from assay.text.terms import terms

_MOST = 1 << 16  # items kept: some 20 MB

_SUPPORT_WORDS = (
    "examples?|samples?|demos?|docs?|benchmarks?|bench|scripts?|tools?|migrations?|migrate|generated|vendor|fixtures?|"
    "legacy|deprecated|testing|support|seeds|playground|storybook|stories"
)
_SUPPORT = re.compile(rf"(?<![a-z])(?:{_SUPPORT_WORDS})(?![a-z])")  # in a folder's name
_SUPPORT_WORD = re.compile(rf"\b(?:{_SUPPORT_WORDS})\b")


def mentions_support(task: str) -> bool:
    """Return whether a task is about examples, scripts, migrations, benchmarks or the like."""
    return _SUPPORT_WORD.search(task.lower()) is not None


class FileDescription(NamedTuple):
    """A file by its path."""

    terms: tuple[str, ...]  # of its name without endings
    squeezed: str  # that name without case and separators
    is_support: bool  # in a folder of examples, scripts, migrations, benchmarks or the like


class ItemDescription(NamedTuple):
    """An item by its name and place."""

    name: str
    lines: int
    names_file: bool  # its file has its name


class FileDescriptions(dict[int, FileDescription]):
    """Descriptions by file number, made on first use."""

    def __init__(self, paths: Mapping[int, str]) -> None:
        self._paths = paths

    def __missing__(self, file: int) -> FileDescription:
        path = self._paths[file]
        stem = path.rpartition("/")[2].partition(".")[0]
        self[file] = FileDescription(
            tuple(terms(stem)),
            squeeze(stem).replace("-", ""),
            _SUPPORT.search(path.lower().rpartition("/")[0]) is not None,
        )
        return self[file]


class ItemDescriptions:
    """Descriptions by item number, made on first use."""

    def __init__(self, index: Index, files: FileDescriptions) -> None:
        self._index, self._files = index, files
        self._cache: dict[int, ItemDescription] = {}

    def __getitem__(self, numbers: Sequence[int]) -> list[ItemDescription]:
        """Return the descriptions of some items, in their order."""
        cache = self._cache
        if len(cache) > _MOST:
            cache = self._cache = {}
        new = [number for number in numbers if number not in cache]
        if new:
            file_of = self._index.columns.file
            for number, (name, lines) in self._index.names_and_lines_of(new).items():
                names_file = squeeze(name) == self._files[int(file_of[number])].squeezed
                cache[number] = ItemDescription(name, lines, names_file)
        return [cache[number] for number in numbers]
