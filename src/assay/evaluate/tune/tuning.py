"""Tuning from a golden set to a verdict, with measured figures kept for resumption."""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from assay.core.golden import GoldenQuery, GoldenSet
from assay.core.progress import Progress
from assay.errors import AssayError
from assay.evaluate.judging import judge
from assay.evaluate.matching import Matcher
from assay.evaluate.metrics.judged import Floats
from assay.evaluate.metrics.measures import Measure
from assay.evaluate.statistics import Paired, paired
from assay.evaluate.summary import clusters_of
from assay.evaluate.systems import open_system
from assay.evaluate.systems.assay import Assay
from assay.evaluate.tune.search import (
    ALPHA,
    GAIN,
    LARGEST,
    LEAST,
    OF_HISTORY,
    TOO_FEW,
    TUNED,
    Changes,
    Fold,
    Folds,
    Tuned,
    cross,
    split,
    without,
    written,
)
from assay.system.inputs import read_lines
from assay.system.pool import begin_worker
from assay.text.display import counted

_LARGEST = 128_000_000  # bytes: a thousand settings on a thousand queries take a quarter
_KEPT = 3  # states; older ones are of no index that there still is

Known = dict[str, dict[str, float]]  # setting → query → figure


class Memory:
    """The figures of one state, on disk."""

    def __init__(self, folder: Path, state: str) -> None:
        self._path = folder / f"{state}.jsonl"
        self.known = _read(self._path)
        self.before = sum(len(figures) for figures in self.known.values())
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._path.touch()
            for old in sorted(folder.glob("*.jsonl"), key=lambda path: -path.stat().st_mtime_ns)[_KEPT:]:
                old.unlink(missing_ok=True)
        except OSError as error:
            raise AssayError(f"{self._path}: cannot be written ({error.strerror or error})") from None

    def add(self, setting: str, figures: Mapping[str, float]) -> None:
        """Some queries more by a setting."""
        self.known.setdefault(setting, {}).update(figures)
        line = json.dumps([setting, {query: None if math.isnan(one) else one for query, one in figures.items()}])
        try:
            with self._path.open("ab") as file:
                file.write(f"\n{line}".encode())  # the break first: what a kill tore stays by itself
        except OSError as error:
            raise AssayError(f"{self._path}: cannot be written ({error.strerror or error})") from None


def _read(path: Path) -> Known:
    known: Known = {}
    try:
        for _, line in read_lines(path, _LARGEST):
            try:
                setting, figures = json.loads(line)
                read = {str(query): math.nan if one is None else float(one) for query, one in figures.items()}
            except (ValueError, TypeError, AttributeError, RecursionError):
                continue
            known.setdefault(str(setting), {}).update(read)
    except FileNotFoundError:
        return {}
    except AssayError as error:
        raise AssayError(f"{error}; remove it") from None
    return known


# Asking our engine all queries by many settings. Every query is asked once by a setting, however many folds need
# it.

_TOGETHER = 4  # queries a process is handed at once: what a kill loses
_DEEP = 100  # results asked for by a measure without a cut-off


@dataclass(frozen=True, slots=True)
class Asking:
    """Everything a process needs to ask."""

    golden: GoldenSet
    matching: Matcher
    measure: Measure
    root: Path
    base: str = ""
    corpus: Path | None = None
    fixed: Changes = ()  # made to the base whatever is tuned

    def open(self) -> Assay:
        system = open_system(f"assay:{self.base}", root=self.root, corpus=self.corpus)
        assert isinstance(system, Assay)
        return system


Answers = dict[str, dict[str, float]]  # setting → query → figure


def ask(asking: Asking, system: Assay, settings: Sequence[Changes], positions: Sequence[int]) -> Answers:
    """The figure of each query at some positions, by each setting."""
    queries = [asking.golden.queries[position] for position in positions]
    depth = asking.measure.cut or _DEEP
    variations = [dict(asking.fixed) | dict(setting) for setting in settings]
    answers = [system.retrieve_each(one.text, depth, variations, one.repository) for one in queries]
    level = asking.matching.level_for(asking.golden)
    found: Answers = {}
    for setting, responses in zip(settings, zip(*answers, strict=True), strict=True):
        values = asking.measure.values(judge(queries, responses, asking.matching, level))
        found[written(setting)] = {one.id: float(value) for one, value in zip(queries, values, strict=True)}
    return found


