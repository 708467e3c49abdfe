"""`trec:FILE`: recorded results in a TREC run file (`qid Q0 docid rank score tag`)."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from assay.core.golden import Response
from assay.errors import AssayError
from assay.evaluate.systems.protocol import System
from assay.evaluate.systems.shape import hit_from_id
from assay.system.inputs import read_lines

_COLUMNS = "qid Q0 docid rank score tag"


def open(root: Path, corpus: Path | None, argument: str, timeout: float) -> RunFile:
    """Read and validate a run file."""
    return RunFile(argument)


class RunFile(System):
    """Results of a run file by query id, by descending score; ties in file order."""

    def __init__(self, path: str) -> None:
        super().__init__(f"trec:{path}")
        digest = hashlib.sha256()
        self._tag = ""
        self._answers: dict[str, tuple[list[str], array[float]]] = {}
        for query, document, score, tag in _rows(path, digest.update):
            documents, scores = self._answers.setdefault(query, ([], array("d")))
            documents.append(document)
            scores.append(score)
            self._tag = self._tag or tag
        self._digest = digest.hexdigest()
        if not self._answers:
            raise AssayError(f"{path}: no results; a run file has lines of '{_COLUMNS}'")

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"tag": self._tag, "sha256": self._digest}

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        documents, scores = self._answers.get(query_id, ([], array("d")))
        best = sorted(range(len(documents)), key=lambda position: -scores[position])[:k]
        return Response(tuple(hit_from_id(documents[position], scores[position]) for position in best))


def _rows(path: str, seen: Callable[[bytes], object]) -> Iterator[tuple[str, str, float, str]]:
    """Yield query, document, score and tag of each line. Raises AssayError with the line number."""
    for number, line in _lines(path, seen):
        columns = line.split()
        if not columns:
            continue
        if len(columns) != 6:
            raise AssayError(f"{path}:{number}: {len(columns)} columns instead of 6 ({_COLUMNS})")
        query, _, document, rank, score, tag = columns
        if not rank.removeprefix("-").isdecimal():
            raise AssayError(f"{path}:{number}: the rank '{rank}' is not a whole number")
        yield query, document, _score(score, path, number), tag


def _lines(path: str, seen: Callable[[bytes], object]) -> Iterator[tuple[int, str]]:
    try:
        yield from read_lines(path, seen=seen)
    except FileNotFoundError:
        raise AssayError(f"{path}: no such run file") from None


def _score(text: str, path: str, number: int) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise AssayError(f"{path}:{number}: the score '{text}' is not a finite number")
    return score
