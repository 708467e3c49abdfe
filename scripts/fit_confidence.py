"""Fit the weights of the confidence features and write src/assay/rank/confidence.json, deterministically.

    python scripts/train_ranker.py … --only-evaluate --confidence cases.jsonl                                   default
    python benchmarks/confidence_cases.py --work DIR --named --profile change >> cases.jsonl                    change
    python scripts/fit_confidence.py cases.jsonl [--print]

The default is fitted on tasks of people (eval/tasks, left out of training by repository), `change` on commits; a
profile without cases keeps its weights. scripts/histories.json names the repositories, their commits and a digest of
their tasks; benchmarks/mined.py prepares them (`--tasks 100`). Tasks of other repositories count as one in ten: so
often, it is assumed, somebody asks for what is not here.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE / "benchmarks"), str(HERE / "src")]

from calibration import Floats, Sample, figures, fit, left_out, threshold  # noqa: E402

from assay.rank.confidence import VERSION, WEIGHTS  # noqa: E402
from assay.rank.profile import CHANGE, DEFAULT  # noqa: E402

FOREIGN = 0.1  # the share of tasks that are about something else
NOT_HERE = (
    "generous"  # "probably not here" is wrong already where one of the first five is in what is wanted, or has it in it
)
TOLD_RIGHT = 0.8  # of those who are told so
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
}


def sample_of(cases: list[dict[str, Any]], level: str) -> Sample:
    """Cases as arrays; those of other repositories count as much as is assumed."""
    foreign = np.array([case["foreign"] for case in cases])
    share = FOREIGN / (1 - FOREIGN) * (~foreign).sum() / max(foreign.sum(), 1)
    return Sample(
        np.array([[case["signs"][name] for name in LIMITS] for case in cases], dtype=np.float64),
        np.array([case["right"][level] for case in cases], dtype=np.float64),
        np.where(foreign, share, 1.0),
        np.array([case["repository"] for case in cases]),
    )


def limits() -> Floats:
    return np.array(list(LIMITS.values()), dtype=np.float64)


def table(cases: list[dict[str, Any]]) -> dict[str, Any]:
    """All that is written: the threshold, which is that of the default, and the weights of each profile."""
    own = {name: [case for case in cases if case["profile"] == name] for name in (DEFAULT, CHANGE)}
    stored = json.loads((HERE / "src/assay/rank" / WEIGHTS).read_text("utf-8"))
    return {
        "version": VERSION,
        "threshold": threshold_of(own[DEFAULT]) if own[DEFAULT] else stored["threshold"],
        "profiles": {name: fitted(some) if some else stored["profiles"][name] for name, some in own.items()},
    }


def threshold_of(cases: list[dict[str, Any]]) -> float:
    """Below it, those who are told "probably not here" are told so rightly."""
    sample = sample_of(cases, "symbol")
    near = sample_of(cases, NOT_HERE).outcome
    steps = [step / 100 for step in range(1, 100)]
    return threshold(left_out(sample, limits()), near, sample.weight, TOLD_RIGHT, steps)


def fitted(cases: list[dict[str, Any]]) -> dict[str, Any]:
    """The weights of one profile, and what they were fitted on."""
    sample = sample_of(cases, "symbol")
    weights = [round(float(one), DIGITS) for one in fit(sample, limits())]
    told = figures(left_out(sample, limits()), sample.outcome, sample.weight)
    return {
        "base": weights[0],
        "signs": dict(zip(LIMITS, weights[1:], strict=True)),
        "fitted on": {
            "repositories": len(set(sample.group)),
            "tasks": sum(not case["foreign"] for case in cases),
            "tasks of others": sum(case["foreign"] for case in cases),
            "each repository left out": {name: round(told[name], DIGITS) for name in ("AUC", "Brier", "ECE")},
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--print", action="store_true", help="show what would be written")
    given = parser.parse_args()
    cases = [json.loads(line) for line in given.cases.read_text("utf-8").splitlines()]
    text = json.dumps(table(cases), indent=2) + "\n"
    if given.print:
        print(text, end="")
    else:
        (HERE / "src/assay/rank" / WEIGHTS).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
