"""Running the web server on a socket that listens."""

from __future__ import annotations

import socket

import uvicorn
from starlette.types import ASGIApp

from assay.live.access import BACKLOG
from assay.live.polite import Polite
from assay.serve.guard import LARGEST_HEAD

_IDLE_SECONDS = 10  # between two requests of a connection


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
