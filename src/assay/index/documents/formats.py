"""The formats of documents. Adding one is a row here and a function that opens it."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from assay.errors import install

if TYPE_CHECKING:
    from assay.index.documents.opened import Opened

_TEXT_BYTES = 2_000_000  # a longer text is data
_PACKED_BYTES = 50_000_000  # of files that hold pictures, too


@dataclass(frozen=True, slots=True)
class Format:
    """How documents with these endings are opened, and up to what size."""

    name: str
    endings: tuple[str, ...]
    open: Callable[[bytes], Opened]
    most_bytes: int = _TEXT_BYTES
    binary: bool = False
    needs: str = ""  # a module that is installed with the extra `docs`

    @property
    def missing(self) -> str:
        """Why documents of this format are passed over here; empty when they can be read."""
        return "" if not self.needs or _installed(self.needs) else f"{self.name} ({install('docs')} to read it)"


def _text(data: bytes, outline: str) -> Opened:
    """A text with an outline. The modules are imported for the first one: knowing the formats of files needs neither."""
    from assay.index.documents import opened
    from assay.index.documents import outline as outlines

    return opened.open_text(data, getattr(outlines, outline))


def _opened(data: bytes, module: str) -> Opened:
    """What the `open_document` of a module makes of a file; most repositories have no such files, so it is imported when it meets one."""
    opened: Opened = importlib.import_module(f"assay.index.documents.{module}").open_document(data)
    return opened


@cache
def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


FORMATS = {
    form.name: form
    for form in (
        Format("markdown", (".md", ".markdown", ".mdx"), partial(_text, outline="markdown")),
        Format("rst", (".rst",), partial(_text, outline="restructured")),
        Format("asciidoc", (".adoc", ".asciidoc"), partial(_text, outline="asciidoc")),
        # guides in plain text are often reStructuredText, or underlined like it
        Format("text", (".txt",), partial(_text, outline="restructured")),
        Format("html", (".html", ".htm", ".xhtml"), partial(_opened, module="html"), most_bytes=5_000_000),
        Format("notebook", (".ipynb",), partial(_opened, module="notebook"), most_bytes=_PACKED_BYTES),
        Format("docx", (".docx",), partial(_opened, module="docx"), most_bytes=_PACKED_BYTES, binary=True),
        Format(
            "pdf", (".pdf",), partial(_opened, module="pdf"), most_bytes=_PACKED_BYTES, binary=True, needs="pypdfium2"
        ),
    )
}
_BY_ENDING = {ending: form for form in FORMATS.values() for ending in form.endings}


def format_of(path: str) -> Format | None:
    """The format of a document by the ending of its name; None for what is no document."""
    name, dot, ending = path.rpartition(".")
    return _BY_ENDING.get(f".{ending.lower()}") if dot and name and not name.endswith("/") else None
