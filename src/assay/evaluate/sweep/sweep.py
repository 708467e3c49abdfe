"""A sweep from configurations to files: `run` is the whole story."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from assay.core.golden import GoldenSet
from assay.core.progress import Progress
from assay.evaluate.difficulty import Difficulty
from assay.evaluate.files import write_text
from assay.evaluate.report.sweep import render
from assay.evaluate.run import Plan
from assay.evaluate.runs import RunStore
from assay.evaluate.summary import clusters_of
from assay.evaluate.sweep import shapes, stages
from assay.evaluate.sweep.asking import Task, ask_all
from assay.evaluate.sweep.grid import Configuration
from assay.evaluate.sweep.measured import Measured, difficulties, read
from assay.evaluate.sweep.naming import names
from assay.evaluate.sweep.stages import Stage
from assay.evaluate.sweep.verdict import Verdict, judge


@dataclass(frozen=True)
class Sweep:
    """A sweep after it ended."""

    golden: GoldenSet
    measured: Sequence[Measured]
    verdict: Verdict
    difficulties: Sequence[Difficulty]
    shared: Sequence[Stage] = ()  # what was divided and embedded for all of them

    @cached_property
    def named(self) -> dict[str, Measured]:
        return {one.name: one for one in self.measured}

    @property
    def id(self) -> str:
        """The same for the same configurations of the same system on the same golden set."""
        facts = [self.golden.digest, self.measured[0].info.matching, self.measured[0].info.k]
        facts += [(one.configuration.spec, one.info.index_fingerprint) for one in self.measured]
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:10]

    @property
    def work(self) -> dict[str, Any]:
        """What this command did, and what had been done before."""
        queries = len(self.golden.queries) * len(self.measured)
        asked = sum(one.asked for one in self.measured)
        return {
            "configurations": len(self.measured),
            "finished_before": sum(not one.asked for one in self.measured),
            "resumed": sum(one.resumed for one in self.measured),
            "queries_asked": asked,
            "queries_answered_before": queries - asked,
            **stages.told(self.shared),
        }


def run(
    configurations: Sequence[Configuration],
    golden: GoldenSet,
    plan: Plan,
    root: Path,
    runs: Path,
    progress: Progress,
    *,
    corpus: Path | None = None,
    jobs: int = 1,
    limit: float = 100.0,
    timeout: float = 60.0,
    fresh: bool = False,
) -> Sweep:
    """Shared stages once, then a run for each configuration, then what they amount to."""
    named = dict(zip(names(configurations), configurations, strict=True))
    shared = stages.make(configurations, golden, root, corpus, progress)
    tasks = [Task(name, one.spec, golden, plan, root, runs, corpus, timeout, fresh) for name, one in named.items()]
    progress.start("asking", len(tasks) * len(golden.queries))
    asked = ask_all(tasks, jobs, progress.advance)
    with RunStore.open(runs) as store:
        measured = read(store, golden, named, asked)
    verdict = judge(measured, limit, clusters_of(golden.queries))
    return Sweep(golden, measured, verdict, difficulties(measured), shared)


def save(sweep: Sweep, folder: Path) -> tuple[dict[str, Any], list[Path]]:
    """The comparison as JSON, and the files that hold it: it, a report for each configuration, and the page."""
    report = {"sweep_id": sweep.id} | shapes.comparison(
        sweep.measured, sweep.golden, sweep.difficulties, sweep.verdict, sweep.work
    )
    files = {folder / "comparison.json": report}
    files |= {folder / f"{one['config']['name']}.json": one for one in report["reports"]}
    for path, content in files.items():
        write_text(path, msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n")
    write_text(folder / "report.html", render(report))
    return report, [folder / "comparison.json", folder / "report.html"]
