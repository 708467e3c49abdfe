"""An incremental index equals a full one after edits, renames, deletions and branch switches."""

from __future__ import annotations

import random
import re
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.index.pipeline import index
from assay.store.layout import Home
from support.paths import FIXTURES
from support.property_tests import examples
from support.repository import Repository, assert_equals_full_index
from support.tables import LANGUAGES

_IDENTIFIER = re.compile(r"\b[A-Za-z_]\w{3,}\b")


def _mutate(root: Path, choose: random.Random) -> str:
    """One random change that a person or a tool could make."""
    files = sorted(
        p
        for p in root.rglob("*")
        if p.is_file() and ".assay" not in p.parts and p.suffix not in (".mod", ".toml", ".json", ".csproj")
    )
    path = choose.choice(files)
    lines = path.read_text().splitlines(keepends=True)
    kind = choose.choice(
        [
            "delete lines",
            "duplicate lines",
            "rename a word",
            "move lines",
            "rename file",
            "delete file",
            "copy file",
            "swap files",
            "blank line",
        ]
    )
    if kind == "delete lines" and lines:
        at = choose.randrange(len(lines))
        del lines[at : at + choose.randint(1, 12)]
        path.write_text("".join(lines))
    elif kind == "duplicate lines" and lines:
        at = choose.randrange(len(lines))
        lines[at:at] = lines[at : at + choose.randint(1, 12)]
        path.write_text("".join(lines))
    elif kind == "move lines" and lines:
        at = choose.randrange(len(lines))
        block = lines[at : at + choose.randint(1, 10)]
        del lines[at : at + len(block)]
        target = choose.choice(files)
        target.write_text(target.read_text() + "".join(block) if target != path else "".join(lines + block))
        if target != path:
            path.write_text("".join(lines))
    elif kind == "rename a word":
        words = sorted(set(_IDENTIFIER.findall("".join(lines))))
        if words:
            old, new = choose.choice(words), choose.choice([*words, "renamed_thing", "Renamed"])
            path.write_text(re.sub(rf"\b{old}\b", new, "".join(lines)))
    elif kind == "rename file":
        path.rename(path.with_name(f"renamed_{choose.randint(0, 3)}{path.suffix}"))
    elif kind == "delete file":
        path.unlink()
    elif kind == "copy file":
        shutil.copyfile(path, path.with_name(f"copy_{choose.randint(0, 3)}{path.suffix}"))
    elif kind == "swap files":
        other = choose.choice(files)
        mine, theirs = path.read_bytes(), other.read_bytes()
        path.write_bytes(theirs)
        other.write_bytes(mine)
    elif kind == "blank line":
        path.write_text("\n" + path.read_text())
    return f"{kind}: {path.relative_to(root)}"


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(language=st.sampled_from([*LANGUAGES, "rpc"]), seed=st.integers(0, 10**9), steps=st.integers(1, 4))
def test_random_changes_give_the_same_index_as_starting_afresh(language: str, seed: int, steps: int) -> None:
    choose = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "project"
        shutil.copytree(FIXTURES / language / "project", root)
        # ballast, so that a change stays an update
        for number in range(30):
            (root / f"ballast_{number}.py").write_text(f"def ballast_{number}():\n    return {number}\n")
        home = Home.of(root)
        index(root, home)
        for _ in range(steps):
            _mutate(root, choose)
            index(root, home)
        assert_equals_full_index(root, home)


def test_a_branch_switch_gives_the_same_index_as_starting_afresh(repository: Repository) -> None:
    repository.write("app.py", "from lib import helper\n\ndef run():\n    return helper()\n")
    repository.write("lib.py", "def helper():\n    return 1\n")
    repository.commit()
    repository.index()
    repository.git("checkout", "-q", "-b", "other")
    repository.write(
        "lib.py", "class Helper:\n    def go(self):\n        return 2\n\ndef helper():\n    return Helper().go()\n"
    )
    repository.write("extra.py", "from app import run\n\nrun()\n")
    repository.commit()
    repository.index()
    assert_equals_full_index(repository.root, repository.home)
    repository.git("checkout", "-q", "main")
    repository.index()
    assert_equals_full_index(repository.root, repository.home)
    assert "extra.py" not in repository.symbols()


def test_only_what_asked_about_the_change_is_resolved_again(repository: Repository) -> None:
    for number in range(40):
        repository.write(f"pkg/mod_{number}.py", f"def function_{number}():\n    return {number}\n")
    repository.write("caller.py", "from pkg.mod_3 import function_3\n\ndef call():\n    return function_3()\n")
    repository.index()
    repository.write("pkg/mod_3.py", "def unrelated():\n    return 0\n\n\ndef function_3():\n    return 33\n")
    assert repository.index().resolved == 1
    repository.write("pkg/mod_3.py", "def unrelated():\n    return 0\n")
    report = repository.index()
    assert report.resolved == 2
    assert ("caller.py::call", "pkg/mod_3.py::function_3") not in repository.edges("calls")


def test_nothing_changed_means_nothing_done(repository: Repository) -> None:
    repository.write("a.py", "def f(): pass\n")
    assert repository.index().mode == "full"
    before = repository.home.current()
    assert repository.index().mode == "fresh"
    assert repository.home.current() == before


def test_a_change_within_the_same_timestamp_is_noticed(repository: Repository) -> None:
    import os

    path = repository.write("a.py", "def first(): pass\n")
    repository.index()
    stat = path.stat()
    path.write_text("def other(): pass\n")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    repository.index()
    assert "a.py::other" in repository.symbols()


def test_a_second_worktree_parses_nothing_again(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        repository.write(f"m{number}.py", f"def f{number}(): pass\n")
    repository.commit()
    repository.index()
    other = tmp_path / "worktree"
    repository.git("worktree", "add", "-q", str(other))
    import assay.index.parse as parse

    def refuse(*_: object) -> object:
        raise AssertionError("a file was parsed that the cache knows")

    monkeypatch.setattr(parse, "_parse_one", refuse)
    assert index(other, Home.of(other)).files == 5


def test_a_lost_parse_cache_costs_time_but_changes_nothing(repository: Repository) -> None:
    for number in range(20):
        repository.write(f"m{number}.py", f"def f{number}(): pass\n")
    repository.index()
    shutil.rmtree(repository.root / ".git" / "assay")
    repository.write("m3.py", "from m4 import f4\n\ndef f3(): return f4()\n")
    repository.index()
    assert_equals_full_index(repository.root, repository.home)
    assert ("m3.py::f3", "m4.py::f4") in repository.edges("calls")
