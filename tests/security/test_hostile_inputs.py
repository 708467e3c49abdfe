"""Hostile golden sets, runs, baselines, grids and SCIP files: bounded memory and time, one-line errors."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import assay as package
from assay.errors import AssayError
from assay.evaluate import golden
from assay.evaluate.golden import query_files
from assay.evaluate.golden.nodes import Unreadable, parse
from assay.evaluate.golden.topics import topics
from assay.evaluate.scores import read_baseline
from assay.evaluate.systems.external import RunFile
from assay.system import inputs
from assay.system.files import TooLarge
from assay.system.protobuf import packed
from assay.text.terms import nearest
from assay.text.tokens import LONGEST_TASK
from support.command import ENVIRONMENT, assay
from support.cpu import at_most
from support.repository import Repository
from support.waiting import PATIENCE

MEMORY = 1_000_000_000  # bytes of address space that a command may take here
COULD_NOT_RUN = 2
PAIR = b'{"id": "q%07d", "question": "where is the sluice", "expected_chunks": ["b"]}\n'


def _limited(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A command in a process that cannot take more memory than that, nor more time."""
    code = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY})); from assay.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=folder,
        env=ENVIRONMENT | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def _packed(path: Path, unit: bytes, size: int) -> Path:
    block = unit * max(1, 1_000_000 // len(unit))
    path.write_bytes(gzip.compress(block) * (size // len(block)))
    return path


BOMBS = {
    "lines of YAML": ("g.yaml.gz", b"queries:\n"),
    "one line of YAML": ("g.yaml.gz", b"a"),
    "blanks": ("g.yaml.gz", b" \n"),
    "one line of JSON": ("g.jsonl.gz", b'{"a":'),
    "wrong lines of JSON": ("g.jsonl.gz", b"x\n"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_gzipped_golden_set_that_unpacks_to_700_megabytes_is_refused_in_a_line(tmp_path: Path, name: str) -> None:
    file, unit = BOMBS[name]
    path = _packed(tmp_path / file, unit, 700_000_000)
    assert path.stat().st_size < 4_000_000
    done = _limited(tmp_path, "eval", "verify", "--golden", path, "--format", "json")
    assert done.returncode == COULD_NOT_RUN, done
    assert "Traceback" not in done.stderr
    assert str(path) in done.stderr.splitlines()[0]


def test_a_run_file_of_too_many_lines_is_refused_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _packed(tmp_path / "a.run.gz", b"1 Q0 a 1 0.5 t\n", 700_000_000)
    monkeypatch.setattr(inputs, "MOST_LINES", 100_000)
    with pytest.raises(AssayError, match="more than 100,000 lines, which is the most that is read"):
        RunFile(str(path))
    with pytest.raises(TooLarge):
        list(inputs.read_lines(path, 1_000))


def test_a_golden_set_of_too_many_queries_is_refused_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _packed(tmp_path / "g.jsonl.gz", PAIR % 1, 700_000_000)
    monkeypatch.setattr(query_files, "MOST_QUERIES", 1_000)
    with pytest.raises(AssayError, match="more than 1,000 queries"):
        golden.load(path)


def test_lines_are_read_one_at_a_time(tmp_path: Path) -> None:
    import tracemalloc

    path = _packed(tmp_path / "a.gz", b"a line of text\n", 3_000_000)
    tracemalloc.start()
    assert sum(1 for _ in inputs.read_lines(path)) > 190_000
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_a_gzipped_file_of_members_and_padding_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(
        gzip.compress(b"one\n") + gzip.compress(b"") + b"\0" * 512 + gzip.compress(b"two\r\nthree") + b"\0\0"
    )
    assert list(inputs.read_lines(path)) == [(1, "one"), (2, "two"), (3, "three")]
    assert inputs.read_text(path) == "one\ntwo\nthree"
    with pytest.raises(TooLarge):
        inputs.read_text(path, 5)


@pytest.mark.parametrize("cut", [5, 12, -4, -9])
def test_a_gzipped_file_that_is_cut_short_is_an_error(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"one\ntwo\nthree\n" * 10)[:cut])
    with pytest.raises(AssayError, match="broken gzip file"):
        inputs.read_text(path)


# -- things that are not files -----------------------------------------------------------------------------------------


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _folder(path: Path) -> None:
    path.mkdir()


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize("make", [_fifo, _zero, _folder, _loop], ids=lambda one: one.__name__.strip("_"))
@pytest.mark.parametrize("name", ["g.yaml", "g.jsonl", "g.jsonl.gz", "qrels.txt"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, make: Callable[[Path], None], name: str) -> None:
    make(tmp_path / name)
    for command in (("eval", "verify", "--golden", name), ("eval", "sweep", "--grid", name, "--golden", name)):
        done = _limited(tmp_path, *command)
        assert done.returncode == COULD_NOT_RUN, done
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("make", [_fifo, _zero, _folder], ids=lambda one: one.__name__.strip("_"))
def test_runs_baselines_items_and_scip_files_are_regular_files(
    tmp_path: Path, repository: Repository, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "input"
    make(path)
    with pytest.raises(AssayError):
        RunFile(str(path))
    with pytest.raises(AssayError):
        read_baseline(path)
    queries = tmp_path / "g.jsonl"
    queries.write_bytes(PAIR % 1)
    assert _limited(tmp_path, "eval", "verify", "--golden", queries, "--items", path).returncode == COULD_NOT_RUN
    repository.write("a.py", "x = 1\n")
    repository.index()
    done = _limited(repository.root, "ingest-scip", path)
    assert (done.returncode, len(done.stderr.splitlines())) == (COULD_NOT_RUN, 1), done


# -- YAML and JSON -----------------------------------------------------------------------------------------------------

LAUGHS = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
YAML: dict[str, Callable[[], str]] = {  # made when used: each fork of a test process copies its memory
    "billion laughs": lambda: "a0: &a0 [x, x]\n" + LAUGHS,
    "deep": lambda: "[" * 100_000,
    "deep blocks": lambda: "".join("  " * n + "a:\n" for n in range(5_000)),
    "dashes": lambda: "- " * 100_000,
    "questions": lambda: "? " * 100_000,
    "many values": lambda: "[" + "a," * 1_100_000 + "]",
    "anchors": lambda: "".join(f"- &a{n} x\n" for n in range(1_100_000)),
    "NUL": lambda: "queries:\n  - id: a\0b\n",
    "half a character": lambda: "queries: \udcff",
    "tag": lambda: "!!python/object/apply:os.system ['true']",
    "open quote": lambda: '"' + "a " * 1_000_000,
    "one key": lambda: "a" * 2_000_000 + ": 1",
    "integer": lambda: "- " + "9" * 1_000_000,
}


@pytest.mark.parametrize("name", [name for name in YAML if name != "half a character"])
def test_hostile_yaml_is_refused_in_a_line_or_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / "g.yaml"
    path.write_text("queries:\n" + YAML[name]() if name == "integer" else YAML[name]())
    done = _limited(tmp_path, "eval", "verify", "--golden", path, "--format", "json")
    assert done.returncode == COULD_NOT_RUN, done
    assert "Traceback" not in done.stderr
    done = _limited(tmp_path, "eval", "sweep", "--grid", path, "--golden", path)
    assert done.returncode == COULD_NOT_RUN, done
    assert "Traceback" not in done.stderr


def test_yaml_of_too_many_values_says_what_to_use_instead() -> None:
    with pytest.raises(Unreadable, match="JSON lines"):
        parse(YAML["many values"]())


JSON: dict[str, Callable[[], bytes]] = {  # made when used: each fork of a test process copies its memory
    "deep": lambda: b"[" * 1_000_000,
    "deep objects": lambda: b'{"a":' * 500_000,
    "many values": lambda: b"[" + b"0," * 7_000_000 + b"0]",
    "integer": lambda: b'{"assay_baseline": ' + b"9" * 100_000 + b"}",
    "not UTF-8": lambda: b'{"a": "\xff"}',
    "NUL": lambda: b'{"a": "\0"}',
    "number": lambda: b'{"assay_baseline": 1e999}',
    "nothing": lambda: b"",
    "null": lambda: b"null",
}


@pytest.mark.parametrize("name", JSON)
def test_hostile_json_is_refused_in_a_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(JSON[name]())
    with pytest.raises(AssayError) as refused:
        read_baseline(path)
    assert "\n" not in str(refused.value)
    lines = tmp_path / "a.jsonl"
    lines.write_bytes(JSON[name]())
    done = _limited(tmp_path, "eval", "verify", "--golden", lines)
    assert done.returncode == COULD_NOT_RUN, done
    assert "Traceback" not in done.stderr
    queries = tmp_path / "g.jsonl"
    queries.write_bytes(PAIR % 1)
    done = _limited(tmp_path, "eval", "verify", "--golden", queries, "--items", path)
    assert "Traceback" not in done.stderr


def test_reading_ends_after_a_thousand_problems(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    path.write_bytes(b"x\n" * 2_000_000)
    with at_most(10), pytest.raises(AssayError, match="1000 problems"):
        golden.load(path)


@pytest.mark.parametrize(
    "unit",
    ["<top>", "<topic>", "<top", "<top><num", "<top><num>1</top>\n", ".I 1\n.W\n", "a\tb\n", "\n", "<top>\n<title>"],
)
def test_topics_are_read_in_linear_time(unit: str) -> None:
    text = ("<top>" if unit[0] == "<" else "") + unit * (600_000 // len(unit))
    before = time.process_time()
    try:
        for _ in topics(text):
            pass
    except (Unreadable, StopIteration):
        pass
    assert time.process_time() - before < 5, "quadratic time would take minutes"


# -- SCIP --------------------------------------------------------------------------------------------------------------


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _occurrence(line: int, symbol: bytes, roles: int) -> bytes:
    return _field(2, _field(1, _varint(line) + b"\0\0") + _field(2, symbol) + _varint(3 << 3) + _varint(roles))


SCIP = {
    "endless number": b"\xff" * 1_000_000,
    "length beyond the end": b"\x12" + _varint(2**62),
    "nested": _field(2, _field(2, _field(2, b"\x12\x7f"))),
    "line beyond all": _field(2, _field(1, b"a.py") + _occurrence(2**62, b"x y z a/f().", 1)),
    "roles beyond all": _field(2, _field(1, b"a.py") + _occurrence(0, b"x y z a/f().", 2**62)),
    "range of a million numbers": _field(
        2, _field(1, b"a.py") + _field(2, _field(1, b"\0" * 1_000_000) + _field(2, b"x"))
    ),
    "name that is no text": _field(2, _field(1, b"\xff\xfe")),
    "nothing": b"",
    "text": b"hello, world\n" * 1000,
}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    made = Repository(tmp_path_factory.mktemp("scip") / "repository")
    made.root.mkdir()
    made.write("a.py", "def f():\n    return 1\n\n\ndef g():\n    return f()\n")
    made.index()
    return made


@pytest.mark.parametrize("name", SCIP)
def test_a_hostile_scip_file_is_refused_in_a_line_or_merged(indexed: Repository, tmp_path: Path, name: str) -> None:
    path = tmp_path / "index.scip"
    path.write_bytes(SCIP[name])
    done = assay(indexed.root, "ingest-scip", path)
    assert len(done.err.splitlines()) == (done.code != 0)


def test_a_scip_file_of_many_long_symbols_takes_linear_time(indexed: Repository, tmp_path: Path) -> None:
    symbol = b"x y z " + b"a" * 1_900 + b"("
    path = tmp_path / "index.scip"
    path.write_bytes(
        _field(2, _field(1, b"a.py") + _occurrence(0, symbol, 1) * 5_000 + _occurrence(5, symbol, 0) * 5_000)
    )
    with at_most(20):
        assert assay(indexed.root, "ingest-scip", path).code == 0


def test_only_the_first_numbers_of_a_range_are_read() -> None:
    assert packed(b"\x01\x02\x03" * 1_000_000, 4) == [1, 2, 3, 1]
    assert packed(7, 4) == [7]


# -- tasks -------------------------------------------------------------------------------------------------------------

SIZE = LONGEST_TASK
TASKS = {
    "ideographs": "中" * SIZE,
    "different ideographs": "".join(chr(0x4E00 + n) for n in range(SIZE)),
    "one word": "a" * SIZE,
    "capitals": "aA" * (SIZE // 2),
    "different words": " ".join(f"w{n}" for n in range(SIZE // 5)),
    "punctuation": "!?.,;:()[]{}" * (SIZE // 12),
    "emoji": "\U0001f600" * SIZE,
    "combining marks": "e\u0301" * (SIZE // 2),
    "only marks": "\u0301" * SIZE,
    "names": " ".join(f"`name_{n}`" for n in range(6_000)),
    "frames": "".join(f'  File "src/a{n}.py", line {n}, in f{n}\n' for n in range(600)),
    "half frames": "\n".join("at " + "x" * 290 for _ in range(68)),
    "paths": "a/" * (SIZE // 2),
    "separators": "a::" * (SIZE // 3),
    "brackets": "(" * SIZE,
    "quotes": "'\" " * (SIZE // 3),
    "digits": "1" * SIZE,
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[package.Repository]:
    """A repository of 6,000 names, so that comparing with all of them costs something."""
    made = Repository(tmp_path_factory.mktemp("library") / "repository")
    made.root.mkdir()
    for number in range(20):
        lines = [f"def open_{number}_sluice_{n}_gate():\n    return {n}\n" for n in range(300)]
        made.write(f"src/part{number}.py", "\n\n".join(lines))
    made.write("docs/guide.md", "# Guide\n\nThe sluice is closed by hand.\n")
    made.index()
    with package.open(made.root) as repo:
        repo.search("warm")
        yield repo


@pytest.mark.filterwarnings("ignore:the (task|query) has")
@pytest.mark.parametrize("name", TASKS)
def test_no_task_takes_long(library: package.Repository, name: str) -> None:
    task = TASKS[name]
    asked: dict[str, Callable[[], object]] = {
        "context": lambda: library.context(task),
        "why": lambda: library.why(task, "open_0_sluice_0_gate"),
        "search": lambda: library.search(task),
        "ask": lambda: library.ask(task),
        "symbol": lambda: library.symbol(task),
        "symbols": lambda: library.symbols(task),
        "impact": lambda: library.impact(task),
        "files": lambda: library.context_of([task]),
    }
    for what, ask in asked.items():
        length = 0
        with at_most(4):  # a second or two; what grew with the square of the length took 10 to 60
            try:
                ask()
            except AssayError as error:
                length = len(str(error))
        assert length < 3_000, what


def test_the_nearest_names_are_as_good_as_ever() -> None:
    names = ["total_price", "Cart", "apply_discounts", "send_invoice", "x" * 500]
    assert nearest("totl_prise", names, 1) == ["total_price"]
    assert nearest("discount_apply", names, 1) == ["apply_discounts"]
    assert nearest("zzzz", names) == []
    assert nearest("total_price" * 100, names) == []


def test_what_is_not_read_of_a_long_task_is_said_in_a_line(library: package.Repository) -> None:
    done = assay(library.root, "context", "sluice " * 15_000)
    assert done.err == "assay: warning: the task has 105,000 characters; only the first 20,000 are read\n"
    done = assay(library.root, "search", "sluice " * 2_000)
    assert done.err == "assay: warning: the query has 14,000 characters; only the first 2,000 are read\n"


def test_a_sweep_report_of_a_stranger_is_left_out(tmp_path: Path) -> None:
    from assay.serve.web.bench import Bench

    folder = tmp_path / "sweeps"
    for name, content in (("deep", b"[" * 500_000), ("wide", b"[" + b"0," * 7_000_000 + b"0]"), ("text", b"\xff")):
        (folder / name).mkdir(parents=True)
        (folder / name / "comparison.json").write_bytes(content)
    (folder / "zero").mkdir()
    (folder / "zero" / "comparison.json").symlink_to("/dev/zero")
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "pipe" / "comparison.json")
    assert Bench(None, tmp_path / "runs.db").sweeps() == []  # type: ignore[arg-type]


def test_figures_of_a_tuning_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    from assay.evaluate.tune import FigureCache

    (tmp_path / "state.jsonl").write_bytes(b"[" * 200_000 + b'\n["a", {"q": 1}]\n')
    assert FigureCache(tmp_path, "state").known == {"a": {"q": 1.0}}
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(AssayError, match="delete the file"):
        FigureCache(tmp_path, "pipe")
