"""Learning from use: feedback, sessions and vocabulary, stored next to the index and never read by an evaluation.

returned to a session ──▶ pending ──▶ edited, or named in what the agent wrote: useful, associated with task words
                                   └─▶ neither by the next answer, and another one was: not useful

Reading teaches nothing, and neither does a container whose member was edited. A record refers to one version of a
symbol and counts only while that text is unchanged, or was edited by the session itself. An answer needs only
`learned_signals` before ranking and `record_returned` after it; they never fail it. Everything else goes through a
`Learning`, which joins the stored rows with the current index.
"""

from __future__ import annotations

import contextlib
import math
import re
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assay.core.items import Item
from assay.core.packs import Association, Learned, Source
from assay.database import StoreError
from assay.errors import AssayError
from assay.feedback import team
from assay.feedback.file import CannotWrite, Unusable, opened, path_in, remove
from assay.feedback.marks import MarkStatus, compare_marks, located, mark_of, mentioned, with_members
from assay.feedback.store import Record, Store, nearness
from assay.store.index import Index
from assay.store.layout import Home
from assay.text.terms import stem, words

__all__ = [
    "CannotWrite",
    "ItemFeedback",
    "Learning",
    "Unusable",
    "forget_everything",
    "learned_signals",
    "learning",
    "record_returned",
    "shared_state",
]


def score(useful: int, not_useful: int) -> float:
    """Return the share of useful votes; 0.5 without votes."""
    votes = useful + not_useful
    return useful / votes if votes else 0.5


def signal(useful: int, not_useful: int) -> float:
    """Return the score scaled to -1 (never useful) … 1 (always useful); 0 without votes."""
    return 2 * score(useful, not_useful) - 1


# Learned vocabulary: associations of task words with symbols, without everyday words.

MIN_COUNT, SATURATED_COUNT = 2, 10  # one co-occurrence may be chance; beyond ten, confidence does not grow
LEAST_WEIGHT, MOST_WEIGHT = 0.3, 0.8
KEPT_WORDS = 30  # per task: a pasted log is not its vocabulary
_READ = 20_000  # characters of a task that are read
# letters; shorter words are everyday ones, except in scripts where a letter is a syllable or a word
_SHORTEST, _LONGEST = 3, 40

_WORD = re.compile(r"\w+")

# English, task verbs and generic programming nouns; matched by stem
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
    """Return the informative words of a task in lower case, by stem."""
    by_stem: dict[str, str] = {}
    for identifier in _WORD.findall(task[:_READ]):
        for word in words(identifier):
            if _is_informative(word):
                by_stem.setdefault(stem(word), word)
    return dict(list(by_stem.items())[:KEPT_WORDS])


def confidence(count: int) -> float:
    """Return the fusion weight of an association seen `count` times: 0.3 for twice, 0.8 from ten times on."""
    progress = (min(count, SATURATED_COUNT) - MIN_COUNT) / (SATURATED_COUNT - MIN_COUNT)
    return LEAST_WEIGHT + (MOST_WEIGHT - LEAST_WEIGHT) * progress


def _is_informative(word: str) -> bool:
    long_enough = len(word) >= _SHORTEST or not word.isascii()
    return long_enough and len(word) <= _LONGEST and not word.isdecimal() and stem(word) not in _everyday_stems()


@cache
def _everyday_stems() -> frozenset[str]:
    return frozenset(map(stem, _EVERYDAY.split()))


# Recording and reading feedback

EXPIRED_RETENTION = 7 * 86_400.0  # seconds: deleted code may return with its branch
SHARED_RETENTION = 90 * 86_400.0  # the same for a team: code that one checkout lacks may be on another's branch


@dataclass(frozen=True, slots=True)
class ItemFeedback:
    """Feedback on an unchanged item: votes, and counts of the task words it was used for."""

    item: Item
    useful: int
    not_useful: int
    words: dict[str, int]


