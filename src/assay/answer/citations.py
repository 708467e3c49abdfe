"""Streaming reader of citations: `[#n]` outside code.

Code means fenced blocks, indented blocks and inline code, as in Markdown. Citations of unknown passages are removed
from the text. The result does not depend on how the text is split into chunks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from assay.text.markup import FENCE, closes

_CITATION = re.compile(r"[ \t]*\[#([1-9]\d{0,5})\]")
_PARTIAL = re.compile(r"[ \t]*(?:\[(?:#(?:[1-9]\d{0,5})?)?)?")  # may still become a citation
_PLAIN = re.compile(r"[^`\[\\\n \t]+|[ \t]+(?![ \t\[])(?!$)")
_UNDECIDED = re.compile(r"[ \t]*(?:`*|~*|[-*+]?|\d{0,9}[.)]?)")  # may still become a fence, a list item or blank
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]")
_PARAGRAPH_END = re.compile(r"\n[ \t]*(?:\n|(?:`{3}|~{3}))")
_FENCES = ("```", "~~~")
_TICKS = re.compile(r"`+")


@dataclass
class Citations:
    """Incremental reader: `feed` and `finish` return the text that may be shown.

    `used` and `dropped` are the cited numbers in order of appearance.
    """

    known: frozenset[int]
    used: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    _buffer: str = ""  # input not decided yet
    _fence: str = ""  # of the open block
    _line_start: bool = True
    _may_indent: bool = True  # an indented line would be code: it follows the start, a blank line or code
    _in_list: bool = False

    def feed(self, bit: str) -> str:
        self._buffer += bit
        return self._read(last=False)

    def finish(self) -> str:
        return self._read(last=True)

    def _read(self, last: bool) -> str:
        """Return as much of the buffer as is decided."""
        out = []
        while self._buffer:
            piece = self._line(last) if self._line_start else self._inline(last)
            if piece is None:
                break
            out.append(piece)
        return "".join(out)

    def _take(self, size: int) -> str:
        piece, self._buffer = self._buffer[:size], self._buffer[size:]
        if piece:
            self._line_start = piece.endswith("\n")
        return piece

    def _line(self, last: bool) -> str | None:
        """Consume a whole code line at the start of a line.

        Returns an empty string if prose follows, None if more input is needed.
        """
        end = self._buffer.find("\n")
        whole = end >= 0 or last
        unclear = self._fence or _UNDECIDED.fullmatch(self._buffer) or self._buffer.lstrip(" ").startswith(_FENCES)
        if unclear and not whole:
            return None
        line = self._buffer[: end + 1] if end >= 0 else self._buffer
        if self._fence:
            self._fence = "" if closes(line, self._fence) else self._fence
            return self._take(len(line))
        if fence := FENCE.match(line.rstrip("\n")):
            self._fence = fence[1]
            self._may_indent = True
            return self._take(len(line))
        if whole and not line.strip():
            self._may_indent = True
            return self._take(len(line))
        if line.startswith(("    ", "\t")) and self._may_indent and not self._in_list:
            return self._take(len(line)) if whole else None
        if not line.startswith(("    ", "\t")):
            self._in_list = bool(_ITEM.match(line)) or (self._in_list and not self._may_indent)
        self._may_indent, self._line_start = False, False
        return ""

    def _inline(self, last: bool) -> str | None:
        """Consume the next piece of prose: plain text, a citation or inline code. None if more input is needed."""
        buffer = self._buffer
        if buffer[0] == "\n":
            return self._take(1)
        if buffer[0] == "\\":
            return None if len(buffer) == 1 and not last else self._take(1 if buffer[1:2] == "\n" else 2)
        if buffer[0] == "`":
            return self._take_inline_code(last)
        if citation := _CITATION.match(buffer):
            return self._take_citation(citation)
        if partial := _PARTIAL.fullmatch(buffer):
            return None if not last else self._take(partial.end())
        plain = _PLAIN.match(buffer)
        return self._take(plain.end() if plain else 1)

    def _take_citation(self, match: re.Match[str]) -> str:
        number = int(match[1])
        piece = self._take(match.end())
        self._line_start = False
        if number not in self.known:
            self.dropped += [number] if number not in self.dropped else []
            return ""
        self.used += [number] if number not in self.used else []
        return piece

    def _take_inline_code(self, last: bool) -> str | None:
        """Consume inline code up to the same number of backticks in the paragraph; else backticks are literal."""
        opening = _TICKS.match(self._buffer)
        assert opening is not None
        if opening.end() == len(self._buffer) and not last:
            return None
        end = _PARAGRAPH_END.search(self._buffer)
        within = self._buffer[: end.start()] if end else self._buffer
        for closing in _TICKS.finditer(within, opening.end()):
            if closing.end() == len(self._buffer) and not last:
                return None
            if len(closing[0]) == len(opening[0]):
                return self._take_code(closing.end())
        if end is None and not last:
            return None
        return self._take(opening.end())

    def _take_code(self, size: int) -> str:
        piece = self._take(size)
        self._line_start = False
        return piece


def strip_unknown_citations(text: str, known: frozenset[int]) -> tuple[str, Citations]:
    """Remove the citations of unknown numbers from a whole text; return it and the reader."""
    citations = Citations(known)
    shown = citations.feed(text)
    return shown + citations.finish(), citations
