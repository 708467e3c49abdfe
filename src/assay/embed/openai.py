"""`openai:URL[#MODEL]`: any server with an OpenAI-compatible /v1/embeddings (llama.cpp, Ollama, vLLM, TEI, hosted ones)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from assay.embed.server import Server, ServerFailed, server
from assay.embed.vectors import Role, Vectors, unit

BATCH = 64  # texts in one request
BATCH_CHARACTERS = 200_000  # and no more than this, as servers limit the size of a request


class ServerEmbedder:
    """Asks a server for vectors, in batches; they are brought to length one here."""

    def __init__(self, argument: str, key_variable: str = "", dimensions: int | None = None) -> None:
        self.server: Server = server(argument, "embeddings", key_variable)
        self._expected = dimensions

    @property
    def name(self) -> str:
        return f"openai:{self.server.name}"

    @cached_property
    def dimensions(self) -> int:
        """As it was told, or known from a first vector."""
        return self._expected or len(self._asked(["dimensions"], None)[0])

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        rows = [self._asked(batch, self.dimensions) for batch in _batches(texts)]
        return unit(np.concatenate(rows)) if rows else np.zeros((0, self.dimensions), np.float32)

    def _asked(self, texts: Sequence[str], dimensions: int | None) -> Vectors:
        # many servers refuse an empty text
        answer = self.server.ask({"input": [text if text.strip() else "-" for text in texts]})
        try:
            return _vectors(answer, len(texts), dimensions)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            reason = str(error) if isinstance(error, _Unfit) else "it has not the shape of /v1/embeddings"
            raise ServerFailed(f"{self.server.name}: the answer cannot be used: {reason}") from None


class _Unfit(ValueError):
    """An answer of the right shape with the wrong content."""


def _vectors(answer: Any, count: int, dimensions: int | None) -> Vectors:
    """The vectors of an answer in the order of their indexes, checked."""
    rows = answer["data"]
    if len(rows) != count:
        raise _Unfit(f"{len(rows)} vectors for {count} texts")
    places = [row.get("index", place) for place, row in enumerate(rows)]
    if sorted(places) != list(range(count)):
        raise _Unfit("its indexes are not those of the texts")
    lengths = {len(row["embedding"]) for row in rows}
    if len(lengths) != 1 or 0 in lengths:
        raise _Unfit("its vectors have different lengths")
    if dimensions is not None and lengths != {dimensions}:
        raise _Unfit(
            f"its vectors have {lengths.pop()} dimensions, those before had {dimensions}: another model answers there now"
        )
    found = np.empty((count, lengths.pop()), np.float32)
    for place, row in zip(places, rows, strict=True):
        found[place] = row["embedding"]
    if not np.isfinite(found).all():
        raise _Unfit("its vectors have numbers that are not finite")
    return found


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in order, in requests that stay within both limits."""
    first = size = 0
    for place, text in enumerate(texts):
        if place > first and (place - first == BATCH or size + len(text) > BATCH_CHARACTERS):
            yield texts[first:place]
            first, size = place, 0
        size += len(text)
    if first < len(texts):
        yield texts[first:]
