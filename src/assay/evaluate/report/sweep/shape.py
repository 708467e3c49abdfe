"""What is read of a comparison report, the JSON of `eval sweep`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.evaluate.report.wording import known

Report = Mapping[str, Any]

_TITLES = {
    "mrr": "MRR",
    "recall_at": "Recall@",
    "ndcg_at": "NDCG@",
    "precision_at": "P@",
}


def figure_title(name: str) -> str:
    """`avg_recall_at_5` → Recall@5."""
    stem, _, cut = name.removeprefix("avg_").rpartition("_")
    return _TITLES.get(stem, "") + cut if stem in _TITLES else _TITLES.get(name.removeprefix("avg_"), name)


def quality_of(one: Report, report: Report) -> float | None:
    return one["summary"][f"avg_ndcg_at_{report['k']}"]  # type: ignore[no-any-return]


def best_first(report: Report) -> list[Report]:
    """The reports of the configurations by quality."""
    return sorted(report["reports"], key=lambda one: -(known(quality_of(one, report)) or 0.0))
