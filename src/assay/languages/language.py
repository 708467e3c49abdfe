"""What a row of the table of languages says, and the parser and queries that belong to it."""

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

# captures that may stand alone in a pattern
SINGLE_MARKS = frozenset({"call", "mention", "access", "hint"})
_CAPTURE = re.compile(r'"(?:[^"\\]|\\.)*"|;[^\n]*|@([\w.]+)')  # strings and comments hide captures
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|;[^\n]*|[()\[\]]')  # strings and comments hide brackets

_C_STYLE = ("//", "/*", "*")


@dataclass(frozen=True)
class Language:
    """One row: everything the extractor and the resolver must know about a language that its query file cannot say."""

    name: str
    extensions: tuple[str, ...]
    grammar: str  # "module:function" of the wheel that carries it
    query: str = (
        ""  # file names of the query, `<name>.scm` unless it is shared with or composed of other languages' files
    )
    family: str = ""  # languages whose files see each other's names share one; default: its own name
    filenames: tuple[str, ...] = ()
    # how a file sees the names of other files without importing them
    visible: Literal["imports", "directory", "package", "namespace", "global"] = "imports"
    # what makes two mentions the same type: the file that defines it, its folder, or its full name
    identity: Literal["file", "directory", "namespace"] = "file"
    imports: str = ""  # the strategy in `modules` that turns an import into files
    separator: str = "."  # between namespaces and types in a qualified name
    self_names: frozenset[str] = frozenset({"self", "this"})
    super_names: frozenset[str] = frozenset({"super"})
    implicit_self: bool = False  # members may be named without `this.`
    shadowing: bool = False  # every binding of a local declares it anew: the nearest above is the one meant
    embedding: bool = False  # an embedded base is also a member by its own name
    capital_types: bool = True  # a capitalised name of a library is a type: calling it gives its object
    delegate: str = (
        ""  # the member type to whose objects a type passes on what it does not have itself (Rust's `Deref`)
    )
    twin_names: bool = False  # a field and a method may share a name: calling it means the method
    wraps_first: bool = False  # of a wrapper's type arguments only the first counts: `Result<Cart, Problem>`
    elements: frozenset[str] = frozenset()  # methods that return an element of their collection
    structural: bool = False  # types satisfy interfaces without saying so, by having their methods
    overloads: bool = False  # several definitions of one name are overloads, told apart by their parameters
    # every dotted name, and every bare one that is no local, is a call (Ruby): reading a property looks like one, and no call means a local
    uniform_access: bool = False
    closures: bool = True  # functions see the locals around them
    construct: str = ""  # the member of every type that makes an object of it
    implicit_locals: frozenset[str] = frozenset()  # parameters that anonymous functions have without naming them
    companion: str = ""  # the module inside a mixin whose members the host gets as well
    declarations: frozenset[str] = frozenset()  # words written like calls that only declare
    binds: Literal["first", "last"] = "first"  # the word of a module's name that importing it makes known
    bare_calls: bool = False  # naming a method without parameters calls it
    prototypes: bool = False  # what is declared in one file may be defined in another: the definition is meant
    open_enums: bool = False  # the members of an enum are visible without its name
    pointers: bool = (
        False  # an element of a typed object is taken for another of the same type: `Cart *carts` and `carts[0]`
    )
    invokers: frozenset[str] = frozenset()  # methods that every function has and that call it
    module_names: frozenset[str] = frozenset()  # words for what the file itself exports
    callable_fields: bool = False  # fields hold functions as a matter of course: they are called like methods
    closed_types: bool = False  # members are not seen by their bare names, not even inside their type
    inferred: frozenset[str] = frozenset()  # words that stand where a type would and tell none
    extension_methods: bool = False  # functions elsewhere may add methods to a type
    decorator_suffix: str = ""  # that the name of a decorator's type may have beyond its use
    fixtures: str = ""  # file whose functions give the parameters of tests in its folder and below
    constructors: frozenset[str] = frozenset()
    constant: str = r"$^"  # variables whose name matches are constants
    enum_bases: frozenset[str] = frozenset()  # a class with one of these bases is an enum
    comments: tuple[str, ...] = _C_STYLE
    attributes: str = ""  # lines before a definition that belong to it although the grammar puts them beside it
    test_marker: str = ""  # in what stands before a definition's name
    static_marker: str = ""  # there, too: the word for a method without an object
    # types that only wrap another: `Option<Cart>` behaves as `Cart`; and methods that return their receiver
    wrappers: frozenset[str] = frozenset()
    transparent: frozenset[str] = frozenset()

    @property
    def kin(self) -> str:
        return self.family or self.name

    @cached_property
    def grammar_object(self) -> Grammar:
        from tree_sitter import Language as Grammar

        module, function = self.grammar.split(":")
        return Grammar(getattr(importlib.import_module(module), function)())

    @cached_property
    def query_objects(self) -> tuple[Query, Query]:
        """The query in two parts: patterns whose captures belong together, and those that only mark single nodes.

        Single marks are most of what is found, and reading them as plain captures costs half as much as matching them one by one.
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
        """Method names so common in the language's library that on an unknown object they mean the library's."""
        path = HERE / f"{self.kin}.common"
        return frozenset(path.read_text().split()) if path.exists() else frozenset()

    @cached_property
    def constant_pattern(self) -> re.Pattern[str]:
        return re.compile(self.constant)

    @cached_property
    def test_pattern(self) -> re.Pattern[str] | None:
        return re.compile(self.test_marker) if self.test_marker else None


def query_patterns(text: str) -> list[str]:
    """The top-level patterns of a query, each with the captures and predicates that belong to it."""
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
    """The names of a pattern's captures, in order."""
    return [name for name in _CAPTURE.findall(pattern) if name]
