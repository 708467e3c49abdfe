"""Fit the weights of the confidence features and write src/assay/rank/confidence.json, deterministically.

    python scripts/train_ranker.py … --only-evaluate --confidence cases.jsonl
    python scripts/fit_confidence.py cases.jsonl [--print]

The cases are tasks of benchmarks/confidence_cases.py, ranked by models that never saw the repository. The weights tell
whether the repository has the answer; `right` is how often the first five then have it. Kinds of tasks count as often as
people are assumed to ask them (SHARES). The weights hold for every profile: fitted on commits and rankings of `change` they
separate no better (EXPERIMENTS.md).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE / "benchmarks"), str(HERE / "src")]

from calibration import Floats, Sample, figures, fit, left_out  # noqa: E402

from assay.rank.confidence import VERSION, WEIGHTS  # noqa: E402

# assumed shares of the kinds of tasks
SHARES = {"own": 0.7, "half": 0.05, "foreign": 0.12, "vague": 0.08, "invented": 0.05}
OWN_SURE = 0.81  # share of a repository's own tasks that are above the threshold
DIGITS = 3  # of a weight: more would be noise, and differ from machine to machine
# which way a sign may turn the odds: what more of it can never make likelier, or less likely
LIMITS = {
    "tenth": -1,
    "called": 1,
    "direct_hits": 1,
    "agreement": 1,
    "covered": 1,
    "unseen": -1,
    "names": 1,
    "size": -1,
    "pairs": 1,
    "typical": 1,
    "characteristic": 1,
    "phrase": 1,
    "meaning": 1,
}


def sample_of(cases: list[dict[str, Any]], level: str) -> Sample:
    """Cases as arrays; each kind counts as much as is assumed."""
    kinds = [case["kind"] for case in cases]
    number = {kind: kinds.count(kind) for kind in SHARES}
    total = sum(SHARES[kind] for kind in SHARES if number[kind])
    return Sample(
        np.array([[case["signs"].get(name, 0.0) for name in LIMITS] for case in cases], dtype=np.float64),
        np.array([case["right"][level] for case in cases], dtype=np.float64),
        np.array([SHARES[kind] / total / number[kind] * len(cases) for kind in kinds]),
        np.array([case["repository"] for case in cases]),
    )


def limits() -> Floats:
    return np.array(list(LIMITS.values()), dtype=np.float64)


def here_of(cases: list[dict[str, Any]]) -> Sample:
    """Cases whose outcome is whether the repository has the answer; half-related tasks are left out."""
    sample = sample_of(cases, "symbol")
    kinds = np.array([case["kind"] for case in cases])
    weight = np.where(kinds == "half", 1e-9, sample.weight)
    return Sample(sample.signs, (kinds == "own").astype(np.float64), weight, sample.group)


def right_here(cases: list[dict[str, Any]]) -> float:
    """Return the share of a repository's own tasks with a right one among the first five."""
    return float(np.mean([case["right"]["symbol"] for case in cases if case["kind"] == "own"]))


def confidences(cases: list[dict[str, Any]]) -> Floats:
    """Return the confidence in every case, by weights fitted on the other repositories."""
    return right_here(cases) * left_out(here_of(cases), limits())


def threshold_of(cases: list[dict[str, Any]]) -> float:
    """Return the probability that a share of own tasks exceeds, by weights fitted on other repositories."""
    own = np.array([case["kind"] == "own" for case in cases])
    return round(float(np.quantile(confidences(cases)[own], 1 - OWN_SURE)), 2)


def fitted(cases: list[dict[str, Any]]) -> dict[str, Any]:
    """Return all that is written: the weights, the threshold, and what they were fitted on."""
    sample = sample_of(cases, "symbol")
    weights = [round(float(weight), DIGITS) for weight in fit(here_of(cases), limits())]
    told = figures(confidences(cases), sample.outcome, sample.weight)
    return {
        "version": VERSION,
        "threshold": threshold_of(cases),
        "base": weights[0],
        "signs": dict(zip(LIMITS, weights[1:], strict=True)),
        "right": round(right_here(cases), DIGITS),
        "fitted on": {
            "repositories": sorted(set(sample.group.tolist())),
            "tasks": dict(Counter(case["kind"] for case in cases)),
            "each repository left out": {name: round(told[name], DIGITS) for name in ("AUC", "Brier", "ECE")},
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--print", action="store_true", help="show what would be written")
    given = parser.parse_args()
    cases = [json.loads(line) for line in given.cases.read_text("utf-8").splitlines()]
    text = json.dumps(fitted(cases), indent=2) + "\n"
    if given.print:
        print(text, end="")
    else:
        (HERE / "src/assay/rank" / WEIGHTS).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
