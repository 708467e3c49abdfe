"""HTML → its text: one line for each block, headings and preformatted text as such, scripts and navigation left out."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from assay.ingest.documents.opened import Opened
from assay.ingest.documents.outline import Heading, Outline

_LEFT_OUT = frozenset(["script", "style", "noscript", "template", "svg", "nav", "iframe", "object", "select"])
_LINE = frozenset(["br", "li", "tr", "dt", "dd", "option", "label", "figcaption", "caption", "td", "th"])
_BLOCK = frozenset(
    ["p", "div", "pre", "table", "ul", "ol", "dl", "blockquote", "section", "article", "header", "footer", "main", "aside",
     "form", "figure", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "body", "head", "title"]
)  # fmt: skip
_HEADING = re.compile("h[1-6]")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_SIGNS = "¶#§ \t"  # what generators put behind headings to link to them


def open_document(data: bytes) -> Opened:
    """The text of a page and the lines of the file it comes from."""
    reader = _Reader()
    # comments are blanked first: the parser takes quadratic time over those that never end
    reader.feed(_COMMENT.sub(lambda found: "\n" * found[0].count("\n"), data.decode().replace("\r\n", "\n")))
    reader.close()
    reader.end_line()
    return Opened(
        reader.lines,
        Outline(reader.headings, reader.code),
        "" if any(heading.level == 1 for heading in reader.headings) else reader.title,
        numbers=tuple(reader.numbers),
    )


class _Reader(HTMLParser):
    """Collects the lines of the text while the tags go by."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.numbers: list[int] = []
        self.headings: list[Heading] = []
        self.code: set[int] = set()
        self.title = ""
        self._line, self._number = "", 1
        self._skipped = 0  # elements that are left out and open
        self._preformatted = 0
        self._heading = ""
        self._in_title = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _LEFT_OUT:
            self._skipped += 1
        if tag in _LINE or tag in _BLOCK:
            self.end_line(blank=tag in _BLOCK)
        self._preformatted += tag == "pre"
        if _HEADING.fullmatch(tag):
            self._heading = tag
        self._in_title = tag == "title"

    def handle_endtag(self, tag: str) -> None:
        if tag in _LEFT_OUT:
            self._skipped = max(0, self._skipped - 1)
        if tag == self._heading:
            self._end_heading(int(tag[1]))
        elif tag in _LINE or tag in _BLOCK:
            self.end_line(blank=tag in _BLOCK)
        if tag == "pre":
            self._preformatted = max(0, self._preformatted - 1)
        self._in_title = False

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title = " ".join((self.title + data).split())
        elif not self._skipped:
            for number, piece in enumerate(data.split("\n"), self.getpos()[0]):
                self._add(piece, number)

    def _add(self, piece: str, number: int) -> None:
        if number > self.getpos()[0]:  # a line of the file ends here
            if self._preformatted:
                self.end_line()
            else:
                self._line += " "
        if not self._line.strip():
            self._number = number
        self._line += piece

    def end_line(self, blank: bool = False) -> None:
        line = self._line.rstrip() if self._preformatted else " ".join(self._line.split())
        inside = self._preformatted and len(self.lines) - 1 in self.code  # blank lines of code belong to it
        if line or (inside and not blank):
            if self._preformatted:
                self.code.add(len(self.lines))
            self._put(line)
        if blank and self.lines and self.lines[-1]:
            self._put("")
        self._line = ""

    def _put(self, line: str) -> None:
        self.lines.append(line)
        self.numbers.append(self._number)

    def _end_heading(self, level: int) -> None:
        title = " ".join(self._line.split()).rstrip(_SIGNS)
        self._heading, self._line = "", title
        if title:
            self.headings.append(Heading(len(self.lines), level, title))
        self.end_line(blank=True)
