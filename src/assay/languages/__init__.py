"""The language table.

A language is a row here, a query file `<name>.scm` and a list of common library methods `<name>.common`. The captures
of query files are described in docs/languages.md. A row adds visibility rules: which names of other files a file sees,
what identifies a type, and keywords with a special meaning (`self`, `super`, constructors).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from assay.languages.language import FOLDER, GLOBAL, HERE, NAMESPACE, PACKAGE, Language

__all__ = ["HERE", "LANGUAGES", "Language", "by_extension", "by_name", "language_of"]

_UPPER = r"[A-Z][A-Z0-9_]*"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _flags(names: str) -> dict[str, Any]:
    return dict.fromkeys(names.split(), True)


_NONE = frozenset[str]()

# rows that several languages share
_JS: dict[str, Any] = {
    "family": "javascript",
    "imports": "javascript",
    "constructors": _words("constructor"),
    "inferred": _words("any unknown object Object Function"),
    "invokers": _words("call apply"),
    "module_names": _words("exports"),
    "wrappers": _words("Promise Readonly Partial Required NonNullable Awaited Ref"),
    **_flags("closed_types callable_fields shadowing"),
}
_JVM: dict[str, Any] = {"visible": PACKAGE, "imports": "namespace", **_flags("implicit_self overloads")}
_C: dict[str, Any] = {
    "family": "c",
    "visible": GLOBAL,
    "imports": "include",
    "binds": "nothing",
    "super_names": _NONE,
    **_flags("prototypes open_enums pointers"),
}

LANGUAGES: tuple[Language, ...] = (
    Language(
        "python",
        (".py", ".pyi", ".pyw"),
        "tree_sitter_python:language",
        imports="python",
        self_names=_words("self cls"),
        constructors=_words("__init__"),
        constant=_UPPER,
        fixtures="conftest.py",
        enum_bases=_words("Enum IntEnum StrEnum Flag IntFlag TextChoices IntegerChoices"),
        comments=("#",),
        wrappers=_words(
            "Optional Union Annotated ClassVar Final Awaitable Coroutine Self Type type ContextManager "
            "AbstractContextManager AsyncContextManager Required NotRequired LocalProxy"
        ),
        **_flags("super_is_object"),
    ),
    Language(
        "go",
        (".go",),
        "tree_sitter_go:language",
        visible=FOLDER,
        imports="go",
        binds="package",
        self_names=_NONE,
        super_names=_NONE,
        capital_types=False,
        **_flags("shadowing embedding structural"),
    ),
    Language(
        "typescript",
        (".ts", ".mts", ".cts"),
        "tree_sitter_typescript:language_typescript",
        query="ecmascript.scm typescript.scm",
        query_seconds=0.4,
        attributes="@",
        **_JS,
    ),
    Language(
        "tsx",
        (".tsx",),
        "tree_sitter_typescript:language_tsx",
        query="ecmascript.scm typescript.scm jsx.scm",
        query_seconds=0.4,
        attributes="@",
        **_JS,
    ),
    Language(
        "javascript",
        (".js", ".jsx", ".mjs", ".cjs"),
        "tree_sitter_javascript:language",
        query="ecmascript.scm javascript.scm jsx.scm",
        fallback="tsx",
        **_JS,
    ),
    Language(
        "rust",
        (".rs",),
        "tree_sitter_rust:language",
        imports="rust",
        self_names=_words("self"),
        super_names=_NONE,
        delegate="Target",
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
        **_flags("shadowing plain_modules scattered_impls twin_names wraps_first"),
    ),
    Language(
        "java",
        (".java",),
        "tree_sitter_java:language",
        inferred=_words("var"),
        test_marker=r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate)\b",
        static_marker="static",
        wrappers=_words("Optional CompletableFuture Future Supplier"),
        **_flags("shadowing"),
        **_JVM,
    ),
    Language(
        "csharp",
        (".cs",),
        "tree_sitter_c_sharp:language",
        query_seconds=0.35,
        visible=NAMESPACE,
        imports="namespace",
        super_names=_words("base"),
        capital_types=False,
        inferred=_words("var dynamic"),
        decorator_suffix="Attribute",
        interface_prefix="I",
        declarations=_words("nameof"),
        test_marker=r"\[\s*(?:Fact|Theory|Test|TestCase|TestMethod)\b",
        static_marker="static",
        wrappers=_words("Task ValueTask Nullable Lazy"),
        **_flags("open_types implicit_self shadowing overloads extension_methods"),
    ),
    Language(
        "ruby",
        (".rb", ".rake", ".gemspec"),
        "tree_sitter_ruby:language",
        query_seconds=0.3,
        filenames=("Rakefile", "Gemfile"),
        visible=GLOBAL,
        imports="ruby",
        binds="nothing",
        separator="::",
        self_names=_words("self"),
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
        constructors=_words("initialize"),
        comments=("#",),
        **_flags("open_types module_methods implicit_self uniform_access"),
    ),
    Language(
        "c",
        (".c", ".h"),
        "tree_sitter_c:language",
        self_names=_NONE,
        **_C,
    ),
    Language(
        "cpp",
        (".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".ipp"),
        "tree_sitter_cpp:language",
        query_seconds=0.6,
        declarations=_words("static_cast dynamic_cast reinterpret_cast const_cast defined decltype alignof"),
        separator="::",
        wrappers=_words("unique_ptr shared_ptr optional weak_ptr"),
        **_flags("open_types implicit_self overloads"),
        **_C,
    ),
    Language(
        "php",
        (".php",),
        "tree_sitter_php:language_php",
        visible=NAMESPACE,
        imports="namespace",
        binds="last",
        self_names=_words("$this self static"),
        super_names=_words("parent"),
        constructors=_words("__construct"),
        comments=("//", "/*", "*", "#"),
        **_flags("open_types"),
    ),
    Language(
        "kotlin",
        (".kt", ".kts"),
        "tree_sitter_kotlin:language",
        implicit_locals=_words("it"),
        binds="last",
        test_marker=r"@(?:\w+\.)*Test\b",
        **_JVM,
    ),
    Language(
        "swift",
        (".swift",),
        "tree_sitter_swift:language",
        query_seconds=1.6,
        implicit_locals=_words("$0 $1 $2 $3"),
        declarations=_words("defer"),
        visible=GLOBAL,
        self_names=_words("self"),
        constructors=_words("init"),
        **_flags("implicit_self overloads"),
    ),
    Language(
        "scala",
        (".scala", ".sc"),
        "tree_sitter_scala:language",
        query_seconds=0.25,
        implicit_locals=_words("_"),
        binds="last",
        **_flags("bare_calls"),
        **_JVM,
    ),
    Language(
        "bash",
        (".sh", ".bash"),
        "tree_sitter_bash:language",
        visible=GLOBAL,
        imports="bash",
        binds="nothing",
        self_names=_NONE,
        super_names=_NONE,
        declarations=_words("source ."),
        comments=("#",),
    ),
    Language(
        "lua",
        (".lua",),
        "tree_sitter_lua:language",
        imports="lua",
        self_names=_words("self"),
        super_names=_NONE,
        declarations=_words("require"),
        constructors=_words("new"),
        constant=r"[A-Z][A-Z0-9_]+",
        comments=("--",),
    ),
    Language(
        "protobuf",
        (".proto",),
        grammar="",
        reader="protobuf",
        query_seconds=0.0,
        imports="protobuf",
        binds="nothing",
        self_names=_NONE,
        super_names=_NONE,
        **_flags("open_types"),
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
