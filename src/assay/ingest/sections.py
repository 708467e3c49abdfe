"""The sections of documents beside an index: brought up to date when a document changed. `collect` is the whole story.

What a document says is a function of its text, so each is read once for all worktrees and branches, through the parse cache.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from assay.ingest.cache import ParseCache
from assay.ingest.compare import changed_documents, known_documents
from assay.ingest.documents.facts import DocumentFacts, decode_document
from assay.ingest.documents.formats import format_of
from assay.ingest.parse import Parsed, parse_files
from assay.ingest.report import Progress
from assay.ingest.version import extractor_version
from assay.ingest.walk import Found, Scan
from assay.store import sections
from assay.store.layout import Home
from assay.store.sections import Document


def collect(
    root: Path, home: Home, found: Scan, cache: ParseCache, progress: Progress, just_read: Iterable[Parsed], since: int
) -> dict[str, str]:
    """Makes the sections those of the documents there are; touches nothing when none of them changed. Returns which could not be read, and why.

    Documents that were `just_read`, after the time `since`, are not read again.
    """
    path = home.folder / sections.NAME
    known = known_documents(home.folder)
    changed = changed_documents(root, found, known)
    if not changed and path.exists() == bool(found.documents):
        return unread(known.documents.values())
    if not found.documents:
        path.unlink(missing_ok=True)
        return {}
    read = {parsed.path: _decoded(found.documents[parsed.path], parsed) for parsed in just_read}
    kept = [known.documents[one] for one in found.documents if one not in changed and one not in read]
    read |= {d.path: d for document in kept if (d := _recalled(document, found.documents[document.path], cache))}
    waiting = [one for one in sorted(found.documents) if one not in read]
    progress.start("reading documents", len(waiting))
    for parsed in parse_files(root, waiting, cache, progress.advance):
        read[parsed.path] = _decoded(found.documents[parsed.path], parsed)
    sections.write(path, extractor_version(), [read[one] for one in sorted(read)], since)
    return unread(read.values())


def unread(documents: Iterable[Document]) -> dict[str, str]:
    """The documents that could not be read, and why."""
    return {document.path: document.problem for document in documents if document.problem}


def _recalled(document: Document, file: Found, cache: ParseCache) -> Document | None:
    """A document that did not change, with its sections or why it has none; None when it must be read again."""
    if document.problem and not document.hash:
        return document  # it hung or crashed its parser, and would again
    form = format_of(document.path)
    extracted = cache.get(document.hash, form.name) if form and document.hash else None
    if extracted is None:
        return None
    return _document(file, document.hash, decode_document(extracted))


def _decoded(file: Found, parsed: Parsed) -> Document:
    if parsed.extracted:
        return _document(file, parsed.digest, decode_document(parsed.extracted))
    return _document(file, b"", DocumentFacts(problem=parsed.skip or f"unreadable ({parsed.problem})"))


def _document(file: Found, digest: bytes, facts: DocumentFacts) -> Document:
    return Document(file.path, file.size, file.mtime, digest, facts.sections, facts.problem)
