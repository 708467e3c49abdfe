"""Compare an index with the files it was built from."""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from assay.git import Listing
from assay.index.documents.formats import format_of
from assay.index.scan import Scan, read_document, read_source, scan
from assay.index.version import extractor_version, index_version, word_files
from assay.store.index import Index
from assay.store.layout import RACY_SECONDS, SECTIONS, content_hash, surely_same

if TYPE_CHECKING:
    from assay.store.sections import IndexedDocuments


@dataclass(slots=True)
class Changes:
    """Differences between the tree and the index."""

    changed: list[str] = field(default_factory=list)  # new or different files
    removed: list[str] = field(default_factory=list)
    configs: bool = False
    skipped: bool = False

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed or self.configs or self.skipped)


def compare(root: Path, found: Scan, previous: Index | None) -> Changes:
    """Return the differences between the tree and an index: by stat first, by content if the stat is inconclusive."""
    if previous is None:
        return Changes(changed=sorted(found.files))
    indexed_at = int(previous.meta.get("indexed_at", "0"))
    skipped = {
        path: (reason, size, mtime)
        for path, reason, size, mtime in previous.catalogue.connection.execute(
            "SELECT path, reason, size, mtime FROM skipped WHERE size >= 0"
        )
    }
    changes = Changes()
    for path, file in found.files.items():
        indexed = previous.files.get(path)
        if indexed is not None:
            if surely_same((indexed.size, indexed.mtime), (file.size, file.mtime), indexed_at):
                continue
            source = read_source(root, path)
            if source.skip or source.problem or content_hash(source.data) != indexed.hash:
                changes.changed.append(path)
        elif path in skipped:
            if skipped[path][1:] != (file.size, file.mtime):
                changes.changed.append(path)
        else:
            changes.changed.append(path)
    changes.removed = sorted((set(previous.files) | set(skipped)) - set(found.files))
    configs = {
        row[0]: row[1:] for row in previous.catalogue.connection.execute("SELECT path, size, mtime FROM configs")
    }
    changes.configs = configs != {path: (c.size, c.mtime) for path, c in found.configs.items()}
    return changes


def stored_documents(folder: Path) -> IndexedDocuments:
    """Return the documents whose sections are stored in an index's folder by this version."""
    from assay.store import sections  # imports numpy, which a cached answer does not need

    return sections.read_indexed_documents(folder / sections.NAME, extractor_version()) or sections.IndexedDocuments(
        {}, 0
    )


def changed_documents(root: Path, found: Scan, known: IndexedDocuments) -> set[str]:
    """Return new, removed and changed documents: by stat first, by content if the stat is inconclusive."""
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


# Freshness

# nanoseconds that a scan stays valid: changes of git's settings and in subfolders of empty folders show in no stat
_SCAN_VALID = 60 * 10**9

Stat = tuple[int, int]  # size and mtime


@dataclass(frozen=True, slots=True)
class Freshness:
    """Files that changed since they were indexed."""

    stale: list[str]

    @property
    def fresh(self) -> bool:
        return not self.stale


class TreeCheck:
    """A scan of a tree, and its comparison with an index."""

    def __init__(self, root: Path, index: Index, listing: Listing | None = None) -> None:
        self._root, self._index = root, index
        self.at = time.time_ns()
        self.found = scan(root, listing)

    @cached_property
    def freshness(self) -> Freshness:
        """Compare the tree with the index: by stat, and by content if the stat is inconclusive."""
        return _compare_all(self._root, self._index, self.found)

    @cached_property
    def state(self) -> str:
        """Hash of paths and stats, which differs whenever a file does.

        Empty while a file is too recent for its stat to be reliable.
        """
        scanned = self.found
        files = [*scanned.files.values(), *scanned.configs.values(), *scanned.documents.values()]
        if not all(_is_stable(file.mtime, self.at) for file in files):
            return ""
        stats = [*(file[1:] for file in files), *_stats([str(path) for path in word_files()])]
        digest = blake2b("\0".join([file.path for file in files]).encode("utf-8", "surrogatepass"), digest_size=16)
        digest.update(array("q", chain.from_iterable(stats)).tobytes())
        return digest.hexdigest()


