"""A process with assay imported that forks for every command: a command starts in 2 ms instead of 200.

Run as a script it is that process; `run` is how a test asks it. A forked command has its own working folder, environment, files and
exit code, and `__main__` is what `python -m assay` makes it. Tests of starting, killing and importing start an interpreter instead.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import resource
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

_NUMBER, _ENDED = struct.Struct("i"), struct.Struct("il")
_LARGEST = 1 << 20  # bytes of a request


class Ended(NamedTuple):
    """Result of a command; `peak` is the maximum memory in bytes of it or of a process it waited for."""

    code: int
    out: bytes
    err: bytes
    peak: int


def run(
    folder: Path,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    seconds: float,
    typed: bytes = b"",
    limits: Mapping[int, int] = {},
) -> Ended:
    """Run `assay` with these arguments and this standard input in a folder; raise TimeoutExpired when it takes longer.

    `limits` are of resources (resource.RLIMIT_…), for each process.
    """
    status, theirs = os.pipe()
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(typed)
        given.seek(0)
        asked = {
            "folder": str(folder),
            "arguments": arguments,
            "environment": dict(environment),
            "limits": list(limits.items()),
        }
        request = json.dumps(asked).encode()
        assert len(request) < _LARGEST
        try:
            socket.send_fds(_started(), [request], [given.fileno(), out.fileno(), err.fileno(), theirs])
        finally:
            os.close(theirs)
        with open(status, "rb", buffering=0) as told:
            (group,) = _NUMBER.unpack(told.read(_NUMBER.size))
            if not select.select([told], [], [], seconds)[0]:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)
                raise subprocess.TimeoutExpired(["assay", *arguments], seconds)
            code, kilobytes = _ENDED.unpack(told.read(_ENDED.size))
        out.seek(0)
        err.seek(0)
        return Ended(code, out.read(), err.read(), kilobytes * 1024)


def start() -> None:
    """Start the warm process now, for callers that use `run` in several threads."""
    _started()


@cache
def _started() -> socket.socket:
    """The connection to this test process's own warm process, which ends when the connection does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = os.environ | {"PYTHONPATH": str(_source()), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, str(theirs.fileno())]
    process = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()], start_new_session=True)
    theirs.close()
    atexit.register(process.wait)  # after the connection was closed: the last registered is the first to run
    atexit.register(ours.close)
    return ours


def _source() -> Path:
    import assay

    return Path(assay.__file__).parents[1]


def _import_all() -> None:
    import assay

    for module in pkgutil.walk_packages(assay.__path__, "assay."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)


def _serve(connection: socket.socket) -> None:
    """Fork a supervisor for every request; it forks the command, waits for it and reports how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors are nobody's concern
    while True:
        data, files, _, _ = socket.recv_fds(connection, _LARGEST, 4)
        if not data:
            return
        if os.fork() == 0:
            connection.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            status = files.pop()
            command = os.fork()
            if command == 0:
                os.close(status)
                os.setsid()
                _become(json.loads(data), files)
            os.write(status, _NUMBER.pack(command))
            _, ended, used = os.wait4(command, 0)
            with contextlib.suppress(BrokenPipeError):  # whoever asked has given up
                os.write(status, _ENDED.pack(os.waitstatus_to_exitcode(ended), used.ru_maxrss))
            os._exit(0)
        for file in files:
            os.close(file)


def _become(request: dict[str, Any], files: list[int]) -> NoReturn:
    """Be the command that was asked for, to its end."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(request["folder"])
    for number, most in request["limits"]:
        resource.setrlimit(number, (most, most))
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[0] = os.getcwd()
    sys.argv[1:] = request["arguments"]
    code: object = 0
    try:
        runpy.run_module("assay", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
        code = 1
    # as the interpreter ends, but for taking apart a thousand modules, which is most of what a command costs
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    _import_all()
    gc.collect()
    gc.freeze()  # what is never looked at stays shared between processes
    _serve(socket.socket(fileno=int(sys.argv[1])))
