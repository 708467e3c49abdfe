"""Read manual pages: the macros of man(7) and mdoc(7) as lines with headings, terms and preformatted text.

Macros are rendered one by one; nothing that a page defines or includes is executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from assay.index.documents.opened import OpenedDocument, lines_of
from assay.text.markup import Heading, Outline

_INDENT = 4
_MAX_LEVELS = 5  # of indentation

# Escapes

_ESCAPE = re.compile(
    r"\\(?:f(?:\[[^]\\]*\]|\(..|.)|s(?:[-+]?\d|\[[^]\\]*\]|\([-+]?\d\d)|[hvwXbDoLlN]'[^']*'"
    r"|[nkgmM](?:\[[^]\\]*\]|\(..|[-+]?.)"
    r"|\*(?:\[([^]\\]*)\]|\((..)|(.))|\((\S\S)|\[([^]\\]*)\]|\".*|(.)|$)"
)
_GLYPHS = {
    "bu": "•", "em": "—", "en": "–", "hy": "-", "aq": "'", "dq": '"', "lq": "“", "rq": "”", "oq": "‘", "cq": "’",
    "co": "©", "rg": "®", "tm": "™", "Tm": "™", "->": "→", "<-": "←", "ti": "~", "ha": "^", "ga": "`", "rs": "\\",
    "lB": "[", "rB": "]", "lC": "{", "rC": "}", "sl": "/", "ba": "|", "at": "@", "sh": "#", "mu": "×", "+-": "±",
    "<=": "≤", ">=": "≥", "!=": "≠", "de": "°", "mi": "-", "R": "®", "Lq": "“", "Rq": "”", "Ba": "|", "Le": "≤",
    "Ge": "≥", "Ne": "≠", "Pm": "±", "Lt": "<", "Gt": ">", "Am": "&", "==": "≡", "ss": "ß",
}  # fmt: skip
_SIGNS = {"-": "-", "e": "\\", "\\": "\\", "~": " ", " ": " ", "0": " ", "t": "\t", "'": "'", "`": "`", ".": "."}
_CODE_POINT = re.compile(r"u([0-9A-F]{4,6})")


def _plain(text: str) -> str:
    """Return text without escapes: `\\fB\\-f\\fR` → -f."""
    return _ESCAPE.sub(_glyph, text) if "\\" in text else text


def _glyph(match: re.Match[str]) -> str:
    name = next((group for group in match.groups()[:5] if group is not None), None)
    if name is None:
        return _SIGNS.get(match[6] or "", "")
    if (point := _CODE_POINT.fullmatch(name)) and int(point[1], 16) < 0x110000:
        return chr(int(point[1], 16)).encode("utf-8", "ignore").decode()
    return _GLYPHS.get(name, "")


_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|(\S+)')


def _arguments(text: str) -> list[str]:
    """Split the arguments of a macro; quotes hold blanks, and two of them are one quote."""
    found = _ARGUMENT.findall(text.partition('\\"')[0])
    return [quoted.replace('""', '"') if quoted or not bare else bare for quoted, bare in found]


# Inline macros of mdoc: text around their arguments

_AROUND = {
    "Op": ("[", "]"), "Oo": ("[", ""), "Oc": ("", "]"), "Dq": ("“", "”"), "Do": ("“", ""), "Dc": ("", "”"),
    "Sq": ("‘", "’"), "So": ("‘", ""), "Sc": ("", "’"), "Ql": ("‘", "’"), "Pq": ("(", ")"), "Po": ("(", ""),
    "Pc": ("", ")"), "Bq": ("[", "]"), "Bo": ("[", ""), "Bc": ("", "]"), "Brq": ("{", "}"), "Bro": ("{", ""),
    "Brc": ("", "}"), "Aq": ("<", ">"), "Ao": ("<", ""), "Ac": ("", ">"), "Qq": ('"', '"'), "Qo": ('"', ""),
    "Qc": ("", '"'),
}  # fmt: skip
_WORDS = frozenset(
    ["Ar", "Cm", "Ic", "Li", "Pa", "Ev", "Va", "Vt", "Fa", "Fn", "Ft", "Em", "Sy", "No", "Tn", "Ad", "An", "Er", "Dv",
     "Ms", "Lk", "Mt", "Cd", "St", "At", "Bx", "Fx", "Nx", "Ox", "In", "Fd", "Tg", "Sx", "Xo", "Xc"]
)  # fmt: skip
_SPECIAL = frozenset(["Ux", "Fl", "Nm", "Xr", "Ns", "Pf", "Ta", "Ap"])
_INLINE = _WORDS | _SPECIAL | _AROUND.keys()
_SIGNS_OF = {"Ns": [""], "Ta": ["|"], "Ap": ["", "'", ""], "Ux": ["UNIX"]}
_ALONE = {"Fl": "-", "Ar": "file ..."}  # without arguments
_CLOSING = frozenset([".", ",", ":", ";", ")", "]", "?", "!"])
_OPENING = frozenset(["(", "["])
_MAX_TOKENS = 1_000  # of a line


def _phrase(macro: str, arguments: Sequence[str], name: str) -> str:
    """Render a line of mdoc macros: `Fl v Ar file` → -v file. `name` is the command of the page."""
    out: list[str] = []  # words; an empty one joins its neighbours
    pending: list[str] = []  # closing signs of open brackets
    tokens = [macro, *arguments][:_MAX_TOKENS]
    current, words = "", 1  # innermost macro, and the number of its words so far
    for place, token in enumerate(tokens):
        if (token in _INLINE or token in _CLOSING) and not words:
            out.append(_ALONE.get(current, name if current == "Nm" else ""))
        if token in _INLINE:
            current, words = token, 0
            opening, closing = _AROUND.get(token, ("", ""))
            pending += [closing] if opening and closing else []
            out += [opening, ""] if opening else _SIGNS_OF.get(token, ["", closing] if closing else [])
        elif token in _CLOSING:
            out += [*(_closed(pending) if place == len(tokens) - 1 else []), "", token]
            words += 1
        elif token in _OPENING:
            out += [token, ""]
        else:
            word = _plain(token)
            is_section = current == "Xr" and words == 1
            out += ["", f"({word})"] if is_section else [f"-{word}" if current == "Fl" else word]
            out += [""] if current == "Pf" and not words else []
            words += 1
    if not words:
        out.append(_ALONE.get(current, name if current == "Nm" else ""))
    return _joined([*out, *_closed(pending)])


def _closed(pending: list[str]) -> list[str]:
    closing = [sign for closing in reversed(pending) for sign in ("", closing)]
    pending.clear()
    return closing


def _joined(words: Sequence[str]) -> str:
    """Join words with blanks, but not around empty ones."""
    out: list[str] = []
    glue = True
    for word in words:
        if not word:
            glue = True
            continue
        out.append(word if glue or not out else f" {word}")
        glue = False
    return "".join(out)


# Blocks

_CONDITIONS = frozenset(["if", "ie", "el", "while"])
_IGNORED = _CONDITIONS | frozenset(
    ["Dd", "Os", "ad", "hy", "nh", "na", "ne", "ds", "nr", "so", "ft", "ps", "UC", "PD", "DT", "AT", "Bk", "Ek", "Rs",
     "Re", "ce", "in", "ti", "ta", "tr", "rm", "rr", "als", "cs", "fam", "hla", "ll", "mk", "rt", "pl", "po", "vs",
     "UE", "ME", "IX", "it", "Sm"]
)  # fmt: skip
_FONTS = frozenset(["B", "I", "SM", "SB", "R", "CW"])  # of all arguments
_ALTERNATING = frozenset(["BR", "RB", "BI", "IB", "IR", "RI"])  # of every other argument, without blanks between
_BREAKS = frozenset(["PP", "P", "LP", "Pp", "Lp", "sp", "HP", "YS", "Sp", "Vb", "Ve"])
_CODE_STARTS, _CODE_ENDS = frozenset(["nf", "EX", "Bd", "DS"]), frozenset(["fi", "EE", "Ed", "DE"])
_MACRO = re.compile(r"[.'][ \t]*(\\[\"{}]|\w\w?\w*|\.)?[ \t]*(.*)$")
_MAX_UNCLOSED = 10  # definitions without end; each was searched for in the whole page
_NAME = re.compile(r"([\w.+-]+)(?:,[^–—]*)? [-–—] ")  # `pump, valve - move water`
_BULLETS = frozenset(["•", "-", "*", "·", "o", "—", "–", "+"])


def open_document(data: bytes) -> OpenedDocument:
    """Return the text of a manual page, with the file lines it comes from."""
    reader = _Reader(lines_of(data.decode()))
    reader.read()
    title = _named_title(reader) or reader.title
    return OpenedDocument(reader.lines, Outline(reader.headings, reader.code), title, numbers=tuple(reader.numbers))


def _named_title(reader: _Reader) -> str:
    """Return the title of a page by its NAME section, where generators write `.TH` alike in all pages; may be empty."""
    place = next((heading.line for heading in reader.headings if heading.title.upper() == "NAME"), None)
    text = "" if place is None else "".join(reader.lines[place + 1 : place + 3])
    name = _NAME.match(text)
    section = reader.title[reader.title.find("(") :] if "(" in reader.title else ""
    return f"{name[1]}{section}" if name else ""


class _Reader:
    """Renders a page line by line. A term is followed by text that is indented further."""

    def __init__(self, source: Sequence[str]) -> None:
        self._source, self._at = source, 0
        self.lines: list[str] = []
        self.numbers: list[int] = []
        self.headings: list[Heading] = []
        self.code: set[int] = set()
        self.title = self._name = ""
        self._paragraph: list[str] = []
        self._number = 1  # file line of the paragraph
        self._verbatim = False
        self._shift = 0  # levels by `.RS` and nested lists
        self._inside = 0  # 1 below a term
        self._extra = 0  # 1 if the paragraph's first line is indented
        self._levels: list[tuple[int, int]] = []  # `_shift` and `_inside` around open `.RS` and lists
        self._unclosed: set[str] = set()  # ends of definitions and conditions that are missing
        self._expects = ""  # what the next line of text is: a term, or the title of a section
        self._lists: list[str] = []  # kinds of open mdoc lists
        self._handlers: dict[str, Callable[[str, list[str]], None]] = {
            "TH": self._set_title, "Dt": self._set_title, "SH": self._section, "SS": self._section, "Sh": self._section,
            "Ss": self._section, "TP": self._term, "TQ": self._term, "IP": self._item, "RS": self._deeper,
            "RE": self._higher, "Bl": self._open_list, "El": self._close_list, "It": self._list_item,
            "Nd": self._described, "SY": self._synopsis, "OP": self._option, "UR": self._address, "MT": self._address,
            "Dl": self._display, "D1": self._display, "TS": self._table,
            "de": self._skip_definition, "ig": self._skip_definition, "am": self._skip_definition,
            "br": self._break,
        }  # fmt: skip

    def read(self) -> None:
        while self._at < len(self._source):
            line = self._source[self._at]
            self._at += 1
            if line.startswith((".", "'")) and (macro := _MACRO.match(line)):
                self._macro(macro[1] or "", macro[2])
            elif self._verbatim:
                self._put(_plain(line))
            elif not line.strip():
                self._blank()
            else:
                self._text(_plain(line))
        self._end_paragraph()

    # Lines

    def _put(self, line: str, shift: int = 0) -> None:
        level = min(self._shift + self._inside + shift, _MAX_LEVELS)
        if self._verbatim:
            self.code.add(len(self.lines))
        self.lines.append(" " * (_INDENT * level) + line.rstrip() if line.strip() else "")
        self.numbers.append(self._number if self._paragraph else self._at)

    def _text(self, text: str) -> None:
        """Add text to the current paragraph; after `.TP` it is a term."""
        if not text.strip():
            return
        if self._expects:
            expected, self._expects = self._expects, ""
            if expected == "term":
                self._put_term(text)
            else:
                self._put_heading(text, int(expected))
            return
        if self._verbatim:
            self._put(text)
            return
        if text[0].isspace():  # starts a new line
            self._end_paragraph()
        if not self._paragraph:
            self._number, self._extra = self._at, int(text[0].isspace())
        self._paragraph.append(text.strip())

    def _end_paragraph(self) -> None:
        if self._paragraph:
            self._put(" ".join(self._paragraph), self._extra)
            self._paragraph = []

    def _blank(self) -> None:
        self._end_paragraph()
        if self.lines and self.lines[-1]:
            self._put("")

    def _put_term(self, term: str) -> None:
        self._end_paragraph()
        self._inside = 0
        self._put(term.strip())
        self._inside = 1

    def _put_heading(self, title: str, level: int) -> None:
        self._shift = self._inside = 0
        self._blank()
        self.headings.append(Heading(len(self.lines), level, " ".join(title.split())))
        self._put(title)
        self._put("")

    # Macros

    def _macro(self, name: str, rest: str) -> None:
        if name in _CODE_STARTS or name in _CODE_ENDS:
            self._blank()
            is_prose = name == "Bd" and not any(kind in rest for kind in ("literal", "unfilled"))
            self._verbatim = name in _CODE_STARTS and not is_prose
        elif name in _BREAKS:
            self._blank()
            self._inside = 0 if name in ("PP", "P", "LP", "HP") else self._inside
        elif name in self._handlers:
            self._handlers[name](name, [_plain(argument) for argument in _arguments(rest)])
        elif name in _FONTS:
            self._text(" ".join(map(_plain, _arguments(rest))))
        elif name in _ALTERNATING:
            self._text("".join(map(_plain, _arguments(rest))))
        elif name in _INLINE:
            self._inline(name, rest)
        elif name in _CONDITIONS:
            if rest.rstrip("\\ ").endswith("\\{"):
                self._skip_block()
        elif name and name not in _IGNORED and not name.startswith(("\\", ".")):
            self._text(" ".join(map(_plain, _arguments(rest))))

    def _inline(self, name: str, rest: str) -> None:
        arguments = _arguments(rest)
        if name == "Nm" and arguments and not self._name:
            self._name = _plain(arguments[0])
        self._text(_phrase(name, arguments, self._name))

    def _set_title(self, _: str, arguments: list[str]) -> None:
        if arguments and not self.title:
            section = f"({arguments[1]})" if len(arguments) > 1 and arguments[1] else ""
            self.title = f"{arguments[0].lower()}{section}"

    def _section(self, name: str, arguments: list[str]) -> None:
        self._verbatim = False
        self._end_paragraph()
        self._lists, self._levels = [], []
        level = 1 if name in ("SH", "Sh") else 2
        if arguments:
            self._put_heading(" ".join(arguments), level)
        else:
            self._expects = str(level)

    def _term(self, name: str, _: list[str]) -> None:
        if name == "TP":
            self._blank()
        self._end_paragraph()
        self._expects = "term"

    def _item(self, _: str, arguments: list[str]) -> None:
        self._blank()
        tag = arguments[0].strip() if arguments else ""
        if tag in _BULLETS or tag.rstrip(".)").isdigit():
            self._inside = 0
            self._text(f"{'-' if tag in _BULLETS else tag} ")
        elif tag:
            self._put_term(tag)
        else:
            self._inside = 1

    def _deeper(self, *_: object) -> None:
        self._end_paragraph()
        self._levels.append((self._shift, self._inside))
        self._shift, self._inside = self._shift + 1, 0

    def _higher(self, *_: object) -> None:
        self._end_paragraph()
        self._shift, self._inside = self._levels.pop() if self._levels else (0, 0)

    def _open_list(self, _: str, arguments: list[str]) -> None:
        self._end_paragraph()
        self._levels.append((self._shift, self._inside))
        self._shift, self._inside = self._shift + self._inside, 0
        self._lists.append(arguments[0].lstrip("-") if arguments else "")

    def _close_list(self, *_: object) -> None:
        self._blank()
        self._higher()
        if self._lists:
            self._lists.pop()

    def _list_item(self, _: str, arguments: list[str]) -> None:
        kind = self._lists[-1] if self._lists else ""
        if kind not in ("column", "item") and "compact" not in arguments:
            self._blank()
        self._end_paragraph()
        head = _phrase("No", arguments, self._name)
        if kind in ("bullet", "dash", "hyphen", "enum", "item"):
            self._inside = 0
            self._text("- " if kind != "item" else head)
        elif kind == "column":
            self._put(head)
        elif head:
            self._put_term(head)

    def _described(self, _: str, arguments: list[str]) -> None:
        self._text(f"– {_phrase('No', arguments, self._name)}")

    def _synopsis(self, _: str, arguments: list[str]) -> None:
        self._end_paragraph()
        self._text(" ".join(arguments))

    def _option(self, _: str, arguments: list[str]) -> None:
        self._text(f"[{' '.join(arguments)}]")

    def _address(self, _: str, arguments: list[str]) -> None:
        self._text(" ".join(f"<{address}>" for address in arguments[:1]))

    def _display(self, _: str, arguments: list[str]) -> None:
        self._end_paragraph()
        self._put(_phrase("No", arguments, self._name), shift=1)

    def _break(self, *_: object) -> None:
        self._end_paragraph()

    def _table(self, *_: object) -> None:
        """Read a table of tbl(1): rows become lines, cells stand between bars."""
        self._blank()
        for cells in self._rows():
            self._put(" | ".join(cells))
        self._blank()

    def _rows(self) -> Iterator[list[str]]:
        separator, in_format = "\t", True
        block: list[str] | None = None  # text between T{ and T}
        cells: list[str] = []
        while self._at < len(self._source):
            line = self._source[self._at]
            self._at += 1
            if line.startswith(".TE"):
                return
            if in_format:
                option = re.search(r"tab\s*\((.)\)", line)
                separator = option[1] if option else separator
                in_format = not line.rstrip().endswith(".")
            elif line.startswith(".T&"):
                in_format = True
            elif block is not None:
                if not line.startswith("T}"):
                    macro = _MACRO.match(line) if line.startswith((".", "'")) else None
                    block += map(_plain, _arguments(macro[2])) if macro else [_plain(line)]
                    continue
                cells.append(" ".join(block))
                more = line[2:].lstrip(separator).split(separator) if line[2:].strip() else []
                block = [] if more and more[-1].startswith("T{") else None
                cells += [_plain(cell).strip() for cell in (more[:-1] if block is not None else more)]
            elif not line.startswith((".", "'")) and line.strip("_=" + separator).strip():
                parts = line.split(separator)
                block = [] if parts[-1].startswith("T{") else None
                cells += [_plain(cell).strip() for cell in (parts[:-1] if block is not None else parts)]
            if block is None and cells:
                yield cells
                cells = []

    def _skip_definition(self, _: str, arguments: list[str]) -> None:
        """Skip the definition of a macro, up to two dots; if it never ends, only its first line."""
        end = f".{arguments[1]}" if len(arguments) > 1 else ".."
        if end in self._unclosed or len(self._unclosed) > _MAX_UNCLOSED:
            return
        for at in range(self._at, len(self._source)):
            if self._source[at].rstrip() == end:
                self._at = at + 1
                return
        self._unclosed.add(end)

    def _skip_block(self) -> None:
        """Skip the lines of a condition, up to the closing brace; if it never ends, only its first line."""
        depth = 1
        for at in range(self._at, len(self._source)) if "\\}" not in self._unclosed else ():
            depth += self._source[at].count("\\{") - self._source[at].count("\\}")
            if depth <= 0:
                self._at = at + 1
                return
        self._unclosed.add("\\}")
