"""MCP over HTTP: host and origin checks, limits on sessions, and timeouts for slow or large requests."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.datastructures import Headers
from starlette.responses import Response

from assay.serve.access import Access
from assay.serve.mcp.server import LARGEST_BODY, SESSIONS, Guard
from assay.serve.web.application import Guard as WebGuard
from support.agents import http_server
from support.waiting import PATIENCE

PORT = 7070
OURS = ["localhost", "localhost:7070", "127.0.0.1:7070", "[::1]:7070", "LOCALHOST:7070"]
FOREIGN = [
    "",
    "localhost:1@evil.com",
    "localhost:@evil.com",
    "localhost:7070.evil.com",
    "localhost:9.evil.com",
    "localhost.evil.com",
    "localhost:7070:80",
    "evil.com#localhost",
    "evil.com@localhost",
    "localhost evil.com",
    "localhost,evil.com",
    "localhost/evil",
    "127.0.0.1.evil.com:80",
    "127.0.0.1@evil.com",
    "[::1]evil.com",
    "[::1]:1@evil.com",
    "[::1",
    "[localhost]",
    "localhost:٧",
    "localhost:123456",
    "localhost\x00",
]
FOREIGN_ORIGINS = [
    "http://localhost:9.evil.com",
    "http://localhost:7070.evil.com",
    "http://localhost:7070@evil.com",
    "http://localhost:1",
    "https://localhost:7070",
    "http://evil.com",
    "null",
    "localhost:7070",
    "http://localhost:7070/",
]
TOKEN = "t" * 32
ACCESSES = {"local": Access(), "local with a token": Access(token=TOKEN), "network": Access("0.0.0.0", TOKEN)}


def _scope(host: str, origin: str | None = None, token: bool = True) -> dict[str, object]:
    headers = [(b"host", host.encode())]
    headers += [(b"origin", origin.encode())] if origin is not None else []
    headers += [(b"authorization", f"Bearer {TOKEN}".encode())] if token else []
    return {
        "type": "http", "method": "POST", "path": "/mcp", "raw_path": b"/mcp", "query_string": b"", "scheme": "http",
        "headers": headers,
    }  # fmt: skip


async def _app(_scope: object, _receive: object, _send: object) -> None:
    """Nothing is behind the guard."""


def _refusal(guard: Guard | WebGuard, access: Access, scope: dict[str, object]) -> Response | None:
    """The error response of a request, by whoever sends it."""
    return guard._refusal(scope, access.identify(Headers(scope=scope)))


GUARDS: dict[str, type[Guard] | type[WebGuard]] = {"mcp": Guard, "serve": WebGuard}


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("access", ACCESSES)
def test_both_servers_answer_to_their_own_names_and_to_nothing_that_looks_like_them(guard: str, access: str) -> None:
    made = GUARDS[guard](_app, ACCESSES[access])
    for host in OURS:
        assert _refusal(made, ACCESSES[access], _scope(host)) is None, host
        assert _refusal(made, ACCESSES[access], _scope(host, f"http://{host}")) is None, host
    for host in FOREIGN:
        refused = _refusal(made, ACCESSES[access], _scope(host))
        named = guard == "mcp" and access == "network" and host in ("localhost.evil.com", "127.0.0.1.evil.com:80")
        assert (refused is None) == named, f"{host}: with the token any well-formed name will do, and nothing else"
    for origin in FOREIGN_ORIGINS:
        refused = _refusal(made, ACCESSES[access], _scope("localhost:7070", origin))
        assert refused is not None, origin
        assert refused.status_code == 403


@pytest.mark.parametrize("guard", GUARDS.values(), ids=GUARDS)
def test_two_hosts_are_none(guard: type[Guard | WebGuard]) -> None:
    scope = _scope("localhost")
    scope["headers"] = [(b"host", b"localhost"), *scope["headers"]]  # type: ignore[misc]
    refused = _refusal(guard(_app, Access()), Access(), scope)
    assert refused is not None


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root: Path = tmp_path_factory.mktemp("repository")
    (root / "a.py").write_text("def sluice():\n    return 1\n")
    with http_server(root) as found:
        yield found


class Client:
    """A client that speaks HTTP, and keeps one connection."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.path = parts.path
        self.connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 0, timeout=PATIENCE)

    def post(self, body: object, **headers: str) -> tuple[int, dict[str, str]]:
        sent = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        self.connection.request(
            "POST", self.path, json.dumps(body), sent | {k.replace("_", "-"): v for k, v in headers.items()}
        )
        reply = self.connection.getresponse()
        reply.read()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}

    def initialize(self) -> tuple[int, str]:
        parameters = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        status, headers = self.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters})
        return status, headers.get("mcp-session-id", "")

    def list_tools(self, session: str) -> int:
        asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
        return self.post(asked, mcp_session_id=session, mcp_protocol_version="2025-06-18")[0]


def test_hostile_hosts_and_origins_are_refused_by_the_running_server(url: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    assert Client(url).post(body, host="localhost:1@evil.com")[0] == 421
    assert Client(url).post(body, origin="http://localhost:9.evil.com")[0] == 403


def test_more_sessions_than_there_is_room_for_are_all_answered(url: str) -> None:
    client = Client(url)
    _, used = client.initialize()
    _, unused = client.initialize()
    for number in range(SESSIONS + 20):
        status, session = client.initialize()
        assert (status, bool(session)) == (200, True), f"session {number}"
        if number % 50 == 0:
            assert client.list_tools(used) == 200, "a session that is used stays"
    assert client.list_tools(session) == 200
    assert client.list_tools(used) == 200
    assert client.list_tools(unused) == 404, "the one unused for longest made room; its client begins a new one"


def test_a_body_that_is_too_large_is_refused(url: str) -> None:
    status, _ = Client(url).post("x" * (LARGEST_BODY + 1))
    assert status == 413


def test_a_client_that_does_not_finish_its_request_is_let_go() -> None:
    import asyncio

    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> dict[str, object]:
        await asyncio.sleep(60)
        raise AssertionError

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    asyncio.run(Guard(_app, Access(), seconds=0.05)(_scope("localhost", token=False), receive, send))
    assert sent[0]["status"] == 408


def test_a_connection_that_says_nothing_holds_up_nobody(url: str) -> None:
    parts = urlsplit(url)
    silent = [socket.create_connection((parts.hostname, parts.port), 5) for _ in range(50)]
    try:
        assert Client(url).initialize()[0] == 200
    finally:
        for one in silent:
            one.close()
