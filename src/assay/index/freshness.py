"""Compare an index with the files it was built from."""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from assay.git import Listing
from assay.index.contents import Contents
from assay.index.scan import Scan, read_configs, scan
from assay.index.version import extractor_version, index_version, word_files
from assay.languages import language_of
from assay.store.generation import Generation
from assay.store.index import Index
from assay.store.layout import RACY_SECONDS, SECTIONS, content_hash

if TYPE_CHECKING:
    from assay.store.sections import IndexedDocuments


@dataclass(slots=True)
class Changes:
    """Differences between the tree and the index."""

    changed: list[str] = field(default_factory=list)  # new or different files
    removed: list[str] = field(default_factory=list)
    manifests: bool = False  # a project manifest
    configs: bool = False  # what resolution reads of a manifest: module names and aliases

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed or self.manifests)


def compare(scanned: Scan, previous: Generation, contents: Contents) -> Changes:
    """Return the differences between the tree and an index: by stat first, by content if the stat is inconclusive."""
    indexed_at = int(previous.meta.get("indexed_at", "0"))
    skipped = {
        path: (size, mtime)
        for path, size, mtime in previous.catalogue.connection.execute(
            "SELECT path, size, mtime FROM skipped WHERE size >= 0"
        )
    }
    changes = Changes()
    for path, file in scanned.files.items():
        indexed = previous.files.get(path)
        if indexed is not None:
            if not contents.is_same(file, (indexed.size, indexed.mtime, indexed.hash), indexed_at):
                changes.changed.append(path)
        elif skipped.get(path) != file[1:]:
            changes.changed.append(path)
    changes.removed = sorted((set(previous.files) | set(skipped)) - set(scanned.files))
    _compare_manifests(scanned, previous, contents, indexed_at, changes)
    return changes


def _compare_manifests(
    scanned: Scan, previous: Generation, contents: Contents, indexed_at: int, changes: Changes
) -> None:
    """Add the differences between the manifests of the tree and those of an index."""
    rows = previous.catalogue.connection.execute("SELECT path, size, mtime, text FROM configs").fetchall()
    stored = {path: text for path, _, _, text in rows}
    if scanned.configs.keys() == stored.keys() and all(
        scanned.configs[path][1:] == (size, mtime)
        or contents.is_same(scanned.configs[path], (size, mtime, content_hash(text.encode())), indexed_at)
        for path, size, mtime, text in rows
    ):
        return
    from assay.index.imports import read_by_resolution

    texts = read_configs(contents.root, scanned)
    different = [path for path in {**stored, **texts} if stored.get(path) != texts.get(path)]
    changes.manifests = bool(different)
    changes.configs = any(
        read_by_resolution(path, stored.get(path, "")) != read_by_resolution(path, texts.get(path, ""))
        for path in different
    )


REBUILD_SHARE = 0.3  # share of files to resolve again above which a full index is faster


def is_full_index_faster(changes: Changes, scanned: Scan) -> bool:
    """Return whether an update is not worth it: project manifests, which resolution depends on, or many files changed."""
    return changes.configs or len(changes.changed) > REBUILD_SHARE * len(scanned.files) + 5


def stored_documents(folder: Path) -> IndexedDocuments:
    """Return the documents whose sections are stored in an index's folder by this version."""
    from assay.store import sections  # imports numpy, which a cached answer does not need

    return sections.read_indexed_documents(folder / sections.NAME, extractor_version()) or sections.IndexedDocuments(
        {}, 0
    )


def changed_documents(scanned: Scan, indexed: IndexedDocuments, contents: Contents) -> set[str]:
    """Return new, removed and changed documents: by stat first, by content if the stat is inconclusive."""
    changed = indexed.documents.keys() - scanned.documents.keys()
    for path, file in scanned.documents.items():
        row = indexed.documents.get(path)
        if row is None or not contents.is_same(file, (row.size, row.mtime, row.hash), indexed.indexed_at):
            changed.add(path)
    return changed


# Freshness

# nanoseconds that a scan stays valid: changes of git's settings and in subfolders of empty folders show in no stat
_SCAN_VALID = 60 * 10**9

Stat = tuple[int, int]  # size and mtime


@dataclass(frozen=True, slots=True)
class Freshness:
    """Files that changed since they were indexed, and the predicted time of an update."""

    stale: list[str]
    seconds: float = 0.0  # infinite if a full index is needed

    @property
    def fresh(self) -> bool:
        return not self.stale


class TreeCheck:
    """Files compared with their index, those of one repository or of several. Every step is done when first needed."""

    def __init__(self, scan: Callable[[], Scan], compare: Callable[[], Freshness], hash: Callable[[], str]) -> None:
        self._scan, self._compare, self._hash = scan, compare, hash

    @cached_property
    def found(self) -> Scan:
        """The scan of a single repository."""
        return self._scan()

    @cached_property
    def freshness(self) -> Freshness:
        """Differences from the index: by stat, and by content if the stat is inconclusive."""
        return self._compare()

    @cached_property
    def state(self) -> str:
        """Hash of paths and stats, which differs whenever a file does.

        Empty while a file is too recent for its stat to be reliable.
        """
        return self._hash()


