"""Text → terms: the stems of its words, the same for code, comments and questions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from assay.text.identifiers import words
from assay.text.stems import stem

END = "\0"  # a piece by itself and of no terms: it may stand between texts that are cut to pieces together
_PIECE = re.compile(rf"[\w{END}]+")
_SPACED = "".join(letter if letter.isalnum() or letter in f"_{END}" else " " for letter in map(chr, range(128)))
_MOST = 1 << 16  # identifiers remembered; every worker has its own


def terms(text: str) -> list[str]:
    """`parsedHeaders of an HTTPRequest` → pars, header, of, an, http, request. Stop words stay: what to leave out is the caller's matter."""
    return list(chain.from_iterable(terms_of(pieces(text))))


def pieces(text: str) -> list[str]:
    """The identifiers and numbers of a text."""
    return text.translate(_SPACED).split() if text.isascii() else _PIECE.findall(text)


def terms_of(identifiers: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The terms of each identifier."""
    if len(_known) > _MOST:
        _known.clear()
    return map(_known.__getitem__, identifiers)


class _Known(dict[str, tuple[str, ...]]):
    """The terms of the identifiers met; a dictionary, because it answers three times as fast as a cached function."""

    def __missing__(self, identifier: str) -> tuple[str, ...]:
        found = self[identifier] = tuple(map(stem, words(identifier)))
        return found


_known = _Known()
