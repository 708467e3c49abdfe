"""Array files: memory-mapped safely, and numbered through when an index has several parts.

A generation has one file (npy) per array. Data outside the generations, because it changes at other times (history,
sections and passages of documents, vectors), has one file (npz) that is replaced atomically, with a key that identifies
its input.
"""

from __future__ import annotations

import bisect
import io
import math
import mmap
import threading
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from assay.store.generation import MappedFiles, OtherVersion, UnusableIndex
from assay.store.layout import cannot_write
from assay.system.files import atomic_write, open_regular

Array = npt.NDArray[Any]

_MAX_ARRAYS = 100  # per file; ours have about twenty
_MAX_EMPTY_SIZE = 1 << 16  # largest dimension of an array without rows
_MAX_HEADER = 4096  # bytes; ours have about two hundred

# numpy parses headers as Python source, which can crash CPython 3.11 when several threads do it at once
_HEADERS = threading.Lock()
# numpy parses headers as Python, so damage can raise nearly anything
DAMAGE = (OSError, EOFError, KeyError, ValueError, TypeError, SyntaxError, IndexError, RecursionError, MemoryError, OverflowError, UnicodeError,
           zlib.error, zipfile.BadZipFile, NotImplementedError)  # fmt: skip


def array_of(maps: MappedFiles, name: str, kind: npt.DTypeLike, columns: int = 0) -> Array:
    """Return an array of an expected dtype and number of columns (0: one-dimensional).

    Raises FileNotFoundError if it is missing; damage may raise nearly anything.
    """
    if name not in maps:
        raise FileNotFoundError(name)
    array = array_in(memoryview(maps[name]))
    if array.dtype != kind or array.shape[1:] != ((columns,) if columns else ()):
        raise ValueError(f"{name} is not of the type that was written")
    return array


def array_in(memory: memoryview) -> Array:
    """Return the saved array without reading it; ValueError if it does not fit or holds objects.

    numpy trusts the header: objects would be raw addresses, and negative sizes would leave the buffer.
    """
    header = io.BytesIO(memory[:_MAX_HEADER])
    try:
        with _HEADERS:
            np.lib.format.read_magic(header)
            shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(header)
    except Exception as error:  # numpy tokenizes and evaluates the header: damage may raise anything
        raise ValueError("a damaged header") from error
    if dtype.hasobject:
        raise ValueError("objects in an array")
    available = len(memory) - header.tell()
    if (
        any(not 0 <= size <= max(available, _MAX_EMPTY_SIZE) for size in shape)
        or math.prod(shape) * dtype.itemsize > available
    ):
        raise ValueError("an array larger than its file")
    return np.ndarray(shape, dtype, memory, header.tell(), order="F" if fortran_order else "C")


# Several parts numbered through


def offsets(sizes: Iterable[int]) -> list[int]:
    """Return the first number of each part; the last offset is the total size."""
    return [0, *accumulate(sizes)]


def locate(starts: Sequence[int], number: int) -> tuple[int, int]:
    """Return the part that a joint number belongs to, and the number within it."""
    place = bisect.bisect_right(starts, number) - 1
    return place, number - starts[place]


