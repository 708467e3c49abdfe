"""Text → terms: the stems of its words, the same for code, comments and questions."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from assay.text.identifiers import words

_PIECE = re.compile(r"\w+")


def terms(text: str) -> list[str]:
    """`parsedHeaders of an HTTPRequest` → pars, header, of, an, http, request. Stop words stay: what to leave out is the caller's matter."""
    return [term for piece in _PIECE.findall(text) for term in _terms_of(piece)]


@lru_cache(maxsize=1 << 14)  # the identifiers met most; every worker has its own
def _terms_of(identifier: str) -> tuple[str, ...]:
    return tuple(map(stem, words(identifier)))


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A lower-case word without its English endings."""
    return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> Any:
    # the class itself: the package's own choice may be a C library of another version; imported when first needed, as it takes 20 ms
    from snowballstemmer.english_stemmer import EnglishStemmer  # type: ignore[import-untyped]

    return EnglishStemmer()
