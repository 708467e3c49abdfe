"""Did-you-mean: the hint of every message about an unknown name."""

from __future__ import annotations

from collections.abc import Collection

from assay.errors import AssayError
from assay.text.terms import nearest

_LISTABLE = 8  # a hint lists all names up to this many


def did_you_mean(name: str, names: Collection[str]) -> str:
    """Return "Did you mean 'x'?" and, if nothing is similar or the names are few, "Known: x, y, z"."""
    similar = nearest(name, names, 1)
    known = f"Known: {', '.join(names)}" if names and (not similar or len(names) <= _LISTABLE) else ""
    return " ".join([*(f"Did you mean '{match}'?" for match in similar), *filter(None, [known])])


def require_name(what: str, name: object, names: Collection[str], where: str = "") -> str:
    """Return the name if it is one of `names`; otherwise raise AssayError with a hint."""
    if isinstance(name, str) and name in names:
        return name
    location = f"{where}: " if where else ""
    raise AssayError(f"{location}unknown {what} '{name}'. {did_you_mean(str(name), names)}".rstrip())
