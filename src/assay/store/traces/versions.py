"""Symbols in the version in which they were observed: what was seen of other code does not count."""

from __future__ import annotations

from assay.core.items import Item
from assay.store.index import Index
from assay.store.layout import content_hash
from assay.store.source import WorkingTree
from assay.store.traces.calls import End


class Versions:
    """The present versions of the items of an index."""

    def __init__(self, index: Index) -> None:
        self._index, self._source = index, WorkingTree(index)

    def end(self, item: Item) -> End:
        """Return an item as an end of calls, by its id in its own repository."""
        local = item.id.removeprefix(f"{item.repository}/") if item.repository else item.id
        return End(item.repository, local, self._text(item), self._file(item))

    def is_current(self, item: Item, end: End) -> bool:
        """Return whether an item is what was observed: by the hash of its file, else by that of its lines."""
        return self._file(item) == end.file or self._text(item) == end.text

    def _file(self, item: Item) -> bytes:
        row = self._index.files.get(item.path)
        return row.hash if row else b""

    def _text(self, item: Item) -> bytes:
        """Return the hash of an item's lines; of its file where they are not what was indexed."""
        text = self._source.text(item)
        return content_hash(text.encode("utf-8", "replace")) if text else self._file(item)
