"""Answers that keep to a budget. Every line ends with a line end, so the tokens of lines add up (text/tokens.py)."""

from __future__ import annotations

from collections.abc import Sequence

from assay.text.printable import printable
from assay.text.tokens import count

LEAST = 100  # tokens: less holds neither what was found nor what to do
_MORE = "… {} more; ask with a larger budget\n"


def fitted(head: str, pieces: Sequence[str], budget: int) -> str:
    """A head and as many of the pieces, best first, as fit; what is left out is counted. Without pieces, as much of the head as fits."""
    texts = [printable(piece) for piece in pieces]
    head = shortened(printable(head), budget)
    left = budget - count(head)
    costs = [count(text) for text in texts]
    if sum(costs) <= left:
        return head + "".join(texts)
    left -= count(_MORE.format(len(texts)))
    shown = 0
    while shown < len(texts) and costs[shown] <= left:
        left -= costs[shown]
        shown += 1
    return head + "".join(texts[:shown]) + (_MORE.format(len(texts) - shown) if left >= 0 else "")


def shortened(text: str, budget: int) -> str:
    """The first lines of a text that fit."""
    out = ""
    for line in text.splitlines(keepends=True):
        if count(out + line) > budget:
            break
        out += line
    return out
