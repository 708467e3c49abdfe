"""Cached freshness of an open repository, and its invalidation."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.git import Listing
from assay.index import freshness as module
from assay.index.freshness import Watch, check_tree
from assay.index.scan import scan
from support.repository import Repository

LONG_AGO = 1_700_000_000  # so that no stat is in doubt


@pytest.fixture(params=["git", "no git"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    """An indexed tree in which nothing changed lately."""
    made = Repository(tmp_path / "tree")
    made.write("pkg/a.py", "def a():\n    pass\n")
    made.write("pkg/empty/.keep", "")
    made.write("README.md", "# Read `a` first\n")
    made.write("package.json", "{}")
    made.write("data/big.py", "# " + "x" * 2_100_000)
    made.write("data/hidden.py", "x = 1\n")
    made.write("data/made.py", "# do not edit\nx = 1\n")
    made.write(".gitignore", "hidden.py\n")
    if request.param == "git":
        made.git("init", "-q")
        made.commit()
    made.index()
    _age(made)
    return made


def _age(repository: Repository) -> None:
    for folder, _, names in os.walk(repository.root, topdown=False):
        for path in (*(os.path.join(folder, name) for name in names), folder):
            if ".git/" not in path and ".assay/" not in path:
                os.utime(path, (LONG_AGO, LONG_AGO))
    repository.index()
    os.utime(repository.home.folder / "sections.npz", (LONG_AGO, LONG_AGO))


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The scans that were made."""
    made: list[Path] = []

    def counted(root: Path, *begun: Listing | None) -> object:
        made.append(root)
        return scan(root, *begun)

    monkeypatch.setattr(module, "scan", counted)
    return made


def test_nothing_is_scanned_again_while_nothing_changes(old: Repository, looks: list[Path]) -> None:
    watch = Watch(old.root, old.open())
    assert [watch.freshness().stale for _ in range(5)] == [[]] * 5
    assert len(looks) == 2, "the first answer is not remembered: most commands ask once"


CHANGES: dict[str, Callable[[Path], object]] = {
    "edited in place": lambda root: (root / "pkg/a.py").write_text("def b():\n    pass\n"),
    "edited in place, as long": lambda root: (root / "pkg/a.py").write_text("def z():\n    pass\n"),
    "deleted": lambda root: (root / "pkg/a.py").unlink(),
    "new file": lambda root: (root / "pkg/new.py").write_text("x = 1\n"),
    "new file in a folder without sources": lambda root: (root / "pkg/empty/new.py").write_text("x = 1\n"),
    "new folder": lambda root: subprocess.run(["cp", "-rp", "pkg", "more"], cwd=root, check=True),
    "moved": lambda root: (root / "pkg/a.py").rename(root / "pkg/b.py"),
    "document": lambda root: (root / "README.md").write_text("# Other\n"),
    "manifest": lambda root: (root / "package.json").write_text('{"name": "x"}'),
    "ignored": lambda root: (root / ".gitignore").write_text("hidden.py\nREADME.md\n"),
    "no longer ignored": lambda root: (root / ".gitignore").write_text("\n"),
    "left out": lambda root: (root / ".assayignore").write_text("pkg/\n"),
    "no longer too large": lambda root: (root / "data/big.py").write_text("x = 1\n"),
    "no longer generated, as long": lambda root: (root / "data/made.py").write_text("# please edit\nx = 1\n"),
    "generated and deleted": lambda root: (root / "data/made.py").unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_noticed_at_once_as_if_it_was_asked_for_the_first_time(old: Repository, change: str) -> None:
    index = old.open()
    watch = Watch(old.root, index)
    assert all(watch.freshness().fresh for _ in range(2))
    CHANGES[change](old.root)
    assert watch.freshness() == check_tree(old.root, index).freshness
    assert watch.freshness().fresh == (change == "ignored" and (old.root / ".git").exists())


def test_what_changed_just_now_is_looked_at_again(old: Repository, looks: list[Path]) -> None:
    """It may change once more within the same timestamp."""
    (old.root / "pkg/a.py").write_text("def b():\n    pass\n")
    watch = Watch(old.root, old.open())
    for _ in range(3):
        assert watch.freshness().stale == ["pkg/a.py"]
    assert len(looks) == 3


def test_an_answer_is_not_believed_for_ever(
    old: Repository, looks: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(old.root, old.open())
    watch.freshness()
    watch.freshness()
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 61 * 10**9)
    watch.freshness()
    assert len(looks) == 3
    monkeypatch.setattr(time, "time_ns", lambda: now - 10**9)  # a clock that was set back
    watch.freshness()
    assert len(looks) == 4


def test_a_listing_that_was_begun_before_is_used_for_the_first_look_alone(old: Repository, looks: list[Path]) -> None:
    assert scan(old.root, Listing(old.root)) == scan(old.root)
    watch = Watch(old.root, old.open(), Listing(old.root))
    assert watch.freshness().fresh
    (old.root / "pkg/new.py").write_text("x = 1\n")
    assert watch.freshness().stale == ["pkg/new.py"]
    assert len(looks) == 2


def test_the_state_of_a_tree_differs_whenever_a_file_does(old: Repository) -> None:
    index = old.open()
    states = [check_tree(old.root, index).state]
    for path, text, changed in (
        ("pkg/a.py", "def b():\n    pass\n", 1),
        ("pkg/a.py", "def b():\n    pass\n", 2),
        ("README.md", "# Read\n", 0),
        ("package.json", "{ }", 0),
        ("pkg/new.py", "", 0),
    ):
        (old.root / path).write_text(text)
        assert check_tree(old.root, index).state == "", "too young to tell"
        os.utime(old.root / path, (LONG_AGO + changed, LONG_AGO + changed))
        states.append(check_tree(old.root, index).state)
    (old.root / "pkg/new.py").rename(old.root / "pkg/newer.py")
    states.append(check_tree(old.root, index).state)
    assert len(set(states)) == len(states)
    assert states[-1] == check_tree(old.root, index).state
