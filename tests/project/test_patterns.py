"""Every regular expression of the package takes linear time, by analysis, or is listed with the reason why it may not."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from support.backtracking import slow_text
from support.paths import ROOT

SRC = ROOT / "src"
METHODS = {"match": 2, "search": 2, "fullmatch": 2, "findall": 2, "finditer": 2, "split": 3, "sub": 4, "subn": 4}
FLAGS_AT = {"compile": 1, **METHODS}  # positions of the flags among the arguments

IN_WORKER = "a parse worker reads the file with it, which ends after two seconds of processor time (index/parse.py)"
ANSWER = "a worker reads the file with it; elsewhere it reads passages, whose length is limited (text/chunk.py)"
GLOB = "a pattern of an ignore file, at most 4,096 characters"
NAME = "a file name, of at most 255 bytes"
PATH = "a path, of at most 4,096 bytes, with few of the words between the loops"
CHAIN = "an expression of at most 3,000 characters (index/chains.py)"
COVERED = "the patterns are values of the module, which are analyzed there"
ESCAPED = "escaped text without loops"
TYPED = "typed by the user"
QUERY = "a query, of at most 20,000 characters, typed by the user"
OWN = "a file of the package"
CONFIGURATION = "the user's own configuration"
SUBJECT = "the first 500 characters of a commit's subject (evaluate/mine/rules.py)"
SHORT = "the text is cut before (300 characters of a line of a patch, 500 of a line of documentation, 1,000 of OpenAPI)"
ENDS = "the loop always succeeds: it reads to the end of the line or of the text"
ONCE = "a run of letters that the first alternative gives up is read once more, by the last one"
MESSAGE = "10,000 characters of a message (index/history.py), and a try costs at most 250 steps"
MINED = "a paragraph that becomes a question, in a command that the user starts; names are escaped"

# folders whose modules run in parse workers
WORKER_MODULES = ("index.extract.", "index.documents.")
ALLOWED: Mapping[str, str] = {
    "answer.question.word": ESCAPED,
    "cli.screen._REFERENCE": SHORT,
    "cli.screen: f'(?<!\\\\w){re.escape(item.name": ESCAPED,
    "core.endpoints.OPENAPI_NAME": NAME,
    "evaluate.matching._PATH_AND_LOCATION": "a name of at most 5,000 characters",
    "evaluate.mine.mined: pattern": MINED,
    "evaluate.mine.rules._RELEASE": SUBJECT,
    "evaluate.mine.rules._FORMATTING": SUBJECT,
    "evaluate.mine.rules._DOCUMENTATION": SUBJECT,
    "evaluate.mine.rules._FOLLOW_UP": SUBJECT,
    "evaluate.runs: re.escape(source.run_id) + '(-": ESCAPED,
    "evaluate.systems.external._PIECE": TYPED,
    "evaluate.systems.external._INNER_SHELL": TYPED,
    "evaluate.systems.shape._PLACE": ENDS,
    "git.address._SCP": TYPED,
    "index.chains._STRING": CHAIN,
    "index.chains._GENERIC": CHAIN,
    "index.chains._BLOCK": CHAIN,
    "index.chains._CAST_TO": CHAIN,
    "index.chains._CALLS": CHAIN,
    "index.chains: ": CHAIN,
    "index.enrich.deployments: pattern": COVERED,
    "index.enrich.deployments.commands: pattern": "the name of a program on a command line of limited length",
    "index.enrich.formats._PROJECT_FILE": NAME,
    "index.enrich.manifests: pattern": COVERED,
    "index.history._NAMED": SHORT,
    "index.history._CALLED": SHORT,
    "index.history._BY_SUFFIX": SHORT,
    "index.history: pattern.lstrip('!')": COVERED,
    'index.imports.javascript: \'("(?:[^"\\\\\\\\]|\\\\\\\\(?:.|\\\\Z))*': ENDS,
    "index.resolve.rpc: text": "patterns of the languages, for names",
    "index.ignore._GLUED_STARS": GLOB,
    "index.ignore: self.regex": GLOB,
    "index.scan._SECRET": NAME,
    "store.catalogue._COLUMN": OWN,
    "index.scan._SUSPECT_NAME": NAME,
    "languages.language._CAPTURE": OWN,
    "languages.language._TOKEN": OWN,
    "languages.language: self.constant": "patterns of the languages, for names",
    "languages.language: self.test_marker": "patterns of the languages, for names",
    "languages.rpc._CREATED": CHAIN,
    "languages.rpc.REGISTRATION": CHAIN,
    "languages.rpc.LOADED": CHAIN,
    "languages.rpc.GO_CLIENT": CHAIN,
    "rank.pieces: pattern": COVERED,
    "rank.pieces._FRAMES": "a line of a task, of at most 20,000 characters; the loops are counted",
    "search.collapse._VERSION": QUERY,
    "search.intent._IDENTIFIER": QUERY,
    "search.pattern._PARENTHESES": QUERY,
    "search.query._SYNTAX": QUERY,
    "serve.mcp.clients._WHITESPACE": CONFIGURATION,
    "serve.mcp.clients._STRING": CONFIGURATION,
    "serve.watch.first_look: f'(?<![^\\\\W\\\\d_]){stem}|{stem.": ESCAPED,
    "serve.watch.keeper._TEMPORARY": NAME,
    "serve.web.pages.passages._INLINE": ANSWER,
    "store.links.openapi._LINE": SHORT,
    "store.links.openapi._WORDS": ONCE,
    "text.blocks._RULE": ANSWER,
    "text.blocks._DIRECTIVE": ANSWER,
    "text.blocks._LITERAL": ANSWER,
    "text.blocks._MARK": ANSWER,
    "text.editions._TRANSLATED": PATH,
    "text.editions._VERSIONED": PATH,
    "text.editions._NUMBER": NAME,
    "text.editions: ": NAME,
    "text.editions._SUFFIXES": NAME,
    "text.markup._ROLE": ANSWER,
    "text.plain.": ANSWER,
    "text.prose._IDS": MESSAGE,
    "text.tags.MODULE_LINE": ANSWER,
    "text.terms._NAME_PIECE": ONCE,
    "text.variants._SERIES": "a word of a query",
    "text.variants: f\"({roots})({'|'.join(pairs)})": COVERED,
}


def is_allowed(key: str) -> bool:
    return key.startswith(WORKER_MODULES) or any(_is_of(key, allowed) for allowed in ALLOWED)


def _is_of(key: str, allowed: str) -> bool:
    """Return whether a pattern is the one listed, or in the module or the table listed."""
    return (
        key.partition("[")[0] == allowed
        or key == allowed
        or (allowed.endswith((".", ": ")) and key.startswith(allowed))
    )


@cache
def patterns() -> dict[str, tuple[re.Pattern[Any] | None, frozenset[str]]]:
    """Return the patterns of all modules and the methods they are used with; None where it is made at run time."""
    out: dict[str, tuple[re.Pattern[Any] | None, frozenset[str]]] = {}
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted((SRC / "assay").rglob("*.py"))}
    used = {path: _uses(tree) for path, tree in trees.items()}
    for path, tree in trees.items():
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _method(node)]
        if not calls or path.name == "__main__.py":
            continue
        dotted = ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
        values = vars(importlib.import_module(dotted))
        module = dotted.removeprefix("assay.")
        names = {
            id(node.value): node.targets[0].id
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for call in calls:
            name, method = names.get(id(call), ""), _method(call)
            if method != "compile":
                methods = {method}
            elif name:
                places = [path] if name.startswith("_") else list(trees)
                methods = set().union(
                    *(used[place].get(name, {"search"} if place == path else set()) for place in places)
                )
            else:
                methods = {"search"}
            key = f"{module}.{name}" if method == "compile" and name else f"{module}: {ast.unparse(call.args[0])[:30]}"
            out[key] = _evaluated(call, method, values), frozenset(methods)
        for name, value in values.items():
            if not isinstance(value, re.Pattern):
                inside = {f"{module}.{name}[{number}]": pattern for number, pattern in enumerate(_inside(value))}
                out |= {key: (pattern, frozenset({"search"})) for key, pattern in inside.items()}
            elif value not in {pattern for pattern, _ in out.values()}:  # made by a function
                methods = set().union(*(used[place].get(name, set()) for place in trees))
                out.setdefault(f"{module}.{name}", (value, frozenset(methods)))
    return out


def _method(call: ast.Call) -> str:
    at = call.func
    is_re = isinstance(at, ast.Attribute) and isinstance(at.value, ast.Name) and at.value.id == "re"
    return at.attr if is_re and isinstance(at, ast.Attribute) and at.attr in FLAGS_AT else ""


def _uses(tree: ast.Module) -> dict[str, set[str]]:
    """Return the methods that names are used with; `search`, the slowest, where one is passed on."""
    called = {id(node.value): node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    out: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            name = node.id if isinstance(node, ast.Name) else node.attr
            method = called.get(id(node), "search")
            if method != "pattern":  # its source becomes part of another
                out.setdefault(name, set()).add(method if method in METHODS else "search")
    return out


def _evaluated(call: ast.Call, method: str, values: dict[str, Any]) -> re.Pattern[Any] | None:
    given = [keyword.value for keyword in call.keywords if keyword.arg == "flags"] + call.args[FLAGS_AT[method] :]
    try:
        pattern, *flags = (eval(compile(ast.Expression(part), "", "eval"), values) for part in (call.args[0], *given))
    except NameError:
        return None
    return pattern if isinstance(pattern, re.Pattern) else re.compile(pattern, *flags)


def _inside(value: Any, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, dict) and depth:
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset) and depth:
        for part in value:
            yield from _inside(part, depth - 1)
    elif isinstance(value, re.Pattern):
        yield value


def _problems(pattern: re.Pattern[Any] | None, methods: frozenset[str]) -> Iterator[str]:
    if pattern is None:
        yield "made at run time, so it is not analyzed"
        return
    for method in sorted({"search" if method not in ("match", "fullmatch") else method for method in methods}):
        if (text := slow_text(pattern, method)) is not None:
            yield f"{method} is slow on repeated {text!r}"


def test_every_pattern_takes_linear_time() -> None:
    """A pattern that fails: bound its loops, make them possessive (`++`), forbid a start inside a run, or use RE2."""
    slow = [
        f"{key}: {reason}"
        for key, (pattern, methods) in patterns().items()
        if not is_allowed(key)
        for reason in _problems(pattern, methods)
    ]
    assert slow == []


def test_the_list_of_allowed_patterns_is_current() -> None:
    keys = patterns()
    assert [allowed for allowed in ALLOWED if not any(_is_of(key, allowed) for key in keys)] == []
    assert len(keys) > 600


# The analysis itself


SLOW = [
    (r"\s+$", "search"), (r"\s++$", "search"), (r"(a*)*b", "match"), (r"(a+)+$", "match"), (r"(?:a|a)*b", "match"),
    (r"\s*\s*x", "match"), (r"\w+\b", "search"), (r"a.*b", "search"), (r"(?m)^a(?s:.*)b", "search"), (r"(?s)/\*.*?\*/", "sub"),
    (r"(?=[^`]*$)x", "search"), (r"(`+)[^`]*\1", "search"), (r"(.*)x(.*)", "fullmatch"), (r"(?:\d{1,5})*x", "match"),
    (r'"(?:[^"\\]|\\.)*"', "search"), (r"(?i)a+A+$", "match"), (r"(?:a|b|ab)*c", "match"), (r"\d+,?\d+x", "match"),
    (r"[\w.+-]+@[\w.-]+", "findall"),  # as that of CODEOWNERS was
    (r"\b(\w*[aA]pi)\b\s*\(?\s*(?:platform\s*\(\s*)?projects((?:\.\w+)+)", "finditer"),  # that of Gradle
    (r"\s*\w+\s*\(?\s*(?:(?:==|>)\s*[\w.*+!-]+\s*,?\s*)*\)?\s*(?:;.*)?", "fullmatch"),  # that of requirements files
]  # fmt: skip
LINEAR = [
    (r"\s+$", "match"), (r"(?<!\s)\s++$", "search"), (r"(?<!\s)\s+$", "search"), (r"\s*+\s*x", "match"), (r"\w+", "search"),
    (r"\b\w+\b", "search"), (r"\b\w+:", "search"), (r"foo\s+bar", "search"), (r"^a.*b", "search"), (r"(?m)^a.*b", "search"),
    (r"(?s)//[^\n]*|/\*.*?(?:\*/|\Z)", "sub"), (r"(?:\w+\.)*\w+x", "match"), (r"[a-z](?:[\w.-]*[a-z])?\s*x", "match"),
    (r"a?b?c", "search"), (r'"(?:[^"\\]|\\.)*"', "match"), (r"[A-Z]+x|[A-Z]+", "findall"), (r"\w+(?:\.\w+)*", "search"),
    (r"<[^>]{0,200}>", "search"), (r"@[\w.@/-]+|(?<![\w.+-])[\w.+-]+@[\w.-]+", "findall"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "method"), SLOW)
def test_the_analysis_finds_slow_patterns(pattern: str, method: str) -> None:
    assert slow_text(re.compile(pattern), method) is not None
    assert slow_text(re.compile(pattern.encode()), method) is not None


@pytest.mark.parametrize(("pattern", "method"), LINEAR)
def test_the_analysis_passes_linear_patterns(pattern: str, method: str) -> None:
    assert slow_text(re.compile(pattern), method) is None
