"""Executors compared: the local pool and Dask, each with one and with two workers, in one run.

    python benchmarks/cluster.py [--clones DIR …] [--repositories 24] [--configurations 32] [--repeat 3] [--json FILE]

Indexes repositories, and sweeps configurations of the ranking over one of them. Repositories are copies of the clones
in DIR, without their history, each of 40 to --files files, smallest first; without DIR they are generated, and tiny.
Workers have started, and have imported assay, before the clock does; the time to start them is a column of its own.
Executors alternate; ratios are those to the local pool with the same number of workers in the same round, the median
of all rounds: of CPU time, which includes all processes of the executor and this one, and of wall time. Digests cover
every file of the indexes but the clock, and the hits of every query of every configuration; they must be equal for all
executors. CPU time is read from /proc: Linux only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
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
_LONG_NAME = 8  # characters: shorter names say too little for a query
_SMALLEST = 40  # files of a clone
_CLOCK = ("indexed_at", "seconds")  # facts of an index that depend on more than the repository


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clones", type=Path, action="append", default=[], metavar="DIR")
    parser.add_argument("--files", type=int, default=400, help="of a clone, at most")
    parser.add_argument("--repositories", type=int, default=24)
    parser.add_argument("--configurations", type=int, default=32)
    parser.add_argument("--repeat", type=int, default=1, help="rounds; medians count")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    kinds = [(kind, workers) for workers in (1, 2) for kind in ("pool", "dask")]
    with tempfile.TemporaryDirectory(prefix="assay-benchmark-") as scratch:
        folder = Path(scratch)
        roots = copy_clones(options.clones, folder, options.repositories, options.files)
        if not options.clones:
            roots = [write_repository(folder / f"repository{n}", n) for n in range(options.repositories)]
        golden = golden_set() if not options.clones else golden_of(roots[-1])
        # rounds, so that a busy minute of the machine does not hit one executor alone
        rounds = [
            [measure(kind, workers, roots, golden, options.configurations) for kind, workers in kinds]
            for _ in range(options.repeat)
        ]
    rows = [with_medians(repeats) for repeats in zip(*map(with_ratios, rounds), strict=True)]
    facts = {"cores": os.cpu_count(), "machine": platform.machine(), "load": os.getloadavg()[0]}
    choices = {name: value for name, value in vars(options).items() if name not in ("json", "clones")}
    report = {**facts, **choices, "repositories": len(roots), "rows": rows, "equal": are_equal(rows)}
    print_report(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


def with_medians(repeats: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one row for several runs of an executor: median figures, and all digests."""
    return {
        name: _joined(repeats, name) if isinstance(value, str) else statistics.median(row[name] for row in repeats)
        for name, value in repeats[0].items()
    }


def _joined(repeats: Sequence[dict[str, Any]], name: str) -> Any:
    values = list(dict.fromkeys(row[name] for row in repeats))
    return values[0] if len(values) == 1 else " ".join(map(str, values))


def copy_clones(sources: Sequence[Path], target: Path, count: int, largest: int) -> list[Path]:
    """Copy the smallest clones with enough files, without their history and their index; return them by size."""
    clones = {}
    for clone in (path.parent for source in sources for path in sorted(source.glob("*/.git"))):
        files = sum(len(names) for folder, _, names in os.walk(clone) if f"{os.sep}." not in folder)
        if _SMALLEST <= files <= largest:
            clones[clone.name] = (files, clone)
    leave = shutil.ignore_patterns(".git", ".assay")
    return [
        Path(shutil.copytree(clone, target / clone.name, symlinks=True, ignore=leave))
        for _, clone in sorted(clones.values())[:count]
    ]


