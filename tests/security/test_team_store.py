"""The store of a team: a repository cannot choose it, a strange server cannot hang us, a member cannot forge rows."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from assay.core.golden import Hit, Response
from assay.database import schema
from assay.database.address import Address
from assay.errors import AssayError
from assay.evaluate.judging import judge
from assay.evaluate.ledger import Experiment
from assay.evaluate.matching import MATCHERS
from assay.evaluate.runs import RunStore
from assay.feedback.marks import Mark
from assay.feedback.upkeep import open_feedback
from support.command import assay
from support.postgres import (
    Cluster,
    add_project,
    execute,
    new_login,
    new_postgres_store,
    owned_database,
    store_of_format,
)
from support.repository import Repository
from support.runs import GOLDEN, run_info
from support.workbench import COULD_NOT_RUN, Workbench


@contextlib.contextmanager
def _listening(answer: bytes | None) -> Iterator[tuple[int, list[bytes]]]:
    """A server that is no database: it answers every connection with these bytes, or never."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        received: list[bytes] = []
        opened: list[socket.socket] = []

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    opened.append(connection)
                    received.append(connection.recv(1000))
                    if answer is not None:
                        connection.sendall(answer)
                        connection.close()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1], received
        for connection in opened:
            connection.close()


@pytest.mark.parametrize("form", ['store = "{}"', '[store]\naddress = "{}"', 'store = ["{}"]'])
def test_a_repository_cannot_choose_the_store(repository: Repository, form: str) -> None:
    with _listening(b"") as (port, received):
        repository.write("assay.toml", form.format(f"postgresql://a:topsecret@127.0.0.1:{port}/x"))
        repository.write("a.py", "x = 1\n")
        listed = assay(repository.root, "eval", "list", "--root", ".")
        assert "no runs yet" in listed.err
        refused = assay(repository.root, "config", "--root", ".")
        assert refused.code == COULD_NOT_RUN
        assert "a repository cannot choose the run store" in refused.err
        assert "topsecret" not in refused.err
        assert received == []


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"E\xff\xff\xff\xff" + b"\x1b[2J" * 50, b"R" * 5000]
)
def test_a_server_that_is_no_database_is_one_line(tmp_path: Path, answer: bytes) -> None:
    with _listening(answer) as (port, _):
        done = Workbench(tmp_path).refused("list", "--runs", f"postgresql://a:topsecret@127.0.0.1:{port}/x")
    assert done.code == COULD_NOT_RUN
    assert len(done.err.splitlines()) == 1
    assert "\x1b" not in done.err
    assert "topsecret" not in done.err


def test_a_server_that_never_answers_is_given_up(tmp_path: Path) -> None:
    with _listening(None) as (port, _):
        done = Workbench(tmp_path).refused("list", "--runs", f"postgresql://a@127.0.0.1:{port}/x?connect_timeout=2")
    assert "timeout" in done.err


def test_another_machine_is_not_asked_without_encryption_unless_the_address_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from assay.database import postgres

    asked: list[dict[str, object]] = []

    def connect(**parameters: object) -> None:
        asked.append(parameters)
        raise psycopg.OperationalError("not now")

    monkeypatch.setattr(psycopg, "connect", connect)
    for uri, mode in (
        ("postgresql://a@db.example.com/x", "require"),
        ("postgresql://a@127.0.0.1,db.example.com/x", "require"),
        ("postgresql://a@db.example.com/x?sslmode=verify-full", "verify-full"),
        ("postgresql://a@db.example.com/x?sslmode=disable", "disable"),
        ("postgresql://a@localhost/x", None),
        ("postgresql:///x?host=/run/postgresql", None),
        ("postgresql:///x", None),
    ):
        with pytest.raises(psycopg.OperationalError):
            postgres.connect(Address.parse(uri))
        assert asked[-1].get("sslmode") == mode, uri


def _read_everything(store: RunStore) -> None:
    info = store.find("latest")
    store.golden(info)
    store.responses(info.run_id, 1)
    store.judged(info)


