"""Filters of a search: path, language, kind, and files changed since a commit; as options, and within a query.

A filter becomes a mask of the candidates, which are numbered as in `search.py`: passages first, then items.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.store.columns import KIND_NAMES
from assay.store.index import Index
from assay.text.suggest import did_you_mean, require_name

if TYPE_CHECKING:
    from assay.search.pattern import Pattern
    from assay.search.query import Restriction
    from assay.store.passages import Passages

Bools = NDArray[np.bool_]

PASSAGE = "passage"  # kind of a document passage
FILE = "file"  # kind of source lines outside any definition
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


# Filters within a query


class Subset(NamedTuple):
    """Candidates that the filters and exact parts of a query allow, and the patterns that hits are marked with."""

    allowed: Bools
    patterns: tuple[Pattern, ...] = ()


_CODE, _DOCUMENTS, _ALL = "code", "docs", "all"
QUERY_KINDS = (_ALL, _CODE, _DOCUMENTS, *KINDS)


def restriction_mask(index: Index, passages: Passages, restrictions: Sequence[Restriction]) -> Bools:
    """Return a mask of the candidates that pass the filters of a query: any of each field, none of the excluded.

    Raises AssayError with a suggestion for an unknown language or kind, and for a path that no file has.
    """
    mask = np.ones(len(passages) + len(index.postings.lengths), bool)
    for field, make in _MAKERS.items():
        wanted = [row.value for row in restrictions if row.field == field and not row.excluded]
        if wanted:
            mask &= filter_mask(index, passages, make(index, passages, wanted, True))
        for row in restrictions:
            if row.field == field and row.excluded:
                mask &= ~filter_mask(index, passages, make(index, passages, [row.value], False))
    return mask


def known_languages(index: Index, passages: Passages, languages: Sequence[str]) -> tuple[str, ...]:
    """Return the languages in lower case. Raises AssayError with a suggestion for one that the index does not have."""
    available = {*passages.languages, *(row.language for row in index.files.values())}
    return tuple(require_name("language", language.lower(), sorted(available), "this index") for language in languages)


def _language_filter(index: Index, passages: Passages, values: Sequence[str], _required: bool) -> Filters:
    return Filters(languages=known_languages(index, passages, values))


def _kind_filter(_index: Index, _passages: Passages, values: Sequence[str], _required: bool) -> Filters:
    kinds = {require_name("kind", value.lower(), QUERY_KINDS, "query") for value in values}
    if _ALL in kinds:
        return Filters()
    documents, definitions = kinds & {_DOCUMENTS, PASSAGE}, kinds - {_DOCUMENTS, PASSAGE, _CODE}
    if _CODE in kinds or not definitions:
        return Filters(documents=bool(documents), code=_CODE in kinds)
    return Filters(kinds=(*([PASSAGE] if documents else []), *sorted(definitions)), documents=bool(documents))


def _path_filter(index: Index, passages: Passages, values: Sequence[str], required: bool) -> Filters:
    labels = [part.label for part in index.parts if part.label]
    filters = Filters(paths=tuple(pattern for value in values for pattern in _path_patterns(value, labels)))
    if required:
        paths = {*index.files, *passages.paths}
        for value in values:
            patterns = _path_patterns(value, labels)
            if not any(_matches(path, pattern) for path in paths for pattern in patterns):
                names = {*paths, *(name for path in paths for name in path.split("/"))}
                raise AssayError(f"no indexed file matches path:{value}.{did_you_mean(value.strip('/'), names)}")
    return filters


def _path_patterns(value: str, labels: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns of a path in a query: as in .gitignore, one without a slash inside matches at any depth."""
    bare = value.removeprefix("./").lstrip("/")
    if "/" in bare.rstrip("/") or value.startswith("/"):
        return (bare, *(f"{label}/{bare}" for label in labels))
    name = bare.rstrip("/")
    return (name, f"*/{name}/*", *(() if bare.endswith("/") else (f"*/{name}",)))


_MAKERS: dict[str, Callable[[Index, Passages, Sequence[str], bool], Filters]] = {
    "path": _path_filter,
    "lang": _language_filter,
    "kind": _kind_filter,
}
