"""Definition of a language: its row in the table, parser and queries."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Query

HERE = Path(__file__).parent

# captures that may be the only one of a pattern
SINGLE_MARKS = frozenset({"call", "mention", "access", "hint"})
_CAPTURE = re.compile(r'"(?:[^"\\]|\\.)*"|;[^\n]*|@([\w.]+)')  # skips captures in strings and comments
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|;[^\n]*|[()\[\]]')  # skips brackets in strings and comments

_C_STYLE = ("//", "/*", "*")


@dataclass(frozen=True)
class Visibility:
    """Names of other files that a file sees without importing them one by one."""

    folder: bool = False  # those of its folder, which is its package and the unit of type names (Go)
    namespaces: bool = False  # those of its package or namespace, and of the ones around it
    packages: bool = False  # a star import names a package: the folder of the files that declare it
    using: bool = False  # an import makes the names of a namespace visible
    everywhere: bool = False  # all top-level names


IMPORTED = Visibility()
FOLDER = Visibility(folder=True)
PACKAGE = Visibility(namespaces=True, packages=True)
NAMESPACE = Visibility(namespaces=True, using=True)
GLOBAL = Visibility(namespaces=True, everywhere=True)


@dataclass(frozen=True)
class Language:
    """A row of the language table: what extractor and resolver need beyond the language's query file."""

    name: str
    extensions: tuple[str, ...]
    grammar: str  # "module:function" of the grammar's package; empty with a reader
    reader: str = ""  # name of the reader in `index/extract` of a language without a grammar
    query: str = ""  # query file names; default `<name>.scm`. Set if files are shared with other languages
    family: str = ""  # shared by languages that see each other's names; default: its own name
    filenames: tuple[str, ...] = ()
    fallback: str = ""  # language whose grammar is tried on files with syntax errors (JavaScript with Flow types)
    visible: Visibility = IMPORTED
    open_types: bool = False  # the full name identifies a type: its parts may be in several files
    imports: str = ""  # name of the import style in `index/imports`
    separator: str = "."  # between namespaces and types in a qualified name
    self_names: frozenset[str] = frozenset({"this"})
    super_names: frozenset[str] = frozenset({"super"})
    implicit_self: bool = False  # members are visible without `this.`
    shadowing: bool = False  # each binding of a local is a new declaration; the nearest preceding one applies
    embedding: bool = False  # an embedded base is also a member under its own name (Go)
    capital_types: bool = True  # a capitalised library name is a type: calling it creates an instance
    delegate: str = ""  # member type that receives calls of missing members (Rust's `Deref` target)
    twin_names: bool = False  # a field and a method may share a name; a call means the method
    wraps_first: bool = False  # only the first type argument of a wrapper counts: `Result<Cart, Problem>`
    elements: frozenset[str] = frozenset()  # methods that return an element of their collection
    structural: bool = False  # structural typing: a type satisfies every interface whose methods it has
    overloads: bool = False  # definitions of one name are overloads, distinguished by their parameters
    # every dotted name and every non-local bare name is a call, including property reads (Ruby)
    uniform_access: bool = False
    closures: bool = True  # functions see the locals of enclosing functions
    construct: str = ""  # constructor member of every type (Ruby's `new`)
    implicit_locals: frozenset[str] = frozenset()  # implicit parameters of anonymous functions (Kotlin's `it`)
    companion: str = ""  # nested module of a mixin whose members extend the including class
    module_methods: bool = False  # functions in a module are methods of whoever includes it (Ruby)
    plain_modules: bool = False  # a module has only what its body defines: no bases, no members elsewhere
    scattered_impls: bool = False  # a type may implement a trait in any file that defines members of it
    super_is_object: bool = False  # `super()` returns an object: it does not call the base's constructor
    interface_prefix: str = ""  # a library type so named, with a capital after it, is an interface (C#'s `I`)
    declarations: frozenset[str] = frozenset()  # declarations that look like calls
    # the segment of a module's name that an import binds; `package`: the last without its version
    binds: Literal["first", "last", "package", "nothing"] = "first"
    bare_calls: bool = False  # a bare method name without parameters is a call
    prototypes: bool = False  # declarations and definitions are separate; references mean the definition
    open_enums: bool = False  # enum members are visible without the enum's name
    pointers: bool = False  # an element of a typed object has the same type: `Cart *carts` and `carts[0]`
    invokers: frozenset[str] = frozenset()  # methods of functions that call them (`call`, `apply`)
    module_names: frozenset[str] = frozenset()  # names of the module's exports object
    callable_fields: bool = False  # fields often hold functions and are called like methods
    closed_types: bool = False  # members are never visible by their bare names, even inside their type
    inferred: frozenset[str] = frozenset()  # placeholders in type position that carry no type (`any`, `var`)
    extension_methods: bool = False  # functions elsewhere may extend a type
    decorator_suffix: str = ""  # suffix of a decorator's type that uses may omit (C#'s `Attribute`)
    fixtures: str = ""  # file with fixtures for tests in its folder and below
    constructors: frozenset[str] = frozenset()
    constant: str = r"$^"  # regex of variable names that are constants
    enum_bases: frozenset[str] = frozenset()  # classes with one of these bases are enums
    comments: tuple[str, ...] = _C_STYLE
    attributes: str = ""  # regex of attribute lines before a definition that the grammar leaves outside it
    test_marker: str = ""  # regex that marks a test, in the text before a definition's name
    static_marker: str = ""  # keyword of static methods, in the same place
    # types treated as their argument (`Option<Cart>` as `Cart`), and methods that return their receiver
    wrappers: frozenset[str] = frozenset()
    transparent: frozenset[str] = frozenset()

    query_seconds: float = 0.1  # to compile its query, when a file changed (benchmarks/refresh.py)

    @property
    def kin(self) -> str:
        """Name of the language family."""
        return self.family or self.name

    @cached_property
    def grammar_object(self) -> Grammar:
        from tree_sitter import Language as Grammar

        module, function = self.grammar.split(":")
        return Grammar(getattr(importlib.import_module(module), function)())

    @cached_property
    def query_objects(self) -> tuple[Query, Query]:
        """The query in two parts: patterns with several captures, and those that mark single nodes.

        Single marks are most of the matches; reading them as plain captures takes half the time of matching.
        """
        from tree_sitter import Query

        files = self.query.split() or [f"{self.name}.scm"]
        grouped, single = list[str](), list[str]()
        for pattern in query_patterns("\n".join((HERE / file).read_text() for file in files)):
            captures = set(captures_of(pattern))
            alone = len(captures) == 1 and captures <= SINGLE_MARKS and "(#" not in pattern
            (single if alone else grouped).append(pattern)
        return Query(self.grammar_object, "\n".join(grouped)), Query(self.grammar_object, "\n".join(single))

    @cached_property
    def common(self) -> frozenset[str]:
        """Method names so common in the standard library that on an unknown object they mean the library's."""
        path = HERE / f"{self.kin}.common"
        return frozenset(path.read_text().split()) if path.exists() else frozenset()

    @cached_property
    def constant_pattern(self) -> re.Pattern[str]:
        return re.compile(self.constant)

    @cached_property
    def test_pattern(self) -> re.Pattern[str] | None:
        return re.compile(self.test_marker) if self.test_marker else None


def query_patterns(text: str) -> list[str]:
    """Split a query into its top-level patterns, each with its captures and predicates."""
    out: list[str] = []
    depth = start = 0
    for token in _TOKEN.finditer(text):
        letter = token.group()
        if letter in "([":
            if depth == 0:
                if out:
                    out[-1] += text[start : token.start()]  # `@capture` after a closing bracket
                out.append("")
                start = token.start()
            depth += 1
        elif letter in ")]":
            depth -= 1
            if depth == 0:
                out[-1] += text[start : token.end()]
                start = token.end()
    if out:
        out[-1] += text[start:]
    return out


def captures_of(pattern: str) -> list[str]:
    """Return the names of a pattern's captures, in order."""
    return [name for name in _CAPTURE.findall(pattern) if name]
