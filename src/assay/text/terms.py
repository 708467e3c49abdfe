"""Text as the terms that search compares: the words of its identifiers, in lower case, stemmed."""

from __future__ import annotations

import re
from functools import lru_cache

import snowballstemmer  # type: ignore[import-untyped]

from assay.text.identifiers import words

_IDENTIFIER = re.compile(r"\w+")
_stemmer = snowballstemmer.stemmer("english")


def terms(text: str) -> list[str]:
    """`Parsing HTTPHeaders` → pars, http, header."""
    return [_stem(word) for identifier in _IDENTIFIER.findall(text) for word in words(identifier)]


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return str(_stemmer.stemWord(word))
