"""Markdown: items as list entries, their lines in fences that their content cannot close."""

from __future__ import annotations

import re

from assay.core.packs import Pack, PackedItem, Section
from assay.pack.render.form import Form, one_line, place, printable, remark, statements
from assay.text.blocks import ticks_around

_EXTENSION = re.compile(r"\.([A-Za-z0-9]+)$")
_MARKUP = re.compile(r"([\\`*_\[\]<>&~$])")
# Text that a forge turns into a mention or reference: @name, #12, GH-12, a URL.
_LINKED = re.compile(r"@(?=\w)|#(?=\d)|\bGH-(?=\d)|:(?=//)|\bwww(?=\.)", re.IGNORECASE)


def span(text: str) -> str:
    """Return a code span that shows the text verbatim."""
    text = one_line(text)
    ticks = ticks_around(text, 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def unlinked(text: str) -> str:
    """Insert a zero-width space after text that would link or mention; it looks the same."""
    return _LINKED.sub("\\g<0>\u200b", text)


def escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", unlinked(one_line(text)))


def fenced(packed: PackedItem) -> str:
    """Return the lines of an item in a fence that none of them closes."""
    text = printable(packed.text)
    fence = ticks_around(text)
    extension = _EXTENSION.search(packed.item.path)
    return f"{fence}{extension[1] if extension else ''}\n{text}\n{fence}\n"


def _head(pack: Pack) -> str:
    return "".join(f"> {name}: {escaped(text)}\n" for name, text in statements(pack)) + "\n"


def _item(packed: PackedItem) -> str:
    note = remark(packed)
    symbol = f" {span(packed.item.symbol)}" if packed.item.symbol else ""
    line = f"- {span(place(packed))} {packed.item.kind}{symbol}" + (f" ({escaped(note)})" if note else "") + "\n"
    if not packed.text:
        return line
    return f"{line}\n{fenced(packed)}\n"


def _opening(section: Section) -> str:
    return f"### {escaped(section.title)}: {escaped(section.said)}\n\n"


MARKDOWN = Form(
    "markdown",
    _head,
    _item,
    foot=lambda _pack: "",
    least=lambda _pack: "",
    opening=_opening,
    closing=lambda _section: "\n",
)
