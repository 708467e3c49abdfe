"""Dependencies and deployments of the fixture projects, compared with their hand-written tables; and their updates."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from assay.core.items import Link
from assay.store.index import Index
from assay.store.links import stated
from support.paths import FIXTURES
from support.repository import Repository, assert_equals_full_index

PROJECTS = sorted(path.name for path in (FIXTURES / "manifests").iterdir())
LONG_AGO = 1_600_000_000

Row = tuple[str, str, str, str]


def _copied(project: str, target: Path) -> Repository:
    shutil.copytree(FIXTURES / "manifests" / project, target, ignore=shutil.ignore_patterns("links.txt"))
    for path in target.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return Repository(target)


def _links(index: Index) -> list[Link]:
    return [link for link in index.links.all if link.type in ("depends_on", "deployed_by")]


def _stated(repository: Repository) -> set[Row]:
    repository.index()
    opened = repository.open()
    try:
        return {(link.type, link.source, link.target, link.detail) for link in _links(opened)}
    finally:
        opened.close()


def _expected(project: str) -> set[Row]:
    lines = (FIXTURES / "manifests" / project / "links.txt").read_text().splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {(kind, source, target, detail) for kind, source, target, detail in rows}


@pytest.mark.parametrize("project", PROJECTS)
def test_dependencies_and_deployments_are_those_of_the_table(project: str, tmp_path: Path) -> None:
    assert _stated(_copied(project, tmp_path / project)) == _expected(project)


@pytest.mark.parametrize("project", PROJECTS)
def test_every_statement_has_the_line_it_is_written_on(project: str, tmp_path: Path) -> None:
    repository = _copied(project, tmp_path / project)
    repository.index()
    opened = repository.open()
    for link in _links(opened):
        text = (repository.root / link.path).read_text().splitlines()
        assert 0 < link.line <= len(text), link
    opened.close()


def test_an_unchanged_repository_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = _copied("python", tmp_path / "shop")
    repository.index()
    path = repository.home.folder / stated.NAME
    before = path.stat()
    monkeypatch.setattr("assay.index.enrich.statements.read_statements", lambda _sources: pytest.fail("read again"))
    repository.index()
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_a_changed_manifest_a_new_entry_point_and_a_removed_file_are_noticed(tmp_path: Path) -> None:
    repository = _copied("containers", tmp_path / "shop")
    before = _stated(repository)
    repository.write("app/requirements.txt", "celery\nredis\n")
    repository.write("web/trace.js", "function trace() {}\n")
    (repository.root / "app/shop/beat.py").unlink()
    after = _stated(repository)
    assert after - before == {("depends_on", "app/requirements.txt", "dependency:redis", "")}
    assert {row[1] for row in before - after} == {"app/shop/beat.py"}
    assert_equals_full_index(repository.root, repository.home)
    shutil.copytree(repository.root, tmp_path / "copy", ignore=shutil.ignore_patterns(".assay"))
    assert _stated(Repository(tmp_path / "copy")) == after


def test_a_repository_without_project_files_has_no_statements(repository: Repository) -> None:
    repository.write("shop.py", "x = 1\n")
    repository.index()
    assert not (repository.home.folder / stated.NAME).exists()
    repository.write("requirements.txt", "flask\n")
    assert _stated(repository) == {("depends_on", "requirements.txt", "dependency:flask", "")}
    (repository.root / "requirements.txt").unlink()
    assert _stated(repository) == set()


def test_repositories_of_a_workspace_depend_on_each_other_by_package_name(tmp_path: Path) -> None:
    service, client = Repository(tmp_path / "service"), Repository(tmp_path / "client")
    service.write("package.json", '{"name": "@shop/service"}')
    service.write("index.js", "function serve() {}\n")
    client.write("package.json", '{"name": "@shop/client", "dependencies": {"@shop/service": "^1.0", "left-pad": "1"}}')
    client.write("pyproject.toml", '[project]\nname = "client"\ndependencies = ["left-pad"]\n')
    client.write("index.js", "function call() {}\n")
    for repository in (service, client):
        repository.index()
    index = Index.joined({"service": service.open(), "client": client.open()})
    assert {(link.source, link.target, link.provenance) for link in _links(index)} == {
        ("client/package.json", "service/package.json", "resolved"),
        ("client/package.json", "dependency:left-pad", "parsed"),
        ("client/pyproject.toml", "dependency:left-pad", "parsed"),
    }
    index.close()


def test_a_name_that_two_manifests_declare_stays_a_name(repository: Repository) -> None:
    repository.write("a/package.json", '{"name": "same"}')
    repository.write("b/package.json", '{"name": "same"}')
    repository.write("c/package.json", '{"name": "c", "dependencies": {"same": "1"}}')
    repository.write("c/index.js", "function f() {}\n")
    assert _stated(repository) == {("depends_on", "c/package.json", "dependency:same", "1")}
