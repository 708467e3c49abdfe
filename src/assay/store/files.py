"""Reading a file of the tree the way it is indexed: opened safely, decoded to UTF-8, recognised by its content."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from assay.system.files import open_regular

RACY_SECONDS = 2  # a file changed this shortly before it was indexed may have changed again within the same timestamp


class Decoded(NamedTuple):
    """A file's text as UTF-8 bytes; `note` says how it was converted, `problem` why there is none."""

    data: bytes
    note: str = ""
    problem: str = ""


def content_hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def surely_same(known: tuple[int, int], found: tuple[int, int], indexed_at: int) -> bool:
    """Whether (size, mtime) alone prove that a file is as it was indexed; times in nanoseconds."""
    return known == found and found[1] < indexed_at - RACY_SECONDS * 10**9


def read_bytes(root: Path, path: str, limit: int) -> bytes:
    """At most `limit` bytes of a regular file: never through a symlink, and never waiting for the other end of a pipe."""
    with open_regular(root / path) as handle:
        return handle.read(limit)


def decode(data: bytes) -> Decoded:
    """UTF-8 without its mark; UTF-16 and Latin-1 are converted, binary data is a problem."""
    note = ""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            data, note = data.decode("utf-16").encode(), "UTF-16, converted"
        except UnicodeError:
            return Decoded(b"", problem="begins like UTF-16 but is not valid UTF-16")
    elif data[:3] == b"\xef\xbb\xbf":
        data = data[3:]
    if b"\0" in data:
        return Decoded(b"", problem="contains NUL bytes: binary, or text in an unknown encoding")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        data, note = data.decode("latin-1").encode(), f"invalid UTF-8 at line {line}, read as Latin-1"
    return Decoded(data, note)
