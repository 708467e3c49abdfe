"""Text → terms: the stems of its words, the same for code, comments and questions."""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import cache, lru_cache
from itertools import chain
from types import ModuleType
from typing import Any

from assay.text.identifiers import words

_PIECE = re.compile(r"\w+")
_MOST = 1 << 16  # identifiers remembered; every worker has its own
_CHANGING = frozenset("cdegilmnrsty")  # every English ending that a stem is without ends so


def terms(text: str) -> list[str]:
    """`parsedHeaders of an HTTPRequest` → pars, header, of, an, http, request. Stop words stay: what to leave out is the caller's matter."""
    if len(_known) > _MOST:
        _known.clear()
    return list(chain.from_iterable(map(_known.__getitem__, _PIECE.findall(text))))


class _Known(dict[str, tuple[str, ...]]):
    """The terms of the identifiers met; a dictionary, because it answers three times as fast as a cached function."""

    def __missing__(self, identifier: str) -> tuple[str, ...]:
        found = self[identifier] = tuple(map(stem, words(identifier)))
        return found


_known = _Known()


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A lower-case word without its English endings."""
    return str(_stemmer().stemWord(word)) if len(word) > 2 and word[-1] in _CHANGING else word


@cache
def _stemmer() -> Any:
    # English alone, under a name of our own: the package imports thirty languages, which takes 20 ms, or a C library of another version
    found = importlib.util.find_spec("snowballstemmer")
    package = ModuleType("assay_snowball")
    package.__path__ = list((found and found.submodule_search_locations) or ())
    sys.modules[package.__name__] = package
    return importlib.import_module("assay_snowball.english_stemmer").EnglishStemmer()
