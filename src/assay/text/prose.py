"""Prose: sentence boundaries, and commit messages without trailers and ticket ids."""

from __future__ import annotations

import re
from collections.abc import Iterator

_END = re.compile(
    r"[.!?][\"'”’)\]*_`]*(?=\s+(?:[\"'“‘(\[*_:]*[^\W_a-z]|[*`])|\s*$)"
)  # the next starts with a capital, a digit or markup
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|fig|no|nr|mr|mrs|dr|st|al|[A-Za-z])\.$", re.IGNORECASE
)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a paragraph's sentences, without surrounding blanks. Abbreviations do not end a sentence."""
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if _ABBREVIATION.search(text, start, match.start() + 1) and end < len(text.rstrip()):
            continue
        yield from _trimmed(text, start, end)
        start = end
    yield from _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    sentence = text[start:end]
    if sentence.strip():
        yield start + len(sentence) - len(sentence.lstrip()), start + len(sentence.rstrip())


# Commit messages

_TRAILER = re.compile(
    r"^[ \t]*(?:[\w-]+-by|cc|change-id|reviewed-on|git-svn-id|bug-url|piperorigin-revid|differential revision|gerrit-\w+"
    r"|(?:origin|upstream|closes|fixes|refs?|see)-[\w-]+|signed-off)\s*:.*$"
    r"|^[ \t]*\(cherry picked from commit .*\)[ \t]*$|^[ \t]*[-=*_]{3,}[ \t]*$",
    re.I | re.M,
)
# names of standards that look like tickets
_TICKET = r"\b(?!(?:UTF|SHA|RFC|ISO|HTTP|CVE|CWE|PEP|MD|AES|RSA|TLS|SSL|X|IPV|BASE|PY|ES|C|GPT)-)[A-Z][A-Z0-9]+-\d+\b"
_ID = rf"(?:(?<![\w.-])[\w.-]+/[\w.-]+)?#\d+\b|\b(?i:GH)-\d+\b|{_TICKET}|https?://\S{{1,250}}/(?:issues|pull|pulls|merge_requests|browse|bugs?)/[\w-]+\S*"
_REFERENCE = (
    rf"(?:\b(?i:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|references|see|issues?|pr|bug|ticket)\b[:\s]*)?(?:{_ID})"
)
_IDS = re.compile(rf"{_REFERENCE}(?:(?:\s*[,;&]\s*|\s+and\s+|\s+){_REFERENCE})*")
LEADING = ",;: \n"  # leftover characters at the start after a removal
_LEFTOVER = re.compile(r"^[ \t]*[,;:&]+[ \t]*$", re.M)
_EMPTY = re.compile(r"(?<!\w)(?:\(\s*+[,;:.&]*+\s*+\)|\[\s*+\])")  # but not the parentheses of a call


def searchable(text: str) -> str:
    """Return a commit message without trailers and ids, for indexing; whitespace is not tidied."""
    return _IDS.sub(" ", _TRAILER.sub("", text.replace("\r\n", "\n")))


def without_trailers(text: str) -> str:
    """Return the message without trailers."""
    return tidy(_TRAILER.sub("", text.replace("\r\n", "\n")))


def without_ids(text: str) -> str:
    """Return the text without issue, pull request and ticket ids and links to them."""
    return tidy(_IDS.sub("", text)).lstrip(LEADING)


def tidy(text: str) -> str:
    """Remove empty brackets, double spaces and repeated blank lines, as left by removals."""
    text = _LEFTOVER.sub("", _EMPTY.sub("", text.replace("\r\n", "\n")))
    text = re.sub(r"(?<=\S)[ \t]{2,}", " ", text)
    text = re.sub(r"(?<![ \t])[ \t]++(?=[.,;:!?)](?:\s|$))", "", text)
    lines = [line.rstrip() for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
