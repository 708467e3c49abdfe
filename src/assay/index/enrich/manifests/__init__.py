"""Manifests: the packages that a repository declares and what they depend on, one reader per format.

A reader takes the project files and the path of a manifest, and returns a `Manifest`, or None for a file that declares
nothing. Nothing is executed: of manifests that are programs (setup.py, Gradle, Gemfile) only literal values are read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from assay.index.enrich.sources import Sources


class Dependency(NamedTuple):
    """A dependency as written in a manifest."""

    name: str
    detail: str = ""  # version constraint, group
    line: int = 0
    target: str = ""  # manifest of the repository, if it is given by its path


@dataclass(slots=True)
class Manifest:
    """A manifest: the package it declares, its dependencies, and the programs it defines."""

    path: str
    ecosystem: str
    name: str = ""
    dependencies: list[Dependency] = field(default_factory=list)
    commands: dict[str, str] = field(default_factory=dict)  # scripts of a package manager: name → command line
    programs: dict[str, str] = field(default_factory=dict)  # installed programs: name → entry point

    @property
    def folder(self) -> str:
        return posixpath.dirname(self.path)


Reader = Callable[[Sources, str], Manifest | None]


@cache
def readers() -> Mapping[re.Pattern[str], Reader]:
    """Return the reader of each format, by a pattern that its paths match as a whole."""
    from assay.index.enrich.manifests import dotnet, go, javascript, jvm, python, ruby, rust

    return {
        re.compile(pattern): reader
        for family in (python, javascript, go, rust, jvm, dotnet, ruby)
        for pattern, reader in family.READERS.items()
    }


def is_manifest(path: str) -> bool:
    return any(pattern.fullmatch(path) for pattern in readers())


def read_manifest(sources: Sources, path: str) -> Manifest | None:
    """Return the manifest at a path; None if it declares nothing."""
    return next(reader for pattern, reader in readers().items() if pattern.fullmatch(path))(sources, path)
