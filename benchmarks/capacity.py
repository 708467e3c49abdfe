"""Capacity of a team's installation: measured costs of single repositories, extrapolated to thousands by simulation.

    python benchmarks/capacity.py measure FOLDER… [--json benchmarks/capacity.json]
    python benchmarks/capacity.py serve FILE [--json benchmarks/capacity.json]   FILE: output of benchmarks/serve.py
    python benchmarks/capacity.py page [--json benchmarks/capacity.json] [--write docs/guides/capacity.md]

`measure` clones each repository into a temporary folder, indexes the clone, edits one and ten files, and asks forty
questions, all in processes of their own whose CPU time counts: wall time depends on what else the machine does. `page`
simulates fleets of repositories drawn from those measured and prints the tables of docs/guides/capacity.md; with --write
it replaces them there. The figures of stored queries are those of docs/measurements.md.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
DEFAULT = HERE / "benchmarks" / "capacity.json"
PAGE = HERE / "docs" / "guides" / "capacity.md"

# Assumptions of the extrapolation, printed on the page
FLEETS = (1_000, 10_000, 100_000)  # repositories
PUSHES_PER_DAY = 2.0  # to each repository, mean of a working day
WORKING_HOURS = 8.0  # in which the pushes of a day arrive
FILES_OF_A_PUSH = (
    (0.7, "refresh_1"),
    (0.3, "refresh_10"),
)  # share of pushes, and the measured edit that stands for them
REPOSITORIES_PER_PERSON = 10.0
QUESTIONS_PER_HOUR = 20.0  # of one person or agent at work
REPEATED_SHARE = 0.2  # of questions, which the cache answers
CACHED_SECONDS = 0.001  # CPU of an answer from the cache; 0.6 to 0.7 ms in benchmarks/serve.py
REFRESH_GOAL, QUESTION_GOAL = 60.0, 1.0  # seconds: 95 of 100 pushes visible, 95 of 100 questions answered
LARGEST_LOAD = 0.7  # of a core; queues grow without bound near 1
REGISTERED = 1_000  # repositories of one server (assay.serve.registry.MOST)
SIMULATED = 20_000  # pushes or questions of one simulation


@dataclass(frozen=True)
class Cost:
    """Measured cost of one repository. Times are CPU seconds of a process and its children."""

    name: str
    files: int
    lines: int
    symbols: int
    commits: int
    index: float
    index_mb: float  # memory, largest process
    unchanged: float  # a check that finds nothing to do
    refresh_1: float
    refresh_10: float
    stored_mb: float
    checkout_mb: float
    question_ms: float
    open_mb: float  # memory of a process that has answered questions, above that of one that has not


# Measuring

_QUESTIONS = """
import json, re, resource, sys, time
from pathlib import Path
from assay.api import Repository

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6

def tasks(repo):
    items = repo.symbols("*")
    texts = [item.doc.split("\\n")[0] for item in items if len(item.doc) > 30]
    texts += [" ".join(re.findall("[A-Z]?[a-z]+", item.symbol)) for item in items if item.symbol]  # few comments: names
    asked = list(dict.fromkeys(texts))[:60]
    assert len(asked) == 60, "too few symbols to ask about"
    return asked

import assay.rank.engine, assay.pack.questions
with Repository(Path(sys.argv[1]), sys.argv[2]) as repo:
    before = resident()
    asked = tasks(repo)
    for task in asked[:20]:
        repo.context(task)
    started = time.process_time()
    for task in asked[20:60]:
        repo.context(task)
    spent = (time.process_time() - started) / 40
    print(json.dumps({"question_ms": 1000 * spent, "open_mb": resident() - before}))
"""


def run(*arguments: str) -> tuple[float, float, str]:
    """Run Python; return the CPU seconds of all its processes, the memory of the largest in MB, and its output."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([sys.executable, *arguments], stdout=output, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{arguments}: exit code {process.returncode}")
        output.seek(0)
        return used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3, output.read().decode()


def folder_mb(folder: Path) -> float:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / 1e6


def measure(folder: Path) -> Cost:
    """Measure a repository on a clone of it."""
    with tempfile.TemporaryDirectory() as temporary:
        root, index = Path(temporary) / folder.name, Path(temporary) / "index"
        subprocess.run(["git", "clone", "--quiet", "--local", str(folder), str(root)], check=True)
        checkout = folder_mb(root) - folder_mb(root / ".git")
        indexing = ("-m", "assay", "index", "--index-dir", str(index), str(root))
        cold, memory, _ = run(*indexing)
        stored = folder_mb(index)
        status = json.loads(
            run("-m", "assay", "status", "--root", str(root), "--index-dir", str(index), "--format", "json")[2]
        )
        unchanged = run(*indexing)[0]
        counted = subprocess.run(
            ["git", "-C", str(root), "rev-list", "--count", "HEAD"], capture_output=True, text=True, check=True
        )
        refresh = {count: refreshed(root, indexing, count) for count in (1, 10)}
        asked = json.loads(run("-c", _QUESTIONS, str(root), str(index))[2])
        return Cost(
            folder.name, status["files"], status["lines"], status["symbols"], int(counted.stdout), cold, memory,
            unchanged, refresh[1], refresh[10], stored, checkout, **asked,
        )  # fmt: skip


