"""Records of a server's requests: metrics in the Prometheus text format, and an audit log.

Neither has the text of a question: paths come from the table of routes, and the audit log names who asked which
endpoint, with the outcome. What strangers send is bounded: they have a log of their own, with a limit per minute.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.serve.board import ALIVE, CONNECTIONS, FIRST_FREE, REQUESTS, RESTARTS, Board
from assay.serve.tokens import Identity
from assay.store.layout import lock_file

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds, as Prometheus clients use
_MAX_AUDIT_BYTES = 10_000_000  # of each log; the one before it is kept, too
# characters of a field; no registered method has more
_MAX_TEXT = {"method": 20, "path": 200, "token": 20, "name": 100, "role": 20}
_MAX_ENTRY = 2_500  # bytes: these characters, all escaped, and the numbers
_REFUSED_PER_MINUTE = 100  # entries of a process: 250 kB at most
_LINES_PER_MINUTE = 30  # of a logger
_OTHER = "other"  # path of requests that no route answers
_STATUSES = 600  # columns of a path: one per status, the sum of seconds, one per bucket and one for longer times
_PATH_COLUMNS = _STATUSES + 1 + len(_BUCKETS) + 1


class RequestRecord(NamedTuple):
    """A finished request."""

    identity: Identity | None  # None: nobody who is known
    method: str
    path: str
    status: int
    seconds: float


class Metrics:
    """Counters and a histogram of requests, by path and status; threads may record at once.

    They are columns of a board, so that any process of a server can show those of all.
    """

    def __init__(self, paths: Iterable[str], board: Board | None = None, started: float = 0.0) -> None:
        self._paths = {path: number for number, path in enumerate(sorted({*paths, _OTHER}))}
        self._lock = threading.Lock()
        self._board = board or Board(columns=columns_of(paths))
        self._started = started or time.time()

    def record(self, request: RequestRecord) -> None:
        path = self._paths.get(request.path, self._paths[_OTHER])  # unknown paths would grow without bound
        start, row = FIRST_FREE + path * _PATH_COLUMNS, self._board.row
        with self._lock:
            row[start + request.status % _STATUSES] += 1
            row[start + _STATUSES] += request.seconds
            row[start + _STATUSES + 1 + bisect_left(_BUCKETS, request.seconds)] += 1

    def render(self, gauges: dict[str, float] | None = None) -> str:
        """Return all metrics of all processes, and further values by name, in the Prometheus text format."""
        totals = self._board.totals()
        columns = {
            path: totals[FIRST_FREE + number * _PATH_COLUMNS : FIRST_FREE + (number + 1) * _PATH_COLUMNS]
            for path, number in self._paths.items()
        }
        lines = ["# HELP assay_requests_total Requests answered.", "# TYPE assay_requests_total counter"]
        for path, values in columns.items():
            for status, count in enumerate(values[:_STATUSES]):
                if count:
                    lines.append(f'assay_requests_total{{path="{path}",status="{status}"}} {count:.0f}')
        lines += ["# HELP assay_request_seconds Time of a request.", "# TYPE assay_request_seconds histogram"]
        for path, values in columns.items():
            seconds, buckets = values[_STATUSES], values[_STATUSES + 1 :]
            if not any(buckets):
                continue
            total = 0.0
            for limit, count in zip((*_BUCKETS, "+Inf"), buckets, strict=True):
                total += count
                lines.append(f'assay_request_seconds_bucket{{path="{path}",le="{limit}"}} {total:.0f}')
            lines.append(f'assay_request_seconds_sum{{path="{path}"}} {seconds:.6f}')
            lines.append(f'assay_request_seconds_count{{path="{path}"}} {total:.0f}')
        lines += ["# HELP assay_worker_restarts_total Workers started again after a crash."]
        lines += ["# TYPE assay_worker_restarts_total counter", f"assay_worker_restarts_total {totals[RESTARTS]:.0f}"]
        shown = {
            "assay_start_time_seconds": self._started, "assay_workers": max(1.0, totals[ALIVE]),
            "assay_connections": totals[CONNECTIONS], "assay_requests_pending": totals[REQUESTS], **(gauges or {}),
        }  # fmt: skip
        for name, value in sorted(shown.items()):
            lines += [f"# TYPE {name} gauge", f"{name} {value:.3f}"]
        return "\n".join(lines) + "\n"


def columns_of(paths: Iterable[str]) -> int:
    """Return the number of columns of a board that has the metrics of these paths."""
    return FIRST_FREE + len({*paths, _OTHER}) * _PATH_COLUMNS


class PerMinute:
    """A number of events that may pass in each minute."""

    def __init__(self, most: int) -> None:
        self._most, self._minute, self._count = most, 0, 0

    def admit(self) -> int | None:
        """Return 0 if an event may be logged, None if it is left out, or the number left out so far, to log instead.

        That is returned at 1, 2, 4, 8, …: a flood costs few lines, and the last one tells at least half of it.
        """
        minute = int(time.monotonic() / 60)
        if minute != self._minute:
            self._minute, self._count = minute, 0
        self._count += 1
        left_out = max(0, self._count - self._most)
        return left_out if left_out & (left_out - 1) == 0 else None


class FewLines(logging.Filter):
    """Filter of a logger whose lines anybody can cause, such as that of an invalid request."""

    def __init__(self) -> None:
        super().__init__()
        self._limit = PerMinute(_LINES_PER_MINUTE)

    def filter(self, record: logging.LogRecord) -> bool:
        left_out = self._limit.admit()
        if left_out:
            record.msg, record.args, record.exc_info = f"lines left out in this minute: {left_out}", (), None
        return left_out is not None


class AuditLog:
    """Log of the requests of people who are known, and, next to it, one of the others that were refused.

    Requests of strangers cannot displace those of people: they are in `FILE.refused`, at most so many a minute.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known, self._refused = _Lines(path), _Lines(Path(f"{path}.refused"))
        self._limit = PerMinute(_REFUSED_PER_MINUTE)

    def record(self, request: RequestRecord) -> None:
        """Append a request. What everybody may see (the login page, health) is not logged if nobody is known."""
        identity = request.identity
        when = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        texts = {
            "token": identity.id if identity else "", "name": identity.name if identity else "",
            "role": identity.role if identity else "", "method": request.method, "path": request.path,
        }  # fmt: skip
        bounded = {name: text[: _MAX_TEXT[name]] for name, text in texts.items()}
        entry = when | bounded | {"status": request.status, "ms": round(request.seconds * 1000, 1)}
        if identity is not None:
            self._known.append(entry)
        elif request.status != 200 and (left_out := self._limit.admit()) is not None:
            self._refused.append(when | {"left_out": left_out} if left_out else entry)

    def tail(self, limit: int, refused: bool = False) -> list[dict[str, object]]:
        """Return the newest entries of a log, newest first."""
        return (self._refused if refused else self._known).tail(limit)


