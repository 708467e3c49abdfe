"""Count the spans of export requests: join each to the nearest ancestor with a symbol, add up calls, keep the bounds.

A span is counted when it comes, under its caller as far as that is known. A parent may come later, in another request or
another file: the span waits for it in the table, and its count moves to the caller when the parent is there.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from assay.store.traces.calls import CALLS, HOUR, End, bucket_of, packed_durations, unpacked_durations
from assay.store.traces.database import transaction

MOST_CALLS = 100_000  # rows: some 8 MB
MOST_SPANS = 100_000  # rows: some 7 MB, an hour of 25 spans per second
MOST_BATCHES = 500_000  # digests: some 8 MB
MOST_ENDS = 100_000  # symbols, each in all versions that were observed
_SLACK = 1.2  # a table may exceed its bound by this much before it is pruned
_DEEPEST = 64  # spans between a call and the nearest ancestor with a symbol
_MOST_PARAMETERS = 10_000  # of one statement

_BY_HOUR = 26  # hours that are kept one by one: `in the last day` needs them
_BY_DAY = 31 * 24  # hours that are kept by day
_DAY, _MONTH = 24, 30 * 24
_LONGEST = 400 * 24  # hours: older observations are deleted


class Observed(NamedTuple):
    """A span as far as it is counted. Ends are positions in a list; 0 is none."""

    key: int
    parent: int
    target: int  # what was called
    caller: int  # what calls the spans below it: the same symbol, or the topic that it sends to
    service: int
    remote: int  # position in TYPES, plus 1, if the span serves a call from outside its process
    source: int  # the caller, where the span itself says so: the topic that a consumer receives from
    time: int  # seconds; 0: unknown
    micros: int
    is_error: bool


class Stored(NamedTuple):
    """Number of spans that were new, that had been counted before, and that are calls of a symbol or topic."""

    spans: int
    repeated: int
    calls: int


class _Row(NamedTuple):
    """A row of `spans`. Ends are numbers of the table `ends`."""

    key: int
    parent: int
    target: int
    caller: int
    service: int
    remote: int
    missing: int  # key of the nearest ancestor that has not come yet; 0: none is missing
    source: int  # under which the span is counted
    type: int
    time: int
    micros: int
    error: int
    place: int  # order of arrival


class _Origin(NamedTuple):
    """Caller and type of a call, by the ancestors of its span."""

    source: int
    type: int
    missing: int = 0
    is_same: bool = False  # the nearest ancestor is the same call: a server's span around that of its handler


_CallKey = tuple[int, int, int, int]  # target, source, type, hour


def is_counted(connection: sqlite3.Connection, digest: int) -> bool:
    """Return whether a batch was counted before."""
    return connection.execute("SELECT 1 FROM batches WHERE digest = ?", (digest,)).fetchone() is not None


def add(
    connection: sqlite3.Connection,
    batches: Sequence[tuple[int, Sequence[Observed]]],
    ends: Sequence[End],
    now: float | None = None,
) -> Stored:
    """Count batches, each with its digest, in one transaction; those counted before are left out."""
    with transaction(connection):
        new = {digest: spans for digest, spans in batches if not is_counted(connection, digest)}
        place = _next_place(connection, "batches")
        connection.executemany(
            "INSERT INTO batches VALUES (?, ?)", [(digest, place + n) for n, digest in enumerate(new)]
        )
        counting = _Counting(connection, ends, int(time.time() if now is None else now))
        spans, calls = counting.add([span for spans in new.values() for span in spans])
        _prune(connection, counting.now)
    return Stored(spans, sum(len(spans) for _, spans in batches) - spans, calls)


class _Counting:
    """One transaction."""

    def __init__(self, connection: sqlite3.Connection, ends: Sequence[End], now: int) -> None:
        self._connection, self._ends, self.now = connection, ends, now
        self._numbers = {0: 0}  # of ends, by position
        self._spans: dict[int, _Row] = {}  # spans by key
        self._changes: dict[_CallKey, list[Any]] = {}  # count, errors, first, last, calls by latency bucket
        self._calls = 0

    def add(self, spans: Sequence[Observed]) -> tuple[int, int]:
        """Count spans; return how many were new, and how many are calls."""
        rows = self._new_rows(spans)
        self._load_ancestors(row.parent for row in rows)
        counted = [self._count(row) for row in rows]
        moved = list(self._move_waiting(row.key for row in rows))
        self._connection.executemany(f"INSERT INTO spans VALUES ({', '.join('?' * len(_Row._fields))})", counted)
        self._connection.executemany("UPDATE spans SET missing = ?, source = ?, type = ? WHERE key = ?", moved)
        for key, change in self._changes.items():
            _change_row(self._connection, key, change)
        return len(rows), self._calls

    def _new_rows(self, spans: Sequence[Observed]) -> list[_Row]:
        """Return the spans that are not in the table yet; exporters may send one twice in different requests."""
        repeated = {
            key for (key,) in _select(self._connection, "SELECT key FROM spans WHERE key IN", {s.key for s in spans})
        }
        place, oldest = _next_place(self._connection, "spans"), self.now - _LONGEST * HOUR
        number = self._number
        for span in spans:
            if span.key not in repeated and span.key not in self._spans:
                self._spans[span.key] = _Row(
                    span.key, span.parent, number(span.target), number(span.caller), number(span.service), span.remote, 0,
                    number(span.source), CALLS, min(max(span.time or self.now, oldest), self.now), min(span.micros, 1 << 40),
                    int(span.is_error), place + len(self._spans),
                )  # fmt: skip
        return list(self._spans.values())

    def _number(self, position: int) -> int:
        """Return the number of an end, adding it if needed."""
        if position not in self._numbers:
            end = self._ends[position]
            self._connection.execute(
                "INSERT INTO ends (repository, id, text, file) VALUES (?, ?, ?, ?) "
                "ON CONFLICT DO UPDATE SET file = excluded.file", end,
            )  # fmt: skip
            self._numbers[position] = self._connection.execute(
                "SELECT number FROM ends WHERE repository = ? AND id = ? AND text = ?", end[:3]
            ).fetchone()[0]
        return self._numbers[position]

    def _load_ancestors(self, keys: Iterable[int]) -> None:
        keys_left = set(keys)
        for _ in range(_DEEPEST):
            keys_left -= self._spans.keys() | {0}
            if not keys_left:
                return
            fetched = {
                row[0]: _Row(*row) for row in _select(self._connection, "SELECT * FROM spans WHERE key IN", keys_left)
            }
            self._spans |= fetched
            keys_left = {row.parent for row in fetched.values() if not row.caller}

    def _count(self, row: _Row) -> _Row:
        """Count the call that a span is; return it with its caller, or the ancestor that it waits for."""
        if not row.target:
            return row
        if not row.source:
            origin = self._origin(row, row.parent, row.remote, 0)
            if origin.is_same:
                return row
            row = row._replace(source=origin.source, type=origin.type, missing=origin.missing)
        self._change(row, row.source, row.type, 1)
        self._calls += 1
        if row.caller != row.target:  # a producer: its function sends to the topic
            self._change(row._replace(target=row.caller), row.target, CALLS, 1)
        return row

    def _origin(self, row: _Row, key: int, remote: int, service: int) -> _Origin:
        """Follow ancestors, from that with a key on, to the nearest one with a symbol or a topic."""
        for _ in range(_DEEPEST):
            if not key:
                break
            parent = self._spans.get(key)
            if parent is None:
                return _Origin(service, max(0, remote - 1), key)
            if parent.caller:
                is_same = parent.caller == row.target and parent.remote > 0
                return _Origin(parent.caller, max(0, remote - 1), 0, is_same)
            if not service and parent.service != row.service:
                service = parent.service
            key, remote = parent.parent, remote or parent.remote
        return _Origin(service, max(0, remote - 1))

    def _move_waiting(self, keys: Iterable[int]) -> Iterator[tuple[int, int, int, int]]:
        """Move calls that waited for one of these spans to their caller; yield what each row is changed to."""
        waiting = [_Row(*row) for row in _select(self._connection, "SELECT * FROM spans WHERE missing IN", keys)]
        self._load_ancestors(row.missing for row in waiting)
        for row in waiting:
            # the part of the way that is behind it is in the row: whether it was remote, and from which service
            origin = self._origin(row, row.missing, row.remote or (row.type and row.type + 1), row.source)
            if (origin.source, origin.type) != (row.source, row.type) or origin.is_same:
                self._change(row, row.source, row.type, -1)
                if not origin.is_same:
                    self._change(row, origin.source, origin.type, 1)
            yield origin.missing, origin.source, origin.type, row.key

    def _change(self, row: _Row, source: int, type: int, count: int) -> None:
        key, bucket = (row.target, source, type, row.time // HOUR), bucket_of(row.micros)
        change = self._changes.get(key)
        if change is None:
            self._changes[key] = [count, count * row.error, row.time, row.time, {bucket: count}]
            return
        change[0] += count
        change[1] += count * row.error
        change[2], change[3] = min(change[2], row.time), max(change[3], row.time)
        change[4][bucket] = change[4].get(bucket, 0) + count


def _next_place(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT coalesce(max(place), 0) + 1 FROM {table}").fetchone()[0])


def _select(connection: sqlite3.Connection, query: str, keys: Iterable[int]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query that ends with IN, for all keys."""
    ordered = sorted(keys)
    for start in range(0, len(ordered), _MOST_PARAMETERS):
        chunk = ordered[start : start + _MOST_PARAMETERS]
        yield from connection.execute(f"{query} ({', '.join('?' * len(chunk))})", chunk).fetchall()


