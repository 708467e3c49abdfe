"""Who may ask a server: where it listens, the names it answers to, where a page may come from, and the token."""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie

from assay.errors import AssayError

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
