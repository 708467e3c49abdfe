"""Whether an answer says what its sources say: the share of its sentences whose words stand in the spans they cite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from assay.core.hits import Answer
from assay.text.common import telling_terms
from assay.text.sentences import sentences
from assay.text.terms import terms

ENOUGH = 0.8  # of a sentence's words; the others may be what joins it to the question
_MARK = re.compile(r"\[#(\d+)\]")
_AFTER = re.compile(r"([.!?])((?:\s*\[#\d+\])+)")  # citations that follow the end of their sentence
_FENCE = re.compile(r"^\s*(```|~~~)")


class Block(NamedTuple):
    """A paragraph, or a block of code."""

    text: str
    code: bool


def support(answer: Answer) -> float | None:
    """The share of supported sentences; None where the citations do not say what they cite, or nothing is said."""
    texts = {one.number or place: one.text for place, one in enumerate(answer.citations, 1)}
    if not any(texts.values()):
        return None
    spans = {number: frozenset(terms(text)) for number, text in texts.items()}
    supported = []
    for said, numbers in _statements(answer.text):
        words = telling_terms(said)
        if words:
            cited = frozenset().union(*(spans.get(number, frozenset()) for number in numbers))
            supported.append(len(words & cited) >= ENOUGH * len(words))
    return sum(supported) / len(supported) if supported else None


def _statements(text: str) -> Iterator[tuple[str, list[int]]]:
    """Each sentence, and the numbers it rests on: its own, else the next ones in its paragraph, else those of the paragraph before."""
    before: list[int] = []
    for block in blocks(text):
        said = "" if block.code else _AFTER.sub(r" \2\1", block.text)
        parts = [block.text] if block.code else [said[start:end] for start, end in sentences(said)]
        marks = [[int(number) for number in _MARK.findall(part)] if not block.code else [] for part in parts]
        for at, part in enumerate(parts):
            nearest = next(filter(None, (*marks[at:], *reversed(marks[:at]))), before)
            yield _MARK.sub("", part), nearest
        before = next(filter(None, reversed(marks)), before)


def blocks(text: str) -> Iterator[Block]:
    """The paragraphs and the fenced blocks of code of a text in Markdown."""
    lines: list[str] = []
    fence = ""
    for line in [*text.split("\n"), ""]:
        found = _FENCE.match(line)
        if fence:
            if found and found[1] == fence:
                yield Block("\n".join(lines), True)
                lines, fence = [], ""
            else:
                lines.append(line)
        elif found or not line.strip():
            if lines:
                yield Block("\n".join(lines), False)
            lines, fence = [], found[1] if found else ""
        else:
            lines.append(line)
    if lines:
        yield Block("\n".join(lines), bool(fence))
