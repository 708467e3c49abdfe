"""Embedders: texts in, rows of unit length out. Selected by a spec: lsa, words, wordllama, folder:PATH, openai:URL[#MODEL]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import numpy as np

from assay.errors import AssayError, install
from assay.store.arrays import DAMAGE
from assay.store.layout import content_hash
from assay.store.vectors import VectorStore
from assay.store.word_vectors import Vectors

Role = Literal["passage", "query"]


class Embedder(Protocol):
    """Embeds texts. Two embedders of the same name return the same vectors for the same texts."""

    @property
    def name(self) -> str:
        """Part of cache keys, so it changes with anything that changes a vector."""

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """Return a row of unit length for each text; zeros for a text without known words."""


# Factories by spec

__all__ = ["DEFAULT", "EMBEDDER_HELP", "Embedder", "Role", "Vectors", "embedder"]

DEFAULT = "lsa"
GENERAL = "words"  # the table of word vectors that ships with assay
EMBEDDER_HELP = (
    "Three ways to get an embedder: lsa (trained on your own texts) or words (general English), both built in; "
    f"wordllama ({install('dense')}) or a local model, folder:PATH ({install('onnx')}); "
    "a server, openai:URL#MODEL (any OpenAI-compatible /v1/embeddings)"
)


class EmbedderInfo(NamedTuple):
    """Identity of the embedder that made stored vectors."""

    name: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class EmbedderRequest:
    """Arguments of an embedder factory: the part of the spec after the colon, and its context."""

    argument: str
    corpus: Sequence[str]
    store: VectorStore | None
    root: Path
    key_variable: str
    known: EmbedderInfo | None


def embedder(
    spec: str = DEFAULT,
    corpus: Sequence[str] = (),
    store: VectorStore | None = None,
    root: Path | None = None,
    key_variable: str = "",
    known: EmbedderInfo | None = None,
) -> Embedder:
    """Create the embedder that a spec names. Raises AssayError for an unknown spec.

    `lsa` is trained on `corpus` and saved in `store`; paths are relative to `root`; `key_variable` names the
    environment variable with a server's key. With `known`, the corpus is not read.
    """
    kind, _, argument = spec.strip().partition(":")
    make = _FACTORIES.get(kind)
    if make is None:
        raise AssayError(f"unknown embedder '{spec}'. {EMBEDDER_HELP}")
    return make(EmbedderRequest(argument, corpus, store, root or Path.cwd(), key_variable, known))


def _lsa(request: EmbedderRequest) -> Embedder:
    """Return the table of the corpus, stored or newly trained: an embedder of other texts never answers for these."""
    from assay.search.embed import lsa

    _require_no_argument("lsa", request)
    store = request.store if request.store is not None else VectorStore(None)
    state = store.state(request.known.name if request.known else lsa.corpus_name(request.corpus))
    if state is not None:
        try:
            return lsa.deserialize(state)
        except DAMAGE:
            pass  # trained again
    trained = lsa.train(request.corpus)
    store.keep_state(trained.name, trained.stored())
    return trained


def _words(request: EmbedderRequest) -> Embedder:
    from assay.store.word_vectors import shipped_vectors

    _require_no_argument("words", request)
    return shipped_vectors()


def _wordllama(request: EmbedderRequest) -> Embedder:
    from assay.search.embed.folder import WordLlama

    _require_no_argument("wordllama", request)
    return WordLlama.installed()


def _folder(request: EmbedderRequest) -> Embedder:
    from assay.search.embed.folder import FolderEmbedder

    return FolderEmbedder(request.root / Path(request.argument).expanduser())


def _openai(request: EmbedderRequest) -> Embedder:
    from assay.search.embed.server import ServerEmbedder

    return ServerEmbedder(request.argument, request.key_variable, request.known.dimensions if request.known else None)


def _require_no_argument(kind: str, request: EmbedderRequest) -> None:
    if request.argument:
        raise AssayError(f"embedder '{kind}:{request.argument}': '{kind}' takes no argument")


_FACTORIES: dict[str, Callable[[EmbedderRequest], Embedder]] = {
    "lsa": _lsa,
    "words": _words,
    "wordllama": _wordllama,
    "folder": _folder,
    "openai": _openai,
}


# Cached embedding of a corpus

PORTION = 256  # texts per batch: the most work that a kill can lose

Progress = Callable[[int, int], None]  # texts done, texts to embed


def embed_all(
    embedder: Embedder,
    texts: Sequence[str],
    store: VectorStore | None = None,
    role: Role = "passage",
    progress: Progress = lambda done, total: None,
) -> Vectors:
    """Return a row for each text, in order, embedding only uncached texts.

    Batches done before a failure stay cached.
    """
    store = store if store is not None else VectorStore(None)
    hashes = [text_hash(text, role) for text in texts]
    first_of = {
        text_key: place for place, text_key in reversed(list(enumerate(hashes)))
    }  # equal texts are embedded once
    cached = store.vectors(embedder.name, list(first_of), embedder.dimensions)
    missing = [text_key for text_key in dict.fromkeys(hashes) if text_key not in cached]
    for first in range(0, len(missing), PORTION):
        portion = missing[first : first + PORTION]
        rows = embedder.embed([texts[first_of[text_key]] for text_key in portion], role)
        embedded = dict(zip(portion, rows, strict=True))
        store.keep(embedder.name, embedded)
        cached |= embedded
        progress(first + len(portion), len(missing))
    return np.array([cached[text_key] for text_key in hashes], np.float32).reshape(len(texts), embedder.dimensions)


def text_hash(text: str, role: Role) -> bytes:
    """Return the cache key of a text; some embedders treat queries and passages differently."""
    return content_hash(f"{role}\0{text}".encode("utf-8", "surrogatepass"))
