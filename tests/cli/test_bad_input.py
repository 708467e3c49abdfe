"""Bad files on disk: a one-line error message, the other files indexed, the right exit code."""

from __future__ import annotations

import os
import random
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from assay.index.parse import parse_files
from assay.index.scan import scan
from assay.store import catalogue, columns, edges, postings
from support.command import Done, assay
from support.repository import Repository

GOOD = "def helper():\n    return 1\n\n\ndef caller():\n    return helper()\n"
GOOD_SYMBOLS = {"good.py", "good.py::helper", "good.py::caller"}
DONE, WITH_PROBLEMS, COULD_NOT_RUN = 0, 1, 2


def _index(repository: Repository, *arguments: str | Path) -> Done:
    return assay(repository.root, "index", ".", *arguments)


def _the_rest_is_indexed(repository: Repository) -> None:
    assert repository.symbols() >= GOOD_SYMBOLS
    assert ("good.py::caller", "good.py::helper") in repository.edges("calls")


# -- files -------------------------------------------------------------------------------------------------------------


def test_text_in_another_encoding_is_converted_and_said_so(repository: Repository) -> None:
    repository.write("good.py", GOOD)
    repository.write("latin.py", "# première ligne\n\ndef café():\n    pass\n".encode("latin-1"))
    repository.write("wide.py", "def wide():\n    pass\n".encode("utf-16"))
    repository.write("big_endian.py", b"\xfe\xff" + "def big():\n    pass\n".encode("utf-16-be"))
    repository.write("mark.py", b"\xef\xbb\xbfdef marked():\n    pass\n")
    done = _index(repository)
    assert done.code == DONE
    assert sorted(done.err.splitlines()) == [
        "note: big_endian.py: UTF-16, converted",
        "note: latin.py: invalid UTF-8 at line 1, read as Latin-1",
        "note: wide.py: UTF-16, converted",
    ]
    _the_rest_is_indexed(repository)
    assert repository.symbols() >= {"latin.py::café", "wide.py::wide", "big_endian.py::big", "mark.py::marked"}
    again = _index(repository)
    assert (again.code, again.err) == (DONE, done.err), "what was said once is said again while it is so"
    assert _index(repository, "--strict").code == WITH_PROBLEMS


def test_a_file_that_is_not_text_is_a_problem_and_the_rest_is_indexed(repository: Repository) -> None:
    repository.write("good.py", GOOD)
    repository.write("nul.py", b"x = 1\n\0\0\0\n")
    repository.write("wide.py", b"\xff\xfex")
    repository.write("wider.py", "x = 1\n".encode("utf-32"))
    done = _index(repository)
    assert done.code == WITH_PROBLEMS
    assert sorted(done.err.splitlines()) == [
        "problem: nul.py: contains NUL bytes: binary, or text in an unknown encoding",
        "problem: wide.py: begins like UTF-16 but is not valid UTF-16",
        "problem: wider.py: contains NUL bytes: binary, or text in an unknown encoding",
    ]
    _the_rest_is_indexed(repository)
    again = _index(repository)
    assert again.out.startswith("up to date")
    assert (again.code, again.err) == (WITH_PROBLEMS, done.err)
    for path in ("nul.py", "wide.py", "wider.py"):
        (repository.root / path).unlink()
    assert (_index(repository).code, _index(repository).err) == (DONE, "")


SYNTAX_ERRORS = {
    "unclosed.py": "def before():\n    pass\n\ndef broken(:\n    return (((\n\ndef after():\n    pass\n",
    "merge.py": "<<<<<<< HEAD\ndef ours(): pass\n=======\ndef theirs(): pass\n>>>>>>> other\n",
    "prose.py": "This is not Python, it is a sentence. It goes on; nobody knows why!\n",
    "brackets.js": "function before() {}\n}}}}))))((((\nfunction after() {}\n",
    "empty.py": "",
    "blank.js": "\n\n\n",
    "space.ts": "export interface Props " + 50 * "\x85" + " {\n  text: string;\n}\n",
    "half.go": "package main\n\nfunc main() {\n\tfor {\n",
    "control.py": "x = 1\x0c\x1b\x07\ndef control(): pass\n",
}


def test_syntax_errors_stop_nothing(repository: Repository) -> None:
    repository.write("good.py", GOOD)
    for path, text in SYNTAX_ERRORS.items():
        repository.write(path, text)
    done = _index(repository)
    assert (done.code, done.err) == (DONE, "")
    _the_rest_is_indexed(repository)
    assert repository.symbols() >= {"unclosed.py::before", "brackets.js::before", *SYNTAX_ERRORS}


