"""The arrays of a generation: held from the moment an index is opened, understood when one is first asked for.

What is held can still be read when the generation has been swept away, and a command that needs no array never imports numpy.
"""

from __future__ import annotations

import io
import mmap
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

Held = Mapping[str, mmap.mmap]

_ENDING = ".npy"
_MOST_HEADER = 4096  # bytes; ours have some two hundred

# held while numpy reads headers: it parses them as Python, and CPython 3.11 can take fright when several threads parse at once
HEADERS = threading.Lock()


def hold(folder: Path) -> Held:
    """Every array file of a folder by its name."""
    return {path.name: _map(path) for path in folder.iterdir() if path.suffix == _ENDING}


def _map(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def array_of(held: Held, name: str) -> npt.NDArray[Any]:
    """One of the arrays; raises FileNotFoundError when it is not there, and nearly anything when it is damaged."""
    if name not in held:
        raise FileNotFoundError(name)
    return array_in(memoryview(held[name]), 0)


def array_in(memory: memoryview, start: int) -> npt.NDArray[Any]:
    """The array that was saved at a place of some memory, without reading it."""
    import numpy as np

    head = io.BytesIO(memory[start : start + _MOST_HEADER])
    with HEADERS:
        np.lib.format.read_magic(head)
        shape, by_column, kind = np.lib.format.read_array_header_1_0(head)
    return np.ndarray(shape, kind, memory, start + head.tell(), order="F" if by_column else "C")
