"""What a record is about: a symbol as its text was. When the text changes, the record speaks of something that is no more."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assay.core.items import Item
from assay.core.packs import Source
from assay.store.files import content_hash
from assay.store.index import Index

_FOUND = (
    "SELECT s.id, s.number, f.hash FROM symbols s JOIN files f ON f.number = s.file "
    "WHERE s.id IN (SELECT value FROM json_each(?))"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """A symbol's id with the hashes of its own text and of its whole file."""

    id: str
    text: bytes  # that of the file where the symbol's own lines could not be had
    file: bytes


def mark_of(index: Index, source: Source, item: Item) -> Mark:
    """An item as it is now."""
    known = index.catalogue.file(item.path)
    file = known.hash if known is not None else b""
    text = source.text(item)
    return Mark(item.id, content_hash(text.encode("utf-8", "replace")) if text else file, file)


@dataclass(frozen=True, slots=True)
class Standing:
    """Which records still hold, by their keys. Those in neither part cannot be told: their file changed again since it was indexed."""

    numbers: dict[int, int]  # of the items they speak of
    files: dict[int, bytes]  # likewise, the hashes of the files those are in
    expired: frozenset[int]


def standing(index: Index, source: Source, marks: Mapping[int, Mark]) -> Standing:
    """Compares records with the index: by the hash of the file, and where that is another by the symbol's own text."""
    found = located(index, {mark.id for mark in marks.values()})
    here = {key: found[mark.id] for key, mark in marks.items() if mark.id in found}
    moved = {number for key, (number, file) in here.items() if file != marks[key].file}
    texts = {number: mark_of(index, source, index.item(number)) for number in moved}
    numbers, files, expired = {}, {}, set(marks.keys() - here.keys())
    for key, (number, file) in here.items():
        if file == marks[key].file or texts[number].text == marks[key].text:
            numbers[key], files[key] = number, file
        elif texts[number].text != file:
            expired.add(key)
    return Standing(numbers, files, frozenset(expired))


def located(index: Index, ids: Iterable[str]) -> dict[str, tuple[int, bytes]]:
    """The number and the hash of the file of those items that exist, by id."""
    rows = index.catalogue.connection.execute(_FOUND, (json.dumps(sorted(ids)),))
    return {one: (number, file) for one, number, file in rows}
