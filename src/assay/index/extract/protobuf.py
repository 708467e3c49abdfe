"""Read Protocol Buffers definitions: services, rpcs, messages, enums, fields and imports.

No grammar of them is on PyPI as a wheel. The language is a list of statements and blocks, so a tokenizer and a stack of
open blocks suffice. Fills `Captures` as a query would; everything after that is the same as for other languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from assay.index.extract.collect import Captures, Definition
from assay.index.facts import HINT

MAX_BLOCKS = 100  # nesting of blocks that is read; protoc itself refuses messages nested deeper than this
MAX_HEAD = 40  # tokens kept of a statement: the longest, an rpc with two streams, has 14

_TOKEN = re.compile(
    rb"(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))"
    rb"|(?P<text>\"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+(?:\"|(?=\n)|\Z)|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+(?:'|(?=\n)|\Z))"
    rb"|(?P<word>\.?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"
    rb"|(?P<mark>[{}\[\]();=<>,])",
    re.S,
)
_SCALARS = frozenset((
    "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64",
    "bool", "string", "bytes",
))  # fmt: skip
_LABELS = frozenset({"optional", "required", "repeated"})
_NO_FIELDS = frozenset({"option", "reserved", "extensions", "syntax", "edition", "package", "import"})
_TYPES = {"message": "struct", "enum": "enum", "service": "interface"}
# blocks in which statements are fields; their fields belong to the nearest message around
_WITH_FIELDS = frozenset({"message", "oneof", "extend"})
_CLOSING = {"]": "[", ")": "(", "}": "{"}


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


@dataclass(slots=True)
class _Block:
    """An open block: what it is, and the definition that ends with it, if it is one."""

    kind: str
    definition: Definition | None = None


@dataclass(slots=True)
class _Statement:
    """The tokens of a statement so far, without those in brackets of options."""

    tokens: list[_Token] = field(default_factory=list)
    start: int = -1
    open: list[str] = field(default_factory=list)  # brackets

    def words(self) -> list[_Token]:
        return [token for token in self.tokens if token.kind == "word"]


def read_protobuf(captures: Captures) -> int:
    """Collect the definitions, types and imports of a file; return the number of syntax errors."""
    return _Reader(captures).read()


class _Reader:
    def __init__(self, captures: Captures) -> None:
        self._captures = captures
        self._blocks: list[_Block] = [_Block("file")]
        self._ignored = 0  # open blocks inside one that is not read
        self._errors = 0
        self._statement = _Statement()

    def read(self) -> int:
        for token in self._tokens():
            if self._statement.start < 0:
                self._statement.start = token.start
            if token.kind == "mark":
                self._read_mark(token)
            elif len(self._statement.tokens) < MAX_HEAD and not self._in_options():
                self._statement.tokens.append(token)
        end = len(self._captures.source)
        self._errors += len(self._blocks) - 1 + bool(self._ignored)
        for block in self._blocks:
            if block.definition:
                block.definition.end = end
        return self._errors

    def _tokens(self) -> Iterator[_Token]:
        for match in _TOKEN.finditer(self._captures.source):
            kind = match.lastgroup or ""
            if kind != "comment":
                yield _Token(kind, match.group().decode("utf-8", "replace"), match.start(), match.end())

    def _in_options(self) -> bool:
        """Return whether the next token is in square brackets, or in the value of an option."""
        return "[" in self._statement.open or "{" in self._statement.open

    def _read_mark(self, token: _Token) -> None:
        statement = self._statement
        if self._ignored:
            self._ignored += (token.text == "{") - (token.text == "}")
            if not self._ignored:
                self._statement = _Statement()
        elif token.text == "{" and not statement.open and not self._is_option():
            self._open_block(token)
        elif token.text == "}" and "{" not in statement.open:
            self._close_block(token)
        elif token.text in "[({":
            if len(statement.open) < MAX_BLOCKS:
                statement.open.append(token.text)
        elif token.text in _CLOSING and statement.open:
            if statement.open[-1] == _CLOSING[token.text]:
                statement.open.pop()
        elif token.text == ";" and "{" not in statement.open:
            self._end_statement(token)
        elif len(statement.tokens) < MAX_HEAD and not self._in_options():
            statement.tokens.append(token)

    def _is_option(self) -> bool:
        return bool(self._statement.tokens) and self._statement.tokens[0].text == "option"

    # Blocks

    def _open_block(self, brace: _Token) -> None:
        words = self._statement.words()
        keyword = words[0].text if words else ""
        if len(self._blocks) > MAX_BLOCKS or not self._may_open(keyword, words):
            self._ignored = 1
            return
        definition = None
        if keyword in _TYPES:
            definition = self._define(words[1], _TYPES[keyword], brace)
        elif keyword == "rpc":
            definition = self._define_rpc(words, brace)
        elif keyword == "extend":
            self._hint(words[1])
        elif keyword != "oneof":  # a group, which is a field and its type
            definition = self._define(words[-1], "struct", brace)
            keyword = "message"
        self._blocks.append(_Block(keyword, definition))
        self._statement = _Statement()

    def _may_open(self, keyword: str, words: list[_Token]) -> bool:
        inside, named = self._blocks[-1].kind, len(words) > 1
        if keyword in ("message", "enum", "extend"):
            return named and inside in ("file", "message")
        if keyword in ("service", "rpc", "oneof"):
            return named and inside == {"service": "file", "rpc": "service", "oneof": "message"}[keyword]
        return inside in _WITH_FIELDS and [word.text for word in words[-2:-1]] == ["group"]

    def _close_block(self, brace: _Token) -> None:
        self._statement = _Statement()
        if len(self._blocks) == 1:
            self._errors += 1
            return
        block = self._blocks.pop()
        if block.definition:
            block.definition.end = brace.end

    # Statements

    def _end_statement(self, end: _Token) -> None:
        statement, inside = self._statement, self._blocks[-1].kind
        words = statement.words()
        keyword = words[0].text if words else ""
        if inside == "file" and keyword == "package" and len(words) > 1:
            self._captures.namespace = _name(words[1])
        elif inside == "file" and keyword == "import":
            self._import(statement)
        elif inside == "service" and keyword == "rpc" and len(words) > 1:
            self._define_rpc(words, end)
        elif inside == "enum" and words and keyword not in _NO_FIELDS:
            self._define(words[0], "constant", end)
        elif inside in _WITH_FIELDS and keyword not in _NO_FIELDS:
            self._define_field(statement, end)
        self._statement = _Statement()

    def _import(self, statement: _Statement) -> None:
        public = any(word.text == "public" for word in statement.words())
        path = next((token.text.strip("\"'") for token in statement.tokens if token.kind == "text"), "")
        if path:
            self._captures.imports.append((statement.start, path, "*", "", public))

    def _define_rpc(self, words: list[_Token], end: _Token) -> Definition:
        """Define an rpc: `rpc Name (stream Request) returns (Response)`."""
        types = [word for word in words[2:] if word.text not in ("stream", "returns")][:2]
        definition = self._define(words[1], "method", end)
        definition.type = _name(types[-1]) if len(types) > 1 else ""
        for word in types:
            self._hint(word)
        return definition

    def _define_field(self, statement: _Statement, end: _Token) -> None:
        """Define a field: `repeated Item items = 1`, `map<string, Item> items = 2`."""
        head = []
        for token in statement.tokens:
            if token.text == "=":
                break
            if token.kind == "word":
                head.append(token)
        words = [word for at, word in enumerate(head) if word.text not in _LABELS or at]
        if len(words) < 2:
            return
        *types, name = words
        self._define(name, "field", end).type = _name(types[-1])
        for word in types:
            if word.text not in _SCALARS and word.text != "map":
                self._hint(word)

    def _define(self, name: _Token, kind: str, end: _Token) -> Definition:
        body = end.start if end.text == "{" else 0
        definition = Definition(self._statement.start, end.end, kind, name.text.rpartition(".")[2], name.start, body)
        self._captures.definitions[name.start] = definition
        return definition

    def _hint(self, word: _Token) -> None:
        self._captures.marks.append((word.start, word.end, HINT, _name(word)))


def _name(word: _Token) -> str:
    """Return a dotted name without the dot that marks a full name."""
    return word.text.lstrip(".")
