"""Read HTML: one line per block, with headings and preformatted text; without scripts, navigation and link lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser

from assay.index.documents.opened import OpenedDocument
from assay.text.markup import Heading, Outline

_SKIPPED_TAGS = frozenset(["script", "style", "noscript", "template", "svg", "nav", "iframe", "object", "select"])
_LANDMARKS = frozenset(["navigation", "search", "banner", "contentinfo"])  # roles of elements around the main text
_LINE = frozenset(["br", "li", "tr", "dt", "dd", "option", "label", "figcaption", "caption", "td", "th"])
_BLOCK = frozenset(
    ["p", "div", "pre", "table", "ul", "ol", "dl", "blockquote", "section", "article", "header", "footer", "main", "aside",
     "form", "figure", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "body", "head", "title"]
)  # fmt: skip
_HEADING = re.compile("h[1-6]")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_WORD = re.compile(r"[^\W\d_]")
_MIN_MENU_LINES = 3  # consecutive lines of only links that count as navigation or a table of contents
_PERMALINK_SIGNS = "¶#§ \t"  # permalink signs that generators append to headings


def open_document(data: bytes) -> OpenedDocument:
    """Return the text of a page with the file lines it comes from."""
    reader = _Reader()
    # the parser takes quadratic time for comments and unclosed tags: blank the former, treat the latter as text
    text = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), data.decode().replace("\r\n", "\n"))
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
        if tag in _LINE or tag in _BLOCK:
            self.end_line(blank=tag in _BLOCK)
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
        elif tag in _LINE or tag in _BLOCK:
            self.end_line(blank=tag in _BLOCK)
        if tag == "a":
            self._in_link = False
        if tag == "pre":
            self._preformatted = max(0, self._preformatted - 1)
        self._in_title = False

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title = " ".join((self.title + data).split())
        elif not self._skipped and not self._landmark:
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
        line = line.rstrip() if self._preformatted else " ".join(line.split())
        inside = self._preformatted and len(self.lines) - 1 in self.code  # blank lines inside code are kept
        if line or (inside and not blank):
            if self._preformatted:
                self.code.add(len(self.lines))
            if _WORD.search(line) and not self._unlinked:
                self.links.add(len(self.lines))
            self._put(line)
        if blank and self.lines and self.lines[-1]:
            self._put("")
        self._pieces, self._blank, self._unlinked = [], True, False

    def _put(self, line: str) -> None:
        self.lines.append(line)
        self.numbers.append(self._number)

    def _end_heading(self, level: int) -> None:
        title = " ".join("".join(self._pieces).split()).rstrip(_PERMALINK_SIGNS)
        self._heading, self._pieces, self._blank = "", [title], not title
        if title:
            self.headings.append(Heading(len(self.lines), level, title))
        self.end_line(blank=True)
