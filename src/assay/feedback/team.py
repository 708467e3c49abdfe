"""The feedback store of a repository: that of the team if the user configured one, else the file next to the index.

Clones of a repository share feedback under the address of their remote `origin`. A server that does not answer never
fails an answer: a line says so, and the file is used.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from assay.database import Database, NotPermitted, StoreError, StoreUnreachable, require_driver
from assay.database.address import Address, configured_store, is_postgres
from assay.errors import AssayError
from assay.feedback import file
from assay.feedback.store import Store
from assay.git import find_place
from assay.store.layout import LEARNED, Home

_PAUSE = 30.0  # seconds until a server that did not answer is asked again, in a process that goes on
_MAX_NAME = 500  # characters; longer addresses are no addresses
_LOCAL = ("", "localhost")


class _Failure(NamedTuple):
    """Time at which a store could not be used, and True if its server answered."""

    time: float
    answered: bool


_failures: dict[Address, _Failure] = {}


class Team(NamedTuple):
    """A team's store, and the name of a repository in it."""

    address: Address
    repository: str


def team_of(root: Path) -> Team | None:
    """Return where a repository shares feedback; None if the user has no team's store, or the repository no name.

    Raises AssayError for a store that is configured wrongly.
    """
    address = configured_store()
    if not isinstance(address, str) or not is_postgres(address):
        return None
    name = shared_name(root)
    return Team(Address.parse(address), name) if name else None


def shared_name(root: Path) -> str:
    """Return the name that all clones of a repository have: host and path of `origin`, and the folder in it.

    Empty without an `origin` on another machine. Logins and passwords are no part of it.
    """
    place = find_place(root)
    if place is None:
        return ""
    address = place.settings.get(("remote", "origin", "url"), "").strip()
    if "://" not in address:  # git@host:path
        login, colon, path = address.partition(":")
        is_host = colon and "/" not in login and not path.startswith(":")  # helper::address starts a program
        host = login.rpartition("@")[2].lower() if is_host else ""
    else:
        try:
            parts = urlsplit(address)
            host, path = parts.hostname or "", parts.path
        except ValueError:
            return ""
        if parts.scheme not in ("https", "http", "ssh", "git"):
            return ""
    path = path.strip("/").removesuffix(".git").strip("/")
    name = f"{host}/{path}" + (f"#{place.prefix.rstrip('/')}" if place.prefix else "")
    valid = host not in _LOCAL and path and len(name) <= _MAX_NAME and name.isprintable()
    return name if valid else ""


@contextmanager
def opened(root: Path, home: Home, write: bool, required: bool) -> Iterator[Store]:
    """Open the feedback of a repository as one transaction, committed if the block ends without an error.

    If the team's server does not answer, a warning says so and the file is used; unless `required`, after any error.
    """
    with ExitStack() as stack:
        database = _team_database(stack, root, home, write, required)
        if database is None:
            database = stack.enter_context(file.opened(file.path_in(home), write))
        yield stack.enter_context(Store.over(database, write))


def _team_database(stack: ExitStack, root: Path, home: Home, write: bool, required: bool) -> Database | None:
    """Connect to the team's store; None if there is none, or if it cannot be used now."""
    team = None
    try:
        team = team_of(root)
        if team is None or _is_paused(team.address, required):
            return None
        require_driver()
        from assay.database import postgres

        wait = file.WAIT
        return stack.enter_context(postgres.opened(team.address, write, wait, team.repository, patient=False))
    except NotPermitted:
        raise  # a reader's own file would be a second, invisible memory
    except AssayError as error:
        answered = not isinstance(error, StoreUnreachable)
        if required and answered:
            raise
        if isinstance(error, StoreError) and team is not None:
            _failures[team.address] = _Failure(time.monotonic(), answered)
        _warn(error, home, write)
    return None


def _is_paused(address: Address, required: bool) -> bool:
    """Return whether a store failed just now: it is not asked, and not complained about, once more for every answer."""
    failure = _failures.get(address)
    recent = failure is not None and time.monotonic() - failure.time < _PAUSE
    return recent and not (required and failure is not None and failure.answered)


def _warn(error: AssayError, home: Home, write: bool) -> None:
    path = home.folder / LEARNED
    done = f"feedback is kept in {path}; share it later: assay store copy {path} ADDRESS" if write else f"using {path}"
    warnings.warn(f"{error}; {done}", stacklevel=2)
