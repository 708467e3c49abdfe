"""MCP transports: stdio for one client, HTTP for many, with request checks and a session limit."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections import OrderedDict
from typing import Any

import anyio
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.serve.access import UNAUTHORIZED, Access
from assay.serve.http import serve
from assay.serve.mcp.server import McpServer

PATH = "/mcp"
SESSIONS = 256  # open at once: more than connections, so that an idle one can always be evicted
LARGEST_BODY = 1_048_576  # bytes of a request: many times the longest task and a hundred names
BODY_SECONDS = 30.0  # for a client to send the request body
_CONNECTIONS = 200  # concurrent; further ones get a 503
_SESSION = b"mcp-session-id"


def serve_stdio(serving: McpServer) -> None:
    """Serve one client over stdin and stdout until it closes stdin."""

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await serving.server.run(reading, writing, serving.server.create_initialization_options())

    anyio.run(run)


def serve_http(serving: McpServer, access: Access, listening: socket.socket) -> None:
    """Serve over HTTP on a listening socket until interrupted."""
    app: Any = serving.server.streamable_http_app(
        streamable_http_path=PATH,
        # the SDK's patterns accept `localhost:1@evil.com` as `localhost:*`; Guard checks Host and Origin instead
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_sessions=SESSIONS,
        max_request_body_size=LARGEST_BODY,
    )
    print(f"assay: serving at http://{access.shown}:{listening.getsockname()[1]}{PATH}", file=sys.stderr, flush=True)
    serve(Guard(SessionLimiter(app), access), listening, limit_concurrency=_CONNECTIONS, timeout_graceful_shutdown=2)


class Guard:
    """ASGI middleware: checks Host, Origin and token, and limits body size and receive time."""

    def __init__(self, app: ASGIApp, access: Access, seconds: float = BODY_SECONDS) -> None:
        self._app, self._access, self._seconds = app, access, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        body = b""
        if refusal is None:
            try:
                async with asyncio.timeout(self._seconds):
                    body = await _read_body(receive)
            except TimeoutError:
                refusal = _error_response(408, f"the request was not complete within {self._seconds:g} seconds")
            except _TooLarge:
                refusal = _error_response(413, f"the body is larger than {LARGEST_BODY:,} bytes")
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self._app(scope, _replay_body(body, receive), send)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the error response of a request that is refused, else None."""
        headers, access = Headers(scope=scope), self._access
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not (access.is_addressed(hosts[0]) if access.token else access.answers_to(hosts[0])):
            return _error_response(421, "this server does not answer to that Host")
        if len(origins) > 1 or (origins and not access.allows_origin(origins[0], hosts[0], scope["scheme"])):
            return _error_response(403, "requests from the pages of other sites are refused")
        if access.token and not access.has_bearer(headers):
            return PlainTextResponse(f"{UNAUTHORIZED}\n", 401, {"WWW-Authenticate": "Bearer"})
        return None


class SessionLimiter:
    """ASGI middleware that evicts the least recently used idle session when the SDK's session limit is reached.

    The evicted client gets a 404 on its next request, after which MCP clients start a new session.
    """

    def __init__(self, app: ASGIApp, most: int = SESSIONS) -> None:
        self._app, self._limit = app, most
        self._requests: OrderedDict[bytes, int] = OrderedDict()  # session → running requests, least recently used first
        self._opening = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        session = dict(scope["headers"]).get(_SESSION)
        if session is None:
            await self._open(scope, receive, send)
        elif session in self._requests:
            await self._use(session, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request without a session, which may start one."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                new_session = dict(message["headers"]).get(_SESSION)
                if new_session is not None:
                    self._requests.setdefault(new_session, 0)
            await send(message)

        while len(self._requests) + self._opening >= self._limit and await self._evict_idle():
            pass
        self._opening += 1
        try:
            await self._app(scope, receive, sending)
        finally:
            self._opening -= 1

    async def _use(self, session: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        ended = False

        async def sending(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                ended = message["status"] == 404 or (scope["method"] == "DELETE" and message["status"] < 300)
            await send(message)

        self._requests[session] += 1
        self._requests.move_to_end(session)
        try:
            await self._app(scope, receive, sending)
        finally:
            if ended:
                self._requests.pop(session, None)
            elif session in self._requests:
                self._requests[session] -= 1

    async def _evict_idle(self) -> bool:
        """Delete the least recently used idle session as its client would; return False if all are busy."""
        session = next((session for session, requests in self._requests.items() if not requests), None)
        if session is None:
            return False
        del self._requests[session]
        headers = [(b"host", b"localhost"), (_SESSION, session)]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "method": "DELETE",
            "path": PATH, "raw_path": PATH.encode(), "root_path": "", "query_string": b"", "headers": headers,
        }  # fmt: skip
        await self._app(scope, _replay_body(b"", _disconnect), _discard)
        return True


class _TooLarge(Exception):
    """The request body exceeds LARGEST_BODY."""


async def _read_body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            raise _TooLarge
        if message["type"] != "http.request" or not message.get("more_body", False):
            return bytes(body)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that replays a body already read, then forwards."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receiving() -> Message:
        return pending.pop() if pending else await receive()

    return receiving


async def _disconnect() -> Message:
    return {"type": "http.disconnect"}


async def _discard(_message: Message) -> None:
    """Discard the response of an eviction."""


def _error_response(status: int, line: str) -> Response:
    return PlainTextResponse(f"{line}\n", status, {"connection": "close"})