class UnchangedTree(TreeCheck):
    """A tree that a file watcher knows to be unchanged since it was indexed; `state` is the watcher's key of it."""

    def __init__(self, root: Path, index: Index, state: str) -> None:
        self._root, self._index, self.at = root, index, time.time_ns()
        self.state = state

    @cached_property
    def found(self) -> Scan:  # type: ignore[override]
        return scan(self._root)

    @cached_property
    def freshness(self) -> Freshness:
        return Freshness([])


class MultiTreeCheck(TreeCheck):
    """Scans of several repositories; changed files are named `label/path`."""

    def __init__(self, looks: Mapping[str, TreeCheck], settings: str) -> None:
        self._looks, self._settings = looks, settings
        self.at = min(look.at for look in looks.values())

    @cached_property
    def freshness(self) -> Freshness:
        return Freshness([f"{label}/{path}" for label, look in self._looks.items() for path in look.freshness.stale])

    @cached_property
    def state(self) -> str:
        """Hash of all states; empty while one of them is empty."""
        states = [self._settings, *(f"{label} {look.state}" for label, look in self._looks.items() if look.state)]
        return blake2b("\0".join(states).encode(), digest_size=16).hexdigest() if len(states) > len(self._looks) else ""


def freshness(root: Path, index: Index) -> Freshness:
    """Return the files that changed since they were indexed."""
    return TreeCheck(root, index).freshness


class Watch:
    """Checks the freshness of an index repeatedly.

    A scan stays valid while the stats of all scanned paths are unchanged. The first one uses a listing that was started
    earlier, if given.
    """

    def __init__(self, root: Path, index: Index, listing: Listing | None = None) -> None:
        self._root, self._index, self._listing = root, index, listing
        self._last: TreeCheck | None = None
        self._scanned_paths: list[str] = []
        self._stats: list[Stat] = []
        self._since = 0  # time of the cached scan; 0 if it is not valid

    def freshness(self) -> Freshness:
        return self.look().freshness

    def look(self) -> TreeCheck:
        now = time.time_ns()
        valid = self._since <= now < self._since + _SCAN_VALID and _stats(self._scanned_paths) == self._stats
        if self._last is None or not valid:
            repeated = self._last is not None
            self._last, self._listing = TreeCheck(self._root, self._index, self._listing), None
            if repeated:  # a command checks only once
                self._remember(self._last.found, now)
        return self._last

    def _remember(self, scanned: Scan, now: int) -> None:
        base = os.path.join(self._root, "")
        sections_file = [str(self._index.folder.parent.parent / SECTIONS)] if scanned.documents else []
        # sorted: the system resolves neighbouring names faster
        self._scanned_paths = sorted([*(base + path for path in _watched_paths(scanned)), *sections_file])
        self._stats = _stats(self._scanned_paths)
        # a recent file may have changed during the scan, or change again within the same timestamp
        stable = bool(self._stats) and all(_is_stable(changed, now) for _, changed in self._stats)
        self._since = now if stable else 0


def _compare_all(root: Path, index: Index, scanned: Scan) -> Freshness:
    changes = compare(root, scanned, index)
    documents = changed_documents(root, scanned, stored_documents(index.folder.parent.parent))
    stale = sorted([*changes.changed, *changes.removed, *documents])
    if changes.configs:
        stale.append("(project manifests)")
    if index.meta.get("version") != index_version():
        stale.append("(indexed by another version of assay)")
    return Freshness(stale)


def _watched_paths(scanned: Scan) -> list[str]:
    """Return the paths whose stats reveal any change of a scan: folders change if files are added or removed."""
    large = [path for path, reason in scanned.skipped.items() if reason.startswith("large")]
    return [*scanned.folders, *scanned.rules, *large, *scanned.files, *scanned.configs, *scanned.documents]


def _is_stable(changed: int, now: int) -> bool:
    """Return whether a modification is old enough that another one would change the timestamp."""
    return changed < now - RACY_SECONDS * 10**9


def _stats(paths: list[str]) -> list[Stat]:
    """Return size and mtime of each path; empty, which never equals earlier stats, if one cannot be read."""
    try:
        return [(info.st_size, info.st_mtime_ns) for info in map(os.lstat, paths)]
    except OSError:
        return []
