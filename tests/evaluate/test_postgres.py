"""PostgreSQL as a team's run store: many writers, roles, projects, crashes, passwords, and every command that reads it."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from assay.core.golden import GoldenQuery, GoldenSet, Hit, Response
from assay.database import StoreInUse, schema
from assay.database import postgres as storage
from assay.database.address import Address
from assay.errors import AssayError
from assay.evaluate.ledger import Experiment
from assay.evaluate.runs import RunStore
from assay.feedback.marks import Mark
from assay.feedback.upkeep import open_feedback
from support.command import ENVIRONMENT, Done, assay
from support.postgres import (
    PASSWORD,
    Cluster,
    add_project,
    binaries,
    execute,
    new_login,
    new_postgres_store,
    owned_database,
    store_of_format,
)
from support.runs import GOLDEN, run_info
from support.waiting import PATIENCE
from support.web_server import run_server
from support.workbench import COULD_NOT_RUN, DONE, QUALITY, Workbench

BATCH = 50  # responses of a transaction
WRITERS = 20


@pytest.fixture(scope="module")
def address(postgres: Cluster) -> str:
    """A store with one project, as its owner."""
    return new_postgres_store(postgres)


# --- writers


_WRITER = """
import sys
from assay.core.golden import GoldenQuery, GoldenSet, Hit, Response
from assay.evaluate.runs import RunStore
from assay.database import postgres
postgres._RETRY_PAUSES = (0.1,)
from support.runs import run_info
address, number, blocks, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
golden = GoldenSet(tuple(GoldenQuery(f"q{n}", "t") for n in range(blocks * batch)), "golden", "pairs", "digest")
with RunStore.open(address, write=True) as store:
    run_id = store.start(run_info("same"), golden).run_id
    print(run_id, flush=True)
    for start in range(0, blocks * batch, batch):
        answers = [(n, f"q{n}", Response((Hit(f"d{number}-{n}"),)), False) for n in range(start, start + batch)]
        store.record("shared" if number < 0 else run_id, answers)
        print(start + batch, flush=True)
