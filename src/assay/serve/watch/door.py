"""The door of a repository: a private socket in the process that keeps its index up to date."""

from __future__ import annotations

import contextlib
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from assay.serve.local.client import socket_path
from assay.store.layout import Home
from assay.system.files import FOLDER
from assay.system.programs import child_environment


class Door:
    """Listens for questions on the index of a repository while it is entered, and starts the process that answers."""

    def __init__(self, root: Path, home: Home) -> None:
        self._root, self._home = root, home
        self._stopped = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Listen, unless another process does or this system cannot tell who connects."""
        with contextlib.ExitStack() as opened:
            with contextlib.suppress(OSError):
                if listening := self._listen(opened):
                    thread = threading.Thread(target=self._wait, args=(listening,), name="assay door", daemon=True)
                    thread.start()
                    opened.callback(thread.join)
                    opened.callback(listening.shutdown, socket.SHUT_RDWR)  # ends the thread's waiting
                    opened.callback(self.close)
            yield

    def close(self) -> None:
        """Stop the process (thread-safe)."""
        self._stopped.set()
        if process := self._process:
            process.terminate()

    def _listen(self, opened: contextlib.ExitStack) -> socket.socket | None:
        if not hasattr(socket, "SO_PEERCRED") or self._home.folder != self._root / FOLDER:
            return None
        import fcntl

        path = Path(socket_path(str(self._root)))
        lock = opened.enter_context(open(path.with_suffix(".lock"), "wb"))  # noqa: SIM115
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # of whoever listens; ends with its process
        except BlockingIOError:
            return None
        listening = opened.enter_context(socket.socket(socket.AF_UNIX))
        path.unlink(missing_ok=True)  # left by a process that was killed
        listening.bind(str(path))
        opened.callback(path.unlink, missing_ok=True)
        listening.listen()
        return listening

    def _wait(self, listening: socket.socket) -> None:
        """Start the process whenever a client waits and none runs; give up if it fails."""
        module = [sys.executable, "-P", "-m", "assay.serve.local.server"]
        while not self._stopped.is_set():
            select.select([listening], [], [])
            if self._stopped.is_set():
                return
            with subprocess.Popen(
                [*module, str(self._root), str(listening.fileno())],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                cwd="/", env=child_environment(), pass_fds=[listening.fileno()], start_new_session=True,
            ) as self._process:  # fmt: skip
                while not self._stopped.wait(0.2) and self._process.poll() is None:
                    pass
                self._process.terminate()
            if self._process.returncode:
                Path(listening.getsockname()).unlink(missing_ok=True)  # nobody shall wait
                return
