"""From a commit message, a doc comment or a section to the text of a query."""

from __future__ import annotations

import re
from collections.abc import Iterable

from assay.evaluate.mine.mined import LeftOut
from assay.text.messages import LEADING, tidy, without_ids, without_trailers

__all__ = [
    "fingerprint", "require_new", "require_words", "tidy", "without_ids", "without_names", "without_trailers", "word_count",
]  # fmt: skip

_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힣]|[^\W\d_][\w'’-]*")  # a sign of a script that has no spaces is a word
_SEGMENT = re.compile(r"\.|::|#|/")


def without_names(text: str, names: Iterable[str], paths: Iterable[str]) -> str:
    """The text without gold that it names literally: qualified names, each of their parts, paths and file names."""
    known = {name for one in names for name in (one, *_SEGMENT.split(one))}
    known |= {name for path in paths for name in (path, path.rpartition("/")[2])}
    known = {name for name in known if len(name) > 1}
    if not known:
        return text
    longest_first = sorted(known, key=lambda name: (-len(name), name))
    pattern = rf"(?<![\w$])`*(?:{'|'.join(map(re.escape, longest_first))})(?:\(\))?`*(?![\w$])"
    return tidy(re.sub(pattern, "", text)).lstrip(LEADING)


def word_count(text: str) -> int:
    return len(_WORD.findall(text))


def require_words(text: str, least: int) -> None:
    """Leaves out what says too little to search for."""
    if word_count(text) < least:
        raise LeftOut("short text")


def require_new(text: str, seen: set[str]) -> None:
    """Leaves out what was asked before; remembers it otherwise."""
    same = fingerprint(text)
    if same in seen:
        raise LeftOut("duplicate text")
    seen.add(same)


def fingerprint(text: str) -> str:
    """The same for texts that differ only in case, spacing and punctuation."""
    return " ".join(_WORD.findall(text.lower()))
