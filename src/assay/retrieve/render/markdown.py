"""Markdown: items as list entries, their lines in fences that nothing inside can close."""

from __future__ import annotations

import re

from assay.core.packs import Pack, PackedItem, Section
from assay.retrieve.render.form import Form, one_line, place, printable, remark, statements

_TICKS = re.compile("`+")
_SHORTEST_FENCE = 3
_EXTENSION = re.compile(r"\.([A-Za-z0-9]+)$")
_MARKUP = re.compile(r"([\\`*_\[\]<>&])")


def _ticks(text: str, least: int) -> str:
    """More backticks than any run in the text has."""
    return "`" * max(least, 1 + max((len(run) for run in _TICKS.findall(text)), default=0))


def _span(text: str) -> str:
    """A code span that shows the text as it is."""
    text = one_line(text)
    ticks = _ticks(text, 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", one_line(text))


def _head(pack: Pack) -> str:
    return "".join(f"> {name}: {_escaped(text)}\n" for name, text in statements(pack)) + "\n"


def _item(packed: PackedItem) -> str:
    said = remark(packed)
    symbol = f" {_span(packed.item.symbol)}" if packed.item.symbol else ""
    line = f"- {_span(place(packed))} {packed.item.kind}{symbol}" + (f" ({_escaped(said)})" if said else "") + "\n"
    if not packed.text:
        return line
    text = printable(packed.text)
    fence = _ticks(text, _SHORTEST_FENCE)
    extension = _EXTENSION.search(packed.item.path)
    return f"{line}\n{fence}{extension[1] if extension else ''}\n{text}\n{fence}\n\n"


def _opening(section: Section) -> str:
    return f"### {_escaped(section.title)}: {_escaped(section.said)}\n\n"


MARKDOWN = Form(
    "markdown",
    _head,
    _item,
    foot=lambda _pack: "",
    least=lambda _pack: "",
    opening=_opening,
    closing=lambda _section: "\n",
)