class Learning:
    """Feedback rows joined with an index and the texts of its items. `now` is in seconds of any one clock."""

    def __init__(self, index: Index, source: Source, store: Store, now: float) -> None:
        self._index, self._source, self._store, self._now = index, source, store, now

    # recording

    def judge(self, items: Iterable[Item], useful: bool, task: str = "") -> None:
        """Record explicit feedback on items; with a task, its words lead to them more, or less."""
        keys = self._keep(items)
        self._store.count(keys, useful)
        self._store.associate(keywords(task), keys, 1 if useful else -1)
        self._sweep()

    def returned(self, items: Sequence[Item], task: str, session: str) -> None:
        """Record items returned to a session. If it edited or used earlier ones, the rest of them was not useful."""
        self._follow_edits(session)
        if self._store.watched(session):
            unused = [record.key for record, item in self._unused(session) if not self._source.note(item)]
            self._store.count(unused, useful=False)
        self._store.begin(session, keywords(task), self._keep(items), self._now)
        self._sweep()

    def used(self, text: str, session: str, path: str = "", lines: range = range(0)) -> list[Item]:
        """Record that a session wrote a text, optionally these lines of a file.

        Pending items that are mentioned or defined there, or whose text has changed, count as useful; returns them.
        """
        edited = self._follow_edits(session)
        unused = {item: record.key for record, item in self._unused(session)}
        defined = {item for item in unused if item.path == path and item.start < lines.stop and item.end >= lines.start}
        named = defined.union(mentioned(text, list(unused)))
        self._use([unused[item] for item in named], session)
        return sorted(named.union(edited), key=lambda item: item.id)

    def forget(self, items: Iterable[Item]) -> int:
        """Delete all records of items in any version; return how many items had records."""
        ids = {item.id for item in items}
        records = [record for record in self._store.records() if record.mark.id in ids]
        self._store.drop(record.key for record in records)
        return len({record.mark.id for record in records})

    # reading

    def learned(self, task: str, session: str = "") -> Learned:
        """Return the signals for a task: all feedback and vocabulary, and the recency of this session."""
        records = self._store.records()
        numbers = self._mark_status(records).numbers
        signals = {number: signal(*counts) for number, counts in _vote_totals(records, numbers).items()}
        return Learned(
            {number: value for number, value in sorted(signals.items()) if value},
            _session_nearness(self._store.accesses(session), numbers, self._now),
            _associations(self._store.associations(keywords(task), MIN_COUNT), numbers),
        )

    def active(self) -> tuple[list[ItemFeedback], int]:
        """Return the current feedback by id, and the number of symbols with expired votes."""
        records = self._store.records()
        status = self._mark_status(records)
        totals = _vote_totals(records, status.numbers)
        words = _word_counts(self._store.associations(None, 1), status.numbers)
        rows = [
            ItemFeedback(self._index.item(number), *totals.get(number, (0, 0)), dict(words.get(number, {})))
            for number in totals.keys() | words.keys()
        ]
        expired = {
            record.mark.id
            for record in records
            if record.key in status.expired and (record.useful or record.not_useful)
        }
        return sorted(rows, key=lambda row: row.item.id), len(expired)

    # helpers

    def _keep(self, items: Iterable[Item]) -> list[int]:
        marks = [mark_of(self._index, self._source, item) for item in items]
        return list(self._store.keep(marks, self._now).values())

    def _follow_edits(self, session: str) -> list[Item]:
        """Record the pending items whose text has changed as useful, in their new version; return the new ones."""
        pending = self._store.pending(session)
        changed = self._mark_status(pending).expired
        items = self._teachable(record for record in pending if record.key in changed)
        versions = {record: mark_of(self._index, self._source, item) for record, item in items}
        if not versions:
            return []
        before = {record.mark.id for record in self._store.pending(session, unused=True)}
        self._store.follow(session, versions, self._now)
        edited = [item for _, item in items if item.id in before]
        ids = {item.id for item in edited}
        self._use([new.key for new in self._store.pending(session, unused=True) if new.mark.id in ids], session)
        return edited

    def _unused(self, session: str) -> list[tuple[Record, Item]]:
        """Return the pending items that were not used yet and are indexed as they were."""
        unused = self._store.pending(session, unused=True)
        current = self._mark_status(unused).numbers
        return self._teachable(record for record in unused if record.key in current)

    def _teachable(self, records: Iterable[Record]) -> list[tuple[Record, Item]]:
        """Return records with their present items, without containers: use of a member says nothing about its class."""
        by_id = {record.mark.id: record for record in records}
        numbers = [number for number, _ in located(self._index, by_id).values()]
        items = [self._index.item(number) for number in numbers]
        containers = with_members(self._index, by_id)
        return [(by_id[item.id], item) for item in items if item.id not in containers]

    def _use(self, keys: Sequence[int], session: str) -> None:
        self._store.use(session, keys)
        self._store.count(keys, useful=True)
        self._store.associate(self._store.watch(session), keys)

    def _mark_status(self, records: Iterable[Record]) -> MarkStatus:
        return compare_marks(self._index, self._source, {record.key: record.mark for record in records})

    def _sweep(self) -> None:
        """Update the file hashes of moved symbols; drop expired records and what exceeds the limits."""
        records = self._store.records()
        status = self._mark_status(records)
        marks = {record.key: record.mark for record in records}
        self._store.place(
            {key: file for key, file in status.files.items() if file != marks[key].file},
            {key: file for key, file in status.expired.items() if file != marks[key].gone},
        )
        retention = SHARED_RETENTION if self._store.shared else EXPIRED_RETENTION
        old = {record.key for record in records if self._now - record.time > retention}
        self._store.drop(old & status.expired.keys())
        self._store.tidy(self._now)


