"""How a tree differs from what was indexed: by stat first, by content where the stat is in doubt."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from assay.ingest.documents.formats import format_of
from assay.ingest.version import extractor_version
from assay.ingest.walk import Scan, read_document, read_source
from assay.store.files import content_hash, surely_same
from assay.store.index import Index

if TYPE_CHECKING:
    from assay.store.sections import Known


@dataclass(slots=True)
class Changes:
    """How the tree differs from what was indexed."""

    changed: list[str] = field(default_factory=list)  # new or different files
    removed: list[str] = field(default_factory=list)
    configs: bool = False
    skipped: bool = False

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed or self.configs or self.skipped)


def compare(root: Path, found: Scan, previous: Index | None) -> Changes:
    """What differs between the tree and an index: by stat first, by content where the stat is in doubt."""
    if previous is None:
        return Changes(changed=sorted(found.files))
    indexed_at = int(previous.meta.get("indexed_at", "0"))
    passed = {
        path: (reason, size, mtime)
        for path, reason, size, mtime in previous.catalogue.connection.execute(
            "SELECT path, reason, size, mtime FROM skipped WHERE size >= 0"
        )
    }
    changes = Changes()
    for path, file in found.files.items():
        known = previous.files.get(path)
        if known is not None:
            if surely_same((known.size, known.mtime), (file.size, file.mtime), indexed_at):
                continue
            source = read_source(root, path)
            if source.skip or source.problem or content_hash(source.data) != known.hash:
                changes.changed.append(path)
        elif path in passed:
            if passed[path][1:] != (file.size, file.mtime):
                changes.changed.append(path)
        else:
            changes.changed.append(path)
    changes.removed = sorted((set(previous.files) | set(passed)) - set(found.files))
    configs = {
        row[0]: row[1:] for row in previous.catalogue.connection.execute("SELECT path, size, mtime FROM configs")
    }
    changes.configs = configs != {path: (c.size, c.mtime) for path, c in found.configs.items()}
    return changes


def known_documents(folder: Path) -> Known:
    """The documents whose sections stand in an index's folder as this version reads them."""
    from assay.store import sections  # with numpy, which a remembered answer does without

    return sections.known(folder / sections.NAME, extractor_version()) or sections.Known({}, 0)


def changed_documents(root: Path, found: Scan, known: Known) -> set[str]:
    """The documents that are new, gone or different: by stat first, by content where the stat is in doubt."""
    changed = known.documents.keys() - found.documents.keys()
    for path, file in found.documents.items():
        row = known.documents.get(path)
        if row is None or not (
            surely_same((row.size, row.mtime), (file.size, file.mtime), known.indexed_at)
            or _hash(root, path) == row.hash
        ):
            changed.add(path)
    return changed


def _hash(root: Path, path: str) -> bytes:
    form = format_of(path)
    assert form is not None
    source = read_document(root, path, form)
    return b"" if source.skip or source.problem else content_hash(source.data)
