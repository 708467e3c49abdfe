"""Terms: what texts and tasks are matched by. Identifiers are split, lower-cased and stemmed."""

from __future__ import annotations

import re
from functools import lru_cache

from snowballstemmer import stemmer  # type: ignore[import-untyped]

from assay.text.identifiers import words

_STEMMER = stemmer("english")
_WORD = re.compile(r"\w+")


def terms(text: str) -> list[str]:
    """`parseHTTPHeaders of requests` → pars, http, header, of, request."""
    return [_stem(word) for piece in _WORD.findall(text) for word in words(piece)]


@lru_cache(maxsize=1 << 18)
def _stem(word: str) -> str:
    return str(_STEMMER.stemWord(word))
