"""The words of a section and the names of code it mentions, in one pass over its text.

Whether a name is one of a definition here is asked when the index is searched, so editing code never changes what a section mentions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from assay.text.terms import terms

# a word, a qualified name or a path, with what tells that it is code: a backtick or a role's tilde or directive before, a call or a backtick after
_PIECE = re.compile(r"(?:[`~]|:: )?\w+(?:(?:\.|::|#|->|/)\w+)*(?:\(|`)?")
_MARKS = "`~(: "
_SEPARATOR = re.compile(r"\.|::|#|->")
_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#|->)[^\W\d]\w*)*")
_PATH = re.compile(r"(?:[\w.]+/)+\w+\.\w+")
_QUALIFIERS = 2  # names before the last that are kept: more never tell apart
_SHORTEST, _SHORTEST_QUALIFIED = 3, 2  # letters of a name: shorter ones are variables; endings of files may be shorter
_MOST = 1 << 16  # pieces remembered; every worker has its own
_HEADING = 2  # times that a word of the headings counts more


class Piece(NamedTuple):
    """The terms of a piece of text, and the name it mentions, if any."""

    terms: tuple[str, ...]
    name: str


_TERMS = attrgetter("terms")


def read(text: str, headings: Iterable[str]) -> tuple[dict[str, int], list[str]]:
    """How often a section has each term, those of its headings counted more often, and the names it mentions, in order."""
    if len(_known) > _MOST:
        _known.clear()
    pieces = _PIECE.findall(text)
    counts = Counter(chain.from_iterable(map(_TERMS, map(_known.__getitem__, pieces))))
    names = {_known[piece].name for piece in set(pieces)}
    for heading in headings:
        for term in terms(heading):
            counts[term] += _HEADING
    return dict(counts), sorted(names - {""})


class _Known(dict[str, Piece]):
    """The pieces met: documents of a project say the same things."""

    def __missing__(self, piece: str) -> Piece:
        found = self[piece] = piece_of(piece)
        return found


_known = _Known()


def piece_of(piece: str) -> Piece:
    """`:func:`~flask.url_for`` is met as `~flask.url_for``: the terms flask, url, for and the name flask.url_for."""
    bare = piece.strip(_MARKS)
    return Piece(tuple(terms(bare)), _mention(bare, marked=bare != piece))


def _mention(bare: str, marked: bool) -> str:
    if "/" in bare:
        return bare if _PATH.fullmatch(bare) else ""
    if not _NAME.fullmatch(bare):
        return ""
    parts = _SEPARATOR.split(bare)
    last = parts[-1]
    qualified = len(parts) > 1
    if len(last) < (_SHORTEST_QUALIFIED if qualified else _SHORTEST):
        return ""
    if not (marked or qualified or _looks_like_code(last)):
        return ""
    return ".".join(parts[-1 - _QUALIFIERS :])


def _looks_like_code(word: str) -> bool:
    """snake_case, CamelCase, or at least a capital."""
    return "_" in word.strip("_") or word != word.lower()