"""


def _writer(address: str, number: int, blocks: int) -> subprocess.Popen[str]:
    environment = ENVIRONMENT | {"PYTHONPATH": f"{ENVIRONMENT['PYTHONPATH']}:{Path(__file__).parents[1]}"}
    command = [sys.executable, "-c", _WRITER, address, str(number), str(blocks), str(BATCH)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def test_twenty_processes_that_write_at_once_lose_nothing(postgres: Cluster) -> None:
    """All ask for the same run id in the same instant, and each gets one of its own."""
    address = new_postgres_store(postgres)
    writers = [_writer(address, number, 4) for number in range(WRITERS)]
    ids = []
    for writer in writers:
        out, err = writer.communicate(timeout=PATIENCE)
        assert writer.returncode == 0, err
        ids.append(out.split()[0])
    assert sorted(ids) == sorted(["same", *(f"same-{number}" for number in range(2, WRITERS + 1))])
    with RunStore.open(address) as store:
        assert len(store.runs()) == WRITERS
        for number, run_id in enumerate(ids):
            hits = [response.hits[0].id for response in store.responses(run_id, 4 * BATCH)]
            assert hits == [f"d{number}-{position}" for position in range(4 * BATCH)]


def test_threads_that_write_the_same_responses_neither_deadlock_nor_mix_them(address: str) -> None:
    golden = GoldenSet(tuple(GoldenQuery(f"q{n}", "t") for n in range(200)), "golden", "pairs", "digest")
    with RunStore.open(address, write=True) as store:
        run_id = store.start(run_info("contended"), golden).run_id
    errors: list[Exception] = []

    def write(number: int) -> None:
        order = range(200) if number % 2 else range(199, -1, -1)
        try:
            with RunStore.open(address, write=True) as store:
                for _ in range(5):
                    store.record(run_id, [(n, f"q{n}", Response((Hit(f"d{number}"),)), False) for n in order])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with RunStore.open(address) as store:
        assert len({response.hits[0].id for response in store.responses(run_id, 200)}) == 1


@pytest.fixture(scope="module")
def durable() -> Iterator[Cluster]:
    """A server that may be killed: it waits for the disk."""
    with closing(Cluster(durable=True)) as cluster:
        yield cluster


def test_killing_the_server_in_the_middle_of_a_write_leaves_only_whole_batches(durable: Cluster) -> None:
    """What was acknowledged is there, what was not is there as a whole batch or not at all, and writing goes on."""
    address = new_postgres_store(durable)
    writer = _writer(address, 0, 400)
    assert writer.stdout is not None
    run_id = writer.stdout.readline().strip()
    acknowledged = [int(writer.stdout.readline()) for _ in range(5)][-1]
    durable.kill()
    out, err = writer.communicate(timeout=PATIENCE)
    acknowledged = int(out.split()[-1]) if out.split() else acknowledged
    assert writer.returncode != 0
    assert "StoreUnreachable: postgresql://owner@127.0.0.1" in err
    assert PASSWORD not in err
    durable.start()
    with RunStore.open(address, write=True) as store:
        answered = store.answered(run_id)
        assert len(answered) in (acknowledged, acknowledged + BATCH)
        assert sorted(answered) == list(range(len(answered)))
        store.record(run_id, [(len(answered), "q", Response(), False)])


def test_a_short_restart_of_the_server_is_waited_for(durable: Cluster) -> None:
    address = new_postgres_store(durable)
    with RunStore.open(address, write=True) as store:
        store.start(run_info("run"), GOLDEN)
        durable.kill()
        restart = threading.Thread(target=durable.start)
        restart.start()
        store.record("run", [(0, "q", Response(tokens=3), False)])
        restart.join()
        assert store.responses("run", 1) == [Response(tokens=3)]
    with RunStore.open(address, write=True) as store:  # not one of the connections that were lost
        store.update("run", label="x")


def test_a_locked_run_is_waited_for_and_then_named(address: str) -> None:
    with RunStore.open(address, write=True) as store:
        run_id = store.start(run_info("locked"), GOLDEN).run_id
    with psycopg.connect(Address.parse(address).uri) as other:
        other.execute("LOCK TABLE assay.eval_runs IN EXCLUSIVE MODE")
        with pytest.raises(StoreInUse, match="the store is busy"), RunStore.open(address, True, 0.1) as store:
            store.update(run_id, label="x")


# --- roles and projects


@pytest.fixture(scope="module")
def people(postgres: Cluster) -> dict[str, str]:
    """A store with two projects; each login's address. One run in each project."""
    shop = new_postgres_store(postgres)
    bank = shop.replace("project=shop", "project=bank")
    add_project(bank)
    for address in (shop, bank):
        with RunStore.open(address, write=True) as store:
            store.start(run_info(f"run-of-{Address.parse(address).project}"), GOLDEN)
            run_id = store.find("latest").run_id
            store.record(run_id, [(0, "q", Response(), False)])
            store.ledger.set_baseline("main", run_id)
            store.ledger.add_experiment(Experiment(0, "2026-01-01", "", "t", "h", "w", run_id))
        with open_feedback(address, "git.example.com/a/b", write=True) as feedback:
            keys = feedback.keep([Mark("a.py::f", b"t", b"f")], 1.0).values()
            feedback.associate({"voucher": "voucher"}, keys)
            feedback.begin("session", {}, keys, 1.0)
    return {
        "reader": new_login(postgres, shop, "p_reader", "assay_shop_reader"),
        "writer": new_login(postgres, shop, "p_writer", "assay_shop_writer"),
        "both": new_login(postgres, shop, "p_both", "assay_shop_writer", "assay_bank_reader"),
        "stranger": new_login(postgres, shop, "p_stranger"),
        "owner": shop,
    }


TABLES = schema.TABLES


