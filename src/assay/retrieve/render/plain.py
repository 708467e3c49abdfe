"""Plain text: one line per item, its lines below it."""

from __future__ import annotations

from assay.core.packs import Pack, PackedItem, Section
from assay.retrieve.render.form import Form, one_line, place, printable, remark, statements


def name_line(packed: PackedItem) -> str:
    """`path:start kind symbol`, and what is to be said about it."""
    said = remark(packed)
    return f"{place(packed)} {one_line(f'{packed.item.kind} {packed.item.symbol}').rstrip()}" + (
        f" [{one_line(said)}]" if said else ""
    )


def _head(pack: Pack) -> str:
    return "".join(f"{name}: {text}\n" for name, text in statements(pack)) + "\n"


def _item(packed: PackedItem) -> str:
    return f"{name_line(packed)}\n" + (f"{printable(packed.text)}\n\n" if packed.text else "")


def _opening(section: Section) -> str:
    return f"== {one_line(section.title)}: {one_line(section.said)}\n"


PLAIN = Form(
    "text", _head, _item, foot=lambda _pack: "", least=lambda _pack: "", opening=_opening, closing=lambda _section: "\n"
)
