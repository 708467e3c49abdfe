"""Authors of items: who changed them, by the commits of the stored history.

Commits by bots, merges, first commits and bulk changes are no evidence and not in the history. Which symbols a commit
touched is recorded for the newest commits only; their file is known for more of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from assay.core.items import Item, Link
from assay.store.history import HALF_LIFE
from assay.store.index import Index

PERSON = "person:"
_MOST = 3  # authors of an item that are linked: those to ask
_OF_SYMBOL = 0.9  # confidence that a commit touched a symbol: hunks name it, and code moves


class LastChange(NamedTuple):
    """The newest commit that touched an item."""

    commit: str
    time: int  # seconds since 1970
    author: str
    subject: str


class Author(NamedTuple):
    """A person with the commits on an item."""

    name: str
    commits: int
    share: float  # of all commits on the item
    last: int  # time of the newest one, seconds since 1970


class Authorship(NamedTuple):
    """The authors of an item, most relevant first, and its last change."""

    authors: tuple[Author, ...] = ()
    commits: int = 0
    last: LastChange | None = None


def authorship(index: Index, item: Item) -> Authorship:
    """Return who changed an item. Recent commits count more in the order, but not in the shares."""
    history = index.history
    commits = history.symbol_changes(item) if item.path in index.files else []
    if not commits:
        return Authorship()
    newest = int(history.times.max(initial=0))
    counts: dict[str, int] = {}
    weights: dict[str, float] = {}
    last: dict[str, int] = {}
    for commit in commits:
        name, time = history.author(commit), int(history.times[commit])
        counts[name] = counts.get(name, 0) + 1
        weights[name] = weights.get(name, 0.0) + 0.5 ** ((newest - time) / HALF_LIFE)
        last[name] = max(last.get(name, 0), time)
    names = sorted(filter(None, counts), key=lambda name: (-weights[name], -counts[name], name))
    authors = tuple(Author(name, counts[name], counts[name] / len(commits), last[name]) for name in names)
    first = max(commits, key=lambda commit: int(history.times[commit]))
    change = LastChange(
        history.id(first), int(history.times[first]), history.author(first), history.subject(first)
    )  # fmt: skip
    return Authorship(authors, len(commits), change)


def day(time: int) -> str:
    """Return a time in seconds since 1970 as a date: `2026-03-01`; empty if there is no such date."""
    try:
        return datetime.fromtimestamp(time, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def links(index: Index, id: str) -> Iterator[Link]:
    """Yield the authors of an item."""
    item = index.by_id(id)
    if item is None:
        return
    stated = authorship(index, item)
    provenance, confidence = ("inferred", _OF_SYMBOL) if item.symbol else ("parsed", 1.0)
    for author in stated.authors[:_MOST]:
        detail = f"{author.commits} of {stated.commits} commits, last {day(author.last)}"
        yield Link(id, PERSON + author.name, "authored_by", provenance, confidence, detail=detail)
