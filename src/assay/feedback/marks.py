"""Versioned symbol references: a record refers to a symbol with a given text and expires when the text changes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.core.items import SPACE_KINDS, TYPE_KINDS, Item
from assay.core.packs import Source
from assay.store.index import Index
from assay.store.layout import content_hash

_LOCATE = (
    "SELECT s.id, s.number, f.hash FROM symbols s JOIN files f ON f.number = s.file "
    "WHERE s.id IN (SELECT value FROM json_each(?))"
)


_WITH_MEMBERS = (
    f"SELECT id FROM symbols s WHERE id IN (SELECT value FROM json_each(?)) AND kind IN ({', '.join(map(repr, sorted(TYPE_KINDS | SPACE_KINDS)))}) "
    "AND EXISTS (SELECT 1 FROM symbols m WHERE m.owner = s.id)"
)


class Mark(NamedTuple):
    """A symbol id with the hashes of its own text and of its file."""

    id: str
    text: bytes  # the file hash where the symbol's own lines are not available
    file: bytes
    gone: bytes = b""  # hash of the file in which the symbol was last seen with another text


def mark_of(index: Index, source: Source, item: Item) -> Mark:
    """Return the mark of an item in its current version."""
    indexed = index.catalogue.file(item.path)
    file = indexed.hash if indexed is not None else b""
    text = source.text(item)
    return Mark(item.id, content_hash(text.encode("utf-8", "replace")) if text else file, file)


@dataclass(frozen=True, slots=True)
class MarkStatus:
    """Records by key, split into current and expired, each with the present hash of the symbol's file.

    Keys in neither part are undecided: their file changed again since it was indexed.
    """

    numbers: dict[int, int]  # item numbers of current records
    files: dict[int, bytes]
    expired: dict[int, bytes]


def compare_marks(index: Index, source: Source, marks: Mapping[int, Mark]) -> MarkStatus:
    """Compare records with the index: by file hash, and for a new hash by the symbol's own text."""
    locations = located(index, {mark.id for mark in marks.values()})
    current = {key: locations.get(mark.id, (0, b"")) for key, mark in marks.items()}
    to_hash = {number for key, (number, file) in current.items() if file not in (marks[key].file, marks[key].gone)}
    texts = _text_hashes(index, source, to_hash)
    result = MarkStatus({}, {}, {})
    for key, (number, file) in current.items():
        mark, text = marks[key], texts.get(number, b"")
        if number and (file == mark.file or text == mark.text):
            result.numbers[key], result.files[key] = number, file
        elif not number or text != file:
            result.expired[key] = file
    return result


def located(index: Index, ids: Iterable[str]) -> dict[str, tuple[int, bytes]]:
    """Return the number and file hash of the items that exist, by id."""
    rows = index.catalogue.connection.execute(_LOCATE, (json.dumps(sorted(ids)),))
    return {id: (number, file) for id, number, file in rows}


def with_members(index: Index, ids: Iterable[str]) -> set[str]:
    """Return the ids of types and namespaces that have members."""
    return {id for (id,) in index.catalogue.connection.execute(_WITH_MEMBERS, (json.dumps(sorted(ids)),))}


def _text_hashes(index: Index, source: Source, numbers: Iterable[int]) -> dict[int, bytes]:
    """Return the hashes of the current texts of items, by number."""
    items = index.items("s.number IN (SELECT value FROM json_each(?))", (json.dumps(sorted(numbers)),))
    return {item.number: mark_of(index, source, item).text for item in items}


# Symbol mentions in a text that an agent wrote.

_READ = 1_000_000  # characters of a text that are searched
_SHORTEST = 2
_WORD = re.compile(r"[^\W\d][\w$]*+[?!]?")
# a plain word is a name where it is called, accessed as a member or defined; no backtracking, so linear time
_AS_CODE = re.compile(
    r"(?:\.|::|->|#|@|\b(?:def|class|fn|func|fun|function|struct|trait|enum|interface|type|module)\s++)([^\W\d][\w$]*+)"
    r"|(?<![\w$])([^\W\d][\w$]*+)(?=[?!]?\s?\()"
)


def mentioned(text: str, items: Sequence[Item]) -> list[Item]:
    """Return the items that a text names; among items of the same name, those whose owner it names too."""
    text = text[:_READ]
    all_words = {word for match in _WORD.findall(text) for word in (match, match.rstrip("?!"))}
    as_code = {name for pair in _AS_CODE.findall(text) for name in pair if name}
    shared = Counter(item.name for item in items)
    return [
        item
        for item in items
        if len(item.name) >= _SHORTEST
        and item.name in (as_code if _is_plain(item.name) else all_words)
        and (shared[item.name] == 1 or _owner(item) in all_words)
    ]


def _is_plain(name: str) -> bool:
    """Return whether a name could be prose or a local variable: `total`, not `Cart`, `before_request` or `MAX`."""
    return name.isalpha() and name.islower()


def _owner(item: Item) -> str:
    """Return the qualifier before the item's name; for a top-level item, the file's stem."""
    owners = re.split(r"\.|::|#", item.symbol)[:-1]
    return owners[-1] if owners else item.path.rpartition("/")[2].partition(".")[0]