class _Lines:
    """JSON lines in a file of bounded size that only this user can read; processes and threads may append at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()

    def append(self, entry: Mapping[str, object]) -> None:
        """Append a line. A full disk costs the line, not the answer."""
        line = msgspec.json.encode(entry)
        with self._lock, contextlib.suppress(OSError):
            self._rotate()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(self.path, flags, 0o600)
            try:
                os.write(descriptor, line + b"\n")  # one write: lines of several processes do not mix
            finally:
                os.close(descriptor)

    def tail(self, limit: int) -> list[dict[str, object]]:
        """Return the newest entries, newest first, without lines that are none."""
        entries: list[dict[str, object]] = []
        with contextlib.suppress(OSError):
            with self.path.open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - limit * _MAX_ENTRY))
                lines = file.read().splitlines()
            for line in reversed(lines):
                if len(entries) == limit:
                    break
                with contextlib.suppress(msgspec.MsgspecError):
                    entries.append(msgspec.json.decode(line, type=dict[str, object]))
        return entries

    def _rotate(self) -> None:
        """Begin a new file when this one is full; the lock keeps two processes from replacing the previous one twice."""
        if self._is_full():
            with lock_file(self.path.with_name(f".{self.path.name}.lock")):
                if self._is_full():
                    os.replace(self.path, f"{self.path}.1")

    def _is_full(self) -> bool:
        try:
            return os.stat(self.path).st_size > _MAX_AUDIT_BYTES
        except FileNotFoundError:
            return False