def refreshed(root: Path, indexing: tuple[str, ...], count: int) -> float:
    """Return the median CPU seconds of three updates after a line was added to `count` source files."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, text=True, check=True).stdout
    marks = {".py": "#", ".rb": "#", ".go": "//", ".js": "//", ".ts": "//", ".rs": "//", ".java": "//", ".cs": "//"}
    sources = [root / name for name in listed.splitlines() if Path(name).suffix in marks and (root / name).is_file()]
    chooser, times = random.Random(count), list[float]()
    for number in range(3):
        for path in chooser.sample(sources, min(count, len(sources))):
            with path.open("a") as file:
                file.write(f"\n{marks[path.suffix]} edited {number}\n")
        times.append(run(*indexing)[0])
    return statistics.median(times)


# Simulation: pushes and questions wait for one of several servers, first come, first served


def simulate(rate: float, service: Callable[[random.Random], float], servers: int, seed: int) -> list[float]:
    """Return the seconds from arrival to end of SIMULATED jobs: Poisson arrivals at `rate` a second."""
    chance = random.Random(seed)
    free, now, times = [0.0] * servers, 0.0, list[float]()
    for _ in range(SIMULATED):
        now += chance.expovariate(rate)
        start = max(now, heapq.heappop(free))
        end = start + service(chance)
        heapq.heappush(free, end)
        times.append(end - now)
    return times[SIMULATED // 10 :]  # without the empty beginning


def servers_for(rate: float, service: Callable[[random.Random], float], goal: float) -> tuple[int, float, float]:
    """Return the fewest servers for which 95 of 100 jobs end in time, with p50 and p95.

    Where a job alone takes longer than the goal, more servers do not help: then the fewest below LARGEST_LOAD.
    """
    chance = random.Random(0)
    mean = statistics.fmean(service(chance) for _ in range(SIMULATED))
    servers = max(1, math.ceil(rate * mean / LARGEST_LOAD))
    alone = quantile([service(chance) for _ in range(SIMULATED)], 0.95)
    while True:
        times = simulate(rate, service, servers, seed=servers)
        p95 = quantile(times, 0.95)
        if p95 <= max(goal, 1.05 * alone):
            return servers, quantile(times, 0.5), p95
        servers += max(1, servers // 10)


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def refresh_service(costs: list[Cost]) -> Callable[[random.Random], float]:
    """Draw the CPU seconds of the refresh after a push to any repository."""
    shares = [share for share, _ in FILES_OF_A_PUSH]

    def draw(chance: random.Random) -> float:
        [(_, edit)] = chance.choices(FILES_OF_A_PUSH, shares)
        return float(getattr(chance.choice(costs), edit))

    return draw


def question_service(costs: list[Cost]) -> Callable[[random.Random], float]:
    """Draw the CPU seconds of a question."""
    return lambda chance: (
        CACHED_SECONDS if chance.random() < REPEATED_SHARE else chance.choice(costs).question_ms / 1000
    )


# Tables


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(
        "| " + " | ".join(line) + " |" if line[0] != "---" else "|" + "|".join(line) + "|" for line in lines
    )


def measured_table(costs: list[Cost]) -> str:
    rows = [
        [
            cost.name, f"{cost.files:,}", f"{cost.lines / 1000:,.0f}", f"{cost.commits:,}", f"{cost.index:,.1f}",
            f"{cost.unchanged:.1f}", f"{cost.refresh_1:.1f}", f"{cost.refresh_10:.1f}", f"{cost.stored_mb:,.0f}",
            f"{cost.checkout_mb:,.0f}", f"{cost.question_ms:,.0f}", f"{cost.open_mb:,.0f}",
        ]
        for cost in sorted(costs, key=lambda cost: cost.lines)
    ]  # fmt: skip
    head = [
        "repository", "files", "lines, k", "commits", "index, s", "unchanged, s", "1 file, s", "10 files, s",
        "index, MB", "checkout, MB", "question, ms", "open, MB",
    ]  # fmt: skip
    mean = [
        f"{statistics.fmean(getattr(cost, name) for cost in costs):,.1f}"
        for name in ("index", "unchanged", "refresh_1", "refresh_10")
    ]
    sizes = [
        f"{statistics.fmean(getattr(cost, name) for cost in costs):,.0f}"
        for name in ("stored_mb", "checkout_mb", "question_ms", "open_mb")
    ]
    lines, files = (statistics.fmean(getattr(cost, name) for cost in costs) for name in ("lines", "files"))
    rows.append(
        [
            "**mean**",
            f"{files:,.0f}",
            f"{lines / 1000:,.0f}",
            f"{statistics.fmean(cost.commits for cost in costs):,.0f}",
            *mean,
            *sizes,
        ]
    )
    return table(head, rows)


def rule(costs: list[Cost]) -> str:
    """Per-line costs by least squares through the origin."""

    def slope(name: str) -> float:
        return float(sum(getattr(cost, name) * cost.lines for cost in costs) / sum(cost.lines**2 for cost in costs))

    thousands = f"{100_000 * slope('index'):,.1f} CPU seconds and {100_000 * slope('stored_mb'):,.0f} MB"
    return f"Rule of thumb, fitted to the table: 100,000 lines take {thousands} of index."


def serve_table(report: dict[str, Any]) -> str:
    rows = []
    for server in report["servers"]:
        count = server["workers"]
        name = f"{count} workers" if count > 1 else "1 worker" if count else "one process"
        for kind in ("distinct", "repeated"):
            load = server[kind]
            failed = sum(number for status, number in load["by_status"].items() if status != "200")
            rows.append([
                f"{name}, {'new' if kind == 'distinct' else 'repeated'} questions", f"{load['per_second']:,.0f}", f"{load['p50_ms'] / 1000:.2f}",
                f"{load['p95_ms'] / 1000:.2f}",
                f"{load['cpu_ms_per_answer']:.1f}", f"{load['cores_used']:.2f}", str(failed), f"{server['memory_mb']['after']:,}",
            ])  # fmt: skip
    head = ["", "answers a second", "p50, s", "p95, s", "CPU ms an answer", "cores used", "failed", "memory, MB"]
    about = f"{report['repository']}, {report['clients']} clients that ask without a pause for {report['seconds']:.0f} s each"
    return f"{about}:\n\n{table(head, rows)}"


def store_table(measurements: str) -> str:
    """Two runs of 500,000 queries, as docs/measurements.md has them: a million stored queries."""
    start = measurements.index("| | SQLite | PostgreSQL |")
    return measurements[start : measurements.index("\n\n", start)]


def fleet_table(costs: list[Cost]) -> str:
    rows: list[list[str]] = [[name] for name in (
        "index everything once, core-hours", "… on 16 cores, hours", "indexes on disk", "checkouts on disk", "pushes a day",
        "refresh cores", "push visible, p50 / p95, s", "people", "questions an hour", "question cores (server workers)",
        "answer, p50 / p95, ms", "servers, at most 1,000 repositories each", "memory, every index open once",
    )]  # fmt: skip
    for fleet in FLEETS:
        mean = {
            name: statistics.fmean(getattr(cost, name) for cost in costs)
            for name in ("index", "stored_mb", "checkout_mb", "open_mb")
        }
        pushes = fleet * PUSHES_PER_DAY
        refreshing, r50, r95 = servers_for(pushes / (WORKING_HOURS * 3600), refresh_service(costs), REFRESH_GOAL)
        people = fleet / REPOSITORIES_PER_PERSON
        asked = people * QUESTIONS_PER_HOUR
        answering, q50, q95 = servers_for(asked / 3600, question_service(costs), QUESTION_GOAL)
        hours = fleet * mean["index"] / 3600
        values = [
            f"{hours:,.1f}", f"{hours / 16:,.1f}", size(fleet * mean["stored_mb"]), size(fleet * mean["checkout_mb"]), f"{pushes:,.0f}",
            f"{refreshing:,}", f"{r50:.1f} / {r95:.1f}", f"{people:,.0f}", f"{asked:,.0f}", f"{answering:,}",
            f"{1000 * q50:.0f} / {1000 * q95:.0f}", f"{math.ceil(fleet / REGISTERED):,}", size(fleet * mean["open_mb"]),
        ]  # fmt: skip
        for row, value in zip(rows, values, strict=True):
            row.append(value)
    return table(["", *(f"{fleet:,} repositories" for fleet in FLEETS)], rows)


def size(megabytes: float) -> str:
    return f"{megabytes / 1e6:,.1f} TB" if megabytes >= 1e6 else f"{megabytes / 1e3:,.0f} GB"


def load_table(costs: list[Cost]) -> str:
    """Delay of pushes and questions by the number of cores, for the middle fleet."""
    fleet = FLEETS[1]
    rates = (
        fleet * PUSHES_PER_DAY / (WORKING_HOURS * 3600),
        fleet / REPOSITORIES_PER_PERSON * QUESTIONS_PER_HOUR / 3600,
    )
    rows = []
    for name, rate, service in (
        ("push visible", rates[0], refresh_service(costs)),
        ("question answered", rates[1], question_service(costs)),
    ):
        mean = statistics.fmean(service(random.Random(number)) for number in range(SIMULATED))
        least = math.ceil(rate * mean)
        for servers in sorted({least, least + 1, least + 2, 2 * least + 1}):
            times = simulate(rate, service, servers, seed=servers)
            rows.append(
                [
                    name,
                    f"{servers:,}",
                    f"{rate * mean / servers:.0%}",
                    *(f"{quantile(times, share):,.2f}" for share in (0.5, 0.95, 0.99)),
                ]
            )
    return table([f"{fleet:,} repositories", "cores", "busy", "p50, s", "p95, s", "p99, s"], rows)


def assumptions() -> str:
    edits = ", ".join(
        f"{share:.0%} like an edit of {edit.rpartition('_')[2]} file{'s' * (edit[-2:] != '_1')}"
        for share, edit in FILES_OF_A_PUSH
    )
    return "\n".join(
        textwrap.fill(f"- {line}", 118, subsequent_indent="  ")
        for line in (
            "Every repository costs what one of those measured does, drawn at random; sizes in your company differ: repeat the measurement.",
            f"{PUSHES_PER_DAY:g} pushes a day to each repository, all within {WORKING_HOURS:g} hours, at random times; {edits}.",
            f"One person or agent for every {REPOSITORIES_PER_PERSON:g} repositories, {QUESTIONS_PER_HOUR:g} questions an hour each, "
            f"{REPEATED_SHARE:.0%} of them answered from the cache in {1000 * CACHED_SECONDS:g} ms. A question concerns one repository.",
            f"A core does one thing at a time and no faster than here; the number of cores is the smallest that is at most {LARGEST_LOAD:.0%} busy "
            f"and ends 95 of 100 refreshes within {REFRESH_GOAL:g} s and 95 of 100 questions within {QUESTION_GOAL:g} s.",
            f"{SIMULATED:,} pushes and questions are simulated for each number of cores. Disks, network and git hosting are not.",
        )
    )


def blocks(data: dict[str, Any]) -> dict[str, str]:
    """Return the generated parts of the page by name."""
    costs = [Cost(**row) for row in data["repositories"]]
    return {
        "measured": f"{measured_table(costs)}\n\n{textwrap.fill(' '.join((rule(costs), data['machine'])), 118)}",
        "serve": serve_table(data["serve"]) if data.get("serve") else "",
        "store": store_table((HERE / "docs" / "measurements.md").read_text("utf-8")),
        "fleet": fleet_table(costs),
        "load": load_table(costs),
        "assumptions": assumptions(),
    }


def filled(page: str, parts: dict[str, str]) -> str:
    """Return the page with its generated parts replaced."""
    for name, text in parts.items():
        begin, end = f"<!-- {name}: benchmarks/capacity.py -->", f"<!-- end of {name} -->"
        head, _, rest = page.partition(begin)
        page = f"{head}{begin}\n{text}\n{end}{rest.partition(end)[2]}"
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["measure", "serve", "page"])
    parser.add_argument("paths", type=Path, nargs="*")
    parser.add_argument("--json", type=Path, default=DEFAULT)
    parser.add_argument("--write", type=Path, nargs="?", const=PAGE)
    given = parser.parse_args()
    data: dict[str, Any] = json.loads(given.json.read_text()) if given.json.exists() else {"repositories": []}
    if given.action == "page":
        parts = blocks(data)
        if given.write:
            given.write.write_text(filled(given.write.read_text("utf-8"), parts), "utf-8")
        else:
            print("\n\n".join(f"## {name}\n\n{text}" for name, text in parts.items()))
        return
    for result in (
        measured(given.paths, data)
        if given.action == "measure"
        else [{"serve": json.loads(given.paths[0].read_text())}]
    ):
        data |= result
        given.json.write_text(json.dumps(data, indent=1) + "\n")


def measured(folders: list[Path], data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Measure one repository after the other; yield what is known after each."""
    rows = {row["name"]: row for row in data["repositories"]}
    for folder in folders:
        cost = measure(folder.resolve())
        rows[cost.name] = {
            name: round(value, 2) if isinstance(value, float) else value for name, value in asdict(cost).items()
        }
        print(f"{cost.name}: {cost.index:.1f} CPU s, {cost.stored_mb:.0f} MB", file=sys.stderr)
        version, day = ".".join(map(str, sys.version_info[:3])), time.strftime("%B %Y")
        machine = f"CPU seconds on a virtual machine with {os.cpu_count()} shared cores, CPython {version}, {day}."
        yield {"machine": machine, "repositories": list(rows.values())}


if __name__ == "__main__":
    main()
