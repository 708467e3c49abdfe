"""The text of a file, plain or gzipped; and writing one in a single step."""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import zlib
from pathlib import Path

from assay.errors import AssayError
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


def write_text(path: Path, text: str) -> None:
    """Writes a file so that a reader sees the old one or the whole new one. Gzipped when its name ends in .gz."""
    target = Path(os.path.realpath(path))  # a link stays a link
    fresh = target.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        content = text.encode()
        with fresh.open("wb") as file:
            file.write(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, fresh)
        fresh.replace(target)
    except UnicodeEncodeError as error:
        raise AssayError(f"{path}: cannot be written as UTF-8 ({error.object[error.start]!r}); remove it") from None
    except OSError as error:
        raise AssayError(f"{path}: cannot be written ({error.strerror or error}); give another place") from None
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink()
