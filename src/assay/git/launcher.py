"""Start git: the only code that does, and it never lets a repository decide what is run.

`.git/config` and `.gitattributes` can name programs for many purposes (file system monitors, filters, hooks, diff
drivers, pagers, transport helpers), and every version of git adds some. So git does not get the repository's
configuration at all. It works on a *view* of the git directory: a folder of the user's with links to objects and refs, a
configuration limited to the settings of `assay.git.place`, and attributes that disable filters. Git itself still
checks, when it discovers the repository, whether the user trusts its owner. Programs from the user's own configuration
are disabled by options, and git's environment variables are dropped. Every call has a timeout. Git itself, and what it
starts, comes from the safe folders of PATH (`assay.system.programs`).

`transfer` is the exception that may contact a server: for clones that the user asked for by address, in folders that
assay made. There the user's own configuration counts (credential helpers, proxies, ssh), but no hook or filter runs.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, NamedTuple

from assay.errors import AssayError
from assay.git.place import Place, safe_config
from assay.system.programs import find_program, guard, is_guarded, safe_path
from assay.system.runtime import private_folder

_STREAM_SECONDS = 1800.0  # total time spent waiting for one stream


class _Command(NamedTuple):
    """A read-only git command: its timeout, and options that are always added."""

    seconds: float
    options: tuple[str, ...] = ()


# --ignore-submodules: git would start another git in each submodule, with the submodule's configuration
_DIFF_OPTIONS = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
_COMMANDS = {
    "cat-file": _Command(120),
    "diff": _Command(300, _DIFF_OPTIONS),
    "for-each-ref": _Command(60),
    "log": _Command(300, (*_DIFF_OPTIONS, "--no-show-signature")),
    "ls-files": _Command(120),
    "ls-tree": _Command(120),
    "merge-base": _Command(300),
    "rev-list": _Command(300),
    "rev-parse": _Command(30),
    "symbolic-ref": _Command(30),
}

# override every configuration, including the user's, while a repository is read
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
    "core.bigFileThreshold=32m",  # git streams larger files instead of loading them
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    "TZ": "UTC",
    "GIT_ALLOW_PROTOCOL": "",  # takes precedence over any configuration
    "GIT_ASKPASS": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS": "",
}
# passed on: the user decides which of their configurations are read and where git is installed
_PASSED_VARIABLES = frozenset(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"))

# shared by all working trees; linked even if missing, as they may be created later
_LINKED = ("objects", "refs", "packed-refs", "reftable", "shallow", "logs", "info/exclude")
_ATTRIBUTES = "* -filter\n"
_DISTRUST_MARKERS = ("dubious ownership", "unsafe repository")  # the second: git 2.35


class NotTrusted(AssayError):
    """Git refuses a repository that is owned by another user."""


class TimedOut(AssayError):
    """Git exceeded its timeout and was killed."""


class Finished(NamedTuple):
    """Exit code, stdout and stderr of a finished git."""

    code: int
    output: bytes
    complaint: str


def run(place: Place, arguments: Sequence[str], settings: Sequence[str] = ()) -> Finished:
    """Run git in a repository and return its result; raise NotTrusted, TimedOut, or AssayError if git is missing."""
    return finish(place, start(place, arguments, settings, stderr=subprocess.PIPE), arguments)


def finish(place: Place, process: subprocess.Popen[bytes], arguments: Sequence[str]) -> Finished:
    """Wait for a git whose streams are pipes and return its result."""
    limit = _COMMANDS[arguments[0]].seconds
    try:
        output, complaint = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        _kill(process)
        raise _timeout_error(place, arguments, limit) from None
    except BaseException:
        _kill(process)
        raise
    return check_trust(place, process.returncode, output, complaint)


def wait(place: Place, process: subprocess.Popen[bytes], arguments: Sequence[str]) -> int:
    """Wait for a git whose output was read and return its exit code."""
    limit = _COMMANDS[arguments[0]].seconds
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        raise _timeout_error(place, arguments, limit) from None


def check_trust(place: Place, code: int, output: bytes, complaint: bytes) -> Finished:
    """Return a result; raise NotTrusted if git refused the repository."""
    stderr = complaint.decode("utf-8", "replace").strip()
    if code and any(marker in stderr for marker in _DISTRUST_MARKERS):
        raise NotTrusted(_distrust_message(place))
    return Finished(code, output, stderr)


@contextlib.contextmanager
def stream(
    place: Place,
    arguments: Sequence[str],
    settings: Sequence[str] = (),
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stderr: IO[bytes] | int = subprocess.DEVNULL,
) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """Yield a running git and its output, which raises TimedOut if git is silent too long. Git ends with the block."""
    process = start(place, arguments, settings, stdin, stderr)
    output = io.BufferedReader(_Output(place, process, arguments), 1 << 16)
    try:
        yield process, output
    finally:
        output.close()
        _kill(process)


def start(
    place: Place,
    arguments: Sequence[str],
    settings: Sequence[str] = (),
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stderr: IO[bytes] | int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start git in a repository; `settings` are key=value strings."""
    command = _COMMANDS[arguments[0]]
    options = [word for setting in (*_SETTINGS, *settings) for word in ("-c", setting)]
    guard(place.root)
    if place.common_dir.name == ".git":
        guard(place.common_dir.parent)  # the main working tree, in which another one of the same clone may have tools
    program = _find_git("the repository's history is read with it")
    command_line = [
        "git",
        "--no-pager",
        "-C",
        str(place.root),
        *options,
        arguments[0],
        *command.options,
        *arguments[1:],
    ]
    try:
        environment = _environment(place)
    except OSError as error:
        raise AssayError(f"cannot create a temporary folder for git ({error})") from None
    try:
        return subprocess.Popen(
            command_line, executable=program, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr
        )
    except OSError as error:
        raise AssayError(f"{place.root}: git cannot be started ({error.strerror})") from None


