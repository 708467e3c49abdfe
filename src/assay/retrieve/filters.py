"""What a search is confined to: paths, languages, kinds, files changed lately; documents or code alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from assay.store.columns import KIND_NAMES
from assay.store.index import Index
from assay.store.passages import Passages

PASSAGE = "passage"  # the kind of what is no definition
KINDS = (PASSAGE, *KIND_NAMES[1:])


@dataclass(frozen=True, slots=True)
class Filters:
    """What is empty or None confines nothing."""

    paths: tuple[str, ...] = ()  # patterns, any of which may match: docs/*, *.py
    languages: tuple[str, ...] = ()  # of code, or formats of documents
    kinds: tuple[str, ...] = ()
    changed: frozenset[str] | None = None  # the only files to look at
    documents: bool = True
    code: bool = True


def admitted(index: Index, passages: Passages, filters: Filters) -> NDArray[np.bool_]:
    """Whether each candidate is admitted: passages first, then items by number."""
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
    of_kind = np.array([kind != "" and _any(kind, filters.kinds) for kind in KIND_NAMES])
    items = np.zeros(size, bool)
    known = min(size, len(index.columns))
    items[:known] = files[index.columns.file[:known]] & of_kind[index.columns.kind[:known]]
    whole = filters.documents and _any(PASSAGE, filters.kinds)
    passed = np.array(documents, bool)[passages.documents] if whole and documents else np.zeros(len(passages), bool)
    return np.concatenate([passed, items])


def _fits(path: str, language: str, filters: Filters) -> bool:
    return (
        _any(language, filters.languages)
        and (not filters.paths or any(_matches(path, pattern) for pattern in filters.paths))
        and (filters.changed is None or path in filters.changed)
    )


def _matches(path: str, pattern: str) -> bool:
    """`docs/*` and `docs/` mean everything below a folder, `*.md` every such file anywhere, `README.md` itself."""
    bare = pattern.removeprefix("./").replace("**/", "*").replace("**", "*")
    return fnmatchcase(path, bare + "*" if bare.endswith("/") else bare) or path.startswith(bare + "/")


def _any(one: str, wanted: Collection[str]) -> bool:
    return not wanted or one in wanted
