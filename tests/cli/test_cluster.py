"""`--cluster` of index, eval sweep and eval tune: the results of this machine alone, whatever happens to the workers."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assay.api import Repository
from assay.cli.cluster import check_outcome, index_elsewhere
from assay.config.cluster import choose_cluster
from assay.core.progress import Report
from assay.errors import AssayError
from assay.evaluate.fan_out import Opening, _worker_session
from assay.system.cluster import ClusterSettings, connect
from assay.system.executor import UnitFailed
from support import units
from support.command import COMMAND, ENVIRONMENT, assay
from support.dask_processes import DaskProcesses, dask_processes, kill
from support.language_tools import Tools
from support.processes import children, running
from support.repository import Repository as Sample
from support.waiting import PATIENCE, until
from support.workbench import COULD_NOT_RUN, DONE, Workbench

pytest.importorskip("distributed", reason="needs the extra 'cluster'")

CLOCK = ("indexed_at", "seconds")  # the only facts of an index that depend on more than the repository


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    with dask_processes(tmp_path_factory.mktemp("dask"), workers=2) as processes:
        yield processes


def write_repositories(folder: Path, count: int = 3) -> list[Path]:
    roots = [folder / f"repository{number}" for number in range(count)]
    for number, root in enumerate(roots):
        root.mkdir(parents=True)
        for module in range(3):
            code = f"def load_{number}_{module}(path):\n    return path\n\n\ndef run(path):\n    return load_{number}_{module}(path)\n"
            (root / f"module{module}.py").write_text(code)
    return roots


def content(root: Path) -> dict[str, str]:
    """Return a digest of every file of an index, and of the catalogue's rows without the clock."""
    generation = max((root / ".assay/generations").iterdir())
    digests = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in generation.iterdir()
        if path.name not in ("catalogue.db", "seal.json")
    }
    with closing(sqlite3.connect(generation / "catalogue.db")) as connection:
        rows = [line for line in connection.iterdump() if not any(f"'{fact}'" in line for fact in CLOCK)]
    return digests | {"catalogue.db": hashlib.sha256("\n".join(rows).encode()).hexdigest()}


def test_indexes_made_by_workers_are_those_made_here(tmp_path: Path, dask: DaskProcesses) -> None:
    roots = write_repositories(tmp_path)
    assert assay(tmp_path, "index", *roots).code == DONE
    here = [content(root) for root in roots]
    for root in roots:
        shutil.rmtree(root / ".assay")
    done = assay(tmp_path, "index", *roots, "--cluster", dask.address, "--format", "json")
    assert done.code == DONE, done.err
    assert [row["root"] for row in done.json["repositories"]] == list(map(str, roots))
    assert [content(root) for root in roots] == here
    again = assay(tmp_path, "index", *roots, "--cluster", dask.address, "--format", "json").json
    assert {row["mode"] for row in again["repositories"]} == {"fresh"}


def test_a_repository_that_cannot_be_indexed_costs_only_itself(tmp_path: Path, dask: DaskProcesses) -> None:
    good, bad = write_repositories(tmp_path, 2)
    (bad / ".assay").symlink_to(tmp_path)
    done = assay(tmp_path, "index", good, bad, "--cluster", dask.address)
    assert done.code == COULD_NOT_RUN
    assert "indexed 3 files" in done.out
    assert str(bad) in done.err


def test_a_worker_that_does_not_see_the_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="workers need it at the same path"):
        index_elsewhere("a", tmp_path / "missing", tmp_path / "missing/.assay", False, False)
    other_disk = check_outcome(Repository(tmp_path), (Report("full"), "000007"))
    assert "indexed by a worker, but not here" in str(other_disk)


@pytest.fixture
def origins(tmp_path: Path) -> list[str]:
    """Two repositories, by address."""
    for name in ("shop", "bank"):
        origin = Sample(tmp_path / "origins" / f"{name}.git")
        origin.root.mkdir(parents=True)
        origin.git("init", "-q", "-b", "main")
        origin.write("code.py", f"def open_{name}():\n    pass\n")
        origin.commit(f"Open the {name}")
        origin.git("tag", "-a", "v1", "-m", "first")
        origin.write("more.py", f"def close_{name}():\n    pass\n")
        origin.commit(f"Close the {name}")
    return [f"file://{tmp_path}/origins/{name}.git" for name in ("shop", "bank")]


