"""Servers: the origin of an address, and the user's settings for it.

[servers."api.example.com"]     https, default port; also "api.example.com:8443" or "http://10.0.0.5:8080"
key_variable = "EXAMPLE_KEY"    environment variable with the key; it is sent to this server only
allow_http = true               permits sending texts and the key unencrypted
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from assay.config import user
from assay.config.user import BadConfiguration
from assay.errors import AssayError

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[\w.:-]+")
_KIND = re.compile(r"^(?:openai|rerank):")  # prefix of a model spec
_FIELDS = {"key_variable": str, "allow_http": bool}


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of an address. A key belongs to an origin, never to a host alone."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else _ascii(self.host)
        return f"{self.scheme}://{host}" + (f":{self.port}" if self.port != _PORTS[self.scheme] else "")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The user's settings for a server."""

    scheme: str  # empty: https, or http where allowed
    host: str
    port: int | None  # None: the default of the scheme
    key_variable: str = ""
    allow_http: bool = False

    def covers(self, origin: Origin) -> bool:
        if origin.host != self.host or origin.port != (self.port or _PORTS[origin.scheme]):
            return False
        if self.scheme:
            return origin.scheme == self.scheme
        return origin.scheme == "https" or self.allow_http or _is_loopback(self.host)


def origin_of(url: str) -> Origin:
    """Return the origin of an http(s) address. Raises AssayError for anything else and for embedded passwords."""
    try:
        address = urlsplit(url)
        host, port = address.hostname, address.port
    except ValueError as error:
        raise AssayError(f"'{url}': invalid address: {error}") from None
    # anything but a plain name or address could be parsed as another host when connecting
    if not host or not _HOST.fullmatch(host) or port == 0 or address.scheme not in _PORTS:
        raise AssayError(f"'{url}': invalid address; write for example http://127.0.0.1:8080/v1#MODEL")
    if address.username is not None:
        raise AssayError("an address must not contain a password; name the environment variable of the key instead")
    return Origin(address.scheme, host, port or _PORTS[address.scheme])


def origin_of_spec(spec: str) -> Origin | None:
    """Return the origin in `openai:URL#MODEL`, `rerank:URL#MODEL` or `URL#MODEL`; None if there is none."""
    address = _KIND.sub("", spec.strip()).partition("#")[0]
    try:
        return origin_of(address)
    except AssayError:
        return None


def settings_for(origin: Origin) -> ServerSettings | None:
    """Return the user's settings for a server, or None."""
    return next((entry for entry in read_servers(user.read()) if entry.covers(origin)), None)


def require_encryption(origin: Origin) -> None:
    """Raise AssayError for plain http to another machine unless the user's configuration allows it."""
    if origin.scheme != "http" or _is_loopback(origin.host):
        return
    entry = settings_for(origin)
    if entry is None or not entry.allow_http:
        raise AssayError(
            f"{origin}: plain http to another machine shows texts and keys to the network; use https "
            f'(or set allow_http = true under [servers."{origin}"] in {user.path()})'
        )


def read_servers(table: dict[str, Any]) -> list[ServerSettings]:
    """Return the servers of the user's configuration. Raises BadConfiguration with all problems."""
    rows = table.get(user.SERVERS, {})
    problems, entries = list[str](), list[ServerSettings]()
    if not isinstance(rows, dict):
        raise BadConfiguration([f"{user.path()}: [{user.SERVERS}] must be a table, not {rows!r}"])
    for name, row in rows.items():
        try:
            entries.append(_entry(f'{user.path()}: [{user.SERVERS}."{name}"]', name, row))
        except AssayError as error:
            problems.append(str(error))
    if problems:
        raise BadConfiguration(problems)
    return entries


def _entry(location: str, name: str, row: Any) -> ServerSettings:
    if not isinstance(row, dict):
        raise AssayError(f"{location} must be a table, not {row!r}")
    for field, value in row.items():
        if field not in _FIELDS:
            raise AssayError(f"{location}: unknown setting '{field}'; there are {', '.join(_FIELDS)}")
        if not isinstance(value, _FIELDS[field]):
            raise AssayError(
                f"{location} {field} must be {'true or false' if field == 'allow_http' else 'text'}, not {value!r}"
            )
    scheme = name.partition("://")[0] if "://" in name else ""
    try:
        address = urlsplit(name if scheme else f"https://{name}")
        host, port = address.hostname, address.port
    except ValueError as error:
        raise AssayError(f"{location}: no server: {error}") from None
    if not host or address.scheme not in _PORTS or address.username is not None or address.path.strip("/"):
        raise AssayError(f'{location}: no server; write a host, as in [{user.SERVERS}."api.example.com"]')
    return ServerSettings(scheme, host, port, **row)


def _is_loopback(host: str) -> bool:
    from assay.system.http import is_loopback  # most commands use no server

    return is_loopback(host)


def _ascii(host: str) -> str:
    """Return a host as it is looked up, in IDNA form, which exposes look-alike letters."""
    try:
        return host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        return ascii(host)[1:-1]
