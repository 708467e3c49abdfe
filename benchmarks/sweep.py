"""A sweep of 4 chunk sizes × 2 embedders × 2 rerankers on real documentation, killed half-way and resumed.

    python benchmarks/sweep.py FLASK [--golden eval/flask-documentation.jsonl] [--embedders lsa,none]

FLASK is a clone of the repository that the golden set speaks of; it is copied first. Prints markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-m", "assay"]
HALF = 8  # of the runs, when it is killed
ENVIRONMENT = os.environ | {"PYTHONPATH": str(HERE / "src")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--golden", type=Path, default=HERE / "eval/flask-documentation.jsonl")
    parser.add_argument("--embedders", default="lsa,none")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "repository"
        subprocess.run(
            ["git", "-c", "advice.detachedHead=false", "clone", "--quiet", str(given.repository.resolve()), str(root)],
            check=True,
        )
        subprocess.run([*COMMAND, "index", "."], cwd=root, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
        sweep = [
            *COMMAND, "eval", "sweep", "--root", ".", "--queries", str(given.golden.resolve()),
            "--chunk-sizes", "512,1024,2048,4096", "--embedders", given.embedders, "--rerankers", "none,features",
        ]  # fmt: skip
        seconds = _killed(sweep, root)
        finished = sum(
            run["status"] == "complete" for run in _json([*COMMAND, "eval", "list", "--root", "."], root)["runs"]
        )
        started = time.perf_counter()
        report = _json(sweep, root)
        spent = time.perf_counter() - started
        again = _json(sweep, root)["work"]
        kept, models = (_count(root / ".assay/vectors.db", table) for table in ("vectors", "models"))
    work = report["work"]
    print(
        f"killed after {seconds:.1f} s with {finished} of {report['num_configs']} configurations finished; the rest took {spent:.1f} s\n"
    )
    print("| command | documents divided | texts embedded | queries asked | finished before | resumed |")
    print("|---|---|---|---|---|---|")
    for name, one in (("after the kill", work), ("once more", again)):
        fields = ("documents_divided", "texts_embedded", "queries_asked", "finished_before", "resumed")
        print(f"| {name} | {' | '.join(f'{one[field]:,}' for field in fields)} |")
    texts = sum(stage["passages"] for stage in work["stages"] if stage["model"])
    print(
        f"\n{work['embedding_pairs']} distinct pairs of chunk set and model with {texts:,} passages; "
        f"embedded in all: {kept:,} texts (equal ones once) by {models} models; {work['chunk_sets']} chunk sets\n"
    )
    print("| configuration | MRR | Recall@5 | NDCG@10 | ms |")
    print("|---|---|---|---|---|")
    for one in sorted(report["reports"], key=lambda one: -one["summary"]["avg_ndcg_at_10"]):
        told = one["summary"]
        figures = (f"{told[f'avg_{name}']:.4f}" for name in ("mrr", "recall_at_5", "ndcg_at_10"))
        print(f"| {one['config']['name']} | {' | '.join(figures)} | {told['avg_latency_ms']:.1f} |")


def _killed(sweep: list[str], root: Path) -> float:
    """Starts a sweep and kills it (-9) when half of its runs are there; the seconds it had."""
    started = time.perf_counter()
    process = subprocess.Popen(sweep, cwd=root, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and _count(root / ".assay/runs.db", "eval_runs") < HALF:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return time.perf_counter() - started


def _count(database: Path, table: str) -> int:
    """The rows of a table; 0 while it is not there."""
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def _json(command: list[str], root: Path) -> dict[str, Any]:
    done = subprocess.run(
        [*command, "--format", "json"], cwd=root, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    return json.loads(done.stdout) if done.stdout else {"runs": []}


if __name__ == "__main__":
    main()
