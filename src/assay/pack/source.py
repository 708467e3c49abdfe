"""Source lines of items from the working tree, only where they are still the indexed ones."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from assay.core.items import Item
from assay.core.packs import Source
from assay.store.index import Index
from assay.store.layout import content_hash, decode, read_bytes, surely_same

CHANGED = "changed since it was indexed"
MISSING = "file is missing"
OUTSIDE = "outside the root"
UNKNOWN = "not in the index"
UNREADABLE = "cannot be read"

_MOST = 1 << 17  # cached lines: some 15 MB
_line_cache: dict[bytes, list[str]] = {}  # lines by content hash, so entries never become stale


def source_of(index: Index) -> Source:
    """Return the source of an index's items."""
    trees = {part.label: WorkingTree(part.index) for part in index.parts}
    return MultiRepoSource(trees) if len(trees) > 1 or "" not in trees else trees[""]


class MultiRepoSource:
    """Sources of several repositories, by the label that prefixes their paths."""

    def __init__(self, trees: Mapping[str, WorkingTree]) -> None:
        self._trees = trees

    def note(self, item: Item) -> str:
        return self._trees[item.repository].note(_unlabelled(item))

    def text(self, item: Item) -> str:
        return self._trees[item.repository].text(_unlabelled(item))


def _unlabelled(item: Item) -> Item:
    """Return the item with its path inside its repository."""
    return replace(item, path=item.path.removeprefix(f"{item.repository}/"))


class WorkingTree:
    """Source lines of an index's items. Every file is checked once, so use one instance per answer."""

    def __init__(self, index: Index) -> None:
        self._files, self._root = index.files, os.path.realpath(index.root)
        self._indexed_at = int(index.meta.get("indexed_at", "0"))
        self._notes: dict[str, str] = {}
        self._lines: dict[str, list[str]] = {}
        self._is_inside = cache(self._is_inside_root)

    def note(self, item: Item) -> str:
        """Return why the item's lines cannot be shown, or empty. Reads the file only if its stat is inconclusive."""
        if item.path not in self._notes:
            self._notes[item.path] = self._check(item.path)
        return self._notes[item.path]

    def text(self, item: Item) -> str:
        """Return the item's lines; empty when they are not what was indexed."""
        if self.note(item):
            return ""
        if item.path not in self._lines:  # its stat was conclusive, so it was not read
            lines = _line_cache.get(self._files[item.path].hash)
            if lines is None:
                self._notes[item.path] = self._read(item.path)
            else:
                self._lines[item.path] = lines
        return "\n".join(self._lines.get(item.path, [])[item.start - 1 : item.end])

    def _check(self, path: str) -> str:
        indexed = self._files.get(path)
        if indexed is None:
            return UNKNOWN
        if not self._is_inside(os.path.dirname(path)):
            return OUTSIDE
        try:
            stat = os.lstat(f"{self._root}/{path}")
        except (OSError, ValueError):
            return MISSING
        same = surely_same((indexed.size, indexed.mtime), (stat.st_size, stat.st_mtime_ns), self._indexed_at)
        return "" if same else self._read(path)

    def _is_inside_root(self, folder: str) -> bool:
        """Return whether a folder, links resolved, is inside the root; files are never opened through a link."""
        return os.path.commonpath((self._root, os.path.realpath(f"{self._root}/{folder}"))) == self._root

    def _read(self, path: str) -> str:
        """Cache the file's lines, or return why not. The lines shown are those hashed, so no race with a writer."""
        indexed = self._files.get(path)
        if indexed is None:
            return UNKNOWN
        try:
            content = read_bytes(Path(self._root), path, indexed.size + 1)  # one byte more detects a longer file
            data = decode(content).data
        except FileNotFoundError:
            return MISSING
        except (OSError, ValueError):
            return UNREADABLE
        if content_hash(data) != indexed.hash:
            return CHANGED
        self._lines[path] = _cache_lines(indexed.hash, data.decode().replace("\r\n", "\n").split("\n"))
        return ""


def _cache_lines(content: bytes, lines: list[str]) -> list[str]:
    """Cache lines by content hash for later answers, and return them."""
    if sum(map(len, _line_cache.values())) > _MOST:
        _line_cache.clear()
    _line_cache[content] = lines
    return lines