def concatenated(arrays: Sequence[Array]) -> Array:
    """Concatenate the arrays of all parts; that of a single part stays as it is, memory-mapped."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def concatenated_postings(rows: Sequence[tuple[Array, Array]], starts: Sequence[int]) -> tuple[Array, Array]:
    """Concatenate numbers and counts of all parts, with the numbers of each shifted to its offset."""
    if len(rows) == 1:
        return rows[0]
    numbers = [numbers + np.int64(first) for (numbers, _), first in zip(rows, starts, strict=False)]
    return np.concatenate(numbers), np.concatenate([counts for _, counts in rows])


# Keyed files


class Strings:
    """Packed strings: one buffer and the offset of each string."""

    def __init__(self, text: Array, starts: Array) -> None:
        self._text, self._starts = np.ascontiguousarray(text).data, starts

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> str:
        return self._bytes(number).decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def find(self, text: str) -> int:
        """Return the position of a string among sorted ones; -1 if absent."""
        encoded = text.encode("utf-8", "replace")
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
    return np.array(offsets(map(len, groups)), "<i4")


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


class Relations(NamedTuple):
    """Relations between the arrays of a file: what a reader relies on. `NAME` also stands for the strings of that name."""

    rows: Sequence[Sequence[str]] = ()  # arrays of the same length
    numbers: Mapping[str, Sequence[str]] = {}  # array → what the numbers in its first columns are positions in
    optional: Sequence[str] = ()  # arrays in which -1 stands for no number
    groups: Mapping[str, tuple[str, str]] = {}  # array of offsets → array that it divides, array with a row per group
    widths: Sequence[str] = ()  # arrays whose number of columns differs from file to file


def read(
    path: Path, version: int, what: str, like: Mapping[str, Array], relations: Relations, mapped: bool = False
) -> dict[str, Array]:
    """Read all arrays, with the names and types of `like`. Raises OtherVersion, and UnusableIndex on damage.

    `mapped` ones are not copied into memory, so the file may be replaced meanwhile; their checksums are not compared.
    """
    try:
        arrays = members(path, verify=not mapped)
        is_other = key_of(arrays, version) is None
        if not is_other:
            _check_types(arrays, like, relations.widths)
            _check_relations(arrays, relations)
            return arrays if mapped else {name: array.copy() for name, array in arrays.items()}
        reason = "written by another version of assay"
    except FileNotFoundError:
        raise
    except DAMAGE as error:
        is_other, reason = False, (str(error) or type(error).__name__).splitlines()[0]
    remedy = "Delete it, and it will be made again" if mapped else "Write it again with: assay index"
    raise (OtherVersion if is_other else UnusableIndex)(f"{path}: {what} cannot be used ({reason}). {remedy}")


def read_or_empty(
    path: Path, version: int, what: str, empty: Mapping[str, Array], relations: Relations
) -> Mapping[str, Array]:
    """Read all arrays; `empty` if there is no file or, with a warning, one of another version: answers lack it then."""
    try:
        return read(path, version, what, empty, relations)
    except FileNotFoundError:
        return empty
    except OtherVersion as error:
        warnings.warn(f"{error}; until then, answers lack it", stacklevel=2)
        return empty


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
    return array_in(member)


def _check_types(arrays: Mapping[str, Array], like: Mapping[str, Array], widths: Sequence[str]) -> None:
    """Raise ValueError unless arrays have the expected names, types and dimensions."""
    if arrays.keys() != like.keys() or any(
        array.dtype != like[name].dtype
        or array.ndim != like[name].ndim
        or (array.shape[1:] != like[name].shape[1:] and name not in widths)
        for name, array in arrays.items()
    ):
        raise ValueError("not the arrays that are written there")


def _check_relations(arrays: Mapping[str, Array], relations: Relations) -> None:
    """Raise ValueError unless all numbers and offsets are in range."""

    def size(name: str) -> int:
        return len(arrays[name]) if name in arrays else len(arrays[f"{name}_text_starts"]) - 1

    groups = dict(relations.groups)
    for name in arrays:
        if name.endswith("_text_starts"):
            groups[name] = (name.removesuffix("_starts"), name.removesuffix("_text_starts"))
    for name, (divided, owners) in groups.items():
        starts = arrays[name]
        if len(starts) != size(owners) + 1 or not are_offsets(starts, size(divided)):
            raise ValueError(f"offsets out of range in {name}")
    for names in relations.rows:
        if len({size(name) for name in names}) > 1:
            raise ValueError(f"{' and '.join(names)} of different lengths")
    for name, columns in relations.numbers.items():
        least = -1 if name in relations.optional else 0
        for column, counted in zip(np.atleast_2d(arrays[name].T), columns, strict=False):
            if len(column) and not (least <= column.min() and column.max() < size(counted)):
                raise ValueError(f"numbers out of range in {name}")


def are_offsets(starts: Array, end: int) -> bool:
    """Return whether offsets start at 0, never fall and end at `end`."""
    return bool(len(starts) and starts[0] == 0 and starts[-1] == end and np.all(starts[1:] >= starts[:-1]))
