"""Name channel in tiers: exact, prefix, substring, path; identifiers before single words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from assay.rank.query import Keywords
from assay.rank.signals.signal import Signal, Stage
from assay.rank.symbols import NameTable, Row

if TYPE_CHECKING:
    from assay.rank.context import QueryContext

_FALLBACK = 5  # with fewer results from identifiers than this, single words are looked up too


class NameHit(NamedTuple):
    """An item number with the tier and keyword that matched it."""

    number: int
    tier: str
    keyword: str


@dataclass(frozen=True, slots=True)
class Tier:
    """A matching rule: runs while there are fewer than `below` hits, stops at `cap` hits in all (0 = no limit)."""

    name: str
    find: Callable[[NameTable, str], Iterable[Row]]
    below: int = 0
    cap: int = 0
    shortest: int = 1  # minimum keyword length


# limits of the specification
EXACT = Tier("exact", lambda table, keyword: table.exact(keyword))
PREFIX = Tier("prefix", lambda table, keyword: table.prefixed(keyword), below=15, cap=30)
SUBSTRING = Tier("substring", lambda table, keyword: table.containing(keyword), below=5, cap=20, shortest=4)
PATH = Tier("path", lambda table, keyword: table.under(keyword), below=30, cap=40, shortest=3)


@dataclass(slots=True)
class _Hits:
    """Hits so far; the first tier and keyword that match an item are kept."""

    hits: dict[int, NameHit] = field(default_factory=dict)

    def run(self, table: NameTable, tier: Tier, keywords: Iterable[str]) -> None:
        if tier.below and len(self.hits) >= tier.below:
            return
        for keyword in dict.fromkeys(keyword.lower() for keyword in keywords):
            if len(keyword) < tier.shortest:
                continue
            for row in tier.find(table, keyword):
                if tier.cap and len(self.hits) >= tier.cap:
                    return
                self.hits.setdefault(row.number, NameHit(row.number, tier.name, keyword))


def names(table: NameTable, keywords: Keywords) -> list[NameHit]:
    """Return the items the keywords name: by tier, then keyword, then product code and outer symbols first."""
    matches = _Hits()
    matches.run(table, EXACT, keywords.primary)
    matches.run(table, PREFIX, keywords.primary)
    if len(matches.hits) < _FALLBACK:
        matches.run(table, EXACT, keywords.components)
        matches.run(table, PREFIX, keywords.components)
    matches.run(table, SUBSTRING, keywords.all)
    matches.run(table, PATH, keywords.all)
    return list(matches.hits.values())


def called(query: QueryContext) -> list[int]:
    """Return items the task calls by their whole name, quoted or as an identifier."""
    table, keywords = query.resources.names, query.task.keywords.primary
    return query.cached("called", lambda: [row.number for keyword in keywords for row in table.exact(keyword)])


NAMES = Signal(
    "names",
    Stage.CHANNEL,
    "pointed at",
    "matched by name",
    weights={"channels.names": ()},
    generate=lambda query: [hit.number for hit in names(query.resources.names, query.task.keywords)],
    is_feature=True,
)
