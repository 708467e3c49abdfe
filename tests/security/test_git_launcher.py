"""Git is data: no command starts a program, or leaves the repository, because its git directory says so."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from assay.cli import main
from assay.git import Git
from assay.git.place import read_settings
from support.agents import over_stdio, talk
from support.command import COMMAND, ENVIRONMENT, Done, assay
from support.cpu import at_most
from support.hostile_git import PROGRAMS, Bait, git, poison, shop
from support.paths import ROOT
from support.waiting import until

SOURCES = ROOT / "src" / "assay"
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
STRANGER = 54321

COMMANDS = {
    "index": ["index", "--rebuild"],
    "update": ["index"],
    "status": ["status", "--format", "json"],
    "context": ["context", "buy a kettle from the shop"],
    "context of files": ["context", "--files", "shop.py"],
    "review": ["context", "--pr", "HEAD~2"],
    "search": ["search", "buy a kettle"],
    "search since a day": ["search", "buy a kettle", "--since", "2020-01-01"],
    "search since a commit": ["search", "buy a kettle", "--since", "HEAD~1"],
    "ask": ["ask", "How do I buy a kettle?"],
    "why": ["why", "buy a kettle", "buy_shop"],
    "symbols": ["symbols", "buy"],
    "impact": ["impact", "buy_shop"],
    "tests": ["tests"],
    "tests of files": ["tests", "shop.py"],
    "feedback": ["feedback", "list"],
    "enrich": ["enrich", "--list"],
    "ingest-scip": ["ingest-scip", "nothing.scip"],
    "init": ["init", "--print"],
    "config": ["config"],
    "mine history": ["eval", "mine", "--from", "history", "--include-tests", "-o", "mined.jsonl"],
    "mine docstrings": ["eval", "mine", "--from", "docstrings"],
    "mine documents": ["eval", "mine", "--from", "documents"],
    "verify": ["eval", "verify", "--golden", "golden.jsonl"],
    "run": ["eval", "run", "--golden", "golden.jsonl", "--system", "assay"],
    "diagnose": ["eval", "diagnose"],
}
SERVERS = {"watch": ["watch", "--poll", "1"], "serve": ["serve", "--port", "0"]}


def run(folder: Path, *arguments: str) -> Done:
    """A command in this process, which is quick."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        mock.patch.object(sys, "argv", ["assay", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    return Done(int(str(ended.value.code or 0)), out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Bait]:
    """A repository with every bait there is, indexed."""
    folder = tmp_path_factory.mktemp("hostile")
    root, bait = shop(folder / "shop"), Bait(folder / "bait")
    poison(root, bait)
    (root / "golden.jsonl").write_text('{"id": "1", "question": "buy a kettle", "expected_symbols": ["buy_shop"]}\n')
    assert run(root, "index").code == 0
    return root, bait


def test_git_itself_takes_the_bait(tmp_path: Path) -> None:
    """Else the tests below would prove nothing."""
    root, bait = shop(tmp_path / "shop"), Bait(tmp_path / "bait")
    poison(root, bait)
    (root / ".git" / "info" / "attributes").unlink()
    (root / ".gitattributes").write_text("* filter=evil diff=evil\n")
    for arguments in (["ls-files"], ["diff", "HEAD"], ["diff", "--no-ext-diff", "HEAD"], ["log", "-p"]):
        git(root, *arguments)
    (root / ".gitattributes").write_text("* filter=ev=il diff=python\n")
    git(root, "diff", "HEAD")
    started = set(bait.markers())
    assert {"core.fsmonitor", "gpg.program", "hook post-index-change"} <= started
    assert {"diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.ev=il.process"} <= started


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_starts_what_a_repository_names(hostile: tuple[Path, Bait], command: str) -> None:
    root, bait = hostile
    bait.markers()
    done = run(root, *COMMANDS[command])
    assert bait.markers() == []
    assert "Traceback" not in done.err


