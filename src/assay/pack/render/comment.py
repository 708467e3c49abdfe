"""Pull request comment: short summary, details folded. Its content can neither mention anybody nor inject markup."""

from __future__ import annotations

import html

from assay.core.packs import Pack, PackedItem, Section
from assay.pack.render.form import Form, one_line, place, remark, statements
from assay.pack.render.markdown import escaped, fenced, span, unlinked

MARKER = "<!-- assay -->"  # first line, identifies the comment to update
_MOST_CHARACTERS = 65_000  # GitHub accepts 65,536; leaves room for an added line
_OPEN_SECTIONS = ("missing",)  # sections shown unfolded: they are not visible in the diff
# heading lines that are shown; tokens and a fresh index are not worth a line here
_SHOWN_STATEMENTS = ("confidence", "searched", "found", "unmatched words", "nearest names", "try")


def _head(pack: Pack) -> str:
    heading = pack.heading
    title = f"### {escaped(heading.scope or heading.task)}\n\n" if heading.scope or heading.task else ""
    shown = _SHOWN_STATEMENTS if heading.fresh else (*_SHOWN_STATEMENTS, "index")
    lines = [f"> {name}: {escaped(text)}\n" for name, text in statements(pack) if name in shown]
    return f"{MARKER}\n{title}" + "".join(lines) + ("\n" if lines else "")


def _item(packed: PackedItem) -> str:
    note = remark(packed)
    if not packed.text:
        location = f"[{span(place(packed))}]({packed.link})" if packed.link else span(place(packed))
        symbol = f" {span(packed.item.symbol)}" if packed.item.symbol else ""
        return f"- {location} {packed.item.kind}{symbol}" + (f" ({escaped(note)})" if note else "") + "\n"
    location = _code(place(packed))
    location = f'<a href="{html.escape(packed.link)}">{location}</a>' if packed.link else location
    symbol = f" {_code(packed.item.symbol)}" if packed.item.symbol else ""
    line = f"{location} {packed.item.kind}{symbol}" + (f" ({_text(note)})" if note else "")
    return f"\n<details><summary>{line}</summary>\n\n{fenced(packed)}\n</details>\n\n"


def _opening(section: Section) -> str:
    if section.empty:
        return ""
    state = " open" if section.name in _OPEN_SECTIONS else ""
    return f"<details{state}><summary><b>{_text(section.title)}</b>: {_text(section.said)}</summary>\n\n"


def _closing(section: Section) -> str:
    return "" if section.empty else "\n</details>\n\n"


def _foot(pack: Pack) -> str:
    """Return the empty sections in one line, and what was omitted."""
    empty = [
        f"**{escaped(section.title)}**: {escaped(section.said)}." for section in pack.heading.sections if section.empty
    ]
    omitted = [text for name, text in statements(pack) if name == "left out"]
    lines = [" ".join(empty), *(f"Left out for length: {escaped(text)}" for text in omitted)]
    return "".join(f"{line}\n\n" for line in lines if line)


def _text(text: str) -> str:
    return html.escape(unlinked(one_line(text)), quote=False)


def _code(text: str) -> str:
    """Return text in a code element, in which nothing is a mention."""
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
