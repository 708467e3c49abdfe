"""Token estimates, and length limits of input texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

# One match is one token. Alternatives start with distinct character sets and are possessive, for speed.
_MARK = r"[!-/:-@\[-`{-~]"
_TOKEN = re.compile(
    r"[a-z][a-z]{0,4}+"  # a piece of a word; most words of up to five letters are one token
    r"|[ _](?:[A-Z]?[a-z]{1,5}+|[A-Z]{1,2}(?![a-z]))"  # with the preceding space or underscore
    rf"|{_MARK}{_MARK}?+\n?+"  # punctuation pairs up and takes the end of the line along
    r"|[A-Z](?:[a-z]{1,5}+|[A-Z](?![a-z]))?+"  # capitals are split finely
    r"|[0-9\n]"  # two of the five spend a token on every digit
    rf"|[ ]{_MARK}{{1,2}}+\n?+"
    r"|[ \t\r\f\v]{1,16}+"  # indentation
    r"|."
)
_MOST, _MAX_CACHED_LENGTH = 1 << 16, 200  # cached lines, and characters of the longest of them
# Extra cost of characters outside ASCII: rare scripts and emoji are split into bytes. Compiled on first use, as that
# takes longer than everything else here.
_TWO, _FOUR = "[\u0800-\uffff]", "[\U00010000-\U0010ffff]"


def count(text: str) -> int:
    """Estimate the tokens of a text; 0 only if it is empty."""
    *lines, last = text.split("\n")
    if len(_count_cache) > _MOST:
        _count_cache.clear()
    return sum(map(_count_cache.__getitem__, lines)) + _count_tokens(last)


class _CountCache(dict[str, int]):
    """Cache of token counts by line, including its end: most lines recur in answers."""

    def __missing__(self, line: str) -> int:
        tokens = _count_tokens(line + "\n")
        if len(line) <= _MAX_CACHED_LENGTH:
            self[line] = tokens
        return tokens


_count_cache = _CountCache()


def _count_tokens(text: str) -> int:
    tokens = _TOKEN.subn("", text)[1]  # counts matches without creating strings
    if not text.isascii():
        tokens += len(re.findall(_TWO, text)) + 3 * len(re.findall(_FOUR, text))
    return tokens


def ends(text: str) -> Iterator[tuple[int, int]]:
    """Yield the end and cost of each token; splitting there keeps the total cost."""
    for match in _TOKEN.finditer(text):
        yield match.end(), 1 if match[0].isascii() else count(match[0])


# Input limits, shared by the command line, Python, MCP and HTTP

LONGEST_TASK = 20_000  # characters: a long stack trace with a description; the rest of a log adds nothing
LONGEST_QUERY = 2_000  # characters of a query or question, not a document
LONGEST_NAME = 1_000  # characters of a symbol, path or pattern
MOST_TERMS = 500  # distinct words of a task or query: more than an issue has, far fewer than a pasted dump


def truncation_message(what: str, text: str, longest: int) -> str:
    """Return a message that a text is truncated; empty if it is not."""
    if len(text) <= longest:
        return ""
    return f"the {what} has {len(text):,} characters; only the first {longest:,} are read"
