"""Upkeep of run stores: copy runs between two, check that they are whole, delete old ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assay.database import Damaged
from assay.errors import AssayError
from assay.evaluate.gate import BASELINE_FILE
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import read_baseline

_FINISHED = ("complete", "failures")  # states in which every query has a response


@dataclass(frozen=True, slots=True)
class Copied:
    """A run and its id in the store it was copied to; `new` is False if it was there as it is."""

    run_id: str
    stored_as: str
    new: bool


@dataclass(frozen=True, slots=True)
class Checked:
    """A run with its number of responses, its digest and what is wrong with it."""

    run_id: str
    responses: int
    digest: str
    problems: tuple[str, ...] = ()


def select_runs(store: RunStore, names: Sequence[str]) -> list[RunInfo]:
    """Return the named runs, or all, oldest first. Raises NoSuchRun."""
    return [store.find(name) for name in names] if names else store.runs()


def copy_runs(source: RunStore, target: RunStore, runs: Iterable[RunInfo], advance: Callable[[], None]) -> list[Copied]:
    """Copy runs with their golden sets, responses and judged arrays. Each is copied whole or not at all."""
    copied = []
    for info in runs:
        before = {run.run_id: run for run in target.runs()}
        stored = target.copy(source, info)
        copied.append(Copied(info.run_id, stored.run_id, before.get(stored.run_id) != stored))
        advance()
    return copied


def check_runs(
    store: RunStore, runs: Iterable[RunInfo], other: RunStore | None, advance: Callable[[], None]
) -> list[Checked]:
    """Check the runs of a store: golden set, number of responses, judged arrays; with `other`, equal digests there."""
    checked = []
    for info in runs:
        checked.append(_check_run(store, info, other))
        advance()
    return checked


def _check_run(store: RunStore, info: RunInfo, other: RunStore | None) -> Checked:
    problems = []
    golden = store.golden(info)
    answered = store.answered(info.run_id)
    queries = len(golden.queries)
    if not store.is_intact(info):
        problems.append("the golden set is not the one that the run was made with")
    if any(position >= queries for position in answered):
        problems.append(f"there are responses to more than the {queries} queries of its golden set")
    if info.status in _FINISHED and len(answered) != queries:
        problems.append(f"{len(answered)} of {queries} responses, but the run is {info.status}")
    try:
        if len(store.judged(info)) != queries:
            problems.append("the judged arrays are of other queries")
    except Damaged as error:
        problems.append(f"cannot be read ({error})")
    digest = store.digest(info)
    if other is not None:
        digests = [other.digest(copy) for copy in other.copies(info)]
        if digest not in digests:
            problems.append(f"{'differs from the run' if digests else 'is missing'} in {other.place}")
    return Checked(info.run_id, len(answered), digest, tuple(problems))


def copy_ledger(source: RunStore, target: RunStore, copied: Sequence[Copied], everything: bool) -> Sequence[str]:
    """Copy the baselines of copied runs and, if all runs were copied, the experiments; return what was new."""
    return target.ledger.copy(source.ledger, {run.run_id: run.stored_as for run in copied}, everything)


def check_ledger(store: RunStore) -> list[str]:
    """Return what is wrong with baselines and open experiments."""
    runs = {run.run_id: run for run in store.runs()}
    problems = []
    for baseline in store.ledger.baselines():
        run = runs.get(baseline.run_id)
        if run is None or run.status != "complete":
            problems.append(f"baseline {baseline.name}: run {baseline.run_id} is {run.status if run else 'missing'}")
    lost = [entry for entry in store.ledger.experiments() if entry.is_open and entry.before not in runs]
    return problems + [f"experiment {entry.number}: run {entry.before}, where it began, is missing" for entry in lost]


def prune_runs(store: RunStore, days: float, keep: Sequence[str], root: Path, dry_run: bool) -> list[RunInfo]:
    """Delete unlabelled runs older than `days`, except those named, of baselines and of open experiments; return them."""
    before = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
    protected = {store.find(name).run_id for name in keep} | _baseline_run(root) | store.ledger.needed_runs()
    old = [run for run in store.runs() if run.created < before and not run.label and run.run_id not in protected]
    if not dry_run:
        store.delete(old)
    return old


def _baseline_run(root: Path) -> set[str]:
    path = root / BASELINE_FILE
    try:
        return {read_baseline(path).run_id} if path.exists() else set()
    except AssayError as error:
        raise AssayError(f"{error}; nothing was deleted, because the run of the baseline must be kept") from None