def test_huge_and_minified_files_are_passed_over_with_their_reason(repository: Repository) -> None:
    repository.write("good.py", GOOD)
    with open(repository.root / "huge.py", "wb") as handle:
        handle.truncate(50_000_000)
    repository.write("app.js", "function a(){return 1};" * 2000)
    done = _index(repository, "--verbose")
    assert (done.code, done.err) == (DONE, "")
    assert "skipped: 1 large, 1 minified" in done.lines
    assert {"  app.js: minified", "  huge.py: large (50.0 MB)"} <= set(done.lines)
    _the_rest_is_indexed(repository)
    assert "skipped: 1 large, 1 minified (list: --verbose)" in _index(repository).lines


DEEP = 5_000
NESTED = {
    "round.py": "x = " + "(\n" * DEEP + "1" + ")" * DEEP + "\n",
    "square.py": "x = " + "[\n" * DEEP + "1" + "]" * DEEP + "\n",
    "calls.py": "x = " + "f(\n" * DEEP + "1" + ")" * DEEP + "\n",
    "blocks.py": "".join(" " * depth + "if x:\n" for depth in range(1_500)) + " " * 1_500 + "pass\n",
    "sum.py": "x = 1" + "\\\n+1" * DEEP + "\n",
    "open.py": "(\n" * DEEP,
    "round.js": "x = " + "(\n" * DEEP + "1" + ")" * DEEP + "\n",
    "square.js": "x = " + "[\n" * DEEP + "1" + "]" * DEEP + "\n",
    "blocks.js": "if (x) {\n" * DEEP + "y();\n" + "}\n" * DEEP,
    "open.js": "function f() {\n" * DEEP,
}


def test_nesting_of_any_depth_stops_nothing(repository: Repository) -> None:
    repository.write("good.py", GOOD)
    for path, text in NESTED.items():
        repository.write(path, text)
    done = _index(repository)
    assert done.code in (DONE, WITH_PROBLEMS)
    told = {line.split(": ")[1] for line in done.err.splitlines()}
    assert (done.code == WITH_PROBLEMS) == bool(told)
    assert repository.symbols() >= GOOD_SYMBOLS | (set(NESTED) - told), "each file is indexed or told about"
    _the_rest_is_indexed(repository)


def test_things_that_are_not_files_stop_nothing(repository: Repository) -> None:
    """A loop of symlinks, a pipe nobody writes to, a folder and a dangling link with the name of a file."""
    repository.write("good.py", GOOD)
    shutil.rmtree(repository.root / ".git")  # git would not list all of them
    (repository.root / "loop").symlink_to(repository.root, target_is_directory=True)
    (repository.root / "around.py").symlink_to("around.py")
    (repository.root / "dangling.py").symlink_to("nowhere.py")
    os.mkfifo(repository.root / "pipe.py")
    (repository.root / "folder.py").mkdir()
    done = _index(repository, "--verbose")
    assert (done.code, done.err) == (DONE, "")
    assert {"  around.py: symlink", "  dangling.py: symlink", "  pipe.py: not a regular file"} <= set(done.lines)
    assert repository.symbols() == GOOD_SYMBOLS
    _the_rest_is_indexed(repository)


def test_a_file_that_may_not_be_read_is_a_problem(tmp_path: Path) -> None:
    made = Repository(tmp_path / "tree")
    made.write("good.py", GOOD)
    made.write("closed.py", "x = 1\n").chmod(0)
    made.write("shut/inside.py", "x = 1\n")
    (made.root / "shut").chmod(0)
    try:
        if os.access(made.root / "closed.py", os.R_OK):
            pytest.skip("permissions mean nothing to this user")
        done = _index(made)
        assert done.code == WITH_PROBLEMS
        assert done.err.splitlines() == [
            "problem: closed.py: cannot be read: Permission denied",
            "problem: shut: cannot be read: Permission denied",
        ]
        _the_rest_is_indexed(made)
    finally:
        (made.root / "shut").chmod(0o755)


def test_a_path_that_the_system_refuses_is_a_problem(repository: Repository) -> None:
    """Tracked under a name that is too long for this disk, as it happens with repositories made elsewhere."""
    repository.write("good.py", GOOD)
    repository.commit()
    blob = repository.git("hash-object", "-w", "good.py").strip()
    long = "n" * 300 + ".py"
    repository.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{long}")
    done = _index(repository)
    assert done.code == WITH_PROBLEMS
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith(f"problem: {long}: cannot be read: ")
    _the_rest_is_indexed(repository)
    repository.git("update-index", "--force-remove", long)
    assert (_index(repository).code, _index(repository).err) == (DONE, ""), (
        "a problem that is gone is not reported for ever"
    )


