"""Source lines of items from the working tree, only where they are still the indexed ones."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from assay.core.items import Item
from assay.store.catalogue import FileRow
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

    def content(self, path: str) -> bytes | None:
        """Return a file's text as indexed, in UTF-8 with `\\n` as line ends; None if it is no longer that.

        Nothing is cached, so that all files of a repository can be read one after the other.
        """
        indexed = self._files.get(path)
        if indexed is None or not self._is_inside(path):
            return None
        data = self._load(path, indexed)
        return data if isinstance(data, bytes) else None

    def _check(self, item: Item) -> str:
        indexed = self._files.get(item.path)
        if indexed is None:
            return UNKNOWN
        tree = self._tree(item.path)
        if not self._is_inside(item.path):
            return OUTSIDE
        try:
            stat = os.lstat(f"{tree.root}/{tree.local(item.path)}")
        except (OSError, ValueError):
            return MISSING
        same = surely_same((indexed.size, indexed.mtime), (stat.st_size, stat.st_mtime_ns), tree.indexed_at)
        return "" if same else self._read(item)

    def _read(self, item: Item) -> str:
        """Cache the file's lines, or return why not."""
        indexed = self._files[item.path]
        data = self._load(item.path, indexed)
        if isinstance(data, str):
            return data
        self._lines[item.path] = _cache_lines(indexed.hash, data.decode().split("\n"))
        return ""

    def _load(self, path: str, indexed: FileRow) -> bytes | str:
        """Return the file's text, or why not. What is returned is what was hashed, so no race with a writer."""
        tree = self._tree(path)
        try:
            # one byte more detects a longer file
            content = read_bytes(tree.folder, tree.local(path), indexed.size + 1)
            data = decode(content).data
        except FileNotFoundError:
            return MISSING
        except (OSError, ValueError):
            return UNREADABLE
        return data.replace(b"\r\n", b"\n") if content_hash(data) == indexed.hash else CHANGED

    def _is_inside(self, path: str) -> bool:
        tree = self._tree(path)
        return tree.is_inside(os.path.dirname(tree.local(path)))

    def _tree(self, path: str) -> _Tree:
        return self._trees.get("") or self._trees[path.partition("/")[0]]


class _Tree:
    """The folder of one repository: where it is, and when it was indexed."""

    def __init__(self, part: Part) -> None:
        self.root = os.path.realpath(part.generation.root)
        self.folder = Path(self.root)
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
