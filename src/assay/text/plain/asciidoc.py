"""AsciiDoc as plain text: Asciidoctor and Antora."""

from __future__ import annotations

import re

from assay.text.plain.markdown import without_entities
from assay.text.plain.page import LABELS, Page, Protected, without_stars, without_underscores

_VERBATIM = re.compile(r"(-{4,}|\.{4,}|`{3,}|\+{4,})[\w,+-]*$")  # opens a block up to the same line again
_COMMENT = re.compile(r"/{4,}$")
_DELIMITER = re.compile(r"(?:={4,}|\*{4,}|_{4,}|--|[|,:!]===|'{3,}|<{3,}|\+|---|\*\*\*)$")
_DROPPED = re.compile(
    r"(?:include|ifdef|ifndef|ifeval|endif|toc)::|//(?!/)|:!?[\w-]+!?:(?:\s|$)|\[\[[^\]]*\]\]$|\[#[\w-]+\]$"
)
_ADMONITION = re.compile(r"\[(NOTE|TIP|IMPORTANT|WARNING|CAUTION)[^\]]*\]$")
_ATTRIBUTES = re.compile(r"\[(?:[\w%.,#\"'= +*<>^~:;/-]|\{[\w-]+\})+\]$")
_IMAGE = re.compile(r"(?:image|video|audio)::[^\[\s]*\[([^,\]\"]*)[^\]]*\]$")
_HEADING = re.compile(r"(?:={1,6}|#{1,6})[ \t]+(\S.*)$")
_BLOCK_TITLE = re.compile(r"\.([^\s.].*)$")
_UNDERLINE = re.compile(r"([=~^+-])\1{3,}$")
_ITEM = re.compile(r"(\s*)(\*{1,5}|-|\.{1,5}|\d{1,3}\.|<[\d.]{1,3}>)[ \t]+(?=\S)")
_TERM = re.compile(r"(\s*)(\S.*?)(:{2,4}|;;)(?:[ \t]+(\S.*))?$")
_CELL = re.compile(r"(?:\d*[.+]?\d*[.+*]?[<^>]?[.<^>]*[aehlmsv]?)?\|")
_MAX_TERM = 200  # characters; a longer line is prose


def render_asciidoc(lines: list[str]) -> str:
    """Return AsciiDoc as plain text."""
    page, at, after_blank, in_table = Page(inline), 0, True, False
    while at < len(lines):
        line = lines[at].expandtabs(4).rstrip()
        bare = line.strip()
        block = _VERBATIM.match(bare) or _COMMENT.match(bare)
        if not bare:
            page.blank()
        elif block and not _underlines(lines, at):
            end = _closing(lines, at, bare)
            if bare[0] != "/":
                page.code(lines[at + 1 : end])
                page.blank()
            at = end
        elif line[0].isspace() and after_blank and not _ITEM.match(line):
            end = _end_of_paragraph(lines, at)
            page.code(lines[at:end], "" if line.startswith("    ") else "    ")
            at = end - 1
        elif bare.endswith("===") and len(bare) == 4 and bare[0] in "|,:!":
            in_table = not in_table
            page.blank()
        elif not _structure(page, bare):
            if in_table and _CELL.match(bare):
                page.row(line)
            else:
                _text(page, line)
        after_blank = not bare
        at += 1
    return page.text()


def _closing(lines: list[str], at: int, delimiter: str) -> int:
    """Return the line that closes a block; the end of the text if none does."""
    language = _VERBATIM.match(delimiter)
    delimiter = language[1] if language else delimiter
    return next((number for number in range(at + 1, len(lines)) if lines[number].strip() == delimiter), len(lines))


def _end_of_paragraph(lines: list[str], at: int) -> int:
    while at < len(lines) and lines[at].strip():
        at += 1
    return at


def _underlines(lines: list[str], at: int) -> bool:
    """Return whether a rule of dashes underlines the title above it."""
    rule, title = lines[at].strip(), lines[at - 1].strip() if at else ""
    return rule[0] == "-" and title[:1].isalnum() and abs(len(title) - len(rule)) <= 1


def _structure(page: Page, bare: str) -> bool:
    """Read a line of structure: attributes, directives, delimiters; return False if it is text."""
    if admonition := _ADMONITION.match(bare):
        page.label(LABELS[admonition[1].lower()])
    elif any(pattern.match(bare) for pattern in (_DROPPED, _ATTRIBUTES, _DELIMITER)):
        page.end_paragraph()
    elif _UNDERLINE.match(bare):
        page.blank()
    elif image := _IMAGE.match(bare):
        page.item(image[1])
    else:
        return False
    return True


