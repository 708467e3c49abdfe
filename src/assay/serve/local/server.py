"""Answer questions of commands on one repository, in a process that a `Door` starts when the first one comes.

It runs the very command, one at a time, in the folder and environment of its client, with imports done and the
index open. Whatever it cannot answer as the client itself would, it declines, and the client does. It ends when it is
idle, when assay was updated, when anything unexpected happens, and with its parent, which starts another.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import socket
import sys
import time
import warnings
from pathlib import Path

from assay import errors
from assay.api import Repository
from assay.cli import main as run_command
from assay.cli import options
from assay.serve.local.client import ACCEPTED, CODE, ERR, MOST_BYTES, OUT, identity, is_same_user
from assay.store.caches import code_fingerprint

_IDLE_SECONDS = 600.0
_REQUEST_SECONDS = 2.0  # to send a request, and to take its answer
# read once by a process; the other variables may differ between a client and its server, as may the folder
_LASTING = ("HOME", "XDG_", "ASSAY_", "GIT_", "SUDO_UID", "TMPDIR")


class _Declined(BaseException):
    """The client must answer itself."""


class _Kept(Repository):
    """A repository that stays open between commands."""

    def __exit__(self, *_error: object) -> None:
        self.__dict__.pop("configuration", None)  # read again by each command, with its warnings

    def look_ahead(self) -> None:
        if self._watch is None:  # else the files were listed before
            super().look_ahead()


class _Stream(io.RawIOBase):
    """Standard output or error of a client: records what is written, in the order of both."""

    def __init__(self, frames: list[tuple[bytes, bytes]], kind: bytes, is_terminal: bool) -> None:
        super().__init__()
        self._frames, self._kind, self._is_terminal = frames, kind, is_terminal

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._frames.append((self._kind, bytes(data)))
        return len(data)


class _Server:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._repo: _Kept | None = None
        self._stamp: tuple[object, ...] = ()
        self._code, self._lasting = code_fingerprint(), _lasting(dict(os.environ))

    def serve(self, connection: socket.socket) -> None:
        """Answer one request, or close the connection without an answer. Raises SystemExit after an unexpected error."""
        connection.settimeout(_REQUEST_SECONDS)
        if not is_same_user(connection):
            return
        request = bytearray()
        while piece := connection.recv(1 << 16):
            request += piece
            if len(request) > MOST_BYTES:
                return
        fields = [os.fsdecode(field) for field in bytes(request).split(b"\0")]
        if fields[0] != identity():
            return
        code_fingerprint.cache_clear()
        if code_fingerprint() != self._code:
            raise SystemExit(0)
        cwd, out, err, columns, lines, count = fields[1:7]
        arguments, variables = fields[7 : 7 + int(count)], fields[7 + int(count) :]
        environment = dict(variable.split("=", 1) for variable in variables)
        if _lasting(environment) != self._lasting:
            return
        if columns:
            environment = {"COLUMNS": columns, "LINES": lines} | environment
        connection.sendall(ACCEPTED)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
        try:
            frames = self._run(arguments, out, err)
        except _Declined:
            return
        finally:
            os.chdir("/")
        connection.sendall(b"".join(b"%s%08x%s" % (kind, len(data), data) for kind, data in frames))

    def _run(self, arguments: list[str], out: str, err: str) -> list[tuple[bytes, bytes]]:
        frames: list[tuple[bytes, bytes]] = []
        sys.argv = ["assay", *arguments]
        errors.announced.clear()
        with (
            warnings.catch_warnings(),  # also makes those appear again that were shown
            contextlib.redirect_stdout(_text_stream(frames, OUT, out)),
            contextlib.redirect_stderr(_text_stream(frames, ERR, err)),
        ):
            try:
                run_command()
            except SystemExit as ended:
                code = ended.code or 0
        if code not in (0, 1):  # an error may concern this process, and names its program
            raise _Declined
        return [*frames, (CODE, str(code).encode())]

    def open(self, root: Path, index_dir: str | Path | None = None) -> Repository:
        """Return the repository of this server, opened again if anything changed that it has read."""
        if root != self._root or index_dir:
            raise _Declined
        stamp = (*Repository(root).stamp(), time.time() // 3600)  # observed calls are counted by the hour
        if self._repo is None or stamp != self._stamp:
            if self._repo:
                self._repo.close()
            self._repo, self._stamp = _Kept(root), stamp
        if self._repo.home.named() is None or self._repo.configuration.ask.model:  # asks; streams
            raise _Declined
        return self._repo


def _text_stream(frames: list[tuple[bytes, bytes]], kind: bytes, description: str) -> io.TextIOWrapper:
    raw = _Stream(frames, kind, description[0] == "1")
    return io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", description[1:], write_through=True)  # type: ignore[type-var]


def _lasting(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_LASTING)}


def _decline(text: str) -> None:
    raise _Declined


def main() -> None:
    root, listening = Path(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))
    server = _Server(root)
    options.open_one = server.open
    options.View.page = staticmethod(_decline)  # a pager needs the terminal
    while True:
        ready, _, _ = select.select([listening, sys.stdin], [], [], _IDLE_SECONDS)
        if listening not in ready:  # idle, or the parent has ended
            return
        with listening.accept()[0] as connection, contextlib.suppress(OSError, ValueError, LookupError):
            server.serve(connection)


if __name__ == "__main__":
    main()
