"""One document → its sections, a pure function of its text."""

from __future__ import annotations

import msgspec

from assay.ingest.documents.formats import Format
from assay.ingest.documents.mentions import read
from assay.ingest.documents.prose import is_prose
from assay.ingest.documents.split import Span, lines_of, split
from assay.ingest.facts import Extracted
from assay.store.sections import SectionFacts

_decoder = msgspec.msgpack.Decoder(list[SectionFacts])


def extract_sections(data: bytes, form: Format) -> Extracted:
    """The sections of a document, encoded for the parse cache; none of what is not prose."""
    text = data.decode()
    lines = lines_of(text)
    sections = [_section(span, lines) for span in split(lines, form)] if is_prose(text) else []
    return Extracted(msgspec.msgpack.encode(sections), b"", len(lines))


def decode_sections(extracted: Extracted) -> list[SectionFacts]:
    return _decoder.decode(extracted.facts)


def _section(span: Span, lines: list[str]) -> SectionFacts:
    terms, names = read("\n".join(lines[span.first - 1 : span.last]), span.headings)
    return SectionFacts(span.headings, span.first, span.last, terms, tuple(names))
