"""Noise filter: build output, minified code, test doubles and test helpers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.core.items import TYPE_KINDS, Item
from assay.text.terms import words

_BUILD_FOLDERS = frozenset({"dist", "build", "vendor", "node_modules"})
_MINIFIED_MARKS = (".min.", ".bundle.")
_HELPER_FILES = frozenset({"conftest.py", "fixtures.py"})
_HELPER_FOLDERS = ("testutil", "testhelper")  # prefixes: testutils, testhelpers
_HELPER_MARK = "test_helper"
_TEST_DOUBLES = ("mock", "fake", "stub")
_SHORT = 2  # names up to this length look minified, except these:
_SHORT_NAMES = frozenset({"id", "ok", "db", "ip", "io", "go", "do"})


@dataclass(frozen=True, slots=True)
class Rule:
    """A noise rule. Rules `of_tests` do not apply to a task about tests."""

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


def _is_test_double(item: Item) -> bool:
    """Return whether an item is a mock, fake or stub type, or a member of one."""
    owner = item.symbol if item.kind in TYPE_KINDS else item.symbol.removesuffix(item.name)
    return any(word.startswith(_TEST_DOUBLES) for word in words(owner))


def _has_minified_name(item: Item) -> bool:
    name = item.name
    return len(name) <= _SHORT and name.isascii() and name.isidentifier() and name.lower() not in _SHORT_NAMES


RULES = (
    Rule("build output", _is_build_output),
    Rule("minified code", _is_minified),
    Rule("test helper", _is_test_helper, of_tests=True),
    Rule("test double", _is_test_double, of_tests=True),
    Rule("minified name", _has_minified_name),
)


def noise_reason(item: Item, about_tests: bool = False) -> str:
    """Return the noise rule that applies to an item; empty if none does."""
    return next((rule.reason for rule in RULES if not (about_tests and rule.of_tests) and rule.applies(item)), "")


def noise_reasons(items: Mapping[int, Item], about_tests: bool) -> dict[int, str]:
    """Return the reason of each item that is noise, by number."""
    reasons = {number: noise_reason(item, about_tests) for number, item in items.items()}
    return {number: reason for number, reason in reasons.items() if reason}
