"""Values of the tests of run stores."""

from __future__ import annotations

from typing import Any

from assay.core.golden import Expected, GoldenQuery, GoldenSet
from assay.evaluate.runs import RunInfo

GOLDEN = GoldenSet((GoldenQuery("q", "text", (Expected("d", "doc"),)),), "golden", "pairs", "digest")


def run_info(run_id: str, **changed: Any) -> RunInfo:
    facts: dict[str, Any] = {
        "run_id": run_id, "created": "2026-01-01", "golden_hash": "digest", "system": "s", "matching": "doc", "level": "doc", "k": 10,
    }  # fmt: skip
    return RunInfo(**facts | changed)
