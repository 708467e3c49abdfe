"""An answer without a model: the sentences of the best passages, verbatim, each excerpt with its citation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from assay.answer.citations import cited
from assay.answer.excerpts import Excerpt
from assay.answer.reply import Source, source
from assay.answer.units import CODE, SENTENCE, Unit

_TICKS = re.compile("`+")
_AGAIN = 5  # times that citations are taken out: `[#[#1]1]` is one when one is gone


def said(chosen: Sequence[Excerpt]) -> tuple[str, tuple[Source, ...]]:
    """The text of an answer in Markdown, and the sources it cites, numbered from 1."""
    paragraphs: list[str] = []
    sources: list[Source] = []
    for number, one in enumerate(chosen, 1):
        first, last = one.lines
        lines = one.found.text.split("\n")[first : last + 1]
        sources.append(source(number, one.found, first, last, "\n".join(lines)))
        paragraphs += _paragraphs(one, f"[#{number}]")
    return "\n\n".join(paragraphs), tuple(sources)


def _paragraphs(one: Excerpt, citation: str) -> Iterator[str]:
    """Every paragraph ends with the citation, the first begins with the term it explains. Code and tables have their citation above them."""
    label = f"{one.label}: " if one.label and one.label not in one.units[0].text else ""
    begun = False
    for (kind, _), group in groupby(
        one.units, key=lambda unit: (unit.kind, unit.block if unit.kind == SENTENCE else 0)
    ):
        text = _joined(kind, list(group))
        if kind == CODE or text.startswith("|"):
            if not begun:
                yield f"{label}{citation}"
            yield text
        else:
            yield f"{'' if begun else label}{text} {citation}"
        begun = True


def _joined(kind: str, units: Sequence[Unit]) -> str:
    """Sentences run on, items and rows have lines of their own, code is fenced. What a document has that looks like a citation goes."""
    if kind != CODE:
        said = (" " if kind == SENTENCE else "\n").join(unit.text for unit in units)
        return _without_citations(said)
    code = "\n\n".join(unit.text for unit in units)
    fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(code)), default=0))
    return f"{fence}\n{code}\n{fence}"


def _without_citations(text: str) -> str:
    for _ in range(_AGAIN):
        text, met = cited(text, frozenset())
        if not met.dropped:
            return text
    return text.replace("[#", "[")
