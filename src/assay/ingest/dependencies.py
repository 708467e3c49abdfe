"""Who asked what: for every resolved file and every remembered answer, the questions it took.

Kept as hashes in two arrays per generation. When answers change, `askers` follows the questions to everything that depends on them, through
remembered answers, to the files that must be resolved again. A hash collision only means that a file too many is resolved.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.store.arrays import members

NAME = "dependencies.npz"

Hashes = npt.NDArray[Any]


@lru_cache(maxsize=1 << 16)  # the questions asked most; every worker has its own
def _hash(key: str) -> int:
    return zlib.crc32(key.encode("utf-8", "surrogatepass"))


def file_token(path: str) -> str:
    return f"resolve:{path}"


class Dependencies:
    """Pairs (asker, question), both hashed."""

    def __init__(self, askers: Hashes, questions: Hashes) -> None:
        self._askers, self._questions = askers, questions

    @classmethod
    def of(cls, asked: Mapping[str, Iterable[str]]) -> Dependencies:
        askers: list[int] = []
        counts: list[int] = []
        questions: list[int] = []
        for token, keys in asked.items():
            before = len(questions)
            questions += map(_hash, keys)
            askers.append(_hash(token))
            counts.append(len(questions) - before)
        return cls(np.repeat(np.array(askers, "<u4"), np.array(counts, "i8")), np.array(questions, "<u4"))

    @classmethod
    def joined(cls, parts: list[Dependencies]) -> Dependencies:
        """Several as one; an answer worked out in several processes is kept once."""
        pairs = [p._askers.astype("<u8") << np.uint64(32) | p._questions for p in parts]
        both = np.unique(np.concatenate(pairs)) if pairs else np.array([], "<u8")
        return cls((both >> np.uint64(32)).astype("<u4"), both.astype("<u4"))

    @classmethod
    def load(cls, folder: Path) -> Dependencies:
        """Those of a generation; raises nearly anything when they are damaged."""
        data = members(folder / NAME, verify=True)
        askers, questions = data["askers"], data["questions"]
        if (
            not askers.dtype == questions.dtype == "<u4"
            or not len(askers) == len(questions) == askers.size == questions.size
        ):
            raise ValueError("not the dependencies that are written")
        return cls(askers, questions)

    def save(self, folder: Path) -> None:
        np.savez(folder / NAME, askers=self._askers, questions=self._questions)

    def replaced(self, fresh: Dependencies, gone: Iterable[str]) -> Dependencies:
        """These dependencies with those of freshly resolved askers in their place, and without what is gone."""
        keep = ~_among(self._askers, set(fresh._askers.tolist()) | {_hash(token) for token in gone})
        return Dependencies(
            np.concatenate([self._askers[keep], fresh._askers]),
            np.concatenate([self._questions[keep], fresh._questions]),
        )

    def affected(self, keys: Iterable[str], paths: Iterable[str]) -> set[str]:
        """Those of `paths` whose resolution depends on the answer to any of these questions."""
        reached = {_hash(key) for key in keys}
        changed = reached
        while changed:
            askers = self._askers[_among(self._questions, changed)]
            changed = set(askers.tolist()) - reached
            reached |= changed
        return {path for path in paths if _hash(file_token(path)) in reached}


def _among(values: Hashes, wanted: set[int]) -> Hashes:
    """Which of the values are wanted ones. Faster than numpy's own for a few among many."""
    if not wanted:
        return np.zeros(len(values), bool)
    ordered = np.array(sorted(wanted), "<u4")
    places = np.searchsorted(ordered, values)
    found: Hashes = ordered[np.minimum(places, len(ordered) - 1)] == values
    return found
