"""Path context of seed 003: types in the folders and files that a task mentions; the walk continues to their members."""

from __future__ import annotations

import re
from collections.abc import Iterable

from assay.core.items import TYPE_KINDS
from assay.rank.query import Keywords
from assay.rank.vocabulary import ACTION_VERBS, FILLERS, STOP_WORDS
from assay.store.index import Index
from assay.text.terms import terms, words

_SHORTEST = 4  # minimum length of a term that may name a folder
_RICH, _LEAN, _OTHER = 5, 10, 15  # per term: types with members, types without, other items
_TOTAL = 30
_TERM = re.compile(r"[^\W\d_]+")
_TYPES = ", ".join(repr(kind) for kind in sorted(TYPE_KINDS))
# product code before tests, outer before inner; ids make the order total
_ITEMS = (
    f"SELECT s.number, s.kind IN ({_TYPES}), m.members IS NOT NULL, coalesce(m.members, '') FROM symbols s LEFT JOIN "
    "(SELECT owner, group_concat(name, ' ') AS members FROM symbols WHERE file IN ({files}) GROUP BY owner) m ON m.owner = s.id "
    "WHERE s.file IN ({files}) AND s.ordinal >= 0 ORDER BY s.test, length(s.symbol), s.id"
)
_MAX_FILES = 60  # files per term: a folder as large as the project is no place


def path_terms(task: str) -> list[str]:
    """Return the words of a task that may name folders or packages."""
    excluded = STOP_WORDS | ACTION_VERBS | FILLERS
    candidates = (word.lower() for word in _TERM.findall(task))
    return list(dict.fromkeys(word for word in candidates if len(word) >= _SHORTEST and word not in excluded))


def path_context(index: Index, task: str, keywords: Keywords) -> list[int]:
    """Return items under the paths a task mentions: types with members the task names, other types, other items."""
    query = {term for word in keywords.components for term in terms(word)}
    items: dict[int, None] = {}
    for term in path_terms(task):
        files = _files_under(index, term)
        if files:
            items |= dict.fromkeys(_items_in_files(index, files, query - set(terms(term))))
    return list(items)[:_TOTAL]


def _files_under(index: Index, term: str) -> list[int]:
    """Return files with a path segment that starts with the term: `migration` matches `migrations/` too."""
    stem = term.removesuffix("s")
    matches = [
        row.number for path, row in index.files.items() if any(word.startswith(stem) for word in _path_words(path))
    ]
    return matches if len(matches) <= _MAX_FILES else []


def _path_words(path: str) -> Iterable[str]:
    return re.split(r"[/._-]", path.lower())


def _items_in_files(index: Index, files: list[int], query: set[str]) -> list[int]:
    matching: list[int] = []
    with_members: list[int] = []
    without_members: list[int] = []
    other: list[int] = []
    for number, is_type, has_members, members in index.rows_of(_ITEMS, files):
        if not is_type:
            other.append(number)
        elif not has_members:
            without_members.append(number)
        elif query & {term for member in members.split() for word in words(member) for term in terms(word)}:
            matching.append(number)
        else:
            with_members.append(number)
    return (matching + with_members)[:_RICH] + without_members[:_LEAN] + other[:_OTHER]