class Asked:
    """Figures by setting: from memory, else asked in `jobs` processes and remembered."""

    def __init__(self, asking: Asking, system: Assay, memory: Memory, jobs: int, progress: Progress) -> None:
        self._asking, self._system, self._memory, self._progress = asking, system, memory, progress
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        self._stage = "asking"
        self.count = 0  # queries asked by this command, counted for each setting

    def __call__(self, settings: Sequence[Changes]) -> list[Floats]:
        """The figure of each query of the golden set, for each setting."""
        self._ask(list(dict.fromkeys(settings)))
        ids = [query.id for query in self._asking.golden.queries]
        known = [self._memory.known[written(setting)] for setting in settings]
        return [np.array([figures[one] for one in ids]) for figures in known]

    def begin(self, stage: str) -> None:
        """What the next figures are for."""
        self._stage = stage

    def _ask(self, settings: Sequence[Changes]) -> None:
        """Asks what is not known yet."""
        work = _grouped(self._asking, self._memory, settings)
        if not work:
            return
        self._progress.start(self._stage, sum(len(some) * len(positions) for some, positions in work))
        for answers in self._in_processes(work) if self._jobs > 1 else self._here(work):
            for setting, figures in answers.items():
                self._memory.add(setting, figures)
            count = sum(map(len, answers.values()))
            self.count += count
            self._progress.advance(count)

    def _here(self, work: Sequence[_Work]) -> Iterator[Answers]:
        return (ask(self._asking, self._system, *one) for one in work)

    def _in_processes(self, work: Sequence[_Work]) -> Iterator[Answers]:
        if self._pool is None:
            start = multiprocessing.get_context("spawn")  # what is open here must not be shared with a fork
            self._pool = ProcessPoolExecutor(self._jobs, mp_context=start, initializer=partial(_begin, self._asking))
        waiting = [self._pool.submit(_ask_there, *one) for one in work]
        try:
            for done in as_completed(waiting):
                yield done.result()
        except BrokenProcessPool:
            raise AssayError(
                "a process that asked was ended, perhaps for want of memory. What was answered is kept: the same command goes on"
            ) from None
        finally:
            for future in waiting:
                future.cancel()

    @contextmanager
    def working(self) -> Iterator[Asked]:
        """While figures are needed; afterwards no process is left."""
        try:
            yield self
        except BaseException:
            for child in multiprocessing.active_children():  # what they have answered is kept
                child.terminate()
            raise
        finally:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)


_Work = tuple[Sequence[Changes], Sequence[int]]


def _grouped(asking: Asking, memory: Memory, settings: Sequence[Changes]) -> list[_Work]:
    """Settings that lack the same queries together, a few queries at a time; those of one repository are neighbours."""
    queries = asking.golden.queries
    lacking: dict[tuple[int, ...], list[Changes]] = {}
    order = sorted(range(len(queries)), key=lambda position: (queries[position].repository, position))
    for setting in settings:
        known = memory.known.get(written(setting), {})
        if lack := tuple(position for position in order if queries[position].id not in known):
            lacking.setdefault(lack, []).append(setting)
    return [
        (some, positions[start : start + _TOGETHER])
        for positions, some in lacking.items()
        for start in range(0, len(positions), _TOGETHER)
    ]


_there: tuple[Asking, Assay] | None = None  # of a process that asks for another


def _begin(asking: Asking) -> None:
    global _there
    begin_worker()
    _there = asking, asking.open()


def _ask_there(settings: Sequence[Changes], positions: Sequence[int]) -> Answers:
    assert _there is not None
    return ask(*_there, settings, positions)


# A tuning from a golden set to a verdict: `tune` is the whole story.


class TooFew(AssayError):
    """A golden set that is too small to tune on."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What was asked and how it came out."""

    asking: Asking
    base: dict[str, float]  # the numbers that were tuned, as the base has them
    folds: Folds
    tuned: Tuned
    leaked: int  # queries whose commit is in the history that is searched
    asked: int  # queries asked by this command, counted for each setting
    before: int  # … and by earlier ones


def tune(asking: Asking, folder: Path, jobs: int, progress: Progress) -> Tuning:
    """Asks as much as it takes to say which numbers to change, and whether that helps. Figures are kept in a folder, to go on after a kill."""
    level = asking.matching.level_for(asking.golden)
    _require(asking, sum(bool(query.at(level)) for query in asking.golden.queries))
    system = asking.open()
    try:
        leaked = _leaked(asking.golden.queries, system)
        if leaked:
            asking = replace(asking, fixed=tuple((name, 0.0) for name in OF_HISTORY))
        values = without([name for name, _ in asking.fixed], TUNED)
        base = {name: float(getattr(system.profile, name)) for name in values}
        memory = Memory(folder, _state(asking, system))
        folds = split(asking.golden.queries)
        with Asked(asking, system, memory, jobs, progress).working() as asked:
            _require(asking, int(np.count_nonzero(~np.isnan(asked([()])[0]))))
            tuned = cross(asked, values, base, folds, clusters_of(asking.golden.queries), asked.begin)
        return Tuning(asking, base, folds, tuned, leaked, asked.count, memory.before)
    finally:
        system.close()


def _require(asking: Asking, judged: int) -> None:
    """Refuses a set with too few queries that can be judged."""
    if judged < LEAST:
        raise TooFew(
            f"{asking.golden.path}: {counted(judged, 'query', 'queries')} that {asking.measure} can judge, and whatever was tuned on them would be "
            f"chance; at least {LEAST} are needed. `assay eval mine` makes some from the commits of a repository"
        )


