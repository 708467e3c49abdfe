"""Read PDF page by page, with its bookmarks as headings, else numbered headings. Needs pypdfium2."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from assay.index.documents.opened import OpenedDocument, Unreadable
from assay.text.markup import Heading, Outline

_MAX_PAGES = 5_000
_MAX_CHARACTERS = 20_000_000  # of text; more is data, or an attack
_MAX_BOOKMARKS = 10_000  # each is searched for on its page
_MAX_LEVELS = 8  # of bookmarks
_EDGE = 2  # lines at the top and bottom of a page checked for running heads
_REPEATED = 3  # pages with the same edge line, apart from numbers, that make it a running head
_LEADERS = re.compile(r"\.(?: ?\.){3}$")  # `Pumps . . . . . 12`: an entry of a table of contents or an index
_AFTER_LEADERS = "0123456789ivxlc, "
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")
_MAX_STEP = 3  # increase of the chapter number: two chapters without sections may be in between
_NUMBERED = re.compile(
    r"(\d{1,2}(?:\.\d{1,2}){1,4})\.?\s+([A-Z/].{1,70}[^\s.,;])$"
)  # `2.1 Node shapes`; not `1. First`, which may be a list item


def open_document(data: bytes) -> OpenedDocument:
    """Return the lines of all pages and the first line of each; raise Unreadable if there is no text."""
    import pypdfium2  # type: ignore[import-untyped]

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        reason = "encrypted PDF" if "password" in str(error).lower() else f"damaged PDF ({error})"
        raise Unreadable(reason) from None
    try:
        texts = _page_texts(document)
        bookmarks = list(islice(_bookmarks(document), _MAX_BOOKMARKS))
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
    return OpenedDocument(lines, Outline(sorted(headings, key=lambda heading: heading.line)), pages=tuple(pages))


def _page_texts(document: Any) -> list[list[str]]:
    """Return the lines of each page."""
    if len(document) > _MAX_PAGES:
        raise Unreadable(f"large PDF ({len(document):,} pages)")
    texts: list[list[str]] = []
    size = 0
    for number in range(len(document)):
        text = _page_text(document, number)
        size += len(text)
        if size > _MAX_CHARACTERS:
            raise Unreadable(f"large PDF (more than {_MAX_CHARACTERS:,} characters of text)")
        texts.append(text.split("\n"))
    return texts


def _page_text(document: Any, number: int) -> str:
    """Return the text of a page; empty if the page is damaged, as others may not be."""
    import pypdfium2

    try:
        page = document[number]
        text: str = page.get_textpage().get_text_bounded()
        page.close()
    except pypdfium2.PdfiumError:
        return ""
    return text.replace("\0", "").encode("utf-8", "replace").decode().replace("\r\n", "\n")


def _without_repeated(texts: Sequence[list[str]]) -> Iterator[list[str]]:
    """Yield pages without running heads, page numbers and tables of contents."""
    frequency = Counter(line for page in texts for line in {_without_numbers(page[n]) for n in _edge_lines(page)})
    for page in texts:
        running_heads = {n for n in _edge_lines(page) if frequency[_without_numbers(page[n])] >= _REPEATED}
        yield [line for n, line in enumerate(page) if n not in running_heads and not _is_entry(line)]


def _is_entry(line: str) -> bool:
    """Return whether a line ends with dot leaders and page numbers."""
    return (
        _LEADERS.search(line.rstrip(_AFTER_LEADERS).rstrip()[-7:]) is not None
    )  # seven: four dots and the spaces between them


def _edge_lines(page: Sequence[str]) -> list[int]:
    return sorted({n for n in (*range(_EDGE), *range(len(page) - _EDGE, len(page))) if 0 <= n < len(page)})


def _without_numbers(line: str) -> str:
    """Return a line without its numbers: equal on all pages that repeat it."""
    return "".join(_NUMBER.sub("", line).split())


def _bookmarks(document: Any) -> Iterator[tuple[int, str, int]]:
    """Yield level, title and page of each complete bookmark."""
    for bookmark in document.get_toc(max_depth=_MAX_LEVELS):
        destination, title = bookmark.get_dest(), " ".join(bookmark.get_title().split())
        page = destination.get_index() if destination else None
        if title and page is not None:
            yield bookmark.level + 1, title, page


def _headings(bookmarks: Sequence[tuple[int, str, int]], lines: list[str], pages: list[int]) -> Iterator[Heading]:
    """Yield the bookmarks as headings, each at the line with its title, else at the top of its page."""
    ends = [*pages[1:], len(lines)]
    for level, title, page in bookmarks:
        if 0 <= page < len(pages):
            matches = (n for n in range(pages[page], ends[page]) if _is_same_title(lines[n], title))
            yield Heading(next(matches, pages[page]), level, title)


def _numbered(lines: Sequence[str]) -> Iterator[Heading]:
    """Yield lines that start with section numbers such as 2.1, as long as the numbers increase."""
    last: tuple[int, ...] = (0,)
    for at, line in enumerate(lines):
        if match := _NUMBERED.match(line.strip()):
            number = tuple(map(int, match[1].split(".")))
            if last < number and number[0] <= last[0] + _MAX_STEP:
                last = number
                yield Heading(at, len(number), line.strip())


def _is_same_title(line: str, title: str) -> bool:
    """Return whether a line is a title, ignoring numbering and spacing."""
    line_text, title_text = ("".join(text.lower().split()) for text in (line, title))
    return bool(line_text) and (
        line_text == title_text or line_text.lstrip("0123456789.") == title_text.lstrip("0123456789.")
    )
