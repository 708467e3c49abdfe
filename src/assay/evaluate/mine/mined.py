"""What mining is told and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from assay.core.golden import GoldenQuery


@dataclass(frozen=True, slots=True)
class Options:
    """What to mine and what to leave out; 0 and "" mean no bound."""

    limit: int = 0  # queries, the newest first
    max_commits: int = 0  # commits looked at
    since: str = ""  # a date (UTC) or a revision
    until: str = ""
    max_files: int = 10  # more is a bulk change: its message speaks of none of them
    max_symbols: int = 20
    min_words: int = 4  # fewer say too little to search for
    keep_trailers: bool = False
    strip_ids: bool = False
    strip_names: bool = False
    include_tests: bool = False
    held_out: bool = False  # mark docstring queries as ones whose doc comment the index must not see


class Progress(Protocol):
    """What is told how far the work is."""

    def start(self, stage: str, total: int) -> None: ...
    def advance(self, count: int = 1) -> None: ...


@dataclass(frozen=True, slots=True)
class Mined:
    """Mined queries in a stable order, how many candidates were left out for each reason, and what the user should know."""

    queries: list[GoldenQuery]
    counts: dict[str, int]
    warnings: list[str] = field(default_factory=list)


class LeftOut(Exception):
    """A candidate that makes no query; the text is the reason it is counted under."""