def test_a_file_that_vanishes_between_the_walk_and_the_reading_is_left_out(repository: Repository) -> None:
    from assay.index.parse import ParseCache

    repository.write("good.py", GOOD)
    repository.write("gone.py", "x = 1\n")
    found = scan(repository.root)
    assert set(found.files) == {"good.py", "gone.py"}
    (repository.root / "gone.py").unlink()
    parsed = {p.path: p for p in parse_files(repository.root, found.files, ParseCache(None), lambda _: None)}
    assert parsed["gone.py"].skip == "vanished"
    assert parsed["gone.py"].extracted is None
    assert parsed["good.py"].extracted is not None


# -- roots and places --------------------------------------------------------------------------------------------------


def test_an_empty_repository_is_indexed_as_empty(repository: Repository) -> None:
    done = _index(repository)
    assert (done.code, done.err) == (DONE, "")
    assert done.out == f"nothing to index: no source files in {repository.root}\n"
    assert assay(repository.root, "status").code == DONE
    assert assay(repository.root, "symbols", "x").code == 1
    repository.write("good.py", GOOD)
    assert _index(repository).code == DONE
    _the_rest_is_indexed(repository)
    (repository.root / "good.py").unlink()
    assert _index(repository).code == DONE
    assert repository.symbols() == set()


def test_a_path_that_does_not_exist_is_refused_and_not_made(tmp_path: Path) -> None:
    done = assay(tmp_path, "index", "nowhere")
    assert done.code == COULD_NOT_RUN
    assert done.err == f"assay: {tmp_path / 'nowhere'}: no such folder\n"
    assert not (tmp_path / "nowhere").exists()


def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(GOOD)
    done = assay(tmp_path, "index", "a.py")
    assert done.code == COULD_NOT_RUN
    assert done.err == f"assay: {tmp_path / 'a.py'}: not a folder; give the folder that contains it\n"


def test_a_place_where_no_index_can_be_written_is_refused(repository: Repository) -> None:
    repository.write("good.py", GOOD)
    repository.write("file", "")
    for place in (repository.root / "file" / "index", Path("/proc/assay")):
        done = _index(repository, "--index-dir", place)
        assert done.code == COULD_NOT_RUN
        assert done.err.startswith(f"assay: {place}: cannot write the index (")
        assert "--index-dir" in done.err
        assert len(done.err.splitlines()) == 1
        refused = assay(repository.root, "status", "--index-dir", place)
        assert refused.code == COULD_NOT_RUN
        assert refused.err.endswith(f"Make one with: assay index {repository.root} --index-dir {place}\n")


def _many(repository: Repository, count: int) -> None:
    for number in range(count):
        repository.write(f"m{number}.py", f"def f{number}(a, b):\n    return f{number}(b, a)\n" * 5)


def test_a_limit_on_the_size_of_files_leaves_the_previous_index_in_use(repository: Repository) -> None:
    repository.write("good.py", GOOD)
    assert _index(repository).code == DONE
    before = repository.open().export()
    _many(repository, 60)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    done = assay(repository.root, "index", ".", preexec_fn=limit)
    assert done.code == COULD_NOT_RUN
    assert "cannot write the index (" in done.err
    assert "previous index, if any, is untouched" in done.err
    assert len(done.err.splitlines()) == 1
    assert repository.open().export() == before
    assert sorted(p.name for p in repository.home.generations.iterdir()) == ["000001"]
    assert _index(repository).code == DONE
    assert "m59.py::f59" in repository.symbols()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("this user may not mount a disk; the test with a limit on file sizes stands in")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_leaves_the_previous_index_in_use(repository: Repository, tiny_disk: Path) -> None:
    repository.write("good.py", GOOD)
    place = tiny_disk / "index"
    assert _index(repository, "--index-dir", place).code == DONE
    _many(repository, 200)
    for room in (0, 60_000, 120_000):
        filler = tiny_disk / "filler"
        filler.unlink(missing_ok=True)
        free = os.statvfs(tiny_disk).f_bavail * os.statvfs(tiny_disk).f_frsize
        filler.write_bytes(b"x" * max(0, free - room))
        done = _index(repository, "--index-dir", place)
        assert done.code == COULD_NOT_RUN
        assert done.err.startswith(f"assay: {place}: cannot write the index (")
        assert len(done.err.splitlines()) == 1
        found = assay(repository.root, "symbols", "caller", "--index-dir", place)
        assert (found.code, len(found.lines)) == (DONE, 1)
        assert not list((place / "generations").glob(".new-*"))


