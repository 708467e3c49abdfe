"""One bad file costs that file: hangs, crashes and memory growth are reported, and the others are indexed."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

import assay.index.ignore as ignore
import assay.index.parse as parse
import assay.system.pool as pool
from assay.core.progress import Report
from assay.index.documents import docx
from assay.index.documents.formats import FORMATS, format_of
from assay.index.documents.opened import Unreadable
from assay.index.extract import extract
from assay.index.facts import Extracted
from assay.index.imports.javascript import _json
from assay.index.parse import ParseCache, outline
from assay.index.scan import scan
from assay.languages import Language
from assay.serve.watch.child import Work
from support.command import ENVIRONMENT, assay
from support.processes import children
from support.repository import Repository
from support.waiting import PATIENCE, until

# tree-sitter-kotlin never comes back from this (336 bytes, found by mutating a fixture)
HANG = (
    b'  {\nion("full")\nuant())\n   \x8f}\n}\nm = 0L\n or (line in lines) {\n            sum += line.subtotal()\n        }\n'
    b"        return sum\n    }\n}\n\nfun Line.subtotal(): Long = item.price * quantity\n\nobject Registry {\n"
    b"    private val carts = mutableMapOf<String, Cart>()\n\n    fun open(id: String): Cart = carts.getOrPut(id) { Cart() }\n}\n\nfun main() {\n"
)
GOOD = "def kept():\n    return 1\n"
SLOW = "takes too long to parse (more than 0.3 s)"
CRASH = "crashes the parser or needs too much memory"


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits so short that a test need not wait for them; workers are forked and inherit them."""
    monkeypatch.setattr(parse, "SECONDS", 0.3)


def _parse(repository: Repository, *paths: str) -> dict[str, parse.Parsed]:
    found = list(parse.parse_files(repository.root, paths, ParseCache(None), lambda _: None))
    assert [parsed.path for parsed in found] == list(paths)
    return {parsed.path: parsed for parsed in found}


def _doing(monkeypatch: pytest.MonkeyPatch, harm: Callable[[], object]) -> None:
    """Make files that say `harm` do it to whoever parses them."""

    def harmful(source: bytes, language: Language, flags: tuple[str, ...] = ()) -> Extracted:
        if b"harm" in source:
            harm()
        return extract(source, language, flags)

    monkeypatch.setattr(parse, "extract", harmful)


# time


@pytest.mark.usefixtures("hasty")
def test_a_file_that_hangs_its_parser_is_reported_and_the_others_are_indexed(repository: Repository) -> None:
    repository.write("hang.kt", HANG)
    repository.write("good.py", GOOD)
    report = repository.index()
    assert report.problems == {"hang.kt": SLOW}
    assert repository.symbols() == {"good.py", "good.py::kept"}
    assert repository.index().mode == "fresh", "it is not tried again while it stays as it is"


@pytest.mark.usefixtures("hasty")
def test_an_edit_that_hangs_the_parser_costs_that_file_in_an_update(repository: Repository) -> None:
    for number in range(30):
        repository.write(f"m{number}.py", f"def f{number}(): pass\n")
    repository.write("later.kt", "fun first() {}\n")
    repository.index()
    repository.write("later.kt", HANG)
    repository.write("m1.py", "def edited(): pass\n")
    report = repository.index()
    assert (report.mode, report.problems) == ("update", {"later.kt": SLOW})
    assert {"m1.py::edited", "m2.py::f2"} <= repository.symbols()
    assert not any(name.startswith("later.kt") for name in repository.symbols())
    repository.write("later.kt", "fun second() {}\n")
    assert repository.index().problems == {}
    assert "later.kt::second" in repository.symbols()


def test_the_command_ends_with_a_line_about_the_file_that_hangs(repository: Repository) -> None:
    repository.write("hang.kt", HANG)
    repository.write("good.py", GOOD)
    done = assay(repository.root, "index")
    assert done.code == 1
    assert done.err == "problem: hang.kt: takes too long to parse (more than 2 s)\n"
    assert assay(repository.root, "symbols", "kept").code == 0


