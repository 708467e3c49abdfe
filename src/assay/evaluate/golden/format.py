"""What a golden-set format is: how it is recognised, read and written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from assay.core.golden import LEVELS, GoldenQuery
from assay.evaluate.golden.nodes import Problems


@dataclass(frozen=True, slots=True)
class Rendered:
    """A set as text: by path inside its folder, or under "" when it is one file. `lost` says what the format cannot hold."""

    files: dict[str, str]
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Format:
    """One row of the table of formats."""

    name: str
    description: str  # one line, for people who choose
    detect: Callable[[Path], bool]
    read: Callable[[Path, Problems], list[GoldenQuery]]
    render: Callable[[Sequence[GoldenQuery]], Rendered]
    # the texts of a set at a path with one query more: only the files that change
    extend: Callable[[GoldenQuery, Path], Rendered] | None = None
    folder: bool = False  # a set is a folder of files


# What a format can hold of a golden query, and what would be lost.

_KEPT_BY_ALL = ("id", "text", "expected", "where")
_EMPTY: dict[str, Any] = {f.name: f.default for f in fields(GoldenQuery) if f.name not in _KEPT_BY_ALL}


def fit(queries: Sequence[GoldenQuery], roles: Collection[str]) -> tuple[list[GoldenQuery], list[str]]:
    """The queries with only the attributes and levels in `roles`, and a line for each thing that this takes away."""
    lost = [
        f"{count} of {len(queries)} queries: {name.replace('_', ' ')} not kept"
        for name, empty in _EMPTY.items()
        if name not in roles and (count := sum(getattr(q, name) != empty for q in queries))
    ]
    lost += [
        f"{count} of {len(queries)} queries: expectations at {level} level not kept"
        for level in LEVELS
        if level not in roles and (count := sum(any(e.level == level for e in q.expected) for q in queries))
    ]
    absent = {name: empty for name, empty in _EMPTY.items() if name not in roles}
    reduced = [
        replace(query, expected=tuple(e for e in query.expected if e.level in roles), **absent) for query in queries
    ]
    kept = [query for query in reduced if query.expected or query.refuse or query.must_contain or query.forbidden]
    if len(kept) < len(queries):
        lost.append(
            f"{len(queries) - len(kept)} of {len(queries)} queries left out: what they expect cannot be written"
        )
    return kept, lost


def as_documents(queries: Sequence[GoldenQuery]) -> tuple[list[GoldenQuery], list[str]]:
    """Queries whose expectations are document ids: those they have, or else the names of the first level they have."""
    used = {e.level for query in queries for e in query.expected}
    level = "doc" if "doc" in used or not used else next(level for level in LEVELS if level in used)
    if level == "doc":
        return list(queries), []
    out = []
    for query in queries:
        grades: dict[str, int] = {}
        for one in query.expected:
            if one.level == level:
                grades[one.name] = max(one.grade, grades.get(one.name, one.grade))
        others = [e for e in query.expected if e.level != level]
        documents = [
            replace(query.expected[0], name=name, level="doc", grade=grade, doc="", start=0, end=0, page=0)
            for name, grade in grades.items()
        ]
        out.append(replace(query, expected=(*documents, *others)))
    return out, [f"{level} names are written as document ids"]
