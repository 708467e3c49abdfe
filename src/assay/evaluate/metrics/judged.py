"""Judged runs as flat arrays of ranks and grades. Every metric is a reduction over these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

_SAME = "documents.same"  # key of an empty array: the main level is the document level


@dataclass(frozen=True, slots=True)
class Marks:
    """Ranks and grades of many queries in flat arrays, sorted by query and rank. Ranks start at 1."""

    owner: Ints
    rank: Ints
    grade: Ints

    @classmethod
    def of(cls, rows: list[tuple[int, int, int]]) -> Marks:
        """Build from sorted (query number, rank, grade) rows."""
        table = np.array(rows, dtype=np.int32).reshape(-1, 3)
        return cls(*(np.ascontiguousarray(table[:, column]) for column in range(3)))

    def __len__(self) -> int:
        return len(self.owner)

    def chosen(self, relevant_from: int, cut: int | None) -> Marks:
        """Return the marks of at least grade `relevant_from`, within the first `cut` ranks."""
        keep = self.grade >= relevant_from
        if cut is not None:
            keep &= self.rank <= cut
        return Marks(self.owner[keep], self.rank[keep], self.grade[keep])

    def count(self, queries: int) -> Floats:
        """Return the number of marks per query."""
        return np.bincount(self.owner, minlength=queries).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Level:
    """Judgements at one level of expectation.

    `hits`: matching results at their rank, with the best grade they match (0 or less: judged irrelevant).
    `found`: expectations, at the rank of the first result that matches them.
    `pairs`: expectations, each paired with at most one result.
    `wanted`: all expectations, best grade first, at their rank in that ideal list.

    Where every expectation can be matched only once, the first three are the same.
    """

    hits: Marks
    found: Marks
    pairs: Marks
    wanted: Marks


@dataclass(frozen=True, slots=True)
class Judged:
    """A judged run. `facts` are per-query figures without ranks (latency, tokens, refusals…); NaN = not measured."""

    queries: tuple[str, ...]
    returned: Ints  # results per query, duplicates included
    main: Level
    documents: Level | None = None  # document level, when the golden set has document expectations
    facts: dict[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.queries)

    def fact(self, name: str) -> Floats:
        return self.facts.get(name, np.full(len(self), np.nan))

    # serialisation

    def arrays(self) -> dict[str, NDArray[Any]]:
        named: dict[str, NDArray[Any]] = {"returned": self.returned}
        named |= {f"fact.{name}": values for name, values in self.facts.items()}
        named |= _level_arrays("main", self.main)
        if self.documents is self.main:
            named[_SAME] = np.array([], dtype=np.int32)
        elif self.documents is not None:
            named |= _level_arrays("documents", self.documents)
        return named

    @classmethod
    def from_arrays(cls, queries: tuple[str, ...], arrays: dict[str, NDArray[Any]]) -> Judged:
        facts = {name[5:]: values for name, values in arrays.items() if name.startswith("fact.")}
        main = _level(arrays, "main")
        documents = main if _SAME in arrays else None
        if "documents.wanted.owner" in arrays:
            documents = _level(arrays, "documents")
        return cls(queries, arrays["returned"], main, documents, facts)


def _level_arrays(name: str, level: Level) -> dict[str, NDArray[Any]]:
    parts = {"hits": level.hits, "wanted": level.wanted}
    if level.found is not level.hits:
        parts |= {"found": level.found, "pairs": level.pairs}
    return {
        f"{name}.{part}.{column}": getattr(marks, column)
        for part, marks in parts.items()
        for column in ("owner", "rank", "grade")
    }


def _level(arrays: dict[str, NDArray[Any]], name: str) -> Level:
    def marks(part: str) -> Marks:
        return Marks(*(arrays[f"{name}.{part}.{column}"] for column in ("owner", "rank", "grade")))

    hits = marks("hits")
    separate = f"{name}.found.owner" in arrays
    return Level(hits, marks("found") if separate else hits, marks("pairs") if separate else hits, marks("wanted"))
