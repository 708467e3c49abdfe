"""The text of a file, plain or gzipped."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from assay.evaluate.golden.problems import Unreadable

_GZIP_MAGIC = b"\x1f\x8b"
_HEAD = 4096  # bytes enough to tell what a file holds


def read_text(path: Path) -> str:
    """The whole text, without a byte order mark, with `\\n` as the only line end."""
    try:
        content = path.read_bytes()
        if content.startswith(_GZIP_MAGIC):
            content = gzip.decompress(content)
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Unreadable(line, f"not UTF-8 (byte 0x{content[error.start]:02x}); save it as UTF-8", path) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise Unreadable(0, f"broken gzip file ({error})", path) from None
    except OSError as error:
        raise Unreadable(0, f"cannot be read ({error.strerror or error})", path) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_head(path: Path) -> str:
    """The beginning of a file, as far as it is text; empty when it cannot be read."""
    try:
        with path.open("rb") as file:
            gzipped = file.read(2) == _GZIP_MAGIC
        with gzip.open(path) if gzipped else path.open("rb") as file:
            head = file.read(_HEAD)
    except (OSError, EOFError, zlib.error):
        return ""
    return "" if b"\0" in head else head.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def without_gz(path: Path) -> str:
    """The name of a file as it would be if it were not gzipped."""
    return path.name.removesuffix(".gz")
