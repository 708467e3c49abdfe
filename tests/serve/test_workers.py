"""`assay serve --workers N`: shared limits and metrics, restarts after a crash, replacement without a refusal."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.serve.access import Access, listen
from assay.serve.board import CONNECTIONS, FIRST_FREE, REQUESTS, Board, board_file
from assay.serve.http import CONNECTIONS as MOST_CONNECTIONS
from assay.serve.telemetry import Metrics, RequestRecord, columns_of
from assay.serve.tokens import LOCAL, Tokens
from assay.serve.workers import supervisor
from assay.serve.workers.plan import Plan, Reread
from support.command import ENVIRONMENT
from support.processes import children, is_alive
from support.repository import Repository
from support.waiting import PATIENCE, until
from support.web_server import Server, run_server, write_files

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="worker processes are looked up in /proc")


def _workers(server: Server) -> set[int]:
    """The processes of workers: refreshes of the index are children, too."""
    pids = children(server.process.pid)
    return {pid for pid in pids if b"assay.serve.workers.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()}


def _metric(server: Server, name: str) -> float:
    match = re.search(rf"^{re.escape(name)} (\S+)$", server.get("/metrics").text, re.M)
    return float(match[1]) if match else 0.0


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write_files(tmp_path / "shop")
    Repository(root).index()
    return root


@contextlib.contextmanager
def _serving(root: Path, *options: str) -> Iterator[Server]:
    with run_server(root, "--workers", "2", *options) as server:
        until(lambda: _metric(server, "assay_workers") == 2)
        yield server


def test_rows_of_a_board_add_up_and_an_ended_process_leaves_only_its_counters() -> None:
    with board_file(2, columns_of({"/a"})) as file:
        boards = [Board(2, columns_of({"/a"}), row, file.fileno()) for row in range(2)]
        for number, board in enumerate(boards):
            board.row[CONNECTIONS], board.row[REQUESTS] = 3, number
            Metrics({"/a"}, board).record(RequestRecord(LOCAL, "GET", "/a", 200 + number, 0.02))
        assert (boards[0].total(CONNECTIONS), boards[1].total(REQUESTS)) == (6, 1)
        boards[0].clear(1)
        assert boards[1].total(CONNECTIONS) == 3
        text = Metrics({"/a"}, boards[0]).render()
        assert 'assay_requests_total{path="/a",status="200"} 1\n' in text
        assert 'assay_requests_total{path="/a",status="201"} 1\n' in text
        assert 'assay_request_seconds_count{path="/a"} 2\n' in text
        assert len(boards[0].row) > FIRST_FREE


def test_workers_share_metrics_and_a_crashed_one_is_started_again(shop: Path) -> None:
    with _serving(shop) as server:
        before = _workers(server)
        assert len(before) == 2
        assert {server.get("/api/context", task="total price").status for _ in range(20)} == {200}
        asked = 'assay_requests_total{path="/api/context",status="200"}'
        until(lambda: _metric(server, asked) == 20)  # a request is counted after its answer is sent
        os.kill(min(before), signal.SIGKILL)
        until(lambda: _metric(server, "assay_worker_restarts_total") == 1)
        until(lambda: _metric(server, "assay_workers") == 2)
        assert len(_workers(server) - before) == 1
        assert _metric(server, asked) == 20
        assert server.get("/api/context", task="total price").status == 200


def test_hangup_replaces_every_worker_and_no_request_fails(shop: Path) -> None:
    failures: list[str] = []
    done = threading.Event()

    def ask(keep: bool) -> None:
        connection = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
        while not done.is_set():
            try:
                connection.request("GET", "/api/symbols?pattern=Basket")
                response = connection.getresponse()
                if response.status != 200 or b"Basket" not in response.read():
                    failures.append(f"status {response.status}")
            except (OSError, http.client.HTTPException) as error:
                failures.append(repr(error))
                connection.close()
            if not keep:
                connection.close()

    with _serving(shop) as server:
        before = _workers(server)
        threads = [threading.Thread(target=ask, args=(bool(number % 2),)) for number in range(6)]
        for thread in threads:
            thread.start()
        server.process.send_signal(signal.SIGHUP)
        until(lambda: len(_workers(server)) == 2 and not _workers(server) & before)
        done.set()
        for thread in threads:
            thread.join()
    assert failures == []


def test_a_request_under_way_is_finished_when_the_server_stops(shop: Path) -> None:
    with _serving(shop) as server:
        body = json.dumps({"task": "total price"}).encode()
        head = f"POST /api/context HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection((server.host, server.port), PATIENCE) as link:
            link.sendall(head.encode() + body[:5])
            time.sleep(0.5)
            server.process.terminate()
            time.sleep(0.5)
            link.sendall(body[5:])
            answer = link.recv(65_536)
            assert answer.startswith(b"HTTP/1.1 200")
            assert b"connection: close" in answer.lower()
            server.process.wait(PATIENCE)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((server.host, server.port), 5)


def test_workers_end_when_their_supervisor_is_killed(shop: Path) -> None:
    with _serving(shop) as server:
        workers = _workers(server)
        server.process.kill()
        until(lambda: not any(map(is_alive, workers)))


def test_logins_and_revocations_hold_in_every_worker(shop: Path, tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    reader, audit = tokens.create("ada", "read"), tmp_path / "audit.jsonl"
    bearer = {"Authorization": f"Bearer {reader}"}
    with run_server(shop, "--workers", "2", "--tokens", str(tokens.path), "--audit", str(audit)) as server:
        until(lambda: "assay_workers 2.000" in server.get("/metrics", bearer).text)
        form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": server.address}
        login = server.ask("POST", "/login", form, f"token={reader}".encode()).headers["set-cookie"].split(";")[0]
        for headers in (bearer, {"Cookie": login}):
            assert {server.get("/api/status", headers).status for _ in range(20)} == {200}
        tokens.revoke("ada")
        for headers in (bearer, {"Cookie": login}):
            assert {server.get("/api/status", headers).status for _ in range(20)} == {401}
    logs = audit.read_text() + Path(f"{audit}.refused").read_text()
    entries = [json.loads(line) for line in logs.splitlines()]
    statuses = [entry["status"] for entry in entries if entry["path"] == "/api/status"]
    assert (statuses.count(200), statuses.count(401)) == (40, 40)


def test_every_worker_answers_from_the_newest_generation(shop: Path) -> None:
    with _serving(shop) as server:
        (shop / "shop" / "refund.py").write_text("def refund_everything():\n    return 0\n")

        def is_seen() -> bool:
            answers = [server.get("/api/symbols", pattern="refund_everything").json for _ in range(12)]
            return all(answer["total"] == 1 for answer in answers)

        until(is_seen)
        until(lambda: all(server.get("/api/context", task="refund").json["fresh"] for _ in range(12)))


def test_the_limit_of_connections_is_that_of_all_workers_together(shop: Path) -> None:
    with _serving(shop) as server, contextlib.ExitStack() as stack:
        links = [
            stack.enter_context(socket.create_connection((server.host, server.port), PATIENCE))
            for _ in range(MOST_CONNECTIONS + 40)
        ]
        for link in links:
            link.setblocking(False)
        refused: set[socket.socket] = set()

        def refuses_those_above() -> bool:
            for link in set(links) - refused:
                with contextlib.suppress(BlockingIOError):
                    if link.recv(100).startswith(b"HTTP/1.1 503"):
                        refused.add(link)
            return len(refused) >= 38  # two processes may count at the same moment

        until(refuses_those_above)
        time.sleep(0.5)
        refuses_those_above()
        assert len(refused) <= 44


def _plan(root: Path) -> Plan:
    from assay.config.roots import Root

    return Plan(
        Access(), [Root("", root)], None, None, False, root / "runs.db", None, None, reread=lambda: Reread("", [])
    )


def test_workers_that_never_start_are_given_up_with_a_reason(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    monkeypatch.setattr(supervisor, "_FIRST_PAUSE", 0.01)
    lines: list[str] = []
    with pytest.raises(AssayError, match="no worker starts"):
        supervisor.Supervisor(_plan(shop), listen("127.0.0.1", 0), 2, lines.append).run()
    assert re.fullmatch(r"worker \d+ ended \(exit code 1\); another one starts in 0\.01 s", lines[0])


def test_a_system_that_cannot_share_sockets_gets_a_clear_message(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "_SHARES_SOCKETS", False)
    with pytest.raises(AssayError, match="--workers needs Linux or macOS"):
        supervisor.Supervisor(_plan(shop), listen("127.0.0.1", 0), 2, print)


def test_several_processes_write_one_audit_log_and_lose_no_line_of_the_last_two_files(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib, assay.serve.telemetry as t; from assay.serve.tokens import LOCAL; t._MAX_AUDIT_BYTES = 40_000\n"
        "log = t.AuditLog(pathlib.Path(sys.argv[1]))\n"
        "for n in range(300): log.record(t.RequestRecord(LOCAL, sys.argv[2], f'/{n}', 200, 0.1))\n"
    )
    audit = tmp_path / "audit.jsonl"
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(audit), f"W{number}"], env=ENVIRONMENT)
        for number in range(4)
    ]
    assert [process.wait(PATIENCE) for process in processes] == [0] * 4
    before = Path(f"{audit}.1")
    assert before.stat().st_size > 40_000  # never replaced by a file that had just begun
    newest: dict[str, list[int]] = {}
    for line in (before.read_text() + audit.read_text()).splitlines():
        entry = json.loads(line)
        newest.setdefault(entry["method"], []).append(int(entry["path"][1:]))
    for numbers in newest.values():  # of every process, what is there is its last lines, all of them, in order
        assert numbers == list(range(numbers[0], 300))
