"""Per-item columns that ranking needs, by item number: file, place in it, kind, test flag. Memory-mapped when read."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from assay.core.items import KINDS
from assay.store.arrays import Array, array_of
from assay.store.catalogue import SymbolRow
from assay.store.generation import MappedFiles

NAME = "columns.npy"

KIND_NAMES = ("", *sorted(KINDS))  # by stored code; the first marks unused numbers
DTYPE = np.dtype([("file", "<i4"), ("ordinal", "<i4"), ("kind", "u1"), ("test", "?")])

_CODES = {name: code for code, name in enumerate(KIND_NAMES)}
_NUMBERED = np.dtype([("number", "<i4"), *((name, DTYPE[name]) for name in DTYPE.names or ())])


def describe_symbols(symbols: Iterable[SymbolRow]) -> Array:
    """Return the column rows of symbols, each with its item number."""
    return np.array([(row.number, row.file, row.ordinal, _CODES[row.kind], row.test) for row in symbols], _NUMBERED)


class Columns:
    """The columns of an index."""

    def __init__(self, rows: Array) -> None:
        self._rows = rows

    @classmethod
    def open(cls, maps: MappedFiles) -> Columns:
        return cls(array_of(maps, NAME, DTYPE))

    @classmethod
    def of(cls, parts: list[Array]) -> Columns:
        """Build columns from described items."""
        return cls(np.zeros(0, DTYPE)).replaced([], parts)

    def replaced(self, gone: Iterable[int], parts: list[Array]) -> Columns:
        """Return a copy without some items and with newly described ones."""
        fresh = np.concatenate([np.zeros(0, _NUMBERED), *parts])
        rows = np.zeros(max(len(self._rows), int(fresh["number"].max(initial=0)) + 1), DTYPE)
        rows[: len(self._rows)] = self._rows
        rows[list(gone)] = np.zeros(1, DTYPE)
        for name in DTYPE.names or ():
            rows[name][fresh["number"]] = fresh[name]
        return Columns(rows)

    @classmethod
    def joined(cls, parts: Sequence[tuple[Columns, int, int]]) -> Columns:
        """Concatenate the columns of several parts, each given with its item and file offset."""
        if len(parts) == 1:
            return parts[0][0]
        rows = np.concatenate([columns._rows for columns, _, _ in parts])
        for columns, first, first_file in parts:
            rows["file"][first : first + len(columns)] += first_file
        return cls(rows)

    def write(self, folder: Path) -> str:
        """Save for `open`; return the digest."""
        np.save(folder / NAME, self._rows)
        return self.digest

    @property
    def digest(self) -> str:
        return f"{len(self._rows)} {zlib.crc32(self._rows.view('u1').data):08x}"

    def are_of(self, numbers: Array, files: Array, tests: Array) -> bool:
        """Return whether exactly these items have a kind, and the files and test flags are theirs; any ordinals will do."""
        if np.any(numbers >= len(self)):
            return False
        expected = np.zeros(len(self), DTYPE)
        expected["file"][numbers], expected["test"][numbers], expected["kind"][numbers] = files, tests, 1
        kinds = self._rows["kind"]
        return (
            np.array_equal(kinds > 0, expected["kind"] > 0)
            and bool(np.all(kinds < len(KIND_NAMES)))
            and np.array_equal(self._rows["file"], expected["file"])
            and np.array_equal(self._rows["test"], expected["test"])
        )

    def __len__(self) -> int:
        """Highest item number ever used, plus one."""
        return len(self._rows)

    @cached_property
    def file(self) -> Array:
        """File number of each item; 0 for unused numbers."""
        return np.ascontiguousarray(self._rows["file"])

    @cached_property
    def ordinal(self) -> Array:
        """Position of each item in its file; -1 for the file itself."""
        return np.ascontiguousarray(self._rows["ordinal"])

    @cached_property
    def kind(self) -> Array:
        """Index into KIND_NAMES of each item's kind."""
        return np.ascontiguousarray(self._rows["kind"])

    @cached_property
    def test(self) -> Array:
        """Test flag of each item."""
        return np.ascontiguousarray(self._rows["test"])