def check_tree(root: Path, index: Index, listing: Listing | None = None) -> TreeCheck:
    """Scan a tree now, and compare it with its index when needed."""
    scanned = scan(root, listing)
    return TreeCheck(
        lambda: scanned, lambda: _compare_all(root, index.generation, scanned), lambda: _tree_state(scanned)
    )


def unchanged_tree(root: Path, state: str) -> TreeCheck:
    """Return the check of a tree that is known to be unchanged."""
    return TreeCheck(lambda: scan(root), lambda: Freshness([]), lambda: state)


def joined_checks(checks: Mapping[str, TreeCheck], settings: str) -> TreeCheck:
    """Join the checks of several repositories, which have no common scan; changed files are named `label/path`."""
    return TreeCheck(
        Scan,
        lambda: Freshness(
            [f"{label}/{path}" for label, check in checks.items() for path in check.freshness.stale],
            sum(check.freshness.seconds for check in checks.values()),
        ),
        lambda: _joined_state(checks, settings),
    )


def _joined_state(checks: Mapping[str, TreeCheck], settings: str) -> str:
    states = [f"{label} {check.state}" for label, check in checks.items() if check.state]
    text = "\0".join([settings, *states])
    return blake2b(text.encode(), digest_size=16).hexdigest() if len(states) == len(checks) else ""


def _tree_state(scanned: Scan) -> str:
    files = [*scanned.files.values(), *scanned.configs.values(), *scanned.documents.values()]
    if not all(_is_stable(file.mtime, scanned.at) for file in files):
        return ""
    stats = [*(file[1:] for file in files), *_stats([str(path) for path in word_files()])]
    digest = blake2b("\0".join([file.path for file in files]).encode("utf-8", "surrogatepass"), digest_size=16)
    digest.update(array("q", chain.from_iterable(stats)).tobytes())
    return digest.hexdigest()


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
            self._last, self._listing = check_tree(self._root, self._index, self._listing), None
            if repeated:  # a command checks only once
                self._remember(self._last.found, now)
        return self._last

    def _remember(self, scanned: Scan, now: int) -> None:
        base = os.path.join(self._root, "")
        sections_file = [str(self._index.generation.home / SECTIONS)] if scanned.documents else []
        # sorted: the system resolves neighbouring names faster
        self._scanned_paths = sorted([*(base + path for path in _watched_paths(scanned)), *sections_file])
        self._stats = _stats(self._scanned_paths)
        # a recent file may have changed during the scan, or change again within the same timestamp
        stable = bool(self._stats) and all(_is_stable(changed, now) for _, changed in self._stats)
        self._since = now if stable else 0


def _compare_all(root: Path, index: Generation, scanned: Scan) -> Freshness:
    contents = Contents(root, index.home, scanned)
    changes = compare(scanned, index, contents)
    documents = changed_documents(scanned, stored_documents(index.home), contents)
    contents.save()
    stale = sorted([*changes.changed, *changes.removed, *documents])
    is_full = is_full_index_faster(changes, scanned)
    if changes.manifests:
        stale.append("(project manifests)")
    if index.meta.get("version") != index_version():
        stale.append("(indexed by another version of assay)")
        is_full = True
    if index.meta.get("flags", "") != ",".join(scanned.flags):
        stale.append("(flag patterns of assay.toml)")
        is_full = True
    return Freshness(stale, inf if is_full else _predicted_seconds(index, scanned, changes, documents))


# Seconds of an update, on one core: measured by benchmarks/refresh.py on repositories of 400 to 2,300 files
_START = 0.15  # imports, the lock, reading and writing of whatever size
_PER_CATALOGUE_BYTE = 13e-9  # the index is copied; its catalogue is more than half of it
_PER_FILE, _PER_BYTE = 3e-3, 2e-6  # changed files are parsed and resolved


def _predicted_seconds(index: Generation, scanned: Scan, changes: Changes, documents: set[str]) -> float:
    """Predict the time of an update. It takes longer if many other files depend on what changed, which is not known."""
    if not changes and not documents:
        return 0.0
    entries = [scanned.files.get(path) or scanned.documents.get(path) for path in (*changes.changed, *documents)]
    languages = {language.name: language for path in changes.changed if (language := language_of(path))}
    return (
        _START
        + sum(language.query_seconds for language in languages.values())
        + _PER_CATALOGUE_BYTE * int(index.meta.get("catalogue_bytes", "0"))
        + _PER_FILE * (len(entries) + len(changes.removed))
        + _PER_BYTE * sum(entry.size for entry in entries if entry)
    )


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