# -- damaged indexes ---------------------------------------------------------------------------------------------------


def _file(repository: Repository, name: str) -> Path:
    folder = repository.home.current()
    assert folder is not None
    return folder / name


def _noise(path: Path, start: int = 0, length: int | None = None) -> None:
    """Random bytes in place of those that are there."""
    data = bytearray(path.read_bytes())
    end = len(data) if length is None else min(len(data), start + length)
    data[start:end] = random.Random(1).randbytes(end - start)
    path.write_bytes(data)


def _cut(path: Path, share: float) -> None:
    os.truncate(path, int(path.stat().st_size * share))


def _set_schema(path: Path, version: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (version,))


def _other_edges(path: Path) -> None:
    kept = np.load(path)
    kept["target"] = np.roll(kept["target"], 1)
    np.save(path, kept)


CATALOGUE, EDGES, ORDER = catalogue.NAME, edges.NAME, edges.ORDER_NAME
DAMAGE: dict[str, Callable[[Repository], object]] = {
    "a catalogue of random bytes": lambda r: _noise(_file(r, CATALOGUE)),
    "a catalogue with a garbled header": lambda r: _noise(_file(r, CATALOGUE), 0, 100),
    "a catalogue with a garbled first page": lambda r: _noise(_file(r, CATALOGUE), 100, 3_900),
    "a catalogue cut in half": lambda r: _cut(_file(r, CATALOGUE), 0.5),
    "a catalogue cut at the end": lambda r: _cut(_file(r, CATALOGUE), 0.99),
    "an empty catalogue": lambda r: _cut(_file(r, CATALOGUE), 0),
    "no catalogue": lambda r: _file(r, CATALOGUE).unlink(),
    "edges of random bytes": lambda r: _noise(_file(r, EDGES)),
    "edges with garbled rows": lambda r: _noise(_file(r, EDGES), 200, 60),
    "edges that are others": lambda r: _other_edges(_file(r, EDGES)),
    "edges cut short": lambda r: _cut(_file(r, EDGES), 0.7),
    "edges of another shape": lambda r: np.save(_file(r, EDGES), np.zeros(7)),
    "empty edges": lambda r: _cut(_file(r, EDGES), 0),
    "no edges": lambda r: _file(r, EDGES).unlink(),
    "a garbled order of edges": lambda r: _noise(_file(r, ORDER), 128),
    "words of random bytes": lambda r: _noise(_file(r, postings.ITEMS)),
    "words with garbled counts": lambda r: _noise(_file(r, postings.COUNTS), 130, 20),
    "garbled terms": lambda r: _noise(_file(r, postings.TERMS), 130, 10),
    "lengths of another shape": lambda r: np.save(_file(r, postings.LENGTHS), np.zeros(3)),
    "words cut short": lambda r: _cut(_file(r, postings.STARTS), 0.7),
    "no words": lambda r: _file(r, postings.COUNTS).unlink(),
    "columns with garbled rows": lambda r: _noise(_file(r, columns.NAME), 130, 10),
    "columns of another shape": lambda r: np.save(_file(r, columns.NAME), np.zeros(3)),
    "no columns": lambda r: _file(r, columns.NAME).unlink(),
    "an older format": lambda r: _set_schema(_file(r, CATALOGUE), "0"),
    "a newer format": lambda r: _set_schema(_file(r, CATALOGUE), "999"),
    "a pointer of random bytes": lambda r: r.home.pointer.write_bytes(random.Random(2).randbytes(2_000)),
    "a pointer to nothing": lambda r: r.home.pointer.write_text("000077\n"),
    "a pointer out of the folder": lambda r: r.home.pointer.write_text("../../..\n"),
    "an empty pointer": lambda r: r.home.pointer.write_text(""),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_index_is_refused_by_readers_and_rebuilt_by_the_next_run(repository: Repository, damage: str) -> None:
    repository.write("good.py", GOOD)
    repository.index()
    before = repository.open().export()
    DAMAGE[damage](repository)
    refused = assay(repository.root, "symbols", "helper")
    assert refused.code == COULD_NOT_RUN
    assert refused.out == ""
    assert len(refused.err.splitlines()) == 1
    assert f"Rebuild it with: assay index --rebuild {repository.root}" in refused.err
    report = repository.index()
    assert report.mode == "full"
    assert report.reason
    assert report.reason in refused.err, "the reason is the one that readers gave"
    assert repository.open().export() == before


def test_starting_afresh_is_said_in_a_line(repository: Repository) -> None:
    repository.write("good.py", GOOD)
    repository.index()
    _cut(_file(repository, CATALOGUE), 0.5)
    done = _index(repository)
    assert (done.code, done.err) == (DONE, "")
    assert done.lines[0].startswith("rebuilt from scratch: ")
    assert "catalogue.db: the index is " in done.lines[0]
    assert done.lines[1].startswith("indexed 1 file")
    assert assay(repository.root, "symbols", "helper").code == DONE


@pytest.mark.parametrize("command", [["status"], ["impact", "helper"], ["tests", "good.py"], ["ingest-scip", "x.scip"]])
def test_every_reader_refuses_a_damaged_index(repository: Repository, command: list[str]) -> None:
    repository.write("good.py", GOOD)
    repository.write("x.scip", b"\x12\x02\x0a\x00")
    repository.index()
    _cut(_file(repository, CATALOGUE), 0.5)
    done = assay(repository.root, *command)
    assert done.code == COULD_NOT_RUN
    assert done.err.endswith(f"Rebuild it with: assay index --rebuild {repository.root}\n")


def test_damage_deep_inside_the_catalogue_is_noticed_by_the_next_run(repository: Repository) -> None:
    """The first pages are whole, but a catalogue that changed since it was written is checked whole."""
    repository.write("good.py", GOOD)
    _many(repository, 100)
    repository.index()
    before = repository.open().export()
    path = _file(repository, CATALOGUE)
    with sqlite3.connect(path) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'symbols_name'").fetchone()[0]
    _noise(path, (page - 1) * size, size)
    done = assay(repository.root, "symbols", "helper")
    assert done.code == COULD_NOT_RUN
    assert len(done.err.splitlines()) == 1
    assert done.err.endswith(f"Rebuild it with: assay index --rebuild {repository.root}\n")
    done = _index(repository)
    assert done.code == DONE
    assert done.lines[0].startswith("rebuilt from scratch: ")
    assert repository.open().export() == before


def test_lost_or_garbled_dependencies_make_the_next_update_start_afresh(repository: Repository) -> None:
    repository.write("good.py", GOOD)
    _many(repository, 20)
    for damage in (lambda path: path.unlink(), _noise, lambda path: _cut(path, 0.5)):
        repository.index()
        damage(_file(repository, "dependencies.npz"))
        repository.write("good.py", GOOD + f"\n\ndef added_{id(damage)}():\n    pass\n")
        report = repository.index()
        assert report.mode == "full"
        assert "the index is damaged" in report.reason
        assert f"good.py::added_{id(damage)}" in repository.symbols()


def test_an_index_of_another_version_of_assay_is_readable_stale_and_rebuilt(repository: Repository) -> None:
    repository.write("good.py", GOOD)
    repository.index()
    with sqlite3.connect(_file(repository, CATALOGUE)) as connection:
        connection.execute("UPDATE meta SET value = 'another' WHERE key = 'version'")
    status = assay(repository.root, "status")
    assert status.code == 1
    assert "indexed by another version of assay" in status.lines[-1]
    assert "run: assay index" in status.lines[-1]
    assert assay(repository.root, "symbols", "helper").code == DONE
    done = _index(repository)
    assert done.code == DONE
    assert done.lines[0] == "rebuilt from scratch: the index was made by another version of assay"
    assert assay(repository.root, "status").code == DONE


def test_a_damaged_parse_cache_costs_time_and_is_replaced(repository: Repository) -> None:
    repository.write("good.py", GOOD)
    _many(repository, 40)
    repository.index()
    before = repository.open().export()
    cache = repository.root / ".git/assay/parses.db"
    for damage in (
        lambda: cache.write_bytes(random.Random(3).randbytes(20_000)),
        lambda: _noise(cache, 4_096),
        lambda: _cut(cache, 0.5),
        lambda: _noise(cache, cache.stat().st_size - 3_000),
    ):
        for leftover in ("-wal", "-shm"):
            Path(f"{cache}{leftover}").unlink(missing_ok=True)
        damage()
        assert repository.index(rebuild=True).problems == {}
        assert repository.open().export() == before
        repository.index(rebuild=True)
    repository.write("good.py", GOOD + "\nX = 1\n")
    assert "1 changed" in _index(repository).out, "the cache is whole again, so an update need not start afresh"


def test_an_index_folder_that_is_a_file_is_refused(repository: Repository) -> None:
    repository.write("good.py", GOOD)
    repository.write(".assay", "")
    done = _index(repository)
    assert done.code == COULD_NOT_RUN
    assert done.err.startswith(f"assay: {repository.root}/.assay: not a folder. Remove it, or ")
