"""Read MDX as Markdown: imports, exports and the tags of components are blanked, line by line."""

from __future__ import annotations

from assay.index.documents.opened import OpenedDocument, lines_of, open_lines
from assay.text.tags import without_jsx


def open_document(data: bytes) -> OpenedDocument:
    """Return the lines of an MDX file without its code; lines keep their numbers."""
    return open_lines(without_jsx(lines_of(data.decode())), "mdx")