FORGERIES = [
    "UPDATE assay.eval_runs SET config = '[['",
    "UPDATE assay.eval_runs SET warnings = '{{}}'",
    "UPDATE assay.eval_runs SET created = NULL",
    "UPDATE assay.eval_golden SET queries = '\\x00ff'",
    "UPDATE assay.eval_golden SET queries = convert_to(repeat('[', 100000), 'UTF8')",
    "UPDATE assay.eval_query_results SET hits = '{{\"id\": 1}}'",
    "UPDATE assay.eval_query_results SET position = 7; DELETE FROM assay.eval_judged",
    "UPDATE assay.eval_query_results SET position = -7; DELETE FROM assay.eval_judged",
    "UPDATE assay.eval_judged SET kind = '|O'",
    "UPDATE assay.eval_judged SET kind = '<M8[ns]'",
    "UPDATE assay.eval_judged SET data = '\\x00'",
    "DELETE FROM assay.eval_judged WHERE name = 'queries'",
    "DELETE FROM assay.eval_judged WHERE name <> 'queries'",
]


@pytest.mark.parametrize("statement", FORGERIES)
def test_rows_that_a_member_forged_are_refused_in_a_line(postgres: Cluster, tmp_path: Path, statement: str) -> None:
    address = new_postgres_store(postgres)
    response = Response((Hit("d"),))
    with RunStore.open(address, write=True) as store:
        store.start(run_info("run"), GOLDEN)
        store.record("run", [(0, "q", response, False)])
        store.save_judged("run", "doc", judge(GOLDEN.queries, [response], MATCHERS["doc"], "doc"))
        store.update("run", status="complete")
    with psycopg.connect(Address.parse(address).uri) as member:
        member.execute("SET ROLE assay_shop_writer")
        for part in statement.split(";"):
            member.execute(part.replace("{{", "{").replace("}}", "}").encode())
    with pytest.raises(AssayError) as refused, RunStore.open(address) as store:
        _read_everything(store)
    assert str(refused.value).startswith(str(Address.parse(address)))


def test_control_characters_of_a_member_do_not_reach_a_terminal(postgres: Cluster, tmp_path: Path) -> None:
    address = new_postgres_store(postgres)
    with RunStore.open(address, write=True) as store:
        store.start(run_info("run", label="\x1b[2Jlabel", system="\x1b]0;x\x07"), GOLDEN)
    done = assay(tmp_path, "eval", "list", "--root", ".", "--runs", address)
    assert "\x1b" not in done.out + done.err
    pruned = assay(tmp_path, "store", "prune", "--days", "1", "--dry-run", "--root", ".", "--runs", address)
    assert "\x1b" not in pruned.out + pruned.err


# rows of another project: nothing that a login makes takes the place of what policies and their functions use


def _fill(address: str) -> None:
    """Store a run and feedback in a project, as one of its writers."""
    with RunStore.open(address, write=True) as store:
        run_id = store.start(run_info("run"), GOLDEN).run_id
        store.record(run_id, [(0, "q", Response((Hit("d"),)), False)])
        store.save_judged(run_id, "doc", judge(GOLDEN.queries, [Response()], MATCHERS["doc"], "doc"))
        store.ledger.set_baseline("main", run_id)
        store.ledger.add_experiment(Experiment(0, "2026-01-01", "", "t", "h", "w", run_id))
    with open_feedback(address, "git.example.com/a/b", write=True) as feedback:
        keys = feedback.keep([Mark("a.py::f", b"t", b"f")], 1.0).values()
        feedback.associate({"voucher": "voucher"}, keys)
        feedback.begin("session", {}, keys, 1.0)


def _two_projects(cluster: Cluster) -> str:
    shop = new_postgres_store(cluster)
    bank = shop.replace("project=shop", "project=bank")
    add_project(bank)
    _fill(shop)
    _fill(bank)
    return shop


