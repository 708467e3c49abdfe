"""Tuning of ranking parameters on a golden set, with nested cross-validation to test whether it generalizes.

golden set ──▶ folds ──▶ search (on all but one fold) ──▶ figures of that fold ──▶ verdict ──▶ report
                            └── figures (queries, cache) ──┘

`search` holds the parameters, the folds, the greedy search and the verdict, all pure; `tune` runs it all and caches
per-query figures on disk for resumption.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from assay.core.cautions import Caution, as_json, of_golden
from assay.core.golden import GoldenQuery, GoldenSet
from assay.core.progress import Progress
from assay.errors import AssayError
from assay.evaluate.files import writing
from assay.evaluate.judging import Floats, judge
from assay.evaluate.matching import Matcher
from assay.evaluate.metrics import Measure, mean, rounded
from assay.evaluate.scores import clusters_of
from assay.evaluate.statistics import Paired, paired
from assay.evaluate.systems import open_system
from assay.evaluate.systems.assay import HISTORY_SETTINGS, TUNED, Assay
from assay.evaluate.tune.search import (
    ALPHA,
    GAIN,
    LARGEST,
    LEAST,
    TOO_FEW,
    Changes,
    Fold,
    Folds,
    Tuned,
    cross_validate,
    format_changes,
    split,
    without,
)
from assay.system.cluster import ClusterSettings
from assay.system.executor import Executor, UnitFailed, open_executor
from assay.system.inputs import read_lines
from assay.text.display import counted

_LARGEST = 128_000_000  # bytes; a thousand settings on a thousand queries take a quarter
_STATES = 3  # newest cache files kept; older ones belong to replaced indexes

Answers = dict[str, dict[str, float]]  # setting → query → figure


class FigureCache:
    """On-disk cache of the figures of one state."""

    def __init__(self, folder: Path, state: str) -> None:
        self._path = folder / f"{state}.jsonl"
        self.known = _read(self._path)
        self.before = sum(len(figures) for figures in self.known.values())
        with writing(self._path):
            folder.mkdir(parents=True, exist_ok=True)
            self._path.touch()
            for old in sorted(folder.glob("*.jsonl"), key=lambda path: -path.stat().st_mtime_ns)[_STATES:]:
                old.unlink(missing_ok=True)

    def add(self, setting: str, figures: Mapping[str, float]) -> None:
        """Store the figures of some queries under a setting."""
        self.known.setdefault(setting, {}).update(figures)
        line = json.dumps([setting, {query: None if math.isnan(value) else value for query, value in figures.items()}])
        with writing(self._path), self._path.open("ab") as file:
            file.write(f"\n{line}".encode())  # newline first: isolates a line torn by a kill


def _read(path: Path) -> Answers:
    """Return the cached figures of a file; damaged lines are skipped."""
    cached: Answers = {}
    try:
        for _, line in read_lines(path, _LARGEST):
            try:
                setting, figures = json.loads(line)
                parsed = {str(query): math.nan if value is None else float(value) for query, value in figures.items()}
            except (ValueError, TypeError, AttributeError, RecursionError):
                continue
            cached.setdefault(str(setting), {}).update(parsed)
    except FileNotFoundError:
        return {}
    except AssayError as error:
        raise AssayError(f"{error}; delete the file") from None
    return cached


# Figures per setting; each query is sent once per setting, however many folds need it

_BATCH = 4  # queries per work item; a kill loses at most these
_DEEP = 100  # results for a measure without a cut-off


@dataclass(frozen=True, slots=True)
class TuningTask:
    """Everything a worker process needs to run queries."""

    golden: GoldenSet
    matching: Matcher
    measure: Measure
    root: Path
    base: str = ""
    corpus: Path | None = None
    fixed: Changes = ()  # applied to the base in every setting

    def open(self) -> Assay:
        """Open the system with the base profile and the fixed changes, so that all settings share its evidence."""
        profile = ",".join(filter(None, [self.base, format_changes(self.fixed)]))
        system = open_system(f"assay:{profile}", root=self.root, corpus=self.corpus)
        assert isinstance(system, Assay)
        return system


def ask(task: TuningTask, system: Assay, settings: Sequence[Changes], positions: Sequence[int]) -> Answers:
    """Return the figures of the queries at some positions, for each setting."""
    queries = [task.golden.queries[position] for position in positions]
    depth = task.measure.cut or _DEEP
    variations = [dict(setting) for setting in settings]
    answers = [system.retrieve_each(query.text, depth, variations, query.repository) for query in queries]
    level = task.matching.level_for(task.golden)
    figures: Answers = {}
    for setting, responses in zip(settings, zip(*answers, strict=True), strict=True):
        values = task.measure.values(judge(queries, responses, task.matching, level))
        figures[format_changes(setting)] = {
            query.id: float(value) for query, value in zip(queries, values, strict=True)
        }
    return figures


class CachedFigures:
    """Figures by setting: from the cache, else computed in the pool, if any, and cached."""

    def __init__(
        self,
        task: TuningTask,
        system: Assay,
        cache: FigureCache,
        executor: Executor | None,
        progress: Progress,
    ) -> None:
        self._task, self._system, self._cache, self._progress = task, system, cache, progress
        self._executor = executor
        self._stage = "asking"
        self.count = 0  # queries sent by this command, summed over the settings

    def __call__(self, settings: Sequence[Changes]) -> list[Floats]:
        """Return the figures of all queries, for each setting."""
        self._ask(list(dict.fromkeys(settings)))
        ids = [query.id for query in self._task.golden.queries]
        cached = [self._cache.known[format_changes(setting)] for setting in settings]
        return [np.array([figures[query_id] for query_id in ids]) for figures in cached]

    def begin(self, stage: str) -> None:
        """Set the progress label of the next figures."""
        self._stage = stage

    def _ask(self, settings: Sequence[Changes]) -> None:
        """Compute and cache the missing figures."""
        work = _group_work(self._task, self._cache, settings)
        if not work:
            return
        self._progress.start(self._stage, sum(len(batch) * len(positions) for batch, positions in work))
        for answers in self._compute(work):
            for setting, figures in answers.items():
                self._cache.add(setting, figures)
            count = sum(map(len, answers.values()))
            self.count += count
            self._progress.advance(count)

    def _compute(self, work: Sequence[_Work]) -> Iterator[Answers]:
        if self._executor is None:
            yield from (ask(self._task, self._system, *item) for item in work)
            return
        for _, answers in self._executor.map_units(_ask_in_worker, work):
            if isinstance(answers, UnitFailed):
                raise AssayError(answers.message)
            yield answers


_Work = tuple[Sequence[Changes], Sequence[int]]


def _group_work(task: TuningTask, cache: FigureCache, settings: Sequence[Changes]) -> list[_Work]:
    """Group settings that lack the same queries into small work items, ordered by repository."""
    queries = task.golden.queries
    settings_by_missing: dict[tuple[int, ...], list[Changes]] = {}
    order = sorted(range(len(queries)), key=lambda position: (queries[position].repository, position))
    for setting in settings:
        cached = cache.known.get(format_changes(setting), {})
        if missing := tuple(position for position in order if queries[position].id not in cached):
            settings_by_missing.setdefault(missing, []).append(setting)
    return [
        (group, positions[start : start + _BATCH])
        for positions, group in settings_by_missing.items()
        for start in range(0, len(positions), _BATCH)
    ]


_worker: tuple[TuningTask, Assay] | None = None  # state of a worker process


@contextmanager
def _worker_session(task: TuningTask) -> Iterator[None]:
    global _worker
    with closing(task.open()) as system:
        _worker = task, system
        yield
    _worker = None


def _ask_in_worker(settings: Sequence[Changes], positions: Sequence[int]) -> Answers:
    assert _worker is not None
    return ask(*_worker, settings, positions)


# Tuning


class TooFew(AssayError):
    """A golden set that is too small to tune on."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """A finished tuning with its inputs."""

    task: TuningTask
    base: dict[str, float]  # base values of the tuned parameters
    folds: Folds
    tuned: Tuned
    leaked: int  # queries mined from commits in the searched history
    sent: int  # queries sent by this command, summed over the settings
    before: int  # the same of earlier commands


def tune(
    task: TuningTask, folder: Path, jobs: int, progress: Progress, cluster: ClusterSettings | None = None
) -> Tuning:
    """Tune the parameters on a golden set and judge the gain.

    Figures are cached in `folder`, so that a killed tuning resumes. Raises TooFew for a small set.
    """
    level = task.matching.level_for(task.golden)
    _require(task, sum(bool(query.at(level)) for query in task.golden.queries))
    with closing(task.open()) as system:
        leaked = _leaked(task.golden.queries, system)
    if leaked:
        task = replace(task, fixed=tuple((name, 0.0) for name in HISTORY_SETTINGS))
    with closing(task.open()) as system:
        values = without([name for name, _ in task.fixed], TUNED)
        base = {name: float(getattr(system.profile, name)) for name in values}
        cache = FigureCache(folder, _state(task, system))
        folds = split(task.golden.queries)
        located = replace(task, corpus=task.corpus.resolve() if task.corpus else None)  # workers may be elsewhere
        with open_executor(jobs, cluster, partial(_worker_session, located)) as executor:
            figures = CachedFigures(task, system, cache, executor, progress)
            _require(task, int(np.count_nonzero(~np.isnan(figures([()])[0]))))
            tuned = cross_validate(figures, values, base, folds, clusters_of(task.golden.queries), figures.begin)
        return Tuning(task, base, folds, tuned, leaked, figures.count, cache.before)


def _require(task: TuningTask, judged: int) -> None:
    """Raise TooFew if too few queries can be judged."""
    if judged < LEAST:
        raise TooFew(
            f"{task.golden.path}: {counted(judged, 'query', 'queries')} that {task.measure} can judge; "
            f"tuning needs at least {LEAST}. `assay eval mine` makes some from the commits of a repository"
        )


def _leaked(queries: tuple[GoldenQuery, ...], system: Assay) -> int:
    """Count the queries mined from commits in the searched history, which leaks their answers."""
    mined: dict[str, list[str]] = {}
    for query in queries:
        if query.commit:
            mined.setdefault(query.repository, []).append(query.commit)
    indexed = {repository: system.remembered(commits, repository) for repository, commits in mined.items()}
    return sum(commit in indexed[repository] for repository, commits in mined.items() for commit in commits)


def _state(task: TuningTask, system: Assay) -> str:
    """Return a digest of everything a figure depends on."""
    facts = (task.golden.digest, task.matching.name, str(task.measure), task.fixed, system.state())
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


# JSON report; docs/guides/tune.md documents its fields


def report(tuning: Tuning) -> dict[str, Any]:
    """Return a tuning as JSON."""
    task, tuned, verdict = tuning.task, tuning.tuned, tuning.tuned.verdict
    return {
        "golden": {
            "path": task.golden.path,
            "digest": task.golden.digest,
            "queries": len(task.golden.queries),
            "judged": verdict.held_out.n,
        },
        "measure": str(task.measure),
        "matching": task.matching.name,
        "base": task.base,
        "outcome": verdict.outcome,
        "said": verdict_sentence(tuning),
        "held_out": comparison(verdict.held_out) | {"p_corrected": rounded(verdict.p)},
        "in_sample": {"base": mean(tuned.base), "tuned": mean(tuned.tuned)},
        "changes": [_change(tuning, name, value) for name, value in tuned.changes],
        "folds": {"by": tuning.folds.by, "each": [_fold(fold) for fold in tuned.folds]},
        "left_out": [name for name, _ in task.fixed],
        "warnings": as_json(cautions(tuning)),
        "work": {"asked": tuning.sent, "answered_before": tuning.before},
    }


def verdict_sentence(tuning: Tuning) -> str:
    """Return the verdict as a sentence."""
    verdict = tuning.tuned.verdict
    pair = verdict.held_out
    if verdict.outcome == GAIN:
        return f"the tuned profile is significantly better on held-out queries (p < {ALPHA:g})"
    if verdict.outcome == TOO_FEW:
        return (
            f"{counted(pair.n, 'query', 'queries')} are too few: at this variance, detecting a gain of {LARGEST:g} needs {verdict.needed:,}. "
            "`assay eval mine` makes some from the commits of a repository"
        )
    if pair.delta < 0 and verdict.p < ALPHA:
        return "the tuned profile is significantly worse on held-out queries; keep the present one"
    if not any(fold.changes for fold in tuning.tuned.folds):
        return "no significant gain: no parameter change stood out from the noise"
    power_note = "" if math.isnan(pair.detectable) else f"; a gain of {pair.detectable:.3f} would have been detected"
    return f"no significant gain{power_note}"


def cautions(tuning: Tuning) -> list[Caution]:
    """Return cautions on the golden set, leaked queries and the comparison."""
    task, collected = tuning.task, of_golden(tuning.task.golden)
    if tuning.leaked:
        message = (
            f"{tuning.leaked} of {len(task.golden.queries)} queries were mined from commits in the indexed history: measured without history; "
            "history and touched are not tuned. The indexed code may hold the changes, too (see `docs/guides/mining.md`)"
        )
        collected.append(Caution("mined-history", message))
    return collected + [Caution("statistics", note) for note in tuning.tuned.verdict.held_out.notes]


def comparison(pair: Paired) -> dict[str, Any]:
    """Return the paired comparison of base and tuned as JSON."""
    return {
        "base": rounded(pair.mean_a), "tuned": rounded(pair.mean_b), "delta": rounded(pair.delta),
        "low": rounded(pair.interval.low), "high": rounded(pair.interval.high), "p": rounded(pair.p), "method": pair.method,
        "wins": pair.wins, "losses": pair.losses, "ties": pair.ties, "clusters": pair.clusters,
        "detectable": rounded(pair.detectable),
    }  # fmt: skip


def _change(tuning: Tuning, name: str, value: float) -> dict[str, Any]:
    """Return a changed parameter with its contribution and the folds' choices."""
    tuned = tuning.tuned
    contribution = paired(tuned.without[name], tuned.tuned)
    chosen = [dict(fold.changes).get(name) for fold in tuned.folds]
    base = tuning.base[name]
    return {
        "name": name,
        "from": base,
        "to": value,
        "brings": rounded(contribution.delta),
        "low": rounded(contribution.interval.low),
        "high": rounded(contribution.interval.high),
        "chosen_by_folds": chosen,
        "same_direction": sum(
            fold_value is not None and (fold_value > base) == (value > base) for fold_value in chosen
        ),
    }


def _fold(fold: Fold) -> dict[str, Any]:
    return {
        "queries": fold.queries,
        "changes": dict(fold.changes),
        "base": rounded(fold.base),
        "tuned": rounded(fold.tuned),
    }
