"""A comment at a pull request: short at first sight, everything else folded. Nothing in it can notify anybody, and none of it is markup but ours."""

from __future__ import annotations

import html

from assay.core.packs import Pack, PackedItem, Section
from assay.pack.render.form import Form, one_line, place, remark, statements
from assay.pack.render.markdown import escaped, fenced, span, unlinked

MARKER = "<!-- assay -->"  # the first line, by which a comment is found again to be renewed
_MOST_CHARACTERS = 65_000  # GitHub takes 65,536; the rest is for whoever adds a line
_UNFOLDED = ("missing",)  # sections that are read at first sight: what nobody sees in the diff
# statements of the heading; tokens and a fresh index are not worth a line here
_SAID = ("confidence", "searched", "found", "words not here", "nearest names", "try")


def _head(pack: Pack) -> str:
    heading = pack.heading
    title = f"### {escaped(heading.scope or heading.task)}\n\n" if heading.scope or heading.task else ""
    wanted = _SAID if heading.fresh else (*_SAID, "index")
    said = [f"> {name}: {escaped(text)}\n" for name, text in statements(pack) if name in wanted]
    return f"{MARKER}\n{title}" + "".join(said) + ("\n" if said else "")


def _item(packed: PackedItem) -> str:
    said = remark(packed)
    if not packed.text:
        at = f"[{span(place(packed))}]({packed.link})" if packed.link else span(place(packed))
        symbol = f" {span(packed.item.symbol)}" if packed.item.symbol else ""
        return f"- {at} {packed.item.kind}{symbol}" + (f" ({escaped(said)})" if said else "") + "\n"
    at = _code(place(packed))
    at = f'<a href="{html.escape(packed.link)}">{at}</a>' if packed.link else at
    symbol = f" {_code(packed.item.symbol)}" if packed.item.symbol else ""
    line = f"{at} {packed.item.kind}{symbol}" + (f" ({_text(said)})" if said else "")
    return f"\n<details><summary>{line}</summary>\n\n{fenced(packed)}\n</details>\n\n"


def _opening(section: Section) -> str:
    if section.empty:
        return ""
    state = " open" if section.name in _UNFOLDED else ""
    return f"<details{state}><summary><b>{_text(section.title)}</b>: {_text(section.said)}</summary>\n\n"


def _closing(section: Section) -> str:
    return "" if section.empty else "\n</details>\n\n"


def _foot(pack: Pack) -> str:
    """What there is nothing of, in one line, and what was left out."""
    empty = [
        f"**{escaped(section.title)}**: {escaped(section.said)}." for section in pack.heading.sections if section.empty
    ]
    left = [text for name, text in statements(pack) if name == "left out"]
    lines = [" ".join(empty), *(f"Left out for length: {escaped(text)}" for text in left)]
    return "".join(f"{line}\n\n" for line in lines if line)


def _text(text: str) -> str:
    return html.escape(unlinked(one_line(text)), quote=False)


def _code(text: str) -> str:
    """As it is, in an element in which nothing is a mention."""
    return f"<code>{html.escape(one_line(text), quote=False)}</code>"


COMMENT = Form(
    "comment",
    _head,
    _item,
    foot=_foot,
    least=lambda _pack: "",
    opening=_opening,
    closing=_closing,
    most_characters=_MOST_CHARACTERS,
)
