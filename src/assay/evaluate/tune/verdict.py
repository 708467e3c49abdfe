"""What a tuning amounts to: a gain, none that is more than chance, or too few queries to tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.evaluate.metrics.judged import Floats
from assay.evaluate.statistics import Paired, detectable, paired, queries_needed, summary

ALPHA = 0.05
LEAST = 40  # judged queries; with fewer, a fold has less than eight
LARGEST = 0.05  # about the most that tuning brings (docs/guides/tune.md): what a set must be able to show

GAIN, NO_GAIN, TOO_FEW = "gain", "no gain", "too few queries"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome, the comparison of base and tuned on held-out queries, and how many queries would tell."""

    outcome: str
    held_out: Paired
    needed: int = (
        0  # queries that show a gain of LARGEST where differences spread like these; 0 unless they are too few
    )


def judge(base: Floats, tuned: Floats, clusters: Sequence[str] | None = None) -> Verdict:
    """Figures of each query by the base, and by what was tuned without it."""
    pair = paired(base, tuned, clusters=clusters if enough(clusters) else None)
    if pair.delta > 0 and pair.p < ALPHA:
        return Verdict(GAIN, pair)
    spread = summary(tuned - base).sd
    if spread > 0 and detectable(spread, pair.n) > LARGEST and pair.interval.high >= LARGEST:
        return Verdict(TOO_FEW, pair, queries_needed(LARGEST, spread))
    return Verdict(NO_GAIN, pair)


def enough(clusters: Sequence[str] | None) -> bool:
    """Whether there are so many clusters that their signs can tell anything: five cannot, whatever they show."""
    return clusters is not None and 2.0 ** (1 - len(set(clusters))) <= ALPHA
