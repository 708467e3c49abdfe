"""Query-independent item arrays, noise rules, and score multipliers by folder, repeated name and top-10 order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.core.items import TYPE_KINDS, Item
from assay.rank.profile import Profile
from assay.rank.ranking import Floats, Ints, Ranking, highest, line, share_of_best, sum_by_index
from assay.rank.signals.lexical import name_rarity_of
from assay.rank.vocabulary import word_set
from assay.store.columns import KIND_NAMES
from assay.store.index import Index
from assay.text.terms import words


class ItemArrays:
    """Query-independent arrays of an index under a profile, by item number."""

    def __init__(self, index: Index, profile: Profile) -> None:
        self._index, self._profile = index, profile
        self.size = len(index.postings.lengths)

    @cached_property
    def files(self) -> Ints:
        """File number of each item."""
        return np.asarray(self._index.columns.file, np.int64)

    @cached_property
    def folders(self) -> Ints:
        """Folder number of each item."""
        return np.asarray(self.file_folders[self.files])

    @cached_property
    def file_folders(self) -> Ints:
        """Folder number of each file."""
        numbers: dict[str, int] = {}
        folders = np.zeros(int(self.files.max(initial=0)) + 1, np.int64)
        for path, row in self._index.files.items():
            folders[row.number] = numbers.setdefault(path.rpartition("/")[0], len(numbers))
        return folders

    @cached_property
    def kinds(self) -> Floats:
        """Kind weight of each item; 0 for files, as only their symbols are retrieved."""
        weights = [
            self._profile.kind_weights.get(kind, 1.0) if kind not in ("", "file") else 0.0 for kind in KIND_NAMES
        ]
        return np.array(weights)[self._index.columns.kind]

    @cached_property
    def not_retrieved(self) -> Ints:
        """Numbers that are never retrieved: files and unused numbers."""
        return np.flatnonzero(self.kinds <= 0)

    @cached_property
    def tests(self) -> Floats:
        """Test weight of each item."""
        return np.where(self._index.columns.test, self._profile.test_weight, 1.0)

    @cached_property
    def name_rarity(self) -> Floats:
        """Summed rarity of the terms of each item's name; at least 1e-9, as it is a divisor."""
        return np.maximum(name_rarity_of(self._index.postings), 1e-9)

    def by_item(self, shares: Mapping[int, float]) -> Floats:
        """Expand sparse values to an array; 0 for the other items."""
        values = np.zeros(self.size)
        values[list(shares)] = list(shares.values())
        return values

    def by_symbol(self, shares: Mapping[int, float]) -> Floats:
        """Expand sparse values to an array; 0 for the other items and those never retrieved."""
        return self.by_item({number: share for number, share in shares.items() if self.kinds[number] > 0})

    def by_file(self, shares: Mapping[int, float]) -> Floats:
        """Expand sparse values of files to all their items."""
        files = np.zeros(len(self.file_folders))
        files[list(shares)] = list(shares.values())
        return np.asarray(files[self.files], dtype=np.float64)


# Noise: build output, minified code, test doubles and test helpers.

_BUILD_FOLDERS = frozenset({"dist", "build", "vendor", "node_modules"})
_MINIFIED_MARKS = (".min.", ".bundle.")
_HELPER_FILES = frozenset({"conftest.py", "fixtures.py"})
_HELPER_FOLDERS = ("testutil", "testhelper")  # prefixes: testutils, testhelpers
_HELPER_MARK = "test_helper"
_TEST_DOUBLES = ("mock", "fake", "stub")
_SHORT = 2  # names up to this length look minified, except these:
_SHORT_NAMES = frozenset({"id", "ok", "db", "ip", "io", "go", "do"})
_TEST_WORDS = word_set("""
test tests testing tested testcase testcases unittest unittests spec specs fixture fixtures assert asserts assertion assertions
""")
_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r"`[^`\n]{1,300}`|\"[^\"\n]{1,300}\"|(?<!\w)'[^'\n]{1,300}'(?!\w)")


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


def is_about_tests(task: str) -> bool:
    """Return whether a task mentions tests outside quotes; then test code is ranked like any other."""
    return not _TEST_WORDS.isdisjoint(_WORD.findall(_QUOTED.sub(" ", task).lower()))


# Multipliers applied after the score parts are summed; arrays are by item.

_FOLDER_ITEMS = 40  # top items that determine the task's folder
_REPEAT_ITEMS = 100  # top items checked for repeated names: more than any caller requests
_REORDERED = 10  # top items that are reordered by direct evidence


def folder(ranking: Ranking, items: ItemArrays, weight: float) -> Floats:
    """Return multipliers by the share of the top items' scores that is in the same folder."""
    if not weight:
        return np.ones(items.size)
    best = highest(ranking.scores, _FOLDER_ITEMS)
    mass = sum_by_index(items.folders[best], ranking.scores[best], len(items.file_folders))
    return np.asarray(line(share_of_best(mass), weight, 1)[items.folders])


def repeated(ranking: Ranking, items: ItemArrays, index: Index, profile: Profile) -> Floats:
    """Return penalties for repeated names among the top items: overloads in a file, namesakes in other files."""
    penalty = np.ones(items.size)
    best = highest(ranking.scores, _REPEAT_ITEMS).tolist()
    symbols = index.symbols_of(best)
    seen: Counter[tuple[int, str]] = Counter()  # file and name; file 0 for any
    for number in best:
        here, anywhere = (int(items.files[number]), symbols[number]), (0, symbols[number])
        penalty[number] = profile.overload ** seen[here] if seen[here] else profile.namesake ** seen[anywhere]
        seen[here] += 1
        seen[anywhere] += 1
    return penalty


def own(ranking: Ranking, weight: float) -> Floats:
    """Return multipliers that reorder the top items by direct evidence, reassigning their scores."""
    multiplier = np.ones(len(ranking.scores))
    first = highest(ranking.scores, _REORDERED)
    evidence = (ranking.direct + ranking.pointed) * ranking.factors.get("name", 1.0)
    before = ranking.scores[first]
    order = np.argsort(-before * (1 + weight * share_of_best(evidence[first])), kind="stable")
    multiplier[first[order]] = before / before[order]
    return multiplier
