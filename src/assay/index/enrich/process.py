"""Start a tool: without the user's secrets, outside the repository, within limits, and end everything it started."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence

from assay.index.enrich.tools import Program
from assay.system.programs import safe_path
from assay.text.display import printable

# Variables passed on: where the user's tools keep caches and toolchains. Nothing that could be a key.
_PASSED = (
    "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
    "GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "JAVA_HOME", "CARGO_HOME", "RUSTUP_HOME",
    "SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "PATHEXT",
)  # fmt: skip
_MEMORY_BYTES = 8_000_000_000  # of a tool; tsserver takes 2 GB on large projects
_NODE_MEGABYTES = 4096  # heap of Node.js, whose default is too small for large projects
_FILE_BYTES = 2_000_000_000  # of a file that it writes
_KEPT = 4_000  # bytes of output, from the end: the last line states why a program failed
_VERSION_SECONDS = 20.0  # Node.js on a busy machine
_POLL = 0.5  # seconds


class ToolFailed(Exception):
    """A tool crashed, timed out or broke its protocol; the message is for the user."""


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a tool."""
    passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
    fixed = {
        "PATH": safe_path(tell=True),  # of a server written for Node.js, which may be in a folder that is skipped
        "NODE_OPTIONS": f"--max-old-space-size={_NODE_MEGABYTES}",
        "PYTHONSAFEPATH": "1",  # pyright starts Python: the current folder stays out of its module path
        "NO_COLOR": "1",
        "NO_UPDATE_NOTIFIER": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
    return {**passed, **fixed, **extra}


@contextlib.contextmanager
def started(command: Sequence[str], extra: Mapping[str, str], talk: bool) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program in an empty folder and a process group of its own, which is killed at the end.

    With `talk`, its input is a pipe; otherwise it has none.
    """
    with tempfile.TemporaryDirectory(prefix="assay-enrich-") as folder:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if talk else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,  # programs load modules and settings from the current folder
                env=environment(extra),
                start_new_session=True,
            )
        except OSError as error:
            raise ToolFailed(f"cannot be started: {error.strerror or error}") from None
        _limit(process.pid)
        try:
            with process:
                try:
                    yield process
                finally:
                    _kill(process)
        except BrokenPipeError:  # raised when closing the input of a server that died
            pass


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with contextlib.suppress(OSError, ValueError):
        if process.stdin:
            process.stdin.close()


def _limit(pid: int) -> None:
    """Limit memory and file sizes, where the system can limit another process."""
    if sys.platform != "linux":
        return
    import resource

    for kind, most in (
        (resource.RLIMIT_DATA, _MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, _FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(OSError, ValueError):
            hard = resource.prlimit(pid, kind)[1]
            limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.prlimit(pid, kind, (limit, limit))


def run(command: Sequence[str], extra: Mapping[str, str], deadline: float) -> str:
    """Run a program to its end and return the end of its output. Raises ToolFailed for a failure or at the deadline."""
    output = bytearray()
    with started(command, extra, talk=False) as process, selectors.DefaultSelector() as selector:
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            if time.monotonic() > deadline:
                raise ToolFailed("not finished at the deadline (--deadline)")
            for key, _ in selector.select(_POLL):
                chunk = os.read(key.fd, 1 << 16)
                output += chunk
                if not chunk:
                    selector.unregister(key.fileobj)
            del output[:-_KEPT]
        try:
            code = process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise ToolFailed("not finished at the deadline (--deadline)") from None
    text = bytes(output).decode("utf-8", "replace")
    if code:
        raise ToolFailed(f"{exit_reason(code)}: {last_line(text) or 'no message'}")
    return text


def exit_reason(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"killed by signal {-code}"


def last_line(text: str) -> str:
    """Return the last line that says something, safe to print."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "rror" in line]
    return printable((errors or lines or [""])[-1])[:300]


def version_of(program: Program) -> str:
    """Return the version that a tool prints; its path and time of change if it prints none. Part of the cache key."""
    assert program.path is not None
    tool = program.tool
    path = program.path
    if sibling := tool.version_programs.get(path.name):
        path = path.with_name(sibling)
    try:
        if not path.is_file():
            raise ToolFailed("no program that prints the version")
        text = run([str(path), *tool.version], tool.environment, time.monotonic() + _VERSION_SECONDS)
        if line := text.strip().partition("\n")[0][:200]:
            return printable(line)
    except ToolFailed:
        pass
    status = os.stat(os.path.realpath(program.path))
    return f"{program.path} {status.st_size} {status.st_mtime_ns}"
