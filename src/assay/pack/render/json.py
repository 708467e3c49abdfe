"""JSON, the format for scripts: one item per line. Optional keys without a value are omitted."""

from __future__ import annotations

import json
import re

from assay.core.packs import Heading, Pack, PackedItem
from assay.pack.render.form import Form
from assay.text.display import escaped_in_json

_SURROGATES = re.compile("[\ud800-\udfff]")  # cannot be written as UTF-8


def _dump(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return escaped_in_json(_SURROGATES.sub("\ufffd", text))


def _head(pack: Pack) -> str:
    heading = pack.heading
    optional = {
        "task": heading.task,
        "scope": heading.scope,
        "freshness": heading.freshness,
        "searched": heading.searched,
        "unseen": heading.unseen,
        "nearest": heading.nearest,
        "sections": {section.name: section.said for section in heading.sections},
    }
    fields = {
        "tokens": pack.tokens,
        "budget": pack.budget,
        "fresh": heading.fresh,
        **_chance(heading),
        "left_out": {"count": pack.left_out, "best": pack.best_left_out},
        **{name: value for name, value in optional.items() if value},
    }
    return f'{_dump(fields)[:-1]},"items":[\n'


def _chance(heading: Heading) -> dict[str, float | bool]:
    if heading.confidence is None:
        return {}
    return {"confidence": round(heading.confidence, 4), "sure": heading.sure}


def _item(packed: PackedItem) -> str:
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
    return f"{_dump(fields)}\n"


def _least(pack: Pack) -> str:
    return f"{_dump({'items': [], 'tokens': 0, 'fresh': pack.heading.fresh})}\n"


JSON = Form("json", _head, _item, foot=lambda _pack: "]}\n", least=_least, writes_tokens=True, separator=",")
