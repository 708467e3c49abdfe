"""Owners of a file or a symbol: whom to ask, by CODEOWNERS and by the commits that changed it."""

from __future__ import annotations

from typing import NamedTuple

from assay.core.items import Item
from assay.store.index import Index
from assay.store.links.authors import Author, Authorship, LastChange, authorship
from assay.store.links.stated import TEAM


class Rule(NamedTuple):
    """An owner by CODEOWNERS, with the rule that says so."""

    owner: str
    path: str
    line: int
    pattern: str


class Owners(NamedTuple):
    """Whom to ask about a place, and its last change."""

    place: str  # id of the symbol, or path
    rules: tuple[Rule, ...]
    authors: tuple[Author, ...]
    commits: int
    last: LastChange | None
    of_file: bool  # authors and last change are those of the file: no recorded commit touched the symbol itself


def owners_of_path(index: Index, path: str) -> Owners:
    """Return the owners of a file, which need not be indexed."""
    return _owners(index, path, path, _authorship_of_file(index, path), of_file=False)


def owners_of(index: Index, item: Item) -> Owners:
    """Return the owners of a symbol: those of its file, and the authors of the symbol itself if there are any."""
    if not item.symbol:
        return owners_of_path(index, item.path)
    own = authorship(index, item)
    return _owners(
        index, item.id, item.path, own if own.commits else _authorship_of_file(index, item.path), not own.commits
    )


def _authorship_of_file(index: Index, path: str) -> Authorship:
    item = index.by_id(path)
    return authorship(index, item) if item else Authorship()


def _owners(index: Index, place: str, path: str, stated: Authorship, of_file: bool) -> Owners:
    links = index.links.about(path, ("owned_by",))
    rules = tuple(Rule(link.target.removeprefix(TEAM), link.path, link.line, link.detail) for link in links)
    return Owners(place, rules, stated.authors, stated.commits, stated.last, of_file)
