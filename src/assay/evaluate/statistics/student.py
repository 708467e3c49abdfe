"""Student's t: the two-sided tail and its inverse. The regularised incomplete beta function with b = 1/2, by continued fraction."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_TINY = 1e-300  # in place of a zero denominator (Lentz)
_PRECISION = 1e-15
_STEPS = 10_000
_LARGE = 50.0  # from here on the series for the gamma ratio is exact to the last digit


def two_sided_p(t: float, freedom: int) -> float:
    """The probability of a |t| at least this large with `freedom` degrees of freedom."""
    if math.isinf(t):
        return 0.0
    return _incomplete_beta(t * t / freedom, freedom / 2)


@lru_cache(maxsize=1024)
def quantile(probability: float, freedom: int) -> float:
    """The t below which `probability` (at least one half) of the distribution lies."""
    tail = 2 * (1 - probability)
    low, high = 0.0, max(1.0, NormalDist().inv_cdf(probability))
    while two_sided_p(high, freedom) > tail:
        low, high = high, 2 * high
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if two_sided_p(middle, freedom) > tail else (low, middle)
    return high


def _incomplete_beta(odds: float, a: float) -> float:
    """I_x(a, 1/2) at x = 1 / (1 + odds); given the odds because x itself is too near to 1 when a is large."""
    if odds == 0.0:
        return 1.0
    x, rest = 1 / (1 + odds), odds / (1 + odds)
    front = math.exp(_log_gamma_ratio(a) - a * math.log1p(odds) + math.log(rest) / 2) / math.sqrt(math.pi)
    if x < (a + 1) / (a + 2.5):
        return front * _continued_fraction(x, a, 0.5) / a
    return 1 - front * _continued_fraction(rest, 0.5, a) / 0.5


def _log_gamma_ratio(a: float) -> float:
    """log Γ(a + 1/2) - log Γ(a). The difference of two large logarithms would lose the digits that matter."""
    if a < _LARGE:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    return math.log(a) / 2 - 1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5)


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Of the incomplete beta function, by Lentz's method (Numerical Recipes 6.4)."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or _TINY)
    value = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = value
        for term in (even, odd):
            d = 1 / (1 + term * d or _TINY)
            c = 1 + term / c or _TINY
            value *= c * d
        if abs(value - before) <= _PRECISION * abs(value):
            break
    return value
