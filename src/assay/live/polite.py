"""The HTTP protocol of both servers: polite to those for whom there is no room, and patient only so long."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS = 512  # open at once; the next is told so and closed
HEADER_SECONDS = 10.0  # for a connection to send the head of a request
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
