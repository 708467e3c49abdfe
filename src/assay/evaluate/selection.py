"""Selections of a golden set's queries, by tier, tag, category and id."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace

from assay.core.golden import GoldenQuery, GoldenSet
from assay.errors import AssayError
from assay.text.suggest import did_you_mean

_ATTRIBUTES: dict[str, Callable[[GoldenQuery], Iterable[str]]] = {
    "tier": lambda query: (query.tier,),
    "tag": lambda query: query.tags,
    "category": lambda query: (query.category,),
    "query": lambda query: (query.id,),
}


@dataclass(frozen=True, slots=True)
class Selection:
    """Values that a query must have: one of those given for each attribute. Without any, all queries are selected."""

    tier: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    query: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self))

    def __str__(self) -> str:
        return ", ".join(f"{name} {' or '.join(required)}" for name in _ATTRIBUTES if (required := getattr(self, name)))

    def matches(self, query: GoldenQuery) -> bool:
        """Return True if a query has a required value of every attribute."""
        return all(
            not (required := getattr(self, name)) or not set(required).isdisjoint(values(query))
            for name, values in _ATTRIBUTES.items()
        )

    def positions(self, golden: GoldenSet) -> list[int]:
        """Return the positions of the selected queries; raise AssayError for values no query has, or none selected."""
        for name, values in _ATTRIBUTES.items():
            present = {value for query in golden.queries for value in values(query) if value}
            for required in getattr(self, name):
                if required not in present:
                    choices = f" It has {', '.join(sorted(present)[:10])}." if name != "query" and present else ""
                    raise AssayError(
                        f"{golden.path}: no query has the {name.replace('query', 'id')} '{required}'."
                        f"{did_you_mean(required, present, 3) or choices}"
                    )
        selected = [number for number, query in enumerate(golden.queries) if self.matches(query)]
        if not selected:
            raise AssayError(f"{golden.path}: no query has {self}")
        return selected

    def of(self, golden: GoldenSet) -> GoldenSet:
        """Return the set with the selected queries only, which is another set: its digest differs."""
        if not self:
            return golden
        from assay.evaluate.golden import digest  # reading formats is slow to import, and most commands do not select

        queries = tuple(golden.queries[number] for number in self.positions(golden))
        message = f"{len(queries)} of {len(golden.queries)} queries: those with {self}"
        return replace(golden, queries=queries, digest=digest(queries), warnings=(*golden.warnings, message))


ALL = Selection()
