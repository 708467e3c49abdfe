"""Which symbols a text speaks of: what an agent wrote or read, searched for the names it was given."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from assay.core.items import Item

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
