"""Index updates on file changes: `assay watch` as a process, and a repository that a server keeps open."""

from __future__ import annotations

import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import assay as assay_package
from assay.index.pipeline import index
from assay.serve.watch import Resident
from assay.serve.watch.keeper import TreeWatcher
from assay.store.index import Index, NoIndex
from assay.store.layout import Home
from assay.system.programs import child_environment
from support.command import COMMAND, ENVIRONMENT, assay
from support.processes import children, running
from support.repository import Repository
from support.waiting import PATIENCE, until

SETTLED = 3.0  # seconds in which a second refresh would have begun


class Watch:
    """A running `assay watch` and what it says."""

    def __init__(self, root: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "watch", "--root", str(root), *options],
            env=ENVIRONMENT,
            stderr=subprocess.PIPE,
            text=True,
            # a shell that runs tests in the background has Ctrl-C ignored, which children inherit
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stderr or ():
            self._lines.put(line.rstrip("\n"))

    def says(self, pattern: str) -> str:
        """Waits for a line."""
        deadline = time.monotonic() + PATIENCE
        while True:
            line = self._lines.get(timeout=max(0.1, deadline - time.monotonic()))
            if re.search(pattern, line):
                return line

    def rest(self) -> list[str]:
        """What it says until nothing more is to be expected."""
        time.sleep(SETTLED)
        return [self._lines.get() for _ in range(self._lines.qsize())]

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@contextmanager
def watching(root: Path, *options: str) -> Iterator[Watch]:
    watch = Watch(root, *options)
    try:
        watch.says("indexed|up to date")
        yield watch
    finally:
        watch.process.kill()
        watch.process.wait()


def same_as_a_full_index(repository: Repository, elsewhere: Path) -> bool:
    index(repository.root, Home(elsewhere))
    full, kept = Index.open(repository.root, Home(elsewhere)), repository.open()
    try:
        return full.export() == kept.export()
    finally:
        full.close()
        kept.close()


def fill(repository: Repository, files: int, word: str) -> None:
    for number in range(files):
        repository.write(
            f"package{number % 10}/module{number}.py",
            f"from package{(number + 1) % 10}.module{(number + 1) % files} import {word}{(number + 1) % files}\n\n"
            f"def {word}{number}():\n    return {word}{(number + 1) % files}()\n",
        )


# assay watch


def test_a_thousand_files_changed_by_a_switch_are_one_refresh_that_misses_nothing(
    repository: Repository, tmp_path: Path
) -> None:
    fill(repository, 1_000, "before")
    repository.write("stays.py", "def stays(): ...\n")
    repository.commit("before")
    repository.git("switch", "-q", "-c", "other")
    fill(repository, 1_000, "after")
    repository.commit("after")
    repository.git("switch", "-q", "main")
    repository.index()
    with watching(repository.root) as watch:
        repository.git("switch", "-q", "other")
        said = watch.says("indexed|updated")
        assert re.search(r"indexed 1,001 files|1000 changed", said)
        assert not [line for line in watch.rest() if re.search("indexed|updated", line)]
    assert same_as_a_full_index(repository, tmp_path / "elsewhere")
    assert "package0/module0.py::after0" in repository.symbols()


def test_saves_of_editors_renames_of_folders_and_deletions_are_followed(repository: Repository, tmp_path: Path) -> None:
    fill(repository, 20, "thing")
    repository.commit()
    with watching(repository.root) as watch:
        (repository.root / "package1" / ".module1.py.swp").write_text("x")
        new = repository.write("package1/module1.py~", "def renamed(): ...\n")
        new.replace(repository.root / "package1" / "module1.py")  # as editors save
        assert "1 changed" in watch.says("updated")
        (repository.root / "package2").rename(repository.root / "moved")
        watch.says("updated")
        shutil.rmtree(repository.root / "package3")
        watch.says("updated.* removed")
        assert same_as_a_full_index(repository, tmp_path / "elsewhere")
        assert {"package1/module1.py::renamed", "moved/module2.py::thing2"} <= repository.symbols()
        assert watch.interrupt() == 130


