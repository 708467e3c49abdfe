"""Read DOCX: one line per paragraph and table row, headings by style.

The XML is parsed as a stream of bounded depth and length, never as a tree: a few hundred compressed bytes can expand to
gigabytes of nodes.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from typing import NoReturn
from xml.parsers import expat

from assay.index.documents.opened import OpenedDocument, Unreadable
from assay.text.markup import Heading, Outline

# limits of the unpacked content, against decompression bombs
_MAX_PARTS = 10_000  # files in the archive
_MAX_BYTES = 50_000_000  # of XML
_MAX_ELEMENTS = 2_000_000  # a document of 3,000 pages has a million
_MAX_DEPTH = 256  # nested elements; a table in a table cell takes four
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # allowed by the format; others may need gigabytes to unpack

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main "
_BODY, _PARAGRAPH, _TABLE, _ROW, _CELL, _TEXT, _TAB, _BREAK, _STYLE, _NAME, _CONTENT, _CONTROL = (
    _WORD + tag for tag in ("body", "p", "tbl", "tr", "tc", "t", "tab", "br", "style", "name", "sdtContent", "sdt")
)
_PROPERTIES, _STYLE_OF = _WORD + "pPr", _WORD + "pStyle"
_VALUE, _STYLE_ID = _WORD + "val", _WORD + "styleId"
_TEXT_OF = {_TAB: "\t", _BREAK: "\n", _PARAGRAPH: " "}
_HEADING = re.compile(r"heading ?([1-9])")


def open_document(data: bytes) -> OpenedDocument:
    """Return the lines and headings of a DOCX file; raise Unreadable if it is damaged, encrypted or too large."""
    if data.count(b"PK\x01\x02") > _MAX_PARTS:
        raise Unreadable(f"large DOCX (more than {_MAX_PARTS:,} parts)")
    styles, body = _Styles(), _Body()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if "word/styles.xml" in archive.namelist():
                _read(archive, "word/styles.xml", styles)
            _read(archive, "word/document.xml", body)
    except (
        zipfile.BadZipFile,
        zlib.error,
        LookupError,
        ValueError,
        EOFError,
        expat.ExpatError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        encrypted = isinstance(error, RuntimeError) and not isinstance(error, (NotImplementedError, RecursionError))
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Unreadable(f"{'encrypted' if encrypted else 'damaged'} DOCX ({reason})") from None
    lines: list[str] = []
    headings: list[Heading] = []
    for text, style in body.blocks:
        if text.strip() and (level := styles.levels.get(style, _level(style))):
            headings.append(Heading(len(lines), level, " ".join(text.split())))
        lines += [*text.split("\n"), ""]
    return OpenedDocument(lines, Outline(headings))


class _Elements:
    """Base of stream parsers: receives elements as they start and end; `path` holds the open ones, outermost first."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self._element_count = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._element_count += 1
        if self._element_count > _MAX_ELEMENTS:
            raise Unreadable(f"large DOCX (more than {_MAX_ELEMENTS:,} elements)")
        if len(self.path) >= _MAX_DEPTH:
            raise Unreadable(f"damaged DOCX (elements nested more than {_MAX_DEPTH} deep)")
        self.begin(tag, attributes)
        self.path.append(tag)

    def end(self, tag: str) -> None:
        self.path.pop()
        self.finish(tag)

    def begin(self, tag: str, attributes: dict[str, str]) -> None: ...

    def finish(self, tag: str) -> None: ...

    def text(self, data: str) -> None: ...


class _Styles(_Elements):
    """Heading level of each style id. Style names are English, whatever language the ids are in."""

    def __init__(self) -> None:
        super().__init__()
        self.levels: dict[str, int] = {}
        self._style: str | None = None  # style whose name is still to come

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == _STYLE:
            self._style = attributes.get(_STYLE_ID, "")
        elif tag == _NAME and self._style is not None and self.path[-1] == _STYLE:
            if level := _level(attributes.get(_VALUE, "")):
                self.levels[self._style] = level
            self._style = None


class _Body(_Elements):
    """Paragraphs and tables in order, each with its style. A nested table becomes text of its cell."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[tuple[str, str]] = []
        self._block = 0  # depth of the open paragraph or table; 0 if none
        self._style = ""
        self._text: list[str] = []
        self._tables = 0  # number of open tables
        self._cells: list[str] = []
        self._rows: list[str] = []

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._block:
            if tag not in (_PARAGRAPH, _TABLE) or not self._is_outermost():
                return
            self._block, self._style, self._text, self._rows = len(self.path) + 1, "", [], []
        if sign := _TEXT_OF.get(tag):
            self._text.append(sign)
        elif tag == _TABLE:
            self._tables += 1
        elif tag == _ROW and self._tables == 1:
            self._cells = []
        elif tag == _CELL and self._tables == 1:
            self._text = []
        elif tag == _STYLE_OF and len(self.path) == self._block + 1 and self.path[-1] == _PROPERTIES:
            self._style = self._style or attributes.get(_VALUE, "")

    def _is_outermost(self) -> bool:
        """Return whether the open elements are only the body and content controls in it."""
        return self.path[1:2] == [_BODY] and all(tag in (_CONTROL, _CONTENT) for tag in self.path[2:])

    def finish(self, tag: str) -> None:
        if not self._block:
            return
        if self._tables == 1 and tag == _CELL:
            self._cells.append(self._join_text())
        elif self._tables == 1 and tag == _ROW:
            self._rows.append(" | ".join(self._cells))
        self._tables -= tag == _TABLE
        if len(self.path) < self._block:
            self.blocks.append(("\n".join(self._rows), "") if tag == _TABLE else (self._join_text(), self._style))
            self._block = 0

    def text(self, data: str) -> None:
        if self._block and self.path[-1] == _TEXT:
            self._text.append(data)

    def _join_text(self) -> str:
        return "".join(self._text).strip()


def _read(archive: zipfile.ZipFile, name: str, elements: _Elements) -> None:
    """Stream the elements of an archive member to a parser."""
    if archive.namelist().count(name) > 1:
        raise zipfile.BadZipFile(f"{name} occurs twice")
    if archive.getinfo(name).compress_type not in _COMPRESSIONS:
        raise zipfile.BadZipFile(f"{name} uses an unsupported compression method")
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = elements.start, elements.end
    parser.CharacterDataHandler = elements.text
    parser.StartDoctypeDeclHandler = _refuse_entities
    with archive.open(name) as member:
        data = member.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise Unreadable(f"large DOCX (more than {_MAX_BYTES / 1e6:.0f} MB unpacked)")
    parser.Parse(data, True)  # in one call: with chunks, the parser rescans an unclosed tag for each


def _refuse_entities(*_: object) -> NoReturn:
    """Reject entity declarations: they can expand to gigabytes or other files, and Word writes none."""
    raise Unreadable("damaged DOCX (declares entities)")


def _level(name: str) -> int:
    """Return the heading level of a style name: `Title` → 1, `heading 1` → 2, …; 0 if it is not a heading."""
    match = _HEADING.fullmatch(name.lower())
    return int(match[1]) + 1 if match else int(name.lower() == "title")