@pytest.fixture(scope="module", params=["as it is made", "without the search path of its functions"])
def attacked(request: pytest.FixtureRequest, postgres: Cluster) -> dict[str, str]:
    """A store of two projects, and a writer and a reader of one who may also make objects in schemas on their path.

    Without its search path a function is safe only because every name in it has a schema.
    """
    shop, unset = _two_projects(postgres), "without" in request.param
    people = {role: f"{role}_{'unset' if unset else 'set'}" for role in ("writer", "reader")}
    execute(shop, "GRANT CREATE ON SCHEMA public TO PUBLIC")
    for role, name in people.items():
        people[role] = new_login(postgres, shop, name, f"assay_shop_{role}")
        execute(shop, f"CREATE SCHEMA {name} AUTHORIZATION {name}")
    for function in ("readable", "writable") if unset else ():
        execute(shop, f"ALTER FUNCTION assay.{function}() RESET search_path")
    return people


_ALL = "ARRAY['bank','shop']::pg_catalog.text[]"
_MY_ROLES = "SELECT m.oid, r.rolname FROM pg_catalog.pg_roles r, pg_catalog.pg_roles m WHERE m.rolname = '{me}'"
_MY_PROJECTS = (
    "SELECT project, 'assay_shop_reader'::name AS reader, 'assay_shop_writer'::name AS writer FROM assay.projects"
)
# what takes the place of another object, made in a schema {at} by the login {me}
SHADOWS = {
    "table pg_roles": f"CREATE TABLE {{at}}.pg_roles AS {_MY_ROLES}",
    "view pg_roles": f"CREATE VIEW {{at}}.pg_roles AS {_MY_ROLES}",
    "table projects": f"CREATE TABLE {{at}}.projects AS {_MY_PROJECTS}",
    "view projects": f"CREATE VIEW {{at}}.projects AS {_MY_PROJECTS}",
    "function pg_has_role": "CREATE FUNCTION {at}.pg_has_role(oid, text) RETURNS bool LANGUAGE sql AS 'SELECT true'",
    "function array_agg": f"CREATE FUNCTION {{at}}.step(text[], text) RETURNS text[] LANGUAGE sql AS $$SELECT {_ALL}$$;"
    "CREATE AGGREGATE {at}.array_agg(text) (SFUNC = {at}.step, STYPE = text[])",
    "function readable": f"CREATE FUNCTION {{at}}.readable() RETURNS text[] LANGUAGE sql AS $$SELECT {_ALL}$$;"
    f"CREATE FUNCTION {{at}}.writable() RETURNS text[] LANGUAGE sql AS $$SELECT {_ALL}$$",
    "function current_setting": "CREATE FUNCTION {at}.current_setting(text, bool) RETURNS text LANGUAGE sql AS $$SELECT 'bank'$$",
    "operator = of names": "CREATE FUNCTION {at}.yes(name, name) RETURNS bool LANGUAGE sql AS 'SELECT true';"
    "CREATE OPERATOR {at}.= (FUNCTION = {at}.yes, LEFTARG = name, RIGHTARG = name)",
    "operator = of texts": "CREATE FUNCTION {at}.yes(text, text) RETURNS bool LANGUAGE sql AS 'SELECT true';"
    "CREATE OPERATOR {at}.= (FUNCTION = {at}.yes, LEFTARG = text, RIGHTARG = text)",
    "type text": "CREATE DOMAIN {at}.text AS varchar",
    "type text[]": "CREATE DOMAIN {at}._text AS varchar",
    "type name": "CREATE DOMAIN {at}.name AS varchar",
    "type bool": "CREATE DOMAIN {at}.bool AS varchar",
}
_EVERY_PROJECT = " UNION ".join(f"SELECT project FROM assay.{table}" for table in schema.TABLES)


def _refused(member: psycopg.Connection, statement: str) -> bool:
    """Return whether row-level security, or a missing right, refuses a statement."""
    try:
        with member.transaction():
            member.execute(statement.encode())
    except psycopg.errors.InsufficientPrivilege:
        return True
    return False


