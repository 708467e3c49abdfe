"""Evaluation runs: determinism, systems that fail or die, killed and resumed runs, and the run store."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.core.golden import Hit
from assay.errors import AssayError
from assay.evaluate.run_file import NoSuchRun
from assay.evaluate.runs import RunStore
from support.command import COMMAND, ENVIRONMENT
from support.runs import GOLDEN, run_info
from support.waiting import PATIENCE
from support.workbench import COULD_NOT_RUN, DONE, QUALITY, Workbench, codes, messages, question, timeless

MAIN = ("P@10", "R@10", "RR@10", "nDCG@10")


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path / "bench")


# --- determinism


STEADY = f"cmd:{sys.executable} retriever.py {{query}} {{k}}"


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """A deterministic retriever as a command, over 16 questions of two tiers, one of them to be refused."""
    bench = Workbench(tmp_path_factory.mktemp("steady"))
    bench.golden(
        [question(n) | {"difficulty": ("easy", "hard")[n % 2], "category": "c"} for n in range(15)]
        + [{"id": "no", "question": "nothing 99", "expected_chunks": []}]
    )
    code = "n = int(query.split()[-1]); print(json.dumps([] if n == 99 else [f'd{n + i - n % 4}' for i in range(6)]))"
    bench.script(code)
    bench.run(STEADY)
    return bench


def test_a_run_twice_gives_the_same_json_but_for_times(steady: Workbench) -> None:
    """`run_id`, `created`, `latency` and each query's `latency_ms` are times; nothing else may differ."""
    once, again, parallel = (steady.run(STEADY, *more) for more in ([], [], ["--jobs", "4"]))
    assert timeless(once) == timeless(again) == timeless(parallel)
    assert once["run_id"] != again["run_id"]
    differing = {name for name in once if once[name] != again[name]}
    assert differing <= {"run_id", "created", "latency", "queries"}
    queries = zip(once["queries"], again["queries"], strict=True)
    assert {name for a, b in queries for name in a if a[name] != b[name]} <= {"latency_ms"}


def test_a_run_has_what_scripts_rely_on(steady: Workbench) -> None:
    told = steady.json("show")
    assert {"run_id", "metrics", "tiers", "categories", "queries"} <= told.keys()
    assert set(MAIN) <= told["metrics"].keys()
    assert list(told["tiers"]) == ["easy", "hard"]
    assert told["metrics"]["refusal_correctness"] == 1.0
    assert told["counts"] == {
        "queries": 16, "judged": 15, "failed": 0, "empty": 1, "to_refuse": 1, "with_duplicates": 0,
    }  # fmt: skip
    # the mean of the tiers, weighted, is the whole
    weighted = sum(t["metrics"]["RR@10"] * t["count"] for t in told["tiers"].values()) / 15
    assert weighted == pytest.approx(told["metrics"]["RR@10"], abs=1e-4)


def test_what_is_shown_again_is_what_was_printed_then_and_saved(steady: Workbench) -> None:
    printed = steady.run(STEADY)
    saved = steady.folder / ".assay" / "runs" / printed["run_id"] / "results.json"
    assert json.loads(saved.read_text()) == printed
    assert steady.json("show", printed["run_id"]) == printed


# --- systems that fail