def _leaked(queries: tuple[GoldenQuery, ...], system: Assay) -> int:
    """How many queries were made of commits that the history channel reads: it would know their answers."""
    mined: dict[str, list[str]] = {}
    for query in queries:
        if query.commit:
            mined.setdefault(query.repository, []).append(query.commit)
    known = {repository: system.remembered(commits, repository) for repository, commits in mined.items()}
    return sum(commit in known[repository] for repository, commits in mined.items() for commit in commits)


def _state(asking: Asking, system: Assay) -> str:
    """Of everything a figure depends on."""
    facts = (asking.golden.digest, asking.matching.name, str(asking.measure), asking.fixed, system.state())
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


# A tuning as JSON, which the text is drawn from, too. docs/guides/tune.md says what each field is.


def report(tuning: Tuning) -> dict[str, Any]:
    """Everything a tuning found out."""
    asking, tuned, verdict = tuning.asking, tuning.tuned, tuning.tuned.verdict
    return {
        "golden": {
            "path": asking.golden.path,
            "digest": asking.golden.digest,
            "queries": len(asking.golden.queries),
            "judged": verdict.held_out.n,
        },
        "measure": str(asking.measure),
        "matching": asking.matching.name,
        "base": asking.base,
        "outcome": verdict.outcome,
        "said": said(tuning),
        "held_out": comparison(verdict.held_out),
        "in_sample": {"base": _mean(tuned.base), "tuned": _mean(tuned.tuned)},
        "changes": [_change(tuning, name, value) for name, value in tuned.changes],
        "folds": {"by": tuning.folds.by, "each": [_fold(one) for one in tuned.folds]},
        "left_out": [name for name, _ in asking.fixed],
        "warnings": warnings(tuning),
        "work": {"asked": tuning.asked, "answered_before": tuning.before},
    }


def said(tuning: Tuning) -> str:
    """The verdict in a sentence."""
    verdict = tuning.tuned.verdict
    pair = verdict.held_out
    if verdict.outcome == GAIN:
        return f"the tuned profile is better on queries it was not tuned on, by more than chance (p < {ALPHA:g})"
    if verdict.outcome == TOO_FEW:
        return (
            f"{counted(pair.n, 'query', 'queries')} cannot tell: with differences like these a gain of {LARGEST:g} needs {verdict.needed:,}. "
            "`assay eval mine` makes some from the commits of a repository"
        )
    if pair.delta < 0 and pair.p < ALPHA:
        return "what was tuned is worse on queries it was not tuned on, by more than chance: the profile fits them as it is"
    if not any(fold.changes for fold in tuning.tuned.folds):
        return "no gain that is more than chance: no change of a number stood out from the noise"
    seen = "" if math.isnan(pair.detectable) else f"; a gain of {pair.detectable:.3f} would have shown"
    return f"no gain that is more than chance{seen}"


def warnings(tuning: Tuning) -> list[str]:
    """What must be known before the outcome is believed."""
    asking, found = tuning.asking, list(tuning.asking.golden.warnings)
    if tuning.leaked:
        found.append(
            f"{tuning.leaked} of {len(asking.golden.queries)} queries were mined from commits that the index knows: it was measured without history, "
            "and history and touched stay as they are. The indexed code may hold the changes, too (see `docs/guides/mining.md`)"
        )
    found += tuning.tuned.verdict.held_out.notes
    return found


def comparison(pair: Paired) -> dict[str, Any]:
    """Base and tuned, query by query."""
    return {
        "base": _finite(pair.mean_a), "tuned": _finite(pair.mean_b), "delta": _finite(pair.delta),
        "low": _finite(pair.interval.low), "high": _finite(pair.interval.high), "p": _finite(pair.p), "method": pair.method,
        "wins": pair.wins, "losses": pair.losses, "ties": pair.ties, "clusters": pair.clusters,
        "detectable": _finite(pair.detectable),
    }  # fmt: skip


def _change(tuning: Tuning, name: str, value: float) -> dict[str, Any]:
    """A number that changes, what is lost without it, and what the folds chose for it."""
    tuned = tuning.tuned
    brings = paired(tuned.without[name], tuned.tuned)
    chosen = [dict(fold.changes).get(name) for fold in tuned.folds]
    base = tuning.base[name]
    return {
        "name": name,
        "from": base,
        "to": value,
        "brings": _finite(brings.delta),
        "low": _finite(brings.interval.low),
        "high": _finite(brings.interval.high),
        "chosen_by_folds": chosen,
        "same_direction": sum(one is not None and (one > base) == (value > base) for one in chosen),
    }


def _fold(fold: Fold) -> dict[str, Any]:
    return {
        "queries": fold.queries,
        "changes": dict(fold.changes),
        "base": _finite(fold.base),
        "tuned": _finite(fold.tuned),
    }


def _mean(figures: Floats) -> float | None:
    known = figures[~np.isnan(figures)]
    return _finite(float(known.mean())) if len(known) else None


def _finite(value: float) -> float | None:
    return round(float(value), 4) + 0.0 if math.isfinite(value) else None
