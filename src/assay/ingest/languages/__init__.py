"""The table of languages. A language is a row here, a query file `<name>.scm` and a list of everyday library methods `<name>.common`.

The captures a query file may use are described in docs/languages.md. What the row adds is how names are seen: from where a file sees
the names of others, what makes two mentions of a type the same type, and the few words (`self`, `super`, constructors) with a meaning of their own.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

from tree_sitter import Language as Grammar
from tree_sitter import Query

HERE = Path(__file__).parent

_C_STYLE = ("//", "/*", "*")


@dataclass(frozen=True)
class Language:
    """One row: everything the extractor and the resolver must know about a language that its query file cannot say."""

    name: str
    extensions: tuple[str, ...]
    grammar: str  # "module:function" of the wheel that carries it
    query: str = ""  # file name of the query, `<name>.scm` unless another language's serves
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
    overloads: bool = False  # several definitions of one name are overloads, told apart by their parameters
    constructors: frozenset[str] = frozenset()
    constant: str = r"$^"  # variables whose name matches are constants
    enum_bases: frozenset[str] = frozenset()  # a class with one of these bases is an enum
    comments: tuple[str, ...] = _C_STYLE
    attributes: str = ""  # lines before a definition that belong to it although the grammar puts them beside it
    test_marker: str = ""  # in what stands before a definition's name
    # types that only wrap another: `Option<Cart>` behaves as `Cart`; and methods that return their receiver
    wrappers: frozenset[str] = frozenset()
    transparent: frozenset[str] = frozenset()

    @property
    def kin(self) -> str:
        return self.family or self.name

    @cached_property
    def grammar_object(self) -> Grammar:
        module, function = self.grammar.split(":")
        return Grammar(getattr(importlib.import_module(module), function)())

    @cached_property
    def query_object(self) -> Query:
        return Query(self.grammar_object, (HERE / (self.query or f"{self.name}.scm")).read_text())

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


_UPPER = r"[A-Z][A-Z0-9_]*"
_JS: dict[str, Any] = {
    "family": "javascript",
    "imports": "javascript",
    "constructors": frozenset({"constructor"}),
    "self_names": frozenset({"this"}),
    "wrappers": frozenset({"Promise", "Readonly", "Partial", "Required", "NonNullable", "Awaited", "Ref"}),
}

LANGUAGES: tuple[Language, ...] = (
    Language(
        "python",
        (".py", ".pyi", ".pyw"),
        "tree_sitter_python:language",
        imports="python",
        self_names=frozenset({"self", "cls"}),
        constructors=frozenset({"__init__"}),
        constant=_UPPER,
        enum_bases=frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "TextChoices", "IntegerChoices"}),
        comments=("#",),
        wrappers=frozenset(
            {"Optional", "Union", "Annotated", "ClassVar", "Final", "Awaitable", "Coroutine", "Self", "Type", "type"}
            | {"ContextManager", "AbstractContextManager", "AsyncContextManager", "Required", "NotRequired", "LocalProxy"}
        ),
    ),
    Language(
        "go",
        (".go",),
        "tree_sitter_go:language",
        visible="directory",
        identity="directory",
        imports="go",
        self_names=frozenset(),
        super_names=frozenset(),
        test_marker=r"$^",
    ),
    Language("typescript", (".ts", ".mts", ".cts"), "tree_sitter_typescript:language_typescript", **_JS),
    Language("tsx", (".tsx",), "tree_sitter_typescript:language_tsx", **_JS),
    Language("javascript", (".js", ".jsx", ".mjs", ".cjs"), "tree_sitter_javascript:language", **_JS),
    Language(
        "rust",
        (".rs",),
        "tree_sitter_rust:language",
        imports="rust",
        self_names=frozenset({"self"}),
        super_names=frozenset(),
        attributes=r"#\[",
        test_marker=r"#\[(?:\w+::)?test\b|#\[cfg\(test\)\]|#\[rstest",
        wrappers=frozenset({"Option", "Result", "Box", "Rc", "Arc", "RefCell", "Cell", "Mutex", "RwLock", "Cow", "Pin", "MutexGuard", "Ref", "RefMut"}),
        transparent=frozenset(
            {"clone", "unwrap", "expect", "as_ref", "as_mut", "borrow", "borrow_mut", "lock", "unwrap_or_default", "to_owned", "iter", "into_iter"}
            | {"iter_mut", "by_ref", "as_deref", "as_deref_mut", "cloned", "unwrap_or", "unwrap_or_else", "read", "write", "into_inner", "get_mut"}
        ),
    ),
    Language(
        "java",
        (".java",),
        "tree_sitter_java:language",
        visible="package",
        imports="namespace",
        self_names=frozenset({"this"}),
        implicit_self=True,
        overloads=True,
        test_marker=r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest)\b",
        wrappers=frozenset({"Optional", "CompletableFuture", "Future", "Supplier"}),
    ),
    Language(
        "csharp",
        (".cs",),
        "tree_sitter_c_sharp:language",
        visible="namespace",
        identity="namespace",
        imports="namespace",
        self_names=frozenset({"this"}),
        super_names=frozenset({"base"}),
        implicit_self=True,
        overloads=True,
        test_marker=r"\[\s*(?:Fact|Theory|Test|TestCase|TestMethod)\b",
        wrappers=frozenset({"Task", "ValueTask", "Nullable", "Lazy"}),
    ),
    Language(
        "ruby",
        (".rb", ".rake", ".gemspec"),
        "tree_sitter_ruby:language",
        filenames=("Rakefile", "Gemfile"),
        visible="global",
        identity="namespace",
        imports="ruby",
        separator="::",
        self_names=frozenset({"self"}),
        implicit_self=True,
        constructors=frozenset({"initialize"}),
        comments=("#",),
    ),
    Language("c", (".c", ".h"), "tree_sitter_c:language", family="c", visible="global", imports="include", self_names=frozenset(), super_names=frozenset()),
    Language(
        "cpp",
        (".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".ipp"),
        "tree_sitter_cpp:language",
        family="c",
        visible="global",
        imports="include",
        separator="::",
        self_names=frozenset({"this"}),
        super_names=frozenset(),
        implicit_self=True,
        overloads=True,
        wrappers=frozenset({"unique_ptr", "shared_ptr", "optional", "weak_ptr"}),
    ),
    Language(
        "php",
        (".php",),
        "tree_sitter_php:language_php",
        visible="namespace",
        identity="namespace",
        imports="namespace",
        self_names=frozenset({"$this", "self", "static"}),
        super_names=frozenset({"parent"}),
        constructors=frozenset({"__construct"}),
        comments=("//", "/*", "*", "#"),
    ),
    Language(
        "kotlin",
        (".kt", ".kts"),
        "tree_sitter_kotlin:language",
        visible="package",
        imports="namespace",
        self_names=frozenset({"this"}),
        implicit_self=True,
        overloads=True,
        test_marker=r"@(?:\w+\.)*Test\b",
    ),
    Language(
        "swift",
        (".swift",),
        "tree_sitter_swift:language",
        visible="global",
        self_names=frozenset({"self"}),
        implicit_self=True,
        overloads=True,
        constructors=frozenset({"init"}),
    ),
    Language(
        "scala",
        (".scala", ".sc"),
        "tree_sitter_scala:language",
        visible="package",
        imports="namespace",
        self_names=frozenset({"this"}),
        implicit_self=True,
        overloads=True,
    ),
    Language("bash", (".sh", ".bash"), "tree_sitter_bash:language", visible="global", imports="bash", self_names=frozenset(), super_names=frozenset(), comments=("#",)),
    Language("lua", (".lua",), "tree_sitter_lua:language", visible="imports", imports="lua", self_names=frozenset({"self"}), super_names=frozenset(), comments=("--",)),
)


@cache
def by_extension() -> dict[str, Language]:
    return {extension: language for language in LANGUAGES for extension in language.extensions}


@cache
def by_name() -> dict[str, Language]:
    return {language.name: language for language in LANGUAGES}


def language_of(path: str) -> Language | None:
    """The language of a file, by its name."""
    name = path.rsplit("/", 1)[-1]
    dot = name.rfind(".")
    if dot > 0:
        found = by_extension().get(name[dot:].lower()) or by_extension().get(name[dot:])
        if found:
            return found
    return _by_filename().get(name)


@cache
def _by_filename() -> dict[str, Language]:
    return {filename: language for language in LANGUAGES for filename in language.filenames}
