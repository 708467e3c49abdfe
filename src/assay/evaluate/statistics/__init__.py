"""Statistics of means and differences: confidence intervals, paired tests, effect sizes, detectable differences.

    values ──▶ summary · latency · mean_interval
    a, b ────▶ paired ──▶ delta, interval, p (randomisation, Wilcoxon, t), effect, detectable ──▶ holm over the metrics

Pure functions of float arrays. NaN means "not measured": left out (pairwise) and counted; undefined results are NaN.
Results do not depend on the order of the queries. docs/guides/statistics.md explains how to read the numbers.
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
