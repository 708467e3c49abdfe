"""Arrays in one file that is replaced in a single step, with a key that tells what they were made from.

For what stands beside the generations of an index because it changes at other times: the history and the sections of documents.
"""

from __future__ import annotations

import bisect
import mmap
import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.store.index import UnusableIndex
from assay.store.layout import cannot_write
from assay.store.mapped import HEADERS, array_in

Array = npt.NDArray[Any]


class Strings:
    """Many strings as one piece of text and where each begins."""

    def __init__(self, text: Array, starts: Array) -> None:
        self._text, self._starts = np.ascontiguousarray(text).data, starts

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> str:
        return self._bytes(number).decode("utf-8", "replace")

    def find(self, one: str) -> int:
        """The place of a string among sorted ones, -1 when it is not there."""
        wanted = one.encode("utf-8", "replace")
        place = bisect.bisect_left(range(len(self)), wanted, key=self._bytes)
        return place if place < len(self) and self._bytes(place) == wanted else -1

    def _bytes(self, number: int) -> bytes:
        return bytes(self._text[int(self._starts[number]) : int(self._starts[number + 1])])


def strings(what: str, values: Iterable[str]) -> dict[str, Array]:
    """The arrays that `strings_of` reads."""
    encoded = [one.encode("utf-8", "replace") for one in values]
    return {f"{what}_text": np.frombuffer(b"".join(encoded), "u1"), f"{what}_text_starts": starts(encoded)}


def strings_of(arrays: Mapping[str, Array], what: str) -> Strings:
    return Strings(arrays[f"{what}_text"], arrays[f"{what}_text_starts"])


def starts(groups: Iterable[Sequence[object] | Mapping[str, object]]) -> Array:
    """Where each group begins when all stand in a row, and where the last ends."""
    return np.fromiter(accumulate((len(group) for group in groups), initial=0), "<i4")


def key(version: int, made_from: str) -> Array:
    """The key of arrays of a version."""
    return np.frombuffer(f"{version} {made_from}".encode(), "u1")


def key_of(arrays: Mapping[str, Array], version: int) -> str | None:
    """What arrays were made from; None when they are of another version."""
    found, _, made_from = arrays["key"].tobytes().decode("ascii", "replace").partition(" ")
    return made_from if found == str(version) else None


def write(path: Path, arrays: Mapping[str, Array]) -> None:
    """Writes arrays in a single step."""
    fresh = path.with_name(f"{path.name}.new")
    try:
        with fresh.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        os.replace(fresh, path)
    except OSError as error:
        raise cannot_write(path.parent, error) from None
    finally:
        fresh.unlink(missing_ok=True)


def load(path: Path, version: int, what: str) -> dict[str, Array]:
    """All arrays of a file; zip files carry checksums, so damage is noticed here."""
    try:
        with HEADERS, np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        if key_of(arrays, version) is not None:
            return arrays
        reason = "of another version"
    except FileNotFoundError:
        raise
    except (OSError, EOFError, KeyError, ValueError, zlib.error, zipfile.BadZipFile, NotImplementedError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
    raise UnusableIndex(f"{path}: {what} cannot be used ({reason}). Write it again with: assay index")


def mapped(path: Path, version: int, what: str) -> dict[str, Array]:
    """All arrays of a file without reading more of it than is used. The file may be replaced meanwhile; damage inside an array goes unnoticed."""
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            memory = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            arrays = {info.filename.removesuffix(".npy"): _member(memory, info) for info in archive.infolist()}
        if key_of(arrays, version) is not None:
            return arrays
        reason = "of another version"
    except FileNotFoundError:
        raise
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
    raise UnusableIndex(f"{path}: {what} cannot be used ({reason}). Delete it, and it will be made again")


def _member(memory: memoryview, info: zipfile.ZipInfo) -> Array:
    """One array of a zip file that was not compressed, where it stands."""
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError("compressed")
    names = sum(
        int.from_bytes(memory[info.header_offset + at : info.header_offset + at + 2], "little") for at in (26, 28)
    )
    start = info.header_offset + 30 + names  # behind the member's own header
    return array_in(memory, start)
