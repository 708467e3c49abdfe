"""`trec:FILE`: what a system answered some other time, in a TREC run file (`qid Q0 docid rank score tag`)."""

from __future__ import annotations

import gzip
import hashlib
import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.core.hits import Response
from assay.errors import AssayError
from assay.evaluate.systems.protocol import Base
from assay.evaluate.systems.shape import named

_COLUMNS = "qid Q0 docid rank score tag"
_GZIP = b"\x1f\x8b"


def open(root: Path, corpus: Path | None, argument: str, timeout: float) -> RunFile:
    """A run file, read and checked whole."""
    return RunFile(argument)


class RunFile(Base):
    """The answers of a run file, by query id: higher scores first, equal ones in the order of the file."""

    def __init__(self, path: str) -> None:
        super().__init__(f"trec:{path}")
        content = _content(path)
        self._digest = hashlib.sha256(content).hexdigest()
        self._tag = ""
        self._answers: dict[str, list[tuple[str, float]]] = {}
        for query, document, score, tag in _rows(content, path):
            self._answers.setdefault(query, []).append((document, score))
            self._tag = self._tag or tag
        if not self._answers:
            raise AssayError(f"{path}: no results in it; a run file has lines of '{_COLUMNS}'")
        for answers in self._answers.values():
            answers.sort(key=lambda answer: -answer[1])

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"tag": self._tag, "sha256": self._digest}

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        return Response(tuple(named(document, score) for document, score in self._answers.get(query_id, ())[:k]))


def _content(path: str) -> bytes:
    """The bytes of a file, unpacked where they are packed."""
    try:
        content = Path(path).read_bytes()
        return gzip.decompress(content) if content.startswith(_GZIP) else content
    except FileNotFoundError:
        raise AssayError(f"{path}: no such run file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise AssayError(f"{path}: cannot be read: {error}") from None


def _rows(content: bytes, path: str) -> Iterator[tuple[str, str, float, str]]:
    """Query, document, score and tag of each line; an error says which line and what is wrong with it."""
    for number, line in enumerate(content.splitlines(), 1):
        columns = _decoded(line, path, number).split()
        if not columns:
            continue
        if len(columns) != 6:
            raise AssayError(f"{path}:{number}: {len(columns)} columns instead of 6 ({_COLUMNS})")
        query, _, document, rank, score, tag = columns
        if not rank.removeprefix("-").isdecimal():
            raise AssayError(f"{path}:{number}: the rank '{rank}' is not a whole number")
        yield query, document, _score(score, path, number), tag


def _decoded(line: bytes, path: str, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise AssayError(f"{path}:{number}: not UTF-8 text") from None


def _score(text: str, path: str, number: int) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise AssayError(f"{path}:{number}: the score '{text}' is not a finite number")
    return score
