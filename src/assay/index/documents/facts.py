"""One document → its sections, or its passages by some chunker: pure functions of its content."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import msgspec

from assay.index.documents.formats import Format
from assay.index.documents.opened import Opened, Span, Unreadable, as_text, split
from assay.index.facts import Extracted
from assay.store.passages import PassageFacts
from assay.store.sections import SectionFacts
from assay.text.chunk import Chunk, Chunker
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


# Whether a text is English prose: translations and lists of data would cost more than all the rest, and no English
# task is answered by them.

# words that every English text has, and neither code nor other languages do
_COMMON = frozenset(
    [
        "the",
        "of",
        "to",
        "that",
        "this",
        "you",
        "be",
        "it",
        "are",
        "can",
        "will",
        "which",
        "when",
        "by",
        "your",
        "have",
        "has",
    ]
)
_SHARE = 0.01  # of common words: 0.19 in the median of English guides, 0.003 in translations and lists of versions
_FEWEST = 100  # words: a shorter text may lack them by chance
_LOOKED_AT = 20_000  # characters


def is_prose(text: str) -> bool:
    words = text[:_LOOKED_AT].lower().split()
    return len(words) < _FEWEST or sum(word in _COMMON for word in words) >= _SHARE * len(words)


# One document → its sections, or its passages by some chunker: pure functions of its content.


class DocumentFacts(msgspec.Struct, array_like=True, frozen=True):
    """What is read from a document, or why nothing is; kept like any parse, so that a bad file is looked at once."""

    sections: list[SectionFacts] = []
    passages: list[PassageFacts] = []
    problem: str = ""


_decoder = msgspec.msgpack.Decoder(DocumentFacts)


def extract_sections(data: bytes, form: Format) -> Extracted:
    """The sections of a document, encoded for the parse cache; none of what is not prose."""
    try:
        document = form.open(data)
    except Unreadable as error:
        return _encoded(DocumentFacts(problem=str(error)))
    prose = is_prose("\n".join(document.lines))
    sections = [_section(span, document) for span in split(document)] if prose else []
    return _encoded(DocumentFacts(sections), len(document.lines))


def extract_passages(data: bytes, form: Format, chunker: Chunker) -> Extracted:
    """The passages of a document, in whatever language it is."""
    try:
        document = form.open(data)
    except Unreadable as error:
        return _encoded(DocumentFacts(problem=str(error)))
    passages = [_passage(chunk) for chunk in chunker.chunks(as_text(document))]
    return _encoded(DocumentFacts(passages=passages), len(document.lines))


def decode_document(extracted: Extracted) -> DocumentFacts:
    return _decoder.decode(extracted.facts)


def _encoded(facts: DocumentFacts, lines: int = 0) -> Extracted:
    return Extracted(msgspec.msgpack.encode(facts), b"", lines)


def _section(span: Span, document: Opened) -> SectionFacts:
    counted, names = read("\n".join(document.lines[span.first - 1 : span.last]), span.headings)
    first, last = document.number(span.first - 1), document.number(span.last - 1)
    return SectionFacts(span.headings, first, last, counted, tuple(names))


def _passage(chunk: Chunk) -> PassageFacts:
    return PassageFacts(
        chunk.text,
        chunk.headings,
        (chunk.first, chunk.last),
        (chunk.start, chunk.end),
        chunk.page,
        Counter(terms(chunk.text)),
    )
