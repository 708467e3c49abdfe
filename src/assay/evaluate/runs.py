"""Run store: each system's complete responses, from which metrics are computed on demand.

eval_golden          golden sets, each as it was when the run was made
eval_runs            one row per run: settings, system description, aggregate
eval_query_results   one row per query: hits, answer, trace, latency, error
eval_judged          judged arrays of a run: what metrics, comparisons and gates read instead of the hits

eval_baselines       runs that gates compare with, by name (`ledger.py`)
eval_experiments     hypotheses and their outcomes (`ledger.py`)

The tables are in an SQLite file (`run_file.py`), or in PostgreSQL for a team (`assay.database`).
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from assay.core.cautions import Caution, from_json
from assay.core.golden import GoldenQuery, GoldenSet, Response
from assay.database import LOCK_TIMEOUT, Damaged, Database, Row, require_driver
from assay.database.address import Address, is_postgres
from assay.errors import AssayError
from assay.evaluate import run_file
from assay.evaluate.encoding import (
    RESPONSE_COLUMNS,
    OnlyRepository,
    OnlyTags,
    decode,
    decode_response,
    encode,
    encode_queries,
    encode_response,
    plain_text,
)
from assay.evaluate.judging import JUDGING_VERSION, Judged, judge
from assay.evaluate.ledger import Ledger
from assay.evaluate.matching import Matcher, matcher
from assay.evaluate.run_file import NoSuchRun
from assay.text.suggest import did_you_mean


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

    @property
    def requested(self) -> int:
        """The number of results requested for each query."""
        return max(self.k, self.depth)


_JSON_COLUMNS = ("config", "versions", "environment", "warnings", "aggregate_json")
_COLUMNS = tuple(column.name for column in fields(RunInfo))
_GOLDEN_COLUMNS = ("golden", "digest", "path", "format", "queries")
# tables of a run's rows, with the columns after run_id and the order in which a digest reads them
_PARTS = {
    "eval_query_results": (("position", "query_id", *RESPONSE_COLUMNS, "unstable"), "position"),
    "eval_judged": (("matching", "version", "name", "kind", "data"), "matching, name"),
}
_UNFINISHED = ("running", "incomplete", "failures")  # states of a run that may be resumed
# what changes when a run is resumed
_CONTINUED = (
    "finished", "status", "label", "environment", "warnings", "config", "chunker_version", "aggregate_json",
)  # fmt: skip
# types of judged arrays: a forged store cannot name others, such as objects
_DTYPE = {
    np.dtype(name).str: np.dtype(name) for name in ("bool", "int8", "int16", "int32", "int64", "float32", "float64")
}
_NOT_RUN = Response(error="not asked: the run was interrupted")
_SELECT_ANSWER = f"{', '.join(RESPONSE_COLUMNS)} FROM eval_query_results"
_POSITIONS_AT_ONCE = 500  # parameters of a statement; older SQLite allows 999
_COPIED_AT_ONCE = 5_000  # rows; a few megabytes of hits


Value = TypeVar("Value")
Part = tuple[str, list[Row]]  # a table, and rows of a run without its id


class RunStore:
    """Runs in a database. Opened for reading it never writes."""

    def __init__(self, database: Database) -> None:
        self.place, self._db, self.ledger = database.place, database, Ledger(database)
        self._golden: dict[str, tuple[str, str, bytes]] = {}  # the last golden set read; a large one is 75 MB

    @classmethod
    @contextlib.contextmanager
    def open(cls, address: Path | str, write: bool = False, wait: float = LOCK_TIMEOUT) -> Iterator[RunStore]:
        """Open the store at a path or a PostgreSQL address; wait up to `wait` seconds for another writer.

        A missing file is created if `write`.
        """
        with _open_database(address, write, wait) as database:
            yield cls(database)

    @classmethod
    def in_memory(cls) -> RunStore:
        """Return an empty store that ends with the process, for runs that are not kept."""
        return cls(run_file.in_memory())

    # writing

    def start(self, info: RunInfo, golden: GoldenSet) -> RunInfo:
        """Insert a new run and its golden set; return it with a unique id (a number is appended if needed)."""
        queries = encode_queries(golden.queries)
        key = _golden_key(golden, queries)
        row = asdict(info) | {"golden": key}
        row |= {name: encode(row[name]) for name in _JSON_COLUMNS}
        with self._db.transaction():
            self._db.insert("eval_golden", _GOLDEN_COLUMNS, (key, golden.digest, golden.path, golden.format, queries))
            run_id, number = info.run_id, 1
            while not self._db.insert("eval_runs", _COLUMNS, [(row | {"run_id": run_id})[name] for name in _COLUMNS]):
                number += 1
                run_id = f"{info.run_id}-{number}"
        return self.info(run_id)

    def record(self, run_id: str, answers: Sequence[tuple[int, str, Response, bool]]) -> None:
        """Store responses: (position, query id, response, True if repeats differed)."""
        rows = [
            (run_id, position, plain_text(query_id), *encode_response(reply), bool(unstable))
            for position, query_id, reply, unstable in answers
        ]
        self._db.replace("eval_query_results", _columns("eval_query_results"), rows)

    def update(self, run_id: str, **columns: Any) -> None:
        """Update columns of a run."""
        values = [encode(value) if name in _JSON_COLUMNS else value for name, value in columns.items()]
        assignments = ", ".join(f"{name} = ?" for name in columns)
        self._db.change(f"UPDATE eval_runs SET {assignments} WHERE run_id = ?", [*values, run_id])

    def save_judged(self, run_id: str, matching: str, judged: Judged) -> None:
        rows: list[Row] = [(name, array.dtype.str, array.tobytes()) for name, array in judged.arrays().items()]
        rows.append(("queries", "json", msgspec.json.encode(judged.queries)))
        with self._db.transaction():
            self._db.change("DELETE FROM eval_judged WHERE run_id = ? AND matching = ?", (run_id, matching))
            stored = [(run_id, matching, JUDGING_VERSION, *row) for row in rows]
            self._db.replace("eval_judged", _columns("eval_judged"), stored)

    def copy(self, source: RunStore, info: RunInfo) -> RunInfo:
        """Copy a run of another store, once; return it under its new id, which has a number if its own is taken.

        A run that was resumed or labelled since it was copied is brought up to date.
        """
        same = next(iter(self.copies(info)), None)
        if same and replace(same, run_id=info.run_id) == info:
            return same
        with self._db.transaction():  # an interrupted copy leaves nothing
            run_id = (same or self.start(info, source.golden(info))).run_id
            self._insert(run_id, source.parts(info.run_id))
            if same:
                self.update(run_id, **{name: getattr(info, name) for name in _CONTINUED})
        return self.info(run_id)

    def add(self, info: RunInfo, golden: GoldenSet, parts: Iterable[Part]) -> RunInfo:
        """Insert a whole run from the `parts` of another store; return it under its new id."""
        with self._db.transaction():
            run_id = self.start(info, golden).run_id
            self._insert(run_id, parts)
            if run_id != info.run_id:
                self.update(run_id, aggregate_json=info.aggregate_json | {"run_id": run_id})
        return self.info(run_id)

    def _insert(self, run_id: str, parts: Iterable[Part]) -> None:
        for table, rows in parts:
            self._db.replace(table, _columns(table), [(run_id, *row) for row in rows])

    def delete(self, runs: Sequence[RunInfo]) -> None:
        """Delete runs with all that belongs to them, and golden sets that no run uses any more."""
        self._golden = {}
        for info in runs:
            with self._db.transaction():
                for table in (*_PARTS, "eval_runs"):
                    self._db.change(f"DELETE FROM {table} WHERE run_id = ?", (info.run_id,))
        self._db.change(
            "DELETE FROM eval_golden WHERE NOT EXISTS (SELECT 1 FROM eval_runs WHERE eval_runs.golden = eval_golden.golden)"
        )

    def close(self) -> None:
        self._db.close()

    # reading

    def runs(self) -> list[RunInfo]:
        """Return every run, oldest first."""
        order = f"created, {self._db.sequence}"
        rows = self._db.rows(f"SELECT {', '.join(_COLUMNS)} FROM eval_runs ORDER BY {order}")
        return [_decode_info(row) for row in rows]

    def like(self, golden: GoldenSet, **columns: Any) -> list[RunInfo]:
        """Return the runs of exactly this golden set with these column values, newest first."""
        conditions = {"golden": _golden_key(golden, encode_queries(golden.queries)), **columns}
        where = " AND ".join(f"{name} {self._db.same} ?" for name in conditions)
        order = f"created DESC, {self._db.sequence} DESC"
        rows = self._db.rows(
            f"SELECT {', '.join(_COLUMNS)} FROM eval_runs WHERE {where} ORDER BY {order}", list(conditions.values())
        )
        return [_decode_info(row) for row in rows]

    def info(self, run_id: str) -> RunInfo:
        rows = self._db.rows(f"SELECT {', '.join(_COLUMNS)} FROM eval_runs WHERE run_id = ?", (run_id,))
        if not rows:
            raise NoSuchRun(f"no run called '{run_id}' in {self.place}")
        return _decode_info(rows[0])

    def find(self, name: str) -> RunInfo:
        """Return a run by id, unique id prefix, label, `latest`, or `latest~1` for the one before; raise NoSuchRun."""
        runs = self.runs()
        if match := re.fullmatch(r"latest(?:~(\d+))?", name):
            back = int(match[1] or 0)
            if back >= len(runs):
                raise NoSuchRun(f"'{name}' does not exist: {self.place} has only {len(runs)} runs")
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
            f"no run called '{name}' in {self.place}.{hint} `assay eval list` shows all; `latest` is the last"
        )

    def golden(self, info: RunInfo) -> GoldenSet:
        """Return the golden set of a run, as it was when the run was made."""
        path, form, blob = self._stored_golden(info)
        return GoldenSet(decode(blob, tuple[GoldenQuery, ...]), path, form, info.golden_hash)

    def golden_path(self, info: RunInfo) -> str:
        return self._stored_golden(info)[0]

    def queries(self, info: RunInfo, positions: Sequence[int]) -> list[GoldenQuery]:
        """Return selected queries of a run's golden set; only those are decoded, which is most of the work."""
        raw = decode(self._stored_golden(info)[2], list[msgspec.Raw])
        return [decode(raw[position], GoldenQuery) for position in positions]

    def repositories(self, info: RunInfo) -> list[str]:
        """Return the repository of each query of a run."""
        rows = decode(self._stored_golden(info)[2], list[OnlyRepository])
        return [row.repository for row in rows]

    def tagged(self, info: RunInfo, tag: str) -> frozenset[str]:
        """Return the ids of a run's queries that have a tag."""
        rows = decode(self._stored_golden(info)[2], list[OnlyTags])
        return frozenset(row.id for row in rows if tag in row.tags)

    def _stored_golden(self, info: RunInfo) -> tuple[str, str, bytes]:
        if info.golden not in self._golden:
            rows = self._db.rows("SELECT path, format, queries FROM eval_golden WHERE golden = ?", (info.golden,))
            if not rows:
                raise AssayError(f"{self.place}: the golden set of run {info.run_id} is missing from the store")
            path, form, queries = rows[0]
            self._golden = {info.golden: (path, form, queries)}
        return self._golden[info.golden]

    def answered(self, run_id: str) -> dict[int, bool]:
        """Return the answered positions of a run, each with True when it succeeded."""
        rows = self._db.rows("SELECT position, error = '' FROM eval_query_results WHERE run_id = ?", (run_id,))
        return {position: bool(succeeded) for position, succeeded in rows}

    def responses(self, run_id: str, queries: int) -> list[Response]:
        """Return all responses by position; a query that was not run has an error response."""
        results = [_NOT_RUN] * queries
        for position, *row in self._db.stream(f"SELECT position, {_SELECT_ANSWER} WHERE run_id = ?", (run_id,)):
            if not 0 <= position < queries:
                raise Damaged(f"run {run_id} has a response {position}, but {queries} queries")
            results[position] = decode_response(row)
        return results

    def responses_at(self, run_id: str, positions: Sequence[int]) -> list[Response]:
        """Return the responses at these positions, in their order."""
        answers: dict[int, Response] = {}
        for batch in _batches(dict.fromkeys(positions), _POSITIONS_AT_ONCE):
            places = ", ".join("?" * len(batch))
            select = f"SELECT position, {_SELECT_ANSWER} WHERE run_id = ? AND position IN ({places})"
            answers |= {position: decode_response(row) for position, *row in self._db.rows(select, (run_id, *batch))}
        return [answers.get(position, _NOT_RUN) for position in positions]

    def unstable(self, run_id: str) -> list[str]:
        """Return the ids of queries whose repeats differed."""
        rows = self._db.rows(
            "SELECT query_id FROM eval_query_results WHERE run_id = ? AND unstable ORDER BY position", (run_id,)
        )
        return [row[0] for row in rows]

    def judged(self, info: RunInfo, matching: str = "") -> Judged:
        """Return the judged arrays: as stored, or judged again for another matcher or judging version."""
        name = matching or info.matching
        rows = self._db.rows(
            "SELECT name, kind, data FROM eval_judged WHERE run_id = ? AND matching = ? AND version = ?",
            (info.run_id, name, JUDGING_VERSION),
        )
        if rows:
            return _decode_judged(rows)
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

    def copies(self, info: RunInfo) -> list[RunInfo]:
        """Return the runs that are copies of a run of another store, perhaps of an earlier state of it."""
        return [run for run in self.runs() if _is_copy(run, info)]

    def parts(self, run_id: str) -> Iterator[Part]:
        """Yield the responses and judged arrays of a run as stored, some rows at a time."""
        for table, (columns, _) in _PARTS.items():
            select = f"SELECT {', '.join(columns)} FROM {table} WHERE run_id = ?"
            for rows in _batches(self._db.stream(select, (run_id,)), _COPIED_AT_ONCE):
                yield table, rows

    def is_intact(self, info: RunInfo) -> bool:
        """Return whether the golden set is what its key, a hash, says."""
        path, form, queries = self._stored_golden(info)
        return info.golden == _golden_key(GoldenSet((), path, form, ""), queries)

    def digest(self, info: RunInfo) -> str:
        """Return a hash of a run with its golden set, responses and judged arrays, the same in every store."""
        path, form, queries = self._stored_golden(info)
        identity = encode({**asdict(info), "run_id": "", "golden": [path, form]}).encode()
        digest = hashlib.sha256(identity + queries)
        for table, (columns, order) in _PARTS.items():
            select = f"SELECT {', '.join(columns)} FROM {table} WHERE run_id = ? ORDER BY {order}"
            for row in self._db.stream(select, (info.run_id,)):
                values = [_canonical(name, value) for name, value in zip(columns, row, strict=True)]
                digest.update(msgspec.msgpack.encode(values))
        return digest.hexdigest()

    def size(self) -> int:
        """Return the bytes of the store on disk."""
        return self._db.size()