@pytest.mark.parametrize("shadow", SHADOWS)
def test_no_object_of_a_login_opens_another_project(attacked: dict[str, str], shadow: str) -> None:
    for role, address in attacked.items():
        name = address.split("//")[1].partition(":")[0]
        for at in ("pg_temp", "public", name):
            with psycopg.connect(Address.parse(address).uri) as member:
                member.execute(SHADOWS[shadow].format(at=at, me=name).encode())
                member.execute(f"SET search_path = {at}, pg_catalog".encode())
                seen = member.execute(_EVERY_PROJECT.encode()).fetchall()
                assert seen == [("shop",)], at
                for table in schema.TABLES if role == "writer" else ():
                    for change in (f"UPDATE assay.{table} SET project = project", f"DELETE FROM assay.{table}"):
                        changed = member.execute(f"{change} WHERE project OPERATOR(pg_catalog.<>) 'shop'".encode())
                        assert changed.rowcount == 0, (change, at)
                assert _refused(member, "INSERT INTO assay.eval_golden (project, golden) VALUES ('bank', 'x')"), at
                member.rollback()


def test_policies_use_only_the_schema_and_the_catalogue(postgres: Cluster) -> None:
    """Stored expressions are parsed: they name objects, which dependencies list unless they are PostgreSQL's own."""
    address = new_postgres_store(postgres)
    used = execute(
        address,
        "SELECT DISTINCT pg_describe_object(refclassid, refobjid, 0) FROM pg_depend "
        "WHERE classid IN ('pg_policy'::regclass, 'pg_attrdef'::regclass, 'pg_proc'::regclass, 'pg_constraint'::regclass) "
        "AND refclassid NOT IN ('pg_class'::regclass, 'pg_constraint'::regclass) "
        "AND refobjid >= 16384 ORDER BY 1",  # objects of users begin at 16384
    )
    assert used == [("function assay.readable()",), ("function assay.writable()",), ("schema assay",)]


def test_only_two_functions_run_with_the_rights_of_who_asks(postgres: Cluster) -> None:
    address = new_postgres_store(postgres)
    functions = execute(
        address,
        "SELECT proname::text, prosecdef, proconfig FROM pg_proc WHERE pronamespace = 'assay'::regnamespace ORDER BY 1",
    )
    path = ["search_path=pg_catalog, pg_temp"]
    assert functions == [("readable", False, path), ("writable", False, path)]
    kinds = execute(address, "SELECT DISTINCT relkind::text FROM pg_class WHERE relnamespace = 'assay'::regnamespace")
    assert {kind for (kind,) in kinds} == {"r", "i", "S"}  # tables, indexes, sequences: no view
    of_tables = "(SELECT oid FROM pg_class WHERE relnamespace = 'assay'::regnamespace)"
    assert execute(address, f"SELECT tgname FROM pg_trigger WHERE tgrelid IN {of_tables} AND NOT tgisinternal") == []
    assert execute(address, f"SELECT rulename FROM pg_rewrite WHERE ev_class IN {of_tables}") == []


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_a_member_makes_nothing_in_the_schema_and_sets_no_sequence(postgres: Cluster, role: str) -> None:
    address = new_postgres_store(postgres)
    member = new_login(postgres, address, f"maker_{role}", f"assay_shop_{role}")
    for statement in (
        "CREATE TABLE assay.pg_roles (x int)",
        "CREATE VIEW assay.pg_roles AS SELECT 1",
        "CREATE FUNCTION assay.pg_has_role(oid, text) RETURNS bool LANGUAGE sql AS 'SELECT true'",
        "CREATE TYPE assay.text AS (x int)",
        "CREATE SEQUENCE assay.mine",
        "CREATE OR REPLACE FUNCTION assay.readable() RETURNS text[] LANGUAGE sql AS 'SELECT NULL::text[]'",
        "ALTER FUNCTION assay.readable() RESET search_path",
        "CREATE TRIGGER t BEFORE INSERT ON assay.eval_runs FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "SELECT setval('assay.eval_runs_number_seq', 1)",
        "SELECT nextval('assay.symbols_key_seq')",
    ):
        with psycopg.connect(Address.parse(member).uri) as connection:
            assert _refused(connection, statement), statement


