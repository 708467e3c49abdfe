"""Splitting identifiers into words, and the nearest existing names for a name that was not found."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import lru_cache

_PIECE = re.compile(
    r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+"
)  # letters of other scripts count as small ones

# Comparing takes time with the product of two lengths. What is longer is pasted text or data, and nobody mistypes that.
LONGEST_NAME = 200
_ALIKE = 0.6  # share of letters in common from which a name may be another one mistyped


@lru_cache(maxsize=1 << 14)
def words(identifier: str) -> tuple[str, ...]:
    """`parseHTTPHeader_v2` → parse, http, header, v, 2."""
    return tuple(piece.lower() for piece in _PIECE.findall(identifier))


def nearest(name: str, names: Iterable[str], limit: int = 5) -> list[str]:
    """Return the names most like `name`: those that share words with it or differ by a few letters, best first."""
    if len(name) > LONGEST_NAME:
        return []
    wanted, asked = set(words(name)), name.lower()
    close = difflib.SequenceMatcher(
        None, "", asked, autojunk=False
    )  # what is compared with all others is prepared once
    scored: list[tuple[float, str]] = []
    for candidate in set(names):
        if len(candidate) > LONGEST_NAME:
            continue
        shared = len(wanted.intersection(words(candidate)))
        close.set_seq1(candidate.lower())
        if shared or (close.real_quick_ratio() > _ALIKE and close.quick_ratio() > _ALIKE):
            ratio = close.ratio()
            if shared or ratio > _ALIKE:
                scored.append((shared / (len(wanted) or 1) + ratio, candidate))
    return [candidate for _, candidate in sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:limit]]