def _vote_totals(records: Iterable[Record], numbers: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    """Sum useful and not-useful votes by item number, over current records with votes."""
    totals: dict[int, tuple[int, int]] = {}
    for record in records:
        if record.key in numbers and (record.useful or record.not_useful):
            useful, not_useful = totals.get(numbers[record.key], (0, 0))
            totals[numbers[record.key]] = useful + record.useful, not_useful + record.not_useful
    return totals


def _session_nearness(
    accesses: Mapping[int, Sequence[float]], numbers: Mapping[int, int], now: float
) -> dict[int, float]:
    """Return the session recency of each item, by item number."""
    times: dict[int, list[float]] = defaultdict(list)
    for key, timestamps in accesses.items():
        if key in numbers:
            times[numbers[key]].extend(timestamps)
    nearness_by_number = {number: nearness(timestamps, now) for number, timestamps in sorted(times.items())}
    return {number: near for number, near in nearness_by_number.items() if near}


def _word_counts(associations: Mapping[int, Mapping[str, int]], numbers: Mapping[int, int]) -> dict[int, Counter[str]]:
    """Sum the counts of task words by item number."""
    words: dict[int, Counter[str]] = defaultdict(Counter)
    for key, counts in associations.items():
        if key in numbers:
            words[numbers[key]].update(counts)
    return words


def _associations(
    counts_by_key: Mapping[int, Mapping[str, int]], numbers: Mapping[int, int]
) -> tuple[Association, ...]:
    """Return associated items, by total confidence of their words; an item's weight is that of its surest word."""
    rows = []
    for number, counts in _word_counts(counts_by_key, numbers).items():
        weights = [confidence(count) for count in counts.values()]
        words = sorted(counts, key=lambda word: (-counts[word], word))
        rows.append((-math.fsum(weights), number, Association(number, max(weights), tuple(words))))
    return tuple(association for _, _, association in sorted(rows, key=lambda row: row[:2]))


@contextlib.contextmanager
def learning(
    index: Index, home: Home, source: Source, write: bool = True, now: float | None = None, required: bool = True
) -> Iterator[Learning]:
    """Open the feedback store as one transaction, committed if the block ends without an error.

    It is the team's if there is one, else the file in `home`. Unless `required`, errors of the team's store lead to the
    file as well.
    """
    with team.opened(index.root, home, write, required) as store:
        yield Learning(index, source, store, time.time() if now is None else now)


def learned_signals(
    index: Index, home: Home, source: Source, task: str, session: str = "", now: float | None = None
) -> Learned:
    """Return the feedback, session and vocabulary signals for a task; empty where the store cannot be read.

    Raises Unusable for a damaged file, with the command that resets it.
    """
    try:
        with learning(index, home, source, write=False, now=now, required=False) as feedback:
            return feedback.learned(task, session)
    except StoreError as error:
        warnings.warn(f"{error}; answering without feedback", stacklevel=2)
    except CannotWrite:
        pass
    return Learned()


def record_returned(
    index: Index, home: Home, source: Source, items: Sequence[Item], task: str, session: str, now: float | None = None
) -> None:
    """Record which items a session received; does nothing without a session or where nothing can be written."""
    if session:
        with (
            contextlib.suppress(CannotWrite, Unusable, StoreError),
            learning(index, home, source, now=now, required=False) as feedback,
        ):
            feedback.returned(items, task, session)


def shared_state(root: Path, home: Home) -> str:
    """Return a text that changes with the feedback of a team; empty where there is none. Never fails."""
    with contextlib.suppress(AssayError):
        if team.team_of(root) is not None:
            with team.opened(root, home, write=False, required=False) as store:
                return store.state() if store.shared else ""
    return ""


def forget_everything(root: Path, home: Home, of_team: bool = False) -> int:
    """Delete all feedback, even from a damaged file; return the number of symbols that had records.

    With a team's store, the file is left alone, and that of everybody is deleted if `of_team`; else raises AssayError.
    """
    shared = team.team_of(root)
    if shared is not None:
        if not of_team:
            raise AssayError(
                f"the feedback on {shared.repository} is shared in {shared.address}: --all deletes that of everybody. "
                "Add --team to do that"
            )
        with team.opened(root, home, write=True, required=True) as store:
            return store.drop_everything()
    path = path_in(home)
    if not path.exists():
        return 0
    try:
        with opened(path, write=True) as database, Store.over(database, write=True) as store:
            return store.drop_everything()
    except Unusable:
        remove(path)
        return 0
