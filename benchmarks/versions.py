"""Compare the speed of two versions of assay in one run: cold index, one edited file, warm ranking.

    python benchmarks/versions.py OLD/src NEW/src --repository DIR [--pairs 5] [--tasks FILE]

Both versions work on copies of DIR, in turn, so that a noisy machine slows both alike. Times are CPU seconds of the process
and of its workers, and wall-clock seconds; the table shows medians and their ratio. TASKS has one task per line; without
it, subjects of the newest commits are ranked.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TASKS = 20  # tasks ranked in each round
FIGURES = ("index", "index CPU", "edit", "first query", "warm query")

# runs in a process of its own, with PYTHONPATH set to the version under test; prints the figures as JSON
WORKER = """
import json, os, sys, time
from pathlib import Path
import assay
root, index_dir, tasks = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
def cpu():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
def timed(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
figures = {}
repository = assay.Repository(root, index_dir)
before = cpu()
figures["index"] = timed(repository.refresh)
figures["index CPU"] = cpu() - before
edited = next(path for path in sorted(root.rglob(sys.argv[4])) if path.is_file() and path.stat().st_size > 2000)
edited.write_text(edited.read_text() + "\\n")
figures["edit"] = timed(repository.refresh)
repository.close()
figures["first query"] = timed(lambda: repository.rank(tasks[0]))
rounds = [[timed(lambda: repository.rank(task)) for task in tasks] for _ in range(3)]
figures["warm query"] = sum(min(times) for times in zip(*rounds)) / len(tasks)
print(json.dumps(figures))
"""


def measure(source: Path, repository: Path, tasks: list[str], pattern: str) -> dict[str, float]:
    """Return the figures of one version on a fresh copy of a repository."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / repository.name
        shutil.copytree(repository, copy, symlinks=True, ignore=shutil.ignore_patterns(".assay", "assay"))
        environment = os.environ | {"PYTHONPATH": str(source), "XDG_CONFIG_HOME": temporary, "HOME": temporary}
        command = [sys.executable, "-c", WORKER, str(copy), str(Path(temporary) / "index"), json.dumps(tasks), pattern]
        output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    figures: dict[str, float] = json.loads(output.splitlines()[-1])
    return figures


def subjects(repository: Path) -> list[str]:
    """Return the subjects of the newest commits as tasks."""
    command = ["git", "-C", str(repository), "log", "--no-merges", f"-{TASKS}", "--format=%s"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def main() -> None:
    """Measure both versions in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--repository", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--tasks", type=Path)
    parser.add_argument("--edit", default="*.*", help="pattern of the file that is edited")
    arguments = parser.parse_args()
    repository = arguments.repository.resolve()
    tasks = arguments.tasks.read_text("utf-8").splitlines() if arguments.tasks else subjects(repository)
    results: dict[str, list[dict[str, float]]] = {"old": [], "new": []}
    for pair in range(arguments.pairs):
        order = ("old", "new") if pair % 2 == 0 else ("new", "old")
        for version in order:
            source = getattr(arguments, version).resolve()
            results[version].append(measure(source, repository, tasks, arguments.edit))
            print(version, {name: round(value, 3) for name, value in results[version][-1].items()}, file=sys.stderr)
    print(f"{'':<12}  {'old':>8}  {'new':>8}  {'ratio':>6}")
    for name in FIGURES:
        old, new = (statistics.median(row[name] for row in results[version]) for version in ("old", "new"))
        print(f"{name:<12}  {old:8.3f}  {new:8.3f}  {new / old:6.3f}")


if __name__ == "__main__":
    main()
