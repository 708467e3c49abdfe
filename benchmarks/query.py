"""Query latency and memory: in a resident process, as a command, and on an index with four times the symbols.

    PYTHONPATH=src python benchmarks/query.py --tasks TASKS [--django DIR] [--work DIR] [--rounds N] [--commands N] [--json FILE]

TASKS is a golden set whose texts are asked; what they are about does not matter for speed. Django 5.1's source distribution (downloaded with pip
unless --django names an unpacked copy) is copied into a git repository and indexed, once and four times beside itself; --work keeps both.

Times are milliseconds, wall (user CPU in brackets: what counts on a machine that is busy otherwise): the median of the rounds for each task,
then the median and the 95th percentile over tasks. *rank* is `Repository.rank`; *context* adds looking whether the index is fresh, packing and
rendering. In each round the single and the fourfold index are asked in turn, so the factor compares the same minutes. A *command* is a process of
its own from start to end. Memory is that of a fresh process, with one index, after a hundred contexts, and the most it ever had.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import assay
from assay.api import Repository
from assay.evaluate.golden import load
from index import DJANGO, django

BUDGETS = {
    "context p50": 50.0,
    "context p95": 150.0,
    "command, asked first p50": 600.0,
    "command, asked again p50": 600.0,
    "rank, 4× over 1×": 3.0,
    "context, 4× over 1×": 3.0,
    "rank, default over hand-tuned, ms of CPU": 10.0,
    "memory after 100 contexts, MB": 400.0,
    "memory at most, MB": 400.0,
}
COPIES = 4
ASKED = 50  # symbols, as `assay context` asks for
# processes find the package that this one has found, wherever they run: a clone need not be installed; as there, modules are compiled once
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(assay.__file__).resolve().parents[1]),
    "PYTHONDONTWRITEBYTECODE": "",
    "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "assay-benchmarks" / "compiled"),
}
SETTLED = 2.1  # seconds after which a stat is enough to know that a file is as it was indexed

_MEMORY = """
import json, sys
import assay
with assay.open(sys.argv[1]) as repo:
    for task in json.load(sys.stdin):
        repo.context(task).render()
    kilobytes = dict(line.split(":", 1) for line in open("/proc/self/status"))
    print(json.dumps([int(kilobytes[key].split()[0]) / 1000 for key in ("VmRSS", "VmHWM")]))