@pytest.mark.parametrize("command", SERVERS)
def test_no_server_starts_what_a_repository_names(hostile: tuple[Path, Bait], command: str) -> None:
    root, bait = hostile
    bait.markers()
    (root / f"{command}.py").write_text(f"def pour_{command}():\n    pass\n")
    with subprocess.Popen(
        [*COMMAND, *SERVERS[command]],
        cwd=root,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            until(lambda: f"{command}.py" in run(root, "symbols", f"pour_{command}").out, pause=0.1)
        finally:
            server.terminate()
    assert bait.markers() == []


def test_agents_start_nothing_that_a_repository_names(hostile: tuple[Path, Bait]) -> None:
    root, bait = hostile
    bait.markers()
    (root / "agent.py").write_text("def pour_for_agents():\n    pass\n")

    async def work() -> None:
        async with over_stdio(root) as agent:
            await agent.until_fresh()
            assert "pour_for_agents" in await agent.ask("context", task="pour for agents")
            await agent.ask("context", pr="HEAD~2")

    talk(work)
    assert bait.markers() == []


def test_history_and_changes_are_read_all_the_same(hostile: tuple[Path, Bait]) -> None:
    root, _ = hostile
    review = run(root, "context", "--pr", "HEAD~2", "--format", "json")
    assert review.code == 0, review.err
    assert {"shop.py", "lfs.py", "equals.py", "driver.py"} <= {item["path"] for item in review.json["items"]}
    assert run(root, "eval", "mine", "--from", "history", "--format", "json").json["queries"]


def test_git_sees_no_setting_of_the_repository_but_those_that_are_data(
    hostile: tuple[Path, Bait], monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.git import find_place, launcher

    place = find_place(hostile[0])
    assert place is not None
    monkeypatch.setitem(launcher._COMMANDS, "config", launcher._COMMANDS["rev-parse"])
    listed = launcher.run(place, ["config", "--list", "--local", "--name-only"]).output.decode().split()
    assert {name.partition(".")[0] for name in listed} <= {"core", "extensions"}
    assert not {name.lower() for name in PROGRAMS} & {name.lower() for name in listed}


def test_no_object_is_fetched_that_is_not_there(tmp_path: Path) -> None:
    from assay.git import Git

    root, bait = shop(tmp_path / "shop"), Bait(tmp_path / "bait")
    blob = git(root, "rev-parse", "HEAD:shop.py").strip()
    fetching = {"remote.evil.promisor": "true", "extensions.partialClone": "evil", "protocol.ext.allow": "always"}
    bait.configure(root / ".git" / "config", fetching | {"remote.evil.url": PROGRAMS["remote.evil.url"]})
    git(root, "config", "core.repositoryFormatVersion", "1")
    (root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    git(root, "cat-file", "-p", blob)
    assert bait.markers() == ["fetch"], "git itself fetches"
    with Git(root).blobs() as blobs:
        assert blobs.text(blob) == ""
    assert run(root, "index").code == 0
    assert bait.markers() == []


# bare repositories


@pytest.fixture
def bare(tmp_path: Path) -> tuple[Path, Bait]:
    """A clone with a folder that git takes for a bare repository."""
    root, bait = shop(tmp_path / "shop"), Bait(tmp_path / "bait")
    docs = root / "docs"
    git(root, "init", "-q", "--bare", "docs")
    (docs / "guide.md").write_text("# Teapots\n\nHow to buy a teapot.\n")
    (docs / "pot.py").write_text("def pour_tea():\n    pass\n")
    git(docs, "--git-dir=.", "--work-tree=.", "add", "-f", "pot.py")
    bait.configure(docs / "config", PROGRAMS | {"core.worktree": ".", "core.bare": "false"})
    return root, bait


def test_plain_git_enters_a_bare_repository(bare: tuple[Path, Bait]) -> None:
    root, bait = bare
    git(root / "docs", "-c", "safe.bareRepository=all", "ls-files", "--others")
    assert "core.fsmonitor" in bait.markers()


@pytest.mark.parametrize("toml", ["", '[workspace]\nroots = ["docs"]\n', '[workspace]\nroots = [".", "docs"]\n'])
@pytest.mark.parametrize("inside", [False, True])
def test_a_bare_repository_in_the_tree_is_never_entered(bare: tuple[Path, Bait], toml: str, inside: bool) -> None:
    root, bait = bare
    if toml:
        (root / "assay.toml").write_text(toml)
    folder = root / "docs" if inside else root
    for command in (["index"], ["context", "pour tea"], ["status"], ["tests"], ["context", "--pr"]):
        run(folder, *command)
    run(folder, "index", str(root / "docs"))
    assert bait.markers() == []


def test_in_a_bare_repository_the_one_around_it_is_meant(bare: tuple[Path, Bait]) -> None:
    from assay.config.roots import root_around

    root, _ = bare
    assert root_around(root / "docs") == root
    assert root_around(root / "docs" / "objects") == root
    assert run(root / "docs", "index").code == 0
    assert (root / ".assay").is_dir()
    assert not (root / "docs" / ".assay").exists()


def test_files_of_a_bare_repository_are_indexed_as_files(bare: tuple[Path, Bait]) -> None:
    root, _ = bare
    assert run(root, "index", "docs").code == 0
    assert "pour_tea" in run(root, "symbols", "pour", "--root", "docs").out


# where git directories are


def test_a_git_file_may_name_a_hostile_git_directory(bare: tuple[Path, Bait]) -> None:
    root, bait = bare
    shutil.rmtree(root / ".git")
    (root / ".git").write_text("gitdir: docs\n")
    for command in (["index"], ["status"], ["tests"], ["context", "--pr"], ["context", "buy a kettle"]):
        run(root, *command)
    assert bait.markers() == []
    assert not (root / "docs" / "assay").exists(), "nothing is written into it"
    assert (root / ".assay" / "parses.db").exists()


def test_a_working_tree_elsewhere_is_not_read(tmp_path: Path) -> None:
    root, elsewhere = shop(tmp_path / "shop"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret.py").write_text("def private_key():\n    pass\n")
    (elsewhere / "shop.py").write_text("def stolen():\n    pass\n")
    git(root, "config", "core.worktree", str(elsewhere))
    assert run(root, "index").code == 0
    assert "private_key" not in run(root, "symbols", "private_key").out
    review = run(root, "context", "--pr", "HEAD~1", "--format", "json").json
    assert {item["path"] for item in review["items"]} == {"shop.py", "lfs.py", "equals.py", "driver.py", "test_shop.py"}
    assert run(tmp_path / "elsewhere", "index").code == 0, "and it is no part of the repository that claims it"


def test_git_variables_of_the_environment_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.git import Git

    root, other = shop(tmp_path / "shop"), shop(tmp_path / "other")
    head = git(root, "rev-parse", "HEAD").strip()
    git(other, "commit", "-q", "--allow-empty", "-m", "Another")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "nothing"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other / ".git" / "objects"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {tmp_path / 'marker'}")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"touch {tmp_path / 'marker'}")
    assert Git(root).revision("HEAD") == head
    assert "shop.py" in Git(root).paths("ls-files", "-z")
    assert run(root, "context", "--index", "--pr", "HEAD~1").code == 0
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("kind", ["main", "worktree", "submodule"])
def test_caches_are_shared_in_the_git_directory_of_ordinary_repositories(tmp_path: Path, kind: str) -> None:
    root, other = shop(tmp_path / "shop"), tmp_path / "other"
    folder, wanted = root, root / ".git"
    if kind == "worktree":
        git(root, "worktree", "add", "-q", str(other))
        folder = other
    if kind == "submodule":
        other.mkdir()
        git(other, "init", "-q")
        git(other, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(root), "inner")
        folder, wanted = other / "inner", other / ".git" / "modules" / "inner"
    assert run(folder, "index").code == 0
    assert sorted(path.name for path in (wanted / "assay").iterdir()) == ["commits.db", "parses.db"]
    assert not (folder / ".assay" / "parses.db").exists()


@pytest.mark.parametrize("how", ["git file", "common directory", "linked folder", "linked file", "linked git"])
def test_a_repository_cannot_choose_a_place_to_write_to(tmp_path: Path, how: str) -> None:
    root, victim = shop(tmp_path / "shop"), shop(tmp_path / "victim")
    own = root / ".git"
    if how == "git file":
        shutil.rmtree(own)
        own.write_text(f"gitdir: {victim / '.git'}\n")
    elif how == "common directory":
        (own / "commondir").write_text(f"{victim / '.git'}\n")
    elif how == "linked folder":
        (own / "assay").symlink_to(victim)
    elif how == "linked file":
        (own / "assay").mkdir()
        for name in ("parses.db", "commits.db", "parses.db-wal"):
            (own / "assay" / name).symlink_to(victim / name)
    else:
        own.rename(tmp_path / "moved")
        own.symlink_to(victim / ".git")
    before = sorted(victim.rglob("*"))
    assert run(root, "index").code == 0
    assert "buy_shop" in run(root, "symbols", "buy_shop").out
    assert sorted(victim.rglob("*")) == before


@pytest.mark.parametrize("option", ["--object-format=sha256", "--separate-git-dir=../apart"])
def test_unusual_repositories_are_read(tmp_path: Path, option: str) -> None:
    from assay.git import Git

    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q", option)
    git(root, "config", "core.worktree", str(root))
    (root / "shop.py").write_text("def buy():\n    pass\n")
    (root / "spam.py").write_text("def spam():\n    pass\n")
    (Path(git(root, "rev-parse", "--absolute-git-dir").strip()) / "info" / "exclude").write_text("spam.py\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Open the shop for people")
    git(root, "pack-refs", "--all")
    assert Git(root).revision("HEAD") == git(root, "rev-parse", "HEAD").strip()
    assert run(root, "index").err == ""
    assert run(root, "symbols", "*", "--format", "json").json["total"] == 1


# trust and time


@pytest.mark.skipif(not AS_ROOT, reason="only root can give a folder to another user")
def test_a_repository_of_somebody_else_is_indexed_and_what_is_missing_is_said(tmp_path: Path) -> None:
    root = shop(tmp_path / "shop")
    for path in (root, *root.rglob("*")):
        os.lchown(path, STRANGER, STRANGER)
    done = assay(root, "index")
    assert done.code == 0
    assert [line for line in done.err.splitlines() if line.startswith("warning")] == [
        f"warning: {root}: its history and its list of tracked files are not available, because git does not trust this folder"
        f" (it belongs to user {STRANGER}). If you do, run: git config --global --add safe.directory {root}"
    ]
    assert "buy_shop" in run(root, "symbols", "buy_shop").out
    assert "git does not trust this folder" in assay(root, "status").err
    assert "git does not trust this folder" in run(root, "status", "--format", "json").json["warnings"][0]
    assert "git does not trust this folder" in run(root, "index", "--format", "json").json["warnings"][0]
    for command in (["context", "--pr"], ["tests"], ["eval", "mine"]):
        refused = run(root, *command)
        assert (refused.code, len(refused.err.splitlines())) == (2, 1)
        assert "safe.directory" in refused.err


@pytest.mark.skipif(not AS_ROOT, reason="only root can give a folder to another user")
def test_a_folder_that_the_user_trusts_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = shop(tmp_path / "shop")
    (tmp_path / "gitconfig").write_text(f"[safe]\n\tdirectory = {root}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    for path in (root, *root.rglob("*")):
        os.lchown(path, STRANGER, STRANGER)
    assert run(root, "status", "--format", "json").code == 2
    done = run(root, "index", "--format", "json")
    assert done.json["warnings"] == []
    assert not (root / ".git" / "assay").exists(), "it is read, but it is not ours to write to"
    assert run(root, "eval", "mine", "--include-tests", "--format", "json").json["queries"]


def test_git_that_does_not_answer_is_ended_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.git import launcher

    for name, command in launcher._COMMANDS.items():
        monkeypatch.setitem(launcher._COMMANDS, name, launcher._Command(0.3, command.options))
    root = shop(tmp_path / "shop")
    os.mkfifo(root / ".gitignore")  # which git would wait for
    done = run(root, "index")
    assert done.code == 0
    assert f"warning: {root}: git ls-files timed out after 0.3 s" in done.err
    assert "buy_shop" in run(root, "symbols", "buy_shop").out


def test_a_stream_that_falls_silent_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.git import Git, TimedOut, launcher

    monkeypatch.setitem(launcher._COMMANDS, "cat-file", launcher._Command(0.2))
    git_ = Git(shop(tmp_path / "shop"))
    assert git_.place is not None
    with (
        launcher.stream(git_.place, ["cat-file", "--batch"], stdin=subprocess.PIPE) as (process, output),
        pytest.raises(TimedOut, match=r"git cat-file timed out after 0\.2 s"),
    ):
        output.read(1)
    assert process.poll() is not None


@pytest.mark.parametrize("name", ["include.path", "core.excludesFile", "core.attributesFile", "mailmap.file"])
def test_files_that_a_configuration_names_are_not_waited_for(tmp_path: Path, name: str) -> None:
    root = shop(tmp_path / "shop")
    os.mkfifo(tmp_path / "pipe")
    with (root / ".git" / "config").open("a") as file:
        section, key = name.split(".")
        file.write(f"[{section}]\n\t{key} = {tmp_path / 'pipe'}\n")
    assert run(root, "index").err == ""


@pytest.mark.parametrize("end", ["", "import os; os._exit(0)", "import os; os.kill(os.getpid(), 9)"])
def test_no_process_leaves_files_of_git_behind(tmp_path: Path, end: str) -> None:
    root = shop(tmp_path / "shop")
    (tmp_path / "temporary").mkdir()
    code = "import pathlib, sys; from assay.git import Git; print(Git(pathlib.Path(sys.argv[1])).revision('HEAD'), flush=True)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{end}", root],
        env=ENVIRONMENT | {"TMPDIR": str(tmp_path / "temporary")},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == git(root, "rev-parse", "HEAD").strip()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_an_index_leaves_no_temporary_files(tmp_path: Path) -> None:
    root = shop(tmp_path / "shop")
    for number in range(40):  # enough for worker processes
        (root / f"module{number}.py").write_text(f"def function{number}():\n    function{number - 1}()\n" * 50)
    (tmp_path / "temporary").mkdir()
    command = [*COMMAND, "index"]
    subprocess.run(command, cwd=root, env=ENVIRONMENT | {"TMPDIR": str(tmp_path / "temporary")}, check=True)
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.fixture
def views(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The private folder with the views of git, in a runtime folder of this test."""
    (tmp_path / "runtime").mkdir(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    return tmp_path / "runtime" / "assay"


def test_processes_share_a_view_that_only_the_user_can_enter(tmp_path: Path, views: Path) -> None:
    root = shop(tmp_path / "shop")
    assert Git(root).revision("HEAD")
    [view] = views.iterdir()
    assert views.stat().st_mode & 0o077 == view.stat().st_mode & 0o077 == 0
    made = view.stat().st_ino
    assert Git(root).revision("HEAD")
    assert [path.stat().st_ino for path in views.iterdir()] == [made]


@pytest.mark.parametrize("name", ["config", "info/attributes", "objects"])
def test_a_damaged_view_is_made_again(tmp_path: Path, views: Path, name: str) -> None:
    root = shop(tmp_path / "shop")
    assert Git(root).revision("HEAD")
    [view] = views.iterdir()
    (view / name).unlink()
    assert Git(root).revision("HEAD")
    assert os.path.lexists(view / name)
    (view / name).unlink()
    (view / name).write_text("[core]\n\tfsmonitor = touch /tmp/x\n")
    assert Git(root).revision("HEAD")
    assert os.path.islink(view / name) or "fsmonitor" not in (view / name).read_text()


def test_views_of_deleted_repositories_are_removed(tmp_path: Path, views: Path) -> None:
    first, second = shop(tmp_path / "first"), shop(tmp_path / "second")
    assert Git(first).revision("HEAD")
    shutil.rmtree(first)
    assert Git(second).revision("HEAD")
    assert len(list(views.iterdir())) == 1


def test_a_folder_that_others_may_enter_is_not_used(tmp_path: Path, views: Path) -> None:
    root = shop(tmp_path / "shop")
    views.mkdir()
    views.chmod(0o755)
    assert Git(root).revision("HEAD")
    assert list(views.iterdir()) == []
    views.rmdir()
    views.symlink_to(tmp_path)
    assert Git(root).revision("HEAD")
    assert not list(tmp_path.glob("git-*"))


# one launcher


def _starts_git(tree: ast.AST) -> Iterator[int]:
    """The lines that could start git: the word as a program, in a list of arguments or at the beginning of a command line."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr):
            continue
        words: list[ast.expr] = []
        if isinstance(node, ast.List | ast.Tuple) and node.elts:
            words = [node.elts[0]]
        elif isinstance(node, ast.Call):
            words = [argument for argument in node.args if isinstance(argument, ast.Constant | ast.JoinedStr)]
        for word in words:
            first = word.values[0] if isinstance(word, ast.JoinedStr) and word.values else word
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                program = (first.value.split() or [""])[0]
                if os.path.basename(program) in ("git", "git.exe") and _is_command(node, first.value):
                    yield node.lineno


def _is_command(node: ast.AST, text: str) -> bool:
    """Whether what begins with git is run: a list of arguments always, an argument only of what starts programs."""
    if not isinstance(node, ast.Call):
        return True
    called = ast.unparse(node.func)
    return called.rpartition(".")[2] in ("run", "Popen", "call", "check_call", "check_output", "system", "popen", "which",
                                         "execvp", "spawnvp", "create_subprocess_exec", "create_subprocess_shell", "split")  # fmt: skip


def test_nothing_but_the_launcher_starts_git() -> None:
    found = {
        f"{path.relative_to(SOURCES).as_posix()}:{line}"
        for path in SOURCES.rglob("*.py")
        if re.search(r"['\"/]git\b", text := path.read_text("utf-8"))
        for line in _starts_git(ast.parse(text))
    }
    assert {place.partition(":")[0] for place in found} == {"git/launcher.py"}, sorted(found)


@pytest.mark.parametrize(
    "code",
    [
        'subprocess.run(["git", "status"])',
        'command = ("git", "log")',
        'os.system("git status")',
        'subprocess.Popen(["/usr/bin/git", *words])',
        'subprocess.run(f"git -C {root} log", shell=True)',
        'asyncio.create_subprocess_exec("git", "log")',
        'shlex.split("git log")',
    ],
)
def test_every_way_to_start_git_is_noticed(code: str) -> None:
    assert list(_starts_git(ast.parse(code))) == [1] or list(_starts_git(ast.parse(code))) == [1, 1]


def test_a_command_that_was_not_thought_about_is_not_run(tmp_path: Path) -> None:
    from assay.git import Git

    with pytest.raises(KeyError):
        Git(shop(tmp_path / "shop")).ask("checkout", "main")


@pytest.mark.parametrize("text", ["[a]" * 300_000, "[core" + " " * 900_000 + "x", "key" + " " * 900_000 + "x"])
def test_long_lines_of_git_settings_are_read_in_linear_time(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_text(f"[core]\nbare = false\n{text}\n")
    with at_most(5):  # a fraction of one; retries take minutes
        assert read_settings(tmp_path / "config")[("core", "", "bare")] == "false"
