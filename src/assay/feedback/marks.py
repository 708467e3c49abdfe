"""What a record is about: a symbol as its text was. When the text changes, the record speaks of something that is no more."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.core.items import Item
from assay.core.packs import Source
from assay.store.index import Index
from assay.store.layout import content_hash

_FOUND = (
    "SELECT s.id, s.number, f.hash FROM symbols s JOIN files f ON f.number = s.file "
    "WHERE s.id IN (SELECT value FROM json_each(?))"
)


class Mark(NamedTuple):
    """A symbol's id with the hashes of its own text and of its whole file."""

    id: str
    text: bytes  # that of the file where the symbol's own lines could not be had
    file: bytes
    gone: bytes = b""  # the file in which the symbol was last seen with another text


def mark_of(index: Index, source: Source, item: Item) -> Mark:
    """An item as it is now."""
    known = index.catalogue.file(item.path)
    file = known.hash if known is not None else b""
    text = source.text(item)
    return Mark(item.id, content_hash(text.encode("utf-8", "replace")) if text else file, file)


@dataclass(frozen=True, slots=True)
class Standing:
    """Which records still hold, by their keys, each with the hash of the file its symbol is in now.

    Those in neither part cannot be told: their file changed again since it was indexed.
    """

    numbers: dict[int, int]  # the items they speak of
    files: dict[int, bytes]
    expired: dict[int, bytes]


def standing(index: Index, source: Source, marks: Mapping[int, Mark]) -> Standing:
    """Compares records with the index: by the hash of the file, and where that is a new one by the symbol's own text."""
    found = located(index, {mark.id for mark in marks.values()})
    here = {key: found.get(mark.id, (0, b"")) for key, mark in marks.items()}
    unseen = {number for key, (number, file) in here.items() if file not in (marks[key].file, marks[key].gone)}
    texts = _texts(index, source, unseen)
    now = Standing({}, {}, {})
    for key, (number, file) in here.items():
        mark, text = marks[key], texts.get(number, b"")
        if number and (file == mark.file or text == mark.text):
            now.numbers[key], now.files[key] = number, file
        elif not number or text != file:
            now.expired[key] = file
    return now


def located(index: Index, ids: Iterable[str]) -> dict[str, tuple[int, bytes]]:
    """The number and the hash of the file of those items that exist, by id."""
    rows = index.catalogue.connection.execute(_FOUND, (json.dumps(sorted(ids)),))
    return {one: (number, file) for one, number, file in rows}


def _texts(index: Index, source: Source, numbers: Iterable[int]) -> dict[int, bytes]:
    """The hashes of what items say now."""
    items = index.items("s.number IN (SELECT value FROM json_each(?))", (json.dumps(sorted(numbers)),))
    return {item.number: mark_of(index, source, item).text for item in items}


# Which symbols a text speaks of: what an agent wrote or read, searched for the names it was given.

_READ = 1_000_000  # characters of a text
_SHORTEST = 2
_WORD = re.compile(r"[^\W\d][\w$]*+[?!]?")
# a plain word is a name where it is called, reached through something or defined; nothing here goes back, so any text takes linear time
_AS_CODE = re.compile(
    r"(?:\.|::|->|#|@|\b(?:def|class|fn|func|fun|function|struct|trait|enum|interface|type|module)\s++)([^\W\d][\w$]*+)"
    r"|(?<![\w$])([^\W\d][\w$]*+)(?=[?!]?\s?\()"
)


def mentioned(text: str, items: Sequence[Item]) -> list[Item]:
    """The items that a text names. Where several have the same name, those whose owner it names as well."""
    text = text[:_READ]
    everything = {word for match in _WORD.findall(text) for word in (match, match.rstrip("?!"))}
    as_code = {name for pair in _AS_CODE.findall(text) for name in pair if name}
    shared = Counter(item.name for item in items)
    return [
        item
        for item in items
        if len(item.name) >= _SHORTEST
        and item.name in (as_code if _is_plain(item.name) else everything)
        and (shared[item.name] == 1 or _owner(item) in everything)
    ]


def _is_plain(name: str) -> bool:
    """Whether a name could as well be a word of prose or a local variable: `total`, not `Cart`, `before_request` or `MAX`."""
    return name.isalpha() and name.islower()


def _owner(item: Item) -> str:
    """The last name before the item's own; of one at the top of its file, the file's."""
    owners = re.split(r"\.|::|#", item.symbol)[:-1]
    return owners[-1] if owners else item.path.rpartition("/")[2].partition(".")[0]
