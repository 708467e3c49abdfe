"""The lines of items from the working tree, only where they are still the lines that were indexed."""

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

_MOST = 1 << 17  # lines that are remembered: some 15 MB
_known: dict[bytes, list[str]] = {}  # by the hash of their file: what a file with that hash says never changes


def source_of(index: Index) -> Source:
    """The texts of an index's items, as they are now."""
    trees = {part.label: WorkingTree(part.index) for part in index.parts}
    return TreesOfAll(trees) if len(trees) > 1 or "" not in trees else trees[""]


class TreesOfAll:
    """The texts of several repositories, whose paths begin with their label."""

    def __init__(self, trees: Mapping[str, WorkingTree]) -> None:
        self._trees = trees

    def note(self, item: Item) -> str:
        return self._trees[item.repository].note(_own(item))

    def text(self, item: Item) -> str:
        return self._trees[item.repository].text(_own(item))


def _own(item: Item) -> Item:
    """The item as its repository has it."""
    return replace(item, path=item.path.removeprefix(f"{item.repository}/"))


class WorkingTree:
    """Texts of an index's items. Every file is looked at once; make a new one for a new answer. It needs the index only at first."""

    def __init__(self, index: Index) -> None:
        self._files, self._root = index.files, os.path.realpath(index.root)
        self._indexed_at = int(index.meta.get("indexed_at", "0"))
        self._notes: dict[str, str] = {}
        self._lines: dict[str, list[str]] = {}
        self._inside = cache(self._holds)

    def note(self, item: Item) -> str:
        """Why the item's lines cannot be shown; empty when they can. Reads the file only if its stat leaves a doubt."""
        if item.path not in self._notes:
            self._notes[item.path] = self._look(item.path)
        return self._notes[item.path]

    def text(self, item: Item) -> str:
        """The item's lines; empty when they are not what was indexed."""
        if self.note(item):
            return ""
        if item.path not in self._lines:  # its stat was enough to know it
            lines = _known.get(self._files[item.path].hash)
            if lines is None:
                self._notes[item.path] = self._read(item.path)
            else:
                self._lines[item.path] = lines
        return "\n".join(self._lines.get(item.path, [])[item.start - 1 : item.end])

    def _look(self, path: str) -> str:
        known = self._files.get(path)
        if known is None:
            return UNKNOWN
        if not self._inside(os.path.dirname(path)):
            return OUTSIDE
        try:
            found = os.lstat(f"{self._root}/{path}")
        except (OSError, ValueError):
            return MISSING
        same = surely_same((known.size, known.mtime), (found.st_size, found.st_mtime_ns), self._indexed_at)
        return "" if same else self._read(path)

    def _holds(self, folder: str) -> bool:
        """Whether a folder, links followed, is inside the root; files themselves are never opened through a link."""
        return os.path.commonpath((self._root, os.path.realpath(f"{self._root}/{folder}"))) == self._root

    def _read(self, path: str) -> str:
        """Keeps the file's lines, or says why not. What is shown is what was hashed: a file cannot change in between."""
        known = self._files.get(path)
        if known is None:
            return UNKNOWN
        try:
            data = decode(read_bytes(Path(self._root), path, known.size + 1)).data  # a longer file is another one
        except FileNotFoundError:
            return MISSING
        except (OSError, ValueError):
            return UNREADABLE
        if content_hash(data) != known.hash:
            return CHANGED
        self._lines[path] = _remembered(known.hash, data.decode().replace("\r\n", "\n").split("\n"))
        return ""


def _remembered(content: bytes, lines: list[str]) -> list[str]:
    """The lines, which are kept for other answers."""
    if sum(map(len, _known.values())) > _MOST:
        _known.clear()
    _known[content] = lines
    return lines
