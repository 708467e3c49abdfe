"""XML: one element per item, its lines as escaped text."""

from __future__ import annotations

from assay.core.packs import Pack, PackedItem, Section
from assay.pack.render.form import Form, left_out, printable, remark

_EMPTY = "<context/>\n"


def _text(text: str) -> str:
    """Escape no more than XML requires, so that code stays readable."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")


def _attributes(**values: object) -> str:
    """Return the attributes with a value, escaped; line breaks become character references."""
    shown = {name: str(value) for name, value in values.items() if value not in ("", None)}
    return "".join(
        f' {name}="{_text(value).replace(chr(34), "&quot;").replace(chr(10), "&#10;").replace(chr(9), "&#9;")}"'
        for name, value in shown.items()
    )


def _head(pack: Pack) -> str:
    heading = pack.heading
    attributes = _attributes(
        task=heading.task,
        scope=heading.scope,
        tokens=pack.tokens,
        budget=pack.budget,
        fresh="yes" if heading.fresh else "no",
        index=heading.freshness,
        confidence=None if heading.confidence is None else f"{heading.confidence:.2f}",
        sure=None if heading.confidence is None else "yes" if heading.sure else "no",
        searched=heading.searched,
        unseen=", ".join(heading.unseen),
        nearest=", ".join(heading.nearest),
        left_out=left_out(pack),
    )
    return f"<context{attributes}>\n"


def _item(packed: PackedItem) -> str:
    item = packed.item
    attributes = _attributes(
        id=item.id,
        at=f"{item.path}:{item.start}",
        end=item.end,
        kind=item.kind,
        score=f"{packed.score:.4g}",
        shows=packed.rendering,
        note=remark(packed),
    )
    return f"<item{attributes}>\n{_text(packed.text)}\n</item>\n" if packed.text else f"<item{attributes}/>\n"


def _opening(section: Section) -> str:
    return f"<section{_attributes(name=section.name, title=section.title, said=section.said)}>\n"


XML = Form(
    "xml",
    _head,
    _item,
    foot=lambda _pack: "</context>\n",
    least=lambda _pack: _EMPTY,
    opening=_opening,
    closing=lambda _section: "</section>\n",
)
