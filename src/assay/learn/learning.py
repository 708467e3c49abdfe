"""Learning from use: what is said to be useful, what was given and used or not, what a session looks at, which words led where.

given to a session ──▶ pending ──▶ named in what the agent reads or writes: useful, and the task's words are associated with it
                                └─▶ not named when the next answer is given: not useful

Every record is about a symbol as its text was and counts only while that text stands. `Learning` joins the rows to the index of now.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.core.items import Item
from assay.core.learned import Association, Learned
from assay.core.packs import Source
from assay.learn.feedback import signal
from assay.learn.marks import Standing, located, mark_of, standing
from assay.learn.mentions import mentioned
from assay.learn.sessions import nearness
from assay.learn.store import Record, Store
from assay.learn.vocabulary import OFTEN_ENOUGH, confidence, keywords
from assay.store.index import Index

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