def test_a_reader_reads_and_cannot_write_by_any_way(people: dict[str, str]) -> None:
    with RunStore.open(people["reader"]) as store:
        assert [run.run_id for run in store.runs()] == ["run-of-shop"]
    with pytest.raises(AssayError, match="not permitted"), RunStore.open(people["reader"], write=True):
        pass
    for statement in (
        "UPDATE assay.eval_runs SET label = 'x'",
        "DELETE FROM assay.eval_query_results",
        "INSERT INTO assay.eval_golden (project, golden) VALUES ('shop', 'x')",
        "TRUNCATE assay.eval_judged",
        "DROP TABLE assay.eval_runs",
        "ALTER TABLE assay.eval_runs DISABLE ROW LEVEL SECURITY",
        "INSERT INTO assay.projects VALUES ('x', 'p_reader', 'p_reader')",
        "SET ROLE assay_shop_writer",
        "UPDATE assay.eval_baselines SET run_id = run_id",
        "DELETE FROM assay.eval_experiments",
        "UPDATE assay.symbols SET useful = 9",
        "DELETE FROM assay.sessions",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            execute(people["reader"], statement)


@pytest.mark.parametrize("table", [table for table in TABLES if table != "eval_judged"])
def test_a_project_cannot_see_or_change_rows_of_another(people: dict[str, str], table: str) -> None:
    select = f"SELECT DISTINCT project FROM assay.{table}"
    assert execute(people["writer"], select) == [("shop",)]
    assert (
        execute(people["writer"], f"UPDATE assay.{table} SET project = project WHERE project = 'bank' RETURNING 1")
        == []
    )
    assert execute(people["writer"], f"DELETE FROM assay.{table} WHERE project = 'bank' RETURNING 1") == []
    for role in ("assay_bank_reader", "assay_bank_writer", "owner"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            execute(people["writer"], f"SET ROLE {role}")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        execute(people["writer"], "INSERT INTO assay.eval_golden (project, golden) VALUES ('bank', 'x')")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        execute(people["writer"], f"UPDATE assay.{table} SET project = 'bank'")


def test_who_reads_another_project_still_cannot_write_it(people: dict[str, str]) -> None:
    assert execute(people["both"], "SELECT project FROM assay.eval_runs ORDER BY 1") == [("bank",), ("shop",)]
    assert execute(people["both"], "DELETE FROM assay.eval_query_results WHERE project = 'bank' RETURNING 1") == []
    bank = people["both"].replace("project=shop", "project=bank")
    with RunStore.open(bank) as store:
        assert [run.run_id for run in store.runs()] == ["run-of-bank"]
    with pytest.raises(AssayError, match="not permitted"), RunStore.open(bank, write=True):
        pass


def test_the_owner_sees_one_project_at_a_time_and_a_stranger_none(people: dict[str, str]) -> None:
    with RunStore.open(people["owner"]) as store:
        assert [run.run_id for run in store.runs()] == ["run-of-shop"]
    with pytest.raises(AssayError, match="GRANT assay_shop_reader"), RunStore.open(people["stranger"]):
        pass
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        execute(people["stranger"], "SELECT * FROM assay.eval_runs")


def test_an_owner_is_bound_by_the_policies_of_the_store(postgres: Cluster) -> None:
    address = owned_database(postgres, "boss", "owned")
    add_project(address)
    with pytest.raises(AssayError, match="GRANT assay_owned_reader"), RunStore.open(address):
        pass
    execute(address, "GRANT assay_owned_writer TO boss")
    with RunStore.open(address, write=True) as store:
        store.start(run_info("run"), GOLDEN)
    assert execute(address, "SELECT run_id FROM assay.eval_runs") == [("run",)]
    execute(address, "REVOKE assay_owned_writer FROM boss")
    assert execute(address, "SELECT run_id FROM assay.eval_runs") == []


def test_a_dump_by_a_login_that_bypasses_policies_is_restored_on_another_server(
    postgres: Cluster, durable: Cluster
) -> None:
    """The recipe of the guide: the owner cannot dump, roles are made again by `assay store init`."""
    programs = binaries()
    if programs is None or not (programs / "pg_dump").exists():
        pytest.skip("pg_dump is not installed")
    address = new_postgres_store(postgres, "saved")
    with RunStore.open(address, write=True) as store:
        store.start(run_info("run"), GOLDEN)
        store.ledger.set_baseline("main", "run")
    with open_feedback(address, "git.example.com/a/b", write=True) as feedback:
        feedback.keep([Mark("a.py::f", b"t", b"f")], 1.0)
    execute(address, "CREATE ROLE saver LOGIN BYPASSRLS PASSWORD 'pw-saver'; GRANT pg_read_all_data TO saver")
    uri = Address.parse(address.replace("owner:", "saver:").replace("s3cret%2Fowner", "pw-saver")).uri
    command = [str(programs / "pg_dump"), "--schema=assay", "--no-owner", uri]
    dump = subprocess.run(command, capture_output=True, check=True).stdout
    restored = durable.address(durable.new_database(), project="saved")
    command = [str(programs / "psql"), "--quiet", Address.parse(restored).uri]
    subprocess.run(command, input=dump, capture_output=True, check=True)
    add_project(restored)
    reader = new_login(durable, restored, "r_reader", "assay_saved_reader")
    with RunStore.open(reader) as store:
        assert [run.run_id for run in store.runs()] == ["run"]
        assert store.ledger.needed_runs() == {"run"}
    with open_feedback(reader, "git.example.com/a/b", write=False) as feedback:
        assert len(feedback.records()) == 1
    with pytest.raises(AssayError, match="not permitted"), RunStore.open(reader, write=True):
        pass


def test_a_server_that_is_read_only_is_named(postgres: Cluster) -> None:
    address = new_postgres_store(postgres, "standby")
    execute(address, f"ALTER DATABASE {re.search(r'/(d[0-9]+)', address)[1]} SET default_transaction_read_only = on")  # type: ignore[index]
    with pytest.raises(AssayError, match="the server is read-only"), RunStore.open(address, write=True) as store:
        store.start(run_info("run"), GOLDEN)


# --- migrations


def test_migrations_are_applied_once_by_processes_that_start_together(postgres: Cluster) -> None:
    address = Address.parse(postgres.address(postgres.new_database()))
    applied: list[int] = []

    def migrate() -> None:
        with storage.connect(address) as connection:
            applied.extend(schema.migrate(connection))

    threads = [threading.Thread(target=migrate) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert applied == list(range(1, len(schema.MIGRATIONS) + 1))


def test_a_failed_migration_changes_nothing(postgres: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    address = new_postgres_store(postgres)
    later = (*schema.MIGRATIONS, "CREATE TABLE assay.new (x int); SELECT no_such_function()")
    with monkeypatch.context() as patch, storage.connect(Address.parse(address)) as connection:
        patch.setattr(schema, "MIGRATIONS", later)
        with pytest.raises(psycopg.errors.UndefinedFunction):
            schema.migrate(connection)
    with RunStore.open(address) as store:
        assert store.runs() == []
    assert execute(address, "SELECT to_regclass('assay.new')") == [(None,)]


def _store_of_the_first_format(cluster: Cluster) -> str:
    """A store with a run, as the first version made it."""
    address = store_of_format(1, cluster.address(cluster.new_database(), project="before"))
    own = RunStore.in_memory()
    own.start(run_info("old", label="kept"), GOLDEN)
    own.record("old", [(0, "q", Response((Hit("d"),)), False)])
    with psycopg.connect(Address.parse(address).uri) as connection:
        for table in TABLES[:3]:
            names = [row[1] for row in own._db.rows(f"PRAGMA table_info({table})")]
            places = ", ".join(["%s"] * (len(names) + 1))
            statement = f"INSERT INTO assay.{table} (project, {', '.join(names)}) VALUES ({places})"
            for row in own._db.rows(f"SELECT {', '.join(names)} FROM {table}"):
                flags = {"answers": bool, "unstable": bool}
                values = [flags.get(name, lambda value: value)(value) for name, value in zip(names, row, strict=True)]
                connection.execute(statement.encode(), ("before", *values))
    return address


def test_a_migration_never_changes() -> None:
    digests = [hashlib.sha256(migration.encode()).hexdigest()[:16] for migration in schema.MIGRATIONS]
    assert digests == ["fb84844124dc4c16", "9990d67eb70017f9", "36cd3300e8076332"]


def test_a_store_of_the_version_before_is_refused_until_its_owner_migrates_it(
    postgres: Cluster, tmp_path: Path
) -> None:
    """What was there stays, and the roles of its project may use the new tables."""
    address = _store_of_the_first_format(postgres)
    reader = new_login(postgres, address, "b_reader", "assay_before_reader")
    writer = new_login(postgres, address, "b_writer", "assay_before_writer")
    refused = assay(tmp_path, "eval", "list", "--root", ".", "--runs", reader)
    assert refused.code == COULD_NOT_RUN
    assert "the store has format 1, this version of assay needs 3" in refused.err
    assert "assay store migrate" in refused.err
    denied = assay(tmp_path, "store", "migrate", writer)
    assert (denied.code, "not permitted" in denied.err) == (COULD_NOT_RUN, True)
    migrated = assay(tmp_path, "store", "migrate", address, "--format", "json")
    assert migrated.json["migrations"] == [2, 3]
    with RunStore.open(writer, write=True) as store:
        assert [run.label for run in store.runs()] == ["kept"]
        assert store.responses("old", 1) == [Response((Hit("d"),))]
        store.start(run_info("new"), GOLDEN)
        assert store.ledger.set_baseline("main", "new").author == "b_writer"
        store.ledger.add_experiment(Experiment(0, "2026-01-01", "", "t", "h", "w", "new"))
    with RunStore.open(reader) as store:
        assert [run.run_id for run in store.runs()] == ["old", "new"]
        assert store.ledger.needed_runs() == {"new"}
    with open_feedback(writer, "git.example.com/a/b", write=True) as feedback:
        assert feedback.keep([Mark("a.py::f", b"t", b"f")], 1.0)
    with open_feedback(reader, "git.example.com/a/b", write=False) as feedback:
        assert len(feedback.records()) == 1


@pytest.mark.parametrize(("more", "says"), [(1, "Its owner updates it with: assay store migrate"), (-1, "newer assay")])
def test_a_store_of_another_version_is_refused(
    postgres: Cluster, monkeypatch: pytest.MonkeyPatch, more: int, says: str
) -> None:
    address = new_postgres_store(postgres)
    monkeypatch.setattr(schema, "MIGRATIONS", ("",) * (len(schema.MIGRATIONS) + more))
    with pytest.raises(AssayError, match=says) as refused, RunStore.open(address):
        pass
    assert str(refused.value).startswith(str(Address.parse(address)))


# --- commands


@pytest.fixture(scope="module")
def bench(postgres: Cluster, tmp_path_factory: pytest.TempPathFactory) -> tuple[Workbench, str]:
    """A folder with two runs in a team's store, made by `assay eval run`; the store was made by `assay store init`."""
    bench = Workbench(tmp_path_factory.mktemp("team"))
    address = postgres.address(postgres.new_database(), project="team")
    made = assay(bench.folder, "store", "init", address)
    assert (made.code, made.err) == (DONE, "")
    assert 'GRANT "assay_team_writer" TO ada' in made.out
    assert "s3cret" not in made.out
    bench.questions(6)
    for label, rank in (("first", 1), ("second", 2)):
        spec = bench.ranking(label, {f"q{number}": rank for number in range(6)})
        bench.run(spec, "--label", label, "--runs", address)
    return bench, address


def test_every_command_reads_the_store_of_the_team(bench: tuple[Workbench, str]) -> None:
    folder, address = bench
    store = ["--runs", address]
    assert not (folder.folder / ".assay/runs.db").exists()
    assert [run["label"] for run in folder.json("list", *store)["runs"]] == ["first", "second"]
    assert folder.json("show", "first", *store)["metrics"]["RR@10"] == 1.0
    compared = folder.json("compare", "first", "second", *store)
    assert len(compared["per_query"]) == 6
    assert folder.eval("baseline", "set", "first", *store).code == DONE
    gated = folder.eval("gate", "second", "--min", "RR@10=0.9", *store)
    assert gated.code == QUALITY
    assert "s3cret" not in gated.out + gated.err
    assert folder.eval("gate", "first", *store).code == DONE
    report = folder.eval("report", "second", *store)
    assert report.code == DONE, report.err
    assert "question number 5" in next((folder.folder / ".assay/runs").glob("*/report.html")).read_text("utf-8")


def test_a_gate_compares_with_the_baseline_of_the_team(bench: tuple[Workbench, str], tmp_path: Path) -> None:
    """Whoever sets it: the baseline is in the store, not in the folder."""
    folder, address = bench
    store = ["--runs", address]
    shown = str(Address.parse(address))
    set_ = folder.json("baseline", "set", "first", *store)
    assert {name: set_[name] for name in ("name", "store")} == {"name": "main", "store": shown}
    colleague = Workbench(tmp_path)
    failed = colleague.eval("gate", "second", "--guard", "RR@10", *store)
    assert failed.code == QUALITY
    assert "FAIL  RR@10 against the baseline: RR@10 1.0000 → 0.5000" in failed.out
    assert "If this is intended, renew the baseline: assay eval baseline set" in failed.out
    assert "--name" not in failed.out
    colleague.questions(6)
    spec = colleague.ranking("third", {f"q{number}": 1 for number in range(6)})
    assert colleague.eval("gate", "--golden", "golden.jsonl", "--system", spec, *store).code == DONE
    assert colleague.eval("baseline", "set", "second", "--name", "weekly", *store).code == DONE
    assert colleague.eval("gate", "second", "--baseline", "weekly", *store).code == DONE
    assert len(colleague.json("compare", "first", "--baseline", "weekly", *store)["per_query"]) == 6
    listed = folder.json("baseline", "list", *store)["baselines"]
    assert [(baseline["name"], baseline["author"]) for baseline in listed] == [("main", "owner"), ("weekly", "owner")]
    assert folder.json("baseline", "show", *store)["run_id"] == set_["run_id"]
    assert folder.json("baseline", "show", "--name", "weekly", *store)["metrics"]["RR@10"] == 0.5
    assert folder.eval("baseline", "remove", "weekly", *store).code == DONE
    gone = folder.eval("baseline", "show", "--name", "weekly", *store)
    assert (gone.code, "no baseline called 'weekly'" in gone.err) == (COULD_NOT_RUN, True)
    own = folder.json("baseline", "set", "second", "--file", "mine.json", *store)["file"]
    assert folder.eval("gate", "second", "--baseline", own, *store).code == DONE
    assert not (folder.folder / "eval").exists()


def test_an_experiment_is_begun_by_one_and_concluded_by_another(bench: tuple[Workbench, str], tmp_path: Path) -> None:
    folder, address = bench
    store = ["--runs", address]
    asked = ["--hypothesis", "plural forms\nare missed", "--what", "stem words", "--before", "second"]
    opened = folder.json("experiment", "new", "stems", *asked, *store)
    assert (opened["number"], opened["log"]) == (1, str(Address.parse(address)))
    colleague = Workbench(tmp_path)
    concluded = colleague.eval("experiment", "conclude", "--after", "first", *store)
    assert concluded.code == DONE, concluded.err
    again = colleague.eval("experiment", "conclude", "--after", "first", *store)
    assert (again.code, "no experiment is open" in again.err) == (COULD_NOT_RUN, True)
    (row,) = folder.json("experiment", "list", *store)["experiments"]
    assert (row["title"], row["author"], row["open"]) == ("stems", "owner", False)
    text = folder.eval("experiment", "show", "1", *store).out
    assert text.strip() == concluded.out.strip()
    for line in (
        "## Experiment 1: stems",
        "**By:** owner",
        "**Hypothesis:** plural forms are missed",
        "RR@10 50.0% -> 100.0%",
    ):
        assert line in text
    assert folder.eval("experiment", "show", *store).out.startswith("# Experiments")
    unknown = folder.eval("experiment", "show", "7", *store)
    assert (unknown.code, "no experiment 7" in unknown.err) == (COULD_NOT_RUN, True)
    assert not (folder.folder / "EXPERIMENTS.md").exists()
    in_file = folder.json("experiment", "new", "mine", *asked, "--log", "mine.md", *store)
    assert (in_file["number"], in_file["log"]) == (1, "mine.md")
    assert [row["title"] for row in folder.json("experiment", "list", "--log", "mine.md", *store)["experiments"]] == [
        "mine"
    ]


def test_a_reader_of_the_team_gates_and_lists_but_sets_no_baseline(
    bench: tuple[Workbench, str], postgres: Cluster, tmp_path: Path
) -> None:
    folder, address = bench
    reader = ["--runs", new_login(postgres, address, "t_reader", "assay_team_reader")]
    folder.eval("baseline", "set", "first", "--runs", address)
    colleague = Workbench(tmp_path)
    assert colleague.eval("gate", "first", *reader).code == DONE
    assert colleague.json("baseline", "list", *reader)["baselines"]
    asked = ["--hypothesis", "h", "--what", "w"]
    for command in (["baseline", "set", "first"], ["baseline", "remove", "main"], ["experiment", "new", "t", *asked]):
        refused = colleague.eval(*command, *reader)
        assert refused.code == COULD_NOT_RUN
        assert "not permitted" in refused.err
        assert "GRANT assay_team_reader (or assay_team_writer) TO you" in refused.err
        assert len(refused.err.splitlines()) == 1


def test_the_store_is_chosen_by_option_then_variable_then_user_configuration(
    bench: tuple[Workbench, str], tmp_path: Path
) -> None:
    folder, address = bench
    (tmp_path / "config.toml").write_text(f'store = "{address}"\n[search]\nk = 3\n')
    configured = ENVIRONMENT | {"ASSAY_CONFIG_DIR": str(tmp_path)}
    listed = folder.eval("list", "--format", "json", env=configured)
    assert [run["label"] for run in listed.json["runs"]][:2] == ["first", "second"]
    other = configured | {"ASSAY_STORE": str(tmp_path / "other.db")}
    assert f"{tmp_path / 'other.db'}: no runs yet" in folder.eval("list", env=other).err
    assert "mine.db: no runs yet" in folder.eval("list", "--runs", "mine.db", env=other).err
    shown = assay(folder.folder, "config", env=configured)
    assert (shown.code, shown.err) == (DONE, "")
    assert "s3cret" not in shown.out
    relative = folder.eval("list", env=ENVIRONMENT | {"ASSAY_STORE": "runs.db"})
    assert relative.code == COULD_NOT_RUN
    assert "ASSAY_STORE: a store is postgresql://… or an absolute path, not 'runs.db'" in relative.err


def test_runs_move_to_the_team_and_back_and_are_checked_and_pruned(
    bench: tuple[Workbench, str], postgres: Cluster, tmp_path: Path
) -> None:
    _, address = bench
    own = Workbench(tmp_path)

    def store(*arguments: str, code: int = DONE) -> Done:
        done = assay(tmp_path, "store", *arguments)
        assert done.code == code, done.err + done.out
        assert "s3cret" not in done.out + done.err
        return done

    assert own.eval("baseline", "set", "first", "--runs", address).code == DONE
    first = store("copy", address, "copy.db", "--run", "first", "--run", "second").out
    assert first.startswith("copied 2 runs to copy.db; 0 were there")
    assert "baseline main" in first
    again = store("copy", address, "copy.db", "--run", "first", "--run", "second").out
    assert again == "copied 0 runs to copy.db; 2 were there\n"
    assert store("check", "--runs", "copy.db", "--against", address).out.endswith("all whole\n")
    assert ", 1 baseline, " in store("check", "--runs", address).out
    back = new_postgres_store(postgres, "back")
    assert len(store("copy", "copy.db", back, "--run", "second", "--format", "json").json["runs"]) == 1
    missing = store("check", "--runs", "copy.db", "--against", back, code=QUALITY)
    assert re.search(r"is missing in postgresql://owner@127.0.0.1:\d+/\w+\?project=back", missing.out)
    own.questions(2)
    own.run(own.ranking("new", {"q0": 1, "q1": 1}), "--runs", "copy.db")
    time.sleep(1.1)  # runs are dated to the second
    pruned = store("prune", "--runs", "copy.db", "--days", "0", "--dry-run", "--format", "json").json
    assert (len(pruned["deleted"]), pruned["kept"]) == (1, 2)
    assert store("prune", "--runs", "copy.db", "--days", "1").out == "deleted 0 runs, 3 stay\n"
    assert store("prune", "--runs", "copy.db", "--days", "0").out.endswith("deleted 1 run, 2 stay\n")
    named = {baseline["name"] for baseline in own.json("baseline", "list", "--runs", "copy.db")["baselines"]}
    assert named == {"main"}
    assert own.json("experiment", "list", "--runs", back)["experiments"] == []
    kept = store("prune", "--runs", back, "--days", "0", "--dry-run").out
    assert kept == "would delete feedback on 0 symbols and 0 runs, 1 stay\n"
    assert store("migrate", back).out.endswith("?project=back: up to date (format 3)\n")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda address: address.replace("owner:", "nobody:"), "the password is wrong or missing (connection failed"),
        (lambda address: re.sub("owner:[^@]*", "owner", address), "Keep it in ~/.pgpass"),
        (lambda address: re.sub(r"127.0.0.1:\d+", "no-such-host.invalid", address), "the server cannot be reached"),
        (lambda address: address.replace("project=team", "project=other"), "no project 'other'. The owner adds it"),
        (lambda address: address.replace("project=team", "project=T%20x"), "'T x': not the name of a project"),
        (lambda address: address.replace("/d", "/nowhere"), "does not exist"),
        (lambda address: re.sub(r":\d+/", ":1/", address), "the server cannot be reached (connection failed"),
        (lambda address: address + "&sslmode=bogus", "invalid sslmode value"),
        (lambda address: address + "&no_such_parameter=1", "no_such_parameter"),
        (lambda address: address + "&sslmode=require", "server does not support SSL"),
        (lambda address: address.replace("127.0.0.1", "[127.0.0.1"), "the address of the store cannot be read"),
    ],
)  # fmt: skip
def test_an_unusable_address_is_explained_without_its_password(
    bench: tuple[Workbench, str], change: Callable[[str], str], says: str
) -> None:
    folder, address = bench
    done = folder.refused("list", "--runs", change(address))
    assert done.code == COULD_NOT_RUN
    assert says in done.err
    assert len(done.err.splitlines()) == 1
    assert "s3cret" not in done.err


def test_one_persons_commands_never_load_the_driver(tmp_path: Path) -> None:
    folder = Workbench(tmp_path)
    folder.questions(2)
    folder.run(folder.ranking("own", {"q0": 1, "q1": 1}))
    code = "import sys; from assay.cli import cli; cli.main(sys.argv[1:], standalone_mode=False); print('psycopg' in sys.modules)"
    for arguments in (["eval", "list"], ["eval", "show"], ["store", "check"], ["store", "--help"]):
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        assert done.stdout.splitlines()[-1] == "False", done.stderr


def test_a_database_without_a_store_names_the_command_that_makes_one(
    bench: tuple[Workbench, str], postgres: Cluster
) -> None:
    empty = postgres.address(postgres.new_database(), project="team")
    assert "assay store init" in bench[0].refused("list", "--runs", empty).err


def test_a_sweep_in_several_processes_stores_its_runs_with_the_team(bench: tuple[Workbench, str]) -> None:
    folder, address = bench
    before = len(folder.json("list", "--runs", address)["runs"])
    folder.write("document.md", "# question number 1\n\nThe answer d1 is here.\n")
    assert assay(folder.folder, "index", ".").code == DONE
    options = ["--queries", "golden.jsonl", "--chunk-sizes", "256,512", "--embedders", "none", "--runs", address]
    swept = folder.json("sweep", *options, "--jobs", "2")
    assert swept["num_configs"] >= 2
    assert len(folder.json("list", "--runs", address)["runs"]) == before + swept["num_configs"]


def test_pages_read_the_store_of_the_team(bench: tuple[Workbench, str]) -> None:
    folder, address = bench
    with run_server(folder.folder, "--runs", address) as server:
        page = server.get("/runs").text
        assert "first" in page
        assert "s3cret" not in page
        assert "RR@10" in server.get("/compare?a=first&b=second").text
        assert len(server.get("/api/runs").json["runs"]) >= 2
        run_id = server.get("/api/runs").json["runs"][0]["run_id"]
        assert "question number 5" in server.get(f"/run?run={run_id}").text
