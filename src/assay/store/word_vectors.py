"""Word vectors that ship with assay: a small table of general English and technical words, and vectors of texts by it.

It knows that `severity` is near to `seriousness`, which a table trained on one repository cannot know. The vector of a text is
the sum of its words' vectors. scripts/train_word_vectors.py distils the table from a sentence encoder; NOTICE has its licence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.store.arrays import DAMAGE, members
from assay.text.terms import pieces, stem, words

TABLE = Path(__file__).with_name("words.npz")

Vectors = NDArray[np.float32]

_MAX_CACHED = 1 << 16  # identifiers
_DIGITS = "0123456789"
_TYPES = {"text": ("|u1", 1), "rows": ("<u2", 1), "codes": ("|u1", 2), "scales": ("<f2", 1), "levels": ("<f4", 1)}


def tokens(piece: str) -> list[str]:
    """Split an identifier into words; a number stays with the word before it: `sha256Sum` → sha256, sum."""
    parts: list[str] = []
    for word in words(piece):
        if parts and word.isdigit() and not parts[-1].isdigit():
            parts[-1] += word
        else:
            parts.append(word)
    return parts


@dataclass(frozen=True)
class WordTable:
    """Word vectors of four bits a dimension: each code is looked up in `levels` and multiplied by the row's scale."""

    row_of: Mapping[str, int]  # words, and stems of words; several may share a row
    codes: NDArray[np.uint8]  # two codes a byte, the first in the low bits
    scales: NDArray[np.float16]
    levels: NDArray[np.float32]
    digest: str

    @property
    def dimensions(self) -> int:
        return 2 * int(self.codes.shape[1])

    def find(self, piece: str) -> tuple[int, ...]:
        """Return the rows of an identifier's words; an unknown word counts as its stem, or without its number, or not."""
        whole = self.row_of.get(piece.lower())  # `GitHub` is one word
        if whole is not None:
            return (whole,)
        rows = []
        for word in tokens(piece):
            row = self.row_of.get(word)
            if row is None:
                row = self.row_of.get(stem(word), self.row_of.get(word.rstrip(_DIGITS)))
            if row is not None:
                rows.append(row)
        return tuple(rows)

    def vectors(self, rows: NDArray[np.integer[Any]] | slice) -> Vectors:
        """Decode the vectors of some rows."""
        decoded: Vectors = self._values.take(self.codes[rows]).view(np.float32)
        decoded *= self.scales[rows].astype(np.float32)[:, None]
        return decoded

    @cached_property
    def _values(self) -> NDArray[np.uint64]:
        """Both values of each byte as one number of 8 bytes: taking them so is seven times as fast."""
        pairs = np.stack([np.tile(self.levels, 16), np.repeat(self.levels, 16)], axis=1)
        return np.ascontiguousarray(pairs.view(np.uint64)[:, 0])


def load_table(path: Path = TABLE) -> WordTable:
    """Load a table. Raises AssayError if it is missing or damaged."""
    try:
        arrays = members(path, verify=True)
        if {name: (array.dtype.str, array.ndim) for name, array in arrays.items()} != _TYPES:
            raise ValueError("not a table of words")
        keys, rows = arrays["text"].tobytes().decode("utf-8").split("\n"), arrays["rows"].tolist()
        codes, scales, levels = arrays["codes"], arrays["scales"], arrays["levels"]
        if len(codes) != len(scales) or len(levels) != 16 or max(rows, default=0) >= len(codes):
            raise ValueError("its parts do not fit together")
        row_of = dict(zip(keys, rows, strict=True))
    except DAMAGE as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise AssayError(
            f"{path}: the table of word vectors cannot be used ({reason}). Reinstall assay, or choose another embedder: "
            "--embedder lsa"
        ) from None
    return WordTable(row_of, codes, scales, levels, blake2b(path.read_bytes(), digest_size=8).hexdigest())


@cache
def shipped_table() -> WordTable:
    """Return the table that ships with assay."""
    return load_table()


class TextVectors:
    """Embedder `words`: the vector of a text is the sum of its words' vectors, scaled to length 1; 0 without known words."""

    def __init__(self, table: WordTable) -> None:
        self.table = table
        self._rows_of = _PieceRows(table)
        self.cached_rows = lru_cache(maxsize=4096)(self._row_array)  # queries of a session share most of their passages
        self._query: tuple[tuple[str, ...], Vectors] = (), np.zeros((0, 0), np.float32)

    @property
    def name(self) -> str:
        return f"words:{self.table.digest}"

    @property
    def dimensions(self) -> int:
        return self.table.dimensions

    def rows(self, text: str) -> list[int]:
        """Return the table's rows of a text's words, in order."""
        self._rows_of.trim()
        return list(chain.from_iterable(map(self._rows_of.__getitem__, pieces(text))))

    def _row_array(self, text: str) -> NDArray[np.uint16]:
        return np.array(self.rows(text), np.uint16)

    def embed(self, texts: Sequence[str], role: str = "passage") -> Vectors:
        """Return the vector of each text; that of a query, which several signals ask for, is kept."""
        if role != "query":
            return unit(self.sums(map(self.rows, texts)))
        if self._query[0] != tuple(texts):
            self._query = tuple(texts), self.embed(texts)
        return self._query[1]

    def sums(self, texts: Iterable[Sequence[int]]) -> Vectors:
        """Return the sum of the vectors of each text, given as rows of the table."""
        rows = list(texts)
        sums = np.zeros((len(rows), self.dimensions), np.float32)
        flat = np.fromiter(chain.from_iterable(rows), np.int64)
        distinct, places = self.distinct(flat)
        vectors = self.table.vectors(distinct)  # decoding is most of the work: each row once
        end = 0
        for place, of_text in enumerate(rows):
            start, end = end, end + len(of_text)
            if end > start:
                sums[place] = vectors[places[start:end]].sum(axis=0)
        return sums

    def distinct(self, rows: NDArray[np.integer[Any]]) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
        """Return the distinct rows, ascending, and the place of each among them: `np.unique` without sorting."""
        places = np.zeros(len(self.table.codes), np.int64)
        places[rows] = 1
        distinct = np.flatnonzero(places)
        places[distinct] = np.arange(len(distinct))
        return distinct, places[rows]

    def words(self, rows: Iterable[int]) -> Vectors:
        """Return the unit vectors of single words."""
        return unit(self.table.vectors(np.fromiter(rows, np.int64)))

    def first_words(self, texts: Sequence[str]) -> Vectors:
        """Return the unit vector of the first word of each text; zeros for a text without known words."""
        rows = [self._rows_of[text][:1] for text in texts]
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        vectors[[place for place, row in enumerate(rows) if row]] = self.words(chain.from_iterable(rows))
        return vectors


@cache
def shipped_vectors() -> TextVectors:
    """Return the embedder by the table that ships with assay."""
    return TextVectors(shipped_table())


def unit(rows: Vectors) -> Vectors:
    """Scale rows to length 1; rows of zeros stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


class _PieceRows(dict[str, tuple[int, ...]]):
    """Cache of the rows of identifiers."""

    def __init__(self, table: WordTable) -> None:
        self._table = table

    def __missing__(self, piece: str) -> tuple[int, ...]:
        rows = self[piece] = self._table.find(piece)
        return rows

    def trim(self) -> None:
        if len(self) > _MAX_CACHED:
            self.clear()
