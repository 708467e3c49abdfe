"""Facts: the definitions, references, imports and texts of one file, before other files are considered.

They are a pure function of the file's content and the extractor version, and cached by content hash. Expressions are
stored as *chains* (see `chains`), such as `self.app.run()`; the resolver evaluates them once all files are known.
"""

from __future__ import annotations

from typing import Final

import msgspec

CALL, NEW, MENTION, ACCESS, HINT, THROW, DECORATE, BASE, IMPLEMENTS = range(9)

FILE: Final = -1  # the parent of top-level symbols, and the scope of top-level code


class SymbolFact(msgspec.Struct, array_like=True, gc=False):
    """A definition. `parent` is an index into the file's symbols, or FILE."""

    name: str
    kind: str
    symbol: str  # qualified name
    nth: int  # 1, or 2… for a repeated qualified name in the same file
    parent: int
    start: int
    end: int
    scope: str = ""  # owning type if defined outside its body (Go receiver, Rust impl, C++ Foo::)
    type: str = ""  # declared type, or declared result type
    values: list[str] = []  # chains of assigned or returned values, used if no type is declared
    test: bool = False
    arity: int = -1  # number of parameters; -1 if the query does not capture them
    stub: bool = False  # a signature without a body: overload, prototype
    optional: int = 0  # number of optional parameters
    variadic: bool = False  # the last parameter takes any number of arguments
    static: bool = False  # called on the type, not on an instance


class TextFact(msgspec.Struct, array_like=True, gc=False):
    """The text of one symbol, by field."""

    signature: str
    doc: str
    identifiers: str  # of the body, without nested symbols
    literals: str


class WordFacts(msgspec.Struct, array_like=True, gc=False):
    """Term counts of a file's items, as encoded arrays with one row per item and term (see `store.postings`)."""

    vocabulary: list[str]
    terms: bytes  # per row: index into the vocabulary
    counts: bytes  # per row: count in each field
    rows: bytes  # per item (symbols, then the file itself): number of rows
    lengths: bytes  # per item: number of terms in each field


class FileTexts(msgspec.Struct, array_like=True, gc=False):
    """The texts of every symbol, then of the file itself, as written and as term counts."""

    texts: list[TextFact]
    words: WordFacts


class Reference(msgspec.Struct, array_like=True, gc=False):
    """A use of a name. `source` is the index of the enclosing symbol, or FILE."""

    role: int
    source: int
    line: int
    chain: str
    literal: str = ""  # first literal argument, if relevant; for IMPLEMENTS of an impl block, the implementing type
    handler: str = ""  # the argument after that literal, if the call registers something
    arity: int = -1  # number of arguments of a call; -1 if the query does not capture them
    generics: int = 0  # number of type arguments after the callee's name


class Import(msgspec.Struct, array_like=True, gc=False):
    """`from module import name as alias`, in any language. No name: the module itself; `*`: all its names."""

    line: int
    module: str
    name: str = ""
    alias: str = ""
    export: bool = False  # also visible to those who import this file
    source: int = FILE


class Binding(msgspec.Struct, array_like=True, gc=False):
    """A parameter or local variable with its declared type and assigned value, if known."""

    source: int
    line: int
    name: str
    type: str = ""
    value: str = ""
    until: int = 0  # last line of the anonymous function it belongs to; 0: visible in all of `source`


ROUTE, ENDPOINT, FLAG, MOUNT, MODULE_MOUNT = range(5)


class ServiceFact(msgspec.Struct, array_like=True, gc=False):
    """A route that is declared, an endpoint that is called, a feature flag that is asked for, or a prefix of a router.

    The handler of MOUNT is the router of another file, that of MODULE_MOUNT the name of a module with routes.
    """

    kind: int
    source: int  # index of the enclosing symbol, or FILE
    line: int
    name: str  # `GET /users/<id>`, `GET /users/{}`, `checkout-v2`
    handler: str = ""  # chain; a route without one is handled by `source`, an endpoint with one is none if it resolves
    by_verb: bool = False  # the handler is a class with a method for each verb


class FileFacts(msgspec.Struct, array_like=True, gc=False):
    """All facts of one file."""

    language: str
    namespace: str  # the package a file declares (Java, Kotlin, Scala)
    symbols: list[SymbolFact]
    supertypes: list[Reference]  # role BASE or IMPLEMENTS; other files query these
    imports: list[Import]
    references: msgspec.Raw  # all others, encoded: half of the facts, needed only to resolve the file itself
    bindings: msgspec.Raw  # encoded as well: rarely needed by other files
    errors: int = 0  # syntax errors the parser recovered from
    services: list[ServiceFact] = []


class Extracted(msgspec.Struct, array_like=True, gc=False):
    """A file's facts and texts, encoded separately: texts go to the catalogue, facts to the resolver."""

    facts: bytes
    texts: bytes
    lines: int


encode = msgspec.msgpack.Encoder().encode
decode_facts = msgspec.msgpack.Decoder(FileFacts).decode
decode_texts = msgspec.msgpack.Decoder(FileTexts).decode
decode_references = msgspec.msgpack.Decoder(list[Reference]).decode
decode_bindings = msgspec.msgpack.Decoder(list[Binding]).decode


def encoded(rows: list[Reference] | list[Binding]) -> msgspec.Raw:
    """Encode rows for lazy decoding."""
    return msgspec.Raw(encode(rows))
