"""Terminal output: control characters replaced, lines cut or wrapped at a width, numbers with their nouns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

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
    if text.isascii() and text.isprintable():  # most texts: a tenth of the time
        return text
    return _IN_JSON.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if unicodedata.category(character) not in _UNSAFE:
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


# Quotations: lines of assay itself begin in the first column, and text of a repository never does

QUOTED = " "  # before each quoted line: in front of code it costs next to no tokens
_PLAIN_PATH = re.compile(r"(?!\[#|\Z)[^\s:/]*+(?:/[^:]*)?")
_LINE_BREAKS = re.compile("[\t\n\r\u2028\u2029]+")


def quoted(text: str, mark: str = QUOTED) -> str:
    """Return text of a repository with a mark before every line, so that none can pass for one of ours."""
    blank = mark.rstrip()
    return "\n".join([mark + line if line else blank for line in map(str.rstrip, text.split("\n"))])


def one_line(text: str) -> str:
    """Return text of a repository for a place within a line: on one line, and printable."""
    return text if text.isprintable() else printable(_LINE_BREAKS.sub(" ", text))


def path_mark(path: str) -> str:
    """Return `./` for a path that has a colon, or a blank in its first part, as our own lines do; usually nothing."""
    return "" if _PLAIN_PATH.fullmatch(path) else "./"


def clipped(text: str, limit: int) -> str:
    """Return a text cut to `limit` characters, of which the last is then an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def collapsed(text: str, limit: int = 0) -> str:
    """Return a text with white space as single blanks, cut to `limit` characters if one is given."""
    line = " ".join(text.split())
    return clipped(line, limit) if limit else line


def counted(number: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun: `1 query`, `1,204 queries`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


# Widths, in columns of a terminal

_TAB = 4  # columns
_ZERO_WIDTH = frozenset({"Mn", "Me", "Cf"})  # accents, enclosing marks, joiners
_INDENT = re.compile(r"\s*(?:[-*+•] |\d{1,3}[.)] )?")  # of a line, with the mark of a list entry
_HANGING = 2  # columns: the rest of a wrapped line, which may be quoted, never begins in the first


def columns(text: str) -> int:
    """Return the width of a text in columns: wide East Asian characters take two, accents none."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.category(character) in _ZERO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shortened(text: str, width: int) -> str:
    """Return a line, tabs expanded and safe for a terminal, cut to a width with an ellipsis if it is longer."""
    text = printable(text.expandtabs(_TAB).rstrip())
    return text if columns(text) <= width else text[: _fitting(text, max(0, width - 1))] + "…"


def _fitting(text: str, width: int) -> int:
    """Return the number of leading characters that fit a width."""
    used = 0
    for place, character in enumerate(text):
        used += _columns_of(character)
        if used > width:
            return place
    return len(text)


def wrapped(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text, safe for a terminal; longer ones are wrapped between words and indented."""
    for line in printable(text.expandtabs(_TAB)).split("\n"):
        indent = _INDENT.match(line)
        hanging = " " * min(max(_HANGING, indent.end() if indent else 0), width // 2)
        rest = line.rstrip()
        while columns(rest) > width:
            fitting = max(1, _fitting(rest, width))
            blank = rest.rfind(" ", len(hanging) + 1, fitting + 1)
            end = blank if blank > 0 else max(fitting, len(hanging) + 1)
            yield rest[:end].rstrip()
            rest = hanging + rest[end:].lstrip()
        yield rest
