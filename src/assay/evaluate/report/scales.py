"""From values to places on a plot, with ticks at round numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

_SAME = 1e-9  # values nearer than this are one value


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps low…high to start…end (in pixels), evenly or by powers of ten; values outside land on the ends."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(at)
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)


def round_ticks(low: float, high: float, wanted: int = 5, whole: bool = False) -> list[float]:
    """About `wanted` round numbers from at or below `low` to at or above `high`; `whole` for counts."""
    if high - low < _SAME:
        high = low + 1.0
    step = _round_step((high - low) / max(1, wanted))
    if whole:
        step = max(1.0, step)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def power_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten from at or below `low` to at or above `high`; both above 0."""
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    every = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    below = max(tick for tick in every if tick <= low)
    above = min(tick for tick in every if tick >= high and tick > below)
    return [tick for tick in every if below <= tick <= above]


def tick_text(value: float) -> str:
    """A tick without needless zeros: `0.2`, `1`, `1,500`, `−0.05`."""
    return f"{value:,.10f}".rstrip("0").rstrip(".").replace("-", "−")


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= rough * (1 - 1e-9))
