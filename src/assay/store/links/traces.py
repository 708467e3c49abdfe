"""Calls observed in traces, as links: who called whom, how often, how fast, and when last.

Only what was observed of the present code counts: an end whose symbol changed or is gone takes its calls with it.
"""

from __future__ import annotations

import math
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from assay.core.items import Item, Link
from assay.errors import AssayError
from assay.store.index import Index, Part
from assay.store.traces.calls import Calls, End, Observation, read_ends, read_observations, total
from assay.store.traces.database import NAME, opened
from assay.store.traces.versions import Versions
from assay.text.display import counted

LEAST, SUREST = 0.2, 0.95  # confidence of a call that was observed once, and of one observed ENOUGH times
ENOUGH = 1000
_TOPIC = "topic:"
_MOST_PARAMETERS = 10_000  # of one statement
_MOST_PAIRS = 200  # senders and receivers of one topic that are linked


class Observations(NamedTuple):
    """The observed calls of an index: links, and all calls of each item, by id."""

    links: Sequence[Link]
    earlier: Sequence[Link]  # the same of symbols that changed since they were observed, for a review of the change
    calls: Mapping[str, Sequence[Observation]]
    since: int  # the first call, in seconds since 1970; 0 without any
    newest: int  # the last one


def links(index: Index) -> Iterator[Link]:
    """Yield a link for each caller and callee."""
    yield from observations(index).links


def last_seen(index: Index, item: Item) -> float | None:
    """Return when an item was last seen running, in seconds since 1970; None if never."""
    return max((observation.total.last for observation in observations(index).calls.get(item.id, ())), default=None)


def age_of_last_call(index: Index, item: Item) -> float | None:
    """Return the seconds between the newest observation of all and the last one of an item; None if there is none."""
    seen = last_seen(index, item)
    return None if seen is None else observations(index).newest - seen


def summary(index: Index, item: Item) -> str:
    """Describe the observed calls of an item: `called 1,204 times in the last day, p95 12 ms`; empty without any."""
    observed = observations(index).calls.get(item.id, ())
    if not observed:
        return ""
    periods = [observation.period for observation in observed]
    # the shortest period first: an item called today is described by today's calls
    period = min(periods, key=lambda words: (not words, len(words), words))
    return describe(total([observation.recent for observation in observed if observation.period == period]), period)


def confidence(count: int) -> float:
    """Return the confidence of a call by the number of its observations, on a logarithmic scale."""
    share = min(1.0, math.log(max(1, count)) / math.log(ENOUGH))
    return round(LEAST + (SUREST - LEAST) * share, 3)


def describe(calls: Calls, period: str, prefix: str = "called") -> str:
    """Describe calls in words."""
    when = period or f"until {time.strftime('%Y-%m-%d', time.gmtime(calls.last))}"
    failed = f", {counted(calls.errors, 'error')}" if calls.errors else ""
    return f"{prefix} {counted(calls.count, 'time')} {when}, p95 {_duration(calls.percentile(0.95))}{failed}"


def _duration(micros: int) -> str:
    if micros < 1000:
        return f"{micros} µs"
    if micros < 10_000:
        return f"{micros / 1000:.1f} ms"
    return f"{micros / 1000:.0f} ms" if micros < 10_000_000 else f"{micros / 1e6:.0f} s"


# Reading, once for each open index

_CACHE = "_observations"


def observations(index: Index) -> Observations:
    """Return the observed calls of all repositories of an index; none, with a warning, if a file is damaged."""
    if _CACHE not in index.__dict__:
        index.__dict__[_CACHE] = _read(index, time.time())
    return index.__dict__[_CACHE]  # type: ignore[no-any-return]


def _read(index: Index, now: float) -> Observations:
    current_links, earlier_links = list[Link](), list[Link]()
    calls: defaultdict[str, list[Observation]] = defaultdict(list)
    since, until = list[int](), list[int]()
    versions = Versions(index)
    for part in index.parts:
        try:
            with opened(part.generation.home / NAME, write=False) as connection:
                ends, observed = read_ends(connection), read_observations(connection, now)
        except FileNotFoundError:
            continue
        except AssayError as error:
            warnings.warn(str(error), stacklevel=2)
            continue
        names = {number: end.id for number, end in ends.items() if not end.text}
        items = _items(index, part, ends)
        current = {number: item for number, item in items.items() if versions.is_current(item, ends[number])}
        for observation in observed:
            if observation.target in current:
                calls[current[observation.target].id].append(observation)
                since.append(observation.total.first)
                until.append(observation.total.last)
        current_links += _links(observed, names, current)
        changed = items.keys() - current.keys()
        of_changed = [row for row in observed if row.target in changed or row.source in changed]
        earlier_links += _links(of_changed, names, items) if of_changed else ()
    return Observations(current_links, earlier_links, calls, min(since, default=0), max(until, default=0))


def _items(index: Index, part: Part, ends: Mapping[int, End]) -> dict[int, Item]:
    """Return the symbols among some ends that exist, in whatever version."""
    parts = {other.label: other for other in index.parts} | {"": part}
    numbers: defaultdict[tuple[str, str], list[int]] = defaultdict(list)  # by repository and id: one for each version
    for number, end in ends.items():
        if end.text and end.repository in parts:
            numbers[end.repository, end.id].append(number)
    items: dict[int, Item] = {}
    for label, keys in groupby(sorted(numbers), lambda key: key[0]):
        ids = [id for _, id in keys]
        for start in range(0, len(ids), _MOST_PARAMETERS):
            chunk = ids[start : start + _MOST_PARAMETERS]
            for item in parts[label].items(f"s.id IN ({', '.join('?' * len(chunk))})", chunk):
                local = item.id.removeprefix(parts[label].path(""))
                items |= dict.fromkeys(numbers[label, local], item)
    return items


def _links(observed: Sequence[Observation], names: Mapping[int, str], items: Mapping[int, Item]) -> Iterator[Link]:
    """Yield a link for each caller and callee among some items, services and topics."""
    senders: defaultdict[int, list[int]] = defaultdict(list)
    for observation in observed:
        if names.get(observation.target, "").startswith(_TOPIC):
            senders[observation.target].append(observation.source)
    for observation in observed:
        callee, source = items.get(observation.target), observation.source
        if callee is None:
            continue
        if names.get(source, "").startswith(_TOPIC):
            prefix = f"through {names[source].replace(':', ' ', 1)}, called"
            for sender in senders[source][:_MOST_PAIRS]:
                if sender in items and items[sender].id != callee.id:
                    yield _link(observation, items[sender], callee, prefix)
        elif source in names:
            yield _link(observation, names[source], callee)
        elif source in items and items[source].id != callee.id:
            yield _link(observation, items[source], callee)


def _link(observation: Observation, caller: Item | str, callee: Item, prefix: str = "called") -> Link:
    id, path, line = (caller, "", 0) if isinstance(caller, str) else (caller.id, caller.path, caller.start)
    return Link(
        id, callee.id, observation.type, "runtime", confidence(observation.total.count), path, line,
        describe(observation.recent, observation.period, prefix),
    )  # fmt: skip
