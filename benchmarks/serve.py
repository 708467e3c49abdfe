"""Load test of `assay serve`: many concurrent clients, then far more connections than it accepts.

python benchmarks/serve.py REPOSITORY [--clients 50] [--seconds 60] [--connections 10000] [--source DIR] [--workers 0 1 2]

Clients first ask questions that nobody asked before, then twenty questions again and again. --source has another version of assay to compare with.
--workers measures one server after the other, each with so many workers; 0 is one process without a supervisor.

A number may be repeated (1 2 1 2): on a shared machine, compare CPU time per answer and cores used, not answers a second.

Everything is on loopback. The repository is indexed if it is not yet. Memory is the server's resident set, CPU that of all its processes.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import http.client
import json
import os
import resource
import selectors
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

HERE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE / "tests"), str(HERE / "src")]

import assay  # noqa: E402
from support.processes import children  # noqa: E402
from support.web_server import Server, run_server  # noqa: E402

PATIENCE = 120.0
KINDS = (
    "/api/context", "/", "/api/context", "/api/context", "/", "/api/symbols", "/api/context", "/", "/api/search", "/api/status",
)  # fmt: skip
SPARE = 200  # descriptors that are not for the crowd
REPEATED = 20  # questions that are asked again and again


def questions(root: Path) -> Iterator[str]:
    """Tasks in words of the repository without end, no two the same: the first lines of its documentation strings, then two of them together."""
    with assay.open(root, index=True) as repo:
        found = list(dict.fromkeys(item.doc.split("\n")[0] for item in repo.symbols("*") if len(item.doc) > 30))
    yield from found
    for step in range(1, len(found)):
        for at in range(len(found)):
            yield f"{found[at]} {found[(at + step) % len(found)]}"


def addresses(tasks: Iterable[str]) -> Iterator[str]:
    """Every third asks for a page, every tenth for a search of passages, the others for a context."""
    names = {"/api/symbols": "pattern", "/api/search": "query"}
    for kind, task in zip(cycle(KINDS), tasks, strict=False):
        asked = {} if kind == "/api/status" else {names.get(kind, "task"): task}
        yield f"{kind}?{urlencode(asked)}" if asked else kind


def memory(process: int) -> float:
    """Megabytes of a process and its children."""
    pids = [process, *children(process)]
    total = 0.0
    for pid in pids:
        with contextlib.suppress(OSError):
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            total += pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return total


def cpu(process: int) -> float:
    """CPU seconds of a process and its children so far."""
    total = 0.0
    for pid in [process, *children(process)]:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # own, and of children that ended
    return total


def load(server: Server, asked: Iterator[str], clients: int, seconds: float) -> tuple[list[float], Counter[str]]:
    """Clients that ask one question after the other: milliseconds of each, and how many answers of each kind there were."""
    until = time.monotonic() + seconds
    spent: list[float] = []
    ended: Counter[str] = Counter()
    lock = threading.Lock()

    def client() -> None:
        connection = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
        while time.monotonic() < until:
            with lock:
                address = next(asked)
            began = time.perf_counter()
            try:
                connection.request("GET", address)
                response = connection.getresponse()
                response.read()
                kind = str(response.status)
            except (OSError, http.client.HTTPException) as error:
                kind = type(error).__name__
                connection.close()
            with lock:
                spent.append(1000 * (time.perf_counter() - began))
                ended[kind] += 1
        connection.close()

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return spent, ended


def crowd(server: Server, connections: int) -> Counter[str]:
    """Connections that stay open and say nothing, in portions: what each of them is told within a second."""
    told: Counter[str] = Counter()
    portion = min(max(1, connections), resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE)
    for begin in range(0, connections, portion):
        links = []
        with selectors.DefaultSelector() as waiting:
            for _ in range(min(portion, connections - begin)):
                link = socket.socket()
                link.setblocking(False)
                code = link.connect_ex((server.host, server.port))
                if code not in (0, errno.EINPROGRESS):
                    told[errno.errorcode[code]] += 1
                    link.close()
                    continue
                links.append(link)
                waiting.register(link, selectors.EVENT_READ)
            until = time.monotonic() + 3
            while time.monotonic() < until and waiting.get_map():
                for key, _ in waiting.select(0.1):
                    waiting.unregister(key.fileobj)
                    told[_said(key.fileobj)] += 1  # type: ignore[arg-type]
            told["accepted, silent"] += len(waiting.get_map())
        for link in links:
            link.close()
        time.sleep(0.2)
    return told


def _said(link: socket.socket) -> str:
    try:
        said = link.recv(4096)
    except OSError as error:
        return type(error).__name__
    return said.split()[1].decode() if said else "closed"


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--source", type=Path, default=HERE / "src", help="the folder that has the package assay")
    parser.add_argument("--workers", type=int, nargs="+", default=[0])
    given = parser.parse_args()
    root = given.repository.resolve()
    tasks = questions(root)
    report: dict[str, Any] = {"repository": root.name, "clients": given.clients, "seconds": given.seconds}
    report["servers"] = [measure(root, tasks, workers, given) for workers in given.workers]
    print(json.dumps(report, indent=2))


def measure(root: Path, tasks: Iterator[str], workers: int, given: argparse.Namespace) -> dict[str, Any]:
    """Load one server: new questions, repeated ones, then too many connections."""
    distinct = addresses(tasks)
    repeated = cycle(list(islice(addresses(tasks), REPEATED)))
    options = ["--workers", str(workers)] if workers else []
    report: dict[str, Any] = {"workers": workers}
    with run_server(root, *options, PYTHONPATH=str(given.source.resolve())) as server:
        for address in islice(distinct, 20 * max(1, workers)):
            server.ask("GET", address)
        before = memory(server.process.pid)
        for name, asked in (("distinct", distinct), ("repeated", repeated)):
            spent_before = cpu(server.process.pid)
            spent, ended = load(server, asked, given.clients, given.seconds)
            used = cpu(server.process.pid) - spent_before
            report[name] = {
                "answers": len(spent), "by_status": dict(ended), "per_second": round(len(spent) / given.seconds, 1),
                "p50_ms": round(percentile(spent, 0.5)), "p95_ms": round(percentile(spent, 0.95)),
                "cpu_ms_per_answer": round(1000 * used / len(spent), 1), "cores_used": round(used / given.seconds, 2),
            }  # fmt: skip
        after = memory(server.process.pid)
        report["connections"] = {"tried": given.connections, **crowd(server, given.connections)}
        report["status_afterwards"] = server.get("/api/status").status
        report["memory_mb"] = {
            "before": round(before),
            "after": round(after),
            "after the crowd": round(memory(server.process.pid)),
        }
    return report


if __name__ == "__main__":
    main()
