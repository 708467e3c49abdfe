"""What a session looked at lately: a boost that halves every three minutes."""

from __future__ import annotations

import math
from collections.abc import Iterable

HALF_LIFE = 180.0  # seconds: agents ask every 30 to 90
CAP = 2.0  # a symbol that is in every answer must not crowd out the others
NEGLIGIBLE = 0.01
KEPT_TIMES = 20  # of one symbol
FORGOTTEN = 3600.0  # seconds: by then even twenty accesses add up to less than what is negligible


def boost(times: Iterable[float], now: float) -> float:
    """The sum of what every access is still worth, from 0 to the cap. A clock that was set back makes none worth more than 1."""
    newest = sorted(times, reverse=True)[:KEPT_TIMES]
    total = math.fsum(0.5 ** (max(0.0, now - time) / HALF_LIFE) for time in newest)
    return min(total, CAP) if total >= NEGLIGIBLE else 0.0


def nearness(times: Iterable[float], now: float) -> float:
    """The boost as a share of its cap."""
    return boost(times, now) / CAP
