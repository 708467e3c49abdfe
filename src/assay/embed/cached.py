"""Embedding a corpus: only what was never embedded before, each portion kept as soon as it is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from assay.embed.vectors import Embedder, Role, Vectors
from assay.store.files import content_hash
from assay.store.vectors import VectorStore

PORTION = 256  # texts embedded before they are kept: what a kill can cost

Progress = Callable[[int, int], None]  # how many of how many texts that had to be embedded


def embed_all(
    embedder: Embedder,
    texts: Sequence[str],
    store: VectorStore | None = None,
    role: Role = "passage",
    progress: Progress = lambda done, total: None,
) -> Vectors:
    """A row for each text, in order. When the embedder fails midway, what it made before stays kept."""
    store = store if store is not None else VectorStore(None)
    hashes = [text_hash(text, role) for text in texts]
    first_of = {one: place for place, one in reversed(list(enumerate(hashes)))}  # the same text is embedded once
    known = store.vectors(embedder.name, list(first_of), embedder.dimensions)
    missing = [one for one in dict.fromkeys(hashes) if one not in known]
    for first in range(0, len(missing), PORTION):
        portion = missing[first : first + PORTION]
        rows = embedder.embed([texts[first_of[one]] for one in portion], role)
        made = dict(zip(portion, rows, strict=True))
        store.keep(embedder.name, made)
        known |= made
        progress(first + len(portion), len(missing))
    return np.array([known[one] for one in hashes], np.float32).reshape(len(texts), embedder.dimensions)


def text_hash(text: str, role: Role) -> bytes:
    """What a vector is of: some embedders make another one of a question than of a passage."""
    return content_hash(f"{role}\0{text}".encode("utf-8", "surrogatepass"))
