"""Spelling suggestions in error messages."""

from __future__ import annotations

from collections.abc import Iterable

from assay.text.terms import nearest


def did_you_mean(name: str, names: Iterable[str], limit: int = 1) -> str:
    """Return " Did you mean 'walk'?" with the most similar names, to append to a message; empty if none is similar."""
    near = [f"'{suggestion}'" for suggestion in nearest(name, names, limit)]
    return f" Did you mean {' or '.join(near)}?" if near else ""
