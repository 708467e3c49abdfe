"""A model server on loopback, over real HTTP, with configurable answers and failures."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DROP = object()  # close the connection without an answer
CUT = object()  # announce more than is sent


@dataclass
class Stream:
    """A chat as server-sent events: texts become deltas, bytes are sent as they are. One that is not `whole` breaks off."""

    bits: list[str | bytes]
    done: bool = True  # end with [DONE]
    reason: str = "stop"  # why it ended, in the last delta
    whole: bool = True
    chunked: bool = True
    pause: float = 0.0  # seconds after each event


@dataclass
class Reply:
    """One response: status, headers, and a body (an object sent as JSON, bytes, a Stream, DROP or CUT)."""

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class ModelServer:
    """`script` is used up first, reply by reply; then `answer` is called with the path and the body."""

    answer: Callable[[str, dict[str, Any]], Any]
    script: list[Reply] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""


def _events(stream: Stream) -> Iterator[bytes]:
    for bit in stream.bits:
        yield bit if isinstance(bit, bytes) else _delta({"content": bit})
    if stream.whole and stream.reason:
        yield _delta({}, stream.reason)
    if stream.whole and stream.done:
        yield b"data: [DONE]\n\n"


def _delta(delta: dict[str, str], reason: str | None = None) -> bytes:
    event = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    return f"data: {json.dumps(event)}\n\n".encode()


@contextlib.contextmanager
def run_model_server(answer: Callable[[str, dict[str, Any]], Any]) -> Iterator[ModelServer]:
    """A server for the time of the block."""
    state = ModelServer(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.asked.append(body)
            state.paths.append(self.path)
            state.headers.append(dict(self.headers))
            reply = state.script.pop(0) if state.script else Reply(state.answer(self.path, body))
            if reply.body is DROP:
                self.connection.close()
                return
            if isinstance(reply.body, Stream):
                self.stream(reply.body)
                return
            data = (
                reply.body
                if isinstance(reply.body, bytes)
                else b"{"
                if reply.body is CUT
                else json.dumps(reply.body).encode()
            )
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data) + (100 if reply.body is CUT else 0)))
            self.end_headers()
            self.wfile.write(data)

        def stream(self, stream: Stream) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            if stream.chunked:
                self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for data in _events(stream):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if stream.chunked else data)
                self.wfile.flush()
                time.sleep(stream.pause)
            if stream.whole and stream.chunked:
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *arguments: Any) -> None:
            pass

        def handle(self) -> None:
            with contextlib.suppress(OSError, ValueError):
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
