"""Access control of servers: listen address, Host and Origin checks, token."""

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
BACKLOG = 2048  # connections waiting for accept()
COOKIE = "assay_access"
_MIN_TOKEN_LENGTH = 16  # characters: infeasible to guess over a network
_HOST_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9._-]{0,253})")
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Access:
    """Listen address, accepted host names and required token (empty: none). Raises AssayError if unsafe."""

    host: str = "127.0.0.1"
    token: str = field(default="", repr=False)
    names: frozenset[str] = frozenset()  # additional accepted Host names

    def __post_init__(self) -> None:
        if not self.is_local and not self.token:
            raise AssayError(
                f"{self.host} can be reached from other machines, so a token is needed: "
                "set ASSAY_TOKEN to a long random text "
                '(python3 -c "import secrets; print(secrets.token_urlsafe())") or listen on 127.0.0.1'
            )
        if self.token and (
            len(self.token) < _MIN_TOKEN_LENGTH or not self.token.isascii() or not self.token.isprintable()
        ):
            raise AssayError(f"the token must have at least {_MIN_TOKEN_LENGTH} printable ASCII characters")

    def answers_to(self, host_header: str) -> bool:
        """Return True if a Host header names this server.

        Guards against DNS rebinding: a rebound page sends its own host name.
        """
        name = _host_name(host_header)
        if name is None:
            return False
        if name in _LOOPBACK_NAMES or name in self.names or name == self.host.lower():
            return True
        return not self.is_local and _is_address(name)  # an IP address cannot be rebound

    def is_addressed(self, host_header: str) -> bool:
        """Return True if a Host header is acceptable for a request with a bearer token.

        The token is proof enough on a network, so any well-formed name is accepted; on loopback only known names are.
        """
        return self.answers_to(host_header) or (not self.is_local and _host_name(host_header) is not None)

    def allows_origin(self, origin: str, host_header: str, scheme: str) -> bool:
        """Return True if an Origin header matches the scheme and host of the request (same origin)."""
        return origin.lower() == f"{scheme}://{host_header}".lower()

    def allows(self, headers: Mapping[str, str]) -> bool:
        """Return True if a request carries the token, as a bearer header or as the login cookie."""
        if not self.token:
            return True
        return self.has_bearer(headers) or hmac.compare_digest(
            _read_cookie(headers.get("cookie", "")).encode(), self.cookie.encode()
        )

    def has_bearer(self, headers: Mapping[str, str]) -> bool:
        """Return True if a request has `Authorization: Bearer TOKEN`."""
        scheme, _, candidate = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.is_token(candidate.strip())

    def is_token(self, candidate: str) -> bool:
        """Compare with the token in constant time."""
        return bool(self.token) and hmac.compare_digest(candidate.encode("utf-8", "replace"), self.token.encode())

    @property
    def is_local(self) -> bool:
        """True when the listen address is loopback."""
        return self.host == "localhost" or (_is_address(self.host) and ipaddress.ip_address(self.host).is_loopback)

    @property
    def shown(self) -> str:
        """Host part of a URL; IPv6 addresses in brackets."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def cookie(self) -> str:
        """Login cookie value: an HMAC of the token, so that the browser does not store the token itself."""
        return hmac.new(self.token.encode(), b"assay serve", "sha256").hexdigest()


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 picks any free port. Raises AssayError when the address cannot be bound."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        sock.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise AssayError(
            f"cannot listen on {host}:{port} ({reason}); choose another port, or 0 for any free one"
        ) from None
    return sock


def _host_name(host_header: str) -> str | None:
    """Return the host name of a Host header without its port, or None if the header is malformed."""
    host = host_header.strip().lower()
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        return name if bracket and _is_address(name) and _is_port(port) else None
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


def _read_cookie(header: str) -> str:
    try:
        morsel = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel else ""
