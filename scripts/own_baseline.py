"""Measure the default profile on our own fixtures (eval/fixtures) and write eval/baseline.json.

    python scripts/own_baseline.py            after a change of ranking, or of the code that the fixtures ask for

The file is a baseline as `assay eval baseline set` writes it. Its floors, per tier, are what `make test` checks with
`assay.gate`: targets, and shares of the baseline's figures. They stay.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import assay
from assay.evaluate.systems.assay import Assay
from assay.index.pipeline import index
from assay.store.layout import Home

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "eval/baseline.json"
MEASURES = ("P@10", "R@10", "RR@10", "nDCG@10", "Success@10")


def own_run(profile: str, folder: Path) -> assay.Run:
    """Return a strict run on our own fixtures under a profile; `folder` has the index."""
    system = Assay(ROOT, None, profile, folder)
    return assay.evaluate(ROOT / "eval/fixtures", system, matching="strict", metrics=MEASURES, root=ROOT)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        index(ROOT, Home.of(ROOT, Path(folder) / "index"))
        run = own_run("default", Path(folder) / "index")
    run.save_baseline(TARGET, metrics=MEASURES)
    print(run)


if __name__ == "__main__":
    main()