def test_a_server_that_keeps_an_index_fresh_is_not_held_up_by_it(repository: Repository) -> None:
    repository.write("hang.kt", HANG)
    repository.write("good.py", GOOD)
    *_, report = Work("index", repository.root, repository.home).run()
    assert isinstance(report, Report)
    assert set(report.problems) == {"hang.kt"}
    assert report.files == 1


@pytest.mark.usefixtures("hasty")
def test_old_versions_of_files_are_parsed_with_the_same_limit(repository: Repository) -> None:
    with parse.TextParser() as parser:
        assert outline(parser, "old.kt", HANG.decode("latin-1")) == []
        assert [fact.symbol for fact, _ in outline(parser, "old.py", GOOD)] == ["kept"]


def test_waiting_without_working_is_limited_by_the_clock(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse, "SECONDS", 0.1)
    _doing(monkeypatch, lambda: time.sleep(60))
    repository.write("harm.py", "harm = 1\n")
    assert _parse(repository, "harm.py")["harm.py"].problem.startswith("takes too long")


def test_where_no_timer_ends_a_worker_its_owner_kills_it(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse, "SECONDS", 0.1)
    monkeypatch.setattr(pool, "_TIMERS", {})
    monkeypatch.setattr(pool, "_GRACE", 0.2)
    _doing(monkeypatch, lambda: time.sleep(60))
    repository.write("harm.py", "harm = 1\n")
    repository.write("good.py", GOOD)
    found = _parse(repository, "harm.py", "good.py")
    assert found["harm.py"].problem.startswith("takes too long")
    assert found["good.py"].extracted is not None


# crashes


@pytest.mark.parametrize(
    "harm",
    [os.abort, lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: ctypes.string_at(0), lambda: os._exit(3)],
    ids=["abort", "kill", "segmentation fault", "exit"],
)
def test_a_worker_that_dies_costs_the_file_under_way(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, harm: Callable[[], object]
) -> None:
    _doing(monkeypatch, harm)
    names = [f"m{number}.py" for number in range(12)]
    for number, name in enumerate(names):
        repository.write(name, "harm = 1\n" if number in (0, 5, 11) else f"x = {number}\n")
    found = _parse(repository, *names)
    assert {name: parsed.problem for name, parsed in found.items() if parsed.problem} == dict.fromkeys(
        ["m0.py", "m5.py", "m11.py"], CRASH
    )
    assert sum(parsed.extracted is not None for parsed in found.values()) == 9


