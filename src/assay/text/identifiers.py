"""Splitting identifiers into words, and the nearest existing names for a name that was not found."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import lru_cache

_PIECE = re.compile(
    r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+"
)  # letters of other scripts count as small ones


@lru_cache(maxsize=1 << 14)
def words(identifier: str) -> tuple[str, ...]:
    """`parseHTTPHeader_v2` → parse, http, header, v, 2."""
    return tuple(piece.lower() for piece in _PIECE.findall(identifier))


def nearest(name: str, names: Iterable[str], limit: int = 5) -> list[str]:
    """The names most like `name`: those that share words with it or differ by a few letters, best first."""
    wanted, asked = set(words(name)), name.lower()
    scored: list[tuple[float, str]] = []
    for candidate in set(names):
        shared = len(wanted & set(words(candidate)))
        close = difflib.SequenceMatcher(None, asked, candidate.lower())
        if shared or close.quick_ratio() > 0.6:
            ratio = close.ratio()
            if shared or ratio > 0.6:
                scored.append((shared / (len(wanted) or 1) + ratio, candidate))
    return [candidate for _, candidate in sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:limit]]
