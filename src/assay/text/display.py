"""Terminal output: control characters replaced, numbers with their nouns."""

from __future__ import annotations

import re
import unicodedata

_SUSPECT = re.compile(r"[^\n\t -~]")
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # control, format (direction), surrogates, unusual line ends
_IN_JSON = re.compile(r"[^\n -~]")
_JOINERS = "\u200c\u200d"  # needed by some scripts and emoji
_INVISIBLE = "\r\u00ad\u200b\u2060\ufeff"  # carriage returns, soft hyphens, zero-width characters


def printable(text: str) -> str:
    """Replace characters that could move the cursor, change colours or reverse text direction."""
    return _SUSPECT.sub(_safe, text)


def _safe(match: re.Match[str]) -> str:
    character = match[0]
    if character in _INVISIBLE:
        return ""
    return "\ufffd" if unicodedata.category(character) in _UNSAFE and character not in _JOINERS else character


def escaped_in_json(text: str) -> str:
    """Escape the same characters in JSON text as `\\uXXXX`, which leaves its meaning unchanged."""
    return _IN_JSON.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if unicodedata.category(character) not in _UNSAFE:
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def counted(number: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun: `1 query`, `1,204 queries`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
