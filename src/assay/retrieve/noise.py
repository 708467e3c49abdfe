"""What is left out of the candidates because it is nobody's answer: build output, minified code, stand-ins and helpers of tests."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from assay.core.items import TYPE_KINDS, Item
from assay.retrieve.vocabulary import word_set
from assay.text.identifiers import words

_BUILD_FOLDERS = frozenset({"dist", "build", "vendor", "node_modules"})
_MINIFIED_MARKS = (".min.", ".bundle.")
_HELPER_FILES = frozenset({"conftest.py", "fixtures.py"})
_HELPER_FOLDERS = ("testutil", "testhelper")  # prefixes: testutils, testhelpers
_HELPER_MARK = "test_helper"
_STAND_INS = ("mock", "fake", "stub")
_SHORT = 2  # names up to this length look minified, but for these:
_SHORT_NAMES = frozenset({"id", "ok", "db", "ip", "io", "go", "do"})
_TEST_WORDS = word_set("""
test tests testing tested testcase testcases unittest unittests spec specs fixture fixtures assert asserts assertion assertions
""")
_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r"`[^`\n]{1,300}`|\"[^\"\n]{1,300}\"|(?<!\w)'[^'\n]{1,300}'(?!\w)")


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of noise. Rules `of_tests` do not hold for a task that is about tests."""

    reason: str
    applies: Callable[[Item], bool]
    of_tests: bool = False


def _is_build_output(item: Item) -> bool:
    return not _BUILD_FOLDERS.isdisjoint(item.path.lower().split("/")[:-1])


def _is_minified(item: Item) -> bool:
    name = item.path.lower().rpartition("/")[2]
    return any(mark in name for mark in _MINIFIED_MARKS)


def _is_test_helper(item: Item) -> bool:
    path = item.path.lower()
    parts = path.split("/")
    return parts[-1] in _HELPER_FILES or any(part.startswith(_HELPER_FOLDERS) for part in parts) or _HELPER_MARK in path


def _is_stand_in(item: Item) -> bool:
    """A type that stands in for a real one, or a member of such a type."""
    owner = item.symbol if item.kind in TYPE_KINDS else item.symbol.removesuffix(item.name)
    return any(word.startswith(_STAND_INS) for word in words(owner))


def _has_minified_name(item: Item) -> bool:
    name = item.name
    return len(name) <= _SHORT and name.isascii() and name.isidentifier() and name.lower() not in _SHORT_NAMES


RULES = (
    Rule("build output", _is_build_output),
    Rule("minified code", _is_minified),
    Rule("helper of tests", _is_test_helper, of_tests=True),
    Rule("stand-in of tests", _is_stand_in, of_tests=True),
    Rule("minified name", _has_minified_name),
)


def reason(item: Item, about_tests: bool = False) -> str:
    """Why an item is noise; empty when it is not."""
    return next((rule.reason for rule in RULES if not (about_tests and rule.of_tests) and rule.applies(item)), "")


def is_about_tests(task: str) -> bool:
    """Whether a task speaks of tests, not only quotes them: then test code is an answer like any other."""
    return not _TEST_WORDS.isdisjoint(_WORD.findall(_QUOTED.sub(" ", task).lower()))
