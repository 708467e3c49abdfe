"""Runs in their own SQLite file: what each system answered, whole. Metrics are computed from what is stored here, whenever asked.

eval_golden          the golden sets runs were made with, each as it was then
eval_runs            one row per run: what was asked of whom, and the aggregate
eval_query_results   one row per query: hits, answer, trace, latency, error
eval_judged          the judged arrays of a run: what metrics, comparisons and gates read instead of the hits
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.core.golden import Expected, GoldenQuery, GoldenSet, Response
from assay.errors import AssayError
from assay.evaluate.judging import JUDGING_VERSION, judge
from assay.evaluate.matching import MATCHERS, matcher
from assay.evaluate.metrics.judged import Judged
from assay.evaluate.rows import (
    ANSWER,
    NOT_ASKED,
    Damaged,
    OnlyRepository,
    OnlyTags,
    decode,
    golden_queries,
    response,
    response_row,
)
from assay.system.database import check_schema, connect, statements, was_interrupted
from assay.system.files import FOLDER, UnsafeFolder, check_folder, make_folder, owners
from assay.text.terms import nearest

SCHEMA_VERSION = 1
WAIT = 10.0  # seconds to wait for another writer

_SCHEMA = """
CREATE TABLE eval_golden (golden TEXT PRIMARY KEY, digest TEXT, path TEXT, format TEXT, queries BLOB);
CREATE TABLE eval_runs (
    run_id TEXT PRIMARY KEY, created TEXT, finished TEXT, status TEXT, label TEXT, golden_hash TEXT, golden TEXT, system TEXT, config TEXT,
    matching TEXT, level TEXT, k INTEGER, depth INTEGER, budget INTEGER, repeat INTEGER, answers INTEGER, corpus TEXT,
    index_fingerprint TEXT, chunker_version TEXT, versions TEXT, environment TEXT, warnings TEXT,
    aggregate_json TEXT
);
CREATE TABLE eval_query_results (
    run_id TEXT, position INTEGER, query_id TEXT, hits BLOB, answer BLOB, trace BLOB, config BLOB, tokens INTEGER, latency_ms REAL, error TEXT,
    unstable INTEGER,
    PRIMARY KEY (run_id, position)
) WITHOUT ROWID;
CREATE TABLE eval_judged (
    run_id TEXT, matching TEXT, version INTEGER, name TEXT, kind TEXT, data BLOB, PRIMARY KEY (run_id, matching, name)
) WITHOUT ROWID;
"""
_MADE_BY = statements(_SCHEMA)


class NoSuchRun(AssayError):
    """No run of that name; the message says what there is."""


class RunsInUse(AssayError):
    """Another process is writing to the run file; asking again later helps."""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One row of `eval_runs`: everything about a run but its answers."""

    run_id: str
    created: str
    golden_hash: str  # of what can change a score: runs with the same one are comparable
    system: str
    matching: str
    level: str
    k: int
    finished: str = ""
    status: str = "running"  # running, complete, incomplete
    label: str = ""
    golden: str = ""  # of everything in the golden set, its order too: the key of the stored set
    config: dict[str, Any] = field(default_factory=dict)  # what the system says of itself
    depth: int = 0
    budget: int | None = None
    repeat: int = 1
    answers: bool = False
    corpus: str = ""
    index_fingerprint: str = ""
    chunker_version: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    aggregate_json: dict[str, Any] = field(default_factory=dict)


_JSON_COLUMNS = ("config", "versions", "environment", "warnings", "aggregate_json")
_COLUMNS = tuple(column.name for column in fields(RunInfo))
_ANSWER = f"{', '.join(ANSWER)} FROM eval_query_results"