def _find_git(purpose: str) -> str:
    """Return the program; raise AssayError with the purpose of git if there is none."""
    if program := find_program("git"):
        return program
    raise AssayError(f"git was not found; install it or put it on PATH: {purpose}")


# Clones

_TRANSFER_SECONDS = 3600.0  # a large history over a slow line
_TRANSFERS = frozenset(("init", "ls-remote", "fetch", "checkout"))
_PROTOCOLS = "https:ssh:file"
# these stay the user's
_ALLOWED_SETTINGS = ("core.askPass", "core.sshCommand", "credential.helper", "protocol.allow")
_TRANSFER_SETTINGS = (
    *(setting for setting in _SETTINGS if setting.partition("=")[0] not in _ALLOWED_SETTINGS),
    "init.templateDir=",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "http.lowSpeedLimit=1000",  # bytes per second, below which a server is given up
    "http.lowSpeedTime=60",
    "advice.detachedHead=false",
)


def transfer(folder: Path, arguments: Sequence[str], seconds: float = _TRANSFER_SECONDS) -> Finished:
    """Run a command of a clone in a folder of ours; raise TimedOut, or AssayError if git is missing.

    Git may contact the server of an address in the arguments, which must come from the user. It cannot ask for a
    password: it has no terminal.
    """
    if arguments[0] not in _TRANSFERS:
        raise ValueError(arguments[0])
    protocols = {"GIT_ALLOW_PROTOCOL": "" if arguments[0] in ("init", "checkout") else _PROTOCOLS}
    limits = {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    options = [word for setting in _TRANSFER_SETTINGS for word in ("-c", setting)]
    try:
        process = subprocess.Popen(
            ["git", "--no-pager", "-C", str(folder), *options, *arguments],
            executable=_find_git("repositories are cloned with it"),
            env=_inherited("GIT_SSH_COMMAND") | _ENVIRONMENT | protocols | limits,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,  # without a terminal, and a group of its own: helpers end with it
        )  # fmt: skip
    except OSError as error:
        raise AssayError(f"git cannot be started ({error.strerror}); repositories are cloned with it") from None
    try:
        output, complaint = process.communicate(timeout=seconds)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        _kill(process)
        if isinstance(error, subprocess.TimeoutExpired):
            raise TimedOut(f"{folder}: git {arguments[0]} timed out after {seconds:g} s") from None
        raise
    return Finished(process.returncode, output, complaint.decode("utf-8", "replace").strip())


# Output


class _Output(io.RawIOBase):
    """Git's output with a timeout per read and one for all reads together."""

    def __init__(self, place: Place, process: subprocess.Popen[bytes], arguments: Sequence[str]) -> None:
        super().__init__()
        assert process.stdout is not None
        self._place, self._process, self._arguments = place, process, arguments
        self._file: IO[bytes] = process.stdout
        self._limit, self._seconds_left = _COMMANDS[arguments[0]].seconds, _STREAM_SECONDS
        self._poll: Any = None
        if hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(self._file.fileno(), select.POLLIN | select.POLLHUP)

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def readinto(self, buffer: Any) -> int:
        started = time.monotonic()
        limit = min(self._limit, self._seconds_left)
        if self._poll is not None and not self._poll.poll(max(0.0, limit) * 1000):
            self._process.kill()
            raise _timeout_error(self._place, self._arguments, limit if limit == self._limit else _STREAM_SECONDS)
        self._seconds_left -= time.monotonic() - started
        data = os.read(self._file.fileno(), len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(1 << 16) or b"", b""))  # the inherited method reads 8 kB at a time

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _inherited(*also: str) -> dict[str, str]:
    """Return what git gets of our environment; of git's own variables only those passed on, and `also`."""
    passed = {*_PASSED_VARIABLES, *also}
    programs = os.environ.get("GIT_EXEC_PATH", "")  # a folder of programs like those of PATH
    if not os.path.isabs(programs) or is_guarded(programs):
        passed.discard("GIT_EXEC_PATH")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in passed}
    return inherited | {"PATH": safe_path()}