def test_what_the_index_ignores_is_ignored(repository: Repository) -> None:
    repository.write("app.py", "def run(): ...\n")
    repository.write(".gitignore", "build/\n")
    repository.commit()
    with watching(repository.root) as watch:
        for path in ("build/made.py", "node_modules/library.js", "notes.log", ".app.py.swp", "app.py~"):
            repository.write(path, "def made(): ...\n")
        assert watch.rest() == []
        repository.write(".gitignore", "")
        assert "1 changed" in watch.says("updated")


def test_a_log_that_is_written_without_end_hides_nothing(repository: Repository) -> None:
    repository.write("app.py", "def run(): ...\n")
    over = threading.Event()

    def write() -> None:
        while not over.wait(0.05):
            (repository.root / "server.log").write_text(str(time.time()))

    with watching(repository.root) as watch:
        threading.Thread(target=write, daemon=True).start()
        try:
            repository.write("more.py", "def more(): ...\n")
            assert "1 changed" in watch.says("updated")
        finally:
            over.set()


def test_a_commit_alone_is_remembered(repository: Repository) -> None:
    repository.write("app.py", "def run(): ...\n")
    repository.commit("first")
    repository.index()
    history = repository.home.folder / "history.npz"
    before = history.stat().st_mtime_ns
    with watching(repository.root):
        repository.git("commit", "-q", "--allow-empty", "-m", "second")
        until(lambda: history.stat().st_mtime_ns != before)


def test_another_process_that_is_indexing_is_waited_for(repository: Repository) -> None:
    repository.write("app.py", "def run(): ...\n")
    with repository.home.writing():
        watch = Watch(repository.root)
        watch.says("waiting for it")
    try:
        watch.says("indexed 1 file")
        assert watch.interrupt() == 130
    finally:
        watch.process.kill()


