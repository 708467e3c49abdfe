"""What is known of every item, whatever is asked: arrays by item number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.core.items import TYPE_KINDS, Item
from assay.rank.profile import Profile
from assay.rank.ranking import Floats, Ints, Ranking, added_up, highest, line, share_of_best
from assay.rank.signals.lexical import name_rarity_of
from assay.rank.vocabulary import word_set
from assay.store.columns import KIND_NAMES
from assay.store.index import Index
from assay.text.terms import words


class Everything:
    """The columns of an index as the ranking weighs them."""

    def __init__(self, index: Index, profile: Profile) -> None:
        self._index, self._profile = index, profile
        self.size = len(index.postings.lengths)

    @cached_property
    def files(self) -> Ints:
        """The number of the file each item is in."""
        return np.asarray(self._index.columns.file, np.int64)

    @cached_property
    def folders(self) -> Ints:
        """A number for the folder each item is in."""
        return np.asarray(self.file_folders[self.files])

    @cached_property
    def file_folders(self) -> Ints:
        """The same by number of the file. There are no more folders than that."""
        known: dict[str, int] = {}
        folders = np.zeros(int(self.files.max(initial=0)) + 1, np.int64)
        for path, row in self._index.files.items():
            folders[row.number] = known.setdefault(path.rpartition("/")[0], len(known))
        return folders

    @cached_property
    def kinds(self) -> Floats:
        """The weight of each item's kind. Files are not retrieved themselves: their symbols are."""
        weights = [
            self._profile.kind_weights.get(kind, 1.0) if kind not in ("", "file") else 0.0 for kind in KIND_NAMES
        ]
        return np.array(weights)[self._index.columns.kind]

    @cached_property
    def no_symbols(self) -> Ints:
        """What is never retrieved: files, and numbers that no item has."""
        return np.flatnonzero(self.kinds <= 0)

    @cached_property
    def tests(self) -> Floats:
        """The weight of what belongs to tests."""
        return np.where(self._index.columns.test, self._profile.test_weight, 1.0)

    @cached_property
    def name_rarity(self) -> Floats:
        """How rare the words of each item's name are, added up; hardly anything where it has none, to divide by."""
        return np.maximum(name_rarity_of(self._index.postings), 1e-9)

    def by_item(self, shares: Mapping[int, float]) -> Floats:
        """Values of some items, 0 for the others."""
        values = np.zeros(self.size)
        values[list(shares)] = list(shares.values())
        return values

    def by_symbol(self, shares: Mapping[int, float]) -> Floats:
        """Values of some items, 0 for the others and for what is never retrieved."""
        return self.by_item({number: share for number, share in shares.items() if self.kinds[number] > 0})

    def by_file(self, shares: Mapping[int, float]) -> Floats:
        """Values of files, given to all that is in them."""
        files = np.zeros(len(self.file_folders))
        files[list(shares)] = list(shares.values())
        return np.asarray(files[self.files], dtype=np.float64)


# What is left out of the candidates because it is nobody's answer: build output, minified code, stand-ins and
# helpers of tests.

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


# What multiplies a score when all of it is added up: by the folder, by names that repeat, by the order of the
# first. Arrays are by item.

_FOCUS = 40  # of the best that say which folder the task is about
_CHECKED = 100  # of the best that are looked at for names that repeat: more than anybody asks for
_FIRST = 10  # of the best whose order is looked at again


def folder(ranking: Ranking, everything: Everything, weight: float) -> Floats:
    """What each item gains by how much of the best stands in the same folder."""
    if not weight:
        return np.ones(everything.size)
    best = highest(ranking.scores, _FOCUS)
    mass = added_up(everything.folders[best], ranking.scores[best], len(everything.file_folders))
    return np.asarray(line(share_of_best(mass), weight, 1)[everything.folders])


def repeated(ranking: Ranking, everything: Everything, index: Index, profile: Profile) -> Floats:
    """What the same name again counts, the best standing for all: another overload in the file, or a namesake in another one."""
    loss = np.ones(everything.size)
    best = highest(ranking.scores, _CHECKED).tolist()
    symbols = index.symbols_of(best)
    before: Counter[tuple[int, str]] = Counter()  # file and name; file 0 for any
    for number in best:
        here, anywhere = (int(everything.files[number]), symbols[number]), (0, symbols[number])
        loss[number] = profile.overload ** before[here] if before[here] else profile.namesake ** before[anywhere]
        before[here] += 1
        before[anywhere] += 1
    return loss


def own(ranking: Ranking, weight: float) -> Floats:
    """Puts the first in another order, their scores staying: company brought them there, what is said of each itself decides."""
    gain = np.ones(len(ranking.scores))
    first = highest(ranking.scores, _FIRST)
    said = (ranking.direct + ranking.pointed) * ranking.factors.get("name", 1.0)
    before = ranking.scores[first]
    order = np.argsort(-before * (1 + weight * share_of_best(said[first])), kind="stable")
    gain[first[order]] = before / before[order]
    return gain
