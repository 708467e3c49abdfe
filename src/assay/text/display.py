"""Text made safe and readable for a terminal: control characters escaped, numbers with their unit."""

from __future__ import annotations

import re
import unicodedata

_SUSPECT = re.compile(r"[^\n\t -~]")
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # control, format (also of direction), surrogates, odd line ends
_IN_JSON = re.compile(r"[^\n -~]")
_JOINERS = "\u200c\u200d"  # letters of some scripts and emoji need them
_INVISIBLE = "\r\u00ad\u200b\u2060\ufeff"  # ends of lines, soft hyphens, marks of nothing


def printable(text: str) -> str:
    """Whatever could move a cursor, change a colour or turn the direction of writing is replaced by a sign that says so."""
    return _SUSPECT.sub(_safe, text)


def _safe(found: re.Match[str]) -> str:
    sign = found[0]
    if sign in _INVISIBLE:
        return ""
    return "\ufffd" if unicodedata.category(sign) in _UNSAFE and sign not in _JOINERS else sign


def escaped_in_json(text: str) -> str:
    """Return JSON text in which the same characters stand as `\\uXXXX`: to a program it says exactly what it said before."""
    return _IN_JSON.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    sign = match[0]
    if unicodedata.category(sign) not in _UNSAFE:
        return sign
    units = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


# Numbers with what they count.


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 query`, `1,204 queries`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
