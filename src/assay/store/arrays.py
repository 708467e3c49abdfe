"""Arrays in one file that is replaced in a single step, with a key that tells what they were made from.

For what stands beside the generations of an index because it changes at other times: the history and the sections of documents.
"""

from __future__ import annotations

import bisect
import io
import mmap
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from assay.store.index import UnusableIndex, array_in
from assay.store.layout import cannot_write
from assay.system.files import atomic_write, open_regular

Array = npt.NDArray[Any]

_MOST_ARRAYS = 100  # of a file; ours have some twenty
# numpy parses headers as Python: random bytes can raise nearly anything
DAMAGE = (OSError, EOFError, KeyError, ValueError, TypeError, SyntaxError, IndexError, RecursionError, MemoryError, OverflowError, UnicodeError,
           zlib.error, zipfile.BadZipFile, NotImplementedError)  # fmt: skip


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
    try:
        with atomic_write(path) as file:
            np.savez(file, allow_pickle=False, **arrays)
    except OSError as error:
        raise cannot_write(path.parent, error) from None


def load(path: Path, version: int, what: str, like: Mapping[str, Array]) -> dict[str, Array]:
    """All arrays of a file, each of the type of the one in `like`; zip files carry checksums, so damage is noticed here."""
    try:
        arrays = {name: array.copy() for name, array in members(path, verify=True).items()}
        if key_of(arrays, version) is not None:
            _compare(arrays, like)
            return arrays
        reason = "of another version"
    except FileNotFoundError:
        raise
    except DAMAGE as error:
        reason = _reason(error)
    raise UnusableIndex(f"{path}: {what} cannot be used ({reason}). Write it again with: assay index")


def mapped(path: Path, version: int, what: str, like: Mapping[str, Array]) -> dict[str, Array]:
    """All arrays of a file without reading more of it than is used. The file may be replaced meanwhile; damage inside an array goes unnoticed."""
    try:
        arrays = members(path)
        if key_of(arrays, version) is not None:
            _compare(arrays, like)
            return arrays
        reason = "of another version"
    except FileNotFoundError:
        raise
    except DAMAGE as error:
        reason = _reason(error)
    raise UnusableIndex(f"{path}: {what} cannot be used ({reason}). Delete it, and it will be made again")


def members(path: Path, verify: bool = False) -> dict[str, Array]:
    """The arrays of a file where they stand in it, none larger than it; compared with their checksums on demand. Raises nearly anything."""
    with open_regular(path) as file:
        return _members(file, memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), verify)


def members_in(data: bytes) -> dict[str, Array]:
    """The arrays of a file's content, as `members` gives them."""
    return _members(io.BytesIO(data), memoryview(data), verify=True)


def _members(file: IO[bytes], memory: memoryview, verify: bool) -> dict[str, Array]:
    with zipfile.ZipFile(file) as archive:
        found = archive.infolist()[:_MOST_ARRAYS]
    return {info.filename.removesuffix(".npy"): _member(memory, info, verify) for info in found}


def _member(memory: memoryview, info: zipfile.ZipInfo, verify: bool) -> Array:
    """One array of a zip file that was not compressed, where it stands."""
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError("compressed")
    names = sum(
        int.from_bytes(memory[info.header_offset + at : info.header_offset + at + 2], "little") for at in (26, 28)
    )
    start = info.header_offset + 30 + names  # behind the member's own header
    member = memory[start : start + info.file_size]
    if verify and zlib.crc32(member) != info.CRC:
        raise ValueError("a wrong checksum")
    return array_in(member, 0)


def _compare(arrays: Mapping[str, Array], like: Mapping[str, Array]) -> None:
    """Refuses arrays of other names, types or dimensions than those that are written."""
    if arrays.keys() != like.keys() or any(
        array.dtype != like[name].dtype or array.ndim != like[name].ndim for name, array in arrays.items()
    ):
        raise ValueError("not the arrays that are written there")


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
