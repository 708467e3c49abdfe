"""Run store: an SQLite file with each system's complete responses, from which metrics are computed on demand.

eval_golden          golden sets, each as it was when the run was made
eval_runs            one row per run: settings, system description, aggregate
eval_query_results   one row per query: hits, answer, trace, latency, error
eval_judged          judged arrays of a run: what metrics, comparisons and gates read instead of the hits
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.core.cautions import Caution, from_json
from assay.core.golden import Expected, GoldenQuery, GoldenSet, Hit, Response
from assay.errors import AssayError
from assay.evaluate.judging import JUDGING_VERSION, Judged, judge
from assay.evaluate.matching import Matcher, matcher
from assay.system.database import check_schema, connect, connect_in_memory, statements, was_interrupted
from assay.system.files import FOLDER, UnsafeFolder, check_folder, make_folder, owners
from assay.text.suggest import did_you_mean

SCHEMA_VERSION = 1
LOCK_TIMEOUT = 10.0  # seconds to wait for another writer

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
_SCHEMA_STATEMENTS = statements(_SCHEMA)


class NoSuchRun(AssayError):
    """No run matches the name; the message lists the nearest."""


class RunsInUse(AssayError):
    """Another process is writing to the run file; retrying later helps."""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A row of `eval_runs`: everything about a run except its responses."""

    run_id: str
    created: str
    golden_hash: str  # hash of what can change a score: runs with equal hashes are comparable
    system: str
    matching: str
    level: str
    k: int
    finished: str = ""
    status: str = "running"  # running, complete, failures, incomplete
    label: str = ""
    golden: str = ""  # key of the stored golden set: a hash of everything in it, including its order
    config: dict[str, Any] = field(default_factory=dict)  # the system's self-description
    depth: int = 0
    budget: int | None = None
    repeat: int = 1
    answers: bool = False
    corpus: str = ""
    index_fingerprint: str = ""
    chunker_version: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    warnings: list[Caution] = field(default_factory=list)
    aggregate_json: dict[str, Any] = field(default_factory=dict)


_JSON_COLUMNS = ("config", "versions", "environment", "warnings", "aggregate_json")
_COLUMNS = tuple(column.name for column in fields(RunInfo))
# columns of `eval_query_results` that hold a response
_RESPONSE_COLUMNS = ("hits", "answer", "trace", "config", "tokens", "latency_ms", "error")
_TABLES_OF_A_RUN = {
    "eval_query_results": f"position, query_id, {', '.join(_RESPONSE_COLUMNS)}, unstable",
    "eval_judged": "matching, version, name, kind, data",
}
_NOT_RUN = Response(error="not asked: the run was interrupted")
_SELECT_ANSWER = f"{', '.join(_RESPONSE_COLUMNS)} FROM eval_query_results"


