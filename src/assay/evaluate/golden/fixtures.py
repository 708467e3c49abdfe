"""Fixtures: one YAML file per task, in folders by tier, optionally below a folder per repository."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from assay.core.golden import GoldenQuery
from assay.evaluate.golden import nodes
from assay.evaluate.golden.format import Format, Problems, Rendered, fit, read_head, read_text
from assay.evaluate.golden.nodes import Fields, Unreadable
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
        "source": "category",  # origin of a task: the category in the cross-repository set
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
_SAFE_NAME = re.compile(r"\w[\w.-]{0,59}")  # valid as a file or folder name on any system
_SLUG_WORDS = 6


def _files(path: Path) -> list[Path]:
    """Return the YAML files of a set sorted by path, without hidden ones."""
    if not path.is_dir():
        return [path]
    files: list[Path] = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(folder, name) for name in names if name.endswith(_SUFFIXES) and not name.startswith(".")]
    return sorted(files, key=lambda file: file.relative_to(path).parts)


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
    node = nodes.parse(read_text(file))
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
    parent_folder = relative.parts[-3] if len(relative.parts) > 2 else ""
    return replace(query, tier=tier, repository=query.repository or parent_folder)


def _render(queries: Sequence[GoldenQuery]) -> Rendered:
    writable, lost = fit(queries, SCHEMA.roles)
    files: dict[str, str] = {}
    width = max(2, len(str(len(writable))))
    own_paths = {query.id: _path_from_id(query) for query in writable}
    used_paths = set(own_paths.values())
    numbers: dict[PurePosixPath, int] = {}
    for query in writable:
        target = own_paths[query.id]
        folder = _folder(query)
        while target is None:
            numbers[folder] = numbers.get(folder, 0) + 1
            numbered = folder / f"{numbers[folder]:0{width}d}-{_slug(query.text)}.yaml"
            target = numbered if numbered not in used_paths else None
        files[str(target)] = _render_query(query, target)
    return Rendered(files, lost)


def _extend(query: GoldenQuery, path: Path) -> Rendered:
    writable, lost = fit([query], SCHEMA.roles)
    if not path.is_dir():
        raise Unreadable(0, "a fixture file holds one task; give the folder of the set to add another")
    files = {}
    for addition in writable:
        folder = _folder(addition)
        if addition.repository and (path / folder.name).is_dir():  # a set of one repository has its tiers at the top
            folder = PurePosixPath(folder.name)
        names = [file.name for file in _files(path) if file.parent == path / folder]
        number = max((int(digits[0]) for name in names if (digits := re.match(r"\d+", name))), default=0) + 1
        target = folder / f"{number:02d}-{_slug(addition.text)}.yaml"
        files[str(target)] = _render_query(addition, target)
    return Rendered(files, lost)


def _folder(query: GoldenQuery) -> PurePosixPath:
    """Return the folder of a query's file: repository/tier, or the root when the tier is not a safe name."""
    if not _SAFE_NAME.fullmatch(query.tier):
        return PurePosixPath()
    return PurePosixPath(*filter(_SAFE_NAME.fullmatch, (query.repository, query.tier)))


def _path_from_id(query: GoldenQuery) -> PurePosixPath | None:
    """Return the path whose default id is the query's id, if the id is such a path."""
    path = PurePosixPath(query.id + ".yaml")
    is_default_id = (
        path.parent == _folder(query) and _SAFE_NAME.fullmatch(path.stem) and str(path) == query.id + ".yaml"
    )
    return path if is_default_id else None


def _render_query(query: GoldenQuery, target: PurePosixPath) -> str:
    fields = record(SCHEMA, query)
    if query.id == str(target.with_suffix("")):
        del fields["id"]
    return nodes.dump(fields)


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
