"""Documentation of items: sections of documents whose heading or text names them.

A mention counts if it says enough: qualified by the item's container or module (`Flask.route`, `flask.url_for`), or a
name that is no ordinary word (`url_for`, `BlueprintState`) and has one definition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.core.items import EDGE_TYPES, Item, Link, heading_slug
from assay.store.index import Index

_MOST = 8  # sections of an item: a manual's index of names has hundreds
_IN_HEADING, _QUALIFIED, _BARE = 1.0, 0.9, 0.75  # confidence by how the section names the item
_CODE_NAME = re.compile(r"[^\W_]\w*_\w*[^\W_]|\w*[a-z0-9][A-Z]\w*")  # snake_case or inner capitals
_WORD = re.compile(r"\w+")
_CHANGELOG = re.compile(r"(?:change(?:s|log)|history|news|release[\w-]*|upgrad\w*|migrat\w*|todo)\b", re.IGNORECASE)
_EXAMPLES = frozenset(
    {"example", "examples", "sample", "samples", "demo", "demos", "playground", "benchmarks", "fixtures"}
)
_INHERITS = EDGE_TYPES["inherits"].code


def links(index: Index, id: str) -> Iterator[Link]:
    """Yield the sections that document an item, surest and most specific first."""
    item = index.by_id(id)
    if item is None or not item.symbol or item.test:
        return
    mentions = index.sections.mentions(item.name)
    if not mentions:
        return
    owners = _owners(index, item)
    best: dict[int, float] = {}
    for section, mention, symbols in mentions:
        if item.number in symbols and (confidence := _confidence(index, item, mention, symbols, owners)):
            place = index.sections[section]
            if _is_changelog(place.path) or not _is_near(item.path, place.path):
                continue
            named = bool(place.headings) and item.name in _WORD.findall(place.headings[-1])
            best[section] = max(best.get(section, 0.0), _IN_HEADING if named else confidence)
    order = sorted(best, key=lambda section: (-best[section], len(index.sections.names(section)), section))
    for number in order[:_MOST]:
        place = index.sections[number]
        source = f"{place.path}#{heading_slug(place.headings)}" if place.headings else place.path
        yield Link(
            source, id, "documents", "inferred", best[number], place.path, place.first, " › ".join(place.headings)
        )  # fmt: skip


def _confidence(index: Index, item: Item, mention: str, symbols: list[int], owners: set[str]) -> float:
    """Return the confidence that a mention means an item; 0 if it says too little, or may mean another one."""
    if len(symbols) > 1 and len(set(index.symbols_of(symbols).values())) > 1:
        return 0.0  # otherwise accessors, overloads: definitions of one name
    qualifiers = [qualifier.lower() for qualifier in mention.split(".")[:-1]]
    if qualifiers:
        is_member = "." in item.symbol or "::" in item.symbol
        places = owners if is_member else {word.lower() for word in _WORD.findall(item.path)}
        fits = qualifiers[-1] in places if is_member else not places.isdisjoint(qualifiers)
        return _QUALIFIED if fits else 0.0
    return _BARE if _CODE_NAME.fullmatch(item.name) else 0.0


def _is_changelog(path: str) -> bool:
    """Return whether a document lists changes: it names everything that ever changed, and documents none of it."""
    return _CHANGELOG.match(path.rpartition("/")[2]) is not None or "/changelog" in f"/{path.lower()}"


def _is_near(code: str, document: str) -> bool:
    """Return whether a document may mean a definition: that of an example only if it is about that example."""
    parts = {*code.lower().split("/")[:-1]}
    if _EXAMPLES.isdisjoint(parts):
        return True
    return not (parts - _EXAMPLES).isdisjoint(_WORD.findall(document.lower()))


def _owners(index: Index, item: Item) -> set[str]:
    """Return the names, in lower case, of the types that have an item: its container and those that inherit it."""
    containers = [part.lower() for part in _WORD.findall(item.symbol)[:-1]]
    edges = index.edges.into(item.number)
    heirs = [int(edge["source"]) for edge in edges[edges["type"] == _INHERITS]]
    return {*containers[-1:], *(name.lower() for name in index.names_of(heirs).values())}
