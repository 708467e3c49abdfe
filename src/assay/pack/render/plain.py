"""Plain text: one line per item, followed by its source lines.

A line that looks like an item line or a section title is one: repository lines that do are indented by a blank, so that
no comment or docstring can pass for a result. All other lines are verbatim.
"""

from __future__ import annotations

import re

from assay.core.items import KINDS
from assay.core.packs import Pack, PackedItem, Section
from assay.pack.render.form import Form, one_line, place, printable, remark, statements

_ITEM_LINE = rf":\d+ (?:{'|'.join(sorted(KINDS))})\b"
_SECTION = "== "
_FORGED = re.compile(rf"^(?={_SECTION}|\S[^\n]*{_ITEM_LINE})", re.MULTILINE)
_SUSPECT = re.compile(_ITEM_LINE)  # starts with a literal, so it is much faster to search than _FORGED


def quoted(text: str) -> str:
    """Return repository lines with those indented that look like ours."""
    text = printable(text)
    suspect = _SECTION in text or _SUSPECT.search(text)
    return _FORGED.sub(" ", text) if suspect else text


def name_line(packed: PackedItem) -> str:
    """Return `path:start kind symbol` with remarks."""
    note = remark(packed)
    return f"{place(packed)} {one_line(f'{packed.item.kind} {packed.item.symbol}').rstrip()}" + (
        f" [{one_line(note)}]" if note else ""
    )


def _head(pack: Pack) -> str:
    return "".join(f"{name}: {text}\n" for name, text in statements(pack)) + "\n"


def _item(packed: PackedItem) -> str:
    return f"{name_line(packed)}\n" + (f"{quoted(packed.text)}\n\n" if packed.text else "")


def _opening(section: Section) -> str:
    return f"{_SECTION}{one_line(section.title)}: {one_line(section.said)}\n"


PLAIN = Form(
    "text", _head, _item, foot=lambda _pack: "", least=lambda _pack: "", opening=_opening, closing=lambda _section: "\n"
)
