"""Fixtures: one YAML file per task, in folders by tier, perhaps below a folder per repository."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from assay.core.golden import GoldenQuery
from assay.evaluate.golden import nodes as yaml_lines
from assay.evaluate.golden.format import Format, Rendered, fit
from assay.evaluate.golden.nodes import Fields, Problems, Unreadable, read_head, read_text
from assay.evaluate.golden.records import Schema, read_query, record

TIERS = ("easy", "medium", "hard", "exact", "concept", "multi_hop")

SCHEMA = Schema(
    {
        "id": "id",
        "repo": "repository",
        "task": "text",
        "description": "text",
        "difficulty": "tier",
        "tier": "tier",
        "category": "category",
        "source": "category",  # where a task is from: the category of the cross-repository tasks
        "tags": "tags",
        "refuse": "refuse",
        "ground_truth": "symbol",
        "expected_files": "file",
        "notes": "notes",
        "commit": "commit",
    }
)
_SUFFIXES = (".yaml", ".yml")
_IS_FIXTURE = re.compile(r"""^["']?(task|ground_truth)["']?\s*:""", re.MULTILINE)
_SAFE = re.compile(r"\w[\w.-]{0,59}")  # usable as the name of a file or folder anywhere
_SLUG_WORDS = 6


def _files(path: Path) -> list[Path]:
    """The YAML files of a set in the order of their paths; hidden ones are left out."""
    if not path.is_dir():
        return [path]
    found: list[Path] = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(folder, name) for name in names if name.endswith(_SUFFIXES) and not name.startswith(".")]
    return sorted(found, key=lambda file: file.relative_to(path).parts)


def _detect(path: Path) -> bool:
    if path.is_file() and path.suffix not in _SUFFIXES:
        return False
    return any(_IS_FIXTURE.search(read_head(file)) for file in _files(path))


def _read(path: Path, problems: Problems) -> list[GoldenQuery]:
    queries = []
    for file in _files(path):
        try:
            query = _read_file(file, path if path.is_dir() else path.parent, problems)
        except Unreadable as reason:
            problems.unreadable(file, reason)
        else:
            queries += [query] if query else []
    return queries


def _read_file(file: Path, root: Path, problems: Problems) -> GoldenQuery | None:
    node = yaml_lines.parse(read_text(file))
    if node is None:
        raise Unreadable(0, "is empty; a fixture needs `task` and `ground_truth`")
    if isinstance(node, Fields) and "queries" in node.values:
        raise Unreadable(node.lines["queries"], "is a list of queries, not a fixture; give its own path to use it")
    relative = file.relative_to(root)
    query = read_query(SCHEMA, node, file, problems, default_id=relative.with_suffix("").as_posix())
    if query is None or file.absolute().parent.name not in TIERS:
        return query
    tier = file.absolute().parent.name
    if query.tier and query.tier != tier:
        problems.error(
            query.where,
            0,
            f"the tier is `{query.tier}`, but the file lies in the folder `{tier}`; move it or change the tier",
        )
    above = relative.parts[-3] if len(relative.parts) > 2 else ""
    return replace(query, tier=tier, repository=query.repository or above)


def _render(queries: Sequence[GoldenQuery]) -> Rendered:
    kept, lost = fit(queries, SCHEMA.roles)
    files: dict[str, str] = {}
    width = max(2, len(str(len(kept))))
    own = {query.id: _own_place(query) for query in kept}
    taken = set(own.values())
    numbers: dict[PurePosixPath, int] = {}
    for query in kept:
        place = own[query.id]
        folder = _folder(query)
        while place is None:
            numbers[folder] = numbers.get(folder, 0) + 1
            numbered = folder / f"{numbers[folder]:0{width}d}-{_slug(query.text)}.yaml"
            place = numbered if numbered not in taken else None
        files[str(place)] = _text(query, place)
    return Rendered(files, lost)


def _extend(query: GoldenQuery, path: Path) -> Rendered:
    kept, lost = fit([query], SCHEMA.roles)
    if not path.is_dir():
        raise Unreadable(0, "a fixture file holds one task; give the folder of the set to add another")
    files = {}
    for one in kept:
        folder = _folder(one)
        if one.repository and (path / folder.name).is_dir():  # a set of one repository, its tiers on top
            folder = PurePosixPath(folder.name)
        names = [file.name for file in _files(path) if file.parent == path / folder]
        number = max((int(digits[0]) for name in names if (digits := re.match(r"\d+", name))), default=0) + 1
        place = folder / f"{number:02d}-{_slug(one.text)}.yaml"
        files[str(place)] = _text(one, place)
    return Rendered(files, lost)


def _folder(query: GoldenQuery) -> PurePosixPath:
    """Where the file of a query belongs: below its tier, and that below its repository."""
    if not _SAFE.fullmatch(query.tier):
        return PurePosixPath()
    return PurePosixPath(*filter(_SAFE.fullmatch, (query.repository, query.tier)))


def _own_place(query: GoldenQuery) -> PurePosixPath | None:
    """The path that gives a query its id by default, if its id is such a path."""
    place = PurePosixPath(query.id + ".yaml")
    is_own = place.parent == _folder(query) and _SAFE.fullmatch(place.stem) and str(place) == query.id + ".yaml"
    return place if is_own else None


def _text(query: GoldenQuery, place: PurePosixPath) -> str:
    fields = record(SCHEMA, query)
    if query.id == str(place.with_suffix("")):
        del fields["id"]
    return yaml_lines.dump(fields)


def _slug(text: str) -> str:
    words = re.findall(r"[a-z0-9]+", text.lower())[:_SLUG_WORDS]
    return "-".join(words)[:60] or "task"


FIXTURES = Format(
    "fixtures",
    "folder of YAML files with `task` and `ground_truth`, below easy/, medium/, hard/",
    _detect,
    _read,
    _render,
    _extend,
    folder=True,
)
