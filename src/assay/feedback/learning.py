"""Learning from use: what is said to be useful, what was given and used or not, what a session looks at, which words led where.

given to a session ──▶ pending ──▶ named in what the agent reads or writes: useful, and the task's words are associated with it
                                └─▶ not named when the next answer is given: not useful

Every record is about a symbol as its text was and counts only while that text stands. `Learning` joins the rows to the index of now.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from assay.core.items import Item
from assay.core.packs import Association, Learned, Source
from assay.feedback.marks import Standing, located, mark_of, mentioned, standing
from assay.feedback.store import Record, Store, nearness
from assay.store.index import Index
from assay.text.terms import stem, words


def score(useful: int, not_useful: int) -> float:
    """The share of useful times; a half when nothing is known."""
    told = useful + not_useful
    return useful / told if told else 0.5


def signal(useful: int, not_useful: int) -> float:
    """The score from -1 (never useful) over 0 (nothing is known, or as often as not) to 1 (always)."""
    return 2 * score(useful, not_useful) - 1


# Learned vocabulary: which words of tasks led to which symbols. Words that everybody uses for everything teach
# nothing.

OFTEN_ENOUGH, SURE = 2, 10  # a word and a symbol that met once may be chance; from ten times on more is no surer
LEAST_WEIGHT, MOST_WEIGHT = 0.3, 0.8
KEPT_WORDS = 30  # of one task: a pasted log is not its vocabulary
_READ = 20_000  # characters of a task
_SHORTEST, _LONGEST = 3, 40  # letters; shorter words are everyday ones, but not where a letter is a syllable or a word

_WORD = re.compile(r"\w+")

# English, what tasks ask for, and what every program has; other forms of these words are left out with them
_EVERYDAY = """
about above across after again against all also although always and another any anything are around because become been before being below
between both but can cannot could currently did does doing done down during each either else even ever every everything for from further get
give given goes had has have having her here him his how however instead into its itself just least less let like made main make many may maybe
might more most much must near need neither never nor not nothing now off often once one only onto other otherwise our out over own per
perhaps please possible proper rather really same see seem several shall she should since some something still such take taken than that the
their them themselves then there these they thing this those though through thus together too toward two under unless until upon use useful
user usual very via want was way well were what whatever when where whether which while who whole whose why will with within without would yet
you your
add adjust allow build call change check clean correct create enable enhance ensure exist expect explain extend find fix handle help implement
improve include introduce investigate know look modify move new old provide put refactor remove rename replace return rewrite run say set show
simplify start stop support tell understand update work write wrong
app application argument behavior behaviour bug case class code data default error example feature field file function important info int
issue item kind library line list logic method missing module name null number object option part place problem program project result self
simple small string system task test text time todo tool true false type value variable version
"""


def keywords(task: str) -> dict[str, str]:
    """The words of a task that may teach something, by their stems, as they were written but for capitals."""
    found: dict[str, str] = {}
    for identifier in _WORD.findall(task[:_READ]):
        for word in words(identifier):
            if _is_telling(word):
                found.setdefault(stem(word), word)
    return dict(list(found.items())[:KEPT_WORDS])


def confidence(count: int) -> float:
    """The weight in the fusion of a word and a symbol that met so often: 0.3 for twice, 0.8 from ten times on."""
    sure = (min(count, SURE) - OFTEN_ENOUGH) / (SURE - OFTEN_ENOUGH)
    return LEAST_WEIGHT + (MOST_WEIGHT - LEAST_WEIGHT) * sure


def _is_telling(word: str) -> bool:
    long_enough = len(word) >= _SHORTEST or not word.isascii()
    return long_enough and len(word) <= _LONGEST and not word.isdecimal() and stem(word) not in _everyday_stems()


@cache
def _everyday_stems() -> frozenset[str]:
    return frozenset(map(stem, _EVERYDAY.split()))


# Learning from use: what is said to be useful, what was given and used or not, what a session looks at, which words
# led where.

KEPT_EXPIRED = 7 * 86_400.0  # seconds: code that is gone may be back with its branch


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of an item that stands as it was; `words` are those of tasks it was used for, with how often."""

    item: Item
    useful: int
    not_useful: int
    words: dict[str, int]


