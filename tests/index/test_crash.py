"""Killed, interrupted and concurrent index runs: the old index stays valid and the next run repairs it."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.index.pipeline import index
from assay.index.scan import OWN_FOLDER
from assay.store.index import Index
from assay.store.layout import KEEP, Home
from support.command import COMMAND, ENVIRONMENT, assay
from support.repository import Repository
from support.waiting import PATIENCE, until

FILES = 150
Start = Callable[..., "subprocess.Popen[str]"]
KILLS_OF_COLD_RUNS, KILLS_OF_COMPLETIONS, KILLS_OF_UPDATES = 6, 4, 6


def _module(number: int, version: int) -> str:
    """A small module that calls its neighbour; together they are large enough to be parsed by several processes."""
    other = (number * 7 + 1) % FILES
    lines = [f"from m{other} import f{other}_0", ""]
    for k in range(25):
        lines += [
            f"def f{number}_{k}(value, other={version}):",
            f"    return f{other}_0(value) + f{number}_{(k + 1) % 25}(other)",
            "",
            "",
        ]
    if version:
        lines += [f"def added_{number}_{version}():", f"    return f{number}_0({version})", ""]
    return "\n".join(lines)


@pytest.fixture
def many(repository: Repository) -> Repository:
    for number in range(FILES):
        repository.write(f"m{number}.py", _module(number, 0))
    return repository


def _heeds_ctrl_c() -> None:
    """As in a terminal, also where the tests run in the background and inherit that Ctrl-C is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts real indexers, each the leader of a process group as in a terminal. None outlives the test."""
    groups: list[int] = []

    def run(repository: Repository, *arguments: str) -> subprocess.Popen[str]:
        command = [*COMMAND, "index", ".", *arguments]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command,
            cwd=repository.root,
            env=ENVIRONMENT,
            stdout=pipe,
            stderr=pipe,
            text=True,
            start_new_session=True,
            preexec_fn=_heeds_ctrl_c,
        )
        groups.append(process.pid)
        return process

    yield run
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


def _forget(repository: Repository) -> None:
    """Nothing was ever indexed here."""
    shutil.rmtree(repository.home.folder, ignore_errors=True)
    shutil.rmtree(repository.root / ".git" / "assay", ignore_errors=True)


def _export(root: Path, home: Home) -> object:
    opened = Index.open(root, home)
    try:
        return opened.export()
    finally:
        opened.close()


def _full(repository: Repository, elsewhere: Path) -> object:
    """What an index from scratch says about the files as they are now."""
    home = Home(elsewhere)
    index(repository.root, home, rebuild=True)
    return _export(repository.root, home)


def _leftovers(repository: Repository) -> list[str]:
    """What is in the index folder beyond what a run that ended well leaves there."""
    generations = sorted(p.name for p in repository.home.generations.iterdir())
    usual = {".gitignore", "contents.msgpack", "current", "generations", "item-words.npz", "lock", "parses.db"}
    old = generations[: max(0, len(generations) - KEEP - 1)]  # a run sweeps before it adds its own
    return old + [p.name for p in repository.home.folder.iterdir() if p.name not in usual]


def _unfinished(repository: Repository) -> list[Path]:
    """The generations that are being written, or were when their writer was killed."""
    return list(repository.home.generations.glob(".new-*"))


class Killing:
    """Kills runs at random moments, one in each of `count` equal parts of what a run takes."""

    def __init__(self, count: int, whole: float, seed: int) -> None:
        choose = random.Random(seed)
        self.shares = [(part + choose.random()) / count for part in range(count)]
        self.whole = whole  # seconds; less when a run turns out to be faster, as on a machine that was busy before
        self.killed = 0

    def kill(self, process: subprocess.Popen[str], share: float) -> None:
        """Kills an indexer, and only it: its workers must notice."""
        started = time.monotonic()
        try:
            process.wait(timeout=self.whole * share)
            self.whole = min(self.whole, time.monotonic() - started)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self.killed += 1


def test_killing_a_first_run_at_any_moment_leaves_no_index_or_a_whole_stage_of_it(
    start: Start, many: Repository
) -> None:
    index(many.root, many.home, wait=False)
    first = _export(many.root, many.home)
    _forget(many)
    started = time.monotonic()
    assert assay(many.root, "index", ".").code == 0
    whole = time.monotonic() - started
    expected = _export(many.root, many.home)
    killing = Killing(KILLS_OF_COLD_RUNS, whole, seed=1)
    for share in killing.shares:
        _forget(many)
        killing.kill(start(many), share)
        if many.home.named() is not None:
            assert _export(many.root, many.home) in (first, expected)
            assert assay(many.root, "symbols", "f7_3").code == 0
        else:
            assert assay(many.root, "status").code == 2
    assert killing.killed >= KILLS_OF_COLD_RUNS // 2
    done = assay(many.root, "index", ".")
    assert (done.code, done.err) == (0, "")
    assert _export(many.root, many.home) == expected
    assert not _leftovers(many)


def test_killing_a_completion_at_any_moment_leaves_the_first_stage_to_resume(start: Start, many: Repository) -> None:
    index(many.root, many.home, wait=False)
    first = _export(many.root, many.home)
    kept = many.root.parent / "kept"
    shutil.copytree(many.home.folder, kept)
    started = time.monotonic()
    assert assay(many.root, "index", ".").code == 0
    expected = _export(many.root, many.home)
    killing = Killing(KILLS_OF_COMPLETIONS, time.monotonic() - started, seed=3)
    for share in killing.shares:
        shutil.rmtree(many.home.folder)
        shutil.copytree(kept, many.home.folder)
        killing.kill(start(many), share)
        assert _export(many.root, many.home) in (first, expected)
        assert assay(many.root, "index", ".").code == 0
        assert _export(many.root, many.home) == expected
        assert not _leftovers(many)
    assert killing.killed >= KILLS_OF_COMPLETIONS // 2


def test_killing_an_update_at_any_moment_leaves_the_old_index_or_the_new_one(
    start: Start, many: Repository, tmp_path: Path
) -> None:
    many.index()
    before = _export(many.root, many.home)
    many.write("m3.py", _module(3, 1))
    started = time.monotonic()
    assert assay(many.root, "index", ".").code == 0
    whole = time.monotonic() - started
    many.write("m3.py", _module(3, 0))
    many.index()
    assert _export(many.root, many.home) == before
    killing = Killing(KILLS_OF_UPDATES, whole, seed=2)
    for number, share in enumerate(killing.shares):
        changed = (
            [3] if number % 2 else range(0, FILES, 2)
        )  # half of the files: more than an update, a run from scratch
        for one in changed:
            many.write(f"m{one}.py", _module(one, number + 1))
        after = _full(many, tmp_path / "full") if number % 4 == 0 else None
        killing.kill(start(many), share)
        found = _export(many.root, many.home)
        if after is None and found != before:
            after = _full(many, tmp_path / "full")
        assert found in (before, after)
        many.index()
        before = _export(many.root, many.home)
        assert after is None or before == after
    assert killing.killed >= KILLS_OF_UPDATES // 2
    assert before == _full(many, tmp_path / "full")
    many.index(rebuild=True)
    assert not _leftovers(many)


def test_what_a_killed_run_left_is_swept_by_the_next(start: Start, many: Repository) -> None:
    process = start(many)
    while not (unfinished := _unfinished(many)):
        assert process.poll() is None, "the run ended before it could be killed"
    process.kill()
    process.wait()
    assert _unfinished(many) == unfinished
    (many.home.folder / ".current.0123456789abcdef.tmp").write_text("00")
    assert assay(many.root, "index", ".").code == 0
    assert not _unfinished(many)
    assert not _leftovers(many)


def test_the_workers_of_a_killed_run_end_and_do_not_hold_up_the_next(start: Start, many: Repository) -> None:
    process = start(many)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        process.kill()
        process.wait()
        pytest.skip("this system does not tell who is whose child")
    workers: list[str] = []
    while not any(_is_worker(process.pid, one) for one in workers):
        assert process.poll() is None, "no worker was ever started"
        try:
            workers = children.read_text().split()
        except OSError:
            workers = []
    process.kill()
    process.wait()
    done = assay(many.root, "index", ".")
    assert done.code == 0
    until(lambda: not any(_is_worker(process.pid, one) for one in workers))


def _is_worker(parent: int, child: str) -> bool:
    """Whether that process runs the same program as the indexer, in its process group: not git."""
    try:
        command = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        return b"assay" in command and os.getpgid(int(child)) == parent
    except OSError:
        return False


def test_two_indexers_at_once_both_succeed(start: Start, many: Repository, tmp_path: Path) -> None:
    both = [start(many), start(many)]
    results = [(*process.communicate(timeout=PATIENCE), process.returncode) for process in both]
    assert [code for _, _, code in results] == [0, 0]
    said = sorted(err for _, err, _ in results)
    assert said[0] == ""
    assert said[1] in ("", "another assay process is indexing this repository; waiting for it\n")
    assert any(out.startswith("indexed") for out, _, _ in results)
    assert _export(many.root, many.home) == _full(many, tmp_path / "full")
    assert not _leftovers(many)


_READER = """
import sys
from pathlib import Path
from assay.store.index import Index
from assay.store.layout import Home

