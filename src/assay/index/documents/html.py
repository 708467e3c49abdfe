"""HTML → its text: one line for each block, headings and preformatted text as such; scripts, navigation and lists of links are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser

from assay.index.documents.opened import Opened
from assay.index.documents.outline import Heading, Outline

_LEFT_OUT = frozenset(["script", "style", "noscript", "template", "svg", "nav", "iframe", "object", "select"])
_LANDMARKS = frozenset(["navigation", "search", "banner", "contentinfo"])  # roles of what is around the text
_LINE = frozenset(["br", "li", "tr", "dt", "dd", "option", "label", "figcaption", "caption", "td", "th"])
_BLOCK = frozenset(
    ["p", "div", "pre", "table", "ul", "ol", "dl", "blockquote", "section", "article", "header", "footer", "main", "aside",
     "form", "figure", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "body", "head", "title"]
)  # fmt: skip
_HEADING = re.compile("h[1-6]")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_WORD = re.compile(r"[^\W\d_]")
_MENU = 3  # lines with nothing but links, one after the other, before they are navigation or a table of contents
_SIGNS = "¶#§ \t"  # what generators put behind headings to link to them


def open_document(data: bytes) -> Opened:
    """The text of a page and the lines of the file it comes from."""
    reader = _Reader()
    # comments are blanked first, and what begins like a tag but has no end is text: the parser takes quadratic time over both
    text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), data.decode().replace("\r\n", "\n"))
    end = text.rfind(">") + 1
    reader.feed(text[:end])
    reader.close()
    reader.handle_data(unescape(text[end:]))
    reader.end_line()
    menus = set(_menus(reader))
    kept = [n for n in range(len(reader.lines)) if n not in menus]
    places = {line: place for place, line in enumerate(kept)}
    headings = [Heading(places[one.line], one.level, one.title) for one in reader.headings]
    return Opened(
        [reader.lines[n] for n in kept],
        Outline(headings, {places[n] for n in reader.code if n in places}),  # a run of links may be preformatted
        "" if any(heading.level == 1 for heading in headings) else reader.title,
        numbers=tuple(reader.numbers[n] for n in kept),
    )


def _menus(reader: _Reader) -> Iterator[int]:
    """The lines of runs of links; blank lines do not end a run, headings do."""
    headed = {heading.line for heading in reader.headings}
    run: list[int] = []
    for number, line in enumerate([*reader.lines, "end"]):
        if number in reader.links and number not in headed:
            run.append(number)
        elif line:
            yield from run if len(run) >= _MENU else ()
            run = []


class _Reader(HTMLParser):
    """Collects the lines of the text while the tags go by."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.numbers: list[int] = []
        self.headings: list[Heading] = []
        self.code: set[int] = set()
        self.links: set[int] = set()  # lines all of whose words are links
        self.title = ""
        self._pieces: list[str] = []  # of this line
        self._blank, self._number = True, 1
        self._skipped = 0  # elements that are left out and open
        self._landmark, self._depth = (
            "",
            0,
        )  # the tag of one that is left out for its role, and how many of these are open
        self._preformatted = 0
        self._in_link = False
        self._unlinked = False  # words of this line that are no link
        self._heading = ""
        self._in_title = False

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """`<![…` is a comment, as in browsers; the parser of SGML behind this one raises where no name follows."""
        return self.parse_bogus_comment(i)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _LEFT_OUT:
            self._skipped += 1
        if tag == self._landmark:
            self._depth += 1
        elif not self._landmark and any(name == "role" and said in _LANDMARKS for name, said in attributes):
            self._landmark, self._depth = tag, 1
        if tag in _LINE or tag in _BLOCK:
            self.end_line(blank=tag in _BLOCK)
        self._preformatted += tag == "pre"
        self._in_link = self._in_link or tag == "a"
        if _HEADING.fullmatch(tag):
            self._heading = tag
        self._in_title = tag == "title"

    def handle_endtag(self, tag: str) -> None:
        if tag in _LEFT_OUT:
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
        if number > self.getpos()[0]:  # a line of the file ends here
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
        inside = self._preformatted and len(self.lines) - 1 in self.code  # blank lines of code belong to it
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
        title = " ".join("".join(self._pieces).split()).rstrip(_SIGNS)
        self._heading, self._pieces, self._blank = "", [title], not title
        if title:
            self.headings.append(Heading(len(self.lines), level, title))
        self.end_line(blank=True)
