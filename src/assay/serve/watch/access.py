"""Who may ask a server: where it listens, the names it answers to, where a page may come from, and the token."""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from pathlib import Path

from assay.core.progress import Report
from assay.errors import AssayError
from assay.store.layout import Home

UNAUTHORIZED = "a token is needed: Authorization: Bearer TOKEN"
BACKLOG = 2048  # connections that wait to be taken
COOKIE = "assay_access"
_SHORTEST = 16  # characters of a token: nobody guesses that many over a network
_HOST_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9._-]{0,253})")
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Access:
    """An address to listen on, what it may be called, and the token without which nothing is answered."""

    host: str = "127.0.0.1"
    token: str = field(default="", repr=False)
    names: frozenset[str] = frozenset()  # further names it may be called by

    def __post_init__(self) -> None:
        if not self.is_local and not self.token:
            raise AssayError(
                f"{self.host} can be reached from other machines, so a token is needed: set ASSAY_TOKEN to a long random text "
                '(python3 -c "import secrets; print(secrets.token_urlsafe())") or listen on 127.0.0.1'
            )
        if self.token and (len(self.token) < _SHORTEST or not self.token.isascii() or not self.token.isprintable()):
            raise AssayError(f"the token must have at least {_SHORTEST} printable ASCII characters")

    def answers_to(self, host_header: str) -> bool:
        """Whether a Host header names this server. A web page that had its own name point here (DNS rebinding) cannot use ours."""
        name = _name_of(host_header)
        if name is None:
            return False
        if name in _LOOPBACK_NAMES or name in self.names or name == self.host.lower():
            return True
        return not self.is_local and _is_address(name)  # an address in digits cannot be rebound

    def is_addressed(self, host_header: str) -> bool:
        """Return whether a request with a bearer token may name this server so.

        Who has the token needs no further proof, so that any well-formed name will do on a network; on loopback only our own.
        """
        return self.answers_to(host_header) or (not self.is_local and _name_of(host_header) is not None)

    def allows_origin(self, origin: str, host_header: str, scheme: str) -> bool:
        """Whether a request of a web page comes from one of our own."""
        return origin.lower() == f"{scheme}://{host_header}".lower()

    def allows(self, headers: Mapping[str, str]) -> bool:
        """Whether a request has the token, in a header or as the cookie that the form gives for it."""
        if not self.token:
            return True
        return self.has_bearer(headers) or hmac.compare_digest(
            _cookie(headers.get("cookie", "")).encode(), self.cookie.encode()
        )

    def has_bearer(self, headers: Mapping[str, str]) -> bool:
        """Whether a request has the token as programs send it: `Authorization: Bearer TOKEN`."""
        kind, _, given = headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and self.is_token(given.strip())

    def is_token(self, given: str) -> bool:
        """Compared in a time that does not tell how much of it is right."""
        return bool(self.token) and hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    @property
    def shown(self) -> str:
        """The host as it stands in an address."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def cookie(self) -> str:
        """What a browser keeps: made from the token, but not the token."""
        return hmac.new(self.token.encode(), b"assay serve", "sha256").hexdigest()


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, at any free port for 0; an address that cannot be had is an error that says why."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        found.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise AssayError(f"cannot listen on {host}:{port} ({reason}); give another port, or 0 for any") from None
    return found


def _name_of(host_header: str) -> str | None:
    """The name in a Host header, without its port; None when it is not one."""
    host = host_header.strip().lower()
    if host.startswith("["):
        name, bracket, rest = host[1:].partition("]")
        return name if bracket and _is_address(name) and _is_port(rest) else None
    name, colon, port = host.partition(":")
    return name if _HOST_NAME.fullmatch(name) and _is_port(colon + port) else None


def _is_port(text: str) -> bool:
    return not text or (text[0] == ":" and text[1:].isdecimal() and text.isascii() and len(text) <= 6)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


# Work on an index in another process: it takes no time from those who answer, and gives all its memory back.

# stage → where it begins and ends in the whole of a first indexing; measured on 84 to 2,800 files
_STAGES = {
    "parsing": (0.0, 0.5),
    "resolving": (0.5, 0.75),
    "reading documents": (0.75, 0.8),
    "reading history": (0.8, 1.0),
}
_PACKAGE = str(Path(__file__).parents[2])  # where the child finds assay
_PATIENCE = 5  # seconds for a process to end when it is told to


@dataclass(frozen=True, slots=True)
class Step:
    """How far a refresh is: the share that is done, or that it waits for another process."""

    share: float = 0.0
    waiting: bool = False


class Work:
    """One piece of work (`index` or `prepare`, see `child`), in a process of its own each time, which can be stopped from another thread."""

    def __init__(self, name: str, root: Path, home: Home) -> None:
        # -P: nothing in the current folder, which may be anybody's repository, is taken for a module
        self._command = [sys.executable, "-P", "-m", "assay.serve.watch.keeper", name, str(root), str(home.folder)]
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._guard = threading.Lock()

    def run(self) -> Iterator[Step | Report]:
        """Does it: the steps, then what was done. Raises AssayError if it fails."""
        process = self._start()
        try:
            with process:
                try:
                    yield from _followed(process)
                except BaseException:
                    _end(process)
                    raise
        finally:
            self._process = None

    def stop(self) -> None:
        """Ends what is under way, and lets nothing else begin. The index stays as it was."""
        with self._guard:
            self._stopped = True
            if self._process is not None:
                _end(self._process)

    def _start(self) -> subprocess.Popen[str]:
        with self._guard:
            if self._stopped:
                raise AssayError("indexing was stopped")
            # a session of its own: Ctrl-C is for us, who then end it with its workers.
            # Its stdin closes when we end, however that comes: then it ends, too
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                env=_environment(),
                start_new_session=True,
            )
            return self._process


def _followed(process: subprocess.Popen[str]) -> Iterator[Step | Report]:
    assert process.stdout is not None
    complaint: deque[str] = deque(maxlen=1)
    reader = threading.Thread(target=lambda: complaint.extend(process.stderr or ()), daemon=True)
    reader.start()
    done = False
    for line in process.stdout:
        try:
            told = json.loads(line)
        except ValueError:
            continue  # a library that talks
        if "error" in told:
            raise AssayError(told["error"])
        if "report" in told:
            done = True
            yield Report(**told["report"])
        else:
            yield Step(waiting=True) if "waiting" in told else Step(_share(told["stage"], told["share"]))
    code = process.wait()
    reader.join(_PATIENCE)
    if not done:
        raise AssayError(" ".join([f"indexing ended before it was done ({_ended(code)}).", *complaint]).strip())


def _environment() -> dict[str, str]:
    paths = [_PACKAGE, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"}


def _share(stage: str, done: float) -> float:
    first, last = _STAGES.get(stage, (1.0, 1.0))
    return first + (last - first) * done


def _ended(code: int) -> str:
    return f"by signal {-code}" if code < 0 else f"exit code {code}"


def _end(process: subprocess.Popen[str]) -> None:
    """Ends a process and its workers, if it has not ended by itself."""
    if process.poll() is None:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGTERM)
            else:
                process.terminate()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
