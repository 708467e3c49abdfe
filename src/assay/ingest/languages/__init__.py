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

# captures that may stand alone in a pattern
SINGLE_MARKS = frozenset({"call", "mention", "access", "hint"})
_CAPTURE = re.compile(r"@([\w.]+)")
_COMMENT = re.compile(r"^\s*;.*$", re.M)

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
        module, function = self.grammar.split(":")
        return Grammar(getattr(importlib.import_module(module), function)())

    @cached_property
    def query_objects(self) -> tuple[Query, Query]:
        """The query in two parts: patterns whose captures belong together, and those that only mark single nodes.

        Single marks are most of what is found, and reading them as plain captures costs half as much as matching them one by one.
        """
        files = self.query.split() or [f"{self.name}.scm"]
        text = "\n".join((HERE / file).read_text() for file in files)
        grouped, single = Query(self.grammar_object, text), Query(self.grammar_object, text)
        raw = text.encode()
        for number in range(grouped.pattern_count):
            pattern = raw[grouped.start_byte_for_pattern(number) : grouped.end_byte_for_pattern(number)].decode()
            captures = set(_CAPTURE.findall(_COMMENT.sub("", pattern)))
            if len(captures) == 1 and captures <= SINGLE_MARKS and "(#" not in pattern:
                grouped.disable_pattern(number)
            else:
                single.disable_pattern(number)
        return grouped, single

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
    "inferred": frozenset({"any", "unknown", "object", "Object", "Function"}),
    "invokers": frozenset({"call", "apply"}),
    "module_names": frozenset({"exports"}),
    "closed_types": True,
    "callable_fields": True,
    "shadowing": True,
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
        fixtures="conftest.py",
        enum_bases=frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "TextChoices", "IntegerChoices"}),
        comments=("#",),
        wrappers=frozenset(
            {"Optional", "Union", "Annotated", "ClassVar", "Final", "Awaitable", "Coroutine", "Self", "Type", "type"}
            | {
                "ContextManager",
                "AbstractContextManager",
                "AsyncContextManager",
                "Required",
                "NotRequired",
                "LocalProxy",
            }
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
        shadowing=True,
        embedding=True,
        capital_types=False,
        structural=True,
    ),
    Language(
        "typescript",
        (".ts", ".mts", ".cts"),
        "tree_sitter_typescript:language_typescript",
        query="ecmascript.scm typescript.scm",
        attributes="@",
        **_JS,
    ),
    Language(
        "tsx",
        (".tsx",),
        "tree_sitter_typescript:language_tsx",
        query="ecmascript.scm typescript.scm jsx.scm",
        attributes="@",
        **_JS,
    ),
    Language(
        "javascript",
        (".js", ".jsx", ".mjs", ".cjs"),
        "tree_sitter_javascript:language",
        query="ecmascript.scm javascript.scm jsx.scm",
        **_JS,
    ),
    Language(
        "rust",
        (".rs",),
        "tree_sitter_rust:language",
        imports="rust",
        self_names=frozenset({"self"}),
        super_names=frozenset(),
        shadowing=True,
        delegate="Target",
        twin_names=True,
        wraps_first=True,
        attributes=r"#\[",
        test_marker=r"#\[(?:\w+::)*(?:\w+_)?test\b|#\[cfg\((?:all\(|any\()?test\b|#\[rstest|#\[test_case",
        wrappers=frozenset(
            {
                "Option",
                "Result",
                "Box",
                "Rc",
                "Arc",
                "RefCell",
                "Cell",
                "Mutex",
                "RwLock",
                "Cow",
                "Pin",
                "MutexGuard",
                "Ref",
                "RefMut",
            }
        ),
        transparent=frozenset(
            {
                "clone",
                "unwrap",
                "expect",
                "as_ref",
                "as_mut",
                "borrow",
                "borrow_mut",
                "lock",
                "unwrap_or_default",
                "to_owned",
                "iter",
                "into_iter",
            }
            | {
                "iter_mut",
                "by_ref",
                "as_deref",
                "as_deref_mut",
                "cloned",
                "unwrap_or",
                "unwrap_or_else",
                "read",
                "write",
                "into_inner",
                "await",
            }
            | {
                "copied",
                "as_slice",
                "to_vec",
                "rev",
                "enumerate",
                "skip",
                "take",
                "filter",
                "peekable",
                "chain",
                "values",
                "values_mut",
                "drain",
                "ok",
                "ok_or",
            }
            | {
                "ok_or_else",
                "or_else",
                "with_context",
                "context",
                "map_err",
                "upgrade",
                "downgrade",
                "lock_owned",
                "as_mut_slice",
                "into_values",
            }
            | {
                "inspect",
                "skip_while",
                "take_while",
                "step_by",
                "into_boxed_slice",
                "deref",
                "deref_mut",
                "borrow_owned",
                "unwrap_unchecked",
            }
        ),
        elements=frozenset(
            {
                "get",
                "get_mut",
                "first",
                "last",
                "first_mut",
                "last_mut",
                "pop",
                "next",
                "next_back",
                "nth",
                "peek",
                "remove",
                "swap_remove",
                "find",
            }
            | {
                "pop_front",
                "pop_back",
                "front",
                "back",
                "max_by_key",
                "min_by_key",
                "max_by",
                "min_by",
                "entry",
                "recv",
                "peek_mut",
            }
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
        shadowing=True,
        overloads=True,
        inferred=frozenset({"var"}),
        test_marker=r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate)\b",
        static_marker="static",
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
        shadowing=True,
        capital_types=False,
        overloads=True,
        inferred=frozenset({"var", "dynamic"}),
        extension_methods=True,
        decorator_suffix="Attribute",
        declarations=frozenset({"nameof"}),
        test_marker=r"\[\s*(?:Fact|Theory|Test|TestCase|TestMethod)\b",
        static_marker="static",
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
        uniform_access=True,
        closures=False,
        construct="new",
        companion="ClassMethods",
        declarations=frozenset(
            {
                "require",
                "require_relative",
                "load",
                "autoload",
                "require_dependency",
                "raise",
                "fail",
                "include",
                "extend",
                "prepend",
            }
            | {
                "using",
                "refine",
                "private",
                "public",
                "protected",
                "module_function",
                "private_class_method",
                "public_class_method",
            }
            | {
                "private_constant",
                "attr",
                "attr_reader",
                "attr_writer",
                "attr_accessor",
                "attr_internal",
                "mattr_accessor",
                "mattr_reader",
            }
            | {
                "mattr_writer",
                "cattr_accessor",
                "cattr_reader",
                "cattr_writer",
                "class_attribute",
                "thread_mattr_accessor",
            }
            | {
                "thread_cattr_accessor",
                "alias_method",
                "define_method",
                "define_singleton_method",
                "undef_method",
                "remove_method",
            }
            | {"block_given?", "binding", "__FILE__", "__LINE__", "__method__", "__dir__", "__callee__"}
        ),
        constructors=frozenset({"initialize"}),
        comments=("#",),
    ),
    Language(
        "c",
        (".c", ".h"),
        "tree_sitter_c:language",
        family="c",
        visible="global",
        imports="include",
        self_names=frozenset(),
        super_names=frozenset(),
        prototypes=True,
        open_enums=True,
        pointers=True,
    ),
    Language(
        "cpp",
        (".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".ipp"),
        "tree_sitter_cpp:language",
        family="c",
        visible="global",
        identity="namespace",
        imports="include",
        prototypes=True,
        open_enums=True,
        pointers=True,
        declarations=frozenset(
            {"static_cast", "dynamic_cast", "reinterpret_cast", "const_cast", "defined", "decltype", "alignof"}
        ),
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
        binds="last",
        self_names=frozenset({"$this", "self", "static"}),
        super_names=frozenset({"parent"}),
        constructors=frozenset({"__construct"}),
        comments=("//", "/*", "*", "#"),
    ),
    Language(
        "kotlin",
        (".kt", ".kts"),
        "tree_sitter_kotlin:language",
        implicit_locals=frozenset({"it"}),
        visible="package",
        imports="namespace",
        binds="last",
        self_names=frozenset({"this"}),
        implicit_self=True,
        overloads=True,
        test_marker=r"@(?:\w+\.)*Test\b",
    ),
    Language(
        "swift",
        (".swift",),
        "tree_sitter_swift:language",
        implicit_locals=frozenset({"$0", "$1", "$2", "$3"}),
        declarations=frozenset({"defer"}),
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
        implicit_locals=frozenset({"_"}),
        visible="package",
        imports="namespace",
        binds="last",
        bare_calls=True,
        self_names=frozenset({"this"}),
        implicit_self=True,
        overloads=True,
    ),
    Language(
        "bash",
        (".sh", ".bash"),
        "tree_sitter_bash:language",
        visible="global",
        imports="bash",
        self_names=frozenset(),
        super_names=frozenset(),
        declarations=frozenset({"source", "."}),
        comments=("#",),
    ),
    Language(
        "lua",
        (".lua",),
        "tree_sitter_lua:language",
        visible="imports",
        imports="lua",
        self_names=frozenset({"self"}),
        super_names=frozenset(),
        declarations=frozenset({"require"}),
        constructors=frozenset({"new"}),
        constant=r"[A-Z][A-Z0-9_]+",
        comments=("--",),
    ),
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
