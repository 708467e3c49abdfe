"""The tiered channel of names: exact before prefix before substring before path, identifiers before single words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from assay.rank.name_table import NameTable, Row
from assay.rank.query import Keywords

_FALLBACK = 5  # fewer results from identifiers than this: their parts and the task's single words are asked, too


class NameHit(NamedTuple):
    """An item by its number, the tier that found it, and the keyword it was found with."""

    number: int
    tier: str
    keyword: str


@dataclass(frozen=True, slots=True)
class Tier:
    """One way of matching. It runs while there are fewer than `below` results, and stops at `cap` results in all (0 = never)."""

    name: str
    find: Callable[[NameTable, str], Iterable[Row]]
    below: int = 0
    cap: int = 0
    shortest: int = 1  # characters a keyword must have


# conditions and caps of the specification
EXACT = Tier("exact", lambda table, keyword: table.exact(keyword))
PREFIX = Tier("prefix", lambda table, keyword: table.prefixed(keyword), below=15, cap=30)
SUBSTRING = Tier("substring", lambda table, keyword: table.containing(keyword), below=5, cap=20, shortest=4)
PATH = Tier("path", lambda table, keyword: table.under(keyword), below=30, cap=40, shortest=3)


@dataclass(slots=True)
class _Found:
    """What was found so far; the first tier and keyword to find an item keep it."""

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
    """The items the keywords name, best first: by tier, then by keyword, then product code and outer symbols first."""
    found = _Found()
    found.run(table, EXACT, keywords.primary)
    found.run(table, PREFIX, keywords.primary)
    if len(found.hits) < _FALLBACK:
        found.run(table, EXACT, keywords.components)
        found.run(table, PREFIX, keywords.components)
    found.run(table, SUBSTRING, keywords.all)
    found.run(table, PATH, keywords.all)
    return list(found.hits.values())