def test_an_error_in_an_extractor_costs_that_file(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    _doing(monkeypatch, lambda: dict[int, int]()[11])
    repository.write("harm.py", "harm = 1\n")
    repository.write("good.py", GOOD)
    assert repository.index().problems == {"harm.py": "cannot be parsed: KeyError: 11"}
    assert "good.py::kept" in repository.symbols()


def test_a_crash_says_nothing_on_the_terminal(repository: Repository) -> None:
    repository.write("harm.py", "harm = 1\n")
    code = (
        "import os, sys\nimport assay.index.parse as parse\nfrom pathlib import Path\nfrom assay.index.parse import ParseCache\n"
        "def die(source, language, flags):\n    os.write(2, b'malloc failed')\n    print('dying', flush=True)\n    os.abort()\n"
        "parse.extract = die\n"
        "print([p.problem for p in parse.parse_files(Path('.'), ['harm.py'], ParseCache(None), lambda _: None)])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=repository.root,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.stdout, done.stderr) == (f"{[CRASH]}\n", "")


# memory


def _fill() -> None:
    held = []
    while True:
        held.append(bytearray(10_000_000))


def test_a_file_that_needs_too_much_memory_is_reported(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "WORKER_BYTES", 100_000_000)
    _doing(monkeypatch, _fill)
    repository.write("harm.py", "harm = 1\n")
    repository.write("good.py", GOOD)
    assert repository.index().problems == {"harm.py": "needs too much memory to parse (more than 100 MB)"}
    assert "good.py::kept" in repository.symbols()


def test_memory_that_earlier_files_left_behind_is_not_counted_against_a_file(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "WORKER_BYTES", 100_000_000)
    held: list[bytearray] = []
    _doing(monkeypatch, lambda: held.append(bytearray(60_000_000)))
    names = [f"m{number}.py" for number in range(4)]
    for number, name in enumerate(names):
        repository.write(name, f"harm = {number}\n")
    assert all(parsed.extracted is not None for parsed in _parse(repository, *names).values())


# processes


def _descriptors() -> set[tuple[str, str]]:
    """Return the open descriptors, each with what it leads to; those of garbage are closed first."""
    gc.collect()
    found = set[tuple[str, str]]()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of reading the folder
            found.add((descriptor.name, os.readlink(descriptor)))
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_nothing_is_left_behind_when_parsing_ends_early_or_by_an_error(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    _doing(monkeypatch, lambda: time.sleep(60))
    names = [f"m{number}.py" for number in range(20)]
    for number, name in enumerate(names):
        repository.write(name, f"x = {number}\n" if number < 10 else "harm = 1\n")
    before, others = _descriptors(), set(children(os.getpid()))
    found = parse.parse_files(repository.root, names, ParseCache(None), lambda _: None)
    next(found)
    assert set(children(os.getpid())) > others
    assert isinstance(found, Generator)
    found.close()
    assert set(children(os.getpid())) == others

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(parse.parse_files(repository.root, names, ParseCache(None), interrupt))
    assert set(children(os.getpid())) == others
    assert _descriptors() <= before


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_worker_that_hangs_ends_although_its_owner_was_killed(repository: Repository) -> None:
    repository.write("hang.kt", HANG)
    code = "import assay.index.parse as parse\nfrom assay.cli import main\nparse.SECONDS = 0.5\nmain()\n"
    process = subprocess.Popen([sys.executable, "-c", code, "index"], cwd=repository.root, env=ENVIRONMENT)
    workers: list[int] = []
    while process.poll() is None and not workers:
        workers = [pid for pid in children(process.pid) if _command(pid) == _command(process.pid)]
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert workers
    until(lambda: not any(_command(pid) for pid in workers))


def _command(pid: int) -> bytes:
    """The command line of a process; empty when it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_results_larger_than_a_pipe_come_through_both_ways(repository: Repository) -> None:
    names = [f"m{number}.py" for number in range(4)]
    for number, name in enumerate(names):
        repository.write(name, "".join(f"def f{number}_{line}(): return g{line}()\n" for line in range(2_500)))
    assert all(parsed.extracted is not None for parsed in _parse(repository, *names).values())


# documents

_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def _docx(text: str | bytes, method: int = zipfile.ZIP_DEFLATED, times: int = 1) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for _ in range(times):
            archive.writestr("word/document.xml", text)
    return target.getvalue()


def _body(inside: str) -> str:
    return f"<w:document {_WORD}><w:body>{inside}</w:body></w:document>"


_ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>'
_TABLES = "<w:tbl><w:tr><w:tc>" * 800 + "<w:p><w:r><w:t>deep</w:t></w:r></w:p>" + "</w:tc></w:tr></w:tbl>" * 800


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: _docx(_body(_TABLES)), "elements nested more than"),
        (lambda: _docx(_body('<a b="c"/>' * 11_000)), "large DOCX (more than 10,000 elements)"),
        (lambda: _docx(f"<?xml version='1.0'?><!--{' ' * 2_000}-->{_ENTITIES}"), "declares entities"),
        (lambda: _docx(('<?xml version="1.0" encoding="UTF-16"?>' + _ENTITIES).encode("utf-16")), "declares entities"),
        (lambda: _docx(_body("x"), zipfile.ZIP_LZMA), "unsupported compression"),
        (lambda: _docx(_body("x"), times=2), "occurs twice"),
        (lambda: b"PK\x01\x02" * 10_001, "more than 10,000 parts"),
    ],
    ids=["nested tables", "many elements", "late doctype", "UTF-16", "lzma", "two of a name", "many parts"],
)
def test_a_docx_made_to_fill_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], bytes], reason: str
) -> None:
    monkeypatch.setattr(docx, "_MAX_ELEMENTS", 10_000)
    started = time.process_time()
    with pytest.raises(Unreadable) as error:
        FORMATS["docx"].open(make())
    assert reason in str(error.value)
    assert time.process_time() - started < 10


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from Linux's /proc")
def test_indexing_bombs_stays_below_a_gigabyte(repository: Repository) -> None:
    repository.write("tables.docx", _docx(_body(_TABLES)))
    repository.write("elements.docx", _docx(_body('<a b="c"/>' * 1_000_000)))
    repository.write("cells.ipynb", b'{"cells":[' + b",".join([b"[[]]"] * 6_000_000) + b"]}")
    repository.write("good.py", GOOD)
    # ru_maxrss of the process itself would include the memory of this test process: a program inherits it from what started it
    code = (
        "import pathlib, resource, runpy, sys\nsys.argv[1:] = ['index']\n"
        "try:\n    runpy.run_module('assay', run_name='__main__')\n"
        "finally:\n"
        "    peak = pathlib.Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]\n"
        "    print(max(int(peak), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=repository.root,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert int(done.stdout.splitlines()[-1]) < 1_000_000, "kilobytes"
    assert "good.py::kept" in repository.symbols()


def test_a_table_inside_a_cell_is_text_of_that_cell_and_said_once() -> None:
    inner = "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>in</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    row = f"<w:tr><w:tc><w:p><w:r><w:t>out</w:t></w:r></w:p>{inner}</w:tc><w:tc><w:p/></w:tc></w:tr>"
    assert FORMATS["docx"].open(_docx(_body(f"<w:tbl>{row}</w:tbl>"))).lines == ["out in | ", ""]


def test_preformatted_links_are_left_out_like_other_menus() -> None:
    menu = "".join(f"<pre><a href=x>Part {number}</a></pre>" for number in range(12))
    assert FORMATS["html"].open(f"<p>Text.</p>{menu}".encode()).lines[0] == "Text."


_RUNS = [
    "[",
    "![",
    "[a](",
    "*",
    "`",
    "|",
    "#",
    " ",
    "\t",
    "<",
    "<a ",
    "<a b='",
    "&",
    "&#",
    "> ",
    ":",
    "-",
    "=",
    "{#",
    "a.",
    "a/",
]
_RUNS += [":a:`", ". ", "a   ", "/*", '"\\"', "中", "aB", "+", "_", "\\", "..", "::", "~"]
_RUNS += [
    "<td>",
    "<tr><td>a",
    "<dt>",
    "<dd>",
    "<template>",
    "{{",
    "<script type=text/html>",
    "<% ",
    "\\f[",
    "\\h'",
    "\\*[",
    '"',
]
_RUNS += [
    "\n.de x",
    "\n.if n \\{\\",
    "\n.TP",
    "\n.RS",
    "\n.Bl",
    "\n.It Op Fl a",
    "\n.TS",
    "\nT{",
    "\nexport const a = {",
    "\nimport {",
    "<A b={",
]
_FRAMES = ["{}", "# a{}x", "---\ntitle: a{}x\n---\n", "{}!", "a{}\n====\n"]


@pytest.mark.parametrize("ending", ["md", "mdx", "rst", "adoc", "txt", "html", "man"])
def test_time_grows_with_the_length_of_a_document_whatever_it_repeats(ending: str) -> None:
    form = format_of(f"x.{ending}")
    assert form is not None
    for run in _RUNS:
        for frame in _FRAMES:
            data = frame.format(run * (100_000 // len(run))).encode()
            started = time.process_time()
            form.open(data)
            assert time.process_time() - started < 3, (run, frame)


# ignore files and manifests


def test_patterns_of_ignore_files_take_no_time_whatever_they_repeat(repository: Repository) -> None:
    repository.write(
        ".assayignore", "a*" * 12 + "b\n" + "**/a/" * 8 + "b\n" + "*a*a*a*a*a*a*a*a*c\nkept/**/no/**/x*x*.py\n"
    )
    for number in range(20):
        repository.write("a" * 230 + f"{number}.py", GOOD)
    repository.write("a/" * 60 + "m.py", GOOD)
    repository.write("kept/1/no/2/axbx.py", GOOD)
    repository.write("kept/1/no/2/xaxb.py", GOOD)
    started = time.process_time()
    found = scan(repository.root)
    assert time.process_time() - started < 2
    assert len(found.files) == 22
    assert "kept/1/no/2/xaxb.py" not in found.files


@pytest.mark.parametrize("pattern", ["!", "a\\", "[z", "[[:letter:]]", "[/]"])
@pytest.mark.parametrize("name", [".assayignore", ".gitignore"])
def test_a_line_that_is_no_pattern_costs_that_line(tmp_path: Path, name: str, pattern: str) -> None:
    (tmp_path / name).write_text(f"{pattern}\nleft.py\n")
    for path in ("left.py", "kept.py"):
        (tmp_path / path).write_text(GOOD)
    found = scan(tmp_path)
    assert set(found.files) == {"kept.py"}
    assert found.problems == {name: "line 1 is not a valid pattern and is ignored"}


UNUSABLE = {
    "lines": ("left.py\n" * 100_001, "100,001 lines, and at most 100,000 are read"),
    "size": ("left.py\n" + "#" * 4_000_000, "larger than 4 MB"),
    "a long line": ("left.py\na" + "b**/" * 5_000, "line 2 has more than 4,096 characters"),
    "stars after text": (
        "left.py\na" + "b**/" * 1_000,
        "a line has more than 2 times two stars between text and a slash",
    ),
    "segments": (f"{'/a' * 1_001}\n", "more than 1,000 different path segments up to line 1"),
    "wildcards": (
        "".join(f"*[{chr(97 + n % 26)}]{'?' * (n // 26)}\n" for n in range(6_000)),
        "more than 5,000 patterns that differ only in wildcards up to line 5,002",
    ),
}


@pytest.mark.parametrize("limit", UNUSABLE)
@pytest.mark.parametrize("name", [".assayignore", "sub/.gitignore"])
def test_an_ignore_file_above_a_limit_hides_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, limit: str
) -> None:
    text, reason = UNUSABLE[limit]
    if limit == "segments":
        monkeypatch.setattr(ignore, "_MAX_NODES", 1_000)
    for path in ("kept.py", "sub/left.py", "sub/deep/kept.py"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(GOOD)
    (tmp_path / name).write_text(text)
    found = scan(tmp_path)
    assert set(found.files) == ({"kept.py"} if "/" in name else set())
    assert found.problems == {name: f"{reason}, so nothing in its folder is indexed; shorten it, or remove it"}
    assert found.rules == [name]


def test_an_ignore_file_is_not_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text(GOOD)
    (tmp_path / ".gitignore").symlink_to("/dev/zero")
    assert set(scan(tmp_path).files) == {"kept.py"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_ignore_file_hides_its_folder(tmp_path: Path) -> None:
    (tmp_path / "left.py").write_text(GOOD)
    (tmp_path / ".assayignore").touch(mode=0o000)
    found = scan(tmp_path)
    assert not found.files
    assert found.problems[".assayignore"].startswith("cannot be read, so nothing in its folder is indexed")


@pytest.mark.parametrize("name", [".assayignore", ".gitignore"])
def test_twenty_thousand_lines_are_no_problem(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("".join(f"src/generated/module_{n}/**/build-*.log.py\n" for n in range(20_000)))
    for path in ("src/generated/module_19999/a/b/build-1.log.py", "src/generated/module_7/build.py"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(GOOD)
    assert set(scan(tmp_path).files) == {"src/generated/module_7/build.py"}


def test_many_alike_patterns_take_no_time(tmp_path: Path) -> None:
    (tmp_path / ".assayignore").write_text("".join(f"*a{n}*b*[{n % 10}]*.py\n**/d{n}/*a*\n" for n in range(10_000)))
    for number in range(500):
        (tmp_path / f"a{number}{'ab' * 100}.py").touch()
    started = time.process_time()
    found = scan(tmp_path)
    assert time.process_time() - started < 20  # 0.7 s; 500 names against each of 20,000 patterns are minutes
    assert not found.problems


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, '"' + '\\"' * 200_000, "/*" * 200_000, "," + " " * 400_000]
)
def test_a_manifest_that_is_no_json_counts_as_empty(text: str) -> None:
    started = time.process_time()
    assert _json(text) == {}
    assert time.process_time() - started < 2


def test_a_nested_manifest_does_not_stop_the_index(repository: Repository) -> None:
    repository.write("package.json", "[" * 100_000)
    repository.write("tsconfig.json", '{"compilerOptions":' * 50_000)
    repository.write("a.ts", "import { b } from 'b';\nexport function kept() { return b(); }\n")
    assert repository.index().problems == {}
    assert "a.ts::kept" in repository.symbols()
