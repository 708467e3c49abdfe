"""Chains: expressions reduced to the names, calls and subscripts that name resolution needs.

Also helpers to split the text of type expressions.
"""

from __future__ import annotations

import re
from functools import lru_cache

MAX_TEXT = 3000  # longer expressions are data, not names
MAX_LITERAL = 400  # lower limit for expressions that start with a bracket or a quote

_SIMPLE = re.compile(r"\w+(?:\.\w+)*")
_QUOTED = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|\'[^\'\\]*+(?:\\.[^\'\\]*+)*+\'|`[^`]*+`'
_STRING = re.compile(_QUOTED)
_ROUND = re.compile(r"\([^()\[\]{}]*\)")
_SQUARE = re.compile(r"\[[^()\[\]{}]*\]")
_CURLY = re.compile(r"\{[^()\[\]{}]*\}")
_GENERIC = re.compile(r"(?:::)?<[\w\s,.:<>?&\[\]'|*\x02\x03]*>(?=[\x01\x03.:]|$)")
_PREFIX = re.compile(
    r"^(?:await|new|yield|return|not|typeof|mut|ref|out|try|throw|co_await)\s+|^[&*!+~-]+|^\.\.\.|^\*\*"
)
_CAST = re.compile(r"(?<!\s)\s++as[!?]?\s+")
_ARROWS = re.compile(r"\?\.|!\.|\?->|->|::|&\.|!!\.|\\|(?<=[\w\x01\x02]):(?=[A-Za-z_]\w*(?:[\x01.:]|$))")
_OPTIONAL = re.compile(r"(?<![!?])[!?]++\.")  # left over from `a?` with `.b` on the next line
_BLOCK = re.compile(r"\s+do(?:\s.*)?$", re.S)  # Ruby
_VALID = re.compile(r"(?:\?|''|[\w$@#]+[!?\x04\x05]?)[\x01\x02\x03]*(?:\.[\w$#]+[!?\x04\x05]?[\x01\x02\x03]*)*")
_TAIL = re.compile(r"\.([\w$]+[!?\x04\x05]?[\x01\x02]*)$")
_NAME_END = re.compile(r"(?<=\w)([?!])(?=[.&()\[\]{},;\s]|$)")  # part of a name in Ruby: `empty?`, `save!`
_COMMAND = re.compile(
    r"(?<=[\w\x04\x05])[ \t]+(?=[\w@:'$\x02]|[*&-][\w:@]).*", re.S
)  # arguments without parentheses: `find name`
_SPACE = re.compile(r"\s+")
_CAST_TO = re.compile(
    r"([\w.]+)\x06.*|.+\s+as[!?]?\s+([A-Z][\w.]*)", re.S
)  # `(Cart) x` with its parenthesis already replaced; `x as Cart`
_OPERAND = re.compile(r"\s*[A-Za-z_(\"']")
_CONSTRUCTION = re.compile(r"^new\s+([\w$.]+(?:<[^\x01]*?>)?)\s*(?:\x01\s*\x03*|\x03+)")
# fast path: names, calls and subscripts with strings and up to three levels of brackets inside
_INSIDE = rf"(?:[^()\[\]{{}}\"'`]++|{_QUOTED})*+"
for _ in range(2):
    _INSIDE = rf"(?:[^()\[\]{{}}\"'`]++|{_QUOTED}|\({_INSIDE}\)|\[{_INSIDE}\]|\{{{_INSIDE}\}})*+"
_CALLED, _SUBSCRIPT = re.compile(rf"\({_INSIDE}\)"), re.compile(rf"\[{_INSIDE}\]")
_CALLS = re.compile(rf"\w++(?:\.\w++|{_CALLED.pattern}|{_SUBSCRIPT.pattern})*+")
_MARKS = str.maketrans({"\x01": "()", "\x02": "[]", "\x03": "{}", "\x04": "?", "\x05": "!"})
_RESERVED = str.maketrans(dict.fromkeys(map(chr, range(8)), " "))  # blank control characters, which encode marks below


