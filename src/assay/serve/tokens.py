"""Personal access tokens of a team's server: roles, expiry, revocation.

A token reads `assay_ID_SECRET`. The file has only a digest of the secret, which is random and long, so that a fast hash
is sufficient. A server reads the file again when it changes: a revoked token is refused at once.

Roles include those before them: `read` asks questions, `write` also records feedback (MCP), `admin` also sees the audit
log and has the index updated.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.config import user
from assay.errors import AssayError
from assay.store.layout import lock_file
from assay.system.files import TooLarge, atomic_write, read_regular
from assay.text.suggest import did_you_mean

ROLES = ("read", "write", "admin")
NAME = "tokens.json"
FORMAT = 1
_MAX_BYTES = 4_000_000
_ID_BYTES, _SECRET_BYTES = 6, 32
_TOKEN = re.compile(r"assay_([0-9a-f]{12})_([\w-]{20,100})", re.ASCII)
_LABEL = re.compile(r"[^\x00-\x1f\x7f]{1,100}")
DAY = 86_400


class Identity(NamedTuple):
    """The person or program behind a request."""

    id: str
    name: str
    role: str

    def may(self, role: str) -> bool:
        """Return whether the identity has a role, or one that includes it."""
        return ROLES.index(self.role) >= ROLES.index(role)


LOCAL = Identity("local", "this machine", "admin")  # of a server on loopback without tokens
SHARED = Identity("shared", "shared token", "admin")  # of ASSAY_TOKEN


class Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A token as stored."""

    id: str
    name: str
    role: str
    digest: str
    created: int  # seconds since 1970
    expires: int = 0  # 0: never

    @property
    def identity(self) -> Identity:
        return Identity(self.id, self.name, self.role)

    def is_valid(self, now: float) -> bool:
        return not self.expires or now < self.expires


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: int
    tokens: list[Token]


class Tokens:
    """The tokens in a file, by default `tokens.json` in the user's configuration folder."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or user.directory() / NAME
        self._stamp: tuple[int, int, int] | None = None
        self._by_id: dict[str, Token] = {}

    def identify(self, text: str) -> Token | None:
        """Return the valid token that a text is. Takes the same time for a wrong secret as for the right one."""
        match = _TOKEN.fullmatch(text)
        if match is None:
            return None
        token = self._current().get(match[1])
        stored = token.digest if token else ""
        is_same = hmac.compare_digest(_digest(match[2]), stored.encode("utf-8", "replace"))
        return token if token and is_same and token.is_valid(time.time()) else None

    def valid(self, id: str) -> Token | None:
        """Return a token by its id, unless it is revoked or expired."""
        token = self._current().get(id)
        return token if token and token.is_valid(time.time()) else None

    def all(self) -> list[Token]:
        """Return all tokens, oldest first. Raises AssayError if the file is damaged."""
        return sorted(_read(self.path), key=lambda token: (token.created, token.id))

    def create(self, name: str, role: str, days: float | None = None) -> str:
        """Add a token and return its text, which is stored nowhere."""
        if not _LABEL.fullmatch(name):
            raise AssayError("the name of a token has 1 to 100 printable characters")
        id, secret, now = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES), int(time.time())
        expires = now + round(days * DAY) if days else 0
        with self._changing() as tokens:
            if any(token.name == name for token in tokens):
                raise AssayError(f"there is a token named {name!r}. Revoke it first: assay token revoke {name!r}")
            tokens.append(Token(id, name, role, _digest(secret).decode(), now, expires))
        return f"assay_{id}_{secret}"

    def revoke(self, wanted: str) -> Token:
        """Remove a token, given by id or name, and return it."""
        with self._changing() as tokens:
            for token in tokens:
                if wanted in (token.id, token.name):
                    tokens.remove(token)
                    return token
            hint = did_you_mean(wanted, [token.name for token in tokens])
            raise AssayError(f"no token has the name or id {wanted!r}.{hint} assay token list shows all")

    @contextlib.contextmanager
    def _changing(self) -> Iterator[list[Token]]:
        """Yield the tokens to be changed, under a lock; they are written if the block succeeds."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with lock_file(self.path.with_name(f".{self.path.name}.lock")):
                tokens = _read(self.path)
                yield tokens
                with atomic_write(self.path, sync=True) as file:
                    os.fchmod(file.fileno(), 0o600)
                    file.write(msgspec.json.format(msgspec.json.encode(_File(FORMAT, tokens)), indent=1))
                os.chmod(self.path, 0o600)
        except OSError as error:
            raise AssayError(f"{self.path}: cannot be written ({error.strerror})") from None

    def _current(self) -> dict[str, Token]:
        """Return the tokens by id, read again if the file changed; none while it cannot be read."""
        try:
            status = os.stat(self.path)
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
        except OSError:
            self._stamp, self._by_id = None, {}
            return self._by_id
        if stamp != self._stamp:
            try:
                self._by_id = {token.id: token for token in _read(self.path)}
            except AssayError:
                self._by_id = {}
            self._stamp = stamp
        return self._by_id


def _digest(secret: str) -> bytes:
    return blake2b(secret.encode(), digest_size=32).hexdigest().encode()


def _read(path: Path) -> list[Token]:
    try:
        content = msgspec.json.decode(read_regular(path, _MAX_BYTES), type=_File)
    except FileNotFoundError:
        return []
    except (OSError, TooLarge, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise AssayError(f"{path}: not a file of tokens ({error})") from None
    if content.format != FORMAT or any(token.role not in ROLES for token in content.tokens):
        raise AssayError(f"{path}: written by another version of assay")
    return content.tokens
