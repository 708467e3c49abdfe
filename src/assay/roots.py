"""Which repositories are asked together: folders with a label each, named in `assay.toml` or on the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from assay.config.trust import split_root
from assay.errors import AssayError
from assay.retrieve.configuration import NAME, load

_NOT_IN_LABEL = re.compile(r"[^\w.@+-]+")


@dataclass(frozen=True, slots=True)
class Root:
    """A repository among others: its paths begin with the label."""

    label: str
    path: Path


def roots(written: Iterable[str | Path], base: Path | None = None, where: str = "") -> list[Root]:
    """The repositories that are meant by `path` or `label=path`; everything that is wrong with them is one error. `base`: paths begin there."""
    found, problems = list[Root](), list[str]()
    for text in map(str, written):
        try:
            found.append(_root(text, base or Path.cwd()))
        except AssayError as error:
            problems.append(str(error))
    problems += [problem for pair in combinations(found, 2) if (problem := _clash(*pair))]
    if problems:
        raise AssayError("\n".join(f"{where}{problem}" for problem in problems))
    return found


def roots_of(folder: Path) -> list[Root]:
    """The repositories of a workspace, as its assay.toml names them."""
    return roots(load(folder).workspace.roots, folder, f"{folder / NAME}: [workspace] ")


def _root(text: str, base: Path) -> Root:
    label, path = split_root(text, base)
    written = text.removeprefix(f"{label}=") if label else text
    if not path.exists():
        raise AssayError(f"{written}: no such folder")
    if not path.is_dir():
        raise AssayError(f"{written}: not a folder; name the folder that contains it")
    resolved = path.resolve()
    label = label or _NOT_IN_LABEL.sub("-", resolved.name)
    if not label.strip("."):
        raise AssayError(f"{written}: has no name to call it by; write label={written}")
    return Root(label, resolved)


def _clash(one: Root, other: Root) -> str:
    """Why two cannot be asked together; empty when they can."""
    if one.path == other.path:
        return f"{one.path} is named twice"
    outer, inner = sorted((one, other), key=lambda root: len(root.path.parts))
    if inner.path.is_relative_to(outer.path) and not all((root.path / ".git").exists() for root in (outer, inner)):
        return f"{inner.path} is inside {outer.path}, so its files would be found twice; leave out one of them"
    if one.label == other.label:
        paths = f"{one.path} and {other.path}"
        return f"two repositories are called '{one.label}' ({paths}); give one of them a name: other={other.path}"
    return ""


def listed(found: Sequence[Root]) -> str:
    """For people: `api (../api), web (../web)`."""
    return ", ".join(f"{root.label} ({root.path})" for root in found)
