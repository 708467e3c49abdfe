"""What a mean and a difference are worth: intervals, paired tests, effect sizes, what a golden set can detect at all.

    values ──▶ summary · latency · mean_interval
    a, b ────▶ paired ──▶ delta, interval, p (randomisation, Wilcoxon, t), effect, detectable ──▶ holm over the metrics shown

Pure functions of float arrays. NaN is "not measured", left out (pairwise) and counted; a result that cannot be known is NaN too.
The same input gives the same output, whatever the order of the queries. docs/guides/statistics.md says how to read the numbers.
"""

from assay.evaluate.statistics.intervals import (
    ASSUMED_SD,
    RESAMPLES,
    Interval,
    Latency,
    Summary,
    detectable,
    detectable_before,
    latency,
    mean_interval,
    queries_needed,
    summary,
)
from assay.evaluate.statistics.tests import Paired, holm, paired, randomisation, student_t, wilcoxon

__all__ = [
    "ASSUMED_SD",
    "RESAMPLES",
    "Interval",
    "Latency",
    "Paired",
    "Summary",
    "detectable",
    "detectable_before",
    "holm",
    "latency",
    "mean_interval",
    "paired",
    "queries_needed",
    "randomisation",
    "student_t",
    "summary",
    "wilcoxon",
]