# Rows of calls

_ROW = (
    "SELECT count, errors, first, last, durations FROM calls WHERE target = ? AND source = ? AND type = ? AND hour = ?"
)


def _change_row(connection: sqlite3.Connection, key: _CallKey, change: Sequence[Any]) -> None:
    """Add a change to the row of its hour; what is taken away, to the row into which that hour was folded."""
    target, source, type, hour = key
    hours = [hour] if change[0] >= 0 else [hour, hour - hour % _DAY, hour - hour % _MONTH]
    for slot in hours:
        row = connection.execute(_ROW, (target, source, type, slot)).fetchone()
        if row or change[0] >= 0:
            merged = _merged(row, change) if row else change
            if merged[0] > 0:
                durations = packed_durations({bucket: count for bucket, count in merged[4].items() if count > 0})
                connection.execute(
                    "INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (target, source, type, slot, merged[0], max(0, merged[1]), merged[2], merged[3], durations),
                )
            elif row:
                connection.execute(
                    "DELETE FROM calls WHERE target = ? AND source = ? AND type = ? AND hour = ?", (*key[:3], slot)
                )
            return


def _merged(row: Sequence[Any], change: Sequence[Any]) -> list[Any]:
    durations = unpacked_durations(row[4])
    for bucket, count in change[4].items():
        durations[bucket] = durations.get(bucket, 0) + count
    return [row[0] + change[0], row[1] + change[1], min(row[2], change[2]), max(row[3], change[3]), durations]


