"""Feedback store: what was learned about the symbols of a repository, in a file or in the store of a team.

symbols      versioned symbols with their useful and not-useful counts
vocabulary   task words → symbols that were used for them
sessions     the words of each session's last task, and whether its usage is reported
pending      the symbols each session received last, and whether it used them
accesses     times at which each session received a symbol
"""

from __future__ import annotations

import contextlib
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from assay.database import Damaged, Database, Row
from assay.feedback.marks import Mark

# Session recency: a boost with a half-life of three minutes.

HALF_LIFE = 180.0  # seconds: agents query every 30 to 90
CAP = 2.0  # a symbol in every answer must not crowd out the others
NEGLIGIBLE = 0.01
KEPT_TIMES = 20  # accesses per symbol
FORGOTTEN = 3600.0  # seconds: by then even twenty accesses sum to less than NEGLIGIBLE


def boost(times: Iterable[float], now: float) -> float:
    """Return the decayed sum of accesses, from 0 to CAP; times in the future count at most 1 each."""
    newest = sorted(times, reverse=True)[:KEPT_TIMES]
    total = math.fsum(0.5 ** (max(0.0, now - time) / HALF_LIFE) for time in newest)
    return min(total, CAP) if total >= NEGLIGIBLE else 0.0


def nearness(times: Iterable[float], now: float) -> float:
    """Return the boost relative to CAP."""
    return boost(times, now) / CAP


# Rows

# all rows are read for every task; symbols never useful are dropped first, then the oldest
KEPT_SYMBOLS, KEPT_ASSOCIATIONS = 2_000, 20_000
KEPT_SESSIONS = 86_400.0  # seconds: an agent that returns the next day starts anew
_AT_ONCE = 500  # parameters of a statement; older SQLite allows 999

_RETAINED = "SELECT key FROM symbols ORDER BY useful > 0 DESC, time DESC, key DESC LIMIT ?"
_UNREFERENCED = (
    "useful = 0 AND not_useful = 0 AND key NOT IN (SELECT symbol FROM pending UNION SELECT symbol FROM accesses"
    " UNION SELECT symbol FROM vocabulary)"
)


_COPIED = ("id", "text", "file", "gone", "useful", "not_useful", "time")
_RECORD = ("key", *_COPIED)


class Record(NamedTuple):
    """Feedback on one version of a symbol."""

    key: int
    mark: Mark
    useful: int
    not_useful: int
    time: float


