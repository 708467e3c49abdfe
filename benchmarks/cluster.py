"""Executors compared: the local pool and Dask, each with one and with two workers, in one run.

    python benchmarks/cluster.py [--repositories 24] [--configurations 32] [--repeat 1] [--json FILE]

Indexes generated repositories, and sweeps configurations of the ranking over one of them. Workers have started, and
have imported assay, before the clock does; the time to start them is a column of its own. Ratios are times relative to
the local pool with the same number of workers: the overhead of Dask. Digests cover every file of the indexes but the
clock, and the hits of every query of every configuration; they must be equal for all executors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from assay.api import Repository
from assay.cli.cluster import index_elsewhere
from assay.core.golden import Expected, GoldenQuery, GoldenSet
from assay.evaluate.matching import matcher
from assay.evaluate.run import Plan
from assay.evaluate.runs import RunStore
from assay.evaluate.sweep.execution import Task, run_tasks
from assay.system.cluster import ClusterSettings, connect
from assay.system.executor import Executor, LocalPool, UnitFailed

_WORDS = ("order", "invoice", "customer", "payment", "shipment", "stock", "price", "basket")
_FILES = 30  # of a repository
_QUERIES = 25
_CLOCK = ("indexed_at", "seconds")  # facts of an index that depend on more than the repository


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repositories", type=int, default=24)
    parser.add_argument("--configurations", type=int, default=32)
    parser.add_argument("--repeat", type=int, default=1, help="the median counts")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    kinds = [(kind, workers) for workers in (1, 2) for kind in ("pool", "dask")]
    with tempfile.TemporaryDirectory(prefix="assay-benchmark-") as scratch:
        roots = [write_repository(Path(scratch) / f"repository{n}", n) for n in range(options.repositories)]
        # rounds, so that a busy minute of the machine does not hit one executor alone
        rounds = [
            [measure(kind, workers, roots, options.configurations) for kind, workers in kinds]
            for _ in range(options.repeat)
        ]
    rows = [with_medians(repeats) for repeats in zip(*rounds, strict=True)]
    facts = {"cores": os.cpu_count(), "machine": platform.machine(), "load": os.getloadavg()[0]}
    report = {**facts, **vars(options), "json": None, "rows": with_ratios(rows), "equal": are_equal(rows)}
    print_report(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


def with_medians(repeats: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one row for several runs of an executor: median times, and all digests."""
    return {
        name: statistics.median(row[name] for row in repeats) if name.endswith("_seconds") else _joined(repeats, name)
        for name in repeats[0]
    }


def _joined(repeats: Sequence[dict[str, Any]], name: str) -> Any:
    values = list(dict.fromkeys(row[name] for row in repeats))
    return values[0] if len(values) == 1 else " ".join(map(str, values))


def write_repository(root: Path, seed: int) -> Path:
    """Write a repository of classes that call each other."""
    root.mkdir(parents=True)
    for number in range(_FILES):
        noun, other = _WORDS[(number + seed) % len(_WORDS)], _WORDS[(number + seed + 3) % len(_WORDS)]
        methods = "".join(
            f'\n    def {verb}_{noun}_{number}(self, value):\n        """{verb.title()} the {noun} of a {other}, number {number}."""\n'
            f"        return self.check_{noun}_{number}(value) + {index}\n"
            for index, verb in enumerate(("load", "save", "check", "count", "send", "cancel"))
        )
        imports = f"from module{number - 1} import *\n\n\n" if number else ""
        (root / f"module{number}.py").write_text(f"{imports}class {noun.title()}{number}:\n{methods}")
    return root