def test_git_addresses_are_cloned_by_workers_into_their_cache_and_published(
    tmp_path: Path, origins: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed = ("index", *origins, "--format", "json")
    monkeypatch.setitem(ENVIRONMENT, "ASSAY_CACHE_DIR", str(tmp_path / "here"))
    here = assay(tmp_path, *indexed)
    assert here.code == DONE, here.err
    with dask_processes(tmp_path) as processes:
        processes.start_worker(ASSAY_CACHE_DIR=str(tmp_path / "worker"))
        there = assay(tmp_path, *indexed, "--publish", "published", "--cluster", processes.address)
        assert there.code == DONE, there.err
        first = assay(tmp_path, "index", f"{origins[0]}#v1", "--cluster", processes.address)
        missing = assay(tmp_path, "index", f"{origins[0]}x", origins[1], "--cluster", processes.address)
    rows = {row["repository"]: row for row in there.json["repositories"]}
    assert list(rows) == ["shop", "bank"]
    for row in here.json["repositories"]:
        other = rows[row["repository"]]
        assert Path(other["root"]).is_relative_to(tmp_path / "worker/repositories")
        assert other["commit"] == row["commit"]
    assert rows["shop"]["published"] == f"{tmp_path}/published/shop"
    # the index of the same commit, wherever it was made
    shop = Path(next(row["root"] for row in here.json["repositories"] if row["repository"] == "shop"))
    assert assay(shop, "pull", tmp_path / "published/shop", "--root", ".").code == DONE
    assert "open_shop" in assay(shop, "symbols", "open_shop", "--root", ".").out
    # another revision updates the same clone
    assert first.code == DONE, first.err
    assert rows["shop"]["root"] in first.out
    assert not (Path(rows["shop"]["root"]) / "more.py").exists()
    # one address that cannot be read costs only itself
    assert missing.code == COULD_NOT_RUN
    assert "shop.gitx: cannot be read" in missing.err
    assert "up to date" in missing.out


def test_an_index_of_a_clone_is_that_of_a_folder(
    tmp_path: Path, origins: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    done = assay(tmp_path, "index", origins[0], "--format", "json")
    assert done.code == DONE, done.err
    folder = Path(done.json["repositories"][0]["root"])
    subprocess.run(["git", "clone", "-q", origins[0], tmp_path / "folder"], check=True)
    assert assay(tmp_path, "index", tmp_path / "folder").code == DONE
    other = tmp_path / "folder"
    # the catalogue has the times of the files, too
    assert content(folder) | {"catalogue.db": ""} == content(other) | {"catalogue.db": ""}
    assert Sample(folder).symbols() == Sample(other).symbols()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ext::sh", "."], "clone by https"),
        ([".", "--publish", "x"], "--publish is for git addresses"),
        (["file:///srv/x.git", "file:///srv/x.git#v1"], "given twice"),
    ],
)
def test_what_index_refuses_about_addresses(tmp_path: Path, arguments: list[str], says: str) -> None:
    done = assay(tmp_path, "index", *arguments)
    assert done.code == COULD_NOT_RUN
    assert says in done.err


def test_repositories_are_enriched_by_the_tools_of_workers_with_the_edges_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Tools(tmp_path / "bin", monkeypatch).add_server()
    monkeypatch.setitem(ENVIRONMENT, "PATH", os.environ["PATH"])
    roots = write_repositories(tmp_path, 2)
    other = [Path(shutil.copytree(root, tmp_path / "other" / root.name)) for root in roots]
    for folders in (roots, other):
        assert assay(tmp_path, "index", *folders).code == DONE
    with dask_processes(tmp_path, workers=1) as processes:
        done = assay(tmp_path, "enrich", *roots, "--cluster", processes.address, "--format", "json")
    assert done.code == DONE, done.err
    assert assay(tmp_path, "enrich", *other, "--format", "json").code == DONE
    assert [row["runs"][0]["answered"] for row in done.json["repositories"]] == [3, 3]
    assert [content(root) for root in roots] == [content(root) for root in other]


