"""Programs on PATH: one that a repository brings is never started, by assay or by what assay starts."""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from assay.api import Repository as Opened
from assay.api import Workspace
from assay.config.roots import Root
from assay.errors import AssayError
from assay.git import Git, launcher
from assay.system import programs
from support.command import ENVIRONMENT, assay
from support.hostile_git import git, shop
from support.language_tools import Tools
from support.paths import ROOT
from support.terminal import in_terminal

SAFE = "/usr/bin:/bin"
# that assay, git, and language tools start, or could
NAMES = ("git", "git-remote-https", "less", "more", "sh", "env", "ssh", "node", "npm", "python", "python3", "scip-python",
         "basedpyright-langserver", "basedpyright", "pyright-langserver", "uname", "ldconfig", "gcc", "cc", "ld", "ps",
         "ifconfig", "ip", "gpg", "nproc")  # fmt: skip
SOURCES = ROOT / "src" / "assay"
pytestmark = pytest.mark.filterwarnings("ignore::assay.system.programs.SkippedPrograms")


class Shims:
    """A folder with a program of every name, each of which leaves its name in `started` and then fails."""

    def __init__(self, folder: Path, log: Path) -> None:
        self.folder, self._log = folder, log
        folder.mkdir(parents=True)
        for name in NAMES:
            (folder / name).write_text(f"#!/bin/sh\necho {name} >> {log}\nexit 1\n")
            (folder / name).chmod(0o755)

    @property
    def started(self) -> list[str]:
        return self._log.read_text().split() if self._log.exists() else []


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, Shims]:
    """A repository with programs of its own, next to a language tool and a link."""
    root = shop(tmp_path / "shop")
    return root, Shims(root / "bin", tmp_path / "log")


def entries(root: Path) -> dict[str, str]:
    """The ways in which PATH can name the folder `bin` of a repository."""
    elsewhere = root.parent
    (root / "docs").mkdir()
    (elsewhere / "link").symlink_to(root / "bin")
    (elsewhere / "chain").symlink_to("link")
    (elsewhere / "alias").symlink_to(root)
    return {
        "absolute": str(root / "bin"), "relative": "bin", "dotted": "./bin", "link": str(elsewhere / "link"),
        "chain": str(elsewhere / "chain"), "alias": str(elsewhere / "alias" / "bin"), "up": f"{root}/docs/../bin",
        "through": f"{root}/bin/../../shop/bin",
    }  # fmt: skip


