"""One document → its sections, or its passages by some chunker: pure functions of its content."""

from __future__ import annotations

from collections import Counter

import msgspec

from assay.ingest.documents.formats import Format
from assay.ingest.documents.mentions import read
from assay.ingest.documents.opened import Opened, Unreadable
from assay.ingest.documents.prose import is_prose
from assay.ingest.documents.split import Span, as_text, split
from assay.ingest.facts import Extracted
from assay.store.passages import PassageFacts
from assay.store.sections import SectionFacts
from assay.text.chunk import Chunk, Chunker
from assay.text.terms import terms


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