class RunStore:
    """The run file. Opened for reading it never writes, so it works on a read-only disk."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._db = path, connection

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path, write: bool = False, wait: float = LOCK_TIMEOUT) -> Iterator[RunStore]:
        """Open the store, creating it if `write`; wait up to `wait` seconds for another writer."""
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
                raise _no_runs_error(path)
            connection = connect(path, "rwc" if write else "ro", wait, any_thread=True)
        except UnsafeFolder as error:
            raise AssayError(f"{error.problem}. {error.remedy}, or give another file with --runs FILE.") from None
        except (OSError, sqlite3.Error) as error:
            raise _unusable_file_error(path, error) from None
        try:
            store = cls(path, connection)
            store._prepare(write)
            yield store
        except (sqlite3.Error, _Damaged) as error:
            raise _unusable_file_error(path, error) from None
        finally:
            connection.close()

    @classmethod
    def in_memory(cls) -> RunStore:
        """Return an empty store that ends with the process, for runs that are not kept."""
        store = cls(Path(":memory:"), connect_in_memory())
        store._prepare(write=True)
        return store

    def _prepare(self, write: bool) -> None:
        if not write:
            _roll_back_journal(self.path)
        if self._version() == 0 and not self._tables():
            if not write:
                raise _no_runs_error(self.path)
            with self._transaction():
                if not self._tables():  # no other process created it meanwhile
                    for statement in _SCHEMA_STATEMENTS:
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        version = self._version()
        if version == 0:
            raise AssayError(
                f"{self.path}: an SQLite database, but not a run file. Give another file with --runs FILE."
            )
        if version != SCHEMA_VERSION:
            raise AssayError(
                f"{self.path}: the run file has format {version}, this version of assay reads {SCHEMA_VERSION}. "
                "Use the assay that wrote it, or give another file with --runs FILE."
            )
        check_schema(self._db, _SCHEMA_STATEMENTS)

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
            if self._db.in_transaction:  # a full disk has already ended the transaction
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # writing

    def start(self, info: RunInfo, golden: GoldenSet) -> RunInfo:
        """Insert a new run and its golden set; return it with a unique id (a number is appended if needed)."""
        queries = _encode_queries(golden.queries)
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
        """Store responses: (position, query id, response, True if repeats differed)."""
        rows = [
            (run_id, position, query_id, *_encode_response(reply), int(unstable))
            for position, query_id, reply, unstable in answers
        ]
        with self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO eval_query_results VALUES (?,?,?,?,?,?,?,?,?,?,?)", rows)

    def update(self, run_id: str, **columns: Any) -> None:
        """Update columns of a run."""
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

    def close(self) -> None:
        self._db.close()

    def copy(self, source: RunStore, info: RunInfo) -> RunInfo:
        """Copy a run of another store, once; return it under its new id, which has a number if its own is taken."""
        numbered = self._db.execute(
            f"SELECT {', '.join(_COLUMNS)} FROM eval_runs WHERE run_id = ? OR run_id GLOB ? || '-[0-9]*'",
            (info.run_id, info.run_id),
        )
        for stored in map(_decode_info, numbered.fetchall()):
            if replace(stored, run_id=info.run_id) == info:
                return stored
        copied = self.start(info, source.golden(info))
        for table, columns in _TABLES_OF_A_RUN.items():
            rows = source._db.execute(f"SELECT {columns} FROM {table} WHERE run_id = ?", (info.run_id,)).fetchall()
            places = ", ".join("?" * (columns.count(",") + 2))
            with self._transaction():
                self._db.executemany(
                    f"INSERT INTO {table} (run_id, {columns}) VALUES ({places})",
                    [(copied.run_id, *row) for row in rows],
                )
        return copied

    # reading

    def runs(self) -> list[RunInfo]:
        """Return every run, oldest first."""
        rows = self._db.execute(f"SELECT {', '.join(_COLUMNS)} FROM eval_runs ORDER BY created, rowid").fetchall()
        return [_decode_info(row) for row in rows]

    def like(self, golden: GoldenSet, **columns: Any) -> list[RunInfo]:
        """Return the runs of exactly this golden set with these column values, newest first."""
        conditions = {"golden": _golden_key(golden, _encode_queries(golden.queries)), **columns}
        where = " AND ".join(f"{name} IS ?" for name in conditions)
        rows = self._db.execute(
            f"SELECT {', '.join(_COLUMNS)} FROM eval_runs WHERE {where} ORDER BY created DESC, rowid DESC",
            list(conditions.values()),
        )
        return [_decode_info(row) for row in rows.fetchall()]

    def info(self, run_id: str) -> RunInfo:
        row = self._db.execute(f"SELECT {', '.join(_COLUMNS)} FROM eval_runs WHERE run_id = ?", (run_id,)).fetchone()
        if row is None:
            raise NoSuchRun(f"no run called '{run_id}' in {self.path}")
        return _decode_info(row)

    def find(self, name: str) -> RunInfo:
        """Return a run by id, unique id prefix, label, `latest`, or `latest~1` for the one before; raise NoSuchRun."""
        runs = self.runs()
        if match := re.fullmatch(r"latest(?:~(\d+))?", name):
            back = int(match[1] or 0)
            if back >= len(runs):
                raise NoSuchRun(f"'{name}' does not exist: {self.path} has only {len(runs)} runs")
            return runs[-1 - back]
        matches = _matching_runs(runs, name)
        if len(matches) == 1:
            return matches[0]
        ids = [run.run_id for run in matches]
        if ids:
            raise NoSuchRun(f"'{name}' is ambiguous: {', '.join(ids[:5])}; give more characters")
        ids = [run.run_id for run in runs]
        hint = did_you_mean(name, ids, 3) or (f" The last: {', '.join(ids[-3:])}." if ids else "")
        raise NoSuchRun(
            f"no run called '{name}' in {self.path}.{hint} `assay eval list` shows all; `latest` is the last"
        )

    def golden(self, info: RunInfo) -> GoldenSet:
        """Return the golden set of a run, as it was when the run was made."""
        path, form, blob = self._stored_golden(info)
        return GoldenSet(_decode(blob, tuple[GoldenQuery, ...]), path, form, info.golden_hash)

    def golden_path(self, info: RunInfo) -> str:
        return self._stored_golden(info)[0]

    def queries(self, info: RunInfo, positions: Sequence[int]) -> list[GoldenQuery]:
        """Return selected queries of a run's golden set; only those are decoded, which is most of the work."""
        raw = _decode(self._stored_golden(info)[2], list[msgspec.Raw])
        return [_decode(raw[position], GoldenQuery) for position in positions]

    def repositories(self, info: RunInfo) -> list[str]:
        """Return the repository of each query of a run."""
        rows = _decode(self._stored_golden(info)[2], list[_OnlyRepository])
        return [row.repository for row in rows]

    def tagged(self, info: RunInfo, tag: str) -> frozenset[str]:
        """Return the ids of a run's queries that have a tag."""
        rows = _decode(self._stored_golden(info)[2], list[_OnlyTags])
        return frozenset(row.id for row in rows if tag in row.tags)

    def _stored_golden(self, info: RunInfo) -> tuple[str, str, bytes]:
        row: tuple[str, str, bytes] | None = self._db.execute(
            "SELECT path, format, queries FROM eval_golden WHERE golden = ?", (info.golden,)
        ).fetchone()
        if row is None:
            raise AssayError(f"{self.path}: the golden set of run {info.run_id} is missing from the run file")
        return row

    def answered(self, run_id: str) -> dict[int, bool]:
        """Return the answered positions of a run, each with True when it succeeded."""
        rows = self._db.execute("SELECT position, error = '' FROM eval_query_results WHERE run_id = ?", (run_id,))
        return {position: bool(succeeded) for position, succeeded in rows}

    def responses(self, run_id: str, queries: int) -> list[Response]:
        """Return all responses by position; a query that was not run has an error response."""
        results = [_NOT_RUN] * queries
        for position, *row in self._db.execute(f"SELECT position, {_SELECT_ANSWER} WHERE run_id = ?", (run_id,)):
            results[position] = _decode_response(row)
        return results

    def responses_at(self, run_id: str, positions: Sequence[int]) -> list[Response]:
        """Return the responses at these positions, in their order."""
        select = f"SELECT {_SELECT_ANSWER} WHERE run_id = ? AND position = ?"
        rows = (self._db.execute(select, (run_id, position)).fetchone() for position in positions)
        return [_NOT_RUN if row is None else _decode_response(row) for row in rows]

    def unstable(self, run_id: str) -> list[str]:
        """Return the ids of queries whose repeats differed."""
        rows = self._db.execute(
            "SELECT query_id FROM eval_query_results WHERE run_id = ? AND unstable ORDER BY position", (run_id,)
        )
        return [row[0] for row in rows]

    def judged(self, info: RunInfo, matching: str = "") -> Judged:
        """Return the judged arrays: as stored, or judged again for another matcher or judging version."""
        name = matching or info.matching
        rows = self._db.execute(
            "SELECT name, kind, data FROM eval_judged WHERE run_id = ? AND matching = ? AND version = ?",
            (info.run_id, name, JUDGING_VERSION),
        ).fetchall()
        if rows:
            arrays = {key: np.frombuffer(data, dtype=kind) for key, kind, data in rows if kind != "json"}
            queries = next(_decode(data, tuple[str, ...]) for key, _, data in rows if key == "queries")
            return Judged.from_arrays(queries, arrays)
        golden = self.golden(info)
        chosen = matcher(name)
        level = info.level if name == info.matching else chosen.level_for(golden)
        return judge(golden.queries, self.responses(info.run_id, len(golden.queries)), chosen, level)

    def rejudge(self, info: RunInfo, chosen: Matcher) -> RunInfo:
        """Judge a run by another matcher, beside its own; return the run as if it had been made with that matcher."""
        golden = self.golden(info)
        judged = self.judged(replace(info, matching=chosen.name, level=chosen.level_for(golden)))
        self.save_judged(info.run_id, chosen.name, judged)
        return replace(info, matching=chosen.name, level=chosen.level_for(golden))


