"""Running the server: over stdin and stdout for one client, or over HTTP for several."""

from __future__ import annotations

import socket
import sys
from typing import Any

import anyio
import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

from assay.live.access import UNAUTHORIZED, Access
from assay.mcp.server import Serving

PATH = "/mcp"
_SESSIONS = 1_000  # open at once
_CONNECTIONS = 200  # more are told to come back later


def over_stdio(serving: Serving) -> None:
    """Until the client closes our stdin."""

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await serving.server.run(reading, writing, serving.server.create_initialization_options())

    anyio.run(run)


def over_http(serving: Serving, access: Access, listening: socket.socket) -> None:
    """Until it is interrupted."""
    app: Any = serving.server.streamable_http_app(
        streamable_http_path=PATH, transport_security=_security(access), max_sessions=_SESSIONS
    )
    print(f"assay: serving at http://{access.shown}:{listening.getsockname()[1]}{PATH}", file=sys.stderr, flush=True)
    settings = uvicorn.Config(
        _Guarded(app, access) if access.token else app,
        log_level="warning",
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(settings).run(sockets=[listening])


def _security(access: Access) -> TransportSecuritySettings:
    """Only our own names as Host and Origin, so that no page in a browser can ask; elsewhere the token sees to that."""
    if not access.is_local:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    names = dict.fromkeys((access.shown, "127.0.0.1", "localhost", "[::1]"))
    return TransportSecuritySettings(
        allowed_hosts=[f"{name}:*" for name in names], allowed_origins=[f"http://{name}:*" for name in names]
    )


class _Guarded:
    """An application that only those with the token reach: `Authorization: Bearer …`."""

    def __init__(self, app: Any, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not self._access.has_bearer(Headers(scope=scope)):
            refused = PlainTextResponse(f"{UNAUTHORIZED}\n", 401, {"WWW-Authenticate": "Bearer"})
            await refused(scope, receive, send)
        else:
            await self._app(scope, receive, send)
