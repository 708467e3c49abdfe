"""Sections and passages of documents beside the index, rebuilt when a document changed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from assay.core.progress import Progress
from assay.index.documents.facts import DocumentFacts, decode_document
from assay.index.documents.formats import format_of
from assay.index.freshness import changed_documents, known_documents
from assay.index.parse import ParseCache, Parsed, cache_path, parse_files
from assay.index.scan import Found, Scan, scan
from assay.index.version import extractor_version
from assay.store import passages, sections
from assay.store.layout import Home
from assay.store.passages import Divided, Passages
from assay.store.sections import Document
from assay.text.chunk import DEFAULT, Chunker


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


# The passages of documents beside an index: made when a chunker is first asked for, and again when a document
# changed. `prepare` is the whole story.


def prepare(root: Path, home: Home, chunker: Chunker = DEFAULT, progress: Progress | None = None) -> Passages:
    """The passages of the documents of an index by a chunker, brought up to date with it."""
    path = passages.path_of(home.folder, str(chunker))
    if not is_ready(home, chunker):
        progress = progress or Progress()
        with home.writing(progress.waiting):
            key = _key(home, chunker)
            if passages.key_at(path) != key:  # else another process was faster
                passages.write(path, key, chunker.identity, _divided(root, home, chunker, progress))
    return Passages.open(path)


def is_ready(home: Home, chunker: Chunker = DEFAULT) -> bool:
    """Whether the passages are there as they should be: then nothing is parsed when they are asked for."""
    return passages.key_at(passages.path_of(home.folder, str(chunker))) == _key(home, chunker)


def _key(home: Home, chunker: Chunker) -> str:
    """Changes with everything that could change the passages: the sections are written again whenever a document is another."""
    try:
        info = (home.folder / sections.NAME).stat()
        state = f"{info.st_size}-{info.st_mtime_ns}"
    except FileNotFoundError:
        state = "none"
    return f"{extractor_version()} {chunker.identity} {state}"


def _divided(root: Path, home: Home, chunker: Chunker, progress: Progress) -> list[Divided]:
    found = scan(root).documents
    largest_first = sorted(found, key=lambda one: (-found[one].size, one))
    progress.start("dividing documents", len(found))
    cache = ParseCache(cache_path(root, home.folder))
    try:
        parsed = {one.path: one.extracted for one in parse_files(root, largest_first, cache, progress.advance, chunker)}
    finally:
        cache.close()
    out = []
    for path in sorted(found):
        form, extracted = format_of(path), parsed[path]
        if form and extracted:
            out.append(Divided(path, form.name, decode_document(extracted).passages))
    return out
