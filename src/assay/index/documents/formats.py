"""Document formats. Adding one takes a row here and a function that opens it."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from assay.errors import install

if TYPE_CHECKING:
    from assay.index.documents.opened import OpenedDocument

_TEXT_BYTES = 2_000_000  # longer texts are data
_PACKED_BYTES = 50_000_000  # for formats that may contain images


@dataclass(frozen=True, slots=True)
class Format:
    """A document format: file endings, opener and size limit."""

    name: str
    endings: tuple[str, ...]
    open: Callable[[bytes], OpenedDocument]
    most_bytes: int = _TEXT_BYTES
    binary: bool = False
    needs: str = ""  # required module, installed by the extra `docs`
    accepts: Callable[[bytes], bool] | None = None  # checks the first bytes, if the ending alone says too little

    @property
    def missing(self) -> str:
        """Reason why documents of this format are skipped; empty if they can be read."""
        return "" if not self.needs or _installed(self.needs) else f"{self.name} ({install('docs')} to read it)"


def _open_text(data: bytes, markup: str) -> OpenedDocument:
    """Open a text. The module is imported on first use: classifying files by name does not need it."""
    from assay.index.documents.opened import open_text

    return open_text(data, markup)


def _open_with(data: bytes, module: str) -> OpenedDocument:
    """Open a file with a module's `open_document`, imported on first use, as most repositories have no such files."""
    opened: OpenedDocument = importlib.import_module(f"assay.index.documents.{module}").open_document(data)
    return opened


@cache
def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


HEAD_BYTES = 8_000  # first bytes of a file that `accepts` looks at
_MANUAL_ENDINGS = (".man", *(f".{section}" for section in range(1, 9)))
_MANUAL_TITLE = re.compile(rb"^[.'][ \t]*(?:TH|Dd)[ \t]", re.M)


def _is_manual(head: bytes) -> bool:
    """Return whether a file starts like troff and has a title. `x.1` may also be a library, a log or data."""
    return head.lstrip()[:1] in (b".", b"'") and _MANUAL_TITLE.search(head) is not None


FORMATS = {
    form.name: form
    for form in (
        Format("markdown", (".md", ".markdown"), partial(_open_text, markup="markdown")),
        Format("mdx", (".mdx",), partial(_open_with, module="mdx")),
        Format("rst", (".rst",), partial(_open_text, markup="rst")),
        Format("asciidoc", (".adoc", ".asciidoc"), partial(_open_text, markup="asciidoc")),
        Format("text", (".txt",), partial(_open_text, markup="text")),
        Format("html", (".html", ".htm", ".xhtml"), partial(_open_with, module="html"), most_bytes=5_000_000),
        Format("man", _MANUAL_ENDINGS, partial(_open_with, module="man"), accepts=_is_manual),
        Format("notebook", (".ipynb",), partial(_open_with, module="notebook"), most_bytes=_PACKED_BYTES),
        Format("docx", (".docx",), partial(_open_with, module="docx"), most_bytes=_PACKED_BYTES, binary=True),
        Format(
            "pdf",
            (".pdf",),
            partial(_open_with, module="pdf"),
            most_bytes=_PACKED_BYTES,
            binary=True,
            needs="pypdfium2",
        ),
    )
}
_BY_ENDING = {ending: form for form in FORMATS.values() for ending in form.endings}


def format_of(path: str) -> Format | None:
    """Return the document format of a path by its ending; None if it is not a document."""
    name, dot, ending = path.rpartition(".")
    return _BY_ENDING.get(f".{ending.lower()}") if dot and name and not name.endswith("/") else None
