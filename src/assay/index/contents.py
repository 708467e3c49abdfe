"""Content hashes of a tree's files: size and time only suggest that a file changed, its content decides.

A hash is kept beside the index with the size and time of its file. So a file whose time alone changed, or that was
written just before it was indexed, is read once and not by every command. Entries hold whatever is indexed: writers
need no lock, and of two at once the last wins.
"""

from __future__ import annotations

import contextlib
import time
from functools import cached_property
from pathlib import Path

from assay.errors import AssayError
from assay.index.documents.formats import format_of
from assay.index.scan import Scan, ScannedFile, read_document, read_source
from assay.languages import language_of
from assay.store.layout import RACY_SECONDS, content_hash
from assay.system.files import atomic_write, read_regular

NAME = "contents.msgpack"
_MOST_BYTES = 100_000_000  # an entry has about a hundred

Entry = tuple[int, int, bytes]  # size, time and content hash


class Contents:
    """Content hashes of scanned files, read when first needed; `save` keeps them in the folder of the index."""

    def __init__(self, root: Path, folder: Path, scanned: Scan) -> None:
        self.root, self._path, self._scanned = root, folder / NAME, scanned
        self._read: dict[str, Entry] = {}

    @cached_property
    def _stored(self) -> dict[str, Entry]:
        import msgspec  # which few questions need

        try:
            return msgspec.msgpack.decode(read_regular(self._path, _MOST_BYTES, follow=False), type=dict[str, Entry])
        except (OSError, AssayError, msgspec.DecodeError):
            return {}

    def hash(self, file: ScannedFile) -> bytes:
        """Return the content hash of a file; empty if it cannot be read."""
        size, mtime, digest = self._stored.get(file.path, (0, 0, b""))
        if not digest or (size, mtime) != file[1:]:
            is_final = file.mtime < time.time_ns() - RACY_SECONDS * 10**9  # else it may change within the same time
            digest = file_hash(self.root, file.path)
            if digest and is_final:
                self._stored[file.path] = self._read[file.path] = (file.size, file.mtime, digest)
        return digest

    def is_same(self, file: ScannedFile, indexed: Entry, indexed_at: int) -> bool:
        """Return whether a file is the one indexed at a time: by its stat, and by content if that is inconclusive."""
        size, mtime, digest = indexed
        if size == file.size and mtime == file.mtime and mtime < indexed_at - RACY_SECONDS * 10**9:
            return True
        return self.hash(file) == digest

    def save(self) -> None:
        """Store new hashes, and those of before that still hold. A folder that cannot be written is no failure."""
        if not self._read:
            return
        import msgspec

        scanned = self._scanned
        stats = scanned.files | scanned.documents | scanned.configs | scanned.project_files
        valid = {path: row for path, row in self._stored.items() if path in stats and stats[path][1:] == row[:2]}
        with contextlib.suppress(OSError), atomic_write(self._path) as output:
            output.write(msgspec.msgpack.encode(valid))
        self._read.clear()


def file_hash(root: Path, path: str) -> bytes:
    """Return the hash of a file's text, or of the bytes of a binary document; empty if it cannot be read."""
    form = None if language_of(path) else format_of(path)
    source = read_document(root, path, form) if form else read_source(root, path, whole=True)
    return b"" if source.skip or source.problem else content_hash(source.data)
