"""A page of plain text under construction, and the inline helpers that all markup languages share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

CODE_INDENT = "    "
_SPACES = re.compile(r"(?<=\S)[ \t]{2,}")


def word_set(*rows: str) -> frozenset[str]:
    """Return the words of some rows."""
    return frozenset(word for row in rows for word in row.split())


# kinds of admonitions whose name is shown in front of their text, and the words shown
LABELS = {
    kind: kind.capitalize()
    for kind in sorted(
        word_set(
            "note tip info warning danger caution important hint attention error success question failure bug example",
            "abstract summary todo details quote",
        )
    )
} | {"seealso": "See also"}
_MAX_LABEL_WORDS = 6  # a longer title stands on a line of its own


class Page:
    """Collects lines. Prose is rendered by `inline` one paragraph at a time, as markup may cross a line end."""

    def __init__(self, inline: Callable[[str], str]) -> None:
        self._inline = inline
        self._lines: list[str] = []
        self._paragraph: list[str] = []
        self._in_code = False
        self._label, self._alone = "", ""

    def prose(self, line: str) -> None:
        """Add a line to the current paragraph."""
        if self._label:
            bare = line.lstrip()
            line = f"{line[: len(line) - len(bare)]}{self._label}: {bare}"
            self._label = ""
        self._paragraph.append(line)

    def item(self, line: str) -> None:
        """Start a list item, table row or definition: a paragraph without a blank line before it."""
        self._put_label()
        self.end_paragraph()
        self._paragraph.append(line)

    def row(self, line: str) -> None:
        """Add a table row, its padding removed."""
        self.item(_SPACES.sub(" ", line))

    def heading(self, title: str) -> None:
        self._put_label()
        self.blank()
        self.prose(title)
        self.blank()

    def code(self, lines: Iterable[str], indent: str = CODE_INDENT) -> None:
        """Add lines verbatim, each behind `indent`, with a blank line before and after the block."""
        self._put_label()
        block = [f"{indent}{line}" if line.strip() else "" for line in lines]
        while block and not block[-1]:
            block.pop()
        while block and not block[0]:
            del block[0]
        if block:
            if not self._in_code:
                self.blank()
            self._lines += block
            self._in_code = True

    def label(self, text: str, alone: str = "") -> None:
        """Put a label in front of the next prose; `alone` is shown if no text follows before `end_label`."""
        self.end_label()
        self.blank()
        text = text.strip()
        if len(text.split()) > _MAX_LABEL_WORDS or text.endswith((".", "!", "?", ":", "…")):
            self.prose(text)
            self.blank()
        else:
            self._label, self._alone = text, alone

    def end_label(self) -> None:
        """End the text that a label belongs to."""
        if self._label:
            alone, self._label = self._alone, ""
            self.end_paragraph()
            self._paragraph += filter(None, [alone])
            self.blank()

    def _put_label(self) -> None:
        """Put a label on a line of its own: code, a list or a heading follows."""
        if self._label:
            label, self._label = self._label, ""
            self.end_paragraph()
            self._paragraph.append(f"{label}:")
            self.end_paragraph()

    def blank(self) -> None:
        self.end_paragraph()
        if self._lines and self._lines[-1]:
            self._lines.append("")
        self._in_code = False

    def end_paragraph(self) -> None:
        if self._paragraph:
            text = self._inline("\n".join(self._paragraph))
            self._paragraph = []
            lines = [line.rstrip() for line in text.split("\n") if line.strip()]
            if lines and self._in_code:
                self.blank()
            self._lines += lines

    def text(self) -> str:
        """Return the finished page."""
        self.end_label()
        self.end_paragraph()
        while self._lines and not self._lines[-1]:
            self._lines.pop()
        return "\n".join(self._lines)


# Blocks by indentation


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def dedented(lines: list[str]) -> list[str]:
    """Return lines without their common indentation."""
    depth = min((indent_of(line) for line in lines if line.strip()), default=0)
    return [line[min(depth, indent_of(line)) :] for line in lines]


def end_of_block(lines: list[str], start: int, depth: int) -> int:
    """Return the end of the lines from `start` that are blank or indented further than `depth`; not after a blank."""
    at = end = start
    while at < len(lines) and (not lines[at].strip() or indent_of(lines[at]) > depth):
        at += 1
        end = at if lines[at - 1].strip() else end
    return end


# Inline markup. A protected piece is replaced by its number between two marks that no text has, so that later
# substitutions do not change it.

MARK = "\0"
_PROTECTED = re.compile(f"{MARK}(\\d+){MARK}")
# runs of one to three signs around text without that sign; not around blanks, and not in `a*b` or `src/**/x`
_STARS = re.compile(r"(?<![\w*/\\])(\*{1,3})(?=[^\s*/])([^*]*+)(?<=[^\s*])\1(?![\w*/])")
_STRONG = re.compile(r"(?<![*/\\])(\*\*)(?=[^\s*/])([^*]*+)(?<=[^\s*])\1(?![*/])")
_UNDERSCORES = re.compile(r"(?<![\w/\\])(_{1,3})(?=[^\s_])((?:[^_]|(?<=[^\W_])_++(?=[^\W_]))*+)(?<=[^\s_])\1(?![\w/])")
_DUNDER = re.compile(r"[a-z][a-z0-9_]*")  # `__init__` is a name, not strong
_MAX_NESTING = 3  # of emphasis


class Protected:
    """Pieces of a paragraph that stay as they are."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def keep(self, piece: str) -> str:
        """Return the placeholder of a piece."""
        self._pieces.append(piece)
        return f"{MARK}{len(self._pieces) - 1}{MARK}"

    def restore(self, text: str) -> str:
        return _PROTECTED.sub(lambda match: self._pieces[int(match[1])], text) if self._pieces else text


def without_stars(text: str) -> str:
    """Remove the stars of emphasis, innermost first."""
    for _ in range(_MAX_NESTING):
        if "*" not in text:
            return text
        text, plain = _STRONG.sub(r"\2", _STARS.sub(r"\2", text)), text
        if text == plain:
            return text
    return text


def without_underscores(text: str) -> str:
    """Remove the underscores of emphasis; names keep theirs."""
    for _ in range(_MAX_NESTING):
        if "_" not in text:
            return text
        text, plain = _UNDERSCORES.sub(_underscored, text), text
        if text == plain:
            return text
    return text


def _underscored(match: re.Match[str]) -> str:
    is_name = match[1] == "__" and _DUNDER.fullmatch(match[2])
    return match[0] if is_name else match[2]
