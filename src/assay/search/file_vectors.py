"""Vectors of source files by what they are about: words of the path, names defined, openings of comments.

One file in `.assay/`, made on the first search. Only files whose content changed are embedded again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from assay.languages.conventions import described_path
from assay.rank.arrays import Floats
from assay.search.embed.embedders import Embedder, Vectors
from assay.store import arrays
from assay.store.arrays import Array
from assay.store.catalogue import FileRow
from assay.store.generation import Generation, UnusableIndex
from assay.store.index import Index
from assay.store.layout import Home
from assay.text.terms import words

FORMAT = 1  # of the stored file
NAME = "file-vectors.npz"
_DEFINITIONS = 60  # names of a file that count
_COMMENTS = 30  # comments of definitions that count
_OPENING = 200  # characters of a comment
_LONGEST = 3000  # characters of a description
_BATCH = 500  # files read at a time
_STORED = np.float16
_RELATIONS = arrays.Relations(rows=(("path", "hashes", "vectors"),))
_HASH = 16  # bytes of a content hash that are kept


class FileVectors:
    """Vectors of all files of an index, by file number."""

    def __init__(self, embedder: Embedder, vectors: Vectors) -> None:
        self._embedder, self._vectors = embedder, vectors

    def cosines(self, query: str) -> Floats:
        """Return the cosine of every file with a query; 0 for unused file numbers."""
        vector = self._embedder.embed([query], "query")[0]
        return np.asarray(self._vectors @ vector, np.float64)


def is_stored(home: Home) -> bool:
    """Return whether there are stored vectors, so that at most those of changed files are missing."""
    return (home.folder / NAME).is_file()


def prepare(index: Index, homes: Mapping[str, Home], embedder: Embedder) -> FileVectors:
    """Return the vectors of the files of an index, updating what is stored for each of its repositories."""
    size = int(np.max(index.columns.file, initial=0)) + 1  # numbers of removed files stay in use
    vectors = np.zeros((size, embedder.dimensions), np.float32)
    for part in index.parts:
        files = part.generation.files
        numbers = [row.number + part.first_file for row in files.values()]
        vectors[numbers] = _stored_or_made(part.generation, homes[part.label], files, embedder)
    return FileVectors(embedder, vectors)


def _stored_or_made(generation: Generation, home: Home, files: Mapping[str, FileRow], embedder: Embedder) -> Vectors:
    """Return a row for each file, in order; stored rows of unchanged files are kept."""
    path = home.folder / NAME
    key = f"{embedder.name} roles {_DEFINITIONS} {_COMMENTS} {_OPENING} {_LONGEST}"
    stored = _read(path, key, embedder.dimensions)
    rows = np.zeros((len(files), embedder.dimensions), np.float32)
    missing = []
    for place, row in enumerate(files.values()):
        found = stored.get((row.path, row.hash[:_HASH]))
        if found is None:
            missing.append(place)
        else:
            rows[place] = found
    if missing or len(stored) != len(files):
        chosen = list(files.values())
        made = embedder.embed(list(_descriptions(generation, [chosen[place] for place in missing])))
        rows[missing] = made.astype(_STORED)  # so that a stored row and a new one are the same
        with home.deriving():
            arrays.write(path, _arrays(key, chosen, rows))
    return rows


def _arrays(key: str, files: Sequence[FileRow], rows: Vectors) -> dict[str, Array]:
    hashes = b"".join(row.hash[:_HASH].ljust(_HASH, b"\0") for row in files)
    return {
        "key": arrays.key(FORMAT, key),
        "hashes": np.frombuffer(hashes, "u1").reshape(-1, _HASH),
        "vectors": rows.astype(_STORED),
        **arrays.strings("path", (row.path for row in files)),
    }


def _read(path: Path, key: str, dimensions: int) -> dict[tuple[str, bytes], Array]:
    """Return the stored vectors by path and content; empty if there are none for this key."""
    try:
        like = _arrays("", [], np.zeros((0, dimensions), np.float32))
        stored = arrays.read(path, FORMAT, "the vectors of files", like, _RELATIONS)
    except (OSError, UnusableIndex):
        return {}
    paths = arrays.strings_of(stored, "path")
    if arrays.key_of(stored, FORMAT) != key:
        return {}
    return {(paths[place], bytes(stored["hashes"][place])): stored["vectors"][place] for place in range(len(paths))}


def _descriptions(generation: Generation, files: Sequence[FileRow]) -> Iterable[str]:
    """Yield the description of each file: its path twice, names, module comment, openings of other comments."""
    for start in range(0, len(files), _BATCH):
        batch = files[start : start + _BATCH]
        marks = ", ".join("?" * len(batch))
        rows = generation.catalogue.connection.execute(
            "SELECT s.file, s.ordinal, s.name, substr(coalesce(t.doc, ''), 1, ?) FROM symbols s "
            f"LEFT JOIN texts t ON t.number = s.number WHERE s.file IN ({marks}) ORDER BY s.file, s.ordinal",
            (_LONGEST, *(row.number for row in batch)),
        )
        symbols: dict[int, list[tuple[int, str, str]]] = {row.number: [] for row in batch}
        for file, ordinal, name, doc in rows:
            symbols[file].append((ordinal, name, doc))
        yield from (_description(row.path, symbols[row.number]) for row in batch)


def _description(path: str, symbols: Sequence[tuple[int, str, str]]) -> str:
    own = next((doc for ordinal, _, doc in symbols if ordinal < 0), "")
    definitions = [(name, doc) for ordinal, name, doc in symbols if ordinal >= 0]
    names = " ".join(" ".join(words(name)) for name, _ in definitions[:_DEFINITIONS])
    openings = " ".join(doc.partition(". ")[0][:_OPENING] for _, doc in definitions[:_COMMENTS])
    location, purpose = (" ".join(words(text)) for text in (path, described_path(path)))
    return f"{location} {purpose} {names} {own} {openings}"[:_LONGEST]
