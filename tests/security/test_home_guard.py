"""A home directory or a whole file system is indexed only on explicit request."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

import assay as package
from assay.index import pipeline
from assay.index.pipeline import index
from assay.store.layout import Home
from assay.system.files import TooWide, check_extent
from support.command import COMMAND, ENVIRONMENT, Done, assay
from support.waiting import PATIENCE

COULD_NOT_RUN = 2


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody's home directory with a project in it."""
    folder = tmp_path / "somebody"
    (folder / "project").mkdir(parents=True)
    (folder / "project" / "a.py").write_text("def sluice():\n    return 1\n")
    (folder / "photos").mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def _assay(folder: Path, home: Path, *arguments: str) -> Done:
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env=ENVIRONMENT | {"HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        ("index", "."),
        ("index",),
        ("context", "sluice", "--index"),
        ("search", "sluice", "--index", "--root", "."),
        ("watch", "--root", "."),
        ("serve", "--port", "0", "--root", "."),
        ("serve", "--port", "0"),
        ("mcp", "--root", "."),
    ],
    ids=" ".join,
)
def test_a_home_directory_is_refused_without_a_terminal(home: Path, arguments: tuple[str, ...]) -> None:
    done = _assay(home, home, *arguments)
    assert done.code == COULD_NOT_RUN
    (line,) = done.err.splitlines()
    assert f"{home} is a home directory with 2 folders in it" in line
    assert "assay index --yes" in line
    assert not (home / ".assay").exists(), "nothing is left behind"


def test_a_home_directory_under_git_is_asked_about_as_well(home: Path) -> None:
    subprocess.run(["git", "init", "-q", str(home)], check=True)
    assert _assay(home, home, "index", ".").code == COULD_NOT_RUN


def test_a_link_to_a_home_directory_is_one(home: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(home)
    assert _assay(tmp_path, home, "index", "link").code == COULD_NOT_RUN


def test_yes_indexes_it_and_then_nobody_asks_again(home: Path) -> None:
    assert _assay(home, home, "index", "--yes", ".").code == 0
    assert _assay(home, home, "index", ".").code == 0
    assert "sluice" in _assay(home, home, "context", "sluice", "--index").out


def test_a_project_in_it_needs_no_yes(home: Path) -> None:
    assert _assay(home / "project", home, "index", ".").code == 0


@pytest.mark.parametrize(("typed", "code"), [(b"y\n", 0), (b"n\n", COULD_NOT_RUN), (b"\n", COULD_NOT_RUN)])
def test_a_person_at_a_terminal_is_asked(home: Path, typed: bytes, code: int) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "index", "."],
        cwd=home,
        env=ENVIRONMENT | {"HOME": str(home)},
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.DEVNULL,
    )
    os.close(theirs)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(ours, 4096)
    assert b"Index all of it?" in shown
    os.write(ours, typed)
    try:
        while os.read(ours, 4096):
            pass
    except OSError:
        pass  # the other end was closed
    finally:
        os.close(ours)
    assert process.wait(PATIENCE) == code
    assert (home / ".assay" / "current").exists() == (code == 0)


@pytest.mark.parametrize("place", ["/", "/home", "/usr", "/etc", "/var", "/tmp", "/root", "/home/anybody"])
def test_roots_and_folders_of_the_system_are_too_wide(place: str) -> None:
    with pytest.raises(TooWide):
        check_extent(Path(place))


@pytest.mark.parametrize("place", ["/app", "/workspace/project", "/home/anybody/project", "/usr/src/app", "/tmp/x"])
def test_places_of_projects_are_not(place: str) -> None:
    check_extent(Path(place))


def test_python_raises_what_to_do_unless_it_is_forced(home: Path) -> None:
    with pytest.raises(package.AssayError, match="home directory"):
        package.open(home, index=True)
    with package.open(home, index=True, anywhere=True) as repo:
        assert repo.symbols("sluice")


def test_a_first_index_that_fails_leaves_no_parses_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("def sluice():\n    return 1\n")

    def failing(*_: object) -> None:
        raise KeyError(11)

    monkeypatch.setattr(pipeline, "update_history", failing)
    monkeypatch.setattr(Home, "_publish", failing)
    with pytest.raises(KeyError):
        index(root, Home.of(root))
    left = sum(path.stat().st_size for path in (root / ".assay").rglob("*") if path.is_file())
    assert left < 1_000
    assert not list((root / ".assay" / "generations").iterdir())


def test_the_command_outside_of_a_repository_is_as_before(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def sluice():\n    return 1\n")
    assert assay(tmp_path, "index", ".").code == 0
