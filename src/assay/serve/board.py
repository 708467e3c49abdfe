"""Numbers that the processes of a server share: one row per process, in memory that all of them map.

A row is written by one process only, so nothing needs a lock; readers add the rows up. Counters of an ended process
stay in its row and its successor continues them.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Sequence
from typing import IO

CONNECTIONS, REQUESTS, ALIVE, RESTARTS = range(4)  # columns: open connections, running or queued requests, 1, a count
FIRST_FREE = 4  # column from which on others may count
_GAUGES = (CONNECTIONS, REQUESTS, ALIVE)
_CELL = 8  # bytes of a double, which counts exactly up to 2**53


class Board:
    """A table of numbers in shared memory; this process writes to `row`."""

    def __init__(self, rows: int = 1, columns: int = FIRST_FREE, row: int = 0, descriptor: int = -1) -> None:
        """Map the file of a descriptor, which has the size of the table; -1: memory of this process alone."""
        self._width = columns
        self._cells = memoryview(mmap.mmap(descriptor, rows * columns * _CELL)).cast("d")
        self.row = self._cells[row * columns : (row + 1) * columns]

    def total(self, column: int) -> float:
        """Return the sum of a column over all processes."""
        return sum(self._cells[column :: self._width])

    def totals(self) -> Sequence[float]:
        """Return the sums of all columns."""
        rows = [self._cells[start : start + self._width].tolist() for start in range(0, len(self._cells), self._width)]
        return [sum(column) for column in zip(*rows, strict=True)]

    def clear(self, row: int) -> None:
        """Forget what an ended process had open; its counters stay."""
        for column in _GAUGES:
            self._cells[row * self._width + column] = 0.0


def board_file(rows: int, columns: int) -> IO[bytes]:
    """Return a nameless file for a table, all zero, whose descriptor other processes inherit."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 (the caller closes it)
    file.truncate(rows * columns * _CELL)
    return file
