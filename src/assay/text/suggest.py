"""Spelling suggestions in error messages."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from assay.errors import AssayError
from assay.text.terms import nearest

_LISTABLE = 8  # a hint lists all names up to this many


def did_you_mean(name: str, names: Iterable[str], limit: int = 1) -> str:
    """Return " Did you mean 'walk'?" with the most similar names, to append to a message; empty if none is similar."""
    near = [f"'{suggestion}'" for suggestion in nearest(name, names, limit)]
    return f" Did you mean {' or '.join(near)}?" if near else ""


def hint(name: str, names: Collection[str]) -> str:
    """Return `did_you_mean` and, if nothing is similar or the names are few, " Known: walk, run"."""
    suggestion = did_you_mean(name, names)
    return suggestion + (f" Known: {', '.join(names)}" if not suggestion or len(names) <= _LISTABLE else "")


def require_name(what: str, name: object, names: Collection[str], where: str = "") -> str:
    """Return the name if it is one of `names`; otherwise raise AssayError with a hint."""
    if isinstance(name, str) and name in names:
        return name
    raise AssayError(f"{where}{': ' if where else ''}unknown {what} '{name}'.{hint(str(name), names)}")