def _matching_runs(runs: Sequence[RunInfo], name: str) -> list[RunInfo]:
    """Return the run of this id, else the last of this label, else all whose id starts with the name."""
    return (
        [run for run in runs if run.run_id == name]
        or [run for run in runs if run.label == name != ""][-1:]
        or [run for run in runs if run.run_id.startswith(name)]
    )


def _golden_key(golden: GoldenSet, queries: bytes) -> str:
    return hashlib.sha256(msgspec.json.encode((golden.path, golden.format)) + queries).hexdigest()


def _decode_info(row: tuple[Any, ...]) -> RunInfo:
    values = dict(zip(_COLUMNS, row, strict=True))
    values["answers"] = bool(values["answers"])
    values |= {name: _decode(values[name]) for name in _JSON_COLUMNS}
    values["warnings"] = [from_json(warning) for warning in values["warnings"]]
    return RunInfo(**values)


def _no_runs_error(path: Path) -> NoSuchRun:
    return NoSuchRun(f"{path}: no runs yet. Make one with: assay eval run --golden PATH --system SPEC")


def _roll_back_journal(path: Path) -> None:
    """Roll back what a killed writer left: a read-only connection cannot, and would refuse the file."""
    if path.with_name(f"{path.name}-journal").exists():
        with (
            contextlib.suppress(sqlite3.Error),
            contextlib.closing(sqlite3.connect(path, timeout=LOCK_TIMEOUT)) as connection,
        ):
            connection.execute("SELECT count(*) FROM sqlite_master")


