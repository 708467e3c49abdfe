"""The text of type expressions: their head, their arguments, the names in them."""

from __future__ import annotations

import re

from assay.ingest.chains import chain

HEAD = re.compile(r"[\w$.:\\]+")
SEQUENCE = re.compile(r"\[(?:\d*|\.\.\.|[A-Za-z_]\w*)\](?=\S)")  # `[]Cart`, `[3]Cart`, `[...]Cart`
IDENTIFIER = re.compile(r"[^\W\d][\w$]*")
_NAMES = re.compile(r"[^\W\d]\w*(?:(?:\.|::|\\)[^\W\d]\w*)*")


def inside(rest: str) -> str:
    """`[str, Cart]` or `<Cart>` → what stands inside the brackets that open the text."""
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
    """`out *Cart` → `*Cart`: results may be named."""
    return re.sub(r"^\w+\s+(?=[*\w\[&(])", "", text.strip())


def split_arguments(text: str) -> list[str]:
    """Type arguments at the top level, also of a union."""
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
    """The dotted names in an annotation, as chains."""
    text = re.sub(r"'(?:static|\w+)\b(?!')", " ", text) if "'" in text and not text.strip().startswith("'") else text
    return [chain(m.group().replace("::", ".").replace("\\", ".").strip(".")) for m in _NAMES.finditer(text)]
