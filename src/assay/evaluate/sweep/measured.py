"""The figures of a sweep: of each configuration its run, its figures per query, and how long it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.core.golden import GoldenSet
from assay.core.hits import Response
from assay.evaluate.difficulty import Answer, Difficulty, classify
from assay.evaluate.metrics.judged import Floats, Judged
from assay.evaluate.metrics.measures import Measure, mean, parse
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.sweep.asking import Asked
from assay.evaluate.sweep.grid import Configuration

_SHORT = 5  # the smaller cut-off of seed 004


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the table: its title, its key in the seed's JSON, its measure."""

    title: str
    key: str
    measure: Measure


def figures(k: int) -> list[Figure]:
    """What a sweep measures: at k = 10 the figures of seed 004, and precision."""
    short = min(_SHORT, k)
    rows = [("MRR", "mrr", f"RR@{k}"), (f"Recall@{short}", f"recall_at_{short}", f"R@{short}")]
    if k != short:
        rows.append((f"Recall@{k}", f"recall_at_{k}", f"R@{k}"))
    rows += [(f"NDCG@{k}", f"ndcg_at_{k}", f"nDCG@{k}"), (f"P@{k}", f"precision_at_{k}", f"P@{k}")]
    return [Figure(title, key, parse(name)) for title, key, name in rows]


@dataclass(frozen=True)
class Measured:
    """A configuration and its run."""

    name: str
    configuration: Configuration
    info: RunInfo
    judged: Judged
    responses: Sequence[Response]
    asked: int
    resumed: bool

    @cached_property
    def figures(self) -> list[Figure]:
        return figures(self.info.k)

    @cached_property
    def values(self) -> Mapping[str, Floats]:
        """Each figure of each query, by its key."""
        return {one.key: one.measure.values(self.judged) for one in self.figures}

    @cached_property
    def means(self) -> Mapping[str, float | None]:
        return {key: mean(values) for key, values in self.values.items()}

    @property
    def quality(self) -> Floats:
        """What configurations are compared by, of each query."""
        return self.values[f"ndcg_at_{self.info.k}"]

    @cached_property
    def score(self) -> float:
        """The mean of that, unrounded; 0 where nothing could be judged."""
        known = self.quality[~np.isnan(self.quality)]
        return float(known.mean()) if len(known) else 0.0

    @property
    def mrr(self) -> float:
        return self.means["mrr"] or 0.0

    @cached_property
    def latency(self) -> float:
        """Milliseconds a query took on average; infinite when nobody measured it."""
        times = self.judged.fact("latency_ms")
        known = times[~np.isnan(times)]
        return float(known.mean()) if len(known) else float("inf")

    @property
    def disturbed(self) -> bool:
        """Whether others were measured at the same time."""
        return int(self.info.environment.get("runs_at_once", 1)) > 1

    @property
    def failed(self) -> int:
        return int(np.nansum(self.judged.fact("failure_rate")))


def read(
    store: RunStore, golden: GoldenSet, named: Mapping[str, Configuration], asked: Sequence[Asked]
) -> list[Measured]:
    """What was measured, from the run file."""
    out = []
    for one in asked:
        info = store.info(one.run_id)
        responses = store.responses(one.run_id, len(golden.queries))
        judged = store.judged(info)
        out.append(Measured(one.name, named[one.name], info, judged, responses, one.asked, one.resumed))
    return out


def difficulties(measured: Sequence[Measured]) -> list[Difficulty]:
    """How hard each query is, from what all configurations answered. Documents are compared: chunks of two chunkers have nothing in common."""
    return classify(
        [
            [Answer([hit.score for hit in r.hits], [hit.document for hit in r.hits]) for r in one.responses]
            for one in measured
        ]
    )
