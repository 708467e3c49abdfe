"""Documentation of items: sections of documents whose heading or text names them.

A mention counts if it says enough: qualified by the item's container or module (`Flask.route`, `flask.url_for`), or
marked as code and the name of a type, or of a function that is no ordinary word (`url_for`), with one definition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.core.items import DATA_KINDS, EDGE_TYPES, TYPE_KINDS, Item, Link, heading_slug
from assay.store.index import Index
from assay.store.sections import Mention

_MOST = 8  # sections of an item: a manual's index of names has hundreds
_IN_HEADING, _QUALIFIED, _BARE = 1.0, 0.9, 0.75  # confidence by how the section names the item
_INNER_CAPITAL = re.compile(r"[a-z0-9][A-Z]")
_WORD = re.compile(r"\w+")
_CHANGELOG = re.compile(
    r"(?:change(?:s|log)|history|news|release[\w-]*|whats[-_]?new[\w.-]*|upgrad\w*|migrat\w*|todo)\b", re.IGNORECASE
)
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
    for mention in mentions:
        place = index.sections[mention.section]
        if item.number not in mention.symbols or _is_changelog(place.path) or not _is_near(item.path, place.path):
            continue
        in_heading = bool(place.headings) and item.name in _WORD.findall(place.headings[-1])
        confidence = _confidence(index, item, mention, owners, in_heading)
        if confidence:
            best[mention.section] = max(best.get(mention.section, 0.0), _IN_HEADING if in_heading else confidence)
    order = sorted(best, key=lambda section: (-best[section], len(index.sections.names(section)), section))
    for number in order[:_MOST]:
        place = index.sections[number]
        source = f"{place.path}#{heading_slug(place.headings)}" if place.headings else place.path
        yield Link(
            source, id, "documents", "inferred", best[number], place.path, place.first, " › ".join(place.headings)
        )  # fmt: skip


def _confidence(index: Index, item: Item, mention: Mention, owners: set[str], in_heading: bool) -> float:
    """Return the confidence that a mention means an item; 0 if it says too little, or may mean another one."""
    if len(mention.symbols) > 1 and not _is_unrivalled(index, item, mention.symbols):
        return 0.0
    is_data = item.kind in DATA_KINDS
    qualifiers = mention.name.split(".")[:-1]
    if not qualifiers:
        # settings and other data share their names with keys and local variables of examples
        is_code = _is_code_name(item.name)
        is_type = item.kind in TYPE_KINDS and item.name[:1].isupper()
        says_enough = (mention.marked and (is_code or is_type)) or (in_heading and is_code)
        return _BARE if says_enough and not is_data else 0.0
    if "." in item.symbol or "::" in item.symbol:
        # an instance is often called like its type (`app.route`), but so is one of another type with such a field
        fits = qualifiers[-1] in owners if is_data else qualifiers[-1].lower() in map(str.lower, owners)
    else:
        fits = _is_in_module(item, qualifiers, is_data)
    return _QUALIFIED if fits else 0.0


def _is_unrivalled(index: Index, item: Item, symbols: list[int]) -> bool:
    """Return whether an item is the only type or function of several definitions, or all are overloads in one file."""
    rivals = index.numbered(symbols).values()
    if len({rival.path for rival in rivals}) == 1 and len({rival.symbol for rival in rivals}) == 1:
        return True
    return [rival.number for rival in rivals if rival.kind not in DATA_KINDS] == [item.number]


def _is_in_module(item: Item, qualifiers: list[str], is_data: bool) -> bool:
    """Return whether all qualifiers of a mention are parts of the path of an item outside types."""
    *folders, stem = item.path.rpartition(".")[0].lower().split("/")
    lower = [qualifier.lower() for qualifier in qualifiers]
    if item.name.lower() == stem and lower[-1] != stem:
        return False  # the module of that name is meant
    if is_data and lower[-1] != (stem if stem != "__init__" else folders[-1] if folders else ""):
        return False
    return {*folders, stem}.issuperset(lower)


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
    """Return the names of the types that have an item: its container and those that inherit it."""
    containers = _WORD.findall(item.symbol)[:-1]
    edges = index.edges.into(item.number)
    heirs = [int(edge["source"]) for edge in edges[edges["type"] == _INHERITS]]
    return {*containers[-1:], *index.names_of(heirs).values()}


def _is_code_name(name: str) -> bool:
    """Return whether a name is in snake case or has inner capitals, so that it is no word of a sentence."""
    is_snake_case = "_" in name and name == name.strip("_")
    return _WORD.fullmatch(name) is not None and (is_snake_case or _INNER_CAPITAL.search(name) is not None)