class Store:
    """The rows of one repository. In the store of a team, sessions are each member's own, all else is shared."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self.shared = bool(database.member)

    @classmethod
    @contextlib.contextmanager
    def over(cls, database: Database, write: bool) -> Iterator[Store]:
        """Work in one transaction, committed if the block ends without an error. Writers take turns."""
        with database.transaction():
            if write:
                database.exclusive()
            yield cls(database)

    # symbols

    def keep(self, marks: Iterable[Mark], now: float) -> dict[str, int]:
        """Insert or refresh rows for symbol versions; return their keys by id."""
        by_id = {mark.id: mark for mark in marks}
        rows = [(mark.id, mark.text, mark.file, now) for mark in by_id.values()]
        self._db.merge("symbols", ("id", "text", "file", "time"), rows, {"time": "new.time"})
        keys: dict[str, int] = {}
        for batch in _batches(by_id):
            select = f"SELECT id, text, key FROM symbols WHERE id IN ({_places(batch)})"
            keys |= {id: int(key) for id, text, key in self._db.rows(select, batch) if text == by_id[id].text}
        return {id: keys[id] for id in by_id}

    def records(self) -> list[Record]:
        """Return the records of all symbols; of a store that exceeds its limits, the newest."""
        columns = ", ".join(_RECORD)
        rows = self._db.rows(f"SELECT {columns} FROM symbols ORDER BY time DESC, key DESC LIMIT ?", (4 * KEPT_SYMBOLS,))
        return [Record(row[0], Mark(*row[1:5]), *row[5:]) for row in reversed(rows)]

    def count(self, keys: Iterable[int], useful: bool) -> None:
        """Increment the useful or not-useful count of symbols."""
        column = "useful" if useful else "not_useful"
        self._change_symbols(f"UPDATE symbols SET {column} = {column} + 1", keys)

    def place(self, standing: Mapping[int, bytes], gone: Mapping[int, bytes]) -> None:
        """Record the files that hold symbols unchanged, and those that hold them with another text."""
        for column, files in (("file", standing), ("gone", gone)):
            rows = [(file, key) for key, file in files.items()]
            self._db.change_each(f"UPDATE symbols SET {column} = ? WHERE key = ?", rows)

    def drop(self, keys: Iterable[int]) -> None:
        """Delete symbols and all rows that reference them."""
        self._change_symbols("DELETE FROM symbols", keys)

    def drop_everything(self) -> int:
        """Delete all rows; return the number of symbols that had any."""
        self._db.change("DELETE FROM sessions")
        symbols = int(self._db.rows("SELECT count(DISTINCT id) FROM symbols")[0][0])
        self._db.change("DELETE FROM symbols")
        return symbols

    def _change_symbols(self, statement: str, keys: Iterable[int]) -> None:
        for batch in _batches(keys):
            self._db.change(f"{statement} WHERE key IN ({_places(batch)})", batch)

    # vocabulary

    def associate(self, words: Mapping[str, str], keys: Iterable[int], times: int = 1) -> None:
        """Add `times` to the association count of every word (by stem) with every symbol; negative lowers it."""
        rows = [(term, key, word, times) for key in keys for term, word in words.items()]
        self._db.merge("vocabulary", ("term", "symbol", "word", "count"), rows, {"count": "old.count + new.count"})

    def associations(self, terms: Iterable[str] | None, least: int) -> dict[int, dict[str, int]]:
        """Return symbol → word → count for counts of at least `least`, of these stems or of all."""
        select = "SELECT symbol, word, count FROM vocabulary WHERE count >= ?"
        chosen = None if terms is None else list(terms)
        if chosen == []:
            return {}
        condition = f" AND term IN ({_places(chosen)})" if chosen else ""
        limit = f" ORDER BY count DESC, word LIMIT {4 * KEPT_ASSOCIATIONS}"
        counts: dict[int, dict[str, int]] = defaultdict(dict)
        for key, word, count in self._db.rows(select + condition + limit, (least, *(chosen or ()))):
            counts[key][word] = count
        return dict(counts)

    # sessions

    def _own(self, session: str) -> str:
        """Return the stored name of a session: members of a team may choose the same."""
        return f"{self._db.member}:{session}".replace("\0", "") if self.shared else session

    def begin(self, session: str, words: Mapping[str, str], keys: Iterable[int], now: float) -> None:
        """Replace the pending symbols and task words of a session, and record the accesses."""
        session, number = self._own(session), self._db.sequence
        row = (session, json.dumps(words), now)
        self._db.merge("sessions", ("name", "words", "time"), [row], {"words": "new.words", "time": "new.time"})
        rows = [(session, key) for key in dict.fromkeys(keys)]
        self._db.change("DELETE FROM pending WHERE session = ?", (session,))
        self._db.merge("pending", ("session", "symbol"), rows, {})
        self._db.change_each(
            "INSERT INTO accesses (session, symbol, time) VALUES (?, ?, ?)", [(*row, now) for row in rows]
        )
        newest_first = f"SELECT {number} AS n, row_number() OVER (PARTITION BY symbol ORDER BY time DESC) AS place"
        self._db.change(
            f"DELETE FROM accesses WHERE {number} IN (SELECT n FROM ({newest_first} FROM accesses WHERE session = ?) AS own"
            " WHERE place > ?)",
            (session, KEPT_TIMES),
        )

    def watch(self, session: str) -> dict[str, str]:
        """Mark a session's usage as reported; return the words of its task."""
        session = self._own(session)
        self._db.change("UPDATE sessions SET watched = TRUE WHERE name = ?", (session,))
        rows = self._db.rows("SELECT words FROM sessions WHERE name = ?", (session,))
        return _decode_words(rows[0][0]) if rows else {}

    def watched(self, session: str) -> bool:
        rows = self._db.rows("SELECT watched FROM sessions WHERE name = ?", (self._own(session),))
        return bool(rows and rows[0][0])

    def pending(self, session: str, unused: bool = False) -> list[Record]:
        """Return the symbols a session received last, as they were then; or only those it has not used yet."""
        columns = ", ".join(f"s.{name}" for name in _RECORD)
        rows = self._db.rows(
            f"SELECT {columns} FROM pending p JOIN symbols s ON s.key = p.symbol WHERE p.session = ?"
            + (" AND NOT p.used" if unused else ""),
            (self._own(session),),
        )
        return [Record(row[0], Mark(*row[1:5]), *row[5:]) for row in rows]

    def follow(self, session: str, versions: Mapping[Record, Mark], now: float) -> None:
        """Copy votes and words of pending symbols to their new versions, which become the pending ones."""
        symbols = [(*mark[:3], b"", old.useful, old.not_useful, now) for old, mark in versions.items()]
        select = "SELECT term, word, count FROM vocabulary WHERE symbol = ?"
        self.take(
            symbols,
            [(*mark[:2], *row) for old, mark in versions.items() for row in self._db.rows(select, (old.key,))],
        )
        keys = self.keep(versions.values(), now)
        self._db.change_each(
            "UPDATE pending SET symbol = ? WHERE session = ? AND symbol = ?",
            [(keys[mark.id], self._own(session), old.key) for old, mark in versions.items()],
        )

    def use(self, session: str, keys: Iterable[int]) -> None:
        """Mark pending symbols as used."""
        rows = [(self._own(session), key) for key in keys]
        self._db.change_each("UPDATE pending SET used = TRUE WHERE session = ? AND symbol = ?", rows)

    def accesses(self, session: str) -> dict[int, list[float]]:
        """Return the access times of each symbol in a session."""
        times: dict[int, list[float]] = defaultdict(list)
        for key, time in self._db.rows("SELECT symbol, time FROM accesses WHERE session = ?", (self._own(session),)):
            times[key].append(time)
        return dict(times)

    def state(self) -> str:
        """Return a text that changes with every vote, word and access."""
        symbols = self._db.rows("SELECT count(*), max(key), sum(useful), sum(not_useful) FROM symbols")
        words = self._db.rows("SELECT count(*), sum(count) FROM vocabulary")
        accesses = self._db.rows(f"SELECT count(*), max({self._db.sequence}) FROM accesses")
        return repr([tuple(map(int, (value or 0 for value in row))) for (row,) in (symbols, words, accesses)])

    # copies

    def give(self) -> tuple[list[Row], list[Row]]:
        """Return all that may be copied: symbols with votes or words, and the words of each version of a symbol."""
        symbols = self._db.rows(
            f"SELECT {', '.join(_COPIED)} FROM symbols WHERE useful > 0 OR not_useful > 0 OR key IN "
            "(SELECT symbol FROM vocabulary) ORDER BY time, key"
        )
        words = self._db.rows("SELECT s.id, s.text, term, word, count FROM vocabulary JOIN symbols s ON s.key = symbol")
        return symbols, words

    def take(self, symbols: Sequence[Row], words: Sequence[Row]) -> int:
        """Add what another store gave; return the number of symbols. The larger of two counts holds."""
        self._db.merge("symbols", _COPIED, symbols, {name: _larger(name) for name in ("useful", "not_useful", "time")})
        keys = {(id, text): key for id, text, key in self._db.rows("SELECT id, text, key FROM symbols")}
        rows = [(term, keys[id, text], word, count) for id, text, term, word, count in words]
        self._db.merge("vocabulary", ("term", "symbol", "word", "count"), rows, {"count": _larger("count")})
        return len(symbols)

    def check(self) -> int:
        """Read everything; return the number of symbols. Raises Damaged."""
        self.associations(None, 1)
        for (words,) in self._db.rows("SELECT words FROM sessions"):
            _decode_words(words)
        return len(self.records())

    # limits

    def tidy(self, now: float) -> None:
        """Delete rows that are too old or exceed the limits; a time far ahead comes from a clock that was set back."""
        self._db.change("DELETE FROM accesses WHERE abs(? - time) > ?", (now, FORGOTTEN))
        self._db.change("DELETE FROM sessions WHERE abs(? - time) > ?", (now, KEPT_SESSIONS))
        self._db.change(f"DELETE FROM symbols WHERE {_UNREFERENCED}")
        if self._rows("symbols") > KEPT_SYMBOLS:
            self._db.change(f"DELETE FROM symbols WHERE key NOT IN ({_RETAINED})", (KEPT_SYMBOLS,))
        if self._rows("vocabulary") > KEPT_ASSOCIATIONS:
            number = self._db.sequence
            retained = f"SELECT {number} FROM vocabulary ORDER BY count DESC, {number} DESC LIMIT ?"
            self._db.change(f"DELETE FROM vocabulary WHERE {number} NOT IN ({retained})", (KEPT_ASSOCIATIONS,))

    def _rows(self, table: str) -> int:
        return int(self._db.rows(f"SELECT count(*) FROM {table}")[0][0])


def _larger(column: str) -> str:
    return f"CASE WHEN new.{column} > old.{column} THEN new.{column} ELSE old.{column} END"


def _batches(values: Iterable[Any]) -> Iterator[list[Any]]:
    remaining = list(values)
    for start in range(0, len(remaining), _AT_ONCE):
        yield remaining[start : start + _AT_ONCE]


def _places(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def _decode_words(text: str) -> dict[str, str]:
    """Decode the words of a task. Raises Damaged for what another version or a forger wrote."""
    try:
        words = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"words of a session: {error}") from None
    if not isinstance(words, dict) or not all(isinstance(word, str) for word in words.values()):
        raise Damaged("words of a session: not words by their stems")
    return words
