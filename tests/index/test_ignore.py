"""Ignore files: the same verdicts as git's, for any patterns."""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.index.ignore import IgnoreRules
from support.ignore_files import ignore_file, ignored_by_git, paths
from support.property_tests import examples

# patterns → paths that they ignore, paths that they do not
CASES = {
    "*.log": (["a.log", "x/a.log", ".log"], ["a.logs", "log"]),
    "/*.log": (["a.log"], ["x/a.log"]),
    "build/": (["build/a", "x/build/a"], ["build", "x/build"]),
    "/build/": (["build/a"], ["x/build/a"]),
    "docs/a.md": (["docs/a.md", "docs/a.md/x"], ["x/docs/a.md"]),
    "**/docs/a.md": (["docs/a.md", "x/y/docs/a.md"], ["docs/x/a.md"]),
    "a/**/z": (["a/z", "a/b/c/z"], ["z", "b/a/z", "a/zz"]),
    "a/**": (["a/b", "a/b/c"], ["a", "x/a/b"]),
    "a/**/": (["a/b/c"], ["a/b"]),
    "a**/z": (["a/z", "ab/z", "ab/c/z", "az"], ["b/a/z"]),
    "a/b**": (["a/b", "a/bc", "a/b/c"], ["a/c"]),
    "x**y": (["xy", "xay"], ["x/y"]),
    "gen/*\n!gen/keep": (["gen/a"], ["gen/keep"]),
    "gen/\n!gen/keep": (["gen/a", "gen/keep"], []),
    "*\n!*.py\n!*/": (["a", "x/a"], ["a.py", "x/a.py"]),
    "!a\na": (["a"], []),
    "a\n!a": ([], ["a"]),
    "a   ": (["a"], ["a "]),
    "a\\ ": (["a "], ["a"]),
    "a\\\\ ": (["a\\"], ["a\\ ", "a"]),
    "a\t": (["a\t"], ["a"]),
    " a": ([" a"], ["a"]),
    "a\r\nb": (["a", "b"], []),
    "#a\n\\#b": (["#b"], ["#a", "b"]),
    "\\!a": (["!a"], ["a"]),
    "\\*": (["*"], ["a"]),
    "a\\": ([], ["a", "a\\"]),
    "[ab]c": (["ac", "bc"], ["cc", "[ab]c"]),
    "[!ab]c": (["cc"], ["ac", "bc"]),
    "[]-]c": (["]c", "-c"], ["ac"]),
    "[a-c\\]]": (["b", "]"], ["d", "\\"]),
    "[[:digit:][:upper:]]": (["1", "A"], ["a", ":"]),
    "[[:nothing:]]": ([], ["n", ":"]),
    "[a": ([], ["a", "[a"]),
    "a[/]b": ([], ["a/b"]),
    "a[!x]b": (["a-b"], ["a/b"]),
    "?": (["a"], ["ab", "é"]),
    "??": (["ab", "é"], ["a"]),
    "a//b\n//a\n/\n!": ([], ["a/b", "a"]),
    "\ufeffa": (["a"], []),
    "a\0b": (["a"], ["ab"]),
    "caf\u00e9": (["caf\u00e9"], ["cafe\u0301"]),
}  # fmt: skip


@pytest.mark.parametrize("text", CASES, ids=ascii)
def test_patterns_ignore_these_paths_and_not_those(text: str) -> None:
    rules = IgnoreRules(text.encode())
    ignored, others = CASES[text]
    assert [path for path in ignored if not rules.excludes(path)] == []
    assert [path for path in others if rules.excludes(path)] == []


def test_git_says_the_same_of_these_cases(tmp_path: Path) -> None:
    cases = {str(number): (text.encode(), [*CASES[text][0], *CASES[text][1]]) for number, text in enumerate(CASES)}
    ignored = ignored_by_git(tmp_path, cases)
    assert {text: ignored[str(number)] for number, text in enumerate(CASES)} == {
        text: set(matched) for text, (matched, _) in CASES.items()
    }


@settings(max_examples=examples(24))
@given(st.integers(0, 1 << 32))
def test_random_patterns_ignore_what_git_ignores(seed: int) -> None:
    choice = random.Random(seed)
    files = {str(number): (ignore_file(choice), paths(choice, 40)) for number in range(40)}
    with tempfile.TemporaryDirectory() as folder:
        ignored = ignored_by_git(Path(folder), files)
    for number, (text, asked) in files.items():
        rules = IgnoreRules(text)
        assert {path for path in asked if rules.excludes(path)} == ignored[number], text
    assert 50 < sum(map(len, ignored.values())) < 1_500


def test_character_classes_are_those_of_git(tmp_path: Path) -> None:
    classes = [
        "alnum",
        "alpha",
        "blank",
        "cntrl",
        "digit",
        "graph",
        "lower",
        "print",
        "punct",
        "space",
        "upper",
        "xdigit",
    ]
    names = [os.fsdecode(bytes([number, 0x78])) for number in range(1, 256) if number != ord("/")]
    files = {name: (f"[[:{name}:]]x".encode(), names) for name in classes}
    ignored = ignored_by_git(tmp_path, files)
    for name, (text, _) in files.items():
        rules = IgnoreRules(text)
        assert {path for path in names if rules.excludes(path)} == ignored[name], name


def test_an_order_of_questions_makes_no_difference() -> None:
    choice = random.Random(7)
    for _ in range(50):
        text, asked = ignore_file(choice), paths(choice, 20)
        verdicts = {path: IgnoreRules(text).excludes(path) for path in asked}
        rules = IgnoreRules(text)
        choice.shuffle(asked)
        assert {path: rules.excludes(path) for path in asked} == verdicts


def test_a_path_may_be_as_deep_as_the_system_allows() -> None:
    rules = IgnoreRules(b"**/x/**/y.py\n")
    assert rules.excludes("a/" * 2_000 + "x/y.py")
    assert not rules.excludes("a/" * 2_000 + "y.py")
