"""reStructuredText as plain text: docutils and Sphinx."""

from __future__ import annotations

import re

from assay.text.plain.page import (
    CODE_INDENT,
    LABELS,
    Page,
    Protected,
    dedented,
    end_of_block,
    indent_of,
    without_stars,
    word_set,
)

# Directives by what a reader sees of them

_CODE = word_set(
    "code-block code sourcecode parsed-literal prompt doctest testcode testoutput productionlist ipython math"
)
_VERSIONS = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
    "deprecated-removed": "Deprecated since version",
}
_TITLED = word_set(
    "admonition topic sidebar rubric centered tab tab-item group-tab code-tab dropdown collapse details table",
    "csv-table list-table card grid-item-card",
)  # the argument is a title of the text below
_HIDDEN = word_set(
    "toctree index image raw include literalinclude meta contents sectnum highlight default-role default-domain role",
    "currentmodule module py:module py:currentmodule program autosummary automodule autoclass autofunction",
    "autoexception automethod autodata autoattribute graphviz digraph graph mermaid uml plantuml",
    "inheritance-diagram tabularcolumns codeauthor sectionauthor moduleauthor",
    "youtube video only-sphinx testsetup testcleanup click",
)  # with all they contain
_OPEN = word_set(
    "container rst-class class cssclass tabs tab-set grid only ifconfig figure compound highlights epigraph pull-quote",
    "grid-item hlist glossary",
)  # only the text below is seen

_DIRECTIVE = re.compile(r"\.\.[ \t]+([A-Za-z][\w:+.-]*)::(?:[ \t]+(.*))?$")
_SUBSTITUTION = re.compile(r"\.\.[ \t]+\|([^|]+)\|[ \t]+(?:replace::[ \t]*(.*)|image::.*)$")
_NOTE = re.compile(r"\.\.[ \t]+\[([^\]]+)\][ \t]+")  # the text of a footnote or citation
_EXPLICIT = re.compile(r"\.\.(?:[ \t]|$)")  # a target, comment or substitution
_OPTION = re.compile(r"\s+:[\w-]+:(?:\s|$)")
_RULE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*$")
_TABLE_RULE = re.compile(r"(?:[=-]{2,}(?:[ \t]+[=-]{2,})+|\+[-=+]+\+)\s*$")
_ROW = re.compile(r"\|[ \t].*[ \t]\|$")
_LINE_BLOCK = re.compile(r"(\s*)\|[ \t]+")
_ITEM = re.compile(r"(\s*)([-*+•]|#\.|\(?[0-9a-zA-Z]{1,3}[.)])([ \t]+)(?=\S)")
_HIDDEN_FIELD = re.compile(r":(?:orphan|tocdepth|nocomments|nosearch):|__[ \t]+\S")
_VERSION_ARGUMENT = re.compile(r"(\S+)(?:[ \t]+(.*))?$")


def render_rst(lines: list[str]) -> str:
    """Return reStructuredText as plain text."""
    return _Renderer([line.expandtabs(8) for line in lines]).render()


