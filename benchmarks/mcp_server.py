"""Latency and memory of `assay mcp` with the SDK's client over stdio: first answer without an index, warm calls, soak.

python benchmarks/mcp_server.py REPOSITORY [--minutes 10] [--calls 200]

The repository is copied without its index and left alone. Questions are made of names of its files and symbols. Memory is that of the
server process (not of the one that indexes) as the system tells it (VmRSS): Linux only.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

import assay

TASK = "where is a request read and an error answered"
PACKAGE = str(Path(assay.__file__).parents[1])
MIX = (("context", 6), ("search", 2), ("impact", 2), ("why", 1))  # tool → how often it is asked, in eleven calls


class Questions:
    """Questions with names that are there, always the same ones for a repository."""

    def __init__(self, root: Path) -> None:
        with assay.open(root) as repo:
            self._names = [item.symbol for item in repo.symbols("*") if len(item.name) > 5]
        self._chance = random.Random(7)

    def __next__(self) -> tuple[str, dict[str, Any]]:
        tool = self._chance.choices([name for name, _ in MIX], [times for _, times in MIX])[0]
        names = self._chance.sample(self._names, 3)
        task = " ".join(names).replace("_", " ").replace(".", " ")
        return tool, {
            "context": {"task": task, "detail": self._chance.choice(["outline", "full"])},
            "search": {"query": task},
            "impact": {"symbol": names[0]},
            "why": {"task": task, "symbol": names[0]},
        }[tool]


async def measure(root: Path, calls: int, minutes: float) -> None:
    environment = {**os.environ, "PYTHONPATH": PACKAGE}
    server = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "assay", "mcp", "--root", str(root)], env=environment
    )
    started = time.perf_counter()
    async with Client(server) as client:
        connected = time.perf_counter()
        text = await asked(client, "context", {"task": TASK})
        answered = time.perf_counter()
        print(
            f"first answer, no index: {answered - connected:.2f} s after the call, {answered - started:.2f} s after the start"
        )
        print(f"    {text.splitlines()[0]}")
        while not (await fresh(client)):
            await anyio.sleep(0.2)
        print(f"indexed after {time.perf_counter() - started:.1f} s")
        await asked(client, "search", {"query": TASK})  # waits for what is made behind
        while "being built" in await asked(client, "search", {"query": TASK}):
            await anyio.sleep(0.5)
        questions = Questions(root)
        await warm(client, questions, calls)
        if minutes:
            await soak(client, questions, minutes)


async def warm(client: Client, questions: Questions, calls: int) -> None:
    """Calls one after the other, each tool by itself and all together."""
    took: dict[str, list[float]] = {}
    for _ in range(calls):
        tool, arguments = next(questions)
        began = time.perf_counter()
        await asked(client, tool, arguments)
        took.setdefault(tool, []).append(1000 * (time.perf_counter() - began))
    for tool, times in [*sorted(took.items()), ("all", [one for each in took.values() for one in each])]:
        ordered = sorted(times)
        print(
            f"{tool:<8} {len(times):>4} calls: p50 {statistics.median(ordered):6.1f} ms, p95 {ordered[int(0.95 * len(ordered))]:6.1f} ms"
        )


async def soak(client: Client, questions: Questions, minutes: float) -> None:
    """Two callers at once for so long; what the server's memory does, a row for each tenth of the time."""
    pid = server_process()
    began = time.monotonic()
    until = began + 60 * minutes
    done = 0

    async def calling() -> None:
        nonlocal done
        while time.monotonic() < until:
            await asked(client, *next(questions))
            done += 1

    async def watching() -> None:
        for tenth in range(11):
            await anyio.sleep(max(0.0, began + tenth * (until - began) / 10 - time.monotonic()))
            print(f"soak {tenth * minutes / 10:5.1f} min: {done:>6} calls, {memory(pid):.0f} MB", flush=True)

    async with anyio.create_task_group() as group:
        for work in (calling, calling, watching):
            group.start_soon(work)


async def asked(client: Client, tool: str, arguments: dict[str, Any]) -> str:
    result = await client.call_tool(tool, arguments)
    text = "".join(getattr(part, "text", "") for part in result.content)
    assert not result.is_error, text
    return text


async def fresh(client: Client) -> bool:
    found = await client.read_resource("assay://freshness")
    return '"name": "fresh"' in found.contents[0].text  # type: ignore[union-attr]


def server_process() -> int:
    """The process that this one started."""
    own = f"PPid:\t{os.getpid()}\n"
    return next(
        int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit() and own in (one / "status").read_text()
    )


def memory(pid: int) -> float:
    """Megabytes in use."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--minutes", type=float, default=10, help="of the soak; 0 for none")
    parser.add_argument("--calls", type=int, default=200, help="warm calls")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / given.repository.resolve().name
        shutil.copytree(given.repository, root, symlinks=True, ignore=shutil.ignore_patterns(".assay"))
        anyio.run(measure, root, given.calls, given.minutes)


if __name__ == "__main__":
    main()
