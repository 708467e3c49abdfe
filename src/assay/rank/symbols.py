"""Finding symbols by name: exact, by qualified suffix, by pattern; and the nearest names when nothing matches."""

from __future__ import annotations

from assay.core.items import Item
from assay.errors import AssayError
from assay.store.index import Index
from assay.text.tokens import LONGEST_NAME

_SUGGESTED = 5
_SHOWN = 80  # characters of a name that is too long to be one


class NoSuchSymbol(AssayError):
    """No symbol of that name; the message offers the nearest."""

    exit_code = 1

    def __init__(self, name: str, near: list[str]) -> None:
        hint = f" Nearest: {', '.join(near)}" if near else ""
        shown = name if len(name) <= LONGEST_NAME else f"{name[:_SHOWN]}… ({len(name):,} characters)"
        super().__init__(f"no symbol called '{shown}'.{hint}")
        self.near = near


def match(index: Index, pattern: str, limit: int = 0) -> list[Item]:
    """Items whose id, name or qualified name matches: exactly, as a qualified suffix, with `*` and `?`, else as a substring."""
    if len(pattern) > LONGEST_NAME:
        return []
    if any(mark in pattern for mark in "*?["):
        return index.matching(pattern)[: limit or None]
    exact = resolve(index, pattern)
    if exact:
        return exact[: limit or None]
    like = "%" + pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    return index.items("s.ordinal >= 0 AND s.symbol LIKE ? ESCAPE '\\'", (like,))[: limit or None]


def resolve(index: Index, name: str) -> list[Item]:
    """The items a person means by `Flask.run`, `run`, `src/app.py::Flask.run` or `src/app.py`; all of them when several fit."""
    if len(name) > LONGEST_NAME:
        return []
    one = index.by_id(name)
    if one is not None:
        return [one]
    dotted = name.replace("::", ".").replace("#", ".")
    terminal = dotted.rpartition(".")[2]
    found = [
        item
        for item in index.items("s.name = ? AND s.ordinal >= 0", (terminal,))
        if _ends(item.symbol.replace("::", "."), dotted)
    ]
    if found or "::" not in name:
        return found
    path, _, symbol = name.partition("::")  # at most 500 deep: every level takes two of LONGEST_NAME characters
    return [item for item in resolve(index, symbol) if item.path == path or item.path.endswith("/" + path)]


def require(index: Index, name: str) -> list[Item]:
    """Like `resolve`, but nothing found is an error that offers the nearest names."""
    found = resolve(index, name)
    if not found:
        from assay.text.terms import nearest

        raise NoSuchSymbol(name, nearest(name.rpartition("::")[2], index.names(), _SUGGESTED))
    return found


def require_one(index: Index, name: str) -> Item:
    """The one item somebody speaks of; none and several are both errors, for what is noted must be noted of the right one."""
    try:
        found = require(index, name)
    except NoSuchSymbol as error:
        raise AssayError(str(error)) from None
    if len(found) > 1:
        ids = ", ".join(item.id for item in found[:_SUGGESTED]) + (" …" if len(found) > _SUGGESTED else "")
        raise AssayError(f"'{name}' could be any of {len(found)} symbols; name one of them: {ids}")
    return found[0]


def _ends(symbol: str, wanted: str) -> bool:
    return symbol == wanted or symbol.endswith("." + wanted)
