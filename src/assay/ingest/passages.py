"""The passages of documents beside an index: made when a chunker is first asked for, and again when a document changed. `prepare` is the whole story.

A document's passages are a function of its content, so each is divided once for all worktrees and branches, through the parse cache.
"""

from __future__ import annotations

from pathlib import Path

from assay.ingest.cache import ParseCache, cache_path
from assay.ingest.documents.facts import decode_document
from assay.ingest.documents.formats import format_of
from assay.ingest.parse import parse_files
from assay.ingest.report import Progress
from assay.ingest.version import extractor_version
from assay.ingest.walk import scan
from assay.store import passages, sections
from assay.store.layout import Home
from assay.store.passages import Divided, Passages
from assay.text.chunk import DEFAULT, Chunker


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
