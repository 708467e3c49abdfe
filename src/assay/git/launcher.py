"""Starting git: the only place that does, and it never lets a repository decide what is run.

`.git/config` and `.gitattributes` can name programs for many occasions (file system monitors, filters, hooks, differs, pagers,
helpers that fetch), and every version of git adds some. So git is not given the repository's configuration at all: it works with a
*view* of the git directory, a temporary folder with links to objects and references, a configuration that holds nothing but the
settings of `assay.git.place`, and attributes that switch filters off. Git itself still decides, as it looks for the repository,
whether the user trusts its owner. What the user's own configuration could start is switched off by options, and git's environment
variables are dropped. Every call has a time limit.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from assay.errors import AssayError
from assay.git.place import Place, harmless

_LONGEST = 1800.0  # seconds that a stream may keep us waiting, all in all


class _Command(NamedTuple):
    """A command of git that only reads: the seconds it may be silent, and options that it always gets."""

    seconds: float
    options: tuple[str, ...] = ()


# --ignore-submodules: git would start another git in each submodule, with that one's own configuration
_DIFFERS = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
_COMMANDS = {
    "cat-file": _Command(120),
    "diff": _Command(300, _DIFFERS),
    "for-each-ref": _Command(60),
    "log": _Command(300, (*_DIFFERS, "--no-show-signature")),
    "ls-files": _Command(120),
    "ls-tree": _Command(120),
    "merge-base": _Command(300),
    "rev-list": _Command(300),
    "rev-parse": _Command(30),
    "symbolic-ref": _Command(30),
}

# what no configuration, not even the user's, may switch on while a repository is read
_SETTINGS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.pager=cat",
    "core.askPass=",
    "core.sshCommand=false",
    "core.alternateRefsCommand=",
    "credential.helper=",
    "diff.ignoreSubmodules=all",
    "gc.auto=0",
    "log.showSignature=false",
    "maintenance.auto=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
    "core.bigFileThreshold=32m",  # git does not hold larger files in memory
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    "TZ": "UTC",
    "GIT_ALLOW_PROTOCOL": "",  # counts more than what any configuration allows
    "GIT_ASKPASS": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS": "",
}
# which of the user's configurations are read, and where git itself is installed: these are the user's own business
_KEPT_VARIABLES = frozenset(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"))

# shared by all working trees; what is not there yet may come later, so that all are linked
_LINKED = ("objects", "refs", "packed-refs", "reftable", "shallow", "logs", "info/exclude")
_ATTRIBUTES = "* -filter\n"
_DISTRUST = ("dubious ownership", "unsafe repository")  # the second in git 2.35


class NotTrusted(AssayError):
    """Git refuses a repository that belongs to somebody else."""


class TimedOut(AssayError):
    """Git did not answer in time and was ended."""


class Finished(NamedTuple):
    """What git answered: its exit code, its output, and what it complained about."""

    code: int
    output: bytes
    complaint: str


def run(place: Place, arguments: Sequence[str], settings: Sequence[str] = ()) -> Finished:
    """Run git in a repository and return its answer; raise NotTrusted, TimedOut, or AssayError when there is no git."""
    return finish(place, start(place, arguments, settings, stderr=subprocess.PIPE), arguments)


def finish(place: Place, process: subprocess.Popen[bytes], arguments: Sequence[str]) -> Finished:
    """Wait for a git whose streams are pipes and return its answer."""
    limit = _COMMANDS[arguments[0]].seconds
    try:
        output, complaint = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        _end(process)
        raise _late(place, arguments, limit) from None
    except BaseException:
        _end(process)
        raise
    return checked(place, process.returncode, output, complaint)


def wait(place: Place, process: subprocess.Popen[bytes], arguments: Sequence[str]) -> int:
    """Wait for a git whose output was read, and return its exit code."""
    limit = _COMMANDS[arguments[0]].seconds
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        raise _late(place, arguments, limit) from None


def checked(place: Place, code: int, output: bytes, complaint: bytes) -> Finished:
    """Return an answer; raise NotTrusted when git refused the repository."""
    said = complaint.decode("utf-8", "replace").strip()
    if code and any(sign in said for sign in _DISTRUST):
        raise NotTrusted(_distrust(place))
    return Finished(code, output, said)


@contextlib.contextmanager
def stream(
    place: Place,
    arguments: Sequence[str],
    settings: Sequence[str] = (),
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stderr: IO[bytes] | int = subprocess.DEVNULL,
) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """Yield a git at work and its output, which raises TimedOut when git is silent for too long. It is ended with the block."""
    process = start(place, arguments, settings, stdin, stderr)
    output = io.BufferedReader(_Output(place, process, arguments), 1 << 16)
    try:
        yield process, output
    finally:
        output.close()
        _end(process)


def start(
    place: Place,
    arguments: Sequence[str],
    settings: Sequence[str] = (),
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stderr: IO[bytes] | int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start git in a repository; `settings` are written key=value."""
    command = _COMMANDS[arguments[0]]
    configured = [word for setting in (*_SETTINGS, *settings) for word in ("-c", setting)]
    words = ["git", "--no-pager", "-C", str(place.root), *configured, arguments[0], *command.options, *arguments[1:]]
    try:
        environment = _environment(place)
    except OSError as error:
        raise AssayError(f"the temporary folder that git needs cannot be made ({error})") from None
    try:
        return subprocess.Popen(words, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and place.root.is_dir():
            text = "git was not found; install it or put it on PATH: the repository's history is read with it"
            raise AssayError(text) from None
        raise AssayError(f"{place.root}: git cannot be started ({error.strerror})") from None


class _Output(io.RawIOBase):
    """The output of git with a time limit for every read, and for all of them together."""

    def __init__(self, place: Place, process: subprocess.Popen[bytes], arguments: Sequence[str]) -> None:
        super().__init__()
        assert process.stdout is not None
        self._place, self._process, self._arguments = place, process, arguments
        self._file: IO[bytes] = process.stdout
        self._limit, self._left = _COMMANDS[arguments[0]].seconds, _LONGEST
        self._poll: Any = None
        if hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(self._file.fileno(), select.POLLIN | select.POLLHUP)

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def readinto(self, buffer: Any) -> int:
        began = time.monotonic()
        limit = min(self._limit, self._left)
        if self._poll is not None and not self._poll.poll(max(0.0, limit) * 1000):
            self._process.kill()
            raise _late(self._place, self._arguments, limit if limit == self._limit else _LONGEST)
        self._left -= time.monotonic() - began
        data = os.read(self._file.fileno(), len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(1 << 16) or b"", b""))  # the inherited one reads 8 kB at a time

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _environment(place: Place) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT_VARIABLES}
    return (
        own
        | _ENVIRONMENT
        | {
            "GIT_COMMON_DIR": str(_view(place)),
            "GIT_WORK_TREE": str(place.top),  # whatever core.worktree says
            "GIT_CEILING_DIRECTORIES": str(place.top.parent),
        }
    )