def _text(page: Page, line: str) -> None:
    """Read a heading, block title, list item, term, or line of a paragraph."""
    bare = line.strip()
    if heading := _HEADING.match(bare):
        page.heading(heading[1])
    elif title := _BLOCK_TITLE.match(bare):
        page.blank()
        page.prose(title[1])
        page.end_paragraph()
    elif item := _ITEM.match(line):
        sign = item[2]
        depth = len(sign) - 1 if sign[0] in "*." else 0
        bullet = sign if sign[0].isdigit() else f"({sign[1:-1]})" if sign[0] == "<" else "-"
        page.item(f"{item[1]}{'  ' * depth}{bullet} {line[item.end() :]}")
    elif len(line) <= _MAX_TERM and (term := _TERM.match(line)) and not term[2].endswith(":"):
        page.item(f"{term[1]}{term[2]}: {term[4] or ''}".rstrip())
    else:
        page.prose(line.removesuffix(" +"))


# Inline markup

_SPECIAL = re.compile(r"[`*_\[<&{#^+(\\]")
_CODE = re.compile(r"(?<![\w`])(``?)(\+?)(?=\S)([^`]+?)\2\1(?!`)(?:(?<=``)|(?!\w))|\+\+\+([^+]*)\+\+\+")
_TEXT = r"\[((?:[^\[\]\\]|\\.|\[[^\[\]]*\])*+)\]"
# a target is consumed even if no text follows, so that no text is read twice
_LINK = re.compile(rf"(?:link:|mailto:)\+*+([^\s\[\]+]*+)\+*+(?:{_TEXT})?|(https?://[^\s\[\]<>]*+)(?:{_TEXT})?")
_CROSS_REFERENCE = re.compile(rf"xref:([^\s\[\]]*+)(?:{_TEXT})?|<<([^<>,]+)(?:,\s*([^<>]*))?>>")
_ICON = re.compile(r"(?:icon|anchor|indexterm2?|counter2?):[^\s\[\]:]*\[[^\[\]]*\]|\(\(\([^()]*\)\)\)|\[\[[^\[\]]*\]\]")
_INLINE_IMAGE = re.compile(r"image:(?!:)([^\s\[\]]*+)(?:\[([^,\[\]\"]*)[^\[\]]*\])?")
_MACRO = re.compile(rf"(?:kbd|btn|pass|stem|latexmath|asciimath):\w*{_TEXT}")
_MENU = re.compile(rf"menu:([^\[\]\n:]+){_TEXT}")
_FOOTNOTE = re.compile(rf"[ \t]?footnote:[\w-]*{_TEXT}")
_MARKED = re.compile(r"(?:\[[\w.#%, -]*\])?(?<![\w&#])(##?)(?=[^\s#])([^#\n]*+)(?<=\S)\1(?![\w#])")
_RAISED = re.compile(r"([\^~])(?=\S)([^\s^~]{1,30})\1")
_EMPTY = re.compile(r"\{(?:nbsp|blank|empty|sp|zwsp|wj)\}")
_INDEXED = re.compile(r"\(\(([^()]+)\)\)")
_WINDOW = re.compile(r",?\s*(?:window|role|opts|id)=\S+$|\^$")


def inline(text: str) -> str:
    """Return a paragraph of AsciiDoc without inline markup."""
    if not _SPECIAL.search(text):
        return text
    protected = Protected()
    text = _CODE.sub(lambda match: protected.keep((match[3] or match[4] or "").replace("\n", " ")), text)
    if "[" in text or "<<" in text or "((" in text:
        text = _INLINE_IMAGE.sub(lambda match: match[0] if match[2] is None else match[2], _ICON.sub("", text))
        text = _LINK.sub(_linked, text)
        text = _CROSS_REFERENCE.sub(_referenced, text)
        text = _FOOTNOTE.sub(r" (\1)", _MENU.sub(r"\1 > \2", _MACRO.sub(r"\1", text)))
        text = _INDEXED.sub(r"\1", text)
    text = _EMPTY.sub(" ", text)
    text = without_underscores(without_stars(text))
    text = _RAISED.sub(r"\2", _MARKED.sub(r"\2", text))
    return protected.restore(without_entities(text))


def _linked(match: re.Match[str]) -> str:
    address, text = (match[3], match[4]) if match[1] is None else (match[1], match[2])
    return match[0] if text is None else _WINDOW.sub("", text) or address


def _referenced(match: re.Match[str]) -> str:
    if match[1] is not None and match[2] is None:
        return match[0]
    target, text = (match[3], match[4]) if match[1] is None else (match[1], match[2])
    return text or target.rpartition("/")[2].removesuffix(".adoc").lstrip("#")
