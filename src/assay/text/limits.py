"""Lengths up to which texts from outside are read, shared by the command line, Python, MCP and HTTP.

Whatever is asked is answered in time that grows with these, not with what was sent.
"""

from __future__ import annotations

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
