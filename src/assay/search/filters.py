"""Filters of a search: path, language, kind, and files changed since a commit.

A filter becomes a mask of the candidates, which are numbered as in `search.py`: passages first, then items.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from assay.store.columns import KIND_NAMES
from assay.store.index import Index
from assay.store.passages import Passages

Bools = NDArray[np.bool_]

PASSAGE = "passage"  # kind of a document passage
KINDS = (PASSAGE, *KIND_NAMES[1:])


@dataclass(frozen=True, slots=True)
class Filters:
    """Restrictions on search results; empty or None means no restriction."""

    paths: tuple[str, ...] = ()  # patterns, any of which may match: docs/*, *.py
    languages: tuple[str, ...] = ()  # programming languages or document formats
    kinds: tuple[str, ...] = ()
    changed: frozenset[str] | None = None  # if set, only these files
    documents: bool = True
    code: bool = True


def filter_mask(index: Index, passages: Passages, filters: Filters) -> Bools:
    """Return a mask of the candidates that pass the filters: passages first, then items by number."""
    size = len(index.postings.lengths)
    if filters == Filters():
        return np.ones(len(passages) + size, bool)
    documents = [
        _fits(path, language, filters) for path, language in zip(passages.paths, passages.languages, strict=True)
    ]
    files = np.zeros(max((row.number for row in index.files.values()), default=0) + 1, bool)
    if filters.code:
        for row in index.files.values():
            files[row.number] = _fits(row.path, row.language, filters)
    kind_mask = np.array([kind != "" and _is_allowed(kind, filters.kinds) for kind in KIND_NAMES])
    items = np.zeros(size, bool)
    stored = min(size, len(index.columns))
    items[:stored] = files[index.columns.file[:stored]] & kind_mask[index.columns.kind[:stored]]
    passages_wanted = filters.documents and _is_allowed(PASSAGE, filters.kinds)
    passage_mask = (
        np.array(documents, bool)[passages.documents]
        if passages_wanted and documents
        else np.zeros(len(passages), bool)
    )
    return np.concatenate([passage_mask, items])


def _fits(path: str, language: str, filters: Filters) -> bool:
    return (
        _is_allowed(language, filters.languages)
        and (not filters.paths or any(_matches(path, pattern) for pattern in filters.paths))
        and (filters.changed is None or path in filters.changed)
    )


def _matches(path: str, pattern: str) -> bool:
    """Match a path: `docs/*` and `docs/` mean everything below a folder, `*.md` any such file, `README.md` itself."""
    bare = pattern.removeprefix("./").replace("**/", "*").replace("**", "*")
    return fnmatchcase(path, bare + "*" if bare.endswith("/") else bare) or path.startswith(bare + "/")


def _is_allowed(value: str, allowed: Collection[str]) -> bool:
    return not allowed or value in allowed
