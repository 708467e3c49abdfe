"""PDF, DOCX and notebook files made for tests."""

from __future__ import annotations

import io
import json
import zipfile

import pypdf

_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def pdf(*pages: str, bookmarks: tuple[tuple[str, int], ...] = (), password: str = "") -> bytes:
    """A PDF with these pages; bookmarks are titles and pages from 0."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    numbers = []
    for page in pages:
        lines = "".join(f"({line}) Tj T* " for line in page.split("\n"))
        stream = f"BT /F1 12 Tf 14 TL 72 720 Td {lines} ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        numbers.append(len(objects) + 1)
        font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R /Resources << /Font << /F1 {font} >> >> >>"
        )
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects[1] = f"<< /Type /Pages /Kids [{kids}] /Count {len(numbers)} >>"
    out, places = b"%PDF-1.4\n", []
    for number, said in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{said}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n".encode()
    if not bookmarks and not password:
        return out
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(out))
    for title, page_number in bookmarks:
        writer.add_outline_item(title, page_number)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def docx(body: str, styles: str = "") -> bytes:
    """A DOCX with this body; `p` makes its paragraphs."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f"<w:document {_WORD}><w:body>{body}</w:body></w:document>")
        if styles:
            archive.writestr("word/styles.xml", f"<w:styles {_WORD}>{styles}</w:styles>")
    return target.getvalue()


def p(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def notebook(*cells: tuple[str, str]) -> bytes:
    """A notebook of (type, source) cells."""
    rows = [{"cell_type": kind, "source": source.splitlines(keepends=True), "outputs": []} for kind, source in cells]
    return json.dumps({"cells": rows, "nbformat": 4}).encode()
