"""HTTP server of MCP and web: connection limit, header timeout, no trust in proxies. Needs the extra `web` or `mcp`."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from assay.serve.access import BACKLOG
from assay.serve.board import CONNECTIONS as CONNECTIONS_COLUMN
from assay.serve.board import Board
from assay.serve.telemetry import FewLines

LARGEST_HEAD = 65_536  # bytes: a task of 20,000 characters fits when URL-encoded
CONNECTIONS = 512  # open at once; further ones get a 503 and are closed
HEADER_SECONDS = 10.0  # for a client to send the request head
LINGER_SECONDS = 0.5  # of an idle connection when the server stops; a busy client sends its next request sooner
_ACCEPTED_AT_ONCE = 1  # connections by one of several processes, so that a burst is spread over all of them
_FULL_BODY = b'{"error":"too many connections; try again in a moment"}'
_FULL_RESPONSE = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(_FULL_BODY), _FULL_BODY)
)
# of loggers that write a line about a request before anybody is known
_FEW_LINES = {name: FewLines() for name in ("uvicorn.error", "asyncio", "assay.serve")}


def serve(
    app: ASGIApp,
    listening: socket.socket,
    board: Board | None = None,
    on_start: Callable[[], object] = lambda: None,
    **options: Any,
) -> None:
    """Serve an application on a listening socket until Ctrl-C or SIGTERM; `options` are further ones of uvicorn.

    Connections are counted on the board: CONNECTIONS limits those of all processes that share it.
    """
    config = uvicorn.Config(
        app,
        http=LimitedHttpProtocol,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=_ACCEPTED_AT_ONCE if board else BACKLOG,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        **options,
    )
    for name, few in _FEW_LINES.items():
        logging.getLogger(name).addFilter(few)
    if board:
        listening = _SharedSocket(fileno=listening.detach())
    _Server(config, board or Board(), on_start).run(sockets=[listening])


class _SharedSocket(socket.socket):
    """Listening socket whose queue keeps its length: asyncio's `backlog` is also how many it accepts at once."""

    def listen(self, _backlog: int = BACKLOG) -> None:
        super().listen(BACKLOG)


class _State(ServerState):
    """State of a server that all its connections see."""

    def __init__(self, board: Board) -> None:
        super().__init__()
        self.draining = False
        self.board = board


class _Server(uvicorn.Server):
    """Server that reports its start and lets clients with an open connection send one more request when it stops."""

    def __init__(self, config: uvicorn.Config, board: Board, on_start: Callable[[], object]) -> None:
        super().__init__(config)
        self.server_state: _State = _State(board)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.server_state.draining = True
        await super().shutdown(sockets)


class LimitedHttpProtocol(H11Protocol):
    """HTTP/1.1 protocol that answers 503 beyond CONNECTIONS and closes connections without a request head in time.

    When the server stops, a connection without a request has LINGER_SECONDS for one: a client that has just connected,
    or sends its next request, gets an answer, with `Connection: close`.
    """

    server_state: _State
    _header_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        board = self.server_state.board
        board.row[CONNECTIONS_COLUMN] = len(self.connections)
        if board.total(CONNECTIONS_COLUMN) > CONNECTIONS:
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
            if self.server_state.draining:
                self._answer_and_close()
        elif self.conn.their_state is h11.IDLE:  # the first bytes of a head
            self._start_header_timer()

    def shutdown(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._answer_and_close()
        else:
            self.loop.call_later(LINGER_SECONDS, self._close_if_idle)

    def _answer_and_close(self) -> None:
        """Close the connection after the answer under way, and say so in its head."""
        self.cycle.keep_alive = False
        if not self.cycle.response_started:
            self.cycle.default_headers = [*self.cycle.default_headers, (b"connection", b"close")]

    def _close_if_idle(self) -> None:
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_header_timer()
        super().connection_lost(exc)
        self.server_state.board.row[CONNECTIONS_COLUMN] = len(self.connections)

    def _start_header_timer(self) -> None:
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None
