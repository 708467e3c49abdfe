"""Read HTML: one line per block and table row, with headings, terms and preformatted text.

Scripts, navigation and link lists are left out. Templates, in scripts too, are read as content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser

from assay.index.documents.opened import OpenedDocument
from assay.text.markup import Heading, Outline

_SKIPPED_TAGS = frozenset(["script", "style", "noscript", "svg", "nav", "iframe", "object", "select"])
_LANDMARKS = frozenset(["navigation", "search", "banner", "contentinfo"])  # roles of elements around the main text
_LINE = frozenset(["br", "li", "tr", "dt", "dd", "option", "label", "figcaption", "caption"])
_CELL = frozenset(["td", "th"])
# in a table cell: these only separate words, the others show that the table is a layout
_IN_CELL = frozenset(["br", "li", "p", "div", "ul", "ol", "label"])
_MAX_ROW = 2_000  # characters of a row; a longer one is a layout
_BLOCK = frozenset(
    ["p", "div", "pre", "table", "ul", "ol", "dl", "blockquote", "section", "article", "header", "footer", "main",
     "aside", "form", "figure", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "body", "head", "title"]
)  # fmt: skip
_HEADING = re.compile("h[1-6]")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_WORD = re.compile(r"[^\W\d_]")
# scripts that browsers do not run: templates of Handlebars, Mustache, Vue, Angular, Underscore
_SCRIPT = re.compile(
    r"(?<![\"'`])<script(?=\s)[^<>]*?\stype\s*=\s*[\"']?(?:text|application)/"
    r"(?:x-handlebars(?:-template)?|x-template|x-mustache|x-tmpl-mustache|x-tmpl|x-underscore"
    r"|ng-template|template|html|mustache|handlebars)[\"'\s>][^<>]*>?",
    re.I,
)
_SCRIPT_END = re.compile(r"</script\s*>", re.I)
_MUSTACHE = re.compile(r"\{\{\{?[^{}]*\}?\}\}|<%[^%]*%>")
_TERM_INDENT = "    "  # of the text that explains a term
_MIN_MENU_LINES = 3  # consecutive lines of only links that count as navigation or a table of contents
_PERMALINK_SIGNS = "¶#§ \t"  # permalink signs that generators append to headings


def open_document(data: bytes) -> OpenedDocument:
    """Return the text of a page with the file lines it comes from."""
    reader = _Reader()
    # the parser takes quadratic time for comments and unclosed tags: blank the former, treat the latter as text
    text = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), data.decode().replace("\r\n", "\n"))
    text = _with_templates(text)
    end = text.rfind(">") + 1
    reader.feed(text[:end])
    reader.close()
    reader.handle_data(unescape(text[end:]))
    reader.end_line()
    menus = set(_menus(reader))
    text_lines = [n for n in range(len(reader.lines)) if n not in menus]
    new_lines = {line: position for position, line in enumerate(text_lines)}
    headings = [Heading(new_lines[heading.line], heading.level, heading.title) for heading in reader.headings]
    return OpenedDocument(
        [reader.lines[n] for n in text_lines],
        Outline(headings, {new_lines[n] for n in reader.code if n in new_lines}),  # a link list may be preformatted
        "" if any(heading.level == 1 for heading in headings) else reader.title,
        numbers=tuple(reader.numbers[n] for n in text_lines),
    )


def _with_templates(text: str) -> str:
    """Turn scripts that hold templates into template elements; lines stay."""
    out: list[str] = []
    at = 0
    while (start := _SCRIPT.search(text, at)) and (end := _SCRIPT_END.search(text, start.end())):
        breaks = "\n" * start[0].count("\n")
        out += [text[at : start.start()], f"<template>{breaks}", text[start.end() : end.start()], "</template>"]
        at = end.end()
    return "".join(out) + text[at:]


def _menus(reader: _Reader) -> Iterator[int]:
    """Yield the lines of link lists; blank lines do not end a list, headings do."""
    headed = {heading.line for heading in reader.headings}
    run: list[int] = []
    for number, line in enumerate([*reader.lines, "end"]):
        if number in reader.links and number not in headed:
            run.append(number)
        elif line:
            yield from run if len(run) >= _MIN_MENU_LINES else ()
            run = []


class _Reader(HTMLParser):
    """Collects the text lines of a page while parsing."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.numbers: list[int] = []
        self.headings: list[Heading] = []
        self.code: set[int] = set()
        self.links: set[int] = set()  # lines all of whose words are links
        self.title = ""
        self._pieces: list[str] = []  # of the current line
        self._blank, self._number = True, 1
        self._skipped = 0  # number of open skipped elements
        self._landmark, self._depth = "", 0  # tag of the element skipped for its role, and its nesting depth
        self._preformatted = 0
        self._in_link = False
        self._unlinked = False  # the current line has words outside links
        self._heading = ""
        self._in_title = False
        self._templates = 0  # number of open templates
        self._cells = -1  # cells of the current table row so far; -1 outside a row
        self._in_term = self._after_term = False  # of a definition list
        self._in_definition = False

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Treat `<![…` as a comment, like browsers; the underlying SGML parser raises if no name follows."""
        return self.parse_bogus_comment(i)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _SKIPPED_TAGS:
            self._skipped += 1
        if tag == self._landmark:
            self._depth += 1
        elif not self._landmark and any(name == "role" and value in _LANDMARKS for name, value in attributes):
            self._landmark, self._depth = tag, 1
        self._templates += tag == "template"
        self._break(tag)
        if tag == "tr":
            self._cells = 0
        elif tag in _CELL and self._cells >= 0:
            self._pieces += [" | "] if self._cells else []
            self._cells += 1
        self._in_term = tag == "dt" or (self._in_term and tag != "dd")
        self._in_definition = tag == "dd" or (self._in_definition and tag not in ("dt", "dl"))
        self._preformatted += tag == "pre"
        self._in_link = self._in_link or tag == "a"
        if _HEADING.fullmatch(tag):
            self._heading = tag
        self._in_title = tag == "title"

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED_TAGS:
            self._skipped = max(0, self._skipped - 1)
        if tag == self._landmark:
            self._depth -= 1
            self._landmark = self._landmark if self._depth else ""
        if tag == self._heading:
            self._end_heading(int(tag[1]))
        else:
            self._break(tag)
        if tag == "a":
            self._in_link = False
        if tag == "template":
            self._templates = max(0, self._templates - 1)
        self._in_definition = self._in_definition and tag != "dl"
        if tag == "pre":
            self._preformatted = max(0, self._preformatted - 1)
        self._in_title = False

    def _break(self, tag: str) -> None:
        """End the line where an element starts or ends, unless it stands in a table cell."""
        if tag in _CELL and self._cells < 0:  # a cell without a row
            self.end_line()
        elif tag in _LINE or tag in _BLOCK:
            if self._cells > 0 and tag in _IN_CELL and sum(map(len, self._pieces)) < _MAX_ROW:
                self._pieces.append(" ")
                return
            self._cells = -1
            self.end_line(blank=tag in _BLOCK)

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title = " ".join((self.title + data).split())
        elif not self._skipped and not self._landmark:
            if self._templates and not self._preformatted:
                data = _MUSTACHE.sub(lambda tag: "\n" * tag[0].count("\n"), data)
            for number, piece in enumerate(data.split("\n"), self.getpos()[0]):
                self._add(piece, number)

    def _add(self, piece: str, number: int) -> None:
        if number > self.getpos()[0]:  # end of a source line
            if self._preformatted:
                self.end_line()
            else:
                self._pieces.append(" ")
        if self._blank:
            self._number = number
        self._pieces.append(piece)
        self._blank = self._blank and not piece.strip()
        self._unlinked |= not self._in_link and bool(_WORD.search(piece))

    def end_line(self, blank: bool = False) -> None:
        line = "".join(self._pieces)
        line = line.rstrip() if self._preformatted else self._shown(line)
        inside = self._preformatted and len(self.lines) - 1 in self.code  # blank lines inside code are kept
        if line or (inside and not blank):
            if self._preformatted:
                self.code.add(len(self.lines))
            if _WORD.search(line) and not self._unlinked:
                self.links.add(len(self.lines))
            self._put(line)
            self._in_term, self._after_term = False, self._in_term
        if blank and self.lines and self.lines[-1] and not self._after_term:  # a term stands above its text
            self._put("")
        self._pieces, self._blank, self._unlinked = [], True, False

    def _shown(self, line: str) -> str:
        """Return a line as shown: without repeated blanks and empty cells, indented below a term."""
        line = " ".join(line.split())
        line = line.rstrip(_PERMALINK_SIGNS) if self._in_term else "" if not line.strip("| ") else line
        return f"{_TERM_INDENT}{line}" if line and self._in_definition else line

    def _put(self, line: str) -> None:
        self.lines.append(line)
        self.numbers.append(self._number)

    def _end_heading(self, level: int) -> None:
        title = " ".join("".join(self._pieces).split()).rstrip(_PERMALINK_SIGNS)
        self._heading, self._pieces, self._blank = "", [title], not title
        if title:
            self.headings.append(Heading(len(self.lines), level, title))
        self.end_line(blank=True)
