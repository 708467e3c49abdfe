"""Token counts, and the longest texts that are read."""

from __future__ import annotations

import re
from collections.abc import Iterator

# One match is one token. Each alternative begins with a set of characters, so that most are passed over at a glance, and gives nothing back.
_MARK = r"[!-/:-@\[-`{-~]"
_TOKEN = re.compile(
    r"[a-z][a-z]{0,4}+"  # a piece of a word; most words of up to five letters are one token
    r"|[ _](?:[A-Z]?[a-z]{1,5}+|[A-Z]{1,2}(?![a-z]))"  # with what leads to it
    rf"|{_MARK}{_MARK}?+\n?+"  # punctuation pairs up and takes the end of the line along
    r"|[A-Z](?:[a-z]{1,5}+|[A-Z](?![a-z]))?+"  # capitals are split finely
    r"|[0-9\n]"  # two of the five spend a token on every digit
    rf"|[ ]{_MARK}{{1,2}}+\n?+"
    r"|[ \t\r\f\v]{1,16}+"  # indentation
    r"|."
)
_MOST, _LONG = 1 << 16, 200  # lines that are remembered, and characters of the longest of them
# What a character outside ASCII costs beyond the one token it has above: rare scripts and emoji fall apart into bytes.
# Compiled for the first text that has one, as that takes longer than all else here.
_TWO, _FOUR = "[\u0800-\uffff]", "[\U00010000-\U0010ffff]"


def count(text: str) -> int:
    """The estimated tokens of a text; 0 only for an empty one."""
    *lines, last = text.split("\n")
    if len(_known) > _MOST:
        _known.clear()
    return sum(map(_known.__getitem__, lines)) + _counted(last)


class _Known(dict[str, int]):
    """The tokens of lines, their ends included: most lines of an answer were in one before."""

    def __missing__(self, line: str) -> int:
        tokens = _counted(line + "\n")
        if len(line) <= _LONG:
            self[line] = tokens
        return tokens


_known = _Known()


def _counted(text: str) -> int:
    tokens = _TOKEN.subn("", text)[1]  # which counts without making a string of each
    if not text.isascii():
        tokens += len(re.findall(_TWO, text)) + 3 * len(re.findall(_FOUR, text))
    return tokens


def ends(text: str) -> Iterator[tuple[int, int]]:
    """Where each token ends, and what it costs: cut there, the parts of a text cost together what the whole does."""
    for found in _TOKEN.finditer(text):
        yield found.end(), 1 if found[0].isascii() else count(found[0])


# Lengths up to which texts from outside are read, shared by the command line, Python, MCP and HTTP.

LONGEST_TASK = (
    20_000  # characters: a long stack trace with what was said about it; what follows in a log says nothing new
)
LONGEST_QUERY = 2_000  # characters of what is searched for or asked: a question, not a document
LONGEST_NAME = 1_000  # characters of a symbol, path or pattern
MOST_TERMS = 500  # different words of a task or query: more than the text of an issue has, far fewer than a pasted dump


def beyond(what: str, text: str, longest: int) -> str:
    """Return a line that says how much of a text is read; empty when that is all of it."""
    if len(text) <= longest:
        return ""
    return f"the {what} has {len(text):,} characters; only the first {longest:,} are read"