class Learning:
    """Rows of what was learned, an index, and the texts of its items. `now` is in seconds, of any one clock."""

    def __init__(self, index: Index, source: Source, store: Store, now: float) -> None:
        self._index, self._source, self._store, self._now = index, source, store, now

    # telling

    def judge(self, items: Iterable[Item], useful: bool, task: str = "") -> None:
        """Somebody says that items are useful, or not; for a task, whose words then lead to them more, or less."""
        keys = self._keep(items)
        self._store.count(keys, useful)
        self._store.associate(keywords(task), keys, 1 if useful else -1)
        self._sweep()

    def returned(self, items: Sequence[Item], task: str, session: str) -> None:
        """A session is given items. What it was given before and never used was not useful, if anybody reports what it uses."""
        if self._store.watched(session):
            self._store.count(self._store.unused(session).values(), useful=False)
        self._store.begin(session, keywords(task), self._keep(items), self._now)
        self._sweep()

    def used(self, text: str, session: str, path: str = "", lines: range = range(0)) -> list[Item]:
        """A session wrote or read a text, perhaps these lines of a file: what it was given last and is named or defined there was useful."""
        unused = self._unused(session)
        defined = {item for item in unused if item.path == path and item.start < lines.stop and item.end >= lines.start}
        return self._use(sorted(defined.union(mentioned(text, unused)), key=lambda item: item.id), session)

    def forget(self, items: Iterable[Item]) -> int:
        """Drops everything about items, also as they were before; returns how many had records."""
        ids = {item.id for item in items}
        records = [record for record in self._store.records() if record.mark.id in ids]
        self._store.drop(record.key for record in records)
        return len({record.mark.id for record in records})

    # asking

    def learned(self, task: str, session: str = "") -> Learned:
        """What the engine may know for a task: of feedback and vocabulary everything, of sessions only this one."""
        records = self._store.records()
        numbers = self._standing(records).numbers
        told = {number: signal(*counts) for number, counts in _totals(records, numbers).items()}
        return Learned(
            {number: value for number, value in sorted(told.items()) if value},
            _near(self._store.accesses(session), numbers, self._now),
            _vocabulary(self._store.associations(keywords(task), OFTEN_ENOUGH), numbers),
        )

    def known(self) -> tuple[list[Known], int]:
        """What counts now, by id, and how many symbols have records that do not count because their code changed."""
        records = self._store.records()
        now = self._standing(records)
        totals, words = _totals(records, now.numbers), _words(self._store.associations(None, 1), now.numbers)
        rows = [
            Known(self._index.item(number), *totals.get(number, (0, 0)), dict(words.get(number, {})))
            for number in totals.keys() | words.keys()
        ]
        told = {
            record.mark.id for record in records if record.key in now.expired and (record.useful or record.not_useful)
        }
        return sorted(rows, key=lambda row: row.item.id), len(told)

    # below

    def _keep(self, items: Iterable[Item]) -> list[int]:
        marks = [mark_of(self._index, self._source, item) for item in items]
        return list(self._store.keep(marks, self._now).values())

    def _unused(self, session: str) -> list[Item]:
        found = located(self._index, self._store.unused(session))
        return [self._index.item(number) for number, _ in found.values()]

    def _use(self, items: list[Item], session: str) -> list[Item]:
        keys = self._store.unused(session)
        used = [keys[item.id] for item in items]
        self._store.use(session, used)
        self._store.count(used, useful=True)
        self._store.associate(self._store.watch(session), used)
        return items

    def _standing(self, records: Iterable[Record]) -> Standing:
        return standing(self._index, self._source, {record.key: record.mark for record in records})

    def _sweep(self) -> None:
        """Follows symbols whose file changed around them; drops what does not hold any more, and what is too much."""
        records = self._store.records()
        now = self._standing(records)
        marks = {record.key: record.mark for record in records}
        self._store.place(
            {key: file for key, file in now.files.items() if file != marks[key].file},
            {key: file for key, file in now.expired.items() if file != marks[key].gone},
        )
        old = {record.key for record in records if self._now - record.time > KEPT_EXPIRED}
        self._store.drop(old & now.expired.keys())
        self._store.tidy(self._now)


def _totals(records: Iterable[Record], numbers: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    """Times useful and not, by the number of the item; only of those somebody could tell."""
    totals: dict[int, tuple[int, int]] = {}
    for record in records:
        if record.key in numbers and (record.useful or record.not_useful):
            useful, not_useful = totals.get(numbers[record.key], (0, 0))
            totals[numbers[record.key]] = useful + record.useful, not_useful + record.not_useful
    return totals


def _near(accesses: Mapping[int, Sequence[float]], numbers: Mapping[int, int], now: float) -> dict[int, float]:
    """How near the session is to each item, by the number of the item."""
    times: dict[int, list[float]] = defaultdict(list)
    for key, moments in accesses.items():
        if key in numbers:
            times[numbers[key]].extend(moments)
    found = {number: nearness(moments, now) for number, moments in sorted(times.items())}
    return {number: near for number, near in found.items() if near}


def _words(found: Mapping[int, Mapping[str, int]], numbers: Mapping[int, int]) -> dict[int, Counter[str]]:
    """How often which words led to an item, by the number of the item."""
    words: dict[int, Counter[str]] = defaultdict(Counter)
    for key, counts in found.items():
        if key in numbers:
            words[numbers[key]].update(counts)
    return words


def _vocabulary(found: Mapping[int, Mapping[str, int]], numbers: Mapping[int, int]) -> tuple[Association, ...]:
    """The items that words lead to, those with most and surest words first; an item weighs as much as its surest word."""
    rows = []
    for number, counts in _words(found, numbers).items():
        weights = [confidence(count) for count in counts.values()]
        words = sorted(counts, key=lambda word: (-counts[word], word))
        rows.append((-math.fsum(weights), number, Association(number, max(weights), tuple(words))))
    return tuple(association for _, _, association in sorted(rows, key=lambda row: row[:2]))
