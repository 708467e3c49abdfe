"""Verifying a golden set: does every expectation exist in the corpus? What does not can never be found, and looks like a ranking loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.core.golden import Expected, GoldenQuery
from assay.core.hits import Hit
from assay.evaluate.matching import MATCHERS, Matcher, components
from assay.text.identifiers import nearest

_SUGGESTED = 3
_TASK = 40  # characters of a task shown


@dataclass(frozen=True, slots=True)
class Missing:
    """An expectation that nothing in the corpus matches."""

    query: GoldenQuery
    expected: Expected
    near: tuple[str, ...]

    def __str__(self) -> str:
        task = self.query.text if len(self.query.text) <= _TASK else self.query.text[: _TASK - 2].rstrip() + "..."
        hint = f"  (nearest: {', '.join(self.near)})" if self.near else ""
        return f"MISSING [{self.query.tier or '-'}] {task}: {self.expected.name}{hint}"


class Inventory:
    """Everything a corpus has, looked up by name. Levels it knows nothing about are not checked."""

    def __init__(self, hits: Iterable[Hit], levels: Iterable[str]) -> None:
        self.hits = list(hits)
        self.levels = frozenset(levels)
        self._by_name: dict[str, list[Hit]] = {}
        self._exact: set[str] = set()
        self._paths: set[str] = set()
        for hit in self.hits:
            self._exact |= {hit.id, hit.symbol, hit.doc}
            if hit.path:
                parts = hit.path.split("/")
                self._paths |= {"/".join(parts[at:]) for at in range(len(parts))}
            for part in components(hit.symbol or hit.id)[-1:]:
                self._by_name.setdefault(part, []).append(hit)

    def has(self, expected: Expected, matcher: Matcher) -> bool:
        """Whether anything of the corpus matches: by its last name part first, by going through everything only if that fails."""
        if expected.level in ("file", "span"):
            return (expected.doc or expected.name).removeprefix("./") in self._paths
        if expected.name in self._exact:
            return True
        if expected.level != "symbol":
            return False
        named = self._by_name.get((components(expected.name) or ("",))[-1], [])
        if any(MATCHERS["strict"].matches(hit, expected) for hit in named):
            return True
        # `dotted` counts a class for its methods: that says nothing about whether the method exists
        return matcher.name == "symbol" and any(matcher.matches(hit, expected) for hit in self.hits)

    def nearest(self, expected: Expected) -> tuple[str, ...]:
        if expected.level in ("file", "span"):
            return tuple(nearest(expected.name, {hit.path for hit in self.hits if hit.path}, _SUGGESTED))
        names = {hit.symbol or hit.id for hit in self.hits}
        return tuple(nearest(expected.name.rpartition("::")[2], names, _SUGGESTED))


def verify(
    queries: Sequence[GoldenQuery], inventories: Mapping[str, Inventory], matcher: Matcher
) -> tuple[list[Missing], int, int]:
    """What is missing, how many expectations were checked, and how many are of a level or repository nobody can check here.

    Inventories are by repository; the one called "" serves queries that name none.
    """
    missing: list[Missing] = []
    checked = skipped = 0
    for query in queries:
        inventory = inventories.get(query.repository) or inventories.get("")
        for expected in query.expected:
            if inventory is None or expected.level not in inventory.levels:
                skipped += 1
                continue
            checked += 1
            if not inventory.has(expected, matcher):
                missing.append(Missing(query, expected, inventory.nearest(expected)))
    return missing, checked, skipped
