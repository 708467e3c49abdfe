"""Sections and passages of documents, stored next to the index and rebuilt if a document changed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.progress import Progress
from assay.index.contents import Contents
from assay.index.documents.facts import DocumentFacts, decode_document
from assay.index.documents.formats import format_of
from assay.index.freshness import changed_documents, stored_documents
from assay.index.scan import Scan, ScannedFile, scan
from assay.index.version import extractor_version
from assay.store import passages, sections
from assay.store.layout import Home
from assay.store.passages import ChunkedDocument, Passages
from assay.store.sections import Document
from assay.text.chunk import DEFAULT, Chunker

if TYPE_CHECKING:  # a search that divides no documents imports no parser
    from assay.index.parse import ParseCache, Parsed


def update_sections(
    root: Path,
    home: Home,
    scanned: Scan,
    contents: Contents,
    cache: ParseCache,
    progress: Progress,
    just_read: Iterable[Parsed],
) -> dict[str, str]:
    """Update the stored sections to the current documents, if any changed; return unreadable documents with reasons.

    Documents in `just_read`, which were read after the scan, are not read again.
    """
    path = home.folder / sections.NAME
    stored = stored_documents(home.folder)
    changed = changed_documents(scanned, stored, contents)
    if not changed and path.exists() == bool(scanned.documents):
        return unreadable_documents(stored.documents.values())
    if not scanned.documents:
        path.unlink(missing_ok=True)
        return {}
    by_path = {parsed.path: _from_parse(scanned.documents[parsed.path], parsed) for parsed in just_read}
    unchanged = [stored.documents[name] for name in scanned.documents if name not in changed and name not in by_path]
    by_path |= {
        d.path: d for document in unchanged if (d := _from_cache(document, scanned.documents[document.path], cache))
    }
    from assay.index.parse import parse_files

    to_parse = [name for name in sorted(scanned.documents) if name not in by_path]
    progress.start("reading documents", len(to_parse))
    for parsed in parse_files(root, to_parse, cache, progress.advance):
        by_path[parsed.path] = _from_parse(scanned.documents[parsed.path], parsed)
    sections.write(path, extractor_version(), [by_path[name] for name in sorted(by_path)], scanned.at)
    return unreadable_documents(by_path.values())


def unreadable_documents(documents: Iterable[Document]) -> dict[str, str]:
    """Return the documents that could not be read, with reasons."""
    return {document.path: document.problem for document in documents if document.problem}


def _from_cache(document: Document, file: ScannedFile, cache: ParseCache) -> Document | None:
    """Return an unchanged document with its sections or its problem; None if it must be read again."""
    if document.problem and not document.hash:
        return document  # it hung or crashed the parser; do not retry
    form = format_of(document.path)
    extracted = cache.get(document.hash, form.name) if form and document.hash else None
    if extracted is None:
        return None
    return _document(file, document.hash, decode_document(extracted))


def _from_parse(file: ScannedFile, parsed: Parsed) -> Document:
    if parsed.extracted:
        return _document(file, parsed.digest, decode_document(parsed.extracted))
    return _document(file, b"", DocumentFacts(problem=parsed.skip or f"unreadable ({parsed.problem})"))


def _document(file: ScannedFile, digest: bytes, facts: DocumentFacts) -> Document:
    return Document(file.path, file.size, file.mtime, digest, facts.sections, facts.problem)


# Passages: created on the first use of a chunker, and again if a document changed


def prepare_passages(root: Path, home: Home, chunker: Chunker = DEFAULT, progress: Progress | None = None) -> Passages:
    """Return the passages of an index's documents for a chunker, updated if necessary."""
    path = passages.path_of(home.folder, str(chunker))
    if not is_ready(home, chunker):
        progress = progress or Progress()
        with home.deriving(progress.waiting):
            key = _key(home, chunker)
            if passages.key_at(path) != key:  # unless another process already wrote them
                passages.write(path, key, chunker.identity, _split_documents(root, home, chunker, progress))
    return Passages.open(path)


def is_ready(home: Home, chunker: Chunker = DEFAULT) -> bool:
    """Return True if the passages are up to date, so that using them parses nothing."""
    return passages.key_at(passages.path_of(home.folder, str(chunker))) == _key(home, chunker)


def _key(home: Home, chunker: Chunker) -> str:
    """Return a key that changes with anything that affects the passages; a changed document rewrites the sections."""
    try:
        info = (home.folder / sections.NAME).stat()
        state = f"{info.st_size}-{info.st_mtime_ns}"
    except FileNotFoundError:
        state = "none"
    return f"{extractor_version()} {chunker.identity} {state}"


def _split_documents(root: Path, home: Home, chunker: Chunker, progress: Progress) -> list[ChunkedDocument]:
    from assay.index.parse import ParseCache, cache_path, parse_files

    documents = scan(root).documents
    largest_first = sorted(documents, key=lambda path: (-documents[path].size, path))
    progress.start("dividing documents", len(documents))
    cache = ParseCache(cache_path(root, home.folder))
    try:
        parsed = {
            result.path: result.extracted
            for result in parse_files(root, largest_first, cache, progress.advance, chunker)
        }
    finally:
        cache.close()
    out = []
    for path in sorted(documents):
        form, extracted = format_of(path), parsed[path]
        if form and extracted:
            out.append(ChunkedDocument(path, form.name, decode_document(extracted).passages))
    return out
