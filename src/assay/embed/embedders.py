"""Embedders by spec, as they stand in configuration: lsa, wordllama, folder:PATH, openai:URL[#MODEL]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from assay.embed.vectors import Embedder, Role, Vectors
from assay.errors import AssayError
from assay.extras import install
from assay.store.arrays import DAMAGE
from assay.store.vectors import VectorStore

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
    from assay.embed import lsa

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
    from assay.embed.wordllama import WordLlama

    _nothing_after("wordllama", wanted)
    return WordLlama.installed()


def _folder(wanted: Wanted) -> Embedder:
    from assay.embed.folder import FolderEmbedder

    return FolderEmbedder(wanted.root / Path(wanted.argument).expanduser())


def _openai(wanted: Wanted) -> Embedder:
    from assay.embed.openai import ServerEmbedder

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
