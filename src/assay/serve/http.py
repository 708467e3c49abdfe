"""HTTP server of MCP and web: connection limit, header timeout, no trust in proxies. Needs the extra `web` or `mcp`."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from assay.serve.access import BACKLOG

LARGEST_HEAD = 65_536  # bytes: a task of 20,000 characters fits when URL-encoded
CONNECTIONS = 512  # open at once; further ones get a 503 and are closed
HEADER_SECONDS = 10.0  # for a client to send the request head
_FULL_BODY = b'{"error":"too many connections; try again in a moment"}'
_FULL_RESPONSE = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(_FULL_BODY), _FULL_BODY)
)


def serve(app: ASGIApp, listening: socket.socket, **options: Any) -> None:
    """Serve an application on a listening socket until Ctrl-C or SIGTERM; `options` are further ones of uvicorn."""
    config = uvicorn.Config(
        app,
        http=LimitedHttpProtocol,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        **options,
    )
    uvicorn.Server(config).run(sockets=[listening])


class LimitedHttpProtocol(H11Protocol):
    """HTTP/1.1 protocol that answers 503 beyond CONNECTIONS and closes connections without a request head in time."""

    _header_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            transport.write(_FULL_RESPONSE)
            transport.close()
            return
        self._start_header_timer()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        cycle = self.cycle
        super().data_received(data)
        if self.cycle is not cycle:  # the head is complete; the guard limits the time of the rest
            self._stop_header_timer()
        elif self.conn.their_state is h11.IDLE:  # the first bytes of a head
            self._start_header_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_header_timer()
        super().connection_lost(exc)

    def _start_header_timer(self) -> None:
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None
