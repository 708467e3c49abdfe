"""Collapse translations and versioned copies of a page into one result: the edition that fits the query.

`assay.text.editions` recognises editions by their paths. Of each page, only the edition in the language of the query and
of the version it names, else the current one, is searched; a hit says which others there are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from assay.search.filters import Bools
from assay.text.editions import Edition, editions

_ENGLISH = ("", "en")
_SCRIPTS = (  # the first that occurs in the query names its languages, most likely first
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\u1100-\u11ff\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
)
_COMMON = {  # words that hardly occur in English
    "de": "der die das und ist nicht wie kann ich eine für mit auf wird",
    "fr": "le les des est une pour dans comment je puis avec sur qui ne",
    "es": "el los las una para cómo puedo con qué está por del",
    "pt": "os uma para como posso com não em que são você",
    "it": "il gli una per come posso con che non della sono",
}
_MIN_COMMON = 2  # words of a language that make a query one of it
_VERSION = re.compile(r"\bv?(\d+(?:\.\w+)*)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")


def query_language(query: str) -> str:
    """Return the language of a query as a code; `en` unless its script or its common words say otherwise."""
    for code, script in _SCRIPTS:
        if script.search(query):
            return code
    words = set(_WORD.findall(query.lower()))
    counts = {code: len(words.intersection(common.split())) for code, common in _COMMON.items()}
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] >= _MIN_COMMON else "en"


class Editions:
    """The editions of the documents of a search, by document number."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._editions = editions(paths)
        pages: defaultdict[str, list[int]] = defaultdict(list)
        for number, edition in enumerate(self._editions):
            pages[edition.page].append(number)
        self._pages = {page: numbers for page, numbers in pages.items() if len(numbers) > 1}
        self._numbers = {path: number for number, path in enumerate(paths)}

    def visible(self, query: str) -> Bools:
        """Return a mask of the documents to search: one edition of each page."""
        mask = np.ones(len(self._editions), bool)
        if self._pages:
            language, versions = query_language(query), frozenset(_VERSION.findall(query))
            for numbers in self._pages.values():
                mask[numbers] = False
                mask[
                    min(numbers, key=lambda number: (_distance(self._editions[number], language, versions), number))
                ] = True
        return mask

    def also(self, path: str) -> tuple[str, ...]:
        """Return the languages and versions of the other editions of a document's page."""
        number = self._numbers.get(path)
        if number is None:
            return ()
        own = self._editions[number]
        others = [self._editions[other] for other in self._pages.get(own.page, ()) if other != number]
        names = {_name(other, own) for other in others}
        return tuple(sorted(names - {""}))


def _distance(edition: Edition, language: str, versions: frozenset[str]) -> tuple[int, int, int]:
    """Return how far an edition is from what a query asks for: version, language, age."""
    named = bool(edition.version) and any(_is_version(edition.version, version) for version in versions)
    own = edition.language.lower()
    if own.partition("-")[0] == language or (language == "en" and own in _ENGLISH):
        foreign = 0
    else:
        foreign = 1 if own in _ENGLISH else 2
    return (0 if named else 1, foreign, 0 if edition.current else 1)


def _is_version(version: str, asked: str) -> bool:
    """Return whether a version is the one asked for: `3` asks for 3.x and 3.8."""
    bare = version.lower().lstrip("v")
    return bare == asked or bare.startswith(f"{asked}.")


def _name(edition: Edition, own: Edition) -> str:
    """Return what distinguishes an edition from another: its language, else its version."""
    if edition.language != own.language:
        return edition.language or "en"
    return edition.version or ("current" if edition.current else "")
