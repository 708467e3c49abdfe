"""What an embedder is: texts in, rows of unit length out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError, install
from assay.store.arrays import DAMAGE
from assay.store.layout import content_hash
from assay.store.vectors import VectorStore

Role = Literal["passage", "query"]
Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Makes vectors of texts. Two embedders of the same name make the same vectors of the same texts."""

    @property
    def name(self) -> str:
        """Goes into the keys of caches, so it changes with anything that changes a vector."""

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """A row for each text, of length one; of a text that says nothing to this embedder, zeros."""


def unit(rows: Vectors) -> Vectors:
    """Rows of length one; those of length zero stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


# Embedders by spec, as they stand in configuration: lsa, wordllama, folder:PATH, openai:URL[#MODEL].

__all__ = ["DEFAULT", "WAYS", "Embedder", "Role", "Vectors", "embedder"]

DEFAULT = "lsa"
WAYS = (
    "Three ways to get an embedder: lsa (built in, trained on your own texts, nothing to install); "
    f"wordllama ({install('dense')}) or a local model, folder:PATH ({install('onnx')}); "
    "a server, openai:URL#MODEL (any OpenAI-compatible /v1/embeddings)"
)


class Known(NamedTuple):
    """What stored vectors say of the embedder that made them."""

    name: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an embedder is made from: the part of the spec after the colon, and what stands around it."""

    argument: str
    corpus: Sequence[str]
    store: VectorStore | None
    root: Path
    key_variable: str
    known: Known | None
    before: str | None


def embedder(
    spec: str = DEFAULT,
    corpus: Sequence[str] = (),
    store: VectorStore | None = None,
    root: Path | None = None,
    key_variable: str = "",
    known: Known | None = None,
    before: str | None = None,
) -> Embedder:
    """The embedder that a spec names. `corpus` is what `lsa` is trained on, `store` keeps what it learned; paths start at `root`;
    `key_variable` names the environment variable that holds a server's key. With what is `known` of it, it is made without reading the corpus.
    Of the tables trained before, where a name is given only the one of `before` is used on: figures of a chunker must not depend on another's.
    """
    kind, _, argument = spec.strip().partition(":")
    make = _KINDS.get(kind)
    if make is None:
        raise AssayError(f"unknown embedder '{spec}'. {WAYS}")
    return make(Wanted(argument, corpus, store, root or Path.cwd(), key_variable, known, before))


def _lsa(wanted: Wanted) -> Embedder:
    """The table trained before, while it fits the corpus; else a new one, which replaces it."""
    from assay.search.embed import lsa

    _nothing_after("lsa", wanted)
    store = wanted.store if wanted.store is not None else VectorStore(None)
    older = []
    for state in store.states(wanted.known.name if wanted.known else "lsa:"):
        try:
            trained = lsa.restored(state)
        except DAMAGE:
            continue
        if wanted.known or (wanted.before in (None, trained.name) and trained.fits(wanted.corpus)):
            return trained
        older.append(trained.name)
    trained = lsa.train(wanted.corpus)
    store.keep_state(trained.name, trained.stored())
    store.sweep(older[KEPT_TABLES - 1 :])
    return trained


KEPT_TABLES = 8  # of lsa: a sweep over chunk sizes has one for each


def _wordllama(wanted: Wanted) -> Embedder:
    from assay.search.embed.folder import WordLlama

    _nothing_after("wordllama", wanted)
    return WordLlama.installed()


def _folder(wanted: Wanted) -> Embedder:
    from assay.search.embed.folder import FolderEmbedder

    return FolderEmbedder(wanted.root / Path(wanted.argument).expanduser())


def _openai(wanted: Wanted) -> Embedder:
    from assay.search.embed.server import ServerEmbedder

    return ServerEmbedder(wanted.argument, wanted.key_variable, wanted.known.dimensions if wanted.known else None)


def _nothing_after(kind: str, wanted: Wanted) -> None:
    if wanted.argument:
        raise AssayError(f"embedder '{kind}:{wanted.argument}': nothing may follow '{kind}'")


_KINDS: dict[str, Callable[[Wanted], Embedder]] = {
    "lsa": _lsa,
    "wordllama": _wordllama,
    "folder": _folder,
    "openai": _openai,
}


# Embedding a corpus: only what was never embedded before, each portion kept as soon as it is made.

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
