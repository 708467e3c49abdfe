"""Whether an index still says what the files say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.ingest.compare import compare
from assay.ingest.sections import changed_documents, known_documents
from assay.ingest.version import index_version
from assay.ingest.walk import scan
from assay.store.index import Index


@dataclass(frozen=True, slots=True)
class Freshness:
    """The files that changed since they were indexed."""

    stale: list[str]

    @property
    def fresh(self) -> bool:
        return not self.stale


def freshness(root: Path, index: Index) -> Freshness:
    """Compares the tree with an index: by stat, and by content where the stat is in doubt."""
    found = scan(root)
    changes = compare(root, found, index)
    documents = changed_documents(root, found, known_documents(index.folder.parent.parent))
    stale = sorted([*changes.changed, *changes.removed, *documents])
    if changes.configs:
        stale.append("(project manifests)")
    if index.meta.get("version") != index_version():
        stale.append("(indexed by another version of assay)")
    return Freshness(stale)
