"""The store of a team: a repository cannot choose it, a strange server cannot hang us, a member cannot forge rows."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from assay.core.golden import Hit, Response
from assay.database.address import Address
from assay.errors import AssayError
from assay.evaluate.judging import judge
from assay.evaluate.matching import MATCHERS
from assay.evaluate.runs import RunStore
from support.command import assay
from support.postgres import Cluster, new_postgres_store
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
        started = time.monotonic()
        done = Workbench(tmp_path).refused("list", "--runs", f"postgresql://a@127.0.0.1:{port}/x?connect_timeout=2")
    assert "timeout" in done.err
    assert time.monotonic() - started < 30


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
