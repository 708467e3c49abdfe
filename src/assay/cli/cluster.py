"""Indexing on a cluster: a unit of work is a repository in a folder that all workers share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from assay.api import Repository
from assay.cli.common import Bar
from assay.core.progress import Report
from assay.errors import AssayError
from assay.system.cluster import ClusterSettings
from assay.system.executor import UnitFailed, open_executor, require_folder


def index_on_cluster(
    members: Mapping[str, Repository], rebuild: bool, permissions: Mapping[str, bool], cluster: ClusterSettings
) -> Iterator[tuple[str, Report | Exception]]:
    """Yield the outcome of each repository, indexed by a worker, by label, as it arrives.

    `permissions` says which may be a home directory or file system root.
    """
    units = [(label, member.root, member.home.folder, rebuild, permissions[label]) for label, member in members.items()]
    with open_executor(1, cluster) as executor, Bar() as bar:
        assert executor is not None
        bar.start("indexing", len(units))
        # not at_once: a second attempt would wait for the lock of the first
        for (label, *_), outcome in executor.map_units(index_elsewhere, units, at_once=False):
            bar.close()
            yield label, check_outcome(members[label], outcome)
            bar.advance()


def index_elsewhere(
    label: str, root: Path, index_dir: Path, rebuild: bool, anywhere: bool
) -> tuple[Report, str | None]:
    """Index a repository in a worker; return the report and the name of the current generation."""
    require_folder(root)
    with Repository(root, index_dir) as repository:
        return repository.refresh(rebuild=rebuild, anywhere=anywhere), repository.home.named()


def check_outcome(repo: Repository, outcome: tuple[Report, str | None] | UnitFailed) -> Report | Exception:
    """Return the report of a worker, or an error if its index is not the one that is here."""
    if isinstance(outcome, UnitFailed):
        return AssayError(outcome.message)
    report, generation = outcome
    if generation != repo.home.named():
        return AssayError(f"{repo.root}: indexed by a worker, but not here; workers need the same folder, shared")
    return report