_views: dict[tuple[Path, str, int], Path] = {}  # by git directory, settings and process


def _view(place: Place) -> Path:
    """Return the folder that git works with instead of the repository's shared git directory."""
    configuration = harmless(place.settings)
    key = (place.common_dir, configuration, os.getpid())
    if key not in _views or not (_views[key] / "config").exists():  # temporary folders are swept on some machines
        folder = Path(tempfile.mkdtemp(prefix="assay-git-"))
        atexit.register(_remove, folder, os.getpid())
        (folder / "info").mkdir()
        for name in _LINKED:
            os.symlink(place.common_dir / name, folder / name)
        (folder / "info" / "attributes").write_text(_ATTRIBUTES)
        (folder / "config").write_text(configuration)
        _views[key] = folder
    return _views[key]


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not in a forked one, which shares it
        shutil.rmtree(folder, ignore_errors=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.wait()


def _late(place: Place, arguments: Sequence[str], limit: float) -> TimedOut:
    return TimedOut(f"{place.root}: git {arguments[0]} did not answer within {limit:g} s and was ended")


def _distrust(place: Place) -> str:
    from shlex import quote

    owner = next((owner for path in (place.top, place.top / ".git", place.git_dir) if (owner := _stranger(path))), "")
    because = f"it belongs to {owner}" if owner else "it belongs to somebody else"
    return (
        f"{place.top}: its history and its list of tracked files are not available, because git does not trust this folder"
        f" ({because}). If you do, run: git config --global --add safe.directory {quote(str(place.top))}"
    )


def _stranger(path: Path) -> str:
    """Return the name of the user who owns a path; nothing when it is this one."""
    try:
        owner = os.lstat(path).st_uid
    except OSError:
        return ""
    if not hasattr(os, "geteuid") or owner == os.geteuid():
        return ""
    import pwd

    try:
        return f"user {pwd.getpwuid(owner).pw_name}"
    except KeyError:
        return f"user {owner}"
