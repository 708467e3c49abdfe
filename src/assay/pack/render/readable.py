"""Formats for people and agents: plain text, Markdown, and pull request comments."""

from __future__ import annotations

import html
import re

from assay.core.packs import Pack, PackedItem, Section
from assay.pack.render.form import Form, place, printable, remark, statements
from assay.text.display import one_line, quoted
from assay.text.markup import span, ticks_around

# Plain text: one line per item, followed by its source lines, indented by a blank: only lines of ours begin in the first
# column, so that no comment or docstring can pass for a result.

_SECTION = "== "


def _name_line(packed: PackedItem) -> str:
    """Return `path:start kind symbol` with remarks."""
    note = remark(packed)
    return f"{place(packed)} {one_line(f'{packed.item.kind} {packed.item.symbol}').rstrip()}" + (
        f" [{one_line(note)}]" if note else ""
    )


def _text_head(pack: Pack) -> str:
    return "".join(f"{name}: {text}\n" for name, text in statements(pack)) + "\n"


def _text_item(packed: PackedItem) -> str:
    return f"{_name_line(packed)}\n" + (f"{quoted(printable(packed.text))}\n\n" if packed.text else "")


def _text_opening(section: Section) -> str:
    return f"{_SECTION}{one_line(section.title)}: {one_line(section.said)}\n"


PLAIN = Form("text", _text_head, _text_item, opening=_text_opening, closing=lambda _section: "\n")


# Markdown: items as list entries, their lines in fences that their content cannot close

_EXTENSION = re.compile(r"\.([A-Za-z0-9]+)$")
_MARKUP = re.compile(r"([\\`*_\[\]<>&~$])")
# Text that a forge turns into a mention or reference: @name, #12, GH-12, a URL.
_LINKED = re.compile(r"@(?=\w)|#(?=\d)|\bGH-(?=\d)|:(?=//)|\bwww(?=\.)", re.IGNORECASE)


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


def _markdown_head(pack: Pack) -> str:
    return "".join(f"> {name}: {escaped(text)}\n" for name, text in statements(pack)) + "\n"


def _entry(packed: PackedItem, location: str) -> str:
    """Return the list entry of an item."""
    note = remark(packed)
    symbol = f" {span(packed.item.symbol)}" if packed.item.symbol else ""
    return f"- {location} {packed.item.kind}{symbol}" + (f" ({escaped(note)})" if note else "") + "\n"


def _markdown_item(packed: PackedItem) -> str:
    entry = _entry(packed, span(place(packed)))
    return f"{entry}\n{fenced(packed)}\n" if packed.text else entry


def _markdown_opening(section: Section) -> str:
    return f"### {escaped(section.title)}: {escaped(section.said)}\n\n"


MARKDOWN = Form(
    "markdown",
    _markdown_head,
    _markdown_item,
    opening=_markdown_opening,
    closing=lambda _section: "\n",
)


# Pull request comment: short summary, details folded. Its content can neither mention anybody nor inject markup.

MARKER = "<!-- assay -->"  # first line, identifies the comment to update
_MOST_CHARACTERS = 65_000  # GitHub accepts 65,536; leaves room for an added line
_OPEN_SECTIONS = ("missing",)  # sections shown unfolded: they are not visible in the diff
# heading lines that are shown; tokens and a fresh index are not worth a line here
_SHOWN_STATEMENTS = ("pending", "confidence", "searched", "found", "unmatched words", "nearest names", "try")


def _comment_head(pack: Pack) -> str:
    heading = pack.heading
    title = f"### {escaped(heading.scope or heading.task)}\n\n" if heading.scope or heading.task else ""
    shown = _SHOWN_STATEMENTS if heading.fresh else (*_SHOWN_STATEMENTS, "index")
    lines = [f"> {name}: {escaped(text)}\n" for name, text in statements(pack) if name in shown]
    return f"{MARKER}\n{title}" + "".join(lines) + ("\n" if lines else "")


def _comment_item(packed: PackedItem) -> str:
    if not packed.text:
        return _entry(packed, f"[{span(place(packed))}]({packed.link})" if packed.link else span(place(packed)))
    note = remark(packed)
    location = _code_element(place(packed))
    location = f'<a href="{html.escape(packed.link)}">{location}</a>' if packed.link else location
    symbol = f" {_code_element(packed.item.symbol)}" if packed.item.symbol else ""
    line = f"{location} {packed.item.kind}{symbol}" + (f" ({_escaped_html(note)})" if note else "")
    return f"\n<details><summary>{line}</summary>\n\n{fenced(packed)}\n</details>\n\n"


def _comment_opening(section: Section) -> str:
    if section.empty:
        return ""
    state = " open" if section.name in _OPEN_SECTIONS else ""
    return (
        f"<details{state}><summary><b>{_escaped_html(section.title)}</b>: {_escaped_html(section.said)}</summary>\n\n"
    )


def _comment_closing(section: Section) -> str:
    return "" if section.empty else "\n</details>\n\n"


def _comment_foot(pack: Pack) -> str:
    """Return the empty sections in one line, and what was omitted."""
    empty = [
        f"**{escaped(section.title)}**: {escaped(section.said)}." for section in pack.heading.sections if section.empty
    ]
    omitted = [text for name, text in statements(pack) if name == "left out"]
    lines = [" ".join(empty), *(f"Left out for length: {escaped(text)}" for text in omitted)]
    return "".join(f"{line}\n\n" for line in lines if line)


def _escaped_html(text: str) -> str:
    return html.escape(unlinked(one_line(text)), quote=False)


def _code_element(text: str) -> str:
    """Return text in a code element, in which nothing is a mention."""
    return f"<code>{html.escape(one_line(text), quote=False)}</code>"


COMMENT = Form(
    "comment",
    _comment_head,
    _comment_item,
    foot=_comment_foot,
    opening=_comment_opening,
    closing=_comment_closing,
    most_characters=_MOST_CHARACTERS,
)
