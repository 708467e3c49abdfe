"""Statements of a repository's own files: dependencies, deployments and owners.

One file in `.assay/`, replaced atomically when a manifest, a deployment file or the set of files changes
(`assay.index.enrich`). Entry points are kept by path and symbol and checked against an open index, so that editing code
never rewrites them. A dependency is matched by name with the manifests of all repositories of an index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.core.items import EXTERNAL, Link
from assay.core.owners import OwnerRule, OwnerRules
from assay.store import arrays
from assay.store.arrays import Array
from assay.store.generation import Generation, UnusableIndex
from assay.store.index import Index, Part

NAME = "statements.npz"
FORMAT = 1  # file format version
_WHAT = "what manifests and deployments state"  # in messages
DEPENDENCY, DEPLOYMENT, TEAM = "dependency:", "deployment:", "team:"  # prefixes of names outside the code
_NAMES = (DEPENDENCY, DEPLOYMENT, TEAM, "person:", EXTERNAL)
BY_NAME = 0.9  # confidence that a dependency of a module's name is that module: a registry may have another of the name


class Module(NamedTuple):
    """A package that a manifest of the repository declares."""

    manifest: str
    ecosystem: str  # names of two ecosystems have nothing to do with each other
    name: str


class Requirement(NamedTuple):
    """A dependency that a manifest states."""

    manifest: str
    line: int
    ecosystem: str
    name: str
    detail: str = ""  # version constraint, group
    target: str = ""  # manifest, if the dependency is given by its path


class Deployed(NamedTuple):
    """An entry point that a deployment starts."""

    entry: str  # path, or `path::symbol` if the command names one
    path: str
    line: int
    unit: str  # within the deployment's file: service, container, job
    detail: str = ""  # the command
    confidence: float = 1.0


class Statements(NamedTuple):
    """All statements of one repository."""

    modules: Sequence[Module] = ()
    requirements: Sequence[Requirement] = ()
    deployed: Sequence[Deployed] = ()
    owners_file: str = ""
    owner_rules: Sequence[OwnerRule] = ()


def write(path: Path, key: str, statements: Statements) -> None:
    """Write statements atomically; `key` identifies their input."""
    arrays.write(path, _arrays(key, statements))


def key_of(path: Path) -> str | None:
    """Return the input key of statements; None if they are missing or damaged."""
    try:
        stored = _load(path)
        _decoded(stored)
    except (OSError, UnusableIndex, ValueError, IndexError):
        return None
    return arrays.key_of(stored, FORMAT)


def _load(path: Path) -> dict[str, Array]:
    return arrays.read(path, FORMAT, _WHAT, _empty_arrays(), arrays.Relations())


@cache
def _empty_arrays() -> dict[str, Array]:
    return _arrays("", Statements())


def _arrays(key: str, statements: Statements) -> dict[str, Array]:
    modules, requirements, deployed, owners_file, rules = statements
    return {
        "key": arrays.key(FORMAT, key),
        **arrays.strings("module", (field for module in modules for field in module)),
        **arrays.strings("requirement", (str(field) for requirement in requirements for field in requirement)),
        **arrays.strings("deployed", (str(field) for deployment in deployed for field in deployment[:-1])),
        "confidences": np.array([deployment.confidence for deployment in deployed], "<f4"),
        **arrays.strings("owners_file", [owners_file]),
        **arrays.strings(
            "rule", (field for r in rules for field in (r.pattern, " ".join(r.owners), str(r.line), r.section))
        ),
    }


def read(generation: Generation) -> Statements:
    """Return the statements of a repository; none if there are none. Raises UnusableIndex for a damaged file."""
    stored = arrays.read_or_empty(generation.home / NAME, FORMAT, _WHAT, _empty_arrays(), arrays.Relations())
    try:
        return _decoded(stored)
    except (ValueError, IndexError) as error:
        raise UnusableIndex(
            f"{generation.home / NAME}: {_WHAT} cannot be used ({error}). Write it again with: assay index"
        ) from None


def _decoded(stored: Mapping[str, Array]) -> Statements:
    confidences = [min(1.0, max(0.0, float(value))) for value in np.nan_to_num(stored["confidences"])]
    return Statements(
        [Module(*row) for row in _rows(stored, "module", 3)],
        [
            Requirement(manifest, int(line), ecosystem, name, detail, target)
            for manifest, line, ecosystem, name, detail, target in _rows(stored, "requirement", 6)
        ],
        [
            Deployed(entry, path, int(line), unit, detail, confidence)
            for (entry, path, line, unit, detail), confidence in zip(
                _rows(stored, "deployed", 5), confidences, strict=True
            )
        ],
        next(iter(arrays.strings_of(stored, "owners_file")), ""),
        [
            OwnerRule(pattern, tuple(owners.split()), int(line), section)
            for pattern, owners, line, section in _rows(stored, "rule", 4)
        ],
    )


def _rows(stored: Mapping[str, Array], what: str, columns: int) -> Iterable[tuple[str, ...]]:
    values = iter(arrays.strings_of(stored, what))
    return zip(*[values] * columns, strict=True)


# Links


class Stated:
    """The statements of one part of an index."""

    def __init__(self, part: Part) -> None:
        self.part, self.statements = part, read(part.generation)

    @cached_property
    def owners(self) -> OwnerRules:
        return OwnerRules(self.statements.owner_rules)


def links(index: Index) -> Iterator[Link]:
    """Yield the dependencies and deployments of all repositories."""
    modules = _modules_by_name(index.stated)
    for stated in index.stated:
        for requirement in stated.statements.requirements:
            yield _dependency(stated.part, requirement, modules)
        for deployed in stated.statements.deployed:
            if link := _deployment(index, stated.part, deployed):
                yield link


Modules = dict[tuple[str, str], list[str]]


def _modules_by_name(stated: Iterable[Stated]) -> Modules:
    """Return the manifests that declare each package, by ecosystem and name."""
    out: Modules = {}
    for repository in stated:
        for module in repository.statements.modules:
            out.setdefault((module.ecosystem, module.name), []).append(repository.part.path(module.manifest))
    return out


def _dependency(part: Part, requirement: Requirement, modules: Modules) -> Link:
    manifest = part.path(requirement.manifest)
    place = (manifest, requirement.line, requirement.detail)
    if requirement.target:
        return Link(manifest, part.path(requirement.target), "depends_on", "parsed", 1.0, *place)
    declaring = [path for path in modules.get((requirement.ecosystem, requirement.name), ()) if path != manifest]
    if len(declaring) == 1:
        return Link(manifest, declaring[0], "depends_on", "resolved", BY_NAME, *place)
    return Link(manifest, DEPENDENCY + requirement.name, "depends_on", "parsed", 1.0, *place)


def _deployment(index: Index, part: Part, deployed: Deployed) -> Link | None:
    """Return the link of an entry point: its symbol if the index has it, else its file; None if it has neither."""
    source = part.path(deployed.entry)
    if index.by_id(source) is None:
        source = source.partition("::")[0]
        if index.by_id(source) is None:
            return None
    path = part.path(deployed.path)
    return Link(
        source, f"{DEPLOYMENT}{path}#{deployed.unit}", "deployed_by", "parsed", deployed.confidence, path,
        deployed.line, deployed.detail,
    )  # fmt: skip


def owners(index: Index, id: str) -> Iterator[Link]:
    """Yield the owners of a file; symbols are owned with their file."""
    if "::" in id or id.startswith(_NAMES):
        return
    for stated in index.stated:
        part, local = stated.part, id
        if part.label:
            label, _, local = id.partition("/")
            if label != part.label:
                continue
        for rule in stated.owners.of(local):
            for owner in rule.owners:
                place = (part.path(stated.statements.owners_file), rule.line, rule.pattern)
                yield Link(id, TEAM + owner, "owned_by", "parsed", 1.0, *place)
