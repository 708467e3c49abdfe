"""How `assay serve` holds up: many clients that ask at once for a while, then far more connections than it takes.

python benchmarks/serve.py REPOSITORY [--clients 50] [--seconds 60] [--connections 10000]

Everything is on loopback. The repository is indexed if it is not yet. Memory is the server's resident set.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import http.client
import json
import os
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlencode

HERE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE / "tests"), str(HERE / "src")]

import assay  # noqa: E402
from serving import Server, serving  # noqa: E402

PATIENCE = 120.0
PORTION = 2000  # connections held at once: both ends are ours, and each takes a descriptor


def questions(root: Path, most: int = 200) -> list[str]:
    """Tasks in words of the repository: the first lines of its documentation strings."""
    with assay.open(root, index=True) as repo:
        found = [item.doc.split("\n")[0] for item in repo.symbols("*") if len(item.doc) > 30]
    return found[:: max(1, len(found) // most)][:most]


def addresses(tasks: list[str]) -> list[str]:
    """Every third asks for a page, every tenth for a search of passages, the others for a context."""
    kinds = (
        "/api/context",
        "/",
        "/api/context",
        "/api/context",
        "/",
        "/api/symbols",
        "/api/context",
        "/",
        "/api/search",
        "/api/status",
    )
    names = {"/api/symbols": "pattern", "/api/search": "query"}
    out = []
    for number, task in enumerate(tasks):
        kind = kinds[number % len(kinds)]
        asked = {} if kind == "/api/status" else {names.get(kind, "task"): task}
        out.append(f"{kind}?{urlencode(asked)}" if asked else kind)
    return out


def memory(process: int) -> float:
    """Megabytes of a process and its children."""
    pids = [process, *_children(process)]
    total = 0.0
    for pid in pids:
        with contextlib.suppress(OSError):
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            total += pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return total


def _children(process: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


def load(server: Server, asked: list[str], clients: int, seconds: float) -> tuple[list[float], Counter[str]]:
    """Clients that ask one question after the other: milliseconds of each, and how many answers of each kind there were."""
    until = time.monotonic() + seconds
    spent: list[float] = []
    ended: Counter[str] = Counter()
    lock = threading.Lock()

    def client(number: int) -> None:
        connection = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
        at = number
        while time.monotonic() < until:
            at += clients
            began = time.perf_counter()
            try:
                connection.request("GET", asked[at % len(asked)])
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

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return spent, ended


def crowd(server: Server, connections: int) -> Counter[str]:
    """Connections that stay open and say nothing, in portions: what each of them is told within a second."""
    told: Counter[str] = Counter()
    for begin in range(0, connections, PORTION):
        links = []
        with selectors.DefaultSelector() as waiting:
            for _ in range(min(PORTION, connections - begin)):
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
    given = parser.parse_args()
    root = given.repository.resolve()
    asked = addresses(questions(root))
    with serving(root) as server:
        for address in asked[:20]:
            server.ask("GET", address)
        before = memory(server.process.pid)
        spent, ended = load(server, asked, given.clients, given.seconds)
        after = memory(server.process.pid)
        refused = crowd(server, given.connections)
        still = server.get("/api/status").status
        crowded = memory(server.process.pid)
    print(
        json.dumps(
            {
                "repository": root.name, "clients": given.clients, "seconds": given.seconds, "answers": len(spent), "by_status": dict(ended),
                "per_second": round(len(spent) / given.seconds, 1), "p50_ms": round(percentile(spent, 0.5)), "p95_ms": round(percentile(spent, 0.95)),
                "memory_mb": {"before": round(before), "after": round(after), "after the crowd": round(crowded)},
                "connections": {"tried": given.connections, **refused}, "status_afterwards": still,
            },
            indent=2,
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
