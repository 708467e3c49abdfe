"""Array files (npz) that are replaced atomically, with a key that identifies their input.

For data outside the generations of an index because it changes at other times: history, sections and passages of
documents, vectors.
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

_MAX_ARRAYS = 100  # per file; ours have about twenty
# numpy parses headers as Python, so damage can raise nearly anything
DAMAGE = (OSError, EOFError, KeyError, ValueError, TypeError, SyntaxError, IndexError, RecursionError, MemoryError, OverflowError, UnicodeError,
           zlib.error, zipfile.BadZipFile, NotImplementedError)  # fmt: skip


class Strings:
    """Packed strings: one buffer and the offset of each string."""

    def __init__(self, text: Array, starts: Array) -> None:
        self._text, self._starts = np.ascontiguousarray(text).data, starts

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> str:
        return self._bytes(number).decode("utf-8", "replace")

    def find(self, one: str) -> int:
        """Return the position of a string among sorted ones; -1 if absent."""
        encoded = one.encode("utf-8", "replace")
        place = bisect.bisect_left(range(len(self)), encoded, key=self._bytes)
        return place if place < len(self) and self._bytes(place) == encoded else -1

    def _bytes(self, number: int) -> bytes:
        return bytes(self._text[int(self._starts[number]) : int(self._starts[number + 1])])


def strings(what: str, values: Iterable[str]) -> dict[str, Array]:
    """Pack strings into the arrays that `strings_of` reads."""
    encoded = [value.encode("utf-8", "replace") for value in values]
    return {f"{what}_text": np.frombuffer(b"".join(encoded), "u1"), f"{what}_text_starts": starts(encoded)}


def strings_of(arrays: Mapping[str, Array], what: str) -> Strings:
    """Return the strings packed under a name."""
    return Strings(arrays[f"{what}_text"], arrays[f"{what}_text_starts"])


def starts(groups: Iterable[Sequence[object] | Mapping[str, object]]) -> Array:
    """Return the offset of each group when all are concatenated, and the total length."""
    return np.fromiter(accumulate((len(group) for group in groups), initial=0), "<i4")


def key(version: int, made_from: str) -> Array:
    """Encode format version and input key as an array."""
    return np.frombuffer(f"{version} {made_from}".encode(), "u1")


def key_of(arrays: Mapping[str, Array], version: int) -> str | None:
    """Return the input key of arrays; None for another format version."""
    stored_version, _, made_from = arrays["key"].tobytes().decode("ascii", "replace").partition(" ")
    return made_from if stored_version == str(version) else None


def write(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays atomically. Raises AssayError if the disk cannot be written."""
    try:
        with atomic_write(path) as file:
            np.savez(file, allow_pickle=False, **arrays)
    except OSError as error:
        raise cannot_write(path.parent, error) from None


def load(path: Path, version: int, what: str, like: Mapping[str, Array]) -> dict[str, Array]:
    """Read all arrays, with the names and types of `like`.

    The zip checksums are verified; raises UnusableIndex on damage.
    """
    try:
        arrays = {name: array.copy() for name, array in members(path, verify=True).items()}
        if key_of(arrays, version) is not None:
            _check_types(arrays, like)
            return arrays
        reason = "of another version"
    except FileNotFoundError:
        raise
    except DAMAGE as error:
        reason = _reason(error)
    raise UnusableIndex(f"{path}: {what} cannot be used ({reason}). Write it again with: assay index")


def mapped(path: Path, version: int, what: str, like: Mapping[str, Array]) -> dict[str, Array]:
    """Memory-map all arrays. The file may be replaced meanwhile; damage inside an array goes unnoticed."""
    try:
        arrays = members(path)
        if key_of(arrays, version) is not None:
            _check_types(arrays, like)
            return arrays
        reason = "of another version"
    except FileNotFoundError:
        raise
    except DAMAGE as error:
        reason = _reason(error)
    raise UnusableIndex(f"{path}: {what} cannot be used ({reason}). Delete it, and it will be made again")


def members(path: Path, verify: bool = False) -> dict[str, Array]:
    """Memory-map the arrays of a file, optionally verifying checksums. Damage may raise any of DAMAGE."""
    with open_regular(path) as file:
        return _members(file, memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), verify)


def members_in(data: bytes) -> dict[str, Array]:
    """Return the arrays of a file's content, like `members`."""
    return _members(io.BytesIO(data), memoryview(data), verify=True)


def _members(file: IO[bytes], memory: memoryview, verify: bool) -> dict[str, Array]:
    with zipfile.ZipFile(file) as archive:
        infos = archive.infolist()[:_MAX_ARRAYS]
    return {info.filename.removesuffix(".npy"): _member(memory, info, verify) for info in infos}


def _member(memory: memoryview, info: zipfile.ZipInfo, verify: bool) -> Array:
    """Return one uncompressed array of a zip file, in place."""
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError("compressed")
    name_lengths = sum(
        int.from_bytes(memory[info.header_offset + offset : info.header_offset + offset + 2], "little")
        for offset in (26, 28)
    )
    start = info.header_offset + 30 + name_lengths  # after the member's own header
    member = memory[start : start + info.file_size]
    if verify and zlib.crc32(member) != info.CRC:
        raise ValueError("a wrong checksum")
    return array_in(member, 0)


def _check_types(arrays: Mapping[str, Array], like: Mapping[str, Array]) -> None:
    """Raise ValueError unless arrays have the expected names, types and dimensions."""
    if arrays.keys() != like.keys() or any(
        array.dtype != like[name].dtype or array.ndim != like[name].ndim for name, array in arrays.items()
    ):
        raise ValueError("not the arrays that are written there")


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
