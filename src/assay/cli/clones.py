"""Indexes of git addresses: the worker, or this process, clones a commit into its own cache and indexes the clone there.

Only `assay index` does it, and only for addresses on its command line.
"""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.api import Repository
from assay.core.progress import Report
from assay.errors import AssayError
from assay.git.address import BadAddress, GitAddress, parse_address
from assay.git.clone import CloneFailed, cache_folder, resolve, update
from assay.store.layout import lock_file
from assay.system.executor import UnitFailed

if TYPE_CHECKING:
    from assay.system.cluster import ClusterSettings


@dataclass(frozen=True, slots=True)
class ClonedIndex:
    """A clone and its index: the machine and folder that have them, the indexed commit, and where it was published."""

    report: Report
    host: str
    folder: Path
    commit: str
    published: str = ""

    def as_json(self) -> dict[str, object]:
        facts = {"host": self.host, "commit": self.commit, "published": self.published or None}
        return {"root": str(self.folder), **facts, **asdict(self.report)}


def label_addresses(texts: Sequence[str], taken: Sequence[str]) -> dict[str, GitAddress]:
    """Return addresses by label: the name of the repository, with a number if it is taken. Raises BadAddress."""
    labelled: dict[str, GitAddress] = {}
    for address in map(parse_address, texts):
        if any(address.url == other.url for other in labelled.values()):
            raise BadAddress(f"{address.url}: given twice; its clone has one revision at a time")
        label, number = address.name, 1
        while label in labelled or label in taken:
            number += 1
            label = f"{address.name}-{number}"
        labelled[label] = address
    return labelled


def index_addresses(
    addresses: Mapping[str, GitAddress], rebuild: bool, publish: str, cluster: ClusterSettings | None
) -> Iterator[tuple[str, ClonedIndex | Exception]]:
    """Yield the outcome of each address by label, indexed by a worker or here."""
    if publish and "://" not in publish:
        publish = str(Path(publish).resolve())  # workers start elsewhere
    units = []
    for label, address in addresses.items():
        try:
            commit = resolve(address)  # once: all workers would see the same repository
        except AssayError as error:
            yield label, error
            continue
        destination = f"{publish.rstrip('/')}/{label}" if publish else ""
        units.append((label, address, commit, rebuild, destination))
    if cluster is None or not units:
        for unit in units:
            try:
                yield unit[0], index_address(*unit)
            except (AssayError, OSError, sqlite3.DatabaseError) as error:
                yield unit[0], error
        return
    from assay.cli.cluster import apply_on_cluster  # slow to import

    for label, outcome in apply_on_cluster("indexing", index_address, units, cluster):
        yield label, AssayError(outcome.message) if isinstance(outcome, UnitFailed) else outcome


def index_address(label: str, address: GitAddress, commit: str, rebuild: bool, destination: str) -> ClonedIndex:
    """Clone a commit into the cache of this machine, or update the clone, and index it; publish it, if wanted."""
    folder = cache_folder() / address.folder
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock_file(folder.with_name(f"{folder.name}.lock")):  # another worker of this machine
            update(address, commit, folder)
            with Repository(folder) as repository:
                report = repository.refresh(rebuild=rebuild)
                if destination:
                    repository.publish(destination)
    except OSError as error:
        raise CloneFailed(f"{address.url}: {folder} on {platform.node()}: {error.strerror or error}") from None
    return ClonedIndex(report, platform.node(), folder, commit, destination)
