"""Read Jupyter notebooks: Markdown cells with headings, code cells as unsplit blocks. Outputs are ignored."""

from __future__ import annotations

from typing import Any

import msgspec

from assay.index.documents.opened import OpenedDocument, Unreadable, lines_of
from assay.text.markup import Heading, Outline
from assay.text.markup import outline as outline_of


def open_document(data: bytes) -> OpenedDocument:
    """Return the lines of all cells; cells are treated as pages."""
    lines: list[str] = []
    cells: list[int] = []
    outline = Outline()
    for cell in _cells(data):
        source = lines_of(_source(cell))
        offset = len(lines)
        cells.append(offset)
        if cell.get("cell_type") == "markdown":
            inner = outline_of(source, "markdown")
            outline.headings.extend(Heading(h.line + offset, h.level, h.title) for h in inner.headings)
            outline.code.update(line + offset for line in inner.code)
        else:
            outline.code.update(range(offset, offset + len(source)))
        lines += [*source, ""]
    return OpenedDocument(lines, outline, pages=tuple(cells))


def _cells(data: bytes) -> list[dict[str, Any]]:
    try:
        notebook = msgspec.json.decode(data)
        sheets = [notebook, *notebook.get("worksheets", ())]  # before version 4 the cells stood in worksheets
        return [cell for sheet in sheets for cell in sheet.get("cells", ()) if isinstance(cell, dict)]
    except (msgspec.DecodeError, AttributeError, TypeError, RecursionError) as error:
        raise Unreadable(f"damaged notebook ({error})") from None


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input", ""))
    return "".join(filter(lambda line: isinstance(line, str), source)) if isinstance(source, list) else str(source)
