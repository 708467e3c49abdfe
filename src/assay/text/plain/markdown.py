"""Markdown and MDX as plain text: CommonMark, GitHub's and MkDocs' admonitions, Docusaurus, VitePress, MyST."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection
from html import unescape

from assay.text.markup import MARKUPS, closes, front_matter
from assay.text.plain.page import (
    LABELS,
    MARK,
    Page,
    Protected,
    dedented,
    end_of_block,
    indent_of,
    without_stars,
    without_underscores,
)
from assay.text.plain.rst import displayed
from assay.text.tags import MODULE_BLOCK, MODULE_LINE, end_of_module, without_tags

_FENCE = MARKUPS["markdown"].fence
_KEY = re.compile(r"[\w-]+\s*[:=]")  # first line of front matter
_QUOTE = re.compile(r" {0,3}>[ ]?(?: {0,3}>[ ]?)*+")
_ALERT = re.compile(r"\[!(\w+)\][+-]?[ \t]*(.*)$")
_INDENTED_ADMONITION = re.compile(r"(?:!!!|\?\?\?\+?)[ \t]+([\w-]+)[^\"]*(?:\"([^\"]*)\")?[ \t]*$")
_TAB = re.compile(r"===[!+]?[ \t]+\"([^\"]*)\"[ \t]*$")
_CONTAINER = re.compile(r":{3,}[ \t]*\{?([\w-]+)\}?(?:\[([^\]]*)\]|[ \t]*\{[^}]*\})?[ \t]*(.*)$")
_ROLE = re.compile(r"(?<![\w`])\{([a-z][\w:+.-]{0,40})\}`([^`\n]+)`(?!`)")  # of MyST: {func}`open`
_DIRECTIVE_FENCE = re.compile(r"\{([\w:-]+)\}[ \t]*(.*)$")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)$")
_ATTRIBUTES = re.compile(r"[ \t]*\{[ ]?[#.:][^{}]*\}[ \t]*$")
_RULE = re.compile(r"\s*(?:={2,}|-{2,}|\*{3,}|_{3,}|(?:[-*_][ \t]+){2,}[-*_])\s*$")
_TABLE_RULE = re.compile(r"\s*(?=[^|]*\|)[ \t:|-]*-[ \t:|-]*$")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])([ \t]+)(?=\S)")
_DEFINITION = re.compile(r" {0,3}(?:\[(?!\^)([^\[\]]+)\]:[ \t]*\S|\*\[[^\[\]]+\]:)")  # of a link or an abbreviation
_FOOTNOTE = re.compile(r" {0,3}\[\^[^\[\]]+\]:[ \t]*")
_RAW = re.compile(r" {0,3}<(!--|script\b|style\b|pre\b)", re.I)
_RAW_ENDS = {"!--": "-->", "script": "</script>", "style": "</style>", "pre": "</pre>"}
_INDENT = 4


def render_markdown(lines: list[str]) -> str:
    """Return Markdown as plain text."""
    return _Renderer(lines).render()


class _Renderer:
    """Reads lines one by one. `_bodies` are the indentations of `!!!` admonitions, `_items` those of list items."""

    def __init__(self, lines: list[str]) -> None:
        self._lines, self._at = lines, 0
        self._page = Page(self._inline)
        self._targets: set[str] = set()  # labels of link definitions: `[guide]: guide.md`
        self._bodies: list[int] = []
        self._items: list[int] = []
        self._quotes = 0  # depth of the current quotation
        self._after_blank = True
        self._directives: list[str] = []  # fences of open directives
        self._last: dict[str, int] = {}  # last line with each closing tag

    def render(self) -> str:
        for line in self._lines:
            if definition := _DEFINITION.match(line):
                self._targets.add((definition[1] or "").lower())
        start = front_matter(self._lines)[1]
        if start and _KEY.match(self._lines[1]):
            self._at = start
        if cut := self._end_of_cut_code():
            self._page.code(self._lines[self._at : cut])
            self._at = cut + 1
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip():
                self._line(line.expandtabs(_INDENT))
            else:
                self._page.blank()
                self._after_blank = True
                self._at += 1
        return self._page.text()

    def _inline(self, text: str) -> str:
        return inline(text, self._targets)

    def _line(self, line: str) -> None:
        """Read the block that starts at a line that is not blank."""
        while self._bodies and indent_of(line) < self._bodies[-1]:
            self._bodies.pop()
            self._page.end_label()
        line = self._unquoted(line[_INDENT * len(self._bodies) :])
        after_blank, self._after_blank = self._after_blank, False
        if not line.strip():
            self._page.blank()
            self._after_blank = True
            self._at += 1
        elif fence := _FENCE.match(line):
            self._fenced(line, fence)
        elif after_blank and self._is_code(line):
            end = end_of_block(self._lines, self._at, self._text_indent + _INDENT - 1)
            self._page.code([text.expandtabs(_INDENT) for text in self._lines[self._at : max(end, self._at + 1)]], "")
            self._at = max(end, self._at + 1)
        elif (raw := _RAW.match(line)) and self._raw(raw[1].lower()):
            pass
        elif not self._structure(line):
            self._text(line, after_blank)
            self._at += 1

    def _unquoted(self, line: str) -> str:
        quote = _QUOTE.match(line)
        depth = quote[0].count(">") if quote else 0
        if depth != self._quotes:
            self._page.end_label()
            self._page.blank()
            self._quotes = depth
        return line[quote.end() :] if quote else line

    @property
    def _text_indent(self) -> int:
        return self._items[-1] if self._items else 0

    def _is_code(self, line: str) -> bool:
        """Return whether a line after a blank one is indented code, not a paragraph of a list item."""
        while self._items and indent_of(line) < self._items[-1]:
            self._items.pop()
        return indent_of(line) >= self._text_indent + _INDENT and not _ITEM.match(line)

    # Code

    def _fenced(self, line: str, fence: re.Match[str]) -> None:
        """Read fenced code or a directive in a fence. A fence without a partner is dropped."""
        info = line[fence.end() :].strip()
        directive = _DIRECTIVE_FENCE.match(info)
        if directive and directive[1] in LABELS:
            self._directives.append(fence[1])
            self._page.label(directive[2] or LABELS[directive[1]])
            self._at += 1
        elif not info and self._directives and closes(line, self._directives[-1]):
            self._directives.pop()
            self._page.end_label()
            self._page.blank()
            self._at += 1
        else:
            end = self._closing(self._at, fence[1], bare=not info)
            if end is None:  # a span may end inside code, or start in it
                end = len(self._lines) if info or self._opens(self._at) else self._at
            self._page.code(self._code_line(line) for line in self._lines[self._at + 1 : end])
            self._page.blank()
            self._at = end + 1

    def _code_line(self, line: str) -> str:
        """Return a line of fenced code without the indentation and signs of what the block stands in."""
        indent = min(_INDENT * len(self._bodies), indent_of(line))
        line = line[indent:]
        if self._quotes and (quote := _QUOTE.match(line)):
            line = line[quote.end() :]
        return line

    def _closing(self, at: int, fence: str, bare: bool) -> int | None:
        """Return the line that closes a fence. One without a language closes nothing if another opens before."""
        for number in range(at + 1, len(self._lines)):
            text = self._lines[number].lstrip("> \t")
            if text.startswith(fence):
                if closes(text, fence):
                    return number
                if bare and _FENCE.match(text):
                    return None
        return None

    def _opens(self, at: int) -> bool:
        """Return whether a fence without a partner opens code: it stands directly above text."""
        return at + 1 < len(self._lines) and bool(self._lines[at + 1].strip())

    def _end_of_cut_code(self) -> int:
        """Return the line that closes code whose start is cut off; 0 if the span does not start in code."""
        for number in range(self._at, len(self._lines)):
            if fence := _FENCE.match(self._lines[number]):
                bare = not self._lines[number][fence.end() :].strip()
                unpaired = bare and self._closing(number, fence[1], bare=True) is None
                return number if unpaired and not self._opens(number) else 0
        return 0

    def _raw(self, tag: str) -> bool:
        """Read a comment, a script, a style sheet or preformatted HTML; return False if it does not end."""
        close = _RAW_ENDS[tag]
        if close not in self._last:
            numbers = range(len(self._lines) - 1, -1, -1)
            self._last[close] = next((n for n in numbers if close in self._lines[n].lower()), -1)
        if self._last[close] < self._at:
            return False
        end = self._at
        while close not in self._lines[end].lower():
            end += 1
        if tag == "!--" and end == self._at:  # text may stand before or after it
            return False
        if tag == "pre":
            self._page.code(dedented([unescape(without_tags(line)) for line in self._lines[self._at : end + 1]]))
        self._page.blank()
        self._at = end + 1
        return True

    # Structure

    def _structure(self, line: str) -> bool:
        """Read a line of structure: admonitions, tabs, rules, module lines; return False if it is text."""
        bare = line.strip()
        if alert := self._quotes and _ALERT.match(bare):
            self._page.label(alert[2] or LABELS.get(alert[1].lower(), alert[1].capitalize()))
        elif admonition := _INDENTED_ADMONITION.match(bare):
            self._open_body(line, admonition[2] or LABELS.get(admonition[1], admonition[1].capitalize()))
        elif tab := _TAB.match(bare):
            self._open_body(line, tab[1])
        elif bare.startswith(":::"):
            self._container(bare)
        elif MODULE_LINE.match(bare):
            pass
        elif MODULE_BLOCK.match(bare):
            self._at = end_of_module(self._lines, self._at) - 1
        elif _RULE.match(line) or _DEFINITION.match(line):
            self._page.blank()
        elif not _TABLE_RULE.match(line):
            return False
        self._at += 1
        return True

    def _open_body(self, line: str, label: str) -> None:
        """Start text that is indented by four further than its label."""
        self._page.label(label)
        self._bodies.append(indent_of(line) + _INDENT * (len(self._bodies) + 1))

    def _container(self, bare: str) -> None:
        """Read the line that opens or closes a container between `:::` signs."""
        self._page.end_label()
        self._page.blank()
        if opening := _CONTAINER.match(bare):
            title = opening[2] or opening[3]
            if label := title or LABELS.get(opening[1].lower(), ""):
                self._page.label(label)

    def _text(self, line: str, after_blank: bool) -> None:
        """Read a heading, list item, table row, footnote or line of a paragraph."""
        if heading := _HEADING.match(line):
            title = heading[1].rstrip()
            bare = title.rstrip("#")
            self._page.heading(_ATTRIBUTES.sub("", bare.rstrip() if bare[-1:].isspace() else title))
        elif item := _ITEM.match(line):
            while self._items and indent_of(line) < self._items[-1]:
                self._items.pop()
            self._items.append(item.end())
            bullet = item[2] if item[2][0].isdigit() else "-"
            self._page.item(f"{item[1]}{bullet}{item[3]}{line[item.end() :]}")
        elif _ROW.match(line):
            self._page.row(line)
        elif footnote := _FOOTNOTE.match(line):
            self._page.item(line[footnote.end() :])
        else:
            self._page.prose(line)


# Inline markup

_SPECIAL = re.compile(r"[`*_\[<&\\{~|]")
_TOKEN = re.compile(r"\\[!-/:-@\[-`{-~]|`+")
_TICKS = re.compile("`+")
_TEMPLATE = re.compile(r"\{\{[<%#/][^{}]*\}\}|\{%[^{}]*%\}|\{/\*[^*]*\*/\}")  # of Hugo, mdBook, Liquid and MDX
_GAP = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)")  # left by a tag
_AUTOLINK = re.compile(r"<(https?://[^\s<>]+|mailto:[^\s<>]+|[\w.+-]+@[\w.-]+)>")
_TAG_INDENT = re.compile(r"^[ \t]+(?=<[/A-Za-z])", re.M)  # shows the nesting of tags, not of text
_TARGET = (
    r"\(\s*+(?:<[^<>\n]*>|[^\s()]*+(?:\([^\s()]*+\)[^\s()]*+)*+)(?:\s++(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*+\)"
    r"(?:\{[^{}\n]*\})?"
)
_BADGE = re.compile(rf"\[!\[[^\[\]]*\]{_TARGET}\]{_TARGET}")
_IMAGE = re.compile(rf"!\[([^\[\]]*)\](?:{_TARGET}|\[[^\[\]]*\])")
_LINK = re.compile(rf"\[((?:[^\[\]]|\[[^\[\]]*\])*+)\]{_TARGET}|(?<![\w\]])\[([^\[\]]+)\]\[[^\[\]]*\]")
_LINKED_CODE = re.compile(rf"(?<!\w)\[({MARK}\d+{MARK})\]")
_SHORTCUT = re.compile(r"(?<!\w)\[([^\[\]]+)\]")
_FOOTNOTE_MARK = re.compile(r"\[\^[^\[\]]+\]")
_STRUCK = re.compile(r"~~(?=\S)([^~]*+)(?<=\S)~~")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")


def inline(text: str, targets: Collection[str] = ()) -> str:
    """Return a paragraph of Markdown without inline markup; `targets` are the labels of defined links, lower case."""
    if not _SPECIAL.search(text):
        return text
    protected = Protected()
    if "{" in text:
        text = _ROLE.sub(lambda match: protected.keep(displayed(match[1], match[2])), text)
    text = _protect_code(text, protected)
    whole = text = _AUTOLINK.sub(lambda match: protected.keep(match[1]), text) if "<" in text else text
    text = without_tags(_TAG_INDENT.sub("", _TEMPLATE.sub("", _without_comments(text))))
    if text != whole:
        text = _GAP.sub(" ", text)
    if "[" in text:
        text = _IMAGE.sub(r"\1", _BADGE.sub("", text))
        text = _LINK.sub(lambda match: match[1] or match[2] or "", _FOOTNOTE_MARK.sub("", text))
        text = _LINKED_CODE.sub(r"\1", text)
        if targets:
            text = _SHORTCUT.sub(lambda match: match[1] if match[1].lower() in targets else match[0], text)
    text = _STRUCK.sub(r"\1", without_underscores(without_stars(text)))
    if "{" in text:
        text = "\n".join(_ATTRIBUTES.sub("", line) for line in text.split("\n"))
    return protected.restore(without_entities(text))


def without_entities(text: str) -> str:
    """Replace entities such as `&lt;` by their characters."""
    return _ENTITY.sub(lambda match: unescape(match[0]), text).replace("\xa0", " ") if "&" in text else text


def _protect_code(text: str, protected: Protected) -> str:
    """Protect code spans and escaped signs. A span ends at the next run of as many backticks."""
    runs: dict[int, list[int]] = {}
    for run in _TICKS.finditer(text):
        runs.setdefault(len(run[0]), []).append(run.start())
    out: list[str] = []
    at = 0
    while token := _TOKEN.search(text, at):
        out.append(text[at : token.start()])
        at = token.end()
        if token[0][0] != "`":
            out.append(protected.keep(token[0][1]))
            continue
        starts = runs.get(len(token[0]), [])
        place = bisect_right(starts, token.start())
        if place == len(starts):
            out.append(token[0])
            continue
        code = text[token.end() : starts[place]].replace("\n", " ")
        at = starts[place] + len(token[0])
        out.append(protected.keep(code[1:-1] if code[:1] == code[-1:] == " " and code.strip() else code))
    return "".join(out) + text[at:]


def _without_comments(text: str) -> str:
    out: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        out.append(text[at:start])
        at = end + len("-->")
    return "".join(out) + text[at:]
