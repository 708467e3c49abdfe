"""Measure the default profile on our own fixtures (eval/fixtures) and write eval/baseline.json.

    python scripts/own_baseline.py            after a change of ranking, or of the code that the fixtures ask for

The figures of each tier are what `make test` compares with; the targets in the file stay.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np

from assay.evaluate.golden import load
from assay.evaluate.judging import judge
from assay.evaluate.matching import MATCHERS
from assay.evaluate.metrics import parse
from assay.evaluate.systems.assay import Assay
from assay.index.pipeline import index
from assay.store.layout import Home

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "eval/baseline.json"
MEASURES = ("P@10", "R@10", "RR@10", "Success@10")
K, DIGITS = 10, 4

Figures = dict[str, dict[str, float]]  # tier → measure → mean


def own_figures(profile: str, folder: Path) -> Figures:
    """Return the strict figures of every tier of our own fixtures under a profile; `folder` has the index."""
    golden, system = load(ROOT / "eval/fixtures"), Assay(ROOT, None, profile, folder)
    try:
        responses = [system.retrieve(query.text, K) for query in golden.queries]
    finally:
        system.close()
    judged = judge(golden.queries, responses, MATCHERS["strict"], "symbol")
    tiers = np.array([query.tier for query in golden.queries])
    return {
        tier: {
            measure: round(float(parse(measure).values(judged)[tiers == tier].mean()), DIGITS) for measure in MEASURES
        }
        for tier in ("easy", "medium", "hard")
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        index(ROOT, Home.of(ROOT, Path(folder) / "index"))
        tiers = own_figures("default", Path(folder) / "index")
    stored = json.loads(TARGET.read_text("utf-8")) if TARGET.exists() else {"targets": {tier: {} for tier in tiers}}
    TARGET.write_text(json.dumps(stored | {"tiers": tiers}, indent=1) + "\n", "utf-8")
    print(json.dumps(tiers, indent=1))


if __name__ == "__main__":
    main()
