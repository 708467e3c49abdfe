"""Coverage of the 95 % intervals, by simulation: how often they contain the true mean.

    python benchmarks/interval_coverage.py            prints the tables of docs/guides/statistics.md
    python benchmarks/interval_coverage.py --cells    also every cell: distribution, share of changed queries, n

Paired differences: a share of the queries changes, the others differ by 0. Samples in which no query changes have no
spread to measure (the comparison says "same"); they are left out and counted apart. Means of single runs: below.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from assay.evaluate.statistics import mean_interval
from assay.evaluate.statistics.intervals import Floats, difference_interval, quantile, units_of

SIZES = (10, 20, 30, 50, 100, 200)
SHARES = {"sparse: 10 to 20 % changed": (0.10, 0.15, 0.20), "dense: 40 to 100 % changed": (0.4, 0.7, 1.0)}
SAMPLES = 2_000
RESAMPLES = 1_000  # of the bootstrap

Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


def success(gains: float) -> tuple[Draw, float]:
    """Changed queries are gained (+1) with probability `gains`, else lost (-1)."""
    return lambda random, shape: np.where(random.random(shape) < gains, 1.0, -1.0), 2 * gains - 1


def reciprocal_rank(before: float, after: float) -> tuple[Draw, float]:
    """Changed queries get new ranks: geometric with these chances, nothing beyond rank 10."""
    values = np.append(1 / np.arange(1, 11), 0.0)

    def chances(chance: float) -> Floats:
        ranked = chance * (1 - chance) ** np.arange(10)
        return np.append(ranked, 1 - ranked.sum())

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
        new, old = (random.choice(values, shape, p=chances(chance)) for chance in (after, before))
        return np.asarray(new - old)

    return draw, float(values @ (chances(after) - chances(before)))


STEPS = np.array([1 / 90, 1 / 56, 1 / 30, 1 / 12, 1 / 6])  # of reciprocal ranks


def small_steps() -> tuple[Draw, float]:
    """Changed queries move by a rank or two, one in ten is found or lost: symmetric, with heavy tails."""

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
        size = np.where(random.random(shape) < 0.1, 1.0, random.choice(STEPS, shape))
        return np.where(random.random(shape) < 0.5, size, -size)

    return draw, 0.0


def rare_gains() -> tuple[Draw, float]:
    """Changed queries lose a rank or two, one in ten is found: what carries the mean is rarely in a small sample."""

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
        return np.where(random.random(shape) < 0.1, 1.0, -random.choice(STEPS, shape))

    return draw, 0.1 - 0.9 * float(STEPS.mean())


def recall(before: float, after: float) -> tuple[Draw, float]:
    """Changed queries find each of four documents anew with these chances."""
    return (
        lambda random, shape: (random.binomial(4, after, shape) - random.binomial(4, before, shape)) / 4,
        after - before,
    )


DISTRIBUTIONS = {
    "success, half gains": success(0.5),
    "success, 80 % gains": success(0.8),
    "reciprocal rank, symmetric": reciprocal_rank(0.3, 0.3),
    "reciprocal rank, better": reciprocal_rank(0.15, 0.5),
    "reciprocal rank, found anew": reciprocal_rank(0.0, 0.3),
    "reciprocal rank, small steps": small_steps(),
    "recall, symmetric": recall(0.5, 0.5),
    "recall, better": recall(0.4, 0.7),
}


def percentile_bootstrap(samples: Floats) -> Floats:
    """Return the intervals that differences had before: percentiles of bootstrap means, widened for small samples."""
    n = samples.shape[1]
    weights = np.random.default_rng(5).multinomial(n, np.full(n, 1 / n), RESAMPLES)
    tail = NormalDist().cdf(-np.sqrt(n / (n - 1)) * quantile(0.975, n - 1))
    return np.asarray(np.quantile(samples @ weights.T / n, [tail, 1 - tail], axis=1))


def student_t(samples: Floats) -> Floats:
    n = samples.shape[1]
    half = quantile(0.975, n - 1) * samples.std(axis=1, ddof=1) / np.sqrt(n)
    return np.array([samples.mean(axis=1) - half, samples.mean(axis=1) + half])


def ours(samples: Floats) -> Floats:
    intervals = [difference_interval(units_of(sample)) for sample in samples]
    return np.array([[interval.low, interval.high] for interval in intervals]).T


RARE = "rare large gains"
METHODS = {"percentile bootstrap": percentile_bootstrap, "t": student_t, "used": ours}


def coverage(ends: Floats, truth: float) -> float:
    return float(np.mean((ends[0] <= truth + 1e-9) & (truth <= ends[1] + 1e-9)))


def samples_of(name: str, share: float, n: int, count: int = SAMPLES) -> tuple[Floats, float, float]:
    """Return samples of differences with at least one change, their true mean, and the share of samples without one."""
    draw, mean = rare_gains() if name == RARE else DISTRIBUTIONS[name]
    random = np.random.default_rng([n, round(100 * share), *name.encode()])
    samples = np.where(random.random((count, n)) < share, draw(random, (count, n)), 0.0)
    changed = samples.any(axis=1)
    return samples[changed], share * mean, 1 - float(changed.mean())


def differences(cells: bool) -> None:
    print("| n | queries changed | " + " | ".join(METHODS) + " | within 93 to 97 % | no change at all |")
    print("|---:|---|" + "---|" * len(METHODS) + "---:|---:|")
    for kind, shares in SHARES.items():
        for n in SIZES:
            rows, unchanged = [], 0.0
            for name in DISTRIBUTIONS:
                for share in shares:
                    samples, truth, none = samples_of(name, share, n)
                    rows.append([coverage(method(samples), truth) for method in METHODS.values()])
                    unchanged = max(unchanged, none)
                    if cells:
                        print(f"  {name:30s} {share:.2f} {n:4d} ", *(f"{value:.3f}" for value in rows[-1]))
            figures = np.array(rows) * 100
            ranges = [f"{column.min():.1f} to {column.max():.1f}" for column in figures.T]
            inside = int(((figures[:, -1] >= 93) & (figures[:, -1] <= 97)).sum())
            print(f"| {n} | {kind} | {' | '.join(ranges)} | {inside} of {len(rows)} | {100 * unchanged:.0f} % |")


def limits() -> None:
    """Print the coverage where a small sample cannot show what matters: 20 % changed, one in ten of them by 1."""
    print(
        "\n| n | large gains expected in a sample | " + " | ".join(METHODS) + " |\n|---:|---:|" + "---:|" * len(METHODS)
    )
    for n in SIZES:
        samples, truth, _ = samples_of(RARE, 0.2, n)
        row = [f"{100 * coverage(method(samples), truth):.1f}" for method in METHODS.values()]
        print(f"| {n} | {0.02 * n:.1f} | " + " | ".join(row) + " |")


def means() -> None:
    """Print the coverage of the intervals of single runs."""
    print("\n| n | reciprocal rank | success (0.7) | recall of four (0.6) |\n|---:|---:|---:|---:|")
    for n in (10, 30, 60, 200):
        random = np.random.default_rng([9, n])
        ranks = random.geometric(0.35, (SAMPLES, n))
        runs = [
            (np.where(ranks <= 10, 1 / ranks, 0.0), sum(0.35 * 0.65 ** (rank - 1) / rank for rank in range(1, 11))),
            ((random.random((SAMPLES, n)) < 0.7).astype(float), 0.7),
            (random.binomial(4, 0.6, (SAMPLES, n)) / 4, 0.6),
        ]
        row = []
        for samples, truth in runs:
            intervals = [mean_interval(sample, resamples=RESAMPLES, seed=seed) for seed, sample in enumerate(samples)]
            row.append(coverage(np.array([[i.low, i.high] for i in intervals]).T, truth))
        print(f"| {n} | " + " | ".join(f"{100 * value:.1f}" for value in row) + " |")


if __name__ == "__main__":
    differences("--cells" in sys.argv)
    limits()
    means()
