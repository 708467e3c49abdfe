"""Arguments of calls and decorators that name an rpc service and its implementation (`languages/rpc.py`).

References keep no arguments but a first literal; these calls also need the second one, which may be an object literal.
"""

from __future__ import annotations

import re

from assay.index.chains import chain

MAX_TEXT = 4000  # bytes read after the name of the call; the keys of an object come early
MAX_ENTRIES = 100  # of an object; the largest services have about 60 rpcs
_STRING = re.compile(r"\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'|`[^`]*`")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.S)
_NEXT = re.compile(r"[()\[\]{},\"'`/]")
_KEY = re.compile(r"\s*(?:async\s+)?(?:\*\s*)?[\"']?([A-Za-z_$][\w$]*)[\"']?\s*(?:(:)(?!:)|(?=[(<]|$))")


def read_arguments(source: bytes, end: int) -> tuple[str, str]:
    """Return the first two arguments of the call whose name ends at an offset, as chains; literals as their text.

    An object literal becomes `{key:chain,…}`, with nothing after the colon where a function is written out.
    """
    text = source[end : end + MAX_TEXT].decode("utf-8", "replace").lstrip()
    if not text.startswith("("):
        return "", ""
    first, second = [*_split(text[1:], 2), "", ""][:2]
    return _argument(first), _argument(second)


def _argument(text: str) -> str:
    text = _COMMENT.sub("", text).strip()
    if _STRING.fullmatch(text):
        return text[1:-1]
    if text.startswith("{"):
        return _object(text[1:])
    return chain(text)


def _object(text: str) -> str:
    entries = []
    for entry in _split(text, MAX_ENTRIES):
        key = _KEY.match(_COMMENT.sub("", entry))
        if key:
            value = chain(entry.partition(":")[2].strip()) if key.group(2) else key.group(1)
            written_out = key.group(2) is None and "(" in entry
            entries.append(f"{key.group(1)}:{'' if written_out else value}")
    return "{" + ",".join(entries) + "}"


def parse_object(text: str) -> dict[str, str]:
    """Return keys and chains of an object that `read_arguments` returned; empty if it is not one."""
    if not text.startswith("{"):
        return {}
    pairs = (entry.partition(":") for entry in text[1:-1].split(",") if entry)
    return {key: value for key, _, value in pairs}


def _split(text: str, most: int) -> list[str]:
    """Split arguments or entries at commas, up to the bracket that closes the list; stop after `most`."""
    out, depth, start, at = list[str](), 0, 0, 0
    while len(out) < most:
        match = _NEXT.search(text, at)
        if match is None:
            break
        at, letter = match.end(), match.group()
        if letter in "\"'`/":
            skipped = (_COMMENT if letter == "/" else _STRING).match(text, match.start())
            at = skipped.end() if skipped else at
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            if depth == 0:
                return [*out, text[start : match.start()]]
            depth -= 1
        elif depth == 0:
            out.append(text[start : match.start()])
            start = at
    return out if len(out) >= most else [*out, text[start:]]
