"""Upkeep of feedback in a file or in the store of a team: copy it, check that it can be read, delete what is old."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.database import Damaged, Database, require_driver
from assay.database.address import Address, is_postgres
from assay.errors import AssayError
from assay.feedback import file
from assay.feedback.store import Store
from assay.store.layout import LEARNED


@dataclass(frozen=True, slots=True)
class CheckedFeedback:
    """The feedback on a repository: its symbols, and what is wrong with it."""

    repository: str
    symbols: int
    problems: tuple[str, ...] = ()


def is_feedback_file(address: Path | str) -> bool:
    """Return whether an address is a feedback file, which is told by its name."""
    return isinstance(address, Path) and address.name == LEARNED


@contextmanager
def open_feedback(address: Path | str, repository: str, write: bool) -> Iterator[Store]:
    """Open the feedback of one repository as one transaction. A file has only one, whatever its name."""
    with _database(address, repository, write) as database, Store.over(database, write) as store:
        yield store


def repositories(address: str) -> list[str]:
    """Return the names of all repositories with feedback in the store of a team."""
    with _database(address, "", write=False) as database:
        rows = database.rows("SELECT DISTINCT repository FROM symbols ORDER BY repository")
    return [str(row[0]) for row in rows]


def copy_feedback(source: Store, target: Store) -> int:
    """Copy votes and learned words; return the number of symbols. Where both have counts, the larger one holds.

    So a repeated copy changes nothing. Sessions, which end after a day, are not copied.
    """
    return target.take(*source.give())


def check_feedback(address: str) -> list[CheckedFeedback]:
    """Read all feedback of a team's store, one repository at a time."""
    checked = []
    for repository in repositories(address):
        with open_feedback(address, repository, write=False) as store:
            try:
                checked.append(CheckedFeedback(repository, store.check()))
            except Damaged as error:
                checked.append(CheckedFeedback(repository, 0, (f"cannot be read ({error})",)))
    return checked


def prune_feedback(address: str, before: float, dry_run: bool) -> int:
    """Delete the feedback that nobody confirmed since a time; return the number of symbols."""
    old = 0
    for repository in repositories(address):
        with open_feedback(address, repository, write=not dry_run) as store:
            keys = [record.key for record in store.records() if record.time < before]
            old += len(keys)
            if not dry_run:
                store.drop(keys)
    return old


def _database(address: Path | str, repository: str, write: bool) -> AbstractContextManager[Database]:
    if isinstance(address, str) and is_postgres(address):
        require_driver()
        from assay.database import postgres

        return postgres.opened(Address.parse(address), write, file.WAIT, repository)
    path = Path(address)
    if not write and not path.exists():
        raise AssayError(f"{path}: no such file; feedback of a repository is in .assay/{LEARNED} at its root")
    return file.opened(path, write)