def golden_of(root: Path) -> GoldenSet:
    """Return queries for names of a repository's own functions."""
    with Repository(root) as repository:
        repository.refresh()
        symbols, _ = repository.index.export()
        names = sorted({str(row[0]).rpartition("::")[2].rpartition(".")[2] for row in symbols})
    long = [name for name in names if len(name) > _LONG_NAME]
    chosen = long[:: max(1, len(long) // _QUERIES)][:_QUERIES]
    queries = [
        GoldenQuery(f"q{number}", " ".join(re.findall(r"[A-Za-z][a-z]+", name)) or name, (Expected(name),))
        for number, name in enumerate(chosen)
    ]
    return GoldenSet(tuple(queries), "generated", "generated", "0" * 64)


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


def measure(kind: str, workers: int, roots: Sequence[Path], golden: GoldenSet, configurations: int) -> dict[str, Any]:
    """Index and sweep with an executor; return times and digests."""
    started = time.perf_counter()
    opened = LocalPool(workers) if kind == "pool" else connect(ClusterSettings(f"local:{workers}"))
    with opened as executor:
        for _, outcome in executor.map_units(warm_up, [(0.2,)] * workers * 2):
            assert not isinstance(outcome, UnitFailed), outcome
        start_seconds = time.perf_counter() - started
        index_seconds, index_cpu, _ = timed(lambda: index_all(executor, roots))
        sweep_seconds, sweep_cpu, hits = timed(lambda: sweep(executor, roots[-1], golden, configurations))
    return {
        "kind": kind,
        "workers": workers,
        "start_seconds": start_seconds,
        "index_seconds": index_seconds,
        "index_cpu": index_cpu,
        "sweep_seconds": sweep_seconds,
        "sweep_cpu": sweep_cpu,
        "index_digest": digest([content(root) for root in roots]),
        "sweep_digest": hits,
    }


def warm_up(seconds: float) -> None:
    """Import what units need, as long as another worker takes for it, too."""
    import assay.index.pipeline  # noqa: F401

    time.sleep(seconds)


def timed(function: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return wall time, CPU time of all processes, and the result."""
    started, used = time.perf_counter(), cpu_seconds()
    result = function()
    return time.perf_counter() - started, cpu_seconds() - used, result


def cpu_seconds() -> float:
    """Return the CPU time of this process and its descendants, also of those that have ended and were waited for."""
    parents, times = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile
        process = int(path.parent.name)
        parents[process], times[process] = int(fields[1]), sum(map(int, fields[11:15]))
    members = {os.getpid()}
    while added := {process for process, parent in parents.items() if parent in members} - members:
        members |= added
    return sum(times.get(process, 0) for process in members) / os.sysconf("SC_CLK_TCK")


def index_all(executor: Executor, roots: Sequence[Path]) -> None:
    for root in roots:
        shutil.rmtree(root / ".assay", ignore_errors=True)
    units = [(root.name, root, root / ".assay", False, False) for root in roots]
    for _, outcome in executor.map_units(index_elsewhere, units, at_once=False):
        assert not isinstance(outcome, UnitFailed), outcome


def sweep(executor: Executor, root: Path, golden: GoldenSet, configurations: int) -> str:
    """Run configurations and return a digest of all hits."""
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


def with_ratios(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add times relative to the local pool with the same number of workers."""
    pool = {row["workers"]: row for row in rows if row["kind"] == "pool"}
    names = ("index_seconds", "index_cpu", "sweep_seconds", "sweep_cpu")
    return [row | {f"{name}_ratio": row[name] / pool[row["workers"]][name] for name in names} for row in rows]


def are_equal(rows: Sequence[dict[str, Any]]) -> bool:
    return all(len({row[name] for row in rows}) == 1 for name in ("index_digest", "sweep_digest"))


def print_report(report: dict[str, Any]) -> None:
    print(f"{report['repositories']} repositories, {report['configurations']} configurations, {report['cores']} cores")
    names = ("index_seconds", "index_cpu", "sweep_seconds", "sweep_cpu")
    heads = "".join(f"{name.replace('seconds', 'wall').replace('_', ' '):>12}{'ratio':>7}" for name in names)
    print(f"{'executor':<10}{'start':>7}{heads}")
    for row in report["rows"]:
        figures = "".join(f"{row[name]:>12.2f}{row[f'{name}_ratio']:>7.2f}" for name in names)
        print(f"{row['kind']} {row['workers']:<5g}{row['start_seconds']:>7.1f}{figures}")
    print("all results are equal" if report["equal"] else "RESULTS DIFFER")


if __name__ == "__main__":
    main()
