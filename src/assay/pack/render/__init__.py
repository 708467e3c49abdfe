"""Rendering of a pack in the format it was packed for. A new format is a `Form` and a row in `FORMS`."""

from __future__ import annotations

from collections.abc import Iterator

from assay.core.packs import Pack
from assay.pack.render.form import Form
from assay.pack.render.readable import COMMENT, MARKDOWN, PLAIN
from assay.pack.render.structured import JSON, XML

FORMS: dict[str, Form] = {form.name: form for form in (PLAIN, MARKDOWN, COMMENT, XML, JSON)}


def render(pack: Pack) -> str:
    """Render the whole answer; it has exactly the tokens the pack states, never more than its budget."""
    form = FORMS[pack.format]
    if not pack.framed:
        return form.least(pack)
    last = len(pack.items) - 1
    pieces = [form.piece(packed, last=position == last) for position, packed in enumerate(pack.items)]
    return (
        form.head(pack) + "".join(_sectioned(pack, form, pieces) if pack.heading.sections else pieces) + form.foot(pack)
    )


def _sectioned(pack: Pack, form: Form, pieces: list[str]) -> Iterator[str]:
    for section in pack.heading.sections:
        yield form.opening(section)
        yield from (piece for packed, piece in zip(pack.items, pieces, strict=True) if packed.section == section.name)
        yield form.closing(section)
