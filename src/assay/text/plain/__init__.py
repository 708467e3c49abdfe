"""Plain text: a span of a document as its reader sees it, without markup.

Each markup language has a renderer: lines in, a `Page` filled. Renderers take linear time and never raise, whatever the
text; markup they do not recognize stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from assay.text.plain.asciidoc import render_asciidoc
from assay.text.plain.markdown import render_markdown
from assay.text.plain.page import MARK
from assay.text.plain.rst import render_rst

_RENDERERS: dict[str, Callable[[list[str]], str]] = {
    "markdown": render_markdown,
    "mdx": render_markdown,
    "notebook": render_markdown,
    "rst": render_rst,
    "asciidoc": render_asciidoc,
}
# a directive or a role: plain text that is reStructuredText
_RST = re.compile(r"^[ \t]*\.\. [a-z][\w:-]*::(?:\s|$)|(?<![\w:]):[a-z]\w{1,20}(?::\w{1,20})?:`[^`\n]", re.M)


def plain_text(text: str, markup: str) -> str:
    """Return a span of a document as its reader sees it. `markup` is the document format (`markdown`, `rst`, …).

    Code blocks stay whole and verbatim, indented by four. Text of formats without markup only loses trailing blanks.
    """
    text = text.replace("\r\n", "\n").replace(MARK, "")
    if markup == "text" and _RST.search(text):
        markup = "rst"
    return _RENDERERS.get(markup, _tidy)(text.split("\n"))


def _tidy(lines: list[str]) -> str:
    """Join lines without trailing blanks and repeated blank lines."""
    out: list[str] = []
    for line in lines:
        line = line.rstrip()
        if line or (out and out[-1]):
            out.append(line)
    while out and not out[-1]:
        out.pop()
    return "\n".join(out)


__all__ = ["plain_text"]
