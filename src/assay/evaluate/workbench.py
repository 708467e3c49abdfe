"""The Python API of evaluation: `evaluate`, `compare`, `gate` and `load_golden`, and the values they return.

    run = assay.evaluate("questions.jsonl", my_search)      # my_search(query, k) returns ids, best first
    assay.compare(before, run)                              # paired, with intervals and p-values
    assay.gate(run, before, minimum={"RR@10": 0.7}).passed

A run is held in memory; `save` or `store=` keeps it in a run file, which the commands read as well. Every figure comes
from the functions behind the commands: `execute`, `compare_runs`, `gate_run`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from assay.config.roots import root_around
from assay.core.cautions import Caution, from_json
from assay.core.golden import GoldenQuery, GoldenSet, Response
from assay.database.address import is_postgres
from assay.errors import AssayError
from assay.evaluate import compare as comparing
from assay.evaluate import golden as golden_sets
from assay.evaluate import notebook
from assay.evaluate.comparison_json import comparison_json
from assay.evaluate.gate import Check, Gated, Rules, gate_run, parse_floors
from assay.evaluate.matching import matcher_for
from assay.evaluate.metrics import Measure, figure, parse, require_depth, required_depth
from assay.evaluate.run import STOP_AFTER, Plan, execute
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import Scores, main_measures, run_json, score_run, write_baseline
from assay.evaluate.statistics import Paired
from assay.evaluate.systems import System, open_system
from assay.evaluate.validity import Sanity
from assay.system.files import FOLDER

Source = str | os.PathLike[str] | GoldenSet | Iterable[GoldenQuery | Mapping[str, Any]]
_RUN_FILE = Path(FOLDER, "runs.db")  # below a folder that is given as a store


class Golden(GoldenSet):
    """A golden set that shows itself in a notebook."""

    __slots__ = ()

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[GoldenQuery]:
        return iter(self.queries)

    def __repr__(self) -> str:
        return f"<Golden {self.path}: {len(self.queries)} queries, {self.format}>"

    def _repr_html_(self) -> str:
        return notebook.golden_table(self)


def load_golden(source: Source, format: str | None = None) -> Golden:
    """Load a golden set: a file or folder of any format, or records such as `{"query": …, "expected_docs": […]}`.

    Raises AssayError with every problem at once.
    """
    if isinstance(source, str | os.PathLike):
        golden = golden_sets.load(Path(source), format)
    else:
        golden = source if isinstance(source, GoldenSet) else golden_sets.load_records(source)
    return Golden(golden.queries, golden.path, golden.format, golden.digest, golden.warnings)


def evaluate(
    golden: Source,
    system: object,
    *,
    k: int = 10,
    metrics: Sequence[str] | None = None,
    matching: str | None = None,
    depth: int = 0,
    budget: int | None = None,
    repeat: int = 1,
    jobs: int = 1,
    answers: bool = False,
    group: str = "",
    timeout: float = 60.0,
    stop_after: int = STOP_AFTER,
    max_time: float = 0.0,
    label: str = "",
    store: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    corpus: str | os.PathLike[str] | None = None,
    progress: Callable[[], None] | None = None,
) -> Run:
    """Send every query of a golden set to a system, judge the results and return the run.

    A system is a callable `(query, k)` that returns ids, mappings or `Hit`s, best first (it may be async), an object
    with `retrieve` or `invoke` (LlamaIndex, LangChain), or a SPEC such as `"assay"` or `"cmd:rg -l {query}"`. An error
    of the system fails its query, which scores 0. Raises AssayError for bad arguments.

    `metrics` are those to show; results are requested as deep as the deepest cut-off. `group="file"` counts results of
    one file as one; `timeout` is in seconds per query, `max_time` for the whole run (0: no limit). If the first
    `stop_after` queries all fail, the run is stopped and stays incomplete (0: never). `Run.sanity` tells whether the
    figures are a measurement.
    `store` is a run file, a folder for `.assay/runs.db`, or postgresql://…, that also gets every response as it arrives. `root` is the
    repository of a SPEC, by default the one around the current folder.
    """
    measures = _measures(metrics)
    if k < 1 or repeat < 1 or jobs < 1 or depth < 0:
        raise AssayError(f"k, repeat and jobs must be at least 1, depth at least 0: {k}, {repeat}, {jobs}, {depth}")
    if group not in ("", "file"):
        raise AssayError(f"group is 'file' or left out, not '{group}'")
    loaded = load_golden(golden)
    place = Path(root) if root is not None else root_around(Path.cwd())
    folder = Path(corpus) if corpus is not None else None
    depth = required_depth(k, depth, measures)
    plan = Plan(
        matcher_for(loaded, matching), k, depth, budget, repeat, jobs, answers, str(folder.resolve()) if folder else "",
        label, group=group, stop_after=stop_after, max_time=max_time,
    )  # fmt: skip
    with (
        closing(_open_system(system, timeout, place, folder)) as opened,
        _opened_store(store, write=True) as runs,
    ):
        outcome = execute(loaded, opened, runs, plan, place, progress or (lambda: None))
        return Run.of(runs, outcome.info, measures)


def _measures(names: Sequence[str] | None) -> tuple[Measure, ...]:
    if isinstance(names, str):
        raise AssayError(f'metrics is a list of names: ["{names}"]')
    return tuple(map(parse, names or ()))


def _open_system(system: object, timeout: float, root: Path, corpus: Path | None) -> System:
    if isinstance(system, System):
        return system
    if isinstance(system, str):
        return open_system(system, timeout=timeout, root=root, corpus=corpus)
    from assay.evaluate.systems.python import wrap

    return wrap(system, timeout)


def _opened_store(store: str | os.PathLike[str] | None, write: bool = False) -> Any:
    """Return a context with the run file, or with a store in memory."""
    return nullcontext(RunStore.in_memory()) if store is None else RunStore.open(_run_file(store), write)


def _run_file(store: str | os.PathLike[str]) -> Path | str:
    if isinstance(store, str) and is_postgres(store):
        return store
    path = Path(store)
    return path / _RUN_FILE if path.is_dir() else path


class Run:
    """A run as a table of its queries. All figures are computed from the stored results when they are asked for."""

    def __init__(self, store: RunStore, info: RunInfo, measures: tuple[Measure, ...] = ()) -> None:
        self._store, self._info, self._measures = store, info, measures

    @classmethod
    def of(cls, store: RunStore, info: RunInfo, measures: tuple[Measure, ...] = ()) -> Self:
        """Copy a run of a store into memory."""
        own = RunStore.in_memory()
        return cls(own, own.copy(store, info), measures)

    @classmethod
    def load(cls, store: str | os.PathLike[str] = ".", name: str = "latest") -> Self:
        """Load a stored run by id, label, `latest` or `latest~1`; `store` is a run file, the folder of one, or postgresql://…."""
        with _opened_store(store) as runs:
            return cls.of(runs, runs.find(name))

    def save(self, store: str | os.PathLike[str] = ".") -> str:
        """Keep the run in a run file, or in `.assay/runs.db` of a folder; return its id there."""
        with _opened_store(store, write=True) as runs:
            stored: RunInfo = runs.copy(self._store, self._info)
        return stored.run_id

    def save_baseline(
        self, path: str | os.PathLike[str], *, metrics: Sequence[str] | None = None, minimum: Sequence[str] = ()
    ) -> None:
        """Write the scores to a file to commit, for `gate` and `assay eval gate`; `metrics` are all by default.

        `minimum` are floors that every gate against the file checks, such as `easy:RR@10=0.3` or `RR@10=90%`; without,
        those of the file that is replaced stay.
        """
        parse_floors(minimum)
        scores = score_run(self._store, self._info, _measures(metrics) or None)
        scores.require_measurement()
        write_baseline(scores, Path(path), minimum)

    @property
    def id(self) -> str:
        return self._info.run_id

    @property
    def system(self) -> str:
        return self._info.system

    @property
    def k(self) -> int:
        return self._info.k

    @property
    def matching(self) -> str:
        return self._info.matching

    @property
    def complete(self) -> bool:
        """True if the system was asked every query."""
        return self._info.status == "complete"

    @cached_property
    def golden(self) -> Golden:
        """The golden set as it was when the run was made."""
        return load_golden(self._store.golden(self._info))

    @cached_property
    def responses(self) -> list[Response]:
        """The responses of the system, in the order of the queries."""
        return self._store.responses(self.id, len(self.golden))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The run as `assay eval run --format json` prints it: means, intervals, groups, and every query."""
        return run_json(self._store, self._info, self._measures or None)

    @property
    def metrics(self) -> dict[str, float | None]:
        """Mean of each metric; None where nothing could be measured."""
        return dict(self.summary["metrics"])

    @property
    def queries(self) -> list[dict[str, Any]]:
        """Each query with its metrics, expectations, their ranks, results, error and latency."""
        return list(self.summary["queries"])

    @property
    def sanity(self) -> Sanity:
        """The checks that show whether the run is a measurement: `run.sanity.is_measurement`, `run.sanity["ids"]`."""
        return Sanity.from_json(self.summary["sanity"])

    @property
    def warnings(self) -> list[Caution]:
        """Warnings about whatever makes the figures mean less than they seem."""
        return [from_json(warning) for warning in self.summary["warnings"]]

    def rescored(self, metrics: Sequence[str] | None = None, matching: str | None = None) -> Run:
        """Return the same results under other metrics or another matcher; nothing is asked again.

        Raises AssayError for a cut-off beyond the results that were requested.
        """
        require_depth(_measures(metrics), self._info.requested, self.id)
        info = self._store.rejudge(self._info, matcher_for(self.golden, matching)) if matching else self._info
        return Run(self._store, info, _measures(metrics) or self._measures)

    def scores(self) -> Scores:
        """Return the value of each metric per query, as arrays."""
        return score_run(self._store, self._info, self._measures or None)

    # tables

    def __len__(self) -> int:
        return len(self.golden)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.to_dicts())

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a flat row per query: its facts, a column per metric, ranks and results."""
        return [
            {name: value for name, value in query.items() if name != "metrics"} | query["metrics"]
            for query in self.queries
        ]

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame."""
        return _optional("pandas").DataFrame(self.to_dicts())

    def to_polars(self) -> Any:
        """Return the rows as a polars DataFrame; the ranks of the expectations are a text."""
        rows = [
            row | {"found": ", ".join(f"{name}: {rank}" for name, rank in row["found"].items())}
            for row in self.to_dicts()
        ]
        return _optional("polars").DataFrame(rows, infer_schema_length=None)

    def __repr__(self) -> str:
        invalid = "" if self.sanity.is_measurement else f"; not a measurement: {self.sanity.reason}"
        means = ", ".join(f"{name} {figure(mean)}" for name, mean in self._main().items())
        return f"<Run {self.id}: {self.system} on {len(self)} queries, {means}{invalid}>"

    def _repr_html_(self) -> str:
        return notebook.run_table(self.summary, list(self._main()))

    def _main(self) -> dict[str, float | None]:
        measures = self._measures or main_measures(self.k)
        return {str(measure): self.metrics[str(measure)] for measure in measures}


def _optional(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise AssayError(f"{package} is not installed: pip install {package}, or use to_dicts()") from None


@dataclass(frozen=True)
class Comparison:
    """Differences between two runs, query by query and per metric; `b` is the newer."""

    detail: comparing.Comparison
    texts: Mapping[str, str]

    @property
    def metrics(self) -> dict[str, Paired]:
        """Per metric: both means, `delta`, its `interval`, `p` and the effect size."""
        return dict(self.detail.statistics)

    @property
    def adjusted(self) -> dict[str, float]:
        """p of each metric after Holm's correction."""
        return dict(self.detail.adjusted)

    @property
    def counts(self) -> dict[str, int]:
        """Number of queries by kind of change: Win, Loss, Draw, Regression."""
        return self.detail.counts

    @property
    def warnings(self) -> list[Caution]:
        """Warnings about whatever makes the figures mean less than they seem."""
        return list(self.detail.warnings)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The comparison as `assay eval compare --format json` prints it."""
        return comparison_json(self.detail, dict(self.texts))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a row per query: its text, kind of change, ranks, note and figures."""
        return list(self.summary["per_query"])

    def __repr__(self) -> str:
        deltas = ", ".join(
            f"{name} {pair.delta:+.4f} (p = {self.adjusted[name]:.3f})" for name, pair in self.metrics.items()
        )
        return f"<Comparison {self.detail.a.run_id} → {self.detail.b.run_id}: {deltas}>"

    def _repr_html_(self) -> str:
        return notebook.comparison_table(self.summary)


