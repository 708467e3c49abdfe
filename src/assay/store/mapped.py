"""The arrays of a generation: held from the moment an index is opened, understood when one is first asked for.

What is held can still be read when the generation has been swept away, and a command that needs no array never imports numpy.
"""

from __future__ import annotations

import io
import math
import mmap
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

Held = Mapping[str, mmap.mmap]

_ENDING = ".npy"
_MOST_COLUMNS = 1 << 16  # of an array without rows
_MOST_HEADER = 4096  # bytes; ours have some two hundred

# held while numpy reads headers: it parses them as Python, and CPython 3.11 can take fright when several threads parse at once
HEADERS = threading.Lock()


def hold(folder: Path, names: Iterable[str]) -> Held:
    """The array files among those of a folder, by name."""
    base = os.path.join(folder, "")
    return {name: _map(base + name) for name in names if name.endswith(_ENDING)}


def _map(path: str) -> mmap.mmap:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    try:
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)


def array_of(held: Held, name: str, kind: npt.DTypeLike, columns: int = 0) -> npt.NDArray[Any]:
    """One of the arrays, of a type and with so many columns (0: a row); FileNotFoundError when it is not there, nearly anything when damaged."""
    if name not in held:
        raise FileNotFoundError(name)
    array = array_in(memoryview(held[name]), 0)
    if array.dtype != kind or array.shape[1:] != ((columns,) if columns else ()):
        raise ValueError(f"{name} is not of the type that was written")
    return array


def array_in(memory: memoryview, start: int) -> npt.NDArray[Any]:
    """The array that was saved at a place of some memory, without reading it; ValueError when it does not fit or holds no plain values.

    numpy believes what it is told of a buffer: objects in it would be addresses, and sizes below 0 lead out of it.
    """
    import numpy as np

    head = io.BytesIO(memory[start : start + _MOST_HEADER])
    with HEADERS:
        np.lib.format.read_magic(head)
        shape, by_column, kind = np.lib.format.read_array_header_1_0(head)
    if kind.hasobject:
        raise ValueError("objects in an array")
    room = len(memory) - start - head.tell()
    if any(not 0 <= size <= max(room, _MOST_COLUMNS) for size in shape) or math.prod(shape) * kind.itemsize > room:
        raise ValueError("an array larger than its file")
    return np.ndarray(shape, kind, memory, start + head.tell(), order="F" if by_column else "C")