def test_errors_timeouts_and_empty_results_score_0_and_are_counted(bench: Workbench) -> None:
    bench.questions(6)
    spec = bench.script(
        "n = query.split()[-1]\n"
        "if n == '1': sys.exit('broken on purpose')\n"
        "if n == '2': time.sleep(30)\n"
        "if n == '3': print('[]'); sys.exit()\n"
        'if n == \'4\': print(\'[{"id": "d4", "score": NaN}]\'); sys.exit()\n'
        "print(json.dumps(['d' + n]))"
    )
    told = bench.run(spec, "--timeout", "1", "--jobs", "2", code=QUALITY)
    rows = {row["id"]: row for row in told["queries"]}
    assert told["counts"]["failed"] == 3
    assert told["counts"]["empty"] == 4
    assert [rows[f"q{n}"]["metrics"]["RR@10"] for n in range(6)] == [1, 0, 0, 0, 0, 1]
    assert told["metrics"]["RR@10"] == pytest.approx(2 / 6, abs=1e-4)
    assert told["metrics"]["failure_rate"] == 0.5
    assert "broken on purpose" in rows["q1"]["error"]
    assert "no answer within 1 s" in rows["q2"]["error"]
    assert rows["q3"]["error"] == ""
    assert "not a finite number" in rows["q4"]["error"] or "score" in rows["q4"]["error"]
    assert "the system failed on 3 of 6 queries; they score 0" in messages(told)
    assert told["status"] == "failures"
    shown = bench.eval("show")
    assert "failed" in shown.out
    assert re.search(r"tier +error\n", shown.out)
    assert re.search(r"question number 1 .* failed .*exit code 1: broken on purpose\n", shown.out)


def test_a_system_that_fails_on_the_first_queries_is_stopped_without_a_table(bench: Workbench) -> None:
    bench.questions(12)
    spec = bench.script("open(here + '/asked', 'a').write('.'); sys.exit('no')")
    done = bench.eval("run", "--golden", "golden.jsonl", "--system", spec)
    assert done.code == COULD_NOT_RUN
    assert "stopped: the system failed on each of the first 5 queries; the last error: exit code 1: no" in done.err
    assert "RR@10" not in done.out
    assert len((bench.folder / "asked").read_text()) == 5
    assert bench.json("show")["status"] == "incomplete"


def test_failures_after_a_success_do_not_stop_a_run(bench: Workbench) -> None:
    bench.questions(12)
    told = bench.run(bench.script("n = query.split()[-1]\nif n != '0': sys.exit('no')\nprint('[]')"), code=QUALITY)
    assert told["counts"]["failed"] == 11
    assert told["status"] == "failures"


def test_the_time_limit_of_a_run_stops_it_and_resume_goes_on(bench: Workbench) -> None:
    bench.questions(8)
    spec = bench.script(
        "if not os.path.exists(here + '/fast'): time.sleep(0.4)\nprint(json.dumps(['d' + query.split()[-1]]))"
    )
    done = bench.eval("run", "--golden", "golden.jsonl", "--system", spec, "--max-time", "1", "--format", "json")
    assert done.code == COULD_NOT_RUN
    assert "stopped: the time limit of 1 s (--max-time) is over" in done.err
    assert 1 <= done.json["counts"]["queries"] - done.json["counts"]["failed"] < 8
    assert "incomplete-run" in codes(done.json)
    bench.write("fast", "")
    assert bench.json("run", "--resume", "latest", "--system", spec)["status"] == "complete"


def test_the_time_limit_of_a_run_bounds_its_queries(bench: Workbench) -> None:
    bench.questions(3)
    forever = bench.script(f"time.sleep({2 * PATIENCE})")
    done = bench.eval("run", "--golden", "golden.jsonl", "--system", forever, "--max-time", "1")
    assert done.code == COULD_NOT_RUN


def _mortal(bench: Workbench, after: int) -> Path:
    """A program that deletes itself after so many answers."""
    code = (
        f"#!{sys.executable}\nimport json, os, sys\n"
        "count = int(open('count').read()) + 1 if os.path.exists('count') else 1\n"
        "open('count', 'w').write(str(count))\n"
        f"print(json.dumps(['d' + sys.argv[1].split()[-1]]))\nif count == {after}: os.remove('mortal')\n"
    )
    path = bench.write("mortal", code)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_run_whose_system_died_is_completed_by_resume(bench: Workbench) -> None:
    bench.questions(12)
    _mortal(bench, after=5)
    done = bench.eval("run", "--golden", "golden.jsonl", "--system", "cmd:./mortal {query}", "--label", "half")
    assert done.code == COULD_NOT_RUN
    assert "the run is incomplete (no program './mortal'" in done.err
    assert "Resume with: assay eval run --resume" in done.err
    half = bench.json("show", "half")
    assert (half["status"], half["counts"]["failed"]) == ("incomplete", 7)
    assert half["metrics"]["Success@10"] == pytest.approx(5 / 12, abs=1e-4)
    refused = bench.eval("baseline", "set", "half")
    assert (refused.code, "a baseline must be complete" in refused.err) == (COULD_NOT_RUN, True)
    _mortal(bench, after=0)
    resumed = bench.eval("run", "--resume", "half", "--system", "cmd:./mortal {query}", "--format", "json")
    assert resumed.code == DONE, resumed.err
    whole = bench.run("cmd:./mortal {query}", "--label", "half")
    assert timeless(resumed.json) == timeless(whole)


