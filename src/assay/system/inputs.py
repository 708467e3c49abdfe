"""Bounded readers for untrusted files: text, lines and JSON, plain or gzipped, and TOML.

All readers accept regular files only, limit the decompressed size, and keep memory within a small multiple of the text.
"""

from __future__ import annotations

import io
import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from assay.errors import AssayError
from assay.system.files import TooLarge, open_regular

LARGEST_TEXT = 64_000_000  # bytes of a text held in memory: 800,000 short queries
LARGEST_STREAM = 512_000_000  # bytes of a text read line by line: a run of 7 million results
LONGEST_LINE = 8_000_000  # bytes: a JSON value of that length takes at most 300 MB
MOST_LINES = 10_000_000
MOST_VALUES = 6_000_000  # of a JSON text in memory; each takes about a hundred bytes
_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 16


class BadInput(AssayError):
    """A file with invalid content; `reason` does not name the file, `line` is 0 if unknown."""

    def __init__(self, path: Path | str, reason: str, line: int = 0) -> None:
        super().__init__(f"{path}:{line}: {reason}" if line else f"{path}: {reason}")
        self.reason, self.line = reason, line


def open_unpacked(path: Path | str, limit: int) -> io.BufferedReader:
    """Open a regular file, gzipped or not; reading more than `limit` decompressed bytes raises TooLarge."""
    return unpacked(open_regular(path, follow=True), path, limit)


def unpacked(file: IO[bytes], name: Path | str, limit: int) -> io.BufferedReader:
    """Return an open stream decompressed, if it is gzipped; reading more than `limit` bytes of it raises TooLarge."""
    stream = file if isinstance(file, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, file))
    is_packed = stream.peek(2)[:2] == _GZIP_MAGIC
    return io.BufferedReader(_Decompressed(stream, is_packed, name, limit), _CHUNK)


def read_bytes(path: Path | str, limit: int = LARGEST_TEXT) -> bytes:
    """Return a file's decompressed bytes. Raises BadInput, TooLarge or FileNotFoundError."""
    with read_errors(path), open_unpacked(path, limit) as file:
        return file.read()


def read_text(path: Path | str, limit: int = LARGEST_TEXT) -> str:
    """Return a file's text without byte order mark and with `\\n` line ends."""
    content = read_bytes(path, limit).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _not_utf8(path, line, content[error.start]) from None


def read_lines(
    path: Path | str, limit: int = LARGEST_STREAM, seen: Callable[[bytes], object] | None = None
) -> Iterator[tuple[int, str]]:
    """Yield line numbers and lines of a file. `seen` is called with the raw bytes, e.g. to hash them."""
    number = 0
    with read_errors(path), open_unpacked(path, limit) as file:
        while raw := file.readline(LONGEST_LINE + 1):
            if len(raw) > LONGEST_LINE:
                raise BadInput(path, f"a line is longer than {LONGEST_LINE / 1e6:g} MB", number + 1)
            if seen:
                seen(raw)
            raw = raw.removesuffix(b"\n").removesuffix(b"\r")
            for line in raw.split(b"\r") if b"\r" in raw else (raw,):
                number += 1
                if number > MOST_LINES:
                    raise BadInput(path, f"more than {MOST_LINES:,} lines, which is the most that is read")
                yield number, _decode_line(line, path, number)


def read_json(path: Path | str, limit: int = LARGEST_TEXT) -> Any:
    """Return the value of a JSON file; raise ValueError for what is not JSON, or nested too deeply."""
    content = read_bytes(path, limit)
    # every value but the first follows one of these: an upper bound that is checked before parsing
    if content.count(b",") + content.count(b"[") + content.count(b"{") > MOST_VALUES:
        raise BadInput(path, f"more than {MOST_VALUES:,} values, which is the most that is read")
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None


# a key, at its start, with 33 parts
_LONG_KEY = re.compile(
    r"""(?:^[ \t]*+(?:\[[ \t]*+\[?[ \t]*+)?|[{,][ \t]*+)"""
    r"""(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""",
    re.MULTILINE,
)


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML text; raise ValueError for what is not TOML, or has keys of more than 32 parts.

    The time that tomllib takes for a key grows with the square of its length.
    """
    import tomllib  # rarely needed

    if long := _LONG_KEY.search(text):
        raise ValueError(
            f"a key with more than 32 parts (at line {text.count(chr(10), 0, long.start()) + 1}, column 1)"
        )
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _decode_line(line: bytes, path: Path | str, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(path, number, line[error.start]) from None


def _not_utf8(path: Path | str, line: int, byte: int) -> BadInput:
    return BadInput(path, f"not UTF-8 (byte 0x{byte:02x}); save it as UTF-8", line)


class _Decompressed(io.RawIOBase):
    """The decompressed bytes of a file; of a gzip file, those of all its members."""

    def __init__(self, file: IO[bytes], packed: bool, path: Path | str, limit: int) -> None:
        self._file, self._path, self._limit = file, path, limit
        self._decompressor = zlib.decompressobj(31) if packed else None
        self._pending, self._size = b"", 0

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        data = self._next(len(buffer))
        self._size += len(data)
        if self._size > self._limit:
            raise TooLarge(self._path, self._limit)
        buffer[: len(data)] = data
        return len(data)

    def _next(self, size: int) -> bytes:
        if self._decompressor is None:
            return self._file.read(size)
        while True:
            if self._decompressor.eof:
                self._pending = (self._decompressor.unused_data or self._file.read(_CHUNK)).lstrip(b"\0")  # padding
                if not self._pending:
                    return b""
                self._decompressor = zlib.decompressobj(31)
            elif not self._pending:
                self._pending = self._file.read(_CHUNK)
                if not self._pending:
                    raise EOFError("truncated")
            data = self._decompressor.decompress(self._pending, size)
            self._pending = self._decompressor.unconsumed_tail
            if data:
                return data


class read_errors:
    """Converts read errors to BadInput; FileNotFoundError is passed on."""

    def __init__(self, path: Path | str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, EOFError | zlib.error):
            raise BadInput(self._path, f"broken gzip file ({error})") from None
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            raise BadInput(self._path, f"cannot be read ({error.strerror or error})") from None
