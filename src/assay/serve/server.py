"""Listening: one socket, polite to those for whom there is no room, and patient only so long."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from assay.live.access import BACKLOG
from assay.serve.guard import LARGEST_HEAD

CONNECTIONS = 512  # open at once; the next is told so and closed
HEADER_SECONDS = 10.0  # for a connection to send the head of a request
_IDLE_SECONDS = 10  # between two requests of a connection
_BODY = b'{"error":"too many connections; try again in a moment"}'
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(_BODY), _BODY)
)


class Polite(H11Protocol):
    """Refuses connections beyond the limit with an answer, and closes those that do not say what they want."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            transport.write(_FULL)
            transport.close()
            return
        self._be_patient()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        cycle = self.cycle
        super().data_received(data)
        if self.cycle is not cycle:  # a head has come; how long the rest may take is the guard's business
            self._stop_waiting()
        elif self.conn.their_state is h11.IDLE:  # the beginning of one
            self._be_patient()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _be_patient(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


def run(app: ASGIApp, listening: socket.socket) -> None:
    """Serves until it is told to stop (Ctrl-C, SIGTERM)."""
    config = uvicorn.Config(
        app,
        http=Polite,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=3,
        h11_max_incomplete_event_size=LARGEST_HEAD,
    )
    uvicorn.Server(config).run(sockets=[listening])
