"""Places that hold published indexes: a folder, an HTTP server (to read only), or any address that fsspec knows.

A place has small files that are read whole (manifests, pointers) and blobs that are read from an offset, so that an
interrupted download can be resumed. Files are written as a whole or not at all.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, urlsplit
from urllib.request import Request

from assay.errors import AssayError, install
from assay.system import http
from assay.system.files import TooLarge, atomic_write, open_regular, read_regular

CHUNK = 1 << 20  # bytes per read
_SECONDS = 60.0  # for one small file, and for each read of a blob
_TOKEN = "ASSAY_REMOTE_TOKEN"  # environment variable: a bearer token for an HTTP server


class RemoteError(AssayError):
    """A place cannot be read or written."""


class Missing(RemoteError):
    """A place has no such file."""


class Place(Protocol):
    """Files by relative path. All methods raise RemoteError."""

    address: str

    def read(self, path: str, limit: int) -> bytes:
        """Return a small file. Raises Missing if there is none, RemoteError above `limit` bytes."""

    def stream(self, path: str, offset: int) -> Iterator[bytes]:
        """Yield a file's content from an offset."""

    def has(self, path: str) -> bool:
        """Return whether a file exists."""

    def write(self, path: str, content: bytes | Path) -> None:
        """Store a file, given by content or by a local path, replacing an earlier one as a whole."""

    def list(self, folder: str) -> dict[str, float]:
        """Return the names of the files in a folder, with the seconds since each was written."""

    def remove(self, path: str) -> None:
        """Delete a file if it exists."""


def place_at(address: str) -> Place:
    """Return the place at an address: a path, `file://`, `https://`, or a protocol of fsspec such as `s3://`."""
    scheme = urlsplit(address).scheme.lower() if "://" in address else ""
    if scheme in ("", "file"):
        return Folder(address.removeprefix("file://"))
    if scheme in ("http", "https"):
        return Web(address)
    return Fsspec(address)


class Folder:
    """A local or mounted folder."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._path = Path(address).expanduser()

    def read(self, path: str, limit: int) -> bytes:
        with _errors(self.address, path):
            return read_regular(self._path / path, limit)

    def stream(self, path: str, offset: int) -> Iterator[bytes]:
        with _errors(self.address, path), open_regular(self._path / path, follow=True) as file:
            file.seek(offset)
            while chunk := file.read(CHUNK):
                yield chunk

    def has(self, path: str) -> bool:
        return (self._path / path).is_file()

    def write(self, path: str, content: bytes | Path) -> None:
        target = self._path / path
        with _errors(self.address, path):
            target.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(target, sync=True) as file:
                for chunk in _chunks(content):
                    file.write(chunk)

    def list(self, folder: str) -> dict[str, float]:
        now = time.time()
        with (
            _errors(self.address, folder),
            contextlib.suppress(FileNotFoundError),
            os.scandir(self._path / folder) as entries,
        ):
            return {entry.name: now - entry.stat().st_mtime for entry in entries if entry.is_file()}
        return {}

    def remove(self, path: str) -> None:
        with _errors(self.address, path):
            (self._path / path).unlink(missing_ok=True)


class Web:
    """A static HTTP server. Plain http is accepted on this machine only: anybody on the way could change the index."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme == "http" and not http.is_loopback(parts.hostname or ""):
            raise RemoteError(f"{address}: plain http is not protected on its way. Use https://")
        if parts.username or parts.password:
            raise RemoteError(f"a password in an address ends up in logs. Put a token into {_TOKEN} instead")
        self.address = address

    def read(self, path: str, limit: int) -> bytes:
        with self._failures(path):
            return http.fetch(self._request(path), _SECONDS, limit)

    def stream(self, path: str, offset: int) -> Iterator[bytes]:
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        with self._failures(path), http.failures(), http.open_answer(self._request(path, headers), _SECONDS) as answer:
            skip = offset if answer.status != 206 else 0  # a server without ranges sends all of it
            while chunk := answer.read(CHUNK):
                yield chunk[skip:]
                skip = max(0, skip - len(chunk))

    def has(self, path: str) -> bool:
        try:
            self.read(path, 1 << 20)
        except Missing:
            return False
        return True

    def write(self, path: str, content: bytes | Path) -> None:
        raise RemoteError(f"{self.address}: an HTTP server can be pulled from, not published to")

    def list(self, folder: str) -> dict[str, float]:
        raise RemoteError(f"{self.address}: an HTTP server cannot be listed")

    def remove(self, path: str) -> None:
        raise RemoteError(f"{self.address}: nothing can be removed from an HTTP server")

    def _request(self, path: str, headers: dict[str, str] | None = None) -> Request:
        token = os.environ.get(_TOKEN, "")
        sent = {"User-Agent": "assay", **(headers or {})}
        if token:
            sent["Authorization"] = f"Bearer {token}"
        return Request(f"{self.address.rstrip('/')}/{quote(path)}", headers=sent)

    @contextlib.contextmanager
    def _failures(self, path: str) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            raise RemoteError(f"{self.address}/{path}: no answer within {_SECONDS:.0f} s") from None
        except http.Refused as error:
            if error.status in (404, 410):
                raise Missing(f"{self.address}: has no {path}") from None
            hint = f". Put a token into {_TOKEN}" if error.status in (401, 403) else ""
            raise RemoteError(f"{self.address}/{path}: {error}{hint}") from None
        except http.RequestFailed as error:
            raise RemoteError(f"{self.address}/{path}: {error}") from None


