"""Pull-request comments read as a forge does: CommonMark to HTML, and a search for mentions that would notify."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from markdown_it import MarkdownIt

from assay.pack.render.readable import MARKER

OURS = {"details", "summary", "b", "a", "code", "pre", "p", "ul", "li", "h3", "blockquote", "strong", "br"}
QUIET = {"code", "pre", "a"}  # in these nothing is a mention or a reference
NOTIFIES = re.compile(r"@\w|#\d|\bGH-\d|://|\bwww\.", re.IGNORECASE)


class Comment(HTMLParser):
    """The visible text of a comment. Foreign or wrongly nested elements fail at once."""

    def __init__(self, written: str, sections: bool = True) -> None:
        super().__init__(convert_charrefs=True)
        self.sections = sections  # whether the outermost folds are sections, not items
        self.open: list[str] = []
        self.loud = ""  # text in which a forge looks for mentions
        self.entries = 0  # items: entries of a list, or folded ones
        self.first_sight = ""  # what is to be read before anything is unfolded
        self.code: list[str] = []  # the text of code, by element
        self.links: list[str] = []
        self.folded: list[bool] = []
        assert not written or written.startswith(f"{MARKER}\n")
        self.feed(MarkdownIt("commonmark").render(written))
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in OURS, tag
        if tag == "br":
            return
        if tag == "details":
            self.entries += not self.sections or "details" in self.open
            self.folded.append(("open", None) not in attributes and ("open", "") not in attributes)
        self.entries += tag == "li"
        if tag == "code":
            self.code.append("")
        self.links += [value or "" for name, value in attributes if name == "href"]
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "br":  # <br /> is both
            return
        assert self.open.pop() == tag
        if tag == "details":
            self.folded.pop()

    def handle_comment(self, data: str) -> None:
        assert f"<!--{data}-->" == MARKER

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["code"]:
            self.code[-1] += data
        if not QUIET & set(self.open):
            self.loud += data
            assert not NOTIFIES.search(data), data
        hidden = any(self.folded[:-1]) or (any(self.folded) and "summary" not in self.open)
        if not hidden:
            self.first_sight += data