# Bounds


def _prune(connection: sqlite3.Connection, now: int) -> None:
    """Fold old hours into days and months, and delete what exceeds the bounds: the oldest, then the least seen."""
    hour = now // HOUR
    connection.execute("DELETE FROM calls WHERE hour < ?", (hour - _LONGEST,))
    _fold(connection, hour - _BY_DAY, _MONTH)
    _fold(connection, hour - _BY_HOUR, _DAY)
    if _count(connection, "calls") > MOST_CALLS * _SLACK:
        _fold(connection, hour - _BY_HOUR, _MONTH)
        excess = max(0, _count(connection, "calls") - MOST_CALLS)
        connection.execute(
            "DELETE FROM calls WHERE (target, source, type, hour) IN "
            "(SELECT target, source, type, hour FROM calls ORDER BY hour / 24, count LIMIT ?)", (excess,),
        )  # fmt: skip
    for table, most in (("spans", MOST_SPANS), ("batches", MOST_BATCHES)):
        if _count(connection, table) > most * _SLACK:
            connection.execute(f"DELETE FROM {table} WHERE place < ?", (_next_place(connection, table) - most,))
    if _count(connection, "ends") > MOST_ENDS * _SLACK:
        used = " UNION ".join(f"SELECT {name} FROM calls" for name in ("source", "target"))
        used += "".join(f" UNION SELECT {name} FROM spans" for name in ("target", "caller", "service", "source"))
        connection.execute(f"DELETE FROM ends WHERE number NOT IN ({used})")


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _fold(connection: sqlite3.Connection, before: int, width: int) -> None:
    """Add up the rows before an hour by periods of some hours."""
    rows = connection.execute(
        "SELECT target, source, type, hour, count, errors, first, last, durations FROM calls WHERE hour < ? AND hour % ? != 0",
        (before, width),
    ).fetchall()
    folded: dict[_CallKey, list[Any]] = {}
    for target, source, type, hour, *values in rows:
        key = (target, source, type, hour - hour % width)
        change = [*values[:4], unpacked_durations(values[4])]
        folded[key] = _merged([*folded[key][:4], packed_durations(folded[key][4])], change) if key in folded else change
    connection.executemany(
        "DELETE FROM calls WHERE target = ? AND source = ? AND type = ? AND hour = ?", [row[:4] for row in rows]
    )
    for key, change in folded.items():
        _change_row(connection, key, change)
