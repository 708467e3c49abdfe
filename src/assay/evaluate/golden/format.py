"""Golden-set formats: the interface (detect, read, render, extend), and fitting queries to a format's fields."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from assay.core.golden import LEVELS, GoldenQuery
from assay.evaluate.golden.nodes import Problems


@dataclass(frozen=True, slots=True)
class Rendered:
    """A set as text, by path inside its folder, or under "" when it is one file. `lost` lists what the format drops."""

    files: dict[str, str]
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Format:
    """A row of the format table."""

    name: str
    description: str  # one line, shown in help and errors
    detect: Callable[[Path], bool]
    read: Callable[[Path, Problems], list[GoldenQuery]]
    render: Callable[[Sequence[GoldenQuery]], Rendered]
    # files that change when a query is added to the set at a path; None: the format cannot be extended
    extend: Callable[[GoldenQuery, Path], Rendered] | None = None
    folder: bool = False  # a set is a folder, not a single file


# fitting queries to a format

_IN_EVERY_FORMAT = ("id", "text", "expected", "where")
_OPTIONAL_DEFAULTS: dict[str, Any] = {f.name: f.default for f in fields(GoldenQuery) if f.name not in _IN_EVERY_FORMAT}


def fit(queries: Sequence[GoldenQuery], roles: Collection[str]) -> tuple[list[GoldenQuery], list[str]]:
    """Return the queries reduced to the attributes and levels in `roles`, and a message per dropped thing."""
    lost = [
        f"{count} of {len(queries)} queries: {name.replace('_', ' ')} not kept"
        for name, default in _OPTIONAL_DEFAULTS.items()
        if name not in roles and (count := sum(getattr(q, name) != default for q in queries))
    ]
    lost += [
        f"{count} of {len(queries)} queries: expectations at {level} level not kept"
        for level in LEVELS
        if level not in roles and (count := sum(any(e.level == level for e in q.expected) for q in queries))
    ]
    absent = {name: default for name, default in _OPTIONAL_DEFAULTS.items() if name not in roles}
    reduced = [
        replace(query, expected=tuple(e for e in query.expected if e.level in roles), **absent) for query in queries
    ]
    writable = [query for query in reduced if query.expected or query.refuse or query.must_contain or query.forbidden]
    if len(writable) < len(queries):
        lost.append(
            f"{len(queries) - len(writable)} of {len(queries)} queries left out: their expectations cannot be written"
        )
    return writable, lost


def as_documents(queries: Sequence[GoldenQuery]) -> tuple[list[GoldenQuery], list[str]]:
    """Return the queries with document ids as expectations: their own, else the names at the first level the set uses.

    Also return a message when another level was converted.
    """
    levels_used = {e.level for query in queries for e in query.expected}
    level = (
        "doc" if "doc" in levels_used or not levels_used else next(level for level in LEVELS if level in levels_used)
    )
    if level == "doc":
        return list(queries), []
    converted = []
    for query in queries:
        grades: dict[str, int] = {}
        for expected in query.expected:
            if expected.level == level:
                grades[expected.name] = max(expected.grade, grades.get(expected.name, expected.grade))
        others = [e for e in query.expected if e.level != level]
        documents = [
            replace(query.expected[0], name=name, level="doc", grade=grade, doc="", start=0, end=0, page=0)
            for name, grade in grades.items()
        ]
        converted.append(replace(query, expected=(*documents, *others)))
    return converted, [f"{level} names are written as document ids"]