@lru_cache(maxsize=65536)
def chain(text: str, loose: bool = False) -> str:
    """Return the chain of an expression's source text; empty if it names nothing.

    `loose`: names may end in `?` or `!`, and arguments may follow without parentheses (Ruby).
    """
    if _SIMPLE.fullmatch(text):
        return "" if text[0].isdigit() else text
    if len(text) > MAX_TEXT or (len(text) > MAX_LITERAL and text[0] in "{[(\"'"):
        return ""
    if _CALLS.fullmatch(text):
        return "" if text[0].isdigit() else _SUBSCRIPT.sub("[]", _CALLED.sub("()", text))
    text = _STRING.sub("''", text.translate(_RESERVED).strip().lstrip(":\\"))
    if loose:
        text = _NAME_END.sub(lambda m: "\x04" if m.group() == "?" else "\x05", text)
    while True:
        shorter = _CURLY.sub("\x03", _SQUARE.sub("\x02", _ROUND.sub(_round, text)))
        if shorter == text:
            break
        text = shorter
    if "\x07" in text:
        text = text.rpartition("\x07")[2]
    text = _COMMAND.sub("\x01", text) if loose else _CAST.split(text)[0]
    stripped = None
    if "\x06" in text and (cast := _CAST_TO.fullmatch(text)):
        text = cast.group(1) + "\x03"
    text = _CONSTRUCTION.sub("\\1\x03", text)
    while stripped != text:
        stripped = text
        text = _PREFIX.sub("", text)
    text = _GENERIC.sub("", _BLOCK.sub("", text.lstrip("\\")))
    text = _OPTIONAL.sub(".", _SPACE.sub("", _ARROWS.sub(".", text))).rstrip("!?;")
    if text.startswith("\x01."):
        text = "?" + text[1:]
    elif text == "\x02" or text.startswith("\x02."):
        text = "''" + text[1:]
    elif text.startswith("\x02"):
        text = "?" + text[1:]
    if text.startswith("."):
        text = "?" + text
    if not _VALID.fullmatch(text):
        tail = _TAIL.search(text)
        if not tail:
            return ""
        text = "?." + tail.group(1)
    return "" if text[0].isdigit() else text.translate(_MARKS)


def _round(match: re.Match[str]) -> str:
    """Replace a parenthesized group: after a name it is a call, around a single name it is that name."""
    at, text = match.start(), match.string
    if at and (text[at - 1].isalnum() or text[at - 1] in "_>!?\x01\x02\x04\x05)]"):
        return "\x01"
    inner = match.group()[1:-1].strip()
    if at and text[at - 1] == "." and inner:
        return f"\x07{inner.lstrip('*')}\x03"  # Go's type assertion `x.(Cart)`: the value is a Cart
    if cast := _CAST_TO.fullmatch(inner):
        return (cast.group(1) or cast.group(2)) + "\x03"
    if _SIMPLE.fullmatch(inner) and _OPERAND.match(text, match.end()):
        return inner + "\x06"
    stripped = _ARROWS.sub(".", _PREFIX.sub("", _CONSTRUCTION.sub("\\1\x03", inner)))
    return stripped if _SIMPLE.fullmatch(stripped) or (len(stripped) > 1 and _VALID.fullmatch(stripped)) else "\x01"


def bare(segment: str) -> str:
    """Return a segment without its marks: `find()` → `find`."""
    return segment.rstrip("()[]{}")


def last(expression: str) -> str:
    """Return the final name of a chain."""
    return bare(expression.rsplit(".", 1)[-1])


# Type expressions

HEAD = re.compile(r"[\w$.:\\]+")
SEQUENCE = re.compile(r"\[(?:\d*|\.\.\.|[A-Za-z_]\w*)\](?=\S)")  # `[]Cart`, `[3]Cart`, `[...]Cart`
IDENTIFIER = re.compile(r"[^\W\d][\w$]*")
_NAMES = re.compile(r"[^\W\d]\w*(?:(?:\.|::|\\)[^\W\d]\w*)*")


def inside(rest: str) -> str:
    """Return the content of the brackets at the start of the text: `[str, Cart]` or `<Cart>`."""
    if not rest or rest[0] not in "[<":
        return ""
    depth = 0
    for at, letter in enumerate(rest):
        if letter in "[<(":
            depth += 1
        elif letter in "]>)":
            depth -= 1
            if depth == 0:
                return rest[1:at].strip()
    return ""


def without_name(text: str) -> str:
    """Strip the name of a named result: `out *Cart` → `*Cart`."""
    return re.sub(r"^\w+\s+(?=[*\w\[&(])", "", text.strip())


def split_arguments(text: str) -> list[str]:
    """Split type arguments, or the members of a union, at the top level."""
    out, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter in "[<(":
            depth += 1
        elif letter in "]>)":
            depth -= 1
        elif letter in ",|" and depth == 0:
            out.append(text[start:at].strip())
            start = at + 1
    return [*out, text[start:].strip()]


def type_names(text: str) -> list[str]:
    """Return the dotted names in an annotation, as chains."""
    text = re.sub(r"'(?:static|\w+)\b(?!')", " ", text) if "'" in text and not text.strip().startswith("'") else text
    return [chain(m.group().replace("::", ".").replace("\\", ".").strip(".")) for m in _NAMES.finditer(text)]