def _environment(place: Place) -> dict[str, str]:
    return (
        _inherited()
        | _ENVIRONMENT
        | {
            "GIT_COMMON_DIR": str(_view(place)),
            "GIT_WORK_TREE": str(place.top),  # overrides core.worktree
            "GIT_CEILING_DIRECTORIES": str(place.top.parent),
        }
    )


def _view(place: Place) -> Path:
    """Return the folder that git uses in place of the repository's common git directory.

    All processes of the user share it: its name is a hash of what is in it.
    """
    links = {name: str(place.common_dir / name) for name in _LINKED}
    files = {"config": safe_config(place.settings), "info/attributes": _ATTRIBUTES}
    digest = blake2b(repr((links, files)).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    folder = Path(private_folder()) / f"git-{digest}"
    if not _is_whole(folder, links, files):
        _make_view(folder, links, files)
    return folder


def _is_whole(folder: Path, links: Mapping[str, str], files: Mapping[str, str]) -> bool:
    """Return whether nothing of a view is missing: some machines clean up temporary folders."""
    try:
        return all(os.readlink(folder / name) == target for name, target in links.items()) and all(
            (folder / name).read_text() == text for name, text in files.items()
        )
    except (OSError, ValueError):
        return False


def _make_view(folder: Path, links: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Make a view beside its place and rename it; remove those of repositories that are gone."""
    for other in folder.parent.glob("git-*"):
        if not os.path.exists(other / "objects"):
            shutil.rmtree(other, ignore_errors=True)
    import tempfile  # not needed by a question

    new = Path(tempfile.mkdtemp(prefix=".git-", dir=folder.parent))
    try:
        (new / "info").mkdir()
        for name, target in links.items():
            os.symlink(target, new / name)
        for name, text in files.items():
            (new / name).write_text(text)
        if os.path.lexists(folder) and not _is_whole(folder, links, files):
            shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # another process was faster
            os.rename(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    if not _is_whole(folder, links, files):
        raise OSError(f"{folder} cannot be made")


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.wait()


def _timeout_error(place: Place, arguments: Sequence[str], limit: float) -> TimedOut:
    return TimedOut(f"{place.root}: git {arguments[0]} timed out after {limit:g} s")


def _distrust_message(place: Place) -> str:
    from shlex import quote

    owner = next(
        (owner for path in (place.top, place.top / ".git", place.git_dir) if (owner := _other_owner(path))), ""
    )
    because = f"it belongs to {owner}" if owner else "it belongs to somebody else"
    return (
        f"{place.top}: its history and its list of tracked files are not available, because git does not trust this folder"
        f" ({because}). If you do, run: git config --global --add safe.directory {quote(str(place.top))}"
    )


def _other_owner(path: Path) -> str:
    """Return the name of the user who owns a path; empty if it is the current user."""
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
