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

_NUMBER, _ENDED = struct.Struct("i"), struct.Struct("ild")
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
            socket.send_fds(_started()[0], [request], [given.fileno(), out.fileno(), err.fileno(), theirs])
        finally:
            os.close(theirs)
        with open(status, "rb", buffering=0) as told:
            (group,) = _NUMBER.unpack(told.read(_NUMBER.size))
            if not select.select([told], [], [], seconds)[0]:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)
                raise subprocess.TimeoutExpired(["assay", *arguments], seconds)
            code, kilobytes, used = _ENDED.unpack(told.read(_ENDED.size))
        _used.append(used)
        out.seek(0)
        err.seek(0)
        return Ended(code, out.read(), err.read(), kilobytes * 1024)


def start() -> None:
    """Start the warm process now, for callers that use `run` in several threads."""
    _started()


def connection() -> int:
    """Return the number of the file that requests are sent to, for a process that inherits it (see `warm_client`)."""
    return _started()[0].fileno()


_used: list[float] = []


def add_used(file: Path) -> None:
    """Count the CPU seconds that clients wrote, a line for each command."""
    _used.extend(map(float, file.read_text().split()))


def cpu_seconds() -> float:
    """CPU seconds of commands that ended, until the warm process did: it waited for them, so they are among its own."""
    return sum(_used)


@atexit.register
def stop() -> None:
    """End the warm process, if one was started."""
    if _started.cache_info().currsize:
        connection, process = _started()
        connection.shutdown(socket.SHUT_RDWR)  # forked processes that still run have the connection, too
        connection.close()
        process.wait()
        _started.cache_clear()
        _used.clear()


@cache
def _started() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """This test process's own warm process, which ends when the connection to it does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = os.environ | {"PYTHONPATH": str(_source()), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, str(theirs.fileno())]
    process = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()], start_new_session=True)
    theirs.close()
    return ours, process


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
    """Fork a command for every request, and report how it ended."""
    woken, wakes = socket.socketpair()
    wakes.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    statuses: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([connection, woken], [], [])
        if woken in ready:
            woken.recv(4096)
            _report(statuses)
        if connection in ready:
            data, files, _, _ = socket.recv_fds(connection, _LARGEST, 4)
            if not data:
                return
            command = os.fork()
            if command == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.setsid()
                _become(json.loads(data), files[:3])
            *standard, status = files
            os.write(status, _NUMBER.pack(command))
            statuses[command] = status
            for file in standard:
                os.close(file)


def _report(statuses: dict[int, int]) -> None:
    """Report every command that ended."""
    while statuses:
        command, ended, used = os.wait4(-1, os.WNOHANG)
        if not command:
            return
        status = statuses.pop(command)
        with contextlib.suppress(BrokenPipeError):  # whoever asked has given up
            seconds = used.ru_utime + used.ru_stime
            os.write(status, _ENDED.pack(os.waitstatus_to_exitcode(ended), used.ru_maxrss, seconds))
        os.close(status)


def _become(request: dict[str, Any], files: list[int]) -> NoReturn:
    """Be the command that was asked for, to its end."""
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, 1024)  # what belongs to other commands
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


def _load_shipped() -> None:
    """Load what every command reads and none changes: models, word vectors, versions, the queries of a language."""
    import numpy.ma  # noqa: F401  numpy imports it late

    from assay.index import version
    from assay.languages import by_name
    from assay.rank import ranker
    from assay.search import merge
    from assay.store import caches, word_vectors

    for load in (word_vectors.shipped_table, merge.shipped, version.index_version, caches.code_fingerprint):
        load()
    for model in ranker.MODELS:
        ranker.shipped(model)
    _ = by_name()["python"].query_objects


if __name__ == "__main__":
    _import_all()
    _load_shipped()
    gc.collect()
    gc.freeze()  # what is never looked at stays shared between processes
    _serve(socket.socket(fileno=int(sys.argv[1])))
