"""What was learned, row by row: beside the index's generations, so that indexing never touches it and an evaluation never opens it.

symbols      what records speak of, each as its text was, with the times it was useful and not
vocabulary   words of tasks → symbols that were used for them
sessions     the words of each session's last task, and whether anybody reports what is used
pending      what each session was given last, and whether it was used
accesses     when each session was given a symbol
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from assay.learn import database
from assay.learn.marks import Mark
from assay.learn.sessions import FORGOTTEN, KEPT_TIMES

# read whole for every task; those never useful go first, then the oldest
KEPT_SYMBOLS, KEPT_ASSOCIATIONS = 2_000, 20_000
KEPT_SESSIONS = 86_400.0  # seconds: an agent that comes back the next day begins anew

_KEPT = "SELECT key FROM symbols ORDER BY useful > 0 DESC, time DESC, key DESC LIMIT ?"
_SILENT = (
    "useful = 0 AND not_useful = 0 AND key NOT IN (SELECT symbol FROM pending UNION SELECT symbol FROM accesses"
    " UNION SELECT symbol FROM vocabulary)"
)
_NEWEST = "SELECT rowid FROM accesses WHERE session = ? AND symbol = ? ORDER BY time DESC LIMIT ?"


class Record(NamedTuple):
    """What is known of one symbol as it was."""

    key: int
    mark: Mark
    useful: int
    not_useful: int
    time: float


class Store:
    """The rows of one file, in one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path, write: bool) -> Iterator[Store]:
        """The rows of one moment; what is written is kept when the block ends without an error, all of it or nothing."""
        with database.connected(path, write) as connection, database.transaction(connection, write):
            yield cls(connection)

    # symbols

    def keep(self, marks: Iterable[Mark], now: float) -> dict[str, int]:
        """The keys of symbols as they are now, by id; new ones get a row."""
        keys = {}
        for mark in marks:
            self._db.execute(
                "INSERT INTO symbols (id, text, file, time) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (id, text) DO UPDATE SET time = excluded.time",
                (mark.id, mark.text, mark.file, now),
            )
            row = self._db.execute("SELECT key FROM symbols WHERE id = ? AND text = ?", (mark.id, mark.text))
            keys[mark.id] = int(row.fetchone()[0])
        return keys

    def records(self) -> list[Record]:
        """What is known of all symbols."""
        rows = self._db.execute("SELECT key, id, text, file, gone, useful, not_useful, time FROM symbols")
        return [Record(row[0], Mark(*row[1:5]), *row[5:]) for row in rows]

    def count(self, keys: Iterable[int], useful: bool) -> None:
        """Adds one to the times these symbols were useful, or not."""
        column = "useful" if useful else "not_useful"
        self._db.executemany(f"UPDATE symbols SET {column} = {column} + 1 WHERE key = ?", [(key,) for key in keys])

    def place(self, standing: Mapping[int, bytes], gone: Mapping[int, bytes]) -> None:
        """Notes the files in which symbols stand unchanged, and those in which they have another text."""
        for column, files in (("file", standing), ("gone", gone)):
            rows = [(file, key) for key, file in files.items()]
            self._db.executemany(f"UPDATE symbols SET {column} = ? WHERE key = ?", rows)

    def drop(self, keys: Iterable[int]) -> None:
        """Forgets symbols and all that speaks of them."""
        self._db.executemany("DELETE FROM symbols WHERE key = ?", [(key,) for key in keys])

    def drop_everything(self) -> int:
        """Forgets all there is; returns how many symbols it spoke of."""
        self._db.execute("DELETE FROM sessions")
        spoken_of = int(self._db.execute("SELECT count(DISTINCT id) FROM symbols").fetchone()[0])
        self._db.execute("DELETE FROM symbols")
        return spoken_of

    # vocabulary

    def associate(self, words: Mapping[str, str], keys: Iterable[int], times: int = 1) -> None:
        """Every word (by its stem) was in a task that every symbol was used for, so often more; or less, where it was not useful."""
        self._db.executemany(
            "INSERT INTO vocabulary (term, symbol, word, count) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (term, symbol) DO UPDATE SET count = count + excluded.count",
            [(term, key, word, times) for key in keys for term, word in words.items()],
        )

    def associations(self, terms: Iterable[str] | None, least: int) -> dict[int, dict[str, int]]:
        """The words that symbols were used for at least so often, of these stems or of all: symbol → word → how often."""
        chosen = "" if terms is None else "AND term IN (SELECT value FROM json_each(?))"
        parameters = (least,) if terms is None else (least, json.dumps(sorted(terms)))
        found: dict[int, dict[str, int]] = defaultdict(dict)
        rows = self._db.execute(
            f"SELECT symbol, word, count FROM vocabulary WHERE count >= ? {chosen} ORDER BY count DESC, word",
            parameters,
        )
        for key, word, count in rows:
            found[key][word] = count
        return dict(found)

    # sessions

    def begin(self, session: str, words: Mapping[str, str], keys: Iterable[int], now: float) -> None:
        """A session was given these symbols for a task of these words; what it was given before is over."""
        self._db.execute(
            "INSERT INTO sessions (name, words, time) VALUES (?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET words = excluded.words, time = excluded.time",
            (session, json.dumps(words), now),
        )
        rows = [(session, key) for key in dict.fromkeys(keys)]
        self._db.execute("DELETE FROM pending WHERE session = ?", (session,))
        self._db.executemany("INSERT INTO pending (session, symbol) VALUES (?, ?)", rows)
        self._db.executemany("INSERT INTO accesses VALUES (?, ?, ?)", [(*row, now) for row in rows])
        self._db.executemany(
            f"DELETE FROM accesses WHERE session = ? AND symbol = ? AND rowid NOT IN ({_NEWEST})",
            [(*row, *row, KEPT_TIMES) for row in rows],
        )

    def watch(self, session: str) -> dict[str, str]:
        """Notes that somebody reports what a session uses; returns the words of its task."""
        self._db.execute("UPDATE sessions SET watched = 1 WHERE name = ?", (session,))
        row = self._db.execute("SELECT words FROM sessions WHERE name = ?", (session,)).fetchone()
        return dict(json.loads(row[0])) if row else {}

    def watched(self, session: str) -> bool:
        row = self._db.execute("SELECT watched FROM sessions WHERE name = ?", (session,)).fetchone()
        return bool(row and row[0])

    def unused(self, session: str) -> dict[str, int]:
        """What a session was given last and has not used yet: ids with their keys."""
        rows = self._db.execute(
            "SELECT s.id, s.key FROM pending p JOIN symbols s ON s.key = p.symbol WHERE p.session = ? AND NOT p.used",
            (session,),
        )
        return dict(rows.fetchall())

    def use(self, session: str, keys: Iterable[int]) -> None:
        self._db.executemany(
            "UPDATE pending SET used = 1 WHERE session = ? AND symbol = ?", [(session, key) for key in keys]
        )

    def accesses(self, session: str) -> dict[int, list[float]]:
        """When a session was given each symbol."""
        found: dict[int, list[float]] = defaultdict(list)
        for key, time in self._db.execute("SELECT symbol, time FROM accesses WHERE session = ?", (session,)):
            found[key].append(time)
        return dict(found)

    # bounds

    def tidy(self, now: float) -> None:
        """Drops what is too old to matter and what is beyond the bounds; a time far ahead is of a clock that was set back."""
        self._db.execute("DELETE FROM accesses WHERE abs(? - time) > ?", (now, FORGOTTEN))
        self._db.execute("DELETE FROM sessions WHERE abs(? - time) > ?", (now, KEPT_SESSIONS))
        self._db.execute(f"DELETE FROM symbols WHERE {_SILENT}")
        if self._rows("symbols") > KEPT_SYMBOLS:
            self._db.execute(f"DELETE FROM symbols WHERE key NOT IN ({_KEPT})", (KEPT_SYMBOLS,))
        if self._rows("vocabulary") > KEPT_ASSOCIATIONS:
            self._db.execute(
                "DELETE FROM vocabulary WHERE rowid NOT IN (SELECT rowid FROM vocabulary ORDER BY count DESC, rowid DESC LIMIT ?)",
                (KEPT_ASSOCIATIONS,),
            )

    def _rows(self, table: str) -> int:
        return int(self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
