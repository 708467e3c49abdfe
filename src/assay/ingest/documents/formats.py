"""The formats of documents. Adding one is a row here and a function that outlines it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.ingest.documents.outline import Outline, asciidoc, markdown, restructured


@dataclass(frozen=True, slots=True)
class Format:
    """How documents with these endings are outlined: their lines, from one on, to headings and code blocks."""

    name: str
    endings: tuple[str, ...]
    outline: Callable[[Sequence[str], int], Outline]


FORMATS = {
    form.name: form
    for form in (
        Format("markdown", (".md", ".markdown", ".mdx"), markdown),
        Format("rst", (".rst",), restructured),
        Format("asciidoc", (".adoc", ".asciidoc"), asciidoc),
        Format(
            "text", (".txt",), restructured
        ),  # guides in plain text are often reStructuredText, or underlined like it
    )
}
_BY_ENDING = {ending: form for form in FORMATS.values() for ending in form.endings}


def format_of(path: str) -> Format | None:
    """The format of a document by the ending of its name; None for what is no document."""
    name, dot, ending = path.rpartition(".")
    return _BY_ENDING.get(f".{ending.lower()}") if dot and not name.endswith("/") else None
