"""False alarms and power of `assay eval gate`, by simulation.

    python benchmarks/gate_noise.py [--runs 1000]      prints the table of docs/guides/ci.md

A run answers 40 % of its queries anew: from the same distribution (the system did not change, so every failure is a
false alarm), or with a planted loss: the chance of each relevant document falls from 0.60 to 0.35. Relevant documents
(1 to 3 a query) that are found lie anywhere in the first ten.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from assay.evaluate.compare import KINDS, Comparison, compare_scores
from assay.evaluate.gate import Rules, gate
from assay.evaluate.metrics import parse
from assay.evaluate.scores import Scores

K, REDRAWN, MOST = 10, 0.4, 3
CHANCE, LOWERED = 0.60, 0.35
GUARDED = ("P@10", "R@10", "RR@10", "nDCG@10")
Ints = NDArray[np.int64]
_DISCOUNTS = 1 / np.log2(np.arange(2, K + 2))


def draw(random: np.random.Generator, relevant: Ints, chance: float) -> Ints:
    """Return the ranks of each query's relevant documents, 0 where one is not found."""
    shape = (len(relevant), MOST)
    ranks = np.argsort(random.random((len(relevant), K)), axis=1)[:, :MOST] + 1
    exists = np.arange(MOST) < relevant[:, None]
    return np.where(exists & (random.random(shape) < chance), ranks, 0)


def scores(ranks: Ints, relevant: Ints) -> Scores:
    found = ranks > 0
    first = np.where(found, ranks, K + 1).min(axis=1)
    first = np.where(first > K, 0, first)
    gains = np.where(found, _DISCOUNTS[np.maximum(ranks, 1) - 1], 0.0).sum(axis=1)
    values = {
        "P@10": found.sum(axis=1) / K,
        "R@10": found.sum(axis=1) / relevant,
        "RR@10": np.where(first > 0, 1 / np.maximum(first, 1), 0.0),
        "nDCG@10": gains / np.cumsum(_DISCOUNTS)[relevant - 1],
    }
    return Scores(
        run_id="", created="", golden_hash="", system="", matching="doc", k=K, status="complete", chunker_version="",
        config={}, queries=tuple(map(str, range(len(ranks)))), values=values, first_rank=first.astype(float),
        means={name: float(figures.mean()) for name, figures in values.items()},
    )  # fmt: skip


def outcomes(random: np.random.Generator, queries: int, chance: float) -> tuple[bool, bool, bool]:
    """Return whether the loss rule fails, the rule of breaks before (1 and 1 per 50 allowed), and the rule now."""
    relevant = random.integers(1, MOST + 1, queries)
    before = draw(random, relevant, CHANCE)
    after = before.copy()
    changed = random.choice(queries, round(REDRAWN * queries), replace=False)
    after[changed] = draw(random, relevant[changed], chance)
    a, b = scores(before, relevant), scores(after, relevant)
    comparison = compare_scores(a, b, [parse(name) for name in GUARDED])
    *losses, breaks = gate(b, Rules(guarded=GUARDED), comparison)
    return not all(check.passed for check in losses), _broken(comparison) > 1 + queries // 50, not breaks.passed


def _broken(comparison: Comparison) -> int:
    return int(((comparison.kinds == KINDS.index("Regression")) & (comparison.a_rank <= 3)).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000)
    runs = parser.parse_args().runs
    print(
        "| queries | | loss rule | break rule before | now | gate before | now |\n|---:|---|---:|---:|---:|---:|---:|"
    )
    for queries in (20, 50, 100, 200, 500):
        for kind, chance in (("no change", CHANCE), ("planted loss", LOWERED)):
            random = np.random.default_rng([queries, kind == "no change"])
            loss, old, new = np.array([outcomes(random, queries, chance) for _ in range(runs)]).T
            shares = [loss.mean(), old.mean(), new.mean(), (loss | old).mean(), (loss | new).mean()]
            print(
                f"| {queries} | {kind} | " + " | ".join(f"{100 * share:.1f} %" for share in shares) + " |", flush=True
            )


if __name__ == "__main__":
    main()