def _open_database(address: Path | str, write: bool, wait: float) -> contextlib.AbstractContextManager[Database]:
    """Open the database of an address, creating a missing file if `write`. Errors are raised as AssayError."""
    if isinstance(address, str) and is_postgres(address):
        require_driver()
        from assay.database import postgres

        return postgres.opened(Address.parse(address), write, wait)
    return run_file.opened(Path(address), write, wait)


def _matching_runs(runs: Sequence[RunInfo], name: str) -> list[RunInfo]:
    """Return the run of this id, else the last of this label, else all whose id starts with the name."""
    return (
        [run for run in runs if run.run_id == name]
        or [run for run in runs if run.label == name != ""][-1:]
        or [run for run in runs if run.run_id.startswith(name)]
    )


def _is_copy(run: RunInfo, source: RunInfo) -> bool:
    """Return whether a run was copied from the other one: it is the same, or an unfinished state of it."""
    changed = _CONTINUED if run.status in _UNFINISHED else ("label",)
    progress: dict[str, Any] = {name: getattr(source, name) for name in ("run_id", *changed)}
    numbered = re.fullmatch(re.escape(source.run_id) + r"(-\d+)?", run.run_id)
    return numbered is not None and replace(run, **progress) == source


def _batches(values: Iterable[Value], size: int) -> Iterator[list[Value]]:
    remaining = iter(values)
    while batch := list(islice(remaining, size)):
        yield batch


