"""Measure how often `assay eval tune` reports a gain on pure noise, with and without the correction of its p-value.

    python benchmarks/tuning_noise.py [--trials 400] [--first 2000]

Each trial tunes on 60 queries whose figures change at random with every setting. A two-sided test at 5 % should report a
gain in 2.5 % of them.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from assay.evaluate.tune.search import ALPHA, GAIN  # noqa: E402
from evaluate.test_tune import crossed, worth  # noqa: E402

QUERIES, NOISE = 60, 0.1


def trial(seed: int) -> tuple[bool, bool]:
    """Return whether the plain and the corrected test report a gain."""
    tuned = crossed(worth(lambda numbers: 0.0, count=QUERIES, noise=NOISE, seed=seed), QUERIES)
    pair = tuned.verdict.held_out
    return bool(tuned.changes) and pair.delta > 0 and pair.p < ALPHA, tuned.verdict.outcome == GAIN


def main() -> None:
    """Run the trials and print both rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--first", type=int, default=2000, help="first seed")
    arguments = parser.parse_args()
    with ProcessPoolExecutor() as pool:
        results = list(pool.map(trial, range(arguments.first, arguments.first + arguments.trials), chunksize=10))
    for name, gains in zip(("plain", "corrected"), zip(*results, strict=True), strict=True):
        print(f"{name:<10} {sum(gains):4} gains in {len(gains)} trials ({sum(gains) / len(gains):.1%}; nominal 2.5 %)")


if __name__ == "__main__":
    main()
