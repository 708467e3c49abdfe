"""Time and size of run stores: two runs of N queries written, read and compared in SQLite and in PostgreSQL.

    python benchmarks/store.py [--each N] [--repeat N] [--writers N] [--json FILE]

The runs are those of benchmarks/compare.py (default 500,000 queries each, ten hits a query). PostgreSQL is a server of the
benchmark's own on loopback with its default durability (fsync on). Written: a block of 20,000 responses per transaction.
Read: all responses of a run. Compared: `assay eval compare a b` in a fresh process, the stores by turns, the median. Writers: that many processes
at once, each with a run of its own of N/50 queries.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from compare import fill, query, timed

from assay.core.golden import GoldenSet
from assay.evaluate.runs import RunStore
from assay.evaluate.upkeep import copy_runs
from support.postgres import Cluster, new_postgres_store

SHARE_OF_A_WRITER = 50  # of several writers, each stores so small a part of the queries


def golden_of(each: int) -> GoldenSet:
    return GoldenSet(tuple(query(number) for number in range(each)), "benchmark", "pairs", f"benchmark-{each}")


def write_runs(address: Path | str, each: int) -> float:
    golden = golden_of(each)
    started = time.perf_counter()
    with RunStore.open(address, write=True) as store:
        fill(store, golden, "a", None)
        fill(store, golden, "b", random.Random("changed"))
    return time.perf_counter() - started


def read_run(address: Path | str, each: int) -> float:
    started = time.perf_counter()
    with RunStore.open(address) as store:
        responses = store.responses("a", each)
    assert all(response.hits for response in responses)
    return time.perf_counter() - started


def write_small_run(address: Path | str, number: int, each: int) -> None:
    with RunStore.open(address, write=True, wait=600.0) as store:
        fill(store, golden_of(each), f"writer-{number}", None)


def write_at_once(address: Path | str, writers: int, each: int) -> float:
    with ProcessPoolExecutor(writers) as pool:
        list(pool.map(abs, range(writers)))  # the processes have started
        started = time.perf_counter()
        list(pool.map(write_small_run, [address] * writers, range(writers), [each] * writers))
        return time.perf_counter() - started


def measure(address: Path | str, each: int) -> dict[str, float]:
    figures = {"write_seconds": write_runs(address, each)}
    with RunStore.open(address) as store:
        figures["megabytes"] = store.size() / 1e6
    figures["read_seconds"] = read_run(address, each)
    return figures


def measure_compare(stores: dict[str, Path | str], folder: Path, repeat: int) -> dict[str, dict[str, float]]:
    """Time `assay eval compare` by turns, so that other work on the machine slows both stores down alike."""
    timings: dict[str, list[tuple[float, float]]] = {name: [] for name in stores}
    for _ in range(repeat):
        for name, address in stores.items():
            timings[name].append(timed(["compare", "a", "b"], address, folder))
    return {
        name: {
            "compare_seconds": statistics.median(seconds for seconds, _ in compared),
            "compare_peak_megabytes": max(memory for _, memory in compared),
        }
        for name, compared in timings.items()
    }


def measure_writers(address: Path | str, each: int, writers: int) -> dict[str, float]:
    share = max(1, each // SHARE_OF_A_WRITER)
    figures = {"writers_seconds": write_at_once(address, writers, share)}
    with RunStore.open(address) as store:
        answered = sum(len(store.answered(f"writer-{number}")) for number in range(writers))
    assert answered == writers * share, "responses were lost"
    return figures


@contextmanager
def _server() -> Iterator[Cluster]:
    with closing(Cluster(durable=True)) as cluster:
        yield cluster


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--each", type=int, default=500_000, help="queries of each run")
    options.add_argument("--repeat", type=int, default=3, help="how often compare is timed")
    options.add_argument("--writers", type=int, default=20, help="processes that write at once")
    options.add_argument("--json", type=Path, help="write the figures here")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary, _server() as cluster:
        folder = Path(temporary)
        stores: dict[str, Path | str] = {"SQLite": folder / "runs.db", "PostgreSQL": new_postgres_store(cluster)}
        figures: dict[str, Any] = {name: measure(address, given.each) for name, address in stores.items()}
        for name, compared in measure_compare(stores, folder, given.repeat).items():
            figures[name] |= compared
        for name, address in stores.items():
            figures[name] |= measure_writers(address, given.each, given.writers)
        other = new_postgres_store(cluster)
        started = time.perf_counter()
        with RunStore.open(stores["SQLite"]) as source, RunStore.open(other, write=True) as target:
            copy_runs(source, target, [source.find("a")], lambda: None)
        copied = time.perf_counter() - started
    print(f"two runs of {given.each:,} queries, {os.cpu_count()} cores, {given.writers} writers\n")
    print(f"{'':<26}{'SQLite':>12}{'PostgreSQL':>12}")
    for name in figures["SQLite"]:
        print(f"{name.replace('_', ' '):<26}{figures['SQLite'][name]:>12,.1f}{figures['PostgreSQL'][name]:>12,.1f}")
    print(f"\ncopy of a run from SQLite to PostgreSQL: {copied:.1f} s")
    if given.json:
        facts = {"each": given.each, "python": platform.python_version(), "copy_seconds": copied, "stores": figures}
        given.json.write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
