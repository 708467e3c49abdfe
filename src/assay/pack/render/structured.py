"""Formats for programs: XML and JSON."""

from __future__ import annotations

import json
import re

from assay.core.packs import Heading, Pack, PackedItem, Section
from assay.pack.render.form import Form, left_out, printable, remark
from assay.text.display import escaped_in_json

# XML: one element per item, its lines as escaped text

_EMPTY_XML = "<context/>\n"


def _escape_xml(text: str) -> str:
    """Escape no more than XML requires, so that code stays readable."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")


def _attributes(**values: object) -> str:
    """Return the attributes with a value, escaped; line breaks become character references."""
    shown = {name: str(value) for name, value in values.items() if value not in ("", None)}
    return "".join(
        f' {name}="{_escape_xml(value).replace(chr(34), "&quot;").replace(chr(10), "&#10;").replace(chr(9), "&#9;")}"'
        for name, value in shown.items()
    )


def _xml_head(pack: Pack) -> str:
    heading = pack.heading
    attributes = _attributes(
        task=heading.task,
        scope=heading.scope,
        tokens=pack.tokens,
        budget=pack.budget,
        fresh="yes" if heading.fresh else "no",
        index=heading.freshness,
        pending=heading.pending,
        confidence=None if heading.confidence is None else f"{heading.confidence:.2f}",
        sure=None if heading.confidence is None else "yes" if heading.sure else "no",
        searched=heading.searched,
        unseen=", ".join(heading.unseen),
        nearest=", ".join(heading.nearest),
        left_out=left_out(pack),
    )
    return f"<context{attributes}>\n"


def _xml_item(packed: PackedItem) -> str:
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
    return f"<item{attributes}>\n{_escape_xml(packed.text)}\n</item>\n" if packed.text else f"<item{attributes}/>\n"


def _xml_opening(section: Section) -> str:
    return f"<section{_attributes(name=section.name, title=section.title, said=section.said)}>\n"


XML = Form(
    "xml",
    _xml_head,
    _xml_item,
    foot=lambda _pack: "</context>\n",
    least=lambda _pack: _EMPTY_XML,
    opening=_xml_opening,
    closing=lambda _section: "</section>\n",
)


# JSON: one item per line. Optional keys without a value are omitted.

_SURROGATES = re.compile("[\ud800-\udfff]")  # cannot be written as UTF-8


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))  # made once: an answer has hundreds of pieces


def _json_dump(value: object) -> str:
    text = _ENCODER.encode(value)
    return escaped_in_json(text if text.isascii() else _SURROGATES.sub("\ufffd", text))


def _json_head(pack: Pack) -> str:
    heading = pack.heading
    optional = {
        "task": heading.task,
        "scope": heading.scope,
        "freshness": heading.freshness,
        "pending": heading.pending,
        "searched": heading.searched,
        "unseen": heading.unseen,
        "nearest": heading.nearest,
        "sections": {section.name: section.said for section in heading.sections},
    }
    fields = {
        "tokens": pack.tokens,
        "budget": pack.budget,
        "fresh": heading.fresh,
        **_json_chance(heading),
        "left_out": {"count": pack.left_out, "best": pack.best_left_out},
        **{name: value for name, value in optional.items() if value},
    }
    return f'{_json_dump(fields)[:-1]},"items":[\n'


def _json_chance(heading: Heading) -> dict[str, float | bool]:
    if heading.confidence is None:
        return {}
    return {"confidence": round(heading.confidence, 4), "sure": heading.sure}


def _json_item(packed: PackedItem) -> str:
    item = packed.item
    optional = {
        "repository": item.repository,
        "section": packed.section,
        "why": packed.why,
        "text": packed.text,
        "note": packed.note,
        "within": packed.within,
        "link": packed.link,
    }
    fields = {
        "id": item.id,
        "symbol": item.symbol,
        "kind": item.kind,
        "path": item.path,
        "start": item.start,
        "end": item.end,
        "score": round(packed.score, 6),
        "rendering": packed.rendering,
        "tokens": packed.tokens,
        **{name: value for name, value in optional.items() if value},
    }
    return f"{_json_dump(fields)}\n"


def _json_least(pack: Pack) -> str:
    return f"{_json_dump({'items': [], 'tokens': 0, 'fresh': pack.heading.fresh})}\n"


JSON = Form(
    "json", _json_head, _json_item, foot=lambda _pack: "]}\n", least=_json_least, writes_tokens=True, separator=","
)
