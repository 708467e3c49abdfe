"""Repositories on a cluster: a unit of work is a repository in a folder that all workers share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.api import EnrichOptions, Repository
from assay.cli.common import Bar
from assay.core.progress import Report
from assay.errors import AssayError
from assay.system.cluster import ClusterSettings
from assay.system.executor import Unit, UnitFailed, open_executor, require_folder
from assay.system.programs import guarding

if TYPE_CHECKING:
    from assay.index.enrich.pipeline import Enriched

Result = TypeVar("Result")


def index_on_cluster(
    members: Mapping[str, Repository], rebuild: bool, permissions: Mapping[str, bool], cluster: ClusterSettings
) -> Iterator[tuple[str, Report | Exception]]:
    """Yield the outcome of each repository, indexed by a worker, by label, as it arrives.

    `permissions` says which may be a home directory or file system root.
    """
    units = [(label, member.root, member.home.folder, rebuild, permissions[label]) for label, member in members.items()]
    for label, outcome in apply_on_cluster("indexing", index_elsewhere, units, cluster, _roots(members)):
        yield label, check_outcome(members[label], outcome)


def index_elsewhere(
    label: str, root: Path, index_dir: Path, rebuild: bool, anywhere: bool
) -> tuple[Report, str | None]:
    """Index a repository in a worker; return the report and the name of the current generation."""
    require_folder(root)
    with Repository(root, index_dir) as repository:
        return repository.refresh(rebuild=rebuild, anywhere=anywhere), repository.home.named()


def enrich_on_cluster(
    members: Mapping[str, Repository], options: EnrichOptions, cluster: ClusterSettings
) -> Iterator[tuple[str, Enriched | Exception]]:
    """Yield the outcome of each repository, enriched by the tools of a worker, by label, as it arrives."""
    units = [(label, member.root, member.home.folder, options) for label, member in members.items()]
    for label, outcome in apply_on_cluster("enriching", enrich_elsewhere, units, cluster, _roots(members)):
        yield label, check_outcome(members[label], outcome)


def enrich_elsewhere(label: str, root: Path, index_dir: Path, options: EnrichOptions) -> tuple[Enriched, str | None]:
    """Enrich a repository in a worker; return the result and the name of the current generation."""
    require_folder(root)
    with Repository(root, index_dir) as repository:
        return repository.enrich(**options), repository.home.named()


def apply_on_cluster(
    stage: str,
    function: Callable[..., Result],
    units: Sequence[Unit],
    cluster: ClusterSettings,
    roots: Sequence[Path] = (),
) -> Iterator[tuple[str, Result | UnitFailed]]:
    """Apply a function to repositories, whose labels are the first arguments; yield label and outcome as they arrive.

    Workers start no program that is inside one of `roots`, whichever they work on.
    """
    with open_executor(1, cluster, partial(guarding, roots)) as executor, Bar() as bar:
        assert executor is not None
        bar.start(stage, len(units))
        # not at_once: a second attempt would wait for the lock of the first
        for (label, *_), outcome in executor.map_units(function, units, at_once=False):
            bar.close()
            yield label, outcome
            bar.advance()


def _roots(members: Mapping[str, Repository]) -> list[Path]:
    return [member.root for member in members.values()]


def check_outcome(repo: Repository, outcome: tuple[Any, str | None] | UnitFailed) -> Any:
    """Return the result of a worker, or an error if its index is not the one that is here."""
    if isinstance(outcome, UnitFailed):
        return AssayError(outcome.message)
    result, generation = outcome
    if generation != repo.home.named():
        return AssayError(f"{repo.root}: indexed by a worker, but not here; workers need the same folder, shared")
    return result
