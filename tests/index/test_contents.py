"""Contents decide what changed: new times of unchanged files cost one look, and manifests count by what is read of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from assay.index.contents import NAME
from assay.index.enrich import statements
from assay.index.enrich.sources import Sources
from assay.index.freshness import check_tree
from assay.index.pipeline import index
from assay.index.scan import Source, read_source
from assay.store.layout import Home
from assay.store.links.stated import Statements
from support.repository import Repository, assert_equals_full_index

PACKAGE = '{"name": "shop", "version": "1.0", "main": "index.js"}\n'


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("package.json", PACKAGE)
    repository.write("openapi.yaml", "openapi: 3.0.0\npaths: {}\n")
    repository.write("src/index.ts", "export function open() {}\n")
    repository.write("app/main.ts", 'import { open } from "shop";\nopen();\n')
    repository.write("pkg/a.py", "def a():\n    pass\n")
    repository.write("README.md", "# Shop\n")
    for path in repository.root.rglob("*.*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    repository.index()
    return repository


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths whose contents were compared."""
    read: list[str] = []

    def counted(root: Path, path: str, whole: bool = False) -> Source:
        read.append(path)
        return read_source(root, path, whole)

    monkeypatch.setattr("assay.index.contents.read_source", counted)
    return read


def touch(shop: Repository, *paths: str) -> None:
    for path in paths:
        os.utime(shop.root / path, (1_100_000_000, 1_100_000_000))


def is_fresh(shop: Repository) -> bool:
    return check_tree(shop.root, shop.open()).freshness.fresh


@pytest.mark.parametrize("path", ["package.json", "pkg/a.py", "README.md", "openapi.yaml"])
def test_a_new_time_changes_nothing(shop: Repository, path: str) -> None:
    touch(shop, path)
    assert is_fresh(shop)
    assert shop.index().mode == "fresh"


def test_a_file_of_a_new_time_is_read_once(shop: Repository, reads: list[str]) -> None:
    touch(shop, "package.json", "pkg/a.py")
    reads.clear()
    for _ in range(3):
        assert is_fresh(shop)
    assert sorted(reads) == ["package.json", "pkg/a.py"]
    touch(shop)
    (shop.root / "pkg/a.py").write_text("def b():\n    pass\n")
    os.utime(shop.root / "pkg/a.py", (1_200_000_000, 1_200_000_000))
    assert not is_fresh(shop)


def test_what_was_indexed_just_after_it_was_written_is_settled_later(
    shop: Repository, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write("pkg/new.py", "def new():\n    pass\n")
    shop.index()
    reads.clear()
    assert [is_fresh(shop), is_fresh(shop)] == [True, True]
    assert reads == ["pkg/new.py"] * 2, "it may change within the same timestamp"
    later = (shop.root / "pkg/new.py").stat().st_mtime_ns + 10**10
    monkeypatch.setattr("time.time_ns", lambda: later)
    reads.clear()
    assert [is_fresh(shop), is_fresh(shop)] == [True, True]
    assert reads == ["pkg/new.py"]


@pytest.mark.parametrize("damage", [b"", b"\xff\xff", b"\x81\xa1a\x93\x01\x02\xa1x"])
def test_damaged_hashes_are_read_again(shop: Repository, damage: bytes) -> None:
    touch(shop, "pkg/a.py")
    assert is_fresh(shop)
    (Home.of(shop.root).folder / NAME).write_bytes(damage)
    assert is_fresh(shop)


def test_hashes_that_cannot_be_kept_are_no_failure(shop: Repository) -> None:
    (Home.of(shop.root).folder / NAME).unlink(missing_ok=True)
    (Home.of(shop.root).folder / NAME).mkdir()
    touch(shop, "pkg/a.py")
    assert is_fresh(shop)


def test_a_new_version_of_a_package_resolves_nothing_again(shop: Repository) -> None:
    shop.write("package.json", PACKAGE.replace("1.0", "1.1"))
    assert not is_fresh(shop)
    report = shop.index()
    assert (report.mode, report.resolved) == ("update", 0)
    assert is_fresh(shop)
    assert_equals_full_index(shop.root, Home.of(shop.root))


MANIFESTS: dict[str, Callable[[Repository], object]] = {
    "renamed": lambda shop: shop.write("package.json", PACKAGE.replace("shop", "store")),
    "gone": lambda shop: (shop.root / "package.json").unlink(),
    "aliased": lambda shop: shop.write("tsconfig.json", '{"compilerOptions": {"paths": {"@/*": ["src/*"]}}}'),
}


@pytest.mark.parametrize("change", MANIFESTS)
def test_a_manifest_that_names_modules_otherwise_is_resolved_with_all_files(shop: Repository, change: str) -> None:
    MANIFESTS[change](shop)
    assert shop.index().mode == "full"
    assert_equals_full_index(shop.root, Home.of(shop.root))


def test_the_text_of_a_changed_description_is_indexed(shop: Repository) -> None:
    shop.write("openapi.yaml", "openapi: 3.1.0\npaths: {}\n")
    assert shop.index().mode == "update"
    texts = dict(shop.open().catalogue.connection.execute("SELECT path, text FROM configs").fetchall())
    assert texts["openapi.yaml"].startswith("openapi: 3.1.0")


def test_statements_are_read_again_if_a_project_file_changed(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    original = statements.read_statements

    def noted(sources: Sources, sizes: Mapping[str, int]) -> tuple[Statements, dict[str, str]]:
        made.append(sizes)
        return original(sources, sizes)

    monkeypatch.setattr(statements, "read_statements", noted)
    touch(shop, "package.json")
    index(shop.root, Home.of(shop.root))
    assert not made
    shop.write("package.json", PACKAGE.replace("1.0", "1.2"))
    index(shop.root, Home.of(shop.root))
    assert len(made) == 1