def _unusable_file_error(path: Path, error: Exception) -> AssayError:
    message = str(error)
    if "locked" in message:
        return RunsInUse(
            f"{path}: another process is writing to the run file. Try again when it is done, or give --runs FILE."
        )
    if "readonly" in message or "unable to open" in message or isinstance(error, OSError):
        return AssayError(
            f"{path}: cannot write or open the run file ({message}). Give another place with --runs FILE."
        )
    if "not a database" in message or "malformed" in message or "other tables" in message or was_interrupted(error):
        return AssayError(
            f"{path}: not a run file, or damaged ({message}). Move it away, or give another with --runs FILE."
        )
    return AssayError(f"{path}: the run file cannot be used ({message})")


# JSON of golden queries, hits and responses in the run file

_DEFAULTS = {kind: {field.name: field.default for field in fields(kind)} for kind in (Hit, Expected, GoldenQuery)}


class _OnlyRepository(msgspec.Struct):
    """Partial decoding of a golden query: its repository."""

    repository: str = ""


class _OnlyTags(msgspec.Struct):
    """Partial decoding of a golden query: its id and tags."""

    id: str
    tags: tuple[str, ...] = ()


def _encode_queries(queries: Sequence[GoldenQuery]) -> bytes:
    return msgspec.json.encode(
        [_compact(query) | {"expected": [_compact(expected) for expected in query.expected]} for query in queries]
    )


def _encode_response(response: Response) -> tuple[Any, ...]:
    """Return a response as _RESPONSE_COLUMNS."""
    return (
        msgspec.json.encode([_compact(hit) for hit in response.hits]),
        msgspec.json.encode(response.answer),
        msgspec.json.encode(response.stages),
        msgspec.json.encode(response.config) if response.config else None,
        response.tokens,
        response.latency_ms,
        response.error,
    )


class _Damaged(Exception):
    """A stored value that this version of assay would not write."""


def _decode(data: Any, kind: Any = Any) -> Any:
    """Decode a stored JSON value as `kind`; raise _Damaged for anything else (a damaged or forged file)."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise _Damaged(str(error)) from None


def _decode_response(row: Sequence[Any]) -> Response:
    """Decode a response from _RESPONSE_COLUMNS."""
    hits, answer, trace, config, tokens, latency, error = row
    parts = {"hits": hits, "answer": answer, "stages": trace, "config": config or b"{}"}
    raw: dict[str, Any] = {name: msgspec.Raw(part) for name, part in parts.items()}
    encoded = msgspec.json.encode(raw | {"tokens": tokens, "latency_ms": latency, "error": error})
    decoded: Response = _decode(encoded, Response)
    return decoded


def _compact(value: Hit | Expected | GoldenQuery) -> dict[str, Any]:
    """Return the fields that differ from their defaults."""
    defaults = _DEFAULTS[type(value)].items()
    return {name: actual for name, default in defaults if (actual := getattr(value, name)) != default}
