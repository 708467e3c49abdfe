"""Prose: sentence boundaries, and commit messages without trailers and tracker noise."""

from __future__ import annotations

import re
from collections.abc import Iterator

_END = re.compile(
    r"[.!?][\"'”’)\]*_`]*(?=\s+(?:[\"'“‘(\[*_:]*[^\W_a-z]|[*`])|\s*$)"
)  # the next begins with a capital, a digit or markup
_SHORT = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|fig|no|nr|mr|mrs|dr|st|al|[A-Za-z])\.$", re.IGNORECASE)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """The spans of a paragraph's sentences, without the blanks between them. Abbreviations end none."""
    start = 0
    for found in _END.finditer(text):
        end = found.end()
        if _SHORT.search(text, start, found.start() + 1) and end < len(text.rstrip()):
            continue
        yield from _trimmed(text, start, end)
        start = end
    yield from _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    said = text[start:end]
    if said.strip():
        yield start + len(said) - len(said.lstrip()), start + len(said.rstrip())


# Commit messages without what tools, reviewers and trackers put into them.

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
LEADING = ",;: \n"  # left over when a text begins with what is removed
_LEFT_OVER = re.compile(r"^[ \t]*[,;:&]+[ \t]*$", re.M)
_EMPTY = re.compile(r"(?<!\w)(?:\(\s*[,;:.&]*\s*\)|\[\s*\])")  # not those of a call


def searchable(text: str) -> str:
    """What a message says, for its words alone: without trailers and ids, not tidied."""
    return _IDS.sub(" ", _TRAILER.sub("", text.replace("\r\n", "\n")))


def without_trailers(text: str) -> str:
    """The message without what tools and reviewers append to it."""
    return tidy(_TRAILER.sub("", text.replace("\r\n", "\n")))


def without_ids(text: str) -> str:
    """The text without numbers of issues and pull requests, tickets and links to them."""
    return tidy(_IDS.sub("", text)).lstrip(LEADING)


def tidy(text: str) -> str:
    """The text without what removing leaves behind: empty brackets, double spaces, rows of empty lines."""
    text = _LEFT_OVER.sub("", _EMPTY.sub("", text.replace("\r\n", "\n")))
    text = re.sub(r"(?<=\S)[ \t]{2,}", " ", text)
    text = re.sub(r"[ \t]+(?=[.,;:!?)](?:\s|$))", "", text)
    lines = [line.rstrip() for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
