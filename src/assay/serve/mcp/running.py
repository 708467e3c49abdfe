"""Running the server: over stdin and stdout for one client, or over HTTP for several."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections import OrderedDict
from typing import Any

import anyio
import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.serve.mcp.server import Serving
from assay.serve.watch.access import BACKLOG, UNAUTHORIZED, Access
from assay.serve.watch.keeper import Polite

PATH = "/mcp"
SESSIONS = 256  # open at once: more than the connections below, so that one that nobody uses can always make room
LARGEST_BODY = 1_048_576  # bytes of a request: the longest task and a hundred names fit many times
BODY_SECONDS = 30.0  # for a client to send the body of a request
_CONNECTIONS = 200  # more are told to come back later
_LARGEST_HEAD = 65_536  # bytes
_SESSION = b"mcp-session-id"


def over_stdio(serving: Serving) -> None:
    """Until the client closes our stdin."""

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await serving.server.run(reading, writing, serving.server.create_initialization_options())

    anyio.run(run)


def over_http(serving: Serving, access: Access, listening: socket.socket) -> None:
    """Until it is interrupted."""
    app: Any = serving.server.streamable_http_app(
        streamable_http_path=PATH,
        # its patterns take `localhost:1@evil.com` for `localhost:*`: the guard checks Host and Origin instead
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_sessions=SESSIONS,
        max_request_body_size=LARGEST_BODY,
    )
    print(f"assay: serving at http://{access.shown}:{listening.getsockname()[1]}{PATH}", file=sys.stderr, flush=True)
    settings = uvicorn.Config(
        Guard(Rooms(app), access),
        http=Polite,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=_LARGEST_HEAD,
    )
    uvicorn.Server(settings).run(sockets=[listening])


class Guard:
    """An ASGI application around another: lets through who may ask, when the whole request has come in time and is not too large."""

    def __init__(self, app: ASGIApp, access: Access, seconds: float = BODY_SECONDS) -> None:
        self._app, self._access, self._seconds = app, access, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refusal(scope)
        body = b""
        if refused is None:
            try:
                async with asyncio.timeout(self._seconds):
                    body = await _body(receive)
            except TimeoutError:
                refused = _said(408, f"the request was not complete within {self._seconds:g} seconds")
            except _TooLarge:
                refused = _said(413, f"the body is larger than {LARGEST_BODY:,} bytes")
        if refused is not None:
            await refused(scope, receive, send)
            return
        await self._app(scope, _replayed(body, receive), send)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is not to be heard; None for one that is."""
        headers, access = Headers(scope=scope), self._access
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not (access.is_addressed(hosts[0]) if access.token else access.answers_to(hosts[0])):
            return _said(421, "this server does not answer to that Host")
        if len(origins) > 1 or (origins and not access.allows_origin(origins[0], hosts[0], scope["scheme"])):
            return _said(403, "requests from the pages of other sites are refused")
        if access.token and not access.has_bearer(headers):
            return PlainTextResponse(f"{UNAUTHORIZED}\n", 401, {"WWW-Authenticate": "Bearer"})
        return None


class Rooms:
    """An ASGI application around the SDK's: when all sessions are taken, the one unused for longest makes room for a new one.

    Its client is answered 404 when it comes back, upon which clients begin a new session.
    """

    def __init__(self, app: ASGIApp, most: int = SESSIONS) -> None:
        self._app, self._most = app, most
        self._busy: OrderedDict[bytes, int] = OrderedDict()  # requests under way by session, the longest unused first
        self._opening = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        session = dict(scope["headers"]).get(_SESSION)
        if session is None:
            await self._open(scope, receive, send)
        elif session in self._busy:
            await self._use(session, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A request without a session, which may begin one."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                begun = dict(message["headers"]).get(_SESSION)
                if begun is not None:
                    self._busy.setdefault(begun, 0)
            await send(message)

        while len(self._busy) + self._opening >= self._most and await self._make_room():
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

        self._busy[session] += 1
        self._busy.move_to_end(session)
        try:
            await self._app(scope, receive, sending)
        finally:
            if ended:
                self._busy.pop(session, None)
            elif session in self._busy:
                self._busy[session] -= 1

    async def _make_room(self) -> bool:
        """End the session that nobody has used for longest, as its client would; return whether there was one."""
        session = next((session for session, requests in self._busy.items() if not requests), None)
        if session is None:
            return False
        del self._busy[session]
        headers = [(b"host", b"localhost"), (_SESSION, session)]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "method": "DELETE",
            "path": PATH, "raw_path": PATH.encode(), "root_path": "", "query_string": b"", "headers": headers,
        }  # fmt: skip
        await self._app(scope, _replayed(b"", _nothing), _unheard)
        return True


class _TooLarge(Exception):
    """A body larger than is read."""


async def _body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            raise _TooLarge
        if message["type"] != "http.request" or not message.get("more_body", False):
            return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that has come already, and then whatever comes."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receiving() -> Message:
        return pending.pop() if pending else await receive()

    return receiving


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


async def _unheard(_message: Message) -> None:
    """Whoever ended the session for its client reads no answer."""


def _said(status: int, line: str) -> Response:
    return PlainTextResponse(f"{line}\n", status, {"connection": "close"})
