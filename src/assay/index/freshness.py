"""Whether an index still says what the files say."""

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


# Whether an index still says what the files say.

_BELIEVED = 60 * 10**9  # nanoseconds: git's own settings, and what is in folders inside empty ones, show in no stat

Stat = tuple[int, int]  # size and time


@dataclass(frozen=True, slots=True)
class Freshness:
    """The files that changed since they were indexed."""

    stale: list[str]

    @property
    def fresh(self) -> bool:
        return not self.stale


class Look:
    """One look at a tree: its files as they are, and what that means for an index."""

    def __init__(self, root: Path, index: Index, listing: Listing | None = None) -> None:
        self._root, self._index = root, index
        self.at = time.time_ns()
        self.found = scan(root, listing)

    @cached_property
    def freshness(self) -> Freshness:
        """Compares the tree with the index: by stat, and by content where the stat is in doubt."""
        return _compared(self._root, self._index, self.found)

    @cached_property
    def state(self) -> str:
        """Differs whenever the freshness or a file does, and needs no comparison; empty while a file is so young that its stat may not tell."""
        found = self.found
        files = [*found.files.values(), *found.configs.values(), *found.documents.values()]
        if not all(_is_settled(file.mtime, self.at) for file in files):
            return ""
        stats = [*(file[1:] for file in files), *_stats([str(path) for path in word_files()])]
        told = blake2b("\0".join([file.path for file in files]).encode("utf-8", "surrogatepass"), digest_size=16)
        told.update(array("q", chain.from_iterable(stats)).tobytes())
        return told.hexdigest()


class MultiLook(Look):
    """A look at the trees of several repositories; changed files are named by `label/path`."""

    def __init__(self, looks: Mapping[str, Look], settings: str) -> None:
        self._looks, self._settings = looks, settings
        self.at = min(look.at for look in looks.values())

    @cached_property
    def freshness(self) -> Freshness:
        return Freshness([f"{label}/{path}" for label, look in self._looks.items() for path in look.freshness.stale])

    @cached_property
    def state(self) -> str:
        """Empty while one of the looks cannot tell."""
        states = [self._settings, *(f"{label} {look.state}" for label, look in self._looks.items() if look.state)]
        return blake2b("\0".join(states).encode(), digest_size=16).hexdigest() if len(states) > len(self._looks) else ""


def freshness(root: Path, index: Index) -> Freshness:
    """The files that changed since they were indexed."""
    return Look(root, index).freshness


class Watch:
    """An index whose freshness is asked again and again: a look holds while all that was looked at has the same stat.

    The first look takes a listing of the files that was begun before.
    """

    def __init__(self, root: Path, index: Index, listing: Listing | None = None) -> None:
        self._root, self._index, self._listing = root, index, listing
        self._last: Look | None = None
        self._looked_at: list[str] = []
        self._stats: list[Stat] = []
        self._since = 0  # what is kept is not believed

    def freshness(self) -> Freshness:
        return self.look().freshness

    def look(self) -> Look:
        now = time.time_ns()
        believed = self._since <= now < self._since + _BELIEVED and _stats(self._looked_at) == self._stats
        if self._last is None or not believed:
            asked_before = self._last is not None
            self._last, self._listing = Look(self._root, self._index, self._listing), None
            if asked_before:  # a command asks once: it need not remember
                self._remember(self._last.found, now)
        return self._last

    def _remember(self, found: Scan, now: int) -> None:
        base = os.path.join(self._root, "")
        beside = [str(self._index.folder.parent.parent / SECTIONS)] if found.documents else []
        # in order: the system finds a name faster beside the one it found before
        self._looked_at = sorted([*(base + path for path in _telling(found)), *beside])
        self._stats = _stats(self._looked_at)
        # what changed only just may have changed while it was looked at, or change again within the same timestamp
        settled = bool(self._stats) and all(_is_settled(changed, now) for _, changed in self._stats)
        self._since = now if settled else 0


def _compared(root: Path, index: Index, found: Scan) -> Freshness:
    changes = compare(root, found, index)
    documents = changed_documents(root, found, known_documents(index.folder.parent.parent))
    stale = sorted([*changes.changed, *changes.removed, *documents])
    if changes.configs:
        stale.append("(project manifests)")
    if index.meta.get("version") != index_version():
        stale.append("(indexed by another version of assay)")
    return Freshness(stale)


def _telling(found: Scan) -> list[str]:
    """What another scan could only differ by if the stat of one of these did: folders change when files come and go."""
    large = [path for path, reason in found.skipped.items() if reason.startswith("large")]
    return [*found.folders, *found.rules, *large, *found.files, *found.configs, *found.documents]


def _is_settled(changed: int, now: int) -> bool:
    """Whether a file that changed then cannot have changed again since without a trace."""
    return changed < now - RACY_SECONDS * 10**9


def _stats(paths: list[str]) -> list[Stat]:
    """Size and time of each; nothing, which is like nothing before, when one cannot be looked at."""
    try:
        return [(found.st_size, found.st_mtime_ns) for found in map(os.lstat, paths)]
    except OSError:
        return []