class _Renderer:
    """Reads lines one by one. `_bodies` are open directives: the least indentation of their text, and what to strip."""

    def __init__(self, lines: list[str]) -> None:
        self._lines, self._at = lines, 0
        self._substitutions: dict[str, str] = {}
        self._page = Page(self._inline)
        self._bodies: list[tuple[int, int]] = []

    def render(self) -> str:
        for line in self._lines:
            if substitution := _SUBSTITUTION.match(line.strip()):
                self._substitutions[substitution[1]] = substitution[2] or ""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip():
                self._line(line)
            else:
                self._page.blank()
                self._at += 1
        return self._page.text()

    def _inline(self, text: str) -> str:
        return inline(text, self._substitutions)

    def _line(self, line: str) -> None:
        """Read the block that starts at a line that is not blank."""
        indent = indent_of(line)
        while self._bodies and indent < self._bodies[-1][0]:
            self._bodies.pop()
            self._page.end_label()
        strip = self._bodies[-1][1] if self._bodies else 0
        bare, line = line.strip(), line[min(strip, indent) :].rstrip()
        if directive := _DIRECTIVE.match(bare):
            self._directive(indent, directive[1].lower(), (directive[2] or "").strip())
        elif note := _NOTE.match(bare):
            self._page.item(f"[{note[1].lstrip('#')}] {bare[note.end() :]}")
            self._at += 1
        elif _EXPLICIT.match(bare):
            self._at = max(end_of_block(self._lines, self._at + 1, indent), self._at + 1)
            self._page.blank()
        elif bare.startswith(">>> "):
            self._doctest()
        elif bare.endswith("::") and not bare.startswith("::::"):
            self._literal(line, bare)
        else:
            self._text(line, bare)
            self._at += 1

    def _directive(self, indent: int, name: str, argument: str) -> None:
        self._at += 1
        start = self._at
        while self._at < len(self._lines) and _OPTION.match(self._lines[self._at]):
            self._at += 1
        name = name if name in _HIDDEN else name.removeprefix("py:")
        end = end_of_block(self._lines, start, indent)
        if name in _CODE:
            body = dedented(self._lines[self._at : end])
            self._page.code([argument, *body] if name == "math" else body, " " * self._shown(indent) + CODE_INDENT)
            self._at = max(end, self._at)
        elif name in _HIDDEN:
            self._at = max(end, self._at)
        else:
            self._page.end_label()
            self._open(name, argument, indent, end)
        self._page.end_paragraph()

    def _open(self, name: str, argument: str, indent: int, end: int) -> None:
        """Start a directive whose body is text."""
        body = [line for line in self._lines[self._at : end] if line.strip()]
        inner = indent_of(body[0]) if body else indent + 1
        keeps_indent = False
        if name in _VERSIONS:
            version = _VERSION_ARGUMENT.match(argument)
            label = f"{_VERSIONS[name]} {version[1] if version else ''}".rstrip()
            self._page.label(label, alone=label)
            if version and version[2]:
                self._page.prose(version[2])
        elif name in LABELS:
            self._page.label(LABELS[name])
            if argument:
                self._page.prose(argument)
        elif name in _TITLED:
            if argument:
                self._page.label(argument, alone=argument)
        elif argument and name not in _OPEN:  # a description: `.. option:: --force`
            self._page.blank()
            self._page.prose(argument)
            self._page.end_paragraph()
            keeps_indent = True
        else:
            self._page.blank()
        strip = self._bodies[-1][1] if self._bodies else 0
        self._bodies.append((indent + 1, strip if keeps_indent else strip + inner - indent))

    def _shown(self, indent: int) -> int:
        """Return how far text of this indentation is indented on the page."""
        return max(0, indent - (self._bodies[-1][1] if self._bodies else 0))

    def _literal(self, line: str, bare: str) -> None:
        """Read a line that ends with `::` and the literal block it introduces."""
        item = _ITEM.match(line)
        indent = indent_of(self._lines[self._at])
        depth = indent + (item.end() - len(item[1]) if item else 0)
        if bare != "::":
            text = line[:-1] if not line[:-2].endswith((" ", "\t")) else line[:-2].rstrip()
            self._text(text, text.strip())
        self._page.end_paragraph()
        self._at += 1
        end = end_of_block(self._lines, self._at, depth)
        if end > self._at:
            self._page.code(dedented(self._lines[self._at : end]), " " * self._shown(depth) + CODE_INDENT)
            self._page.blank()
            self._at = end

    def _doctest(self) -> None:
        start = self._at
        while self._at < len(self._lines) and self._lines[self._at].strip():
            self._at += 1
        self._page.code(dedented(self._lines[start : self._at]))

    def _text(self, line: str, bare: str) -> None:
        """Read a title, list item, table row or line of a paragraph."""
        if _TABLE_RULE.match(bare):
            self._page.end_paragraph()
        elif _RULE.match(bare) and bare != "...":
            self._page.blank()
        elif _ROW.match(bare):
            self._page.row(line)
        elif item := _ITEM.match(line):
            bullet = "-" if item[2] in ("*", "+", "•", "#.") else item[2]
            self._page.item(f"{item[1]}{bullet}{item[3]}{line[item.end() :]}")
        elif block := _LINE_BLOCK.match(line):
            self._page.item(f"{block[1]}{line[block.end() :]}")
        elif not _HIDDEN_FIELD.match(bare):
            self._page.prose(bare if self._is_overlined() else line)

    def _is_overlined(self) -> bool:
        """Return whether the current line is a title between two rules, where it may be indented."""
        above, below = self._lines[max(self._at - 1, 0)], "".join(self._lines[self._at + 1 : self._at + 2])
        return bool(_RULE.match(above)) and above.rstrip() == below.rstrip()


# Inline markup

_SPECIAL = re.compile(r"[`*_|\\\[]")
_LITERAL = re.compile(r"(?<!`)``(?=[^\s`])([^`]*+(?:`(?!`)[^`]*+)*+)``|\\(\s|.)", re.S)
_ROLE = re.compile(r"(?<![\w:`])((?::[A-Za-z][\w+.-]*+)++:)?`([^`]+)`(?:__?(?!\w)|(?=[^`])|$)")
_TITLE = re.compile(r"(.*?)\s*<([^<>]*)>$", re.S)
_NUMBERS = {"pep": "PEP ", "rfc": "RFC ", "issue": "#", "pr": "#", "pull": "#", "gh": "#", "bug": "#", "ticket": "#"}
_SUBSTITUTED = re.compile(r"\|(\w(?:[^|\n]*[^\s|])?)\|(?:__?(?!\w))?")
_MARK = re.compile(r"[ \t]?\[(?:\d+|#[\w-]*|\*)\]_(?!\w)")  # of a footnote
_CITATION = re.compile(r"\[([A-Za-z][\w.-]*)\]_(?!\w)")
_REFERENCE = re.compile(r"(?<![\w`.\[-])([A-Za-z][\w.-]*[A-Za-z0-9])__?(?=[\s.,;:)!?'\"]|$)")


def inline(text: str, substitutions: dict[str, str] | None = None) -> str:
    """Return a paragraph of reStructuredText without inline markup."""
    if not _SPECIAL.search(text):
        return text
    protected = Protected()
    text = _LITERAL.sub(lambda match: protected.keep(_literal(match[1], match[2])), text)
    text = _ROLE.sub(lambda match: protected.keep(displayed((match[1] or "").strip(":"), match[2])), text)
    if "|" in text:
        text = _SUBSTITUTED.sub(lambda match: (substitutions or {}).get(match[1], match[1]), text)
    if "_" in text:
        text = _REFERENCE.sub(r"\1", _CITATION.sub(r"[\1]", _MARK.sub("", text)))
    return protected.restore(without_stars(text))


def _literal(code: str | None, sign: str | None) -> str:
    """Return literal code, or an escaped sign; an escaped blank is not shown."""
    return code.replace("\n", " ") if code else (sign or "").strip()


def displayed(role: str, content: str) -> str:
    """Return the text shown for a role or reference: `~flask.url_for` → url_for, `title <target>` → title."""
    titled = _TITLE.match(content)
    if titled:
        return titled[1] or titled[2]
    kind = role.rpartition(":")[2]
    if kind in _NUMBERS and content[:1].isdigit():
        return _NUMBERS[kind] + content
    if content.startswith("~"):
        return content.rpartition(".")[2].lstrip("~@")
    return content.lstrip("!@") if role else content
