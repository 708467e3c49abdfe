"""The language table.

A language is a row here, a query file `<name>.scm` and a list of common library methods `<name>.common`. The captures
of query files are described in docs/languages.md. A row adds visibility rules: which names of other files a file sees,
what identifies a type, and keywords with a special meaning (`self`, `super`, constructors).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from assay.languages.language import HERE, Language

__all__ = ["HERE", "LANGUAGES", "Language", "by_extension", "by_name", "language_of"]

_UPPER = r"[A-Z][A-Z0-9_]*"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


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
        wrappers=_words(
            "Optional Union Annotated ClassVar Final Awaitable Coroutine Self Type type ContextManager "
            "AbstractContextManager AsyncContextManager Required NotRequired LocalProxy"
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
        wrappers=_words("Option Result Box Rc Arc RefCell Cell Mutex RwLock Cow Pin MutexGuard Ref RefMut"),
        transparent=_words(
            "clone unwrap expect as_ref as_mut borrow borrow_mut lock unwrap_or_default to_owned iter into_iter "
            "iter_mut by_ref as_deref as_deref_mut cloned unwrap_or unwrap_or_else read write into_inner await copied "
            "as_slice to_vec rev enumerate skip take filter peekable chain values values_mut drain ok ok_or "
            "ok_or_else or_else with_context context map_err upgrade downgrade lock_owned as_mut_slice into_values "
            "inspect skip_while take_while step_by into_boxed_slice deref deref_mut borrow_owned unwrap_unchecked"
        ),
        elements=_words(
            "get get_mut first last first_mut last_mut pop next next_back nth peek remove swap_remove find pop_front "
            "pop_back front back max_by_key min_by_key max_by min_by entry recv peek_mut"
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
        declarations=_words(
            "require require_relative load autoload require_dependency raise fail include extend prepend using refine "
            "private public protected module_function private_class_method public_class_method private_constant attr "
            "attr_reader attr_writer attr_accessor attr_internal mattr_accessor mattr_reader mattr_writer "
            "cattr_accessor cattr_reader cattr_writer class_attribute thread_mattr_accessor thread_cattr_accessor "
            "alias_method define_method define_singleton_method undef_method remove_method block_given? binding "
            "__FILE__ __LINE__ __method__ __dir__ __callee__"
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
        declarations=_words("static_cast dynamic_cast reinterpret_cast const_cast defined decltype alignof"),
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
    """Return the language of a file by its name; None if it is not a source file."""
    name = path.rsplit("/", 1)[-1]
    dot = name.rfind(".")
    if dot > 0:
        language = by_extension().get(name[dot:].lower()) or by_extension().get(name[dot:])
        if language:
            return language
    return _by_filename().get(name)


@cache
def _by_filename() -> dict[str, Language]:
    return {filename: language for language in LANGUAGES for filename in language.filenames}
