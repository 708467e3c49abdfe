"""Messages between the supervisor of a server and its workers: JSON lines over a pair of sockets.

supervisor ──▶ worker: `Settings` first, then `Served` and `Reported`
worker ──▶ supervisor: `Started`, then `Look` and `Registered`
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Iterator

import msgspec

from assay.serve.watch.upkeep import IndexReport

_SEND_SECONDS = 5  # until a process that reads nothing is given up
_MAX_LINE = 16_000_000  # bytes of a message: thousands of repositories


class Settings(msgspec.Struct, frozen=True, tag=True):
    """All that a worker needs to know. Secrets come this way: other users can see arguments, never this socket."""

    listening: int  # descriptor
    board: int  # descriptor
    rows: int
    row: int
    started: float  # of the supervisor, seconds since 1970
    host: str
    token: str
    names: list[str]
    tokens_file: str  # empty: no personal tokens
    session_key: str  # hexadecimal
    single: bool  # one repository, without a label
    index_dir: str  # of a single repository; empty: its own
    folder: str  # of a workspace; empty: none
    runs_file: str
    store: str
    audit_file: str  # empty: none
    registry_file: str  # empty: repositories cannot be registered
    allowed: list[str]  # folders whose repositories may be registered by a request


class Served(msgspec.Struct, frozen=True, tag=True):
    """The repositories that are served from now on, as label and path."""

    roots: list[tuple[str, str]]


class Reported(msgspec.Struct, frozen=True, tag=True):
    """News about the index of a repository."""

    label: str
    report: IndexReport


class Started(msgspec.Struct, frozen=True, tag=True):
    """The worker accepts connections."""


class Look(msgspec.Struct, frozen=True, tag=True):
    """A request asks for a check of an index."""

    label: str


class Registered(msgspec.Struct, frozen=True, tag=True):
    """A request changed the registered repositories."""


Message = Settings | Served | Reported | Started | Look | Registered


class Channel:
    """One end of a connection; threads may send at once, one reads."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        # a timeout of the socket object would apply to reading, too
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", _SEND_SECONDS, 0))

    def send(self, message: Message) -> bool:
        """Send a message; False if the other process has ended or reads nothing."""
        # json, unlike msgspec, keeps paths that are not valid UTF-8
        line = json.dumps(msgspec.to_builtins(message)).encode() + b"\n"
        with self._lock:
            try:
                self._connection.sendall(line)
            except OSError:
                return False
        return True

    def messages(self) -> Iterator[Message]:
        """Yield the messages of the other process until it ends."""
        with contextlib.suppress(OSError), self._connection.makefile("rb") as lines:
            while line := lines.readline(_MAX_LINE):
                yield msgspec.convert(json.loads(line), type=Message)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()