class RunStore:
    """The run file. Opened for reading it never writes, so a read-only disk can still be read."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._db = path, connection

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path, write: bool = False, wait: float = WAIT) -> Iterator[RunStore]:
        """The store at this path; made when it is to be written and does not exist. Waits so many seconds for another writer."""
        try:
            if path.parent.name == FOLDER:
                check_folder(path.parent, owners())
                from assay.git import refuse_tracked

                refuse_tracked(path.parent, again=False)
                if write:
                    make_folder(path.parent)
            elif write:
                path.parent.mkdir(parents=True, exist_ok=True)
            if not write and not path.exists():
                raise _no_runs(path)
            connection = connect(path, "rwc" if write else "ro", wait, any_thread=True)
        except UnsafeFolder as error:
            raise AssayError(f"{error.problem}. {error.remedy}, or give another file with --runs FILE.") from None
        except (OSError, sqlite3.Error) as error:
            raise _unusable(path, error) from None
        try:
            store = cls(path, connection)
            store._prepare(write)
            yield store
        except (sqlite3.Error, Damaged) as error:
            raise _unusable(path, error) from None
        finally:
            connection.close()

    def _prepare(self, write: bool) -> None:
        if not write:
            _roll_back(self.path)
        if self._version() == 0 and not self._tables():
            if not write:
                raise _no_runs(self.path)
            with self._transaction():
                if not self._tables():  # nobody was faster
                    for statement in _MADE_BY:
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        version = self._version()
        if version == 0:
            raise AssayError(f"{self.path}: a database, but not of runs. Give another file with --runs FILE.")
        if version != SCHEMA_VERSION:
            raise AssayError(
                f"{self.path}: the run file has format {version}, this version of assay reads {SCHEMA_VERSION}. "
                "Use the assay that wrote it, or give another file with --runs FILE."
            )
        check_schema(self._db, _MADE_BY)

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _tables(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._db.in_transaction:  # a full disk has ended it already
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # writing

    def start(self, info: RunInfo, golden: GoldenSet) -> RunInfo:
        """Notes that a run begins. Its id is made unique by a number behind it where needed."""
        queries = golden_queries(golden.queries)
        key = _golden_key(golden, queries)
        with self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO eval_golden VALUES (?, ?, ?, ?, ?)",
                (key, golden.digest, golden.path, golden.format, queries),
            )
            run_id, number = info.run_id, 1
            while self._db.execute("SELECT 1 FROM eval_runs WHERE run_id = ?", (run_id,)).fetchone():
                number += 1
                run_id = f"{info.run_id}-{number}"
            row = asdict(info) | {"run_id": run_id, "golden": key}
            row |= {name: msgspec.json.encode(row[name], order="deterministic").decode() for name in _JSON_COLUMNS}
            self._db.execute(
                f"INSERT INTO eval_runs ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})",
                [row[name] for name in _COLUMNS],
            )
        return self.info(run_id)

    def record(self, run_id: str, answers: Sequence[tuple[int, str, Response, bool]]) -> None:
        """Stores what was answered: (position, query id, response, whether repeats differed)."""
        rows = [
            (run_id, position, query_id, *response_row(one), int(unstable))
            for position, query_id, one, unstable in answers
        ]
        with self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO eval_query_results VALUES (?,?,?,?,?,?,?,?,?,?,?)", rows)

    def update(self, run_id: str, **columns: Any) -> None:
        """Changes columns of a run."""
        values = [
            msgspec.json.encode(value, order="deterministic").decode() if name in _JSON_COLUMNS else value
            for name, value in columns.items()
        ]
        with self._transaction():
            self._db.execute(
                f"UPDATE eval_runs SET {', '.join(f'{name} = ?' for name in columns)} WHERE run_id = ?",
                [*values, run_id],
            )

    def save_judged(self, run_id: str, matching: str, judged: Judged) -> None:
        rows = [(name, array.dtype.str, array.tobytes()) for name, array in judged.arrays().items()]
        rows.append(("queries", "json", msgspec.json.encode(judged.queries)))
        with self._transaction():
            self._db.execute("DELETE FROM eval_judged WHERE run_id = ? AND matching = ?", (run_id, matching))
            self._db.executemany(
                "INSERT INTO eval_judged VALUES (?, ?, ?, ?, ?, ?)",
                [(run_id, matching, JUDGING_VERSION, *row) for row in rows],
            )

    def delete(self, run_id: str) -> None:
        with self._transaction():
            for table in ("eval_judged", "eval_query_results", "eval_runs"):
                self._db.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))

    # reading

    def runs(self) -> list[RunInfo]:
        """Every run, oldest first."""
        rows = self._db.execute(f"SELECT {', '.join(_COLUMNS)} FROM eval_runs ORDER BY created, rowid").fetchall()
        return [_info(row) for row in rows]

    def like(self, golden: GoldenSet, **columns: Any) -> list[RunInfo]:
        """The runs of this very golden set with these values in their columns, newest first."""
        wanted = {"golden": _golden_key(golden, golden_queries(golden.queries)), **columns}
        where = " AND ".join(f"{name} IS ?" for name in wanted)
        rows = self._db.execute(
            f"SELECT {', '.join(_COLUMNS)} FROM eval_runs WHERE {where} ORDER BY created DESC, rowid DESC",
            list(wanted.values()),
        )
        return [_info(row) for row in rows.fetchall()]

    def info(self, run_id: str) -> RunInfo:
        row = self._db.execute(f"SELECT {', '.join(_COLUMNS)} FROM eval_runs WHERE run_id = ?", (run_id,)).fetchone()
        if row is None:
            raise NoSuchRun(f"no run called '{run_id}' in {self.path}")
        return _info(row)

    def find(self, name: str) -> RunInfo:
        """The run somebody means: its id, a unique beginning of it, its label, `latest`, or `latest~1` for the one before."""
        known = self.runs()
        if name == "latest" or (name.startswith("latest~") and name[7:].isdigit()):
            back = int(name[7:] or 0) if "~" in name else 0
            if back >= len(known):
                raise NoSuchRun(f"there are only {len(known)} runs in {self.path}; '{name}' goes further back")
            return known[-1 - back]
        exact = [run for run in known if run.run_id == name] or [run for run in known if run.label == name != ""][-1:]
        found = exact or [run for run in known if run.run_id.startswith(name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise NoSuchRun(f"'{name}' could be any of {', '.join(run.run_id for run in found[:5])}; write more of it")
        near = nearest(name, [run.run_id for run in known], 3) or [run.run_id for run in known[-3:]]
        hint = f" Nearest: {', '.join(near)}." if near else ""
        raise NoSuchRun(
            f"no run called '{name}' in {self.path}.{hint} `assay eval list` shows all; `latest` is the last"
        )

    def golden(self, info: RunInfo) -> GoldenSet:
        """The golden set a run was made with, as it was then."""
        path, form, blob = self._stored_golden(info)
        return GoldenSet(decode(blob, tuple[GoldenQuery, ...]), path, form, info.golden_hash)

    def golden_path(self, info: RunInfo) -> str:
        return self._stored_golden(info)[0]

    def queries(self, info: RunInfo, positions: Sequence[int]) -> list[GoldenQuery]:
        """Some queries of a run's golden set; the others are passed over, which in a large set is most of the work."""
        raw = decode(self._stored_golden(info)[2], list[msgspec.Raw])
        return [decode(raw[position], GoldenQuery) for position in positions]

    def repositories(self, info: RunInfo) -> list[str]:
        """The repository of each query of a run."""
        rows = decode(self._stored_golden(info)[2], list[OnlyRepository])
        return [row.repository for row in rows]

    def tagged(self, info: RunInfo, tag: str) -> frozenset[str]:
        """The queries of a run that have a tag."""
        rows = decode(self._stored_golden(info)[2], list[OnlyTags])
        return frozenset(row.id for row in rows if tag in row.tags)

    def _stored_golden(self, info: RunInfo) -> tuple[str, str, bytes]:
        row: tuple[str, str, bytes] | None = self._db.execute(
            "SELECT path, format, queries FROM eval_golden WHERE golden = ?", (info.golden,)
        ).fetchone()
        if row is None:
            raise AssayError(f"{self.path}: the golden set of run {info.run_id} is not in it any more")
        return row

    def answered(self, run_id: str) -> dict[int, bool]:
        """Which positions of a run have been answered, and whether without error."""
        rows = self._db.execute("SELECT position, error = '' FROM eval_query_results WHERE run_id = ?", (run_id,))
        return {position: bool(good) for position, good in rows}

    def responses(self, run_id: str, queries: int) -> list[Response]:
        """What was answered, by position; a query nobody asked has an error that says so."""
        found = [NOT_ASKED] * queries
        for position, *row in self._db.execute(f"SELECT position, {_ANSWER} WHERE run_id = ?", (run_id,)):
            found[position] = response(row)
        return found

    def responses_at(self, run_id: str, positions: Sequence[int]) -> list[Response]:
        """What was answered at these positions, in their order."""
        asked = f"SELECT {_ANSWER} WHERE run_id = ? AND position = ?"
        rows = (self._db.execute(asked, (run_id, position)).fetchone() for position in positions)
        return [NOT_ASKED if row is None else response(row) for row in rows]

    def unstable(self, run_id: str) -> list[str]:
        """The queries whose repeats differed."""
        rows = self._db.execute(
            "SELECT query_id FROM eval_query_results WHERE run_id = ? AND unstable ORDER BY position", (run_id,)
        )
        return [row[0] for row in rows]

    def judged(self, info: RunInfo, matching: str = "") -> Judged:
        """A run, judged: as stored, else (another matcher, a newer judging) from its hits again."""
        name = matching or info.matching
        rows = self._db.execute(
            "SELECT name, kind, data FROM eval_judged WHERE run_id = ? AND matching = ? AND version = ?",
            (info.run_id, name, JUDGING_VERSION),
        ).fetchall()
        if rows:
            arrays = {key: np.frombuffer(data, dtype=kind) for key, kind, data in rows if kind != "json"}
            queries = next(decode(data, tuple[str, ...]) for key, _, data in rows if key == "queries")
            return Judged.from_arrays(queries, arrays)
        golden = self.golden(info)
        chosen = matcher(name)
        level = info.level if name == info.matching else chosen.level_for(golden)
        return judge(golden.queries, self.responses(info.run_id, len(golden.queries)), chosen, level)


