"""PDF → its text, page by page, with its bookmarks as headings, else with those that are numbered. Needs pypdfium2."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from assay.index.documents.opened import Opened, Unreadable
from assay.index.documents.outline import Heading, Outline

_MOST_PAGES = 5_000
_MOST_CHARACTERS = 20_000_000  # of text: more is data, or an attack
_MOST_BOOKMARKS = 10_000  # each is looked for on its page
_DEEPEST = 8  # levels of bookmarks
_EDGE = 2  # lines at the top and at the bottom of a page that may be repeated on others
_REPEATED = 3  # pages that begin or end alike, but for numbers, before that is no text of theirs
_LEADERS = re.compile(r"\.(?: ?\.){3}$")  # `Pumps . . . . . 12`: a line of a table of contents, or of an index
_AFTER_LEADERS = "0123456789ivxlc, "
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")
_GAP = 3  # chapters without sections in between, and one more
_NUMBERED = re.compile(
    r"(\d{1,2}(?:\.\d{1,2}){1,4})\.?\s+([A-Z/].{1,70}[^\s.,;])$"
)  # `2.1 Node shapes`; `1. First` is as often an item of a list


def open_document(data: bytes) -> Opened:
    """The lines of all pages, and where each page begins."""
    import pypdfium2  # type: ignore[import-untyped]

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        known = "encrypted PDF" if "password" in str(error).lower() else f"damaged PDF ({error})"
        raise Unreadable(known) from None
    try:
        texts = _texts(document)
        bookmarks = list(islice(_bookmarks(document), _MOST_BOOKMARKS))
    finally:
        document.close()
    if not any(line.strip() for page in texts for line in page):
        raise Unreadable("PDF without text (scanned? run it through OCR first)")
    lines: list[str] = []
    pages: list[int] = []
    for page in _without_repeated(texts):
        pages.append(len(lines))
        lines += [*page, ""]
    headings = _headings(bookmarks, lines, pages) if bookmarks else _numbered(lines)
    return Opened(lines, Outline(sorted(headings, key=lambda heading: heading.line)), pages=tuple(pages))


def _texts(document: Any) -> list[list[str]]:
    """The lines of each page."""
    if len(document) > _MOST_PAGES:
        raise Unreadable(f"large PDF ({len(document):,} pages)")
    texts: list[list[str]] = []
    size = 0
    for number in range(len(document)):
        text = _text(document, number)
        size += len(text)
        if size > _MOST_CHARACTERS:
            raise Unreadable(f"large PDF (more than {_MOST_CHARACTERS:,} characters of text)")
        texts.append(text.split("\n"))
    return texts


def _text(document: Any, number: int) -> str:
    """What stands on a page; nothing if it is damaged, for the others may not be."""
    import pypdfium2

    try:
        page = document[number]
        text: str = page.get_textpage().get_text_bounded()
        page.close()
    except pypdfium2.PdfiumError:
        return ""
    return text.replace("\0", "").encode("utf-8", "replace").decode().replace("\r\n", "\n")


def _without_repeated(texts: Sequence[list[str]]) -> Iterator[list[str]]:
    """Pages without what is no text of theirs: running heads, page numbers, the lines of tables of contents."""
    met = Counter(said for page in texts for said in {_alike(page[n]) for n in _edges(page)})
    for page in texts:
        left_out = {n for n in _edges(page) if met[_alike(page[n])] >= _REPEATED}
        yield [line for n, line in enumerate(page) if n not in left_out and not _is_entry(line)]


def _is_entry(line: str) -> bool:
    """Whether a line ends with dots that lead to the numbers of pages."""
    return (
        _LEADERS.search(line.rstrip(_AFTER_LEADERS).rstrip()[-7:]) is not None
    )  # seven: four dots and what is between


def _edges(page: Sequence[str]) -> list[int]:
    return sorted({n for n in (*range(_EDGE), *range(len(page) - _EDGE, len(page))) if 0 <= n < len(page)})


def _alike(line: str) -> str:
    """A line without its numbers: the same on all pages it is repeated on."""
    return "".join(_NUMBER.sub("", line).split())


def _bookmarks(document: Any) -> Iterator[tuple[int, str, int]]:
    """The level, title and page of each bookmark that has all of them."""
    for bookmark in document.get_toc(max_depth=_DEEPEST):
        place, title = bookmark.get_dest(), " ".join(bookmark.get_title().split())
        page = place.get_index() if place else None
        if title and page is not None:
            yield bookmark.level + 1, title, page


def _headings(bookmarks: Sequence[tuple[int, str, int]], lines: list[str], pages: list[int]) -> Iterator[Heading]:
    """The bookmarks, each at the line that says the same, else at the top of its page."""
    ends = [*pages[1:], len(lines)]
    for level, title, page in bookmarks:
        if 0 <= page < len(pages):
            fitting = (n for n in range(pages[page], ends[page]) if _same(lines[n], title))
            yield Heading(next(fitting, pages[page]), level, title)


def _numbered(lines: Sequence[str]) -> Iterator[Heading]:
    """Lines that begin with numbers such as 2.1, as long as they go on counting."""
    last: tuple[int, ...] = (0,)
    for at, line in enumerate(lines):
        if found := _NUMBERED.match(line.strip()):
            number = tuple(map(int, found[1].split(".")))
            if last < number and number[0] <= last[0] + _GAP:
                last = number
                yield Heading(at, len(number), line.strip())


def _same(line: str, title: str) -> bool:
    """Whether a line is a title, perhaps numbered and spaced otherwise."""
    said, wanted = ("".join(text.lower().split()) for text in (line, title))
    return bool(said) and (said == wanted or said.lstrip("0123456789.") == wanted.lstrip("0123456789."))
