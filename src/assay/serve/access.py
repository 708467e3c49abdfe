"""Access control of servers: listen address, Host and Origin checks, tokens and the identities behind them."""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.errors import AssayError
from assay.serve.tokens import LOCAL, SHARED, Identity, Tokens

UNAUTHORIZED = "a token is needed: Authorization: Bearer TOKEN"
BACKLOG = 2048  # connections waiting for accept()
COOKIE = "assay_access"
_MIN_TOKEN_LENGTH = 16  # characters: infeasible to guess over a network
_HOST_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9._-]{0,253})")
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Access:
    """Listen address, accepted host names, and tokens: one that all share, personal ones, or none.

    Raises AssayError if unsafe.
    """

    host: str = "127.0.0.1"
    token: str = field(default="", repr=False)  # shared; empty: none
    names: frozenset[str] = frozenset()  # additional accepted Host names
    tokens: Tokens | None = None
    session_key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)  # signs login cookies

    def __post_init__(self) -> None:
        if not self.is_local and not self.is_protected:
            raise AssayError(
                f"{self.host} can be reached from other machines, so a token is needed: "
                "set ASSAY_TOKEN to a long random text "
                '(python3 -c "import secrets; print(secrets.token_urlsafe())"), '
                "use personal tokens (--tokens, assay token create) or listen on 127.0.0.1"
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

    @property
    def is_protected(self) -> bool:
        """True when requests need a token."""
        return bool(self.token) or self.tokens is not None

    def identify(self, headers: Mapping[str, str]) -> Identity | None:
        """Return who sends a request, by bearer header or login cookie; None if a token is needed and missing."""
        if not self.is_protected:
            return LOCAL
        return self.identify_bearer(headers) or self._identify_cookie(_read_cookie(headers.get("cookie", "")))

    def identify_bearer(self, headers: Mapping[str, str]) -> Identity | None:
        """Return who sends a request with `Authorization: Bearer TOKEN`."""
        scheme, _, candidate = headers.get("authorization", "").partition(" ")
        return self.identify_token(candidate.strip()) if scheme.lower() == "bearer" else None

    def identify_token(self, candidate: str) -> Identity | None:
        """Return whose token a text is; comparisons take constant time."""
        if self.token and hmac.compare_digest(candidate.encode("utf-8", "replace"), self.token.encode()):
            return SHARED
        token = self.tokens.identify(candidate) if self.tokens else None
        return token.identity if token else None

    def _identify_cookie(self, cookie: str) -> Identity | None:
        id = cookie.partition(".")[0]
        token = self.tokens.valid(id) if self.tokens else None
        identity = token.identity if token else SHARED if self.token and id == SHARED.id else None
        if identity is None or not hmac.compare_digest(
            cookie.encode("utf-8", "replace"), self.cookie(identity).encode()
        ):
            return None
        return identity

    @property
    def is_local(self) -> bool:
        """True when the listen address is loopback."""
        return self.host == "localhost" or (_is_address(self.host) and ipaddress.ip_address(self.host).is_loopback)

    @property
    def shown(self) -> str:
        """Host part of a URL; IPv6 addresses in brackets."""
        return f"[{self.host}]" if ":" in self.host else self.host

    def cookie(self, identity: Identity) -> str:
        """Return the login cookie of an identity, valid until the server ends or the token is revoked.

        The browser does not store the token itself.
        """
        return f"{identity.id}.{hmac.new(self.session_key, repr(identity).encode(), 'sha256').hexdigest()}"


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
    """Return our cookie, which is never quoted: http.cookies takes seconds to unquote a long hostile one."""
    cookies = (part.strip().partition("=") for part in header.split(";"))
    return next((value for name, _, value in cookies if name == COOKIE), "")
