"""The definitions of a text, as mining is told of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition in a text; lines count from 1, both included."""

    symbol: str  # the qualified name, without a path
    kind: str
    start: int
    end: int
    doc: str = ""
    language: str = ""
    test: bool = False


# path and text of a file → its definitions; none for what it cannot read
Locator = Callable[[str, str], list[Definition]]