def test_a_shell_would_start_them(clone: tuple[Path, Shims], monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the tests below would prove nothing."""
    root, shims = clone
    monkeypatch.setenv("PATH", f"{shims.folder}:{SAFE}")
    git(root, "status")
    assert shims.started == ["git"]


@pytest.mark.parametrize("entry", ["absolute", "relative", "dotted", "link", "chain", "alias", "up", "through"])
def test_the_git_of_a_repository_is_not_started(clone: tuple[Path, Shims], entry: str) -> None:
    root, shims = clone
    written = entries(root)[entry]
    done = assay(root, "index", env=ENVIRONMENT | {"PATH": f"{written}:{SAFE}"})
    assert (done.code, shims.started) == (0, [])
    assert [line for line in done.err.splitlines() if "PATH" in line] == [
        f"assay: warning: PATH: skipped {written}: relative, or inside a folder that assay reads, "
        "whose programs are never started"
    ]
    found = assay(root, "owners", "buy_shop", env=ENVIRONMENT | {"PATH": SAFE})
    assert "2 commits" in found.out or "1 commit" in found.out, "the next git on PATH was used"


@pytest.mark.parametrize("path", ["", ":", "bin::", "~/bin"])
def test_without_a_safe_git_the_line_says_so(clone: tuple[Path, Shims], path: str) -> None:
    root, shims = clone
    shutil.copy(shims.folder / "git", root / "git")
    environment = ENVIRONMENT | {"PATH": path}
    assert assay(root, "index", env=environment).err.count("git was not found; install it or put it on PATH") == 1
    refused = assay(root, "context", "--pr", env=environment)
    assert (refused.code, "git was not found" in refused.err) == (2, True)
    assert shims.started == []


def test_no_command_starts_a_program_of_a_repository(clone: tuple[Path, Shims], tmp_path: Path) -> None:
    root, shims = clone
    (root / "sub").mkdir()
    (root / "sub" / "tea.py").write_text("def pour():\n    pass\n")
    environment = ENVIRONMENT | {"PATH": f"{shims.folder}:bin:.:{SAFE}"}
    for folder, command in (
        (root, ["index"]),
        (root / "sub", ["index", "."]),
        (tmp_path, ["index", "shop/sub"]),
        (root / "bin", ["search", "buy", "--root", "../sub"]),
        (root, ["context", "buy a kettle", "--full"]),
        (root, ["context", "--pr", "HEAD~1"]),
        (root, ["enrich"]),
        (root / "sub", ["enrich", "--root", "."]),
        (root, ["eval", "mine", "--from", "history", "--include-tests", "-o", str(tmp_path / "mined.jsonl")]),
        (root, ["index", f"file://{root}", "--rebuild"]),
        (root, ["init", "--print"]),
    ):
        done = assay(folder, *command, env=environment | {"ASSAY_CACHE_DIR": str(tmp_path / "cache")})
        assert "Traceback" not in done.err
        assert done.err.count("PATH: skipped") <= 1, "once per command"
        assert shims.started == [], command


def test_the_pager_is_none_of_the_repository(clone: tuple[Path, Shims]) -> None:
    root, shims = clone
    assert assay(root, "index").code == 0
    code, _ = in_terminal(root, "context", "buy", "--full", environment={"PATH": f"{shims.folder}:/nowhere"})
    assert (code, shims.started) == (0, [])


def test_git_and_its_helpers_get_a_clean_path(
    clone: tuple[Path, Shims], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, shims = clone
    safe, seen = tmp_path / "safe", tmp_path / "seen"
    safe.mkdir()
    (safe / "git").write_text(f'#!/bin/sh\necho "$PATH $GIT_EXEC_PATH" > {seen}\nexec /usr/bin/git "$@"\n')
    (safe / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{shims.folder}:bin::{safe}:{SAFE}")
    for folder in (str(shims.folder), "bin"):
        monkeypatch.setenv("GIT_EXEC_PATH", folder)
        assert Git(root).revision("HEAD")
        assert seen.read_text().split() == [f"{safe}:{SAFE}"]
        assert launcher.transfer(tmp_path, ["ls-remote", str(root)]).code == 0
        assert seen.read_text().split() == [f"{safe}:{SAFE}"]


def test_children_of_a_server_get_a_clean_path(clone: tuple[Path, Shims], monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.system.programs import child_environment

    root, shims = clone
    monkeypatch.setenv("PATH", f"{shims.folder}:bin:{SAFE}")
    with Opened(root):
        assert child_environment()["PATH"] == SAFE
    monkeypatch.setenv("PATH", str(shims.folder))
    assert child_environment()["PATH"] == os.devnull, "an empty one would mean the current folder"


def test_the_main_working_tree_counts_for_a_linked_one(
    clone: tuple[Path, Shims], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, shims = clone
    git(root, "worktree", "add", "-q", str(tmp_path / "other"))
    monkeypatch.setenv("PATH", f"{shims.folder}:{SAFE}")
    assert Git(tmp_path / "other").revision("HEAD")
    assert shims.started == []


# language tools


def indexed(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "thing.py").write_text("class Thing:\n    def settle(self):\n        return 1\n")
    (folder / "app.py").write_text("from thing import Thing\n\n\ndef call():\n    return Thing().settle()\n")
    Opened(folder).refresh()
    return folder


def test_a_tool_at_the_top_is_not_started_for_a_subfolder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = shop(tmp_path / "shop")
    part = indexed(root / "packages" / "a")
    own = Tools(root / "node_modules" / ".bin", monkeypatch)
    own.add_server()
    with pytest.raises(AssayError, match="not installed"):
        Opened(part).enrich()
    done = assay(root, "enrich", "packages/a", env=ENVIRONMENT | {"PATH": f"{own.folder}:{SAFE}"})
    assert (done.code, own.log) == (2, [])
    assert f"PATH: skipped {own.folder}: " in done.err


@pytest.mark.parametrize("where", ["members", "folder", "inside"])
def test_a_tool_of_one_member_is_not_started_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    team = tmp_path / "team"
    api, web = indexed(team / "api"), indexed(team / "web")
    (team / "assay.toml").write_text('[workspace]\nroots = ["api", "web"]\n')
    own = Tools(web / "node_modules" / ".bin", monkeypatch)
    own.add_server()
    if where == "members":
        member = Workspace([Root("api", api), Root("web", web)]).members["api"]
    elif where == "folder":
        member = Workspace.at(team).members["api"]
    else:
        member = Opened(api)
    with pytest.raises(AssayError, match="not installed"):
        member.enrich()
    assert own.log == []


def test_workers_know_the_folders_of_all_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Tools(tmp_path / "web" / "bin", monkeypatch)
    own.add_server()
    with programs.guarding([tmp_path / "api", tmp_path / "web"]):
        assert programs.find_program("basedpyright-langserver") is None


def test_a_tool_gets_the_next_program_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = indexed(tmp_path / "shop")
    bait = Tools(root / "bin", monkeypatch)
    program = bait.add_server()
    tools = Tools(tmp_path / "tools", monkeypatch)
    tools.add_server()
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / program.name).symlink_to(program)
    monkeypatch.setenv("PATH", f"{bait.folder}:{tmp_path / 'links'}:{tools.folder}:{SAFE}")
    assert Opened(root).enrich().runs[0].program == str(tools.folder / program.name)
    assert bait.log == []


# what is the user's


def test_a_command_that_the_user_typed_runs_and_that_is_said(tmp_path: Path) -> None:
    root = indexed(tmp_path / "shop")
    finder = Tools(root / "bin", pytest.MonkeyPatch()).add("finder", "print('app.py')\n")
    golden = root / "golden.jsonl"
    golden.write_text('{"id": "1", "question": "call it", "expected_files": ["app.py"]}\n')
    command = ("eval", "run", "--golden", str(golden), "--system", "cmd:finder {query}", "--format", "json")
    done = assay(root, *command, env=ENVIRONMENT | {"PATH": f"{finder.parent}:{SAFE}"})
    assert done.code == 0, done.err
    assert (
        done.err.count("system 'cmd:finder {query}' runs as typed, with your PATH, which names folders of a repo") == 1
    )
    assert "PATH" not in assay(root, *command, env=ENVIRONMENT | {"PATH": f"{tmp_path}:{SAFE}"}).err


def test_the_current_folder_counts_if_it_is_in_a_repository(
    clone: tuple[Path, Shims], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, shims = clone
    other = shop(tmp_path / "other")
    environment = ENVIRONMENT | {"PATH": f"{shims.folder}:{SAFE}"}
    assert "PATH: skipped" in assay(root / "bin", "index", str(other), env=environment).err
    assert shims.started == []
    tool = Tools(tmp_path / "bin", monkeypatch).add("tool", "")
    monkeypatch.chdir(tmp_path)
    assert programs.find_program("tool") == str(tool), "a folder that is in none may hold one's own programs"


def test_programs_in_a_home_kept_in_git_are_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    project = home / "src" / "project"
    project.mkdir(parents=True)
    git(home, "init", "-q")
    tool = Tools(home / ".local" / "bin", monkeypatch).add("tool", "")
    monkeypatch.setenv("HOME", str(home))
    programs.guard(project)
    assert programs.find_program("tool") == str(tool)
    programs.guard(home)
    assert programs.find_program("tool") is None, "when the home itself is read, it counts"


def test_a_client_is_told_the_name_of_our_own_assay_only(
    clone: tuple[Path, Shims], monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.cli.serve import _start_command

    root, shims = clone
    (shims.folder / "git").rename(shims.folder / "assay")
    programs.guard(root)
    ours = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{shims.folder}:{ours}:{SAFE}")
    assert _start_command() == [sys.executable, "-P", "-m", "assay"]
    if (ours / "assay").exists():
        monkeypatch.setenv("PATH", f"{ours}:{SAFE}")
        assert _start_command() == ["assay"]


# where a path leads


def test_a_path_is_followed_link_by_link(tmp_path: Path) -> None:
    root, free = tmp_path / "root", tmp_path / "free"
    for folder in (root / "bin", free / "bin"):
        folder.mkdir(parents=True)
    (root / "out").symlink_to(free)
    (tmp_path / "through").symlink_to(root / "out" / "bin")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (free / "up").symlink_to("../root/bin")
    programs.guard(root)
    leads_in = (
        "root",
        "root/bin",
        "root/nothing",
        "root/out/bin",
        "through",
        "circle",
        "free/up/git",
        "free/../root/x",
        "root/../free",
    )
    assert [path for path in leads_in if not programs.is_guarded(tmp_path / path)] == []
    leads_by = ("", "free", "free/bin", "rooted", "free/nothing/../../root")
    assert [path for path in leads_by if programs.is_guarded(f"{tmp_path}/{path}")] == []


def test_a_folder_under_another_name_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a file system that ignores case, or with a bind mount."""
    for name in ("root", "Root"):
        (tmp_path / name / "bin").mkdir(parents=True)
    programs.guard(tmp_path / "root")
    real = os.lstat
    same = {str(tmp_path / "Root"): str(tmp_path / "root")}
    with monkeypatch.context() as patched:
        patched.setattr(os, "lstat", lambda path: real(same.get(path) or path))
        assert programs.is_guarded(tmp_path / "Root" / "bin")


def test_programs_are_found_once(clone: tuple[Path, Shims], monkeypatch: pytest.MonkeyPatch) -> None:
    root, shims = clone
    monkeypatch.setenv("PATH", f"{shims.folder}:{SAFE}")
    Git(root).revision("HEAD")
    programs.safe_path()
    looked: list[str] = []

    def look(place: object, *_: object) -> None:
        looked.append(str(place))

    with monkeypatch.context() as patched:
        for name in ("lstat", "stat", "access", "readlink"):
            patched.setattr(os, name, look)
        programs.guard(root)
        found = programs.find_program("git"), programs.safe_path()
    assert found == ("/usr/bin/git", SAFE)
    assert looked == []


# one function


def test_nothing_else_looks_up_programs() -> None:
    """`init` asks whether clients would start this very installation, and starts nothing."""
    searching, starting = set(), set()
    for path in SOURCES.rglob("*.py"):
        place = path.relative_to(SOURCES).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in ("shutil.which", "os.get_exec_path"):
                searching.add(place)
            elif re.match(
                r"subprocess\.[Prc]|os\.(exec|spawn|posix_spawn|system|popen)|asyncio\.create_sub|webbrowser", called
            ):
                starting.add(place)
    assert searching == {"cli/serve.py"}
    assert starting == {
        "cli/common.py", "evaluate/systems/external.py", "git/launcher.py", "index/background.py",
        "index/enrich/process.py", "serve/watch/child.py", "serve/watch/door.py", "serve/workers/supervisor.py",
    }  # fmt: skip
