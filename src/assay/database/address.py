"""Addresses of run stores: their project, their text without secrets, and the store that the user configured.

    postgresql://ada@db.example.com/assay?project=shop&sslmode=verify-full

Everything but `project` is a parameter of libpq and reaches it unchanged. A repository cannot choose a store: opening
one connects to a server and sends it questions and source code.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from assay.config import user
from assay.errors import AssayError

DEFAULT_PROJECT = "default"

_SCHEMES = ("postgresql", "postgres")
# part of the names of roles, which have at most 63 characters
_PROJECT = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class Address:
    """A PostgreSQL database and a project in it. `str()` has no secrets."""

    uri: str  # as libpq reads it, perhaps with a password
    project: str = DEFAULT_PROJECT

    @classmethod
    def parse(cls, text: str) -> Address:
        """Split off the project. Raises AssayError, without repeating what may be a password."""
        try:
            parts = urlsplit(text)
            _ = parts.port
            pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError:
            raise AssayError(
                "the address of the store cannot be read; write postgresql://USER@HOST:PORT/DATABASE?project=NAME, "
                "with special characters of a password as %XX"
            ) from None
        project = dict(pairs).get("project", DEFAULT_PROJECT)
        if not _PROJECT.fullmatch(project):
            raise AssayError(
                f"'{project}': not the name of a project; use up to 40 lower-case letters, digits, _ and -"
            )
        query = urlencode([pair for pair in pairs if pair[0] != "project"], quote_via=quote)
        return cls(f"postgresql://{parts.netloc}{parts.path}" + (f"?{query}" if query else ""), project)

    @property
    def reader(self) -> str:
        """Role that may read the project."""
        return f"assay_{self.project}_reader"

    @property
    def writer(self) -> str:
        """Role that may read and write the project."""
        return f"assay_{self.project}_writer"

    def __str__(self) -> str:
        parts = urlsplit(self.uri)
        login, at, host = parts.netloc.rpartition("@")
        return f"postgresql://{login.partition(':')[0]}{at}{host}{parts.path}?project={self.project}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    def censored(self, message: str) -> str:
        """Return a message of the driver without the password of the address."""
        parts = urlsplit(self.uri)
        secrets = [unquote(value) for name, value in parse_qsl(parts.query) if "password" in name]
        secrets += [parts.password, unquote(parts.password)] if parts.password else []
        for secret in filter(None, secrets):
            message = message.replace(secret, _HIDDEN)
        return message


def is_postgres(text: str) -> bool:
    return text.partition("://")[0] in _SCHEMES and "://" in text


def shown_store(address: Path | str) -> str:
    """Return an address without secrets."""
    return str(Address.parse(address)) if isinstance(address, str) and is_postgres(address) else str(address)


def address_of(text: str, origin: str) -> Path | str:
    """Return a store's address: of PostgreSQL as it is, else an absolute path. Raises AssayError."""
    if is_postgres(text):
        Address.parse(text)
        return text
    if "://" in text:
        raise AssayError(f"{origin}: a store is postgresql://… or a file, not {text.partition('://')[0]}://…")
    path = Path(text).expanduser()
    if not path.is_absolute():  # relative to the current folder, it would belong to the repository
        raise AssayError(f"{origin}: a store is postgresql://… or an absolute path, not '{text}'")
    return path


def configured_store() -> Path | str | None:
    """Return the store that ASSAY_STORE or the user's configuration names, or None."""
    if text := os.environ.get(user.STORE_VARIABLE):
        return address_of(text, user.STORE_VARIABLE)
    text = user.store(user.read())
    return address_of(text, f"{user.path()}: store") if text else None


def has_team_store() -> bool:
    """Return whether the user configured a store in PostgreSQL, perhaps wrongly: opening it says so."""
    try:
        return isinstance(configured_store(), str)
    except AssayError:
        return True
