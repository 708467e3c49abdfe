"""Observed calls on disk: histograms add up, counts do not depend on the order of spans, everything is bounded."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.store.links.traces import confidence, describe
from assay.store.traces import counting
from assay.store.traces.calls import (
    DAY,
    HOUR,
    Calls,
    End,
    bucket_of,
    packed_durations,
    read_observations,
    unpacked_durations,
)
from assay.store.traces.counting import Observed, add
from assay.store.traces.database import CannotWrite, Unusable, opened, remove
from support.property_tests import examples

ENDS = [End("", ""), *(End("", f"app.py::f{n}", b"text", b"file") for n in range(1, 9)), End("", "service:web")]
SERVICE = len(ENDS) - 1
NOW = 1_800_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with opened(tmp_path / "traces.db", write=True) as connection:
        yield connection


def _span(key: int, parent: int = 0, end: int = 0, remote: int = 0, seconds: int = NOW, micros: int = 5000) -> Observed:
    return Observed(key, parent, end, end, SERVICE, remote, 0, seconds, micros, False)


def _counts(store: sqlite3.Connection) -> dict[tuple[str, str, str], int]:
    names = dict(store.execute("SELECT number, id FROM ends").fetchall()) | {0: ""}
    return {(names[row.source], names[row.target], row.type): row.total.count for row in read_observations(store, NOW)}


# Histograms


@given(st.dictionaries(st.integers(0, 160), st.integers(1, 1 << 40)))
@settings(max_examples=examples(100))
def test_a_histogram_is_read_as_it_was_written(durations: dict[int, int]) -> None:
    assert unpacked_durations(packed_durations(durations)) == durations


@given(st.binary(max_size=60))
@settings(max_examples=examples(100))
def test_any_bytes_are_read_as_some_histogram(data: bytes) -> None:
    assert all(0 <= bucket < 256 for bucket in unpacked_durations(data))


@given(st.lists(st.integers(2, 10**9), min_size=1, max_size=200), st.sampled_from([0.5, 0.95, 0.99]))
@settings(max_examples=examples(100))
def test_percentiles_are_within_nine_percent(micros: list[int], share: float) -> None:
    calls = Calls(len(micros), 0, 0, 0, Counter(map(bucket_of, micros)))
    exact = sorted(micros)[max(0, -int(-share * len(micros) // 1) - 1)]
    assert calls.percentile(share) == pytest.approx(exact, rel=0.1, abs=1)


def test_confidence_grows_from_a_fifth_to_almost_one_with_observations() -> None:
    assert [confidence(count) for count in (1, 10, 100, 1000, 10**6)] == [0.2, 0.45, 0.7, 0.95, 0.95]


def test_calls_are_described_in_words() -> None:
    calls = Calls(1204, 3, 0, 1_795_000_000, {bucket_of(13_000): 1204})
    assert describe(calls, "in the last day") == "called 1,204 times in the last day, p95 13 ms, 3 errors"
    assert describe(calls, "").startswith("called 1,204 times until 2026-11-18, p95 13 ms")


# Joining

TREE = [_span(1), _span(2, 1, 1), _span(3, 2), _span(4, 3, 2), _span(5, 4, 3), _span(6, 2, 3), _span(7, 999, 4)]
JOINED = {
    ("", "app.py::f1", "calls"): 1,
    ("app.py::f1", "app.py::f2", "calls"): 1,
    ("app.py::f2", "app.py::f3", "calls"): 1,
    ("app.py::f1", "app.py::f3", "calls"): 1,
    ("", "app.py::f4", "calls"): 1,
}


@given(st.permutations(TREE), st.lists(st.integers(0, len(TREE)), max_size=4))
@settings(max_examples=examples(100))
def test_counts_do_not_depend_on_order_and_batches(order: list[Observed], cuts: list[int]) -> None:
    connection = _in_memory()
    places = sorted({0, *cuts, len(order)})
    for number, (start, end) in enumerate(pairwise(places)):
        add(connection, [(number, order[start:end])], ENDS, NOW)
    assert _counts(connection) == JOINED
    connection.close()


def _in_memory() -> sqlite3.Connection:
    from assay.store.traces.database import _STATEMENTS

    connection = sqlite3.connect(":memory:", isolation_level=None)
    for statement in _STATEMENTS:
        connection.execute(statement)
    return connection


def test_cycles_of_parents_end(store: sqlite3.Connection) -> None:
    add(store, [(1, [_span(1, 2), _span(2, 1), _span(3, 1, 1), _span(4, 4, 2)])], ENDS, NOW)
    assert _counts(store) == {("", "app.py::f1", "calls"): 1, ("app.py::f2", "app.py::f2", "calls"): 1}


def test_times_of_the_future_and_of_long_ago_are_bounded(store: sqlite3.Connection) -> None:
    spans = [_span(1, 0, 1, seconds=1 << 62), _span(2, 0, 2, seconds=-5), _span(3, 0, 3, seconds=0)]
    add(store, [(1, spans)], ENDS, NOW)
    last = {row.total.last for row in read_observations(store, NOW)}
    assert last == {NOW, NOW - 400 * DAY}


# Bounds


def test_hours_become_days_and_months_and_keep_their_counts(store: sqlite3.Connection) -> None:
    for hour in range(0, 24 * 60, 5):
        add(store, [(hour, [_span(hour + 1, 0, 1, seconds=NOW - hour * HOUR)])], ENDS, NOW)
    rows = store.execute("SELECT count(*) FROM calls").fetchone()[0]
    assert rows < 45
    (row,) = read_observations(store, NOW)
    assert (row.total.count, row.period, row.recent.count) == (288, "in the last day", 5)
    add(store, [(-1, [_span(-1, 0, 2, seconds=NOW + 500 * DAY)])], ENDS, NOW + 500 * DAY)
    assert len(read_observations(store, NOW + 500 * DAY)) == 1


def test_tables_never_exceed_their_bounds(store: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST_CALLS", "MOST_SPANS", "MOST_BATCHES", "MOST_ENDS"):
        monkeypatch.setattr(counting, name, 50)
    draw = random.Random(1)
    for batch in range(100):
        ends = [End("", ""), *(End("", f"f{batch}.{n}", b"t", b"f") for n in range(5))]
        spans = [
            _span(batch * 10 + n, 0, 1 + n, seconds=NOW - draw.randrange(90 * DAY))._replace(service=0)
            for n in range(5)
        ]
        add(store, [(batch, spans)], ends, NOW)
    for table in ("calls", "spans", "batches", "ends"):
        assert 0 < store.execute(f"SELECT count(*) FROM {table}").fetchone()[0] <= 110, table


def test_a_parent_that_comes_after_its_child_was_dropped_moves_nothing(
    store: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "MOST_SPANS", 2)
    add(store, [(1, [_span(1, 99, 1)])], ENDS, NOW)
    add(store, [(2, [_span(n) for n in range(10, 20)])], ENDS, NOW)
    add(store, [(3, [_span(99, 0, 2)])], ENDS, NOW)
    assert _counts(store) == {("", "app.py::f1", "calls"): 1, ("", "app.py::f2", "calls"): 1}


def test_a_waiting_call_moves_even_after_its_hour_was_folded(store: sqlite3.Connection) -> None:
    add(store, [(1, [_span(1, 99, 1)])], ENDS, NOW)
    add(store, [(2, [_span(50, 0, 3, seconds=NOW + 5 * DAY)])], ENDS, NOW + 5 * DAY)
    add(store, [(3, [_span(99, 0, 2, seconds=NOW)])], ENDS, NOW + 5 * DAY)
    assert _counts(store)["app.py::f2", "app.py::f1", "calls"] == 1
    assert ("", "app.py::f1", "calls") not in _counts(store)


# The file


def test_another_schema_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    with opened(path, write=True) as connection:
        connection.execute("CREATE TRIGGER evil AFTER INSERT ON calls BEGIN DELETE FROM calls; END")
    with pytest.raises(Unusable, match="--forget"), opened(path, write=False):
        pass
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(Unusable, match="--forget"), opened(path, write=True):
        pass
    remove(path)
    assert not path.exists()


def test_a_full_disk_gives_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    with opened(path, write=True) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
    with pytest.raises(CannotWrite, match=r"database or disk is full.*nothing is counted twice"):
        _add_with(path, pages + 1)
    with opened(path, write=True) as connection:
        stored = add(connection, [(1, [_span(n, 0, 1) for n in range(1, 5000)])], ENDS, NOW)
    assert (stored.spans, stored.repeated) == (4999, 0)


def _add_with(path: Path, pages: int) -> None:
    """Add spans to a store on a disk that has room for some pages."""
    with opened(path, write=True) as connection:
        connection.execute(f"PRAGMA max_page_count = {pages}")
        add(connection, [(1, [_span(n, 0, 1) for n in range(1, 5000)])], ENDS, NOW)


def test_reading_a_missing_file_is_no_error_of_the_store(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), opened(tmp_path / "none.db", write=False):
        pass
