"""Answers kept in memory under keys that name all they depend on: the ones not asked for the longest go first."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict

MOST_BYTES = 32_000_000  # of all answers; a single one may take an eighth

Answer = tuple[str, ...]


class Remembered:
    """A dictionary for several threads whose answers together never take more than so many bytes."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most, self._bytes = most, 0
        self._answers: OrderedDict[bytes, Answer] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, key: bytes) -> Answer | None:
        with self._guard:
            if key in self._answers:
                self._answers.move_to_end(key)
            return self._answers.get(key)

    def put(self, key: bytes, answer: Answer) -> None:
        if _size(answer) > self._most // 8:
            return
        with self._guard:
            self._bytes += _size(answer) - _size(self._answers.pop(key, ()))
            self._answers[key] = answer
            while self._bytes > self._most:
                self._bytes -= _size(self._answers.popitem(last=False)[1])


def _size(answer: Answer) -> int:
    return sum(map(sys.getsizeof, answer))
