"""Rules of seed 000 for good fixtures: three to eight symbols, numbered file names, tiers by packages.

A set that breaks them can be run; its figures are noisier, or its tiers mean less, than a reader would think.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from assay.core.cautions import Caution
from assay.core.golden import Expected, GoldenQuery

FEWEST_SYMBOLS, MOST_SYMBOLS = 3, 8  # fewer: one hit is a third of recall; more: ten results cannot hold them
_FILE_NAME = re.compile(r"\d{2,}-[a-z0-9]+(-[a-z0-9]+)*")
_FEWEST_PACKAGES = {"hard": 4, "medium": 2, "easy": 1}
_LISTED = 5  # fixtures named in a message

Packages = Callable[[Expected, str], frozenset[str]]  # (expectation, repository) → folders of what matches it


def fixture_cautions(queries: Sequence[GoldenQuery], packages: Packages) -> list[Caution]:
    """Return a caution for each rule that fixtures break, with the first that do."""
    broken = {
        "fixture-size": {
            query.id: f"{query.id} ({len(query.at('symbol'))})"
            for query in queries
            if query.at("symbol") and not FEWEST_SYMBOLS <= len(query.at("symbol")) <= MOST_SYMBOLS
        },
        "fixture-name": {
            query.id: query.id
            for query in queries  # which know their file with its line
            if not _FILE_NAME.fullmatch(PurePosixPath(query.where.partition(":")[0].replace("\\", "/")).stem)
        },
        "fixture-tier": {
            query.id: f"{query.id} (looks {tier})"
            for query in queries
            if query.tier in _FEWEST_PACKAGES and (tier := _tier(query, packages)) not in ("", query.tier)
        },
    }
    return [
        Caution(code, f"{_RULES[code].format(count=len(named), total=len(queries))}: {_first(list(named.values()))}")
        for code, named in broken.items()
        if named
    ]


_RULES = {
    "fixture-size": f"{{count}} of {{total}} fixtures do not expect {FEWEST_SYMBOLS} to {MOST_SYMBOLS} symbols",
    "fixture-name": "{count} of {total} fixtures are not named like 04-rank-by-authority.yaml",
    "fixture-tier": (
        "{count} of {total} fixtures are in another tier than their packages suggest (1: easy, 2 or 3: medium, 4 or more: hard)"
    ),
}


def _first(names: list[str]) -> str:
    return ", ".join(names[:_LISTED]) + (f" … and {len(names) - _LISTED} more" if len(names) > _LISTED else "")


def _tier(query: GoldenQuery, packages: Packages) -> str:
    """Return the tier by the smallest number of packages that hold the symbols; empty when one is unknown."""
    candidates = [packages(expected, query.repository) for expected in query.at("symbol")]
    if not candidates or not all(candidates):
        return ""
    counted: set[str] = set()
    for folders in sorted(candidates, key=len):  # names that several packages have take one that is counted anyway
        if counted.isdisjoint(folders):
            counted.add(min(folders))
    return next(tier for tier, fewest in _FEWEST_PACKAGES.items() if len(counted) >= fewest)
