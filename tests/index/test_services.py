"""Routes, endpoints and feature flags of every framework's fixture equal its hand-written table."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.repository import Repository

FIXTURES = Path(__file__).parents[1] / "fixtures" / "services"
NAMES = sorted(folder.name for folder in FIXTURES.iterdir())
TYPES = {"handles_route", "consumes_endpoint", "gated_by_flag"}

Rows = set[tuple[str, ...]]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    """Edges by fixture: all are indexed as one repository, so that frameworks are told apart file by file."""
    root = tmp_path_factory.mktemp("services") / "project"
    shutil.copytree(FIXTURES, root)
    repository = Repository(root)
    repository.index()
    _, edges = repository.open().export()
    rows: dict[str, Rows] = {name: set() for name in NAMES}
    for edge in edges:
        if edge.type in TYPES:
            name, _, source = edge.source.partition("/")
            rows[name].add((edge.type, source, edge.target))
    return rows


def table(name: str) -> Rows:
    lines = (FIXTURES / name / "edges.txt").read_text().splitlines()
    return {tuple(line.split("\t")) for line in lines if line and not line.startswith("#")}


@pytest.mark.parametrize("name", NAMES)
def test_edges_of_services_are_those_of_the_hand_written_table(name: str, found: dict[str, Rows]) -> None:
    assert found[name] == table(name)
