"""Shared fixtures: real repositories in temporary folders."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import support.property_tests  # noqa: F401  the profiles of hypothesis; `--hypothesis-profile` may choose another
from assay.rank.engine import Engine
from support.environment import isolate
from support.paths import FIXTURES
from support.postgres import Cluster
from support.repository import Repository

pytest_plugins = ["support.cpu"]


def pytest_collection_finish() -> None:
    """Keep the garbage collector from looking at thousands of collected tests again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    """Settle before any test module copies the environment; without the garbage collector, collecting takes half."""
    gc.disable()
    home = isolate()
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A PostgreSQL server, started for the first test that needs it."""
    with closing(Cluster()) as cluster:
        yield cluster


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """An empty git repository."""
    made = Repository(tmp_path / "repository")
    made.root.mkdir()
    made.git("init", "-q", "-b", "main")
    return made


@pytest.fixture
def project(tmp_path: Path) -> Callable[[str], Repository]:
    """A copy of a language's fixture project, not under git."""

    def copy(language: str) -> Repository:
        root = tmp_path / language
        shutil.copytree(FIXTURES / language / "project", root)
        return Repository(root)

    return copy


@pytest.fixture
def rankings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks that were ranked."""
    ranked: list[str] = []
    rank = Engine.rank

    def counted(self: Engine, task: str, *rest: object) -> object:
        ranked.append(task)
        return rank(self, task, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "rank", counted)
    return ranked
