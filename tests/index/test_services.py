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


def test_patterns_of_the_configuration_name_further_calls_of_flags(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text('import switches\n\ndef pay():\n    return switches.lit("fast-pay")\n')
    repository = Repository(tmp_path)
    repository.index()
    assert _flags(repository) == set()
    (tmp_path / "assay.toml").write_text('[flags]\npatterns = ["switches.lit"]\n')
    report = repository.index()
    assert report.reason == "the flag patterns of assay.toml changed"
    assert _flags(repository) == {("shop.py::pay", "external:flag:fast-pay")}
    assert repository.index().mode == "fresh"


def _flags(repository: Repository) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in repository.open().export()[1] if edge.type == "gated_by_flag"}


def test_a_prefix_given_in_another_file_belongs_to_the_routes_of_the_router(tmp_path: Path) -> None:
    (tmp_path / "users.py").write_text(
        "from fastapi import APIRouter\n\nrouter = APIRouter()\n\n"
        '@router.get("/{user_id}/orders")\ndef orders(user_id):\n    return []\n'
    )
    (tmp_path / "main.py").write_text(
        "from fastapi import FastAPI\nfrom users import router as users\n\napp = FastAPI()\n"
        'app.include_router(users, prefix="/users")\n'
    )
    (tmp_path / "client.py").write_text(
        'import requests\n\ndef call(base, id):\n    return requests.get(f"{base}/users/{id}/orders")\n'
    )
    repository = Repository(tmp_path)
    repository.index()
    links = [(link.source, link.target, link.confidence) for link in repository.open().links.all]
    assert links == [("client.py::call", "users.py::orders", 0.81)]


def test_an_update_finds_the_same_services_as_a_full_index(tmp_path: Path) -> None:
    """Routes and mounts stand in one file, their handlers and routers in another."""
    root = tmp_path / "shop"
    shutil.copytree(FIXTURES, root)
    (root / "fastapi" / "api.py").write_text(
        'from fastapi import FastAPI\nfrom main import router\n\napi = FastAPI()\napi.include_router(router, prefix="/v2")\n'
    )
    repository = Repository(root)
    repository.index()
    for path, before, after in [
        ("express/users.js", "exports.listUsers", "exports.listPeople"),
        ("django/views.py", "import View\n", "import View\n\n\n"),
        ("fastapi/main.py", "router = APIRouter", "\nrouter = APIRouter"),
        ("rails/app/controllers/parcels_controller.rb", "def late", "def early"),
    ]:
        text = (root / path).read_text()
        assert before in text
        (root / path).write_text(text.replace(before, after))
        assert repository.index().mode == "update"
    updated = repository.open().export()
    fresh = Repository(root)
    fresh.index(rebuild=True)
    assert updated == fresh.open().export()
