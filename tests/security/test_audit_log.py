"""The audit log and standard error of a server: requests of strangers displace no entry, and cost bounded space and time."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from assay.serve import telemetry
from assay.serve.access import COOKIE, Access
from assay.serve.mcp.server import Guard as McpGuard
from assay.serve.telemetry import AuditLog, RequestRecord
from assay.serve.tokens import LOCAL, Identity, Tokens
from assay.serve.web.application import Guard as WebGuard
from support.repository import Repository
from support.waiting import PATIENCE
from support.web_server import run_server, write_files

ENTRIES = 42  # of an administrator
FLOOD = 3_000  # requests
LONG = 60_000  # bytes: what a request head may have


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "tokens.json")


def _entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _guard(kind: str, access: Access, log: AuditLog) -> McpGuard | WebGuard:
    if kind == "mcp":
        return McpGuard(_app, access, audit=log)
    return WebGuard(_app, access, records=[log.record])


async def _app(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})


async def _ask(guard: McpGuard | WebGuard, method: str = "GET", path: str = "/api/status", **headers: str) -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_message: Any) -> None:
        """Nobody reads the answer."""

    given = {"host": "localhost"} | {name.replace("_", "-"): value for name, value in headers.items()}
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode()[:50], "query_string": b"", "scheme": "http",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }  # fmt: skip
    await guard(scope, receive, send)


async def _flood(guard: McpGuard | WebGuard, bearer: str) -> None:
    for _ in range(ENTRIES):
        await _ask(guard, authorization=f"Bearer {bearer}")
    for number in range(FLOOD):
        long = "X" * LONG
        await _ask(guard, **({"method": long}, {"path": f"/{long}"}, {"host": long}, {"user_agent": long})[number % 4])
        await _ask(guard, path="/\x01\N{GRINNING FACE}" * 1_000, authorization=f"Bearer assay_{number:012x}_{'x' * 43}")


@pytest.mark.parametrize("kind", ["web", "mcp"])
def test_refused_requests_displace_no_entry(tmp_path: Path, tokens: Tokens, kind: str) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    bearer = tokens.create("ada", "admin")
    asyncio.run(_flood(_guard(kind, Access(tokens=tokens), log), bearer))
    assert [entry["name"] for entry in _entries(log.path)] == ["ada"] * ENTRIES
    assert len(log.tail(100)) == ENTRIES
    refused = log.tail(1_000, refused=True)
    assert all(entry.get("name", "") == "" for entry in refused)
    files = [path for path in tmp_path.iterdir() if path.name.startswith("audit.jsonl.refused")]
    minutes = 5  # at most, that the flood takes on a busy machine
    assert sum(path.stat().st_size for path in files) < 300_000 * minutes
    assert len(refused) < 120 * minutes
    assert FLOOD / minutes < max(int(str(entry.get("left_out", 0))) for entry in refused) < 2 * FLOOD


def test_every_field_of_an_entry_is_bounded(tmp_path: Path) -> None:
    log, long = AuditLog(tmp_path / "audit.jsonl"), "\x01" * LONG
    for identity in (Identity(long, long, long), None):
        log.record(RequestRecord(identity, long, long, 999, 1e9))
    for path in (log.path, Path(f"{log.path}.refused")):
        assert 0 < path.stat().st_size < telemetry._MAX_ENTRY


def test_the_next_minute_is_logged_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 6_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    log = AuditLog(tmp_path / "audit.jsonl")
    for _ in range(1_000):
        log.record(RequestRecord(None, "GET", "/api/status", 401, 0.1))
    assert log.tail(1, refused=True)[0]["left_out"] == 512  # further ones are told at 1,024
    now += 60.0
    log.record(RequestRecord(None, "GET", "/api/audit", 401, 0.1))
    assert log.tail(1, refused=True)[0]["path"] == "/api/audit"


def test_answers_that_need_no_token_are_in_no_log(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    log.record(RequestRecord(None, "GET", "/healthz", 200, 0.1))
    assert list(tmp_path.iterdir()) == []
    log.record(RequestRecord(None, "POST", "/login", 401, 0.1))
    assert [entry["path"] for entry in log.tail(9, refused=True)] == ["/login"]


@pytest.mark.parametrize("kind", ["web", "mcp"])
def test_without_tokens_a_page_of_another_site_is_not_the_user(tmp_path: Path, kind: str) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    guard = _guard(kind, Access(), log)
    for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
        asyncio.run(_ask(guard, **headers))
    asyncio.run(_ask(guard))
    assert [entry["name"] for entry in _entries(log.path)] == [LOCAL.name]
    assert [entry["name"] for entry in log.tail(9, refused=True)] == ["", ""]


def test_a_logger_that_anybody_can_fill_writes_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("assay.tests.few")
    logger.addFilter(telemetry.FewLines())
    for _ in range(2_000):
        logger.warning("Invalid HTTP request received: %s", "x")
    assert len(caplog.messages) < 100  # two minutes, if it took that long
    assert any(message.startswith("lines left out in this minute: ") for message in caplog.messages)


def test_broken_requests_leave_few_lines_and_no_traceback(tmp_path: Path, tokens: Tokens) -> None:
    """A login whose client hangs up, or whose chunks are broken, needs no token."""
    root = write_files(tmp_path / "shop")
    Repository(root).index()
    tokens.create("ada", "admin")
    with run_server(root, "--tokens", str(tokens.path)) as server:
        host = f"Host: {server.host}:{server.port}\r\n"
        login = f"POST /login HTTP/1.1\r\n{host}"
        for text in (
            f"{login}Content-Length: 100\r\n\r\nabc",
            f"{login}Transfer-Encoding: chunked\r\n\r\nzz\r\n",
            "nonsense\r\n\r\n",
            f"GET / HTTP/1.1\r\n{host}Upgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        ):
            for _ in range(40):
                with socket.create_connection((server.host, server.port), PATIENCE) as client:
                    client.sendall(text.encode())
                    client.shutdown(socket.SHUT_WR)
                    client.recv(1_000)
        assert server.get("/healthz").status == 200
        server.process.send_signal(signal.SIGTERM)
        assert server.process.stderr
        lines = server.process.stderr.read().splitlines()
    assert "Traceback (most recent call last):" not in lines
    assert any("lines left out" in line for line in lines)
    assert len(lines) < 100


def test_a_cookie_of_backslashes_is_read_in_linear_time() -> None:
    access = Access("0.0.0.0", token="t" * 32)
    started = time.process_time()
    assert access.identify({"cookie": f'{COOKIE}="{chr(92) * LONG}"'}) is None
    assert time.process_time() - started < 1.0  # 0.1 ms; http.cookies takes seconds
