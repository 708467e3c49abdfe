"""The sections of documents beside an index: brought up to date when a document changed. `collect` is the whole story.

What a document says is a function of its text, so each is read once for all worktrees and branches, through the parse cache.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from assay.ingest.cache import ParseCache
from assay.ingest.compare import changed_documents, known_documents
from assay.ingest.documents.facts import DocumentFacts, decode_document
from assay.ingest.documents.formats import format_of
from assay.ingest.parse import parse_files
from assay.ingest.report import Progress
from assay.ingest.version import extractor_version
from assay.ingest.walk import Found, Scan
from assay.store import sections
from assay.store.layout import Home
from assay.store.sections import Document


def collect(root: Path, home: Home, found: Scan, cache: ParseCache, progress: Progress) -> dict[str, str]:
    """Makes the sections those of the documents there are; touches nothing when none of them changed. Returns which could not be read, and why."""
    path, indexed_at = home.folder / sections.NAME, time.time_ns()
    known = known_documents(home.folder)
    changed = changed_documents(root, found, known)
    if not changed and path.exists() == bool(found.documents):
        return unread(known.documents.values())
    if not found.documents:
        path.unlink(missing_ok=True)
        return {}
    kept = [known.documents[one] for one in found.documents if one not in changed]
    read = {d.path: d for document in kept if (d := _recalled(document, found.documents[document.path], cache))}
    waiting = [one for one in sorted(found.documents) if one not in read]
    progress.start("reading documents", len(waiting))
    read |= {d.path: d for d in _read(root, [found.documents[one] for one in waiting], cache, progress.advance)}
    sections.write(path, extractor_version(), [read[one] for one in sorted(read)], indexed_at)
    return unread(read.values())


def unread(documents: Iterable[Document]) -> dict[str, str]:
    """The documents that could not be read, and why."""
    return {document.path: document.problem for document in documents if document.problem}


def _recalled(document: Document, file: Found, cache: ParseCache) -> Document | None:
    """A document that did not change, with its sections; None when they must be read again."""
    form = format_of(document.path)
    extracted = cache.get(document.hash, form.name) if form and document.hash else None
    if extracted is None:
        return None
    return _document(file, document.hash, decode_document(extracted))


def _read(root: Path, files: list[Found], cache: ParseCache, tick: Callable[[int], None]) -> list[Document]:
    stats = {file.path: file for file in files}
    out = []
    for parsed in parse_files(root, stats, cache, tick):
        file = stats[parsed.path]
        facts = DocumentFacts(problem=parsed.skip or f"unreadable ({parsed.problem})")
        if parsed.extracted:
            facts = decode_document(parsed.extracted)
        out.append(_document(file, parsed.digest if parsed.extracted else b"", facts))
    return out


def _document(file: Found, digest: bytes, facts: DocumentFacts) -> Document:
    return Document(file.path, file.size, file.mtime, digest, facts.sections, facts.problem)
