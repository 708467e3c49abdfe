"""Extract the sections of a document, or its passages by a chunker: pure functions of its content."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import msgspec

from assay.index.documents.formats import Format
from assay.index.documents.opened import OpenedDocument, Span, Unreadable, as_text, split
from assay.index.facts import Extracted
from assay.store.passages import PassageFacts
from assay.store.sections import SectionFacts
from assay.text.chunk import Chunk, Chunker
from assay.text.terms import terms

# a word, qualified name or path with code marks: a backtick, role tilde or directive before, a call or backtick after
_PIECE = re.compile(r"(?:[`~]|:: )?\w+(?:(?:\.|::|#|->|/)\w+)*(?:\(|`)?")
_MARKS = "`~(: "
_SEPARATOR = re.compile(r"\.|::|#|->")
_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#|->)[^\W\d]\w*)*")
_PATH = re.compile(r"(?:[\w.]+/)+\w+\.\w+")
_QUALIFIERS = 2  # qualifiers kept before the last name; more never disambiguate
_MIN_NAME, _MIN_QUALIFIED = 3, 2  # letters; shorter names are variables, file extensions may be shorter
_MAX_CACHED = 1 << 16  # pieces per worker
_HEADING_WEIGHT = 2  # extra count of a heading's terms


class Piece(NamedTuple):
    """The terms of a piece of text and the name it mentions, if any."""

    terms: tuple[str, ...]
    name: str
    marked: bool = False  # as code: in backticks, called, or the argument of a directive


_TERMS = attrgetter("terms")


def read(text: str, headings: Iterable[str]) -> tuple[dict[str, int], list[str], set[str]]:
    """Return the term counts of a section, with heading terms weighted, the names it mentions, and those marked as code."""
    if len(_piece_cache) > _MAX_CACHED:
        _piece_cache.clear()
    pieces = _PIECE.findall(text)
    counts = Counter(chain.from_iterable(map(_TERMS, map(_piece_cache.__getitem__, pieces))))
    mentions = {_piece_cache[piece] for piece in set(pieces)}
    names, marked = {piece.name for piece in mentions}, {piece.name for piece in mentions if piece.marked}
    for heading in headings:
        for term in terms(heading):
            counts[term] += _HEADING_WEIGHT
    return dict(counts), sorted(names - {""}), marked


class _PieceCache(dict[str, Piece]):
    """Cache of parsed pieces: documents of a project share most of their words."""

    def __missing__(self, piece: str) -> Piece:
        parsed = self[piece] = piece_of(piece)
        return parsed


_piece_cache = _PieceCache()


def piece_of(piece: str) -> Piece:
    """Return the terms of a piece and the name it mentions.

    `~flask.url_for``, a piece of `:func:`~flask.url_for``, has the terms flask, url, for and the name flask.url_for.
    """
    bare = piece.strip(_MARKS)
    marked = bare != piece
    return Piece(tuple(terms(bare)), _mention(bare, marked), marked)


def _mention(bare: str, marked: bool) -> str:
    """Return the name or path that a piece mentions; empty if it is an ordinary word."""
    if "/" in bare:
        return bare if _PATH.fullmatch(bare) else ""
    if not _NAME.fullmatch(bare):
        return ""
    parts = _SEPARATOR.split(bare)
    last = parts[-1]
    qualified = len(parts) > 1
    if len(last) < (_MIN_QUALIFIED if qualified else _MIN_NAME):
        return ""
    if not (marked or qualified or _looks_like_code(last)):
        return ""
    return ".".join(parts[-1 - _QUALIFIERS :])


def _looks_like_code(word: str) -> bool:
    """Return True for snake_case, CamelCase, or at least a capital."""
    return "_" in word.strip("_") or word != word.lower()


# Language filter: translations and data lists would cost more than all other documents, and answer no English query

# words that occur in every English text, but not in code or other languages
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
_MIN_SHARE = 0.01  # of common words; median 0.19 in English guides, 0.003 in translations and version lists
_MIN_WORDS = 100  # shorter texts may lack common words by chance
_SAMPLE = 20_000  # characters


def is_prose(text: str) -> bool:
    """Return whether a text is English prose, by its share of common words."""
    words = text[:_SAMPLE].lower().split()
    return len(words) < _MIN_WORDS or sum(word in _COMMON for word in words) >= _MIN_SHARE * len(words)


# Extraction


class DocumentFacts(msgspec.Struct, array_like=True, frozen=True):
    """Sections or passages of a document, or its problem. Problems are cached too, so a bad file is read once."""

    sections: list[SectionFacts] = []
    passages: list[PassageFacts] = []
    problem: str = ""


_decoder = msgspec.msgpack.Decoder(DocumentFacts)


def extract_sections(data: bytes, form: Format) -> Extracted:
    """Return the sections of a document, encoded for the parse cache; empty if it is not prose."""
    try:
        document = form.open(data)
    except Unreadable as error:
        return _encode(DocumentFacts(problem=str(error)))
    prose = is_prose("\n".join(document.lines))
    sections = [_section(span, document) for span in split(document)] if prose else []
    return _encode(DocumentFacts(sections), len(document.lines))


def extract_passages(data: bytes, form: Format, chunker: Chunker) -> Extracted:
    """Return the passages of a document in any language, encoded for the parse cache."""
    try:
        document = form.open(data)
    except Unreadable as error:
        return _encode(DocumentFacts(problem=str(error)))
    passages = [_passage(chunk) for chunk in chunker.chunks(as_text(document))]
    return _encode(DocumentFacts(passages=passages), len(document.lines))


def decode_document(extracted: Extracted) -> DocumentFacts:
    return _decoder.decode(extracted.facts)


def _encode(facts: DocumentFacts, lines: int = 0) -> Extracted:
    return Extracted(msgspec.msgpack.encode(facts), b"", lines)


def _section(span: Span, document: OpenedDocument) -> SectionFacts:
    counted, names, marked = read("\n".join(document.lines[span.first - 1 : span.last]), span.headings)
    first, last = document.number(span.first - 1), document.number(span.last - 1)
    return SectionFacts(span.headings, first, last, counted, tuple(names), tuple(name in marked for name in names))


def _passage(chunk: Chunk) -> PassageFacts:
    return PassageFacts(
        chunk.text,
        chunk.headings,
        (chunk.first, chunk.last),
        (chunk.start, chunk.end),
        chunk.page,
        Counter(terms(chunk.text)),
    )