def measure(kind: str, workers: int, roots: Sequence[Path], configurations: int) -> dict[str, Any]:
    """Index and sweep with an executor; return times and digests."""
    started = time.perf_counter()
    opened = LocalPool(workers) if kind == "pool" else connect(ClusterSettings(f"local:{workers}"))
    with opened as executor:
        for _, outcome in executor.map_units(warm_up, [(0.2,)] * workers * 2):
            assert not isinstance(outcome, UnitFailed), outcome
        start_seconds = time.perf_counter() - started
        index_seconds, _ = timed(lambda: index_all(executor, roots))
        sweep_seconds, hits = timed(lambda: sweep(executor, roots[0], configurations))
    return {
        "kind": kind,
        "workers": workers,
        "start_seconds": start_seconds,
        "index_seconds": index_seconds,
        "sweep_seconds": sweep_seconds,
        "index_digest": digest([content(root) for root in roots]),
        "sweep_digest": hits,
    }


def warm_up(seconds: float) -> None:
    """Import what units need, as long as another worker takes for it, too."""
    import assay.index.pipeline  # noqa: F401

    time.sleep(seconds)


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = function()
    return time.perf_counter() - started, result


def index_all(executor: Executor, roots: Sequence[Path]) -> None:
    for root in roots:
        shutil.rmtree(root / ".assay", ignore_errors=True)
    units = [(root.name, root, root / ".assay", False, False) for root in roots]
    for _, outcome in executor.map_units(index_elsewhere, units, at_once=False):
        assert not isinstance(outcome, UnitFailed), outcome


def sweep(executor: Executor, root: Path, configurations: int) -> str:
    """Run configurations and return a digest of all hits."""
    golden = golden_set()
    with tempfile.TemporaryDirectory(prefix="assay-benchmark-") as scratch:
        runs = Path(scratch) / "runs.db"
        tasks = [
            Task(f"walk{n}", f"assay:walk={n / configurations:.4f}", golden, Plan(matcher("strict")), root, runs)
            for n in range(configurations)
        ]
        results = run_tasks(tasks, executor, lambda count: None)
        with RunStore.open(runs) as store:
            hits = [
                [[hit.id, hit.score] for hit in response.hits]
                for result in results
                for response in store.responses(result.run_id, len(golden.queries))
            ]
    return digest(hits)


def golden_set() -> GoldenSet:
    queries = tuple(
        GoldenQuery(
            f"q{n}",
            f"cancel the {_WORDS[n % len(_WORDS)]} number {n}",
            (Expected(f"cancel_{_WORDS[n % len(_WORDS)]}_{n}"),),
        )
        for n in range(_QUERIES)
    )
    return GoldenSet(queries, "generated", "generated", "0" * 64)


def content(root: Path) -> list[str]:
    """Return the content of an index without the clock."""
    generation = Repository(root).home.current()
    assert generation is not None
    files = sorted(path for path in generation.iterdir() if path.name not in ("catalogue.db", "seal.json"))
    with closing(sqlite3.connect(generation / "catalogue.db")) as connection:
        rows = [line for line in connection.iterdump() if not any(f"'{fact}'" in line for fact in _CLOCK)]
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in files] + rows


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def with_ratios(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the time relative to the local pool with the same number of workers."""
    pool = {row["workers"]: row for row in rows if row["kind"] == "pool"}
    names = ("index", "sweep")
    return [
        row | {f"{name}_ratio": row[f"{name}_seconds"] / pool[row["workers"]][f"{name}_seconds"] for name in names}
        for row in rows
    ]


def are_equal(rows: Sequence[dict[str, Any]]) -> bool:
    return all(len({row[name] for row in rows}) == 1 for name in ("index_digest", "sweep_digest"))


def print_report(report: dict[str, Any]) -> None:
    print(f"{report['repositories']} repositories, {report['configurations']} configurations, {report['cores']} cores")
    print(f"{'executor':<10}{'start s':>9}{'index s':>9}{'ratio':>8}{'sweep s':>9}{'ratio':>8}  digests")
    for row in report["rows"]:
        print(
            f"{row['kind']} {row['workers']:<5}{row['start_seconds']:>9.1f}{row['index_seconds']:>9.1f}{row['index_ratio']:>8.2f}"
            f"{row['sweep_seconds']:>9.1f}{row['sweep_ratio']:>8.2f}  {row['index_digest']} {row['sweep_digest']}"
        )
    print("all results are equal" if report["equal"] else "RESULTS DIFFER")


if __name__ == "__main__":
    main()