def test_a_golden_set_mined_on_a_cluster_is_that_of_this_process(tmp_path: Path, dask: DaskProcesses) -> None:
    history = Sample(tmp_path / "project")
    history.root.mkdir()
    history.git("init", "-q")
    for number in range(70):
        history.write("loader.py", f"def load(path):\n    return open(path).read({number})\n")
        word = f"{'bdfgklmnpr'[number // 10]}a{'bdfgklmnpr'[number % 10]}"
        history.commit(f"Read the setting {word} of a configuration file")
    for name, more in {"here": (), "there": ("--cluster", dask.address)}.items():
        done = assay(history.root, "eval", "mine", "-o", tmp_path / f"{name}.jsonl", *more)
        assert done.code == DONE, done.err
    assert (tmp_path / "there.jsonl").read_bytes() == (tmp_path / "here.jsonl").read_bytes()
    assert len((tmp_path / "here.jsonl").read_text().splitlines()) == 69  # the first commit adds the file


# --- sweeps


def without_clock(value: Any) -> Any:
    """Return a report without what differs between two runs of the same thing."""
    if isinstance(value, dict):
        changing = (
            "run_id",
            "created",
            "latency",
            "timestamp",
            "sweep_id",
            "warnings",
            "recommendations",
            "pareto_front",
            "query_time",
        )
        return {
            name: without_clock(row)
            for name, row in value.items()
            if not name.startswith(changing) and "_ms" not in name
        }
    return [without_clock(row) for row in value] if isinstance(value, list) else value


def test_a_sweep_on_a_cluster_gives_the_figures_of_the_local_pool(tmp_path: Path, dask: DaskProcesses) -> None:
    bench = Workbench(tmp_path)
    bench.questions(8)
    for number in range(3):
        bench.ranking(f"ranks{number}", {f"q{n}": 1 + (n + number) % 4 for n in range(8)})
    arguments = (
        "sweep",
        "--queries",
        "golden.jsonl",
        "--system",
        "trec:{file}.run",
        "--set",
        "file=ranks0,ranks1,ranks2",
    )
    pool = bench.json(*arguments, "--runs", "pool.db", "--jobs", "2")
    cluster = bench.json(*arguments, "--runs", "cluster.db", "--cluster", dask.address)
    assert without_clock(cluster) == without_clock(pool)
    listed = bench.json("list", "--runs", "cluster.db")
    assert len(listed["runs"] if isinstance(listed, dict) else listed) == 3
    again = bench.json(*arguments, "--runs", "cluster.db", "--cluster", dask.address)
    assert (again["work"]["finished_before"], again["work"]["queries_asked"]) == (3, 0)


def test_a_sweep_whose_scheduler_was_killed_repeats_only_unfinished_configurations(tmp_path: Path) -> None:
    bench = Workbench(tmp_path / "bench")
    bench.questions(4)
    spec = bench.script(
        "open(here + '/asked', 'a').write(sys.argv[3] + '\\n'); time.sleep(0.1); print(json.dumps(['d' + query.split()[-1]]))"
    )
    arguments = ("sweep", "--queries", "golden.jsonl", "--system", f"{spec} {{size}}", "--set", "size=a,b,c,d,e,f")
    log, runs = bench.folder / "asked", bench.folder / ".assay/runs.db"

    def complete() -> int:
        if not runs.exists():
            return 0
        with closing(sqlite3.connect(runs)) as connection:
            try:
                return int(connection.execute("SELECT count(*) FROM eval_runs WHERE status = 'complete'").fetchone()[0])
            except sqlite3.OperationalError:  # being created
                return 0

    with dask_processes(tmp_path, workers=1) as processes:
        command = [*COMMAND, "eval", *arguments, "--root", ".", "--cluster", processes.address]
        client = subprocess.Popen(command, cwd=bench.folder, env=ENVIRONMENT, stderr=subprocess.PIPE)
        until(lambda: complete() >= 2)
        assert processes.scheduler is not None
        kill(processes.scheduler)
        _, errors = client.communicate(timeout=PATIENCE)
    assert client.returncode == COULD_NOT_RUN
    assert b"the connection to the scheduler is lost" in errors
    assert b"Traceback" not in errors
    finished = complete()
    until(lambda: not running(str(bench.folder / "retriever.py")))  # what the killed worker had asked
    log.write_text("")
    with dask_processes(tmp_path, workers=1) as processes:
        report = bench.json(*arguments, "--cluster", processes.address)
    assert finished >= 2
    assert report["work"]["finished_before"] == finished
    assert report["work"]["queries_asked"] == 4 * (6 - finished)
    assert len(set(log.read_text().split())) == 6 - finished