def test_an_in_process_retriever_that_kills_the_process_leaves_a_run_to_resume(bench: Workbench) -> None:
    """kill -9 in the middle: `--resume` completes it, and the result is that of an uninterrupted run."""
    bench.questions(40)
    bench.write(
        "slow.py",
        "import time\ndef search(query, k, budget=None):\n"
        "    time.sleep(0.04)\n    n = int(query.split()[-1])\n"
        "    return [f'd{n + i - n % 5}' for i in range(k)]\n",
    )
    options = ["--golden", "golden.jsonl", "--system", "python:slow:search", "--label", "x", "--depth", "12"]
    command = [*COMMAND, "eval", "run", *options, "--budget", "100", "--root", "."]
    process = subprocess.Popen(command, cwd=bench.folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    answered = _wait_for_answers(bench.folder / ".assay" / "runs.db", 5)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert 5 <= answered < 40
    assert bench.json("list")["runs"][0]["status"] == "running"
    refused = bench.eval("compare", "x", "x")
    assert (refused.code, "is running" in refused.err) == (COULD_NOT_RUN, True)
    resumed = bench.eval("run", "--resume", "x", "--system", "python:slow:search", "--format", "json")
    assert resumed.code == DONE, resumed.err
    whole = bench.run("python:slow:search", "--label", "x", "--depth", "12", "--budget", "100")
    assert timeless(resumed.json) == timeless(whole)
    # how deep it was asked is part of the run, and not forgotten in between
    assert {len(hits) for hits in _hits(bench, resumed.json["run_id"])} == {12}


def _wait_for_answers(path: Path, least: int) -> int:
    for _ in range(600):
        if path.exists():
            try:
                with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
                    count = int(db.execute("SELECT count(*) FROM eval_query_results").fetchone()[0])
            except sqlite3.Error:
                count = 0
            if count >= least:
                return count
        time.sleep(0.02)
    raise AssertionError("nothing was stored within 12 s")


def _hits(bench: Workbench, run_id: str) -> list[tuple[Hit, ...]]:
    with RunStore.open(bench.folder / ".assay" / "runs.db") as store:
        return [one.hits for one in store.responses(run_id, len(store.repositories(store.info(run_id))))]


def test_resume_asks_only_what_is_missing_or_failed(bench: Workbench) -> None:
    bench.questions(12)
    bench.write(
        "flaky.py",
        "import os\ndef search(query, k):\n    open('asked', 'a').write(query + '\\n')\n"
        "    if query.endswith('7') and not os.path.exists('well'): raise ValueError('not today')\n"
        "    return ['d' + query.split()[-1]]\n",
    )
    bench.run("python:flaky:search", "--label", "f", code=QUALITY)
    (bench.folder / "asked").unlink()
    bench.write("well", "")
    assert bench.eval("run", "--resume", "f", "--system", "python:flaky:search").code == DONE
    assert (bench.folder / "asked").read_text() == "question number 7\n"


def test_resume_refuses_a_system_that_has_changed_since(bench: Workbench) -> None:
    bench.questions(12)
    bench.write("r.py", "def search(query, k): return ['d1']\n")
    bench.run("python:r:search", "--label", "r")
    bench.write("r.py", "def search(query, k): return ['d2']\n")
    done = bench.eval("run", "--resume", "r", "--system", "python:r:search")
    assert done.code == COULD_NOT_RUN
    assert "was made with another state of python:r:search: sha256 changed since" in done.err
    both = bench.eval("run", "--resume", "r", "--golden", "golden.jsonl")
    assert (both.code, "leave out --golden" in both.err) == (COULD_NOT_RUN, True)


def test_repeating_finds_answers_that_differ(bench: Workbench) -> None:
    bench.questions(12)
    bench.write(
        "dice.py",
        "calls = []\ndef search(query, k):\n    calls.append(query)\n"
        "    return ['d1'] + (['x'] * (calls.count(query) - 1) if query.endswith(('3', '5')) else [])\n",
    )
    told = bench.run("python:dice:search", "--repeat", "3")
    assert "2 queries had different results when repeated: q3, q5" in messages(told)
    steady = bench.run(bench.ranking("steady", {"q1": 1}), "--repeat", "3")
    assert not [warning for warning in messages(steady) if "different" in warning]


def test_system_facts_in_the_answers_are_part_of_the_run(bench: Workbench) -> None:
    bench.questions(3)
    code = (
        "print(json.dumps({'results': ['d1'], 'config': {'chunker_version': 7, 'embedding': 'small', 'seen': query}}))"
    )
    told = bench.run(bench.script(code), "--jobs", "3")
    assert told["chunker_version"] == "7"
    assert told["config"]["embedding"] == "small"
    assert "seen" not in told["config"]  # every answer says something else: nothing about the system


def test_a_description_that_is_no_json_is_stored_as_text_and_can_be_resumed(bench: Workbench) -> None:
    bench.questions(3)
    bench.write(
        "odd.py",
        "import pathlib\nclass R:\n    def describe(self): return {'where': pathlib.PurePosixPath('a/b'), 'pair': (1, 2)}\n"
        "    def retrieve(self, query, k): return ['d1']\n",
    )
    told = bench.run("python:odd:R", "--label", "odd")
    assert told["config"]["config"] == {"where": "a/b", "pair": [1, 2]}
    assert bench.eval("run", "--resume", "odd", "--system", "python:odd:R").code == DONE


# --- several at a time, and places that cannot be written


def test_two_runs_at_the_same_time_share_one_file(bench: Workbench) -> None:
    bench.questions(30)
    bench.write(
        "slow.py", "import time\ndef search(query, k):\n    time.sleep(0.02)\n    return ['d' + query.split()[-1]]\n"
    )
    command = [*COMMAND, "eval", "run", "--golden", "golden.jsonl", "--system", "python:slow:search", "--root", "."]
    started = [
        subprocess.Popen(command, cwd=bench.folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for process in started:
        assert process.communicate()[1].decode().count("Traceback") == 0
        assert process.returncode == DONE
    listed = bench.json("list")["runs"]
    assert [(run["status"], run["metrics"]["RR@10"]) for run in listed] == [("complete", 1.0)] * 3
    assert len({run["run_id"] for run in listed}) == 3


def test_a_full_disk_is_reported_and_the_stored_runs_stay(bench: Workbench) -> None:
    bench.questions(200)
    spec = bench.ranking("full", {f"q{n}": 1 for n in range(200)}, depth=100)
    bench.run(bench.ranking("first", {"q1": 1}), "--label", "first")
    size = (bench.folder / ".assay" / "runs.db").stat().st_size
    limit = (size + 20_000, size + 20_000)
    done = bench.eval(
        "run", "--golden", "golden.jsonl", "--system", spec, "--depth", "100",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )  # fmt: skip
    assert done.code == COULD_NOT_RUN
    assert "runs.db: the run file cannot be used" in done.err
    assert len(done.err.splitlines()) == 1
    assert bench.json("show", "first")["counts"]["queries"] == 200


# --- the run file


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_file_is_refused_for_writing_only(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with RunStore.open(path, write=True):
        pass
    path.chmod(0o400)
    with pytest.raises(AssayError, match="cannot write"), RunStore.open(path, write=True) as opened:
        opened.start(run_info("run"), GOLDEN)
    with RunStore.open(path) as opened:
        assert opened.runs() == []


def test_runs_can_be_read_after_a_writer_was_killed_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with RunStore.open(path, write=True) as opened:
        opened.start(run_info("run"), GOLDEN)
    code = (
        "import os, signal, sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None); db.execute('PRAGMA cache_size = 1')\n"
        "db.execute('BEGIN'); db.execute('UPDATE eval_runs SET label = ?', ('x' * 100_000,)); db.execute('PRAGMA cache_spill = 1')\n"
        "db.execute('CREATE TABLE more AS SELECT randomblob(100000) AS x, label FROM eval_runs'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, path], check=False)
    assert path.with_name("runs.db-journal").exists()
    with pytest.raises(sqlite3.OperationalError, match="readonly"):  # which is what a plain reader is told
        sqlite3.connect(f"file:{path}?mode=ro", uri=True).execute("SELECT * FROM eval_runs")
    with RunStore.open(path) as opened:
        assert [(run.run_id, run.label) for run in opened.runs()] == [("run", "")]


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    """A run file that another process holds for itself."""
    path = tmp_path / "runs.db"
    with RunStore.open(path, write=True) as opened:
        opened.start(run_info("run"), GOLDEN)
    code = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('BEGIN EXCLUSIVE'); print('held', flush=True); sys.stdin.read()"
    holder = subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    yield path
    holder.communicate()


@pytest.mark.parametrize("write", [False, True])
def test_a_locked_file_is_waited_for_and_then_named(locked: Path, write: bool) -> None:
    with pytest.raises(AssayError) as refused, RunStore.open(locked, write=write, wait=0.1) as opened:
        opened.start(run_info("other"), GOLDEN)
    assert f"{locked}: another process is writing to the run file. Try again" in str(refused.value)


def _not_a_database(path: Path) -> None:
    path.write_bytes(b"something else entirely, and long enough to be looked at" * 20)


def _of_something_else(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE recipes (name TEXT)")


def _newer(path: Path) -> None:
    with RunStore.open(path, write=True):
        pass
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")


def _damaged(path: Path) -> None:
    with RunStore.open(path, write=True) as opened:
        opened.start(run_info("run"), GOLDEN)
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 8192)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (_not_a_database, "not a run file, or damaged (file is not a database). Move it away"),
        (_of_something_else, "an SQLite database, but not a run file"),
        (_newer, "the run file has format 99, this version of assay reads 2"),
        (_damaged, "not a run file, or damaged"),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_a_file_that_is_not_of_runs_is_refused_and_left_as_it_is(
    tmp_path: Path, made: Any, says: str, write: bool
) -> None:
    path = tmp_path / "runs.db"
    made(path)
    before = path.read_bytes()
    with pytest.raises(AssayError) as refused, RunStore.open(path, write=write) as opened:
        opened.runs()
    assert str(refused.value).startswith(f"{path}: {says}")
    assert path.read_bytes() == before


def test_an_empty_file_has_no_runs_yet_and_can_be_begun(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    path.touch()
    with pytest.raises(NoSuchRun, match="no runs yet"), RunStore.open(path):
        pass
    with RunStore.open(path, write=True) as opened:
        assert opened.runs() == []


def test_equal_scores_keep_their_order_or_go_by_id(bench: Workbench) -> None:
    bench.golden([{"id": "q", "question": "what is it", "expected_docs": ["b"]}])
    bench.write("tied.run", "q Q0 a 1 2.0 x\nq Q0 b 2 1.0 x\nq Q0 c 3 1.0 x\n")
    ranks = {ties: bench.run("trec:tied.run", "--ties", ties)["queries"][0]["first_rank"] for ties in ("order", "trec")}
    assert ranks == {"order": 2, "trec": 3}
