"""Real repositories in temporary folders."""

from __future__ import annotations

import gc
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import laws  # noqa: F401  the profiles of hypothesis; `--hypothesis-profile` may choose another
from assay.core.progress import Report
from assay.index.pipeline import index
from assay.rank.engine import Engine
from assay.store.index import Index
from assay.store.layout import Home
from surroundings import settle

FIXTURES = Path(__file__).parent / "fixtures"


def pytest_collection_finish() -> None:
    """Keep the garbage collector from looking at thousands of collected tests again and again."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Settle before any test module copies the environment."""
    home = settle()
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))


class Repository:
    """A folder with files, perhaps under git, and its index."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = Home.of(root)

    def write(self, path: str, text: str | bytes) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())
        return target

    def git(self, *arguments: str) -> str:
        command = [
            "git",
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "-c",
            "commit.gpgsign=false",
            *arguments,
        ]
        return subprocess.run(command, cwd=self.root, check=True, capture_output=True, text=True).stdout

    def commit(self, message: str = "change") -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def index(self, rebuild: bool = False) -> Report:
        return index(self.root, self.home, rebuild)

    def open(self) -> Index:
        return Index.open(self.root, self.home)

    def edges(self, kind: str) -> set[tuple[str, str]]:
        opened = self.open()
        try:
            return {(e.source, e.target) for e in opened.export()[1] if e.type == kind}
        finally:
            opened.close()

    def symbols(self) -> set[str]:
        opened = self.open()
        try:
            return {str(row[0]) for row in opened.export()[0]}
        finally:
            opened.close()


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
