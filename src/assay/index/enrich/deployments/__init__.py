"""Deployments: the entry points that containers, workflows, process files and service units start.

A reader takes the project and the path of a deployment file and yields a `Start` for every command in it. `commands.py`
turns a command line into the file or function of the repository that it starts; what cannot be resolved gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from assay.index.enrich.deployments.commands import entries
from assay.index.enrich.deployments.project import Project, Start
from assay.index.enrich.manifests import Manifest
from assay.index.enrich.sources import Sources
from assay.store.links.stated import Deployed

_MOST_STARTS = 500  # commands of one file; a workflow of hundreds of steps is generated

Reader = Callable[[Project, str], Iterable[Start]]


def readers() -> Mapping[re.Pattern[str], Reader]:
    """Return the reader of each format, by a pattern that its paths match as a whole; the first one counts."""
    from assay.index.enrich.deployments import compose, docker, kubernetes, processes, workflows

    return {
        re.compile(pattern): reader
        for family in (docker, compose, workflows, processes, kubernetes)
        for pattern, reader in family.READERS.items()
    }


def read_deployments(sources: Sources, manifests: Sequence[Manifest]) -> Iterator[Deployed]:
    """Yield the entry points that the deployment files of a repository start."""
    project = Project(sources, manifests)
    table = readers()
    for path in sorted(sources.project_files):
        reader = next((reader for pattern, reader in table.items() if pattern.fullmatch(path)), None)
        if reader is None:
            continue
        for number, start in enumerate(reader(project, path)):
            if number == _MOST_STARTS:
                break
            for entry in entries(project, start):
                yield Deployed(entry.id, path, start.line, start.unit, entry.command, entry.confidence)