root = Path(sys.argv[1])
seen = []
print("ready", flush=True)
while not (root / "stop").exists():
    opened = Index.open(root, Home.of(root))
    names = {row[0] for row in opened.export()[0]}
    versions = {name.rpartition("_")[2] for name in names if "::version_" in name}
    assert len(versions) == 1, versions
    seen.append(versions.pop())
    opened.close()
assert seen == sorted(seen, key=int)
print(len(seen), seen[-1])
"""


def test_readers_see_a_whole_generation_whatever_the_writer_does(repository: Repository) -> None:
    """Each generation says the same version in every file; a mixture of two would show."""

    def write(version: int) -> None:
        for number in range(8):
            repository.write(f"m{number}.py", f"def version_{version}():\n    return {number}\n")

    write(0)
    repository.index()
    command = [sys.executable, "-c", _READER, str(repository.root)]
    readers = [
        subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        for reader in readers:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "ready\n"
        for version in range(1, 25):
            write(version)
            repository.index(rebuild=version % 3 == 0)
    finally:
        (repository.root / "stop").touch()
        results = [reader.communicate(timeout=PATIENCE) for reader in readers]
    for out, err in results:
        assert err == ""
        count, last = out.split()
        assert int(count) > 0
        assert int(last) <= 24


@pytest.mark.parametrize("everyone", [True, False], ids=["ctrl-c in a terminal", "a signal to the indexer alone"])
def test_an_interrupted_run_says_so_in_a_line_and_leaves_the_index_alone(
    start: Start, many: Repository, everyone: bool
) -> None:
    many.index()
    before = _export(many.root, many.home)
    for number in range(0, FILES, 2):
        many.write(f"m{number}.py", _module(number, 1))
    process = start(many, "--rebuild")
    while not _unfinished(many):
        assert process.poll() is None, "the run ended before it could be interrupted"
    if everyone:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert (out, err) == ("", "assay: interrupted; completed work is kept\n")
    assert not _unfinished(many)
    assert _export(many.root, many.home) == before
    assert assay(many.root, "index", ".").code == 0
    assert not _leftovers(many)


def test_a_lock_left_by_a_dead_process_does_not_stop_anyone(repository: Repository) -> None:
    repository.write("a.py", "def f(): pass\n")
    repository.index()
    assert (repository.home.folder / "lock").exists()
    assert repository.index(rebuild=True).files == 1
    assert OWN_FOLDER not in {path.partition("/")[0] for path in repository.symbols()}
