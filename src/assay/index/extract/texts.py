"""Text fields of a file's symbols, as input for full-text search."""

from __future__ import annotations

import re

from assay.index.extract.definition import Definition
from assay.index.extract.nest import Nesting
from assay.index.facts import FILE, SymbolFact, TextFact

MAX_SIGNATURE = 300
MAX_DOC = 3000
MAX_LITERAL = 200  # bytes per literal
MAX_WORDS = 6000  # characters per symbol, of body identifiers and of literals each
_LITERALS = re.compile(rb'("[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|\'[^\'\\\n]*+(?:\\.[^\'\\\n]*+)*+\'|`[^`]*+`)')
_IDENTIFIERS = re.compile(rb"[^\W\d]\w+")
_COMMENT_MARKS = re.compile(r"^\s*(?:///?!?|//!|#+!?|/\*+!?|\*+/?|--+|;+|<!--)\s?|\s*\*+/\s*$|\s*-->\s*$")


class Texts(Nesting):
    """Extracts the text of every symbol: signature, documentation, identifiers and literals of its own body."""

    def _build_texts(self, symbols: list[SymbolFact]) -> list[TextFact]:
        """Return the texts of every symbol, then of the file itself."""
        docs = dict.fromkeys(range(len(symbols)), "")
        rows = sorted(self.docs)
        file_doc = ""
        for (start, text), owner in zip(rows, self._enclosing_definitions([r[0] for r in rows]), strict=True):
            source = self._symbol_at(owner, start, True)
            if source == FILE:
                file_doc = file_doc or text[:MAX_DOC]
            elif not docs[source]:
                docs[source] = text[:MAX_DOC]
        definitions = [d for d in self.order if d.index != FILE]
        definitions.sort(key=lambda d: d.index)
        roots: list[tuple[int, int]] = []
        for definition in definitions:
            at = self._nearest_symbol(definition.parent)
            (self.order[at].children if at != FILE else roots).append((definition.start, definition.end))
        out = []
        for definition in definitions:
            identifiers, literals = self._split_words(
                max(definition.body, definition.name_start), definition.end, definition.children
            )
            doc = docs[definition.index] or self._leading_comment(definition.start)
            out.append(TextFact(self._signature(definition), doc, identifiers, literals))
        identifiers, literals = self._split_words(0, len(self.source), roots)
        out.append(TextFact("", file_doc or self._opening_comment(), identifiers, literals))
        return out

    def _split_words(self, start: int, end: int, holes: list[tuple[int, int]]) -> tuple[str, str]:
        """Return the identifiers and the literals between two offsets, without those in the holes."""
        pieces, size = list[bytes](), 0
        for hole_start, hole_end in [*sorted(holes), (end, end)]:
            if hole_start > start and size < 4 * MAX_WORDS:
                pieces.append(self.source[start:hole_start])
                size += hole_start - start
            start = max(start, hole_end)
        text = b" ".join(pieces)[: 4 * MAX_WORDS]
        parts = _LITERALS.split(text)  # alternates code and literals
        literals = [quoted[1:-1][:MAX_LITERAL] for quoted in parts[1::2]]
        return _join(_IDENTIFIERS.findall(b" ".join(parts[::2]))), _join(literals)

    def _signature(self, definition: Definition) -> str:
        start = self.line_starts[self.line(definition.name_start) - 1]
        end = definition.body or definition.end
        if end <= start or not definition.body:
            newline = self.source.find(b"\n", definition.name_start)
            end = min(definition.end, newline) if newline > 0 else definition.end
        text = self.source[max(start, definition.start) : min(end, start + 2000)].decode("utf-8", "replace")
        return " ".join(text.split()).rstrip("{:").strip()[:MAX_SIGNATURE]

    def _leading_comment(self, start: int) -> str:
        """Return the comment that ends on the line above, without comment marks."""
        at = self.line(start) - 2
        lines: list[str] = []
        while at >= 0 and len(lines) < 60:
            raw = self.source[self.line_starts[at] : self.line_starts[at + 1]].decode("utf-8", "replace")
            text = raw.strip()
            if not (
                text.startswith(self.language.comments) or (text.endswith("*/") and "/*" in self.language.comments)
            ):
                break
            lines.append(_COMMENT_MARKS.sub("", raw.rstrip()))
            at -= 1
        return "\n".join(reversed(lines)).strip()[:MAX_DOC]

    def _opening_comment(self) -> str:
        """Return the comment at the start of the file, without comment marks."""
        lines: list[str] = []
        for raw in self.source[:MAX_DOC].decode("utf-8", "replace").splitlines()[:40]:
            text = raw.strip()
            if not text.startswith(self.language.comments):
                break
            lines.append(_COMMENT_MARKS.sub("", raw.rstrip()))
        return "\n".join(lines).strip()


def _join(words: list[bytes]) -> str:
    return b" ".join(words)[:MAX_WORDS].decode("utf-8", "replace")