def test_a_schema_of_somebody_else_becomes_no_store(postgres: Cluster, tmp_path: Path) -> None:
    """Whoever owns the schema could put a trigger on its tables that runs with the rights of `store init`."""
    database = postgres.new_database()
    address = postgres.address(database, project="shop")
    execute(address, "CREATE ROLE mallory LOGIN; CREATE SCHEMA assay AUTHORIZATION mallory")
    done = assay(tmp_path, "store", "init", address)
    assert done.code == COULD_NOT_RUN
    assert "the schema 'assay' belongs to mallory" in done.err
    assert execute(address, "SELECT to_regclass('assay.migrations')") == [(None,)]


# the owner of a store


def _memberships(address: str, name: str) -> list[tuple[object, ...]]:
    return execute(
        address,
        "SELECT r.rolname::text FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid "
        f"WHERE m.member = '{name}'::regrole ORDER BY 1",
    )


def test_an_owner_lets_others_in_and_is_in_no_project(postgres: Cluster, tmp_path: Path) -> None:
    address = owned_database(postgres, "keeper", "kept")
    for _ in range(2):  # the second time repairs
        assert assay(tmp_path, "store", "init", address).code == 0
    assert assay(tmp_path, "store", "init", address.replace("=kept", "=other")).code == 0
    assert _memberships(address, "keeper") == []
    writer = new_login(postgres, address, "kept_writer", "assay_kept_writer")
    _fill(writer)
    with (
        RunStore.open(writer, write=True) as store,
        open_feedback(writer, "git.example.com/a/b", write=True) as feedback,
    ):
        store.ledger.remove_baseline("main")
        store.delete([store.find("latest")])  # foreign keys are checked, and cascade, without the owner's rights
        feedback.drop_everything()
        assert store.runs() == []
    assert execute(writer, "SELECT count(*) FROM assay.vocabulary") == [(0,)]
    assert assay(tmp_path, "store", "migrate", address).out.endswith(f"up to date (format {len(schema.MIGRATIONS)})\n")


def _former_store(cluster: Cluster, owner: str, project: str) -> tuple[str, str]:
    """A store of format 2 with two projects, its owner a member of the writers; its address, and that of a writer of one."""
    address = store_of_format(2, owned_database(cluster, owner, project))
    execute(
        address,
        f"CREATE ROLE {project}_other NOLOGIN; INSERT INTO assay.projects VALUES ('other', '{project}_other', '{project}_other');"
        f"GRANT {project}_other TO {owner}; INSERT INTO assay.eval_golden (project, golden) VALUES ('other', 'secret')",
    )
    return address, new_login(cluster, address, f"{project}_ada", f"assay_{project}_writer")


def test_a_migration_closes_a_store_that_sees_temporary_tables(postgres: Cluster, tmp_path: Path) -> None:
    address, ada = _former_store(postgres, "former", "one")

    def stolen() -> list[tuple[object, ...]]:
        with psycopg.connect(Address.parse(ada).uri) as member:
            member.execute(SHADOWS["table pg_roles"].format(at="pg_temp", me="one_ada").encode())
            return member.execute("SELECT golden FROM assay.eval_golden").fetchall()

    assert stolen() == [("secret",)]  # the test can tell
    migrated = assay(tmp_path, "store", "migrate", address)
    assert (migrated.code, migrated.err) == (0, "")
    assert stolen() == []
    assert _memberships(address, "former") == []
    assert execute(address, "SELECT golden FROM assay.eval_golden") == []
    _fill(ada)


def test_a_membership_that_cannot_be_revoked_is_named(postgres: Cluster, tmp_path: Path) -> None:
    address, _ = _former_store(postgres, "weak", "two")
    execute(postgres.address("postgres"), "ALTER ROLE weak NOCREATEROLE")
    migrated = assay(tmp_path, "store", "migrate", address)
    assert migrated.code == 0
    assert "one who may manage roles ends that with: REVOKE assay_two_writer FROM weak" in migrated.err
    assert ("assay_two_writer",) in _memberships(address, "weak")
