"""Splitting identifiers into words, and the nearest existing names for a name that was not found."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import lru_cache

_PIECE = re.compile(
    r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+"
)  # letters of other scripts count as small ones
_ALIKE = 0.6  # the share of letters in common from which names are like each other


@lru_cache(maxsize=1 << 14)
def words(identifier: str) -> tuple[str, ...]:
    """`parseHTTPHeader_v2` → parse, http, header, v, 2."""
    return tuple(piece.lower() for piece in _PIECE.findall(identifier))


def nearest_to_words(unknown: Iterable[str], names: Iterable[str], limit: int = 5) -> list[str]:
    """The names whose last part is most like one of some words and begins as it does, best first."""
    wanted = [word.lower() for word in unknown]
    last = {name.replace("::", ".").rpartition(".")[2].lower(): name for name in sorted(names, reverse=True)}
    scored: dict[str, float] = {}
    for word in wanted:
        matcher = difflib.SequenceMatcher(None, b=word)
        for part, name in last.items():
            if part[:1] == word[:1]:
                matcher.set_seq1(part)
                # the cheap bounds first: few names come to the last
                if matcher.real_quick_ratio() > _ALIKE and matcher.quick_ratio() > _ALIKE and matcher.ratio() > _ALIKE:
                    scored[name] = max(scored.get(name, 0.0), matcher.ratio())
    return sorted(scored, key=lambda name: (-scored[name], name))[:limit]


def nearest(name: str, names: Iterable[str], limit: int = 5) -> list[str]:
    """The names most like `name`: those that share words with it or differ by a few letters, best first."""
    wanted, asked = set(words(name)), name.lower()
    scored: list[tuple[float, str]] = []
    for candidate in set(names):
        shared = len(wanted & set(words(candidate)))
        close = difflib.SequenceMatcher(None, asked, candidate.lower())
        if shared or close.quick_ratio() > _ALIKE:
            ratio = close.ratio()
            if shared or ratio > _ALIKE:
                scored.append((shared / (len(wanted) or 1) + ratio, candidate))
    return [candidate for _, candidate in sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:limit]]
