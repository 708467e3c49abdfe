"""Time and memory of `assay eval compare` on large runs.

    python benchmarks/compare.py [--each N] [--repeat N] [--folder DIR] [--json FILE]

Two stored runs of N queries each (default 500,000, so a million stored query results; 10 hits and 1 to 3 expected documents a query) are
written through the run store, and the command is timed in fresh processes: as text, with --format json, and as `eval gate`. The second run
differs from the first in a tenth of its queries. The median is reported, and the largest resident memory.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.core.golden import Expected, GoldenQuery, GoldenSet, Hit, Response
from assay.evaluate.judging import Judged, Level, Marks, judge
from assay.evaluate.matching import MATCHERS
from assay.evaluate.runs import RunInfo, RunStore

BUDGET_SECONDS = 10.0
HITS = 10
BLOCK = 20_000  # queries that are made, judged and stored at once, so that memory stays small
COMMANDS = {
    "compare": ["compare", "a", "b"],
    "compare --format json": ["compare", "a", "b", "--format", "json"],
    "gate": ["gate", "b", "--baseline", "a"],
}


def query(number: int) -> GoldenQuery:
    expected = tuple(Expected(f"doc-{number}-{one}", "doc") for one in range(1 + number % 3))
    return GoldenQuery(f"query-{number}", f"what is said about subject {number}?", expected)


def responses(numbers: range, changed: random.Random | None) -> Iterator[Response]:
    """Ten hits a query with its documents among them; where `changed`, a tenth of the queries is answered otherwise."""
    for number in numbers:
        chance = random.Random(number)
        if changed is not None and changed.random() < 0.1:
            chance = changed
        found = [f"other-{number}-{place}" for place in range(HITS)]
        for one in range(1 + number % 3):
            if chance.random() < 0.7:
                found[chance.randrange(HITS)] = f"doc-{number}-{one}"
        yield Response(
            tuple(Hit(name, score=1 - rank / HITS) for rank, name in enumerate(found)), latency_ms=chance.uniform(5, 50)
        )


def fill(store: RunStore, golden: GoldenSet, label: str, changed: random.Random | None) -> None:
    """One complete run, block by block."""
    info = RunInfo(label, "2026-01-01T00:00:00+00:00", golden.digest, "benchmark", "doc", "doc", 10, label=label)
    store.start(info, golden)
    blocks = []
    for start in range(0, len(golden.queries), BLOCK):
        numbers = range(start, min(start + BLOCK, len(golden.queries)))
        answers = list(responses(numbers, changed))
        rows = zip(numbers, answers, strict=True)
        store.record(label, [(number, golden.queries[number].id, answer, False) for number, answer in rows])
        blocks.append(judge(golden.queries[start : numbers.stop], answers, MATCHERS["doc"], "doc"))
    store.save_judged(label, "doc", joined(blocks))
    store.update(label, status="complete")


def joined(blocks: list[Judged]) -> Judged:
    """Judged blocks of queries as one run."""
    starts = np.cumsum([0, *map(len, blocks)])[:-1]

    def marks(part: str) -> Marks:
        parts = [getattr(block.main, part) for block in blocks]
        moved = [replace(one, owner=one.owner + int(start)) for one, start in zip(parts, starts, strict=True)]
        columns = (np.concatenate([getattr(one, name) for one in moved]) for name in ("owner", "rank", "grade"))
        return Marks(*(column.astype(np.int32) for column in columns))

    hits = marks("hits")
    main = Level(hits, hits, hits, marks("wanted"))
    facts = {name: np.concatenate([block.facts[name] for block in blocks]) for name in blocks[0].facts}
    queries = tuple(query for block in blocks for query in block.queries)
    return Judged(queries, np.concatenate([block.returned for block in blocks]), main, main, facts)


def build(path: Path, each: int) -> None:
    golden = GoldenSet(tuple(query(number) for number in range(each)), "benchmark", "pairs", f"benchmark-{each}")
    with RunStore.open(path, write=True) as store:
        fill(store, golden, "a", None)
        fill(store, golden, "b", random.Random("changed"))


def timed(arguments: list[str], store: Path | str, folder: Path) -> tuple[float, float]:
    """Seconds and largest resident megabytes of one command in a process of its own."""
    command = [sys.executable, "-m", "assay", "eval", *arguments, "--runs", str(store)]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder)
    assert process.stderr is not None
    complaint = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.stderr.close()
    if os.waitstatus_to_exitcode(status) == 2:
        raise SystemExit(complaint)
    return seconds, usage.ru_maxrss / 1024


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--each", type=int, default=500_000, help="queries of each run")
    options.add_argument("--repeat", type=int, default=3, help="how often each command is timed")
    options.add_argument("--folder", type=Path, help="keep the run file here and use it again")
    options.add_argument("--json", type=Path, help="write the figures here")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"runs-{given.each}.db"
        if not path.exists():
            build(path, given.each)
        figures: dict[str, Any] = {}
        print(f"two runs of {given.each:,} queries, {path.stat().st_size / 1e6:,.0f} MB, {os.cpu_count()} cores\n")
        print(f"{'command':<24}{'seconds':>9}{'peak MB':>9}")
        for name, arguments in COMMANDS.items():
            runs = [timed(arguments, path, folder) for _ in range(given.repeat)]
            seconds, memory = statistics.median(run[0] for run in runs), max(run[1] for run in runs)
            figures[name] = {"seconds": round(seconds, 2), "peak_megabytes": round(memory)}
            print(f"{name:<24}{seconds:>9.2f}{memory:>9.0f}")
    met = figures["compare"]["seconds"] <= BUDGET_SECONDS
    print(f"\nbudget of {BUDGET_SECONDS:g} s for compare: {'met' if met else 'MISSED'}")
    if given.json:
        told = {
            "each": given.each,
            "python": platform.python_version(),
            "machine": platform.machine(),
            "commands": figures,
        }
        given.json.write_text(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