def compare(
    a: Run | Sequence[Run], b: Run | Sequence[Run], *, metrics: Sequence[str] | None = None, force: bool = False
) -> Comparison:
    """Compare two runs on the same golden set: paired differences, intervals and p-values corrected by Holm.

    Lists of runs, on several golden sets in the same order, are one comparison. Queries of one repository (of one set,
    in lists) are one cluster of the tests. Raises AssayError for runs that are not comparable; `force` compares what
    they share, with a warning.
    """
    before, after = ([runs] if isinstance(runs, Run) else list(runs) for runs in (a, b))
    if len(before) != len(after) or not before:
        raise AssayError(f"{len(before)} runs before and {len(after)} after: give a pair for every golden set")
    with closing(RunStore.in_memory()) as both:
        infos = [[both.copy(run._store, run._info) for run in pair] for pair in zip(before, after, strict=True)]
        pairs = [(first, second) for first, second in infos]
        detail = comparing.compare_sets(both, pairs, _measures(metrics) or None, force)
    texts = [query.text for run in before for query in run.golden]
    return Comparison(detail, dict(zip(detail.a.queries, texts, strict=True)))


@dataclass(frozen=True)
class Verdict:
    """The outcome of a gate; true in a condition if every check passed."""

    gated: Gated

    @property
    def passed(self) -> bool:
        return self.gated.passed

    @property
    def checks(self) -> list[Check]:
        return list(self.gated.checks)

    @property
    def failures(self) -> list[str]:
        """Messages of the checks that failed."""
        return [check.message for check in self.checks if not check.passed]

    @property
    def summary(self) -> dict[str, Any]:
        """The verdict as `assay eval gate --format json` prints it."""
        return self.gated.as_json()

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"<Verdict: {'passed' if self.passed else 'failed: ' + '; '.join(self.failures)}>"

    def _repr_html_(self) -> str:
        return notebook.verdict_table(self.summary)


def gate(
    run: Run,
    baseline: Run | str | os.PathLike[str] | None = None,
    minimum: Mapping[str, float | str] | None = None,
    *,
    guard: Sequence[str] = (),
    tolerance: float = 0.02,
    alpha: float = 0.05,
    max_breaks: int | None = None,
    force: bool = False,
) -> Verdict:
    """Check a run against minimum means and a baseline: another run, or the path of a baseline file.

    For metrics that are better when lower, a minimum is a maximum. `easy:RR@10` is that of a tier, `"90%"` a share of the
    baseline's mean. `guard` are the metrics that must not fall
    significantly by more than `tolerance`. Raises AssayError if run and baseline are not comparable.
    """
    floors = parse_floors([f"{name}={value}" for name, value in (minimum or {}).items()])
    rules = Rules(floors, list(map(str, _measures(guard))), tolerance, alpha, max_breaks)
    with closing(RunStore.in_memory()) as both:
        info = both.copy(run._store, run._info)
        before: RunInfo | Path | None = None
        if isinstance(baseline, Run):
            before = both.copy(baseline._store, baseline._info)
        elif baseline is not None:
            before = Path(baseline)
        return Verdict(gate_run(both, info, rules, before, force))
