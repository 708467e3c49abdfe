"""Records of a server's requests: metrics in the Prometheus text format, and an audit log.

Neither has the text of a question: paths come from the table of routes, and the audit log names who asked which
endpoint, with the outcome.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from bisect import bisect_left
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.serve.tokens import Identity

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds, as Prometheus clients use
_MAX_AUDIT_BYTES = 10_000_000  # of the log; the one before it is kept, too
_OTHER = "other"  # path of requests that no route answers


class RequestRecord(NamedTuple):
    """A finished request."""

    identity: Identity | None  # None: refused for want of a token
    method: str
    path: str
    status: int
    seconds: float


class Metrics:
    """Counters and a histogram of requests, by path and status; threads may record at once."""

    def __init__(self, paths: frozenset[str]) -> None:
        self._paths = paths
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, int], int] = defaultdict(int)
        self._buckets: dict[str, list[int]] = {}
        self._sums: dict[str, float] = defaultdict(float)
        self._started = time.time()

    def record(self, request: RequestRecord) -> None:
        path = request.path if request.path in self._paths else _OTHER  # unknown paths would grow without bound
        with self._lock:
            self._counts[path, request.status] += 1
            self._sums[path] += request.seconds
            buckets = self._buckets.setdefault(path, [0] * (len(_BUCKETS) + 1))
            buckets[bisect_left(_BUCKETS, request.seconds)] += 1

    def render(self, gauges: dict[str, float] | None = None) -> str:
        """Return all metrics, and further values by name, in the Prometheus text format."""
        with self._lock:
            counts, sums = dict(self._counts), dict(self._sums)
            buckets = {path: list(row) for path, row in self._buckets.items()}
        lines = ["# HELP assay_requests_total Requests answered.", "# TYPE assay_requests_total counter"]
        for (path, status), count in sorted(counts.items()):
            lines.append(f'assay_requests_total{{path="{path}",status="{status}"}} {count}')
        lines += ["# HELP assay_request_seconds Time of a request.", "# TYPE assay_request_seconds histogram"]
        for path, row in sorted(buckets.items()):
            total = 0
            for limit, count in zip((*_BUCKETS, "+Inf"), row, strict=True):
                total += count
                lines.append(f'assay_request_seconds_bucket{{path="{path}",le="{limit}"}} {total}')
            lines.append(f'assay_request_seconds_sum{{path="{path}"}} {sums[path]:.6f}')
            lines.append(f'assay_request_seconds_count{{path="{path}"}} {total}')
        for name, value in sorted({"assay_start_time_seconds": self._started, **(gauges or {})}.items()):
            lines += [f"# TYPE {name} gauge", f"{name} {value:.3f}"]
        return "\n".join(lines) + "\n"


class AuditLog:
    """JSON lines of requests, in a file of bounded size that only this user can read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()

    def record(self, request: RequestRecord) -> None:
        """Append a request. A full disk costs the line, not the answer."""
        identity = request.identity
        line = msgspec.json.encode(
            {
                "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "token": identity.id if identity else "",
                "name": identity.name if identity else "", "role": identity.role if identity else "",
                "method": request.method, "path": request.path[:200], "status": request.status,
                "ms": round(request.seconds * 1000, 1),
            }
        )  # fmt: skip
        with self._lock, contextlib.suppress(OSError):
            self._rotate()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(self.path, flags, 0o600)
            try:
                os.write(descriptor, line + b"\n")  # one write: lines of several processes do not mix
            finally:
                os.close(descriptor)

    def tail(self, limit: int) -> list[dict[str, object]]:
        """Return the newest entries, newest first; lines that are no entries are left out."""
        entries: list[dict[str, object]] = []
        with contextlib.suppress(OSError):
            with self.path.open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - limit * 500))  # an entry has about 180 bytes
                lines = file.read().splitlines()
            for line in reversed(lines):
                with contextlib.suppress(msgspec.MsgspecError):
                    entries.append(msgspec.json.decode(line, type=dict[str, object]))
        return entries[:limit]

    def _rotate(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            if os.stat(self.path).st_size > _MAX_AUDIT_BYTES:
                os.replace(self.path, f"{self.path}.1")
