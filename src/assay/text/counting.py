"""Numbers with what they count."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 query`, `1,204 queries`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
