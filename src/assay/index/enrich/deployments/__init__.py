"""Deployments: the entry points that containers, workflows, process files and service units start.

`containers.py` and `jobs.py` read the commands of each format as `Start` values; `commands.py` turns a command into the
file or function of the repository that it starts. A command that names nothing of the repository gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import islice

from assay.index.enrich.deployments.commands import entries
from assay.index.enrich.deployments.project import Project, Start
from assay.store.links.stated import Deployed

_MOST_STARTS = 500  # commands of one file; a workflow of hundreds of steps is generated

Reader = Callable[[Project, str], Iterable[Start]]


@cache
def readers() -> Mapping[re.Pattern[str], Reader]:
    """Return the reader of each format, by a pattern that its paths match as a whole; the first one counts."""
    from assay.index.enrich.deployments import containers, jobs

    return {re.compile(pattern): reader for pattern, reader in (jobs.READERS | containers.READERS).items()}


def is_deployment(path: str) -> bool:
    return any(pattern.fullmatch(path) for pattern in readers())


def read_deployment(project: Project, path: str) -> list[Deployed]:
    """Return the entry points that a deployment file starts."""
    reader = next(reader for pattern, reader in readers().items() if pattern.fullmatch(path))
    return [
        Deployed(entry.id, path, start.line, start.unit, entry.command, entry.confidence)
        for start in islice(reader(project, path), _MOST_STARTS)
        for entry in entries(project, start)
    ]