class Fsspec:
    """An address of fsspec, the `remote` extra: s3, gcs, azure and others, each with its own package."""

    def __init__(self, address: str) -> None:
        self.address = address
        try:
            import fsspec
        except ImportError:
            raise RemoteError(f"{address}: this address needs fsspec: {install('remote')}") from None
        try:
            self._system, path = fsspec.core.url_to_fs(address)
        except Exception as error:  # an unknown protocol, a missing package, bad credentials: all its own errors
            raise RemoteError(f"{address}: {_first_line(error)}") from None
        self._path = str(path).rstrip("/")

    def read(self, path: str, limit: int) -> bytes:
        with self._errors(path), self._system.open(self._join(path), "rb") as file:
            data: bytes = file.read(limit + 1)
        if len(data) > limit:
            raise RemoteError(f"{self.address}/{path}: larger than {limit:,} bytes")
        return data

    def stream(self, path: str, offset: int) -> Iterator[bytes]:
        with self._errors(path), self._system.open(self._join(path), "rb") as file:
            file.seek(offset)
            while chunk := file.read(CHUNK):
                yield chunk

    def has(self, path: str) -> bool:
        with self._errors(path):
            return bool(self._system.exists(self._join(path)))

    def write(self, path: str, content: bytes | Path) -> None:
        with self._errors(path):
            self._system.makedirs(self._join(path).rpartition("/")[0], exist_ok=True)
            with self._system.transaction, self._system.open(self._join(path), "wb") as file:
                for chunk in _chunks(content):
                    file.write(chunk)

    def list(self, folder: str) -> dict[str, float]:
        now = time.time()
        try:
            with self._errors(folder):
                entries: list[dict[str, Any]] = self._system.ls(self._join(folder), detail=True, refresh=True)
        except Missing:
            return {}
        return {
            str(entry["name"]).rpartition("/")[2]: now - _written(entry) for entry in entries if entry["type"] == "file"
        }

    def remove(self, path: str) -> None:
        with contextlib.suppress(Missing), self._errors(path):
            self._system.rm_file(self._join(path))

    def _join(self, path: str) -> str:
        return f"{self._path}/{path}"

    @contextlib.contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise Missing(f"{self.address}: has no {path}") from None
        except Exception as error:  # every file system of fsspec has its own errors
            raise RemoteError(f"{self.address}/{path}: {_first_line(error)}") from None


def _written(entry: dict[str, Any]) -> float:
    """Return the time of a listed file; that of a file system that tells none is now."""
    for key in ("mtime", "LastModified", "last_modified", "updated", "created"):
        value = entry.get(key)
        if isinstance(value, int | float):
            return float(value)
        if isinstance(value, datetime):
            return value.timestamp()
    return time.time()


def _chunks(content: bytes | Path) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    with open_regular(content) as file:
        while chunk := file.read(CHUNK):
            yield chunk


@contextlib.contextmanager
def _errors(address: str, path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise Missing(f"{address}: has no {path}") from None
    except TooLarge as error:
        raise RemoteError(f"{address}/{path}: larger than {error.limit:,} bytes") from None
    except OSError as error:
        raise RemoteError(f"{address}/{path}: {error.strerror or error}") from None


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