def _golden_key(golden: GoldenSet, queries: bytes) -> str:
    return hashlib.sha256(msgspec.json.encode((golden.path, golden.format)) + queries).hexdigest()


def _info(row: tuple[Any, ...]) -> RunInfo:
    values = dict(zip(_COLUMNS, row, strict=True))
    values["answers"] = bool(values["answers"])
    return RunInfo(**{n: decode(v) if n in _JSON_COLUMNS else v for n, v in values.items()})


def _no_runs(path: Path) -> NoSuchRun:
    return NoSuchRun(f"{path}: no runs yet. Make one with: assay eval run --golden PATH --system SPEC")


def _roll_back(path: Path) -> None:
    """Undo what a killed writer left half written: a connection that only reads cannot, and would refuse the file."""
    if path.with_name(f"{path.name}-journal").exists():
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path, timeout=WAIT)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master")


def _unusable(path: Path, error: Exception) -> AssayError:
    said = str(error)
    if "locked" in said:
        return RunsInUse(
            f"{path}: another process is writing to the run file. Try again when it is done, or give --runs FILE."
        )
    if "readonly" in said or "unable to open" in said or isinstance(error, OSError):
        return AssayError(f"{path}: cannot write or open the run file ({said}). Give another place with --runs FILE.")
    if "not a database" in said or "malformed" in said or "other tables" in said or was_interrupted(error):
        return AssayError(
            f"{path}: not a run file, or damaged ({said}). Move it away, or give another with --runs FILE."
        )
    return AssayError(f"{path}: the run file cannot be used ({said})")


