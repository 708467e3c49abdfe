"""Who may ask: the names this server answers to, where a page may come from, and the token."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie

from assay.errors import AssayError

COOKIE = "assay_access"
_SHORTEST = 16  # characters of a token: nobody guesses that many over a network
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
        if not is_loopback(self.host) and not self.token:
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
        return not is_loopback(self.host) and _is_address(name)  # an address in digits cannot be rebound

    def allows_origin(self, origin: str, host_header: str, scheme: str) -> bool:
        """Whether a request of a web page comes from one of our own."""
        return origin.lower() == f"{scheme}://{host_header}".lower()

    def allows(self, headers: Mapping[str, str]) -> bool:
        """Whether a request has the token, in a header or as the cookie that the form gives for it."""
        if not self.token:
            return True
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self.is_token(bearer.strip()):
            return True
        return hmac.compare_digest(_cookie(headers.get("cookie", "")).encode(), self.cookie.encode())

    def is_token(self, given: str) -> bool:
        """Compared in a time that does not tell how much of it is right."""
        return bool(self.token) and hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    @property
    def cookie(self) -> str:
        """What a browser keeps: made from the token, but not the token."""
        return hmac.new(self.token.encode(), b"assay serve", "sha256").hexdigest()


def _name_of(host_header: str) -> str | None:
    """The name in a Host header, without its port; None when it is not one."""
    host = host_header.strip().lower()
    if host.startswith("["):
        name, bracket, rest = host[1:].partition("]")
        return name if bracket and _is_port(rest) else None
    name, colon, port = host.partition(":")
    return name if name and _is_port(colon + port) else None


def _is_port(text: str) -> bool:
    return not text or (text[0] == ":" and text[1:].isdecimal() and text.isascii())


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
