"""Symbol lookup by name: exact, by qualified suffix or by pattern; nearest names when nothing matches."""

from __future__ import annotations

from assay.core.items import Item
from assay.errors import AssayError
from assay.store.index import Index
from assay.text.tokens import LONGEST_NAME

_SUGGESTED = 5
_SHOWN = 80  # characters shown of an overlong name


class NoSuchSymbol(AssayError):
    """No symbol of that name; the message suggests the nearest names."""

    exit_code = 1

    def __init__(self, name: str, near: list[str]) -> None:
        hint = f" Nearest: {', '.join(near)}" if near else ""
        shown = name if len(name) <= LONGEST_NAME else f"{name[:_SHOWN]}… ({len(name):,} characters)"
        super().__init__(f"no symbol called '{shown}'.{hint}")
        self.near = near


def match(index: Index, pattern: str, limit: int = 0) -> list[Item]:
    """Return items whose id, name or qualified name matches.

    A name with `*`, `?` or `[` is a pattern; otherwise an exact match or qualified suffix, else a substring.
    """
    if len(pattern) > LONGEST_NAME:
        return []
    if any(wildcard in pattern for wildcard in "*?["):
        return index.matching(pattern)[: limit or None]
    exact = resolve(index, pattern)
    if exact:
        return exact[: limit or None]
    like = "%" + pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    return index.items("s.ordinal >= 0 AND s.symbol LIKE ? ESCAPE '\\'", (like,))[: limit or None]


def resolve(index: Index, name: str) -> list[Item]:
    """Return the items meant by `Flask.run`, `run`, `src/app.py::Flask.run` or `src/app.py`; all that fit."""
    if len(name) > LONGEST_NAME:
        return []
    exact = index.by_id(name)
    if exact is not None:
        return [exact]
    dotted = name.replace("::", ".").replace("#", ".")
    terminal = dotted.rpartition(".")[2]
    matches = [
        item
        for item in index.items("s.name = ? AND s.ordinal >= 0", (terminal,))
        if _has_suffix(item.symbol.replace("::", "."), dotted)
    ]
    if matches or "::" not in name:
        return matches
    path, _, symbol = name.partition("::")  # at most 500 deep: every level takes two of LONGEST_NAME characters
    return [item for item in resolve(index, symbol) if item.path == path or item.path.endswith("/" + path)]


def require(index: Index, name: str) -> list[Item]:
    """Resolve a name; raise NoSuchSymbol with the nearest names if nothing matches."""
    matches = resolve(index, name)
    if not matches:
        from assay.text.terms import nearest

        raise NoSuchSymbol(name, nearest(name.rpartition("::")[2], index.names(), _SUGGESTED))
    return matches


def require_one(index: Index, name: str) -> Item:
    """Resolve a name to exactly one item, so that feedback is never recorded for the wrong one.

    Raises AssayError for no match and for several.
    """
    try:
        matches = require(index, name)
    except NoSuchSymbol as error:
        raise AssayError(str(error)) from None
    if len(matches) > 1:
        ids = ", ".join(item.id for item in matches[:_SUGGESTED]) + (" …" if len(matches) > _SUGGESTED else "")
        raise AssayError(f"'{name}' could be any of {len(matches)} symbols; name one of them: {ids}")
    return matches[0]


def _has_suffix(symbol: str, suffix: str) -> bool:
    return symbol == suffix or symbol.endswith("." + suffix)
