"""Source lines of items from the working tree, only where they are still the indexed ones."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from assay.core.items import Item
from assay.store.index import Index, Part
from assay.store.layout import content_hash, decode, read_bytes, surely_same

CHANGED = "changed since it was indexed"
MISSING = "file is missing"
OUTSIDE = "outside the root"
UNKNOWN = "not in the index"
UNREADABLE = "cannot be read"

_MOST = 1 << 17  # cached lines: some 15 MB
_line_cache: dict[bytes, list[str]] = {}  # lines by content hash, so entries never become stale


class WorkingTree:
    """Source lines of an index's items. Every file is checked once, so use one instance per answer."""

    def __init__(self, index: Index) -> None:
        self._files = index.files
        self._trees = {part.label: _Tree(part) for part in index.parts}
        self._notes: dict[str, str] = {}
        self._lines: dict[str, list[str]] = {}

    def note(self, item: Item) -> str:
        """Return why the item's lines cannot be shown, or empty. Reads the file only if its stat is inconclusive."""
        if item.path not in self._notes:
            self._notes[item.path] = self._check(item)
        return self._notes[item.path]

    def text(self, item: Item) -> str:
        """Return the item's lines; empty when they are not what was indexed."""
        if self.note(item):
            return ""
        if item.path not in self._lines:  # its stat was conclusive, so it was not read
            lines = _line_cache.get(self._files[item.path].hash)
            if lines is None:
                self._notes[item.path] = self._read(item)
            else:
                self._lines[item.path] = lines
        return "\n".join(self._lines.get(item.path, [])[item.start - 1 : item.end])

    def _check(self, item: Item) -> str:
        indexed = self._files.get(item.path)
        if indexed is None:
            return UNKNOWN
        tree = self._trees[item.repository]
        path = tree.local(item.path)
        if not tree.is_inside(os.path.dirname(path)):
            return OUTSIDE
        try:
            stat = os.lstat(f"{tree.root}/{path}")
        except (OSError, ValueError):
            return MISSING
        same = surely_same((indexed.size, indexed.mtime), (stat.st_size, stat.st_mtime_ns), tree.indexed_at)
        return "" if same else self._read(item)

    def _read(self, item: Item) -> str:
        """Cache the file's lines, or return why not. The lines shown are those hashed, so no race with a writer."""
        indexed, tree = self._files[item.path], self._trees[item.repository]
        try:
            # one byte more detects a longer file
            content = read_bytes(Path(tree.root), tree.local(item.path), indexed.size + 1)
            data = decode(content).data
        except FileNotFoundError:
            return MISSING
        except (OSError, ValueError):
            return UNREADABLE
        if content_hash(data) != indexed.hash:
            return CHANGED
        self._lines[item.path] = _cache_lines(indexed.hash, data.decode().replace("\r\n", "\n").split("\n"))
        return ""


class _Tree:
    """The folder of one repository: where it is, and when it was indexed."""

    def __init__(self, part: Part) -> None:
        self.root = os.path.realpath(part.generation.root)
        self.indexed_at = int(part.generation.meta.get("indexed_at", "0"))
        self.is_inside = cache(self._is_inside)
        self._prefix = part.path("")

    def local(self, path: str) -> str:
        """Return a path of the index as a path in the repository."""
        return path.removeprefix(self._prefix)

    def _is_inside(self, folder: str) -> bool:
        """Return whether a folder, links resolved, is inside the root; files are never opened through a link."""
        return os.path.commonpath((self.root, os.path.realpath(f"{self.root}/{folder}"))) == self.root


def _cache_lines(content: bytes, lines: list[str]) -> list[str]:
    """Cache lines by content hash for later answers, and return them."""
    if sum(map(len, _line_cache.values())) > _MOST:
        _line_cache.clear()
    _line_cache[content] = lines
    return lines
