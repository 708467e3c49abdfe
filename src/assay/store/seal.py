"""Seal of a finished generation: proof that this user wrote it on this machine and that nothing changed since.

It holds size and mtime of every file and a MAC over them, keyed with a secret in the user's state folder. A clone
cannot carry a valid seal: its author has no key. A copied or restored index has none either; it is verified in full,
and sealed again by the next `assay index`.

Caches whose rows are decoded without verification carry a MAC with every row, so that nobody else can insert rows.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b
else:
    try:  # every command opens an index, and `hashlib` takes 11 ms to load OpenSSL, which is not needed
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b

from assay.system.files import TooLarge, atomic_write, read_regular

NAME = "seal.json"

_KEY_BYTES = 32
_MAX_BYTES = 1 << 16

Stats = Mapping[str, os.stat_result]


def seal(folder: Path) -> None:
    """Write the seal of a finished generation; without a state folder for the key, an invalid one."""
    with os.scandir(folder) as entries:
        stats = {entry.name: entry.stat(follow_symlinks=False) for entry in entries}
    with atomic_write(folder / NAME) as file:
        file.write(_seal_content(stats, _key() or _new_key()))


def is_sealed(folder: Path, stats: Stats) -> bool:
    """Return whether the files of a generation are as this user left them."""
    key = _key()
    if key is None:
        return False
    try:
        return read_regular(folder / NAME, _MAX_BYTES, follow=False) == _seal_content(stats, key)
    except (OSError, TooLarge):
        return False


def code(*values: object) -> int:
    """Return a 64-bit MAC over a row that only this user on this machine can make; unkeyed without a state folder."""
    digest = blake2b(key=_own_key(_key_path()), digest_size=8)
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        digest.update(b"%s %d " % (type(value).__name__.encode(), len(data)))
        digest.update(data)
    return int.from_bytes(digest.digest(), "little", signed=True)  # SQLite integers are signed


@cache
def _own_key(_path: Path) -> bytes:
    """Return the key, created if missing; empty if it cannot be stored."""
    return _key() or _new_key() or b""


def _seal_content(stats: Stats, key: bytes | None) -> bytes:
    rows = {name: [info.st_size, info.st_mtime_ns] for name, info in sorted(stats.items()) if name != NAME}
    content = json.dumps(rows).encode()
    return (
        content + b"\n" + (blake2b(content, key=key, digest_size=16).hexdigest().encode() if key else b"no key") + b"\n"
    )


def _key_path() -> Path:
    """Return the key file: in XDG_STATE_HOME, LOCALAPPDATA on Windows, or ~/.local/state."""
    base = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.local/state")
    return Path(base) / "assay" / "seal.key"


def _key() -> bytes | None:
    try:
        key = read_regular(_key_path(), _KEY_BYTES)
    except (OSError, TooLarge):
        return None
    return key if len(key) == _KEY_BYTES else None


def _new_key() -> bytes | None:
    """Create the key; if two processes do so at once, the first wins."""
    path = _key_path()
    if not path.is_absolute():
        return None
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(os.urandom(_KEY_BYTES))
            os.link(temporary, path)
        finally:
            os.unlink(temporary)
    return _key()
