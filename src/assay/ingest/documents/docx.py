"""DOCX → its text: a line for each paragraph and each row of a table, headings by their style."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from xml.etree import ElementTree

from assay.ingest.documents.opened import Opened, Unreadable
from assay.ingest.documents.outline import Heading, Outline

_MOST_BYTES = 50_000_000  # of unpacked XML: more is an archive made to fill memory
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_BODY, _PARAGRAPH, _TABLE, _ROW, _CELL, _TEXT, _TAB, _BREAK, _STYLE, _NAME, _CONTENT, _BOXED = (
    _WORD + tag for tag in ("body", "p", "tbl", "tr", "tc", "t", "tab", "br", "style", "name", "sdtContent", "sdt")
)
_VALUE, _STYLE_ID = _WORD + "val", _WORD + "styleId"
_STYLE_OF = f"{_WORD}pPr/{_WORD}pStyle"
_HEADING = re.compile(r"heading ?([1-9])")


def open_document(data: bytes) -> Opened:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            levels = _levels(_xml(archive, "word/styles.xml")) if "word/styles.xml" in archive.namelist() else {}
            body = _xml(archive, "word/document.xml").find(_BODY)
    except (
        zipfile.BadZipFile,
        zlib.error,
        KeyError,
        EOFError,
        ElementTree.ParseError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        what = "encrypted DOCX" if isinstance(error, RuntimeError) else "damaged DOCX"
        raise Unreadable(f"{what} ({str(error).splitlines()[0] if str(error) else type(error).__name__})") from None
    lines: list[str] = []
    headings: list[Heading] = []
    for text, style in _blocks(body) if body is not None else ():
        if text.strip() and (level := levels.get(style, _level(style))):
            headings.append(Heading(len(lines), level, " ".join(text.split())))
        lines += [*text.split("\n"), ""]
    return Opened(lines, Outline(headings))


def _xml(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    with archive.open(name) as member:
        data = member.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise Unreadable(f"large DOCX (more than {_MOST_BYTES / 1e6:.0f} MB unpacked)")
    if b"<!DOCTYPE" in data[:1_000]:
        raise Unreadable("damaged DOCX (declares entities)")
    return ElementTree.fromstring(data)


def _levels(styles: ElementTree.Element) -> dict[str, int]:
    """The level of heading that each style stands for: styles have names in English whatever language their ids are in."""
    out = {}
    for style in styles.iter(_STYLE):
        name = style.find(_NAME)
        if name is not None and (level := _level(name.get(_VALUE, ""))):
            out[style.get(_STYLE_ID, "")] = level
    return out


def _level(name: str) -> int:
    """`Title` → 1, `heading 1` → 2, …; 0 for what is no heading."""
    found = _HEADING.fullmatch(name.lower())
    return int(found[1]) + 1 if found else int(name.lower() == "title")


def _blocks(parent: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """Paragraphs and tables in order, each with its style."""
    for child in parent:
        if child.tag == _PARAGRAPH:
            style = child.find(_STYLE_OF)
            yield _said(child), "" if style is None else style.get(_VALUE, "")
        elif child.tag == _TABLE:
            yield "\n".join(" | ".join(_said(cell) for cell in row.iter(_CELL)) for row in child.iter(_ROW)), ""
        elif child.tag in (_BOXED, _CONTENT):
            yield from _blocks(child)


def _said(element: ElementTree.Element) -> str:
    signs = {_TAB: "\t", _BREAK: "\n", _PARAGRAPH: " "}
    return "".join(node.text or "" if node.tag == _TEXT else signs.get(node.tag, "") for node in element.iter()).strip()
