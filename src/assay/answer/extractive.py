"""An answer without a model: the sentences of the best passages, verbatim, each excerpt with its citation."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answer.excerpts import Excerpt
from assay.answer.reply import Source, source
from assay.answer.units import CODE, ITEM, ROW, Unit

_FENCE = "```"
_NO_PROSE = (_FENCE, "~~~", "|")  # what begins so cannot hold a citation


def said(chosen: Sequence[Excerpt]) -> tuple[str, tuple[Source, ...]]:
    """The text of an answer in Markdown, and the sources it cites, numbered from 1."""
    paragraphs, sources = [], []
    for number, one in enumerate(chosen, 1):
        first, last = one.lines
        lines = one.found.text.split("\n")[first : last + 1]
        sources.append(source(number, one.found, first, last, "\n".join(lines)))
        paragraphs.append(_paragraph(one, f"[#{number}]"))
    return "\n\n".join(paragraphs), tuple(sources)


def _paragraph(one: Excerpt, citation: str) -> str:
    """Sentences run on, everything else has lines of its own; every paragraph ends with the citation; code that comes first has it above."""
    blocks: list[str] = []
    before: Unit | None = None
    for unit in one.units:
        if unit.kind == CODE:
            fence = _FENCE if _FENCE not in unit.text else "~~~"
            blocks.append(f"{fence}\n{unit.text}\n{fence}")
        elif before is not None and before.kind == unit.kind and unit.kind in (ITEM, ROW):
            blocks[-1] += f"\n{unit.text}"
        elif before is not None and before.kind == unit.kind and before.block == unit.block:
            blocks[-1] += f" {unit.text}"
        else:
            blocks.append(unit.text)
        before = unit
    if one.label and one.label not in blocks[0]:
        blocks[:1] = [f"{one.label}:", blocks[0]] if one.units[0].kind in (CODE, ROW) else [f"{one.label}: {blocks[0]}"]
    cited = [block if block.startswith(_NO_PROSE) else f"{block} {citation}" for block in blocks]
    return "\n\n".join([citation, *cited] if blocks[0].startswith(_NO_PROSE) else cited)
