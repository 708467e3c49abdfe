"""The user's configuration, `~/.config/assay/config.toml`, reading of settings files, and origins of servers.

[context], [search], [ask]     the user's defaults, below the same sections of a repository's `assay.toml`
store = "postgresql://…"       store of runs and feedback, instead of .assay/runs.db and learned.db; first in the file
[servers."api.example.com"]    https, default port; also "api.example.com:8443" or "http://10.0.0.5:8080"
key_variable = "EXAMPLE_KEY"   environment variable with the key; it is sent to this server only
allow_http = true              permits sending texts and the key unencrypted
[cluster]                      where commands with --cluster run (config/cluster)
[serve]
allow = ["/srv/repositories"]  folders whose repositories requests may register with `assay serve --registered`
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from assay.errors import AssayError
from assay.system.files import TooLarge, read_regular
from assay.system.inputs import parse_toml

NAME = "config.toml"
SERVERS = "servers"  # section
SERVE = "serve"  # section
STORE = "store"  # setting outside of sections
STORE_VARIABLE = "ASSAY_STORE"
DIRECTORY_VARIABLE = "ASSAY_CONFIG_DIR"
_XDG = "XDG_CONFIG_HOME"
_DECISIONS = "trust"  # folder of trust decisions


class NoHome(AssayError):
    """The process has no home folder, so there is no user configuration."""


def directory() -> Path:
    """Return the folder of the user's configuration, which may not exist."""
    return Path(_directory())


def _directory() -> str:
    if configured := os.environ.get(DIRECTORY_VARIABLE):
        if not os.path.isabs(configured):  # relative to the current folder, it would belong to the repository
            raise AssayError(f"{DIRECTORY_VARIABLE}={configured}: not an absolute path")
        return configured
    shared = os.environ.get(_XDG, "")
    if os.path.isabs(shared):  # relative paths are ignored, as specified by XDG
        return os.path.join(shared, "assay")
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise NoHome(f"no home folder for the user configuration; set {DIRECTORY_VARIABLE}")
    return os.path.join(home, ".config", "assay")


def path() -> Path:
    return directory() / NAME


def read() -> dict[str, Any]:
    """Return the user's configuration; empty if there is none.

    Relative model folders are resolved against its own folder.
    """
    try:
        table = read_table(path()) or {}
    except NoHome:
        return {}
    search = table.get("search")
    if isinstance(search, dict):
        table["search"] = {name: _located(value) for name, value in search.items()}
    return table


def _located(value: Any) -> Any:
    """Make a model folder absolute: a relative one would be looked up in every repository."""
    kind, _, folder = value.partition(":") if isinstance(value, str) else ("", "", "")
    return f"folder:{directory() / Path(folder).expanduser()}" if kind == "folder" and folder else value


def section(table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a section of a table; empty if it is missing or not a table."""
    rows = table.get(name, {})
    return rows if isinstance(rows, dict) else {}


def store(table: Mapping[str, Any]) -> str:
    """Return the address of the run store; empty if there is none. Raises BadConfiguration."""
    address = table.get(STORE, "")
    if not isinstance(address, str):  # not repeated: it may contain a password
        raise BadConfiguration([f'{path()}: {STORE} must be text, for example "postgresql://HOST/DATABASE"'])
    return address


def allowed_folders(table: Mapping[str, Any]) -> list[Path]:
    """Return the folders of `[serve] allow`; none without it. Raises BadConfiguration."""
    rows, location = table.get(SERVE, {}), f"{path()}: [{SERVE}]"
    if not isinstance(rows, dict):
        raise BadConfiguration([f"{location} must be a table, not {rows!r}"])
    if unknown := [name for name in rows if name != "allow"]:
        raise BadConfiguration([f"{location}: unknown setting '{unknown[0]}'; there is allow"])
    values = rows.get("allow", [])
    if not isinstance(values, list) or not all(isinstance(value, str) and os.path.isabs(value) for value in values):
        raise BadConfiguration([f"{location} allow must be a list of absolute paths, not {values!r}"])
    return [Path(value) for value in values]


def decision(file: Path) -> Path:
    """Return the file of the trust decision about a settings file (written by `trust`)."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(file))).hexdigest()
    return directory() / _DECISIONS / f"{name}.json"


def stamp(file: Path | None = None) -> tuple[object, ...]:
    """Return a value that changes with the user's configuration and with the trust decision about a settings file.

    It is computed for every query, so the common case is two file lookups.
    """
    try:
        own = os.path.join(_directory(), NAME)
        # most repositories have no settings file, hence no decision
        decision_file = decision(file) if file is not None and os.path.lexists(file) else None
    except AssayError:
        return ()
    return _status(own), _status(decision_file) if decision_file else None


def _status(path: str | Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


# Settings files: regular, bounded, UTF-8, TOML

LIMIT = 1_000_000  # bytes; the largest real settings file has 4,000
_PLACE = r" \(at (?:line (\d+), column \d+|end of document)\)$"  # end of tomllib's messages


class BadConfiguration(AssayError):
    """All problems of a configuration, one line each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def read_settings(path: Path, within: Path | None = None) -> bytes | None:
    """Return the content of a settings file; None if it does not exist.

    `within` is the folder that a link must not leave: a repository may not refer to files outside it.
    """
    try:
        if within is not None and path.is_symlink():
            target = Path(os.path.realpath(path))
            if not target.is_relative_to(os.path.realpath(within)):
                raise BadConfiguration([f"{path}: is a link to a file outside {within}; put the file itself there"])
        return read_regular(path, LIMIT)
    except FileNotFoundError:
        return None
    except TooLarge as error:
        raise BadConfiguration([str(error)]) from None
    except OSError as error:
        raise BadConfiguration([f"{path}: cannot be read ({error.strerror or error})"]) from None


def read_table(path: Path, within: Path | None = None) -> dict[str, Any] | None:
    """Parse a settings file; None if it does not exist. Raises BadConfiguration with the line of the error."""
    content = read_settings(path, within)
    if content is None:
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line_index = error.object.count(b"\n", 0, error.start)
        raise BadConfiguration([f"{path}:{line_index + 1}: not UTF-8"]) from None
    try:
        return parse_toml(text)
    except ValueError as error:  # also overlong numbers
        message = str(error)
        place = re.search(_PLACE, message)
        line = f":{place[1] or text.count(chr(10)) + 1}" if place else ""
        raise BadConfiguration([f"{path}{line}: not TOML: {re.sub(_PLACE, '', message)}"]) from None


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
    return next((entry for entry in read_servers(read()) if entry.covers(origin)), None)


def require_encryption(origin: Origin) -> None:
    """Raise AssayError for plain http to another machine unless the user's configuration allows it."""
    if origin.scheme != "http" or _is_loopback(origin.host):
        return
    entry = settings_for(origin)
    if entry is None or not entry.allow_http:
        raise AssayError(
            f"{origin}: plain http to another machine shows texts and keys to the network; use https "
            f'(or set allow_http = true under [servers."{origin}"] in {path()})'
        )


def read_servers(table: dict[str, Any]) -> list[ServerSettings]:
    """Return the servers of the user's configuration. Raises BadConfiguration with all problems."""
    rows = table.get(SERVERS, {})
    problems, entries = list[str](), list[ServerSettings]()
    if not isinstance(rows, dict):
        raise BadConfiguration([f"{path()}: [{SERVERS}] must be a table, not {rows!r}"])
    for name, row in rows.items():
        try:
            entries.append(_entry(f'{path()}: [{SERVERS}."{name}"]', name, row))
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
        raise AssayError(f'{location}: no server; write a host, as in [{SERVERS}."api.example.com"]')
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