def _golden_key(golden: GoldenSet, queries: bytes) -> str:
    return hashlib.sha256(msgspec.json.encode((golden.path, golden.format)) + queries).hexdigest()


def _decode_info(row: Row) -> RunInfo:
    values = dict(zip(_COLUMNS, row, strict=True))
    values["answers"] = bool(values["answers"])
    values |= {name: decode(values[name]) for name in _JSON_COLUMNS}
    try:
        warnings = [from_json(warning) for warning in msgspec.convert(values.pop("warnings"), list[Any])]
        return replace(msgspec.convert(values, RunInfo), warnings=warnings)
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        raise Damaged(f"a run: {error}") from None


def _decode_judged(rows: Sequence[Row]) -> Judged:
    try:
        arrays = {name: np.frombuffer(data, _DTYPE[kind]) for name, kind, data in rows if kind != "json"}
        queries = next(decode(data, tuple[str, ...]) for name, _, data in rows if name == "queries")
        return Judged.from_arrays(queries, arrays)
    except (KeyError, ValueError, TypeError, StopIteration) as error:
        raise Damaged(f"judged arrays: {error}") from None


def _columns(table: str) -> tuple[str, ...]:
    return ("run_id", *_PARTS[table][0])


def _canonical(column: str, value: Any) -> Any:
    """Return a value as every database has it: SQLite has no booleans and no NaN."""
    if column == "unstable":
        return bool(value)
    return None if isinstance(value, float) and value != value else value
