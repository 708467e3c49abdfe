"""DOCX → its text: a line for each paragraph and each row of a table, headings by their style.

The XML is read as a stream of bounded depth and length and never held as a tree: a few hundred packed bytes can be gigabytes of nodes.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from typing import NoReturn
from xml.parsers import expat

from assay.index.documents.opened import Opened, Unreadable
from assay.index.documents.outline import Heading, Outline

# limits of what is unpacked: more is an archive made to fill memory
_MOST_PARTS = 10_000  # files in the archive
_MOST_BYTES = 50_000_000  # of XML
_MOST_ELEMENTS = 2_000_000  # a document of 3,000 pages has a million
_DEEPEST = 256  # elements inside each other; a table in a cell of a table takes four
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # that the format allows; others may need gigabytes to unpack

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main "
_BODY, _PARAGRAPH, _TABLE, _ROW, _CELL, _TEXT, _TAB, _BREAK, _STYLE, _NAME, _CONTENT, _BOXED = (
    _WORD + tag for tag in ("body", "p", "tbl", "tr", "tc", "t", "tab", "br", "style", "name", "sdtContent", "sdt")
)
_PROPERTIES, _STYLE_OF = _WORD + "pPr", _WORD + "pStyle"
_VALUE, _STYLE_ID = _WORD + "val", _WORD + "styleId"
_SIGNS = {_TAB: "\t", _BREAK: "\n", _PARAGRAPH: " "}
_HEADING = re.compile(r"heading ?([1-9])")


def open_document(data: bytes) -> Opened:
    if data.count(b"PK\x01\x02") > _MOST_PARTS:
        raise Unreadable(f"large DOCX (more than {_MOST_PARTS:,} parts)")
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
    return Opened(lines, Outline(headings))


class _Elements:
    """Receives the elements of a file as they begin and end; `path` are those that are open, outermost first."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self._met = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._met += 1
        if self._met > _MOST_ELEMENTS:
            raise Unreadable(f"large DOCX (more than {_MOST_ELEMENTS:,} elements)")
        if len(self.path) >= _DEEPEST:
            raise Unreadable(f"damaged DOCX (more than {_DEEPEST} elements inside each other)")
        self.begin(tag, attributes)
        self.path.append(tag)

    def end(self, tag: str) -> None:
        self.path.pop()
        self.finish(tag)

    def begin(self, tag: str, attributes: dict[str, str]) -> None: ...

    def finish(self, tag: str) -> None: ...

    def text(self, data: str) -> None: ...


class _Styles(_Elements):
    """The level of heading that each style stands for: styles have names in English whatever language their ids are in."""

    def __init__(self) -> None:
        super().__init__()
        self.levels: dict[str, int] = {}
        self._style: str | None = None  # whose name has not been met

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == _STYLE:
            self._style = attributes.get(_STYLE_ID, "")
        elif tag == _NAME and self._style is not None and self.path[-1] == _STYLE:
            if level := _level(attributes.get(_VALUE, "")):
                self.levels[self._style] = level
            self._style = None


class _Body(_Elements):
    """Paragraphs and tables in order, each with its style. A table inside a table is text of the cell it stands in."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[tuple[str, str]] = []
        self._block = 0  # depth of the paragraph or table that is open; 0: none
        self._style = ""
        self._text: list[str] = []
        self._tables = 0  # open ones
        self._cells: list[str] = []
        self._rows: list[str] = []

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._block:
            if tag not in (_PARAGRAPH, _TABLE) or not self._is_outermost():
                return
            self._block, self._style, self._text, self._rows = len(self.path) + 1, "", [], []
        if sign := _SIGNS.get(tag):
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
        """Whether what stands above is the body, or boxes in it."""
        return self.path[1:2] == [_BODY] and all(tag in (_BOXED, _CONTENT) for tag in self.path[2:])

    def finish(self, tag: str) -> None:
        if not self._block:
            return
        if self._tables == 1 and tag == _CELL:
            self._cells.append(self._joined())
        elif self._tables == 1 and tag == _ROW:
            self._rows.append(" | ".join(self._cells))
        self._tables -= tag == _TABLE
        if len(self.path) < self._block:
            self.blocks.append(("\n".join(self._rows), "") if tag == _TABLE else (self._joined(), self._style))
            self._block = 0

    def text(self, data: str) -> None:
        if self._block and self.path[-1] == _TEXT:
            self._text.append(data)

    def _joined(self) -> str:
        return "".join(self._text).strip()


def _read(archive: zipfile.ZipFile, name: str, elements: _Elements) -> None:
    """Hand the elements of a file to a reader."""
    if archive.namelist().count(name) > 1:
        raise zipfile.BadZipFile(f"{name} stands in it twice")
    if archive.getinfo(name).compress_type not in _METHODS:
        raise zipfile.BadZipFile(f"{name} is packed in a way that Word does not read")
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = elements.start, elements.end
    parser.CharacterDataHandler = elements.text
    parser.StartDoctypeDeclHandler = _refuse_entities
    with archive.open(name) as member:
        data = member.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise Unreadable(f"large DOCX (more than {_MOST_BYTES / 1e6:.0f} MB unpacked)")
    parser.Parse(data, True)  # at once: in pieces, the parser begins again with each at a tag that does not end


def _refuse_entities(*_: object) -> NoReturn:
    """Entities can stand for gigabytes, or for other files; Word writes none."""
    raise Unreadable("damaged DOCX (declares entities)")


def _level(name: str) -> int:
    """`Title` → 1, `heading 1` → 2, …; 0 for what is no heading."""
    found = _HEADING.fullmatch(name.lower())
    return int(found[1]) + 1 if found else int(name.lower() == "title")
