"""Observed calls as values: counts, latencies as histograms that add up, and the periods they are told for."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

HOUR, DAY = 3600, 86_400
TYPES = ("calls", "consumes_endpoint", "consumes_rpc")  # stored by position
CALLS = 0


class End(NamedTuple):
    """A symbol in one version, or a name outside the code: `topic:orders`, `service:web`."""

    repository: str  # label in a workspace; empty for the repository of the store
    id: str
    text: bytes = b""  # hash of the symbol's lines
    file: bytes = b""  # hash of its file


@dataclass(frozen=True, slots=True)
class Calls:
    """Observed calls from one end to another over some time."""

    count: int
    errors: int
    first: int
    last: int
    durations: Mapping[int, int]  # calls by latency bucket

    def percentile(self, share: float) -> int:
        """Return a latency in microseconds that a share of the calls did not exceed, within 9 %."""
        total, below = sum(self.durations.values()), 0
        for bucket, count in sorted(self.durations.items()):
            below += count
            if below >= share * total:
                return round(2 ** ((bucket + 0.5) / _PER_OCTAVE))
        return 0


# Latencies by bucket: four per octave, so that any percentile is off by 9 % at most, and histograms add up.

_PER_OCTAVE = 4
_LAST_BUCKET = 160  # 2**40 microseconds: twelve days


def bucket_of(micros: int) -> int:
    return min(_LAST_BUCKET, int(math.log2(micros) * _PER_OCTAVE)) if micros > 1 else 0


def packed_durations(durations: Mapping[int, int]) -> bytes:
    """Encode a histogram: a byte for the bucket and a varint for its count."""
    out = bytearray()
    for bucket, count in sorted(durations.items()):
        out.append(bucket)
        while count >= 0x80:
            out.append(count & 0x7F | 0x80)
            count >>= 7
        out.append(count)
    return bytes(out)


def unpacked_durations(data: bytes) -> dict[int, int]:
    out: dict[int, int] = {}
    at = 0
    while at < len(data):
        bucket, count, shift = data[at], 0, 0
        at += 1
        while at < len(data):
            byte = data[at]
            at += 1
            count |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift > 63:
                break
        out[bucket] = out.get(bucket, 0) + count
    return out


# Reading

PERIODS = ((DAY, "in the last day"), (7 * DAY, "in the last 7 days"), (30 * DAY, "in the last 30 days"))


class Observation(NamedTuple):
    """Calls from one end to another: all of them, and those of the shortest period that has any."""

    source: int  # number of an end; 0: unknown
    target: int
    type: str
    total: Calls
    period: str  # `in the last day`; empty: longer ago
    recent: Calls


def read_ends(connection: sqlite3.Connection) -> dict[int, End]:
    """Return the ends by number."""
    rows = connection.execute("SELECT number, repository, id, text, file FROM ends")
    return {number: End(*row) for number, *row in rows}


def read_observations(connection: sqlite3.Connection, now: float) -> list[Observation]:
    """Return all calls by source, target and type."""
    rows: defaultdict[tuple[int, int, int], list[tuple[int, Calls]]] = defaultdict(list)
    for source, target, type, hour, count, errors, first, last, durations in connection.execute(
        "SELECT source, target, type, hour, count, errors, first, last, durations FROM calls WHERE count > 0"
    ):
        calls = Calls(count, errors, first, last, unpacked_durations(durations))
        rows[source, target, type].append((hour, calls))
    return [
        Observation(source, target, TYPES[type], total([calls for _, calls in by_hour]), *_recent(by_hour, now))
        for (source, target, type), by_hour in rows.items()
        if type < len(TYPES)
    ]


def _recent(by_hour: list[tuple[int, Calls]], now: float) -> tuple[str, Calls]:
    for seconds, words in PERIODS:
        oldest = (now - seconds) // HOUR
        if chosen := [calls for hour, calls in by_hour if hour >= oldest]:
            return words, total(chosen)
    return "", total([calls for _, calls in by_hour])


def total(parts: list[Calls]) -> Calls:
    """Add up calls, at least one."""
    durations: Counter[int] = Counter()
    for calls in parts:
        durations.update(calls.durations)
    return Calls(
        sum(calls.count for calls in parts), sum(calls.errors for calls in parts),
        min(calls.first for calls in parts), max(calls.last for calls in parts), durations,
    )  # fmt: skip
