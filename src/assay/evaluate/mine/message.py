"""From a commit message, a doc comment or a section to the text of a query."""

from __future__ import annotations

import re
from collections.abc import Iterable

from assay.evaluate.mine.mined import LeftOut

_TRAILER = re.compile(
    r"^[ \t]*(?:[\w-]+-by|cc|change-id|reviewed-on|git-svn-id|bug-url|piperorigin-revid|differential revision|gerrit-\w+"
    r"|(?:origin|upstream|closes|fixes|refs?|see)-[\w-]+|signed-off)\s*:.*$"
    r"|^[ \t]*\(cherry picked from commit .*\)[ \t]*$|^[ \t]*[-=*_]{3,}[ \t]*$",
    re.I | re.M,
)
# names of standards look like tickets
_TICKET = r"\b(?!(?:UTF|SHA|RFC|ISO|HTTP|CVE|CWE|PEP|MD|AES|RSA|TLS|SSL|X|IPV|BASE|PY|ES|C|GPT)-)[A-Z][A-Z0-9]+-\d+\b"
_ID = rf"(?:[\w.-]+/[\w.-]+)?#\d+\b|\b(?i:GH)-\d+\b|{_TICKET}|https?://\S+/(?:issues|pull|pulls|merge_requests|browse|bugs?)/[\w-]+\S*"
_REFERENCE = (
    rf"(?:\b(?i:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|references|see|issues?|pr|bug|ticket)\b[:\s]*)?(?:{_ID})"
)
_IDS = re.compile(rf"{_REFERENCE}(?:(?:\s*[,;&]\s*|\s+and\s+|\s+){_REFERENCE})*")
_LEADING = ",;: \n"  # left over when a text begins with what is removed
_LEFT_OVER = re.compile(r"^[ \t]*[,;:&]+[ \t]*$", re.M)
_EMPTY = re.compile(r"(?<!\w)(?:\(\s*[,;:.&]*\s*\)|\[\s*\])")  # not those of a call
_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힣]|[^\W\d_][\w'’-]*")  # a sign of a script that has no spaces is a word
_SEGMENT = re.compile(r"\.|::|#|/")


def without_trailers(text: str) -> str:
    """The message without what tools and reviewers append to it."""
    return tidy(_TRAILER.sub("", text.replace("\r\n", "\n")))


def without_ids(text: str) -> str:
    """The text without numbers of issues and pull requests, tickets and links to them."""
    return tidy(_IDS.sub("", text)).lstrip(_LEADING)


def without_names(text: str, names: Iterable[str], paths: Iterable[str]) -> str:
    """The text without gold that it names literally: qualified names, each of their parts, paths and file names."""
    known = {name for one in names for name in (one, *_SEGMENT.split(one))}
    known |= {name for path in paths for name in (path, path.rpartition("/")[2])}
    known = {name for name in known if len(name) > 1}
    if not known:
        return text
    longest_first = sorted(known, key=lambda name: (-len(name), name))
    pattern = rf"(?<![\w$])`*(?:{'|'.join(map(re.escape, longest_first))})(?:\(\))?`*(?![\w$])"
    return tidy(re.sub(pattern, "", text)).lstrip(_LEADING)


def tidy(text: str) -> str:
    """The text without what removing leaves behind: empty brackets, double spaces, rows of empty lines."""
    text = _LEFT_OVER.sub("", _EMPTY.sub("", text.replace("\r\n", "\n")))
    text = re.sub(r"(?<=\S)[ \t]{2,}", " ", text)
    text = re.sub(r"[ \t]+(?=[.,;:!?)](?:\s|$))", "", text)
    lines = [line.rstrip() for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


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