# Chunks of different chunkers held against one golden set: ids say nothing across them, documents and spans do.

Span = tuple[str, int, int]  # document, first and last line (or character)


@dataclass(frozen=True, slots=True)
class BySpan:
    """A run whose expected chunks are spans of documents now."""

    queries: tuple[GoldenQuery, ...]
    responses: list[Response]

    def judged(self) -> Judged:
        return judge(self.queries, self.responses, MATCHERS["span"], "span")

    @property
    def unknown(self) -> int:
        """Expected chunks of which nobody says where they are."""
        return sum(not (expected.end or expected.page) for query in self.queries for expected in query.at("span"))


def by_span(store: RunStore, a: RunInfo, b: RunInfo) -> tuple[BySpan, BySpan]:
    """Two runs by document and span: an expected chunk's span is the golden set's, else that of a hit of run a with its id, else of b."""
    sets = [store.golden(run).queries for run in (a, b)]
    answers = [store.responses(run.run_id, len(queries)) for run, queries in zip((a, b), sets, strict=True)]
    spans = _spans(answers[1]) | _spans(answers[0])  # ids of a are those the set was written for
    first, second = (
        BySpan(tuple(_moved(query, spans) for query in queries), responses)
        for queries, responses in zip(sets, answers, strict=True)
    )
    return first, second


def _spans(responses: Iterable[Response]) -> dict[str, Span]:
    return {hit.id: (hit.document, hit.start, hit.end) for one in responses for hit in one.hits if hit.end}


def _moved(query: GoldenQuery, spans: dict[str, Span]) -> GoldenQuery:
    """The query with its expected chunks as spans."""
    return replace(query, expected=tuple(_at(expected, spans) for expected in query.expected))


def _at(expected: Expected, spans: dict[str, Span]) -> Expected:
    if expected.level != "chunk":
        return expected
    doc, start, end = (
        (expected.doc, expected.start, expected.end) if expected.end else spans.get(expected.name, ("", 0, 0))
    )
    return replace(expected, level="span", doc=doc, start=start, end=end)


def answered(side: BySpan, positions: Sequence[int]) -> list[tuple[GoldenQuery, Response]]:
    """Some queries of a side, with what was answered."""
    return [(side.queries[position], side.responses[position]) for position in positions]