def test_a_child_that_is_killed_is_said_and_tried_again(repository: Repository) -> None:
    repository.write("app.py", "def run(): ...\n")
    with repository.home.writing():
        watch = Watch(repository.root, "--poll", "0.5")
        watch.says("waiting for it")
        for child in children(watch.process.pid):
            os.kill(child, signal.SIGKILL)
        watch.says(r"failed: indexing stopped before it finished \(by signal 9\)")
    try:
        watch.says("indexed 1 file")
    finally:
        watch.process.kill()


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL], ids=lambda one: one.name)
@pytest.mark.parametrize(
    "command", [("watch",), ("mcp",), ("mcp", "--http", "0"), ("serve", "--port", "0")], ids=" ".join
)
def test_whatever_ends_it_ends_the_child_that_indexes_too(
    command: tuple[str, ...], ending: signal.Signals, repository: Repository
) -> None:
    repository.write("app.py", "def run(): ...\n")
    with repository.home.writing():  # the child waits for this
        process = subprocess.Popen(
            [*COMMAND, *command, "--root", str(repository.root)],
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            until(lambda: bool(_indexing(repository)))
            process.send_signal(ending)
            process.wait(PATIENCE)
            until(lambda: not _indexing(repository))
        finally:
            process.kill()
            process.communicate()


def test_a_child_that_has_nothing_to_say_notices_that_it_works_for_nobody(repository: Repository) -> None:
    repository.write("app.py", "def run(): ...\n")
    command = [
        sys.executable,
        "-m",
        "assay.serve.watch.child",
        "index",
        str(repository.root),
        str(repository.home.folder),
    ]
    with repository.home.writing():
        child = subprocess.Popen(
            command, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
        )
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(1)
            child.communicate(timeout=PATIENCE)  # closes its stdin
            assert child.returncode == -signal.SIGTERM
        finally:
            child.kill()


def test_the_child_imports_assay_from_where_its_server_did(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    first, *others = child_environment()["PYTHONPATH"].split(os.pathsep)
    assert Path(first) == Path(assay_package.__file__).parents[1]
    assert others == [str(tmp_path)]


def _indexing(repository: Repository) -> list[int]:
    return running("assay.serve.watch.child", "index", str(repository.root))


def test_without_events_files_are_looked_at_in_intervals(repository: Repository) -> None:
    repository.write("app.py", "def run(): ...\n")
    with watching(repository.root, "--poll", "0.2") as watch:
        repository.write("more.py", "def more(): ...\n")
        assert "1 changed" in watch.says("updated")


def test_without_watchfiles_it_says_what_to_install(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "watchfiles.py").write_text("raise ImportError('no such module')")
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}"}
    done = subprocess.run(
        [sys.executable, "-m", "assay", "watch"], cwd=repository.root, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "pip install watchfiles" in done.stderr
    assert "--poll" in done.stderr


def test_a_folder_that_is_not_there_is_an_error_of_one_line(repository: Repository) -> None:
    done = assay(repository.root, "watch", "--root", "nowhere")
    assert done.code == 2
    assert "no such folder" in done.err


# the repository of a server


def test_a_resident_builds_an_index_says_so_and_follows_changes(repository: Repository) -> None:
    repository.write("app.py", "def run(): ...\n")
    with Resident(repository.root) as resident:
        assert resident.state.name in ("missing", "building")
        with pytest.raises(NoIndex), resident.using():
            pass
        assert resident.wait(PATIENCE)
        until(lambda: resident.state.name == "fresh")
        repository.write("more.py", "def more(): ...\n")
        until(lambda: _names(resident) == ["app.py", "more.py"])
        until(lambda: resident.state.name == "fresh")


def _names(resident: Resident) -> list[str]:
    with resident.using() as repo:
        return sorted(repo.files)


def test_threads_never_share_a_repository_and_a_new_generation_is_picked_up(repository: Repository) -> None:
    repository.write("app.py", "def run(): ...\n")
    repository.index()
    in_use: set[int] = set()
    failures: list[str] = []
    guard = threading.Lock()

    def ask() -> None:
        for _ in range(20):
            with resident.using() as repo:
                with guard:
                    if id(repo) in in_use:
                        failures.append("shared")
                    in_use.add(id(repo))
                if not repo.symbols("run"):
                    failures.append("lost")
                with guard:
                    in_use.discard(id(repo))

    with Resident(repository.root, watch=False) as resident:
        threads = [threading.Thread(target=ask) for _ in range(12)]
        for thread in threads:
            thread.start()
        for number in range(3):
            repository.write(f"more{number}.py", f"def more{number}(): ...\n")
            repository.index()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(_names(resident)) == 4


def test_what_breaks_in_one_answer_is_not_in_the_next(repository: Repository) -> None:
    repository.write("app.py", "def run(): ...\n")
    repository.index()
    with Resident(repository.root, watch=False) as resident:
        for _ in range(10):  # more than are open at once
            with pytest.raises(ZeroDivisionError), resident.using():
                _ = 1 / 0
        assert _names(resident) == ["app.py"]


def test_a_setting_that_changes_counts_from_the_next_answer_on(repository: Repository) -> None:
    repository.write("app.py", "def run(): ...\n")
    repository.index()
    with Resident(repository.root, watch=False) as resident:
        with resident.using() as repo:
            assert repo.configuration.context.k == 50
        repository.write("assay.toml", "[context]\nk = 7\n")
        with resident.using() as repo:
            assert repo.configuration.context.k == 7


def test_a_resident_that_fails_says_why_and_recovers(repository: Repository, tmp_path: Path) -> None:
    repository.write("app.py", "def run(): ...\n")
    with Resident(repository.root) as resident:
        until(lambda: resident.state.name == "fresh")
        away = tmp_path / "away"
        shutil.move(repository.root, away)
        until(lambda: resident.state.name == "failed")
        assert "no such folder" in resident.state.why
        shutil.move(away, repository.root)
        until(lambda: resident.state.name == "fresh")
        assert _names(resident) == ["app.py"]


def test_closing_ends_the_child_at_once(repository: Repository) -> None:
    repository.write("app.py", "def run(): ...\n")
    with repository.home.writing():
        resident = Resident(repository.root)
        until(lambda: "waiting" in resident.state.why)
        resident.close()
        assert not _indexing(repository)


def test_too_few_watches_are_no_reason_to_stop(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: object, **__: object) -> Iterator[set[object]]:
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr("assay.serve.watch.keeper.watcher", lambda: none_left)
    monkeypatch.setattr("assay.serve.watch.keeper.POLL_SECONDS", 0.1)
    said: list[str] = []
    watching = TreeWatcher(repository.root, repository.home.folder, complain=said.append)
    hints = watching.hints()
    assert [next(hints), next(hints)]
    assert "polling every 0.1 s instead" in said[0]