"""


class Took(NamedTuple):
    """Milliseconds."""

    wall: float
    user: float


def indexed(root: Path, source: Path, copies: int) -> Path:
    """A git repository with so many copies of a tree, indexed; made only if it is not there yet."""
    if not root.exists():
        for number in range(copies):
            shutil.copytree(source, root / f"copy_{number}" if copies > 1 else root, ignore=_own)
        git = ["git", "-C", str(root), "-c", "user.name=b", "-c", "user.email=b@example.org"]
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "Django"]):
            subprocess.run([*git, *arguments], check=True)
        time.sleep(SETTLED)
    with assay.open(root, index=True):
        return root


def _own(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name in (".git", ".assay")}


def timed(call: Callable[[], object]) -> Took:
    wall, user = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_utime
    call()
    return Took((time.perf_counter() - wall) * 1000, (resource.getrusage(resource.RUSAGE_SELF).ru_utime - user) * 1000)


def resident(repositories: Sequence[Repository], tasks: Sequence[str], rounds: int) -> dict[str, list[list[Took]]]:
    """Return latencies of ranking and of whole contexts: per repository, the median round of every task."""
    calls: dict[str, Callable[[Repository, str], object]] = {
        "rank": lambda repo, task: repo.rank(task, ASKED),
        "context": lambda repo, task: repo.context(task).render(),
    }
    for repo in repositories:
        repo.context(tasks[0])
    took: dict[str, list[list[Took]]] = {}
    for name, call in calls.items():
        every = [[[timed(partial(call, repo, task)) for repo in repositories] for task in tasks] for _ in range(rounds)]
        took[name] = [
            [_median([one_round[at][which] for one_round in every]) for at in range(len(tasks))]
            for which in range(len(repositories))
        ]
    return took


def cost_of_the_ranker(repo: Repository, tasks: Sequence[str], rounds: int) -> float:
    """Return by how many milliseconds of CPU the default is slower than the profile without a learned ranker.

    Both are asked in turn; the least of the rounds counts for each task, then the median over tasks.
    """
    differences = []
    for task in tasks:
        took = [
            [timed(partial(repo.rank, task, ASKED, profile=profile)).user for profile in ("hand-tuned", "default")]
            for _ in range(rounds)
        ]
        without, learned = (min(times) for times in zip(*took, strict=True))
        differences.append(learned - without)
    return float(statistics.median(differences))


def command(root: Path, task: str, *options: str) -> Took:
    """One `assay context` in a process of its own."""
    wall, user = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(
        [sys.executable, "-m", "assay", "context", *options, "--", task],
        cwd=root,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):  # 1: nothing found
        raise SystemExit(f"assay context failed: {done.stderr.strip()}")
    return Took(
        (time.perf_counter() - wall) * 1000, (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - user) * 1000
    )


def memory(root: Path, tasks: Sequence[str]) -> tuple[float, float]:
    """Megabytes of a process after a hundred contexts, and the most it had."""
    asked = [tasks[number % len(tasks)] for number in range(100)]
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY, str(root)],
        input=json.dumps(asked),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    after, most = json.loads(done.stdout)
    return after, most


def measure(root: Path, fourfold: Path, tasks: Sequence[str], rounds: int, commands: int) -> dict[str, Took | float]:
    result: dict[str, Took | float] = {}
    with assay.open(root) as single, assay.open(fourfold) as four:
        took = resident([single, four], tasks, rounds)
        result["rank, default over hand-tuned, ms of CPU"] = cost_of_the_ranker(single, tasks, rounds)
        sizes = [repo.status().symbols for repo in (single, four)]
    for name, (one, many) in took.items():
        result |= {f"{name} p50": _quantile(one, 0.5), f"{name} p95": _quantile(one, 0.95)}
        result[f"{name} p50 at 4×"] = _quantile(many, 0.5)
        # CPU, not wall: the two are asked in turn, but not at the same moment
        result[f"{name}, 4× over 1×"] = statistics.median(
            b.user / max(a.user, 0.1) for a, b in zip(one, many, strict=True)
        )
    some = tasks[:: max(len(tasks) // commands, 1)][:commands]
    result["command, asked first p50"] = _quantile([command(root, task, "--no-cache") for task in some], 0.5)
    for task in some:
        command(root, task)
    result["command, asked again p50"] = _quantile([command(root, task) for task in some], 0.5)
    after, most = memory(root, tasks)
    return {
        "symbols": sizes[0],
        "symbols at 4×": sizes[1],
        **result,
        "memory after 100 contexts, MB": after,
        "memory at most, MB": most,
    }


def _median(took: Sequence[Took]) -> Took:
    return Took(statistics.median(one.wall for one in took), statistics.median(one.user for one in took))


def _quantile(took: Sequence[Took], share: float) -> Took:
    """Of wall and user apart."""
    walls, users = (sorted(values) for values in zip(*took, strict=True))
    at = min(int(len(took) * share), len(took) - 1)
    return Took(walls[at], users[at])


def table(result: dict[str, Took | float]) -> str:
    """Markdown: a figure in a row, with its budget."""
    lines = ["| | measured | budget | |", "|---|---|---|---|"]
    for name, value in result.items():
        shown = (
            f"{value.wall:.0f} ms ({value.user:.0f})"
            if isinstance(value, Took)
            else f"{value:,.0f}"
            if value > 100
            else f"{value:.2f}"
        )
        budget, figure = BUDGETS.get(name), value.wall if isinstance(value, Took) else value
        verdict = "" if budget is None else "kept" if figure <= budget else "MISSED"
        lines.append(f"| {name} | {shown} | {'' if budget is None else f'{budget:g}'} | {verdict} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=Path, required=True, help="a golden set whose texts are asked")
    parser.add_argument("--django", type=Path, help="an unpacked Django source distribution")
    parser.add_argument("--work", type=Path, help="a folder that keeps the indexed copies")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--commands", type=int, default=15, help="how many tasks are asked by commands")
    parser.add_argument("--json", type=Path, help="also write the result here")
    arguments = parser.parse_args()
    source = arguments.django or django(Path(tempfile.gettempdir()) / "assay-benchmarks")
    tasks = [query.text for query in load(arguments.tasks).queries]
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or Path(temporary)
        root, fourfold = indexed(work / "once", source, 1), indexed(work / "fourfold", source, COPIES)
        result = measure(root, fourfold, tasks, arguments.rounds, arguments.commands)
    machine: dict[str, Any] = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    print(f"{len(tasks)} tasks, {arguments.rounds} rounds; {machine}\n\n{table(result)}")
    if arguments.json:
        figures = {name: value._asdict() if isinstance(value, Took) else value for name, value in result.items()}
        measured = {"measured_on": f"Django {DJANGO}", "tasks": len(tasks), "machine": machine, **figures}
        arguments.json.write_text(json.dumps(measured, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
