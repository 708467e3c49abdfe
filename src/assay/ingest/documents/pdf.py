"""PDF → its text, page by page, with its bookmarks as headings. Needs pypdf."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from typing import Any

from assay.ingest.documents.opened import Opened, TooSlow, Unreadable
from assay.ingest.documents.outline import Heading, Outline

_MOST_PAGES = 5_000
_MOST_CHARACTERS = 20_000_000  # of text: more is data, or an attack
_DEEPEST = 8  # levels of bookmarks


def open_document(data: bytes) -> Opened:
    """The lines of all pages, and where each page begins."""
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it has to say about bad files is said below
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("encrypted PDF")
        lines, pages = _lines(reader)
        headings = sorted(_headings(reader, lines, pages), key=lambda heading: heading.line)
    except (Unreadable, TooSlow):
        raise
    except ImportError:  # a cipher that needs a library of its own
        raise Unreadable("encrypted PDF") from None
    except Exception as error:  # a damaged file can make the reader raise nearly anything
        raise Unreadable(
            f"damaged PDF ({str(error).splitlines()[0] if str(error) else type(error).__name__})"
        ) from None
    if not any(line.strip() for line in lines):
        raise Unreadable("PDF without text (scanned? run it through OCR first)")
    return Opened(lines, Outline(headings), pages=tuple(pages))


def _lines(reader: Any) -> tuple[list[str], list[int]]:
    lines: list[str] = []
    pages: list[int] = []
    size = 0
    if len(reader.pages) > _MOST_PAGES:
        raise Unreadable(f"large PDF ({len(reader.pages):,} pages)")
    for page in reader.pages:
        text = page.extract_text().replace("\0", "").encode("utf-8", "replace").decode()
        size += len(text)
        if size > _MOST_CHARACTERS:
            raise Unreadable(f"large PDF (more than {_MOST_CHARACTERS:,} characters of text)")
        pages.append(len(lines))
        lines += [*text.split("\n"), ""]
    return lines, pages


def _headings(reader: Any, lines: list[str], pages: list[int]) -> Iterator[Heading]:
    """The bookmarks, each at the line that says the same, else at the top of its page."""
    ends = [*pages[1:], len(lines)]
    for level, bookmark in _bookmarks(reader.outline, 1):
        page = reader.get_destination_page_number(bookmark)
        title = " ".join(str(bookmark.title or "").split())
        if title and page is not None and 0 <= page < len(pages):
            fitting = (n for n in range(pages[page], ends[page]) if _same(lines[n], title))
            yield Heading(next(fitting, pages[page]), level, title)


def _bookmarks(entries: Any, level: int) -> Iterator[tuple[int, Any]]:
    for entry in entries:
        if not isinstance(entry, list):
            yield level, entry
        elif level < _DEEPEST:
            yield from _bookmarks(entry, level + 1)


def _same(line: str, title: str) -> bool:
    """Whether a line is a title, perhaps numbered and spaced otherwise."""
    said, wanted = ("".join(text.lower().split()) for text in (line, title))
    return bool(said) and (said == wanted or said.lstrip("0123456789.") == wanted.lstrip("0123456789."))
