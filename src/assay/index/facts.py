"""Facts: what one file says by itself, before anything is known about the others.

A pure function of the file's content and the extractor version, so they are cached by content hash. Expressions are kept as *chains*
(see `chains`): `self.app.run()`; the resolver evaluates them once all files are known.
"""

from __future__ import annotations

from typing import Final

import msgspec

CALL, NEW, MENTION, ACCESS, HINT, THROW, DECORATE, BASE, IMPLEMENTS = range(9)

FILE: Final = -1  # the parent of top-level symbols, and the scope of top-level code


class SymbolFact(msgspec.Struct, array_like=True, gc=False):
    """One definition. `parent` is an index into the file's symbols, or FILE."""

    name: str
    kind: str
    symbol: str  # qualified name
    nth: int  # 1, or 2… for a repeated qualified name in the same file
    parent: int
    start: int
    end: int
    scope: str = ""  # the type it belongs to when written outside its body (Go receiver, Rust impl, C++ Foo::)
    type: str = ""  # declared type, or declared result type
    values: list[str] = []  # chains it is assigned or returns, for when no type is declared
    test: bool = False
    arity: int = -1  # number of parameters, where the query tells them
    stub: bool = False  # an overload's signature, without a body of its own
    optional: int = 0  # how many of its parameters may be left out
    variadic: bool = False  # its last parameter takes any number of arguments
    static: bool = False  # called through its type, not through an object


class TextFact(msgspec.Struct, array_like=True, gc=False):
    """The words of one symbol, by field."""

    signature: str
    doc: str
    identifiers: str  # of its own body, without those of the symbols inside it
    literals: str


class WordFacts(msgspec.Struct, array_like=True, gc=False):
    """The words of a file's items, counted: arrays as bytes, one row for every item and term (see `store.postings`)."""

    vocabulary: list[str]
    terms: bytes  # per row: place in the vocabulary
    counts: bytes  # per row: in each field
    rows: bytes  # per item, the symbols and last the file itself: its number of rows
    lengths: bytes  # per item: terms in each field


class FileTexts(msgspec.Struct, array_like=True, gc=False):
    """The texts of every symbol and last those of the file itself, as written and counted."""

    texts: list[TextFact]
    words: WordFacts


class Reference(msgspec.Struct, array_like=True, gc=False):
    """A place that names something. `source` is the index of the enclosing symbol, or FILE."""

    role: int
    source: int
    line: int
    chain: str
    literal: str = (
        ""  # first literal argument, where it matters; for IMPLEMENTS of an impl block, the implementing type
    )
    handler: str = ""  # the argument after that literal: a route's handler
    arity: int = -1  # number of arguments of a call, where the query tells them
    generics: int = 0  # number of type arguments written after the name of what is called


class Import(msgspec.Struct, array_like=True, gc=False):
    """`from module import name as alias`, in any language. No name: the whole module; `*`: everything in it."""

    line: int
    module: str
    name: str = ""
    alias: str = ""
    export: bool = False  # also visible to those who import this file
    source: int = FILE


class Binding(msgspec.Struct, array_like=True, gc=False):
    """A parameter or local variable of a function: what is known of its type or value. Both may be empty."""

    source: int
    line: int
    name: str
    type: str = ""
    value: str = ""
    until: int = 0  # last line of the anonymous function it belongs to; 0: seen in all of `source`


class FileFacts(msgspec.Struct, array_like=True, gc=False):
    """Everything one file says."""

    language: str
    namespace: str  # the package a file declares (Java, Kotlin, Scala)
    symbols: list[SymbolFact]
    supertypes: list[Reference]  # those with the role BASE or IMPLEMENTS: what other files ask about
    imports: list[Import]
    references: msgspec.Raw  # all others, encoded: half of a file's facts, wanted only while it is resolved itself
    bindings: msgspec.Raw  # encoded too: few files ask for those of others
    errors: int = 0  # syntax errors the parser recovered from


class Extracted(msgspec.Struct, array_like=True, gc=False):
    """A file's facts and texts, each already encoded: the texts go to the catalogue, only the facts are resolved."""

    facts: bytes
    texts: bytes
    lines: int


_encoder = msgspec.msgpack.Encoder()
_facts_decoder = msgspec.msgpack.Decoder(FileFacts)
_texts_decoder = msgspec.msgpack.Decoder(FileTexts)
_references_decoder = msgspec.msgpack.Decoder(list[Reference])
_bindings_decoder = msgspec.msgpack.Decoder(list[Binding])

encode = _encoder.encode
decode_facts = _facts_decoder.decode
decode_texts = _texts_decoder.decode
decode_references = _references_decoder.decode
decode_bindings = _bindings_decoder.decode


def encoded(rows: list[Reference] | list[Binding]) -> msgspec.Raw:
    """Rows to be decoded when they are asked for."""
    return msgspec.Raw(_encoder.encode(rows))