def heed_interrupts() -> None:
    """Undo what a shell does to tests that it runs in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_ends_the_command_and_every_process_of_a_local_cluster(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.questions(50)
    spec = bench.script("open(here + '/asked', 'a').write('.'); time.sleep(0.1); print(json.dumps([]))")
    command = [
        *COMMAND, "eval", "sweep", "--queries", "golden.jsonl", "--system", f"{spec} {{size}}", "--set", "size=a,b,c",
        "--root", ".", "--cluster", "local:2",
    ]  # fmt: skip
    client = subprocess.Popen(
        command, cwd=bench.folder, env=ENVIRONMENT, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=heed_interrupts,
    )  # fmt: skip
    until((bench.folder / "asked").exists)
    workers = children(client.pid)
    assert len(workers) >= 2
    os.killpg(client.pid, signal.SIGINT)  # as a terminal does: the whole group
    _, errors = client.communicate(timeout=PATIENCE)
    assert client.returncode == 130, errors.decode()
    assert errors == b"assay: interrupted; completed work is kept\n"
    until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


# --- runs


def write_corpus(bench: Workbench) -> None:
    words = ("boat", "crane", "pump", "valve", "wheel")
    for number in range(30):
        word = words[number % len(words)]
        code = f'def {word}_{number}(size):\n    """The {word} number {number}."""\n    return size\n'
        bench.write(f"shop/{word}{number}.py", code)
    bench.golden(
        {"id": f"q{n}", "question": f"the {words[n % 5]} number {n}", "expected_symbols": [f"{words[n % 5]}_{n}"]}
        for n in range(30)
    )
    assert assay(bench.folder, "index", ".").code == DONE


def test_a_run_on_a_cluster_gives_the_figures_and_hits_of_this_process(tmp_path: Path, dask: DaskProcesses) -> None:
    bench = Workbench(tmp_path)
    write_corpus(bench)
    arguments = ("run", "--golden", "golden.jsonl", "--system", "assay", "--matching", "strict")
    here = bench.json(*arguments)
    there = bench.json(*arguments, "--cluster", dask.address)
    assert without_clock(there) == without_clock(here)
    assert there["run_id"] != here["run_id"]


def test_a_run_whose_scheduler_was_killed_is_resumed_with_the_queries_that_were_not_answered(tmp_path: Path) -> None:
    bench = Workbench(tmp_path / "bench")
    bench.questions(40)
    spec = bench.script(
        "open(here + '/asked', 'a').write(query + '\\n'); time.sleep(0.1); print(json.dumps(['d' + query.split()[-1]]))"
    )
    log, runs = bench.folder / "asked", bench.folder / ".assay/runs.db"

    def stored() -> int:
        with closing(sqlite3.connect(runs)) as connection, suppress(sqlite3.OperationalError):
            return int(connection.execute("SELECT count(*) FROM eval_query_results").fetchone()[0])
        return 0

    with dask_processes(tmp_path, workers=1) as processes:
        command = [*COMMAND, "eval", "run", "--golden", "golden.jsonl", "--system", spec, "--root", "."]
        client = subprocess.Popen(
            [*command, "--cluster", processes.address], cwd=bench.folder, env=ENVIRONMENT, stderr=subprocess.PIPE
        )
        until(lambda: runs.exists() and stored())
        assert processes.scheduler is not None
        kill(processes.scheduler)
        _, errors = client.communicate(timeout=PATIENCE)
    assert client.returncode == COULD_NOT_RUN
    assert b"connection to the scheduler is lost" in errors
    before = stored()
    assert 8 <= before < 40
    until(lambda: not running(str(bench.folder / "retriever.py")))  # what the killed worker had asked
    log.write_text("")
    with dask_processes(tmp_path, workers=1) as processes:
        done = bench.eval("run", "--resume", "latest", "--system", spec, "--cluster", processes.address)
    assert done.code == DONE, done.err
    assert stored() == 40
    assert len(log.read_text().splitlines()) == 40 - before


def test_a_worker_whose_index_is_another_one_answers_nothing(tmp_path: Path, dask: DaskProcesses) -> None:
    bench = Workbench(tmp_path)
    write_corpus(bench)
    opening = Opening("assay", 60.0, tmp_path, None, tmp_path)
    session = partial(_worker_session, opening, {"index_fingerprint": "another"})
    with connect(ClusterSettings(dask.address), session) as cluster:
        [(_, outcome)] = cluster.map_units(units.square, [(2,)])
    assert isinstance(outcome, UnitFailed)
    assert re.search(r"assay is another system on \S+: .*index_fingerprint.* differ", outcome.message)


def test_tuning_on_a_cluster_gives_the_figures_of_this_process(tmp_path: Path, dask: DaskProcesses) -> None:
    bench = Workbench(tmp_path)
    words = ("boat", "crane", "pump", "valve", "wheel", "clock", "press")
    for number in range(42):
        word = words[number % len(words)]
        bench.write(
            f"shop/{word}{number}.py",
            f'def {word}_{number}(size):\n    """The {word} number {number}."""\n    return size\n',
        )
    bench.golden(
        {
            "id": f"q{n}",
            "question": f"the {words[n % len(words)]} number {n}",
            "expected_symbols": [f"{words[n % len(words)]}_{n}"],
        }
        for n in range(42)
    )
    assert assay(tmp_path, "index", ".").code == DONE
    tune = ("eval", "tune", "--golden", "golden.jsonl", "--root", ".", "--from", "hand-tuned", "--format", "json")
    alone = assay(tmp_path, *tune, "--jobs", "1")
    shutil.rmtree(tmp_path / ".assay/tuning")
    cluster = assay(tmp_path, *tune, "--cluster", dask.address)
    assert alone.code == cluster.code
    assert cluster.json == alone.json


# --- configuration


@pytest.fixture
def user_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_CONFIG_DIR", str(tmp_path / "user"))
    (tmp_path / "user").mkdir()
    return tmp_path / "user/config.toml"


def test_the_users_configuration_names_the_cluster_and_its_certificates(user_configuration: Path) -> None:
    assert choose_cluster(None) is None
    user_configuration.write_text(
        '[cluster]\naddress = "tls://cluster.example.com:8786"\nca_file = "ca.pem"\ncertificate = "/tls/me.pem"\nkey = "me.key"\n'
    )
    settings = choose_cluster(None)
    assert settings is not None
    assert (settings.ca_file, settings.certificate) == (str(user_configuration.parent / "ca.pem"), "/tls/me.pem")
    local = choose_cluster("local:3")
    assert local is not None
    assert local.local_workers == 3
    assert choose_cluster("none") is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cluster = 3", "must be a table"),
        ('[cluster]\nadress = "local"', "address"),
        ("[cluster]\naddress = 3", "must be text"),
        ('[cluster]\nallow_tcp = "yes"', "must be true or false"),
        ('[cluster]\nmemory = "much"', 'for example "4 GB"'),
    ],
)
def test_bad_settings_of_the_cluster_are_named(user_configuration: Path, text: str, says: str) -> None:
    user_configuration.write_text(text)
    with pytest.raises(AssayError, match=says):
        choose_cluster(None)
