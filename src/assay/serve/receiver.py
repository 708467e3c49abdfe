"""Receiver of traces over OTLP/HTTP, on loopback: `POST /v1/traces`, JSON or protobuf, gzipped or not.

A request is answered when its spans are stored, so an exporter sends again what was lost. One thread stores: the bounds
are on what waits for it. Needs the extra `web`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sqlite3
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

from assay.api import Repository
from assay.errors import AssayError
from assay.serve.access import Access
from assay.serve.http import serve

if TYPE_CHECKING:
    from assay.index.enrich.ingest import Ingested, Ingestion

PATH = "/v1/traces"
LARGEST_BODY = 20_000_000  # bytes: the limit of the OpenTelemetry collector
_MOST_WAITING = 64_000_000  # bytes of bodies in memory; further requests get a 503, and exporters try again
_SECONDS = 60.0  # for receiving and storing one request
_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_ENCODINGS = ("", "identity", "gzip")  # gzip is recognized by its first bytes


class _Answer(NamedTuple):
    status: int
    message: str = ""


class Receiver:
    """ASGI application that adds what exporters send to the observed calls of a repository."""

    def __init__(self, repo: Repository, access: Access, report: Callable[[Ingested], None]) -> None:
        self._repo, self._access, self._report = repo, access, report
        self._store = ThreadPoolExecutor(1, thread_name_prefix="assay-traces")
        self._local = threading.local()
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            headers[name.decode("latin-1").lower()] = value.decode("latin-1")
        hosts = sum(name.lower() == b"host" for name, _ in scope["headers"])
        answer = self._refusal(scope, headers, hosts)
        if answer is None:
            try:
                async with asyncio.timeout(_SECONDS):
                    answer = await self._receive(receive, headers)
            except TimeoutError:
                answer = _Answer(503, f"not received and stored within {_SECONDS:g} seconds")
        await _send(send, answer, headers.get("content-type", ""))

    def _refusal(self, scope: Scope, headers: Mapping[str, str], hosts: int) -> _Answer | None:
        if hosts != 1 or not self._access.answers_to(headers["host"]):
            return _Answer(403, "this receiver does not answer to that Host")
        if "origin" in headers or headers.get("sec-fetch-site", "none") != "none":
            return _Answer(403, "requests from web pages are refused")
        if scope["path"] != PATH:
            return _Answer(404, f"traces are received at {PATH}")
        if scope["method"] != "POST":
            return _Answer(405, "exporters use POST")
        if headers.get("content-type", "").partition(";")[0].strip().lower() not in (_JSON, _PROTOBUF):
            return _Answer(415, f"send {_JSON} or {_PROTOBUF}")
        if headers.get("content-encoding", "").lower() not in _ENCODINGS:
            return _Answer(415, "send it gzipped or as it is")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            return _Answer(413, f"the body is larger than {LARGEST_BODY:,} bytes")
        return None

    async def _receive(self, receive: Receive, headers: Mapping[str, str]) -> _Answer:
        body, size = bytearray(), 0
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return _Answer(400, "disconnected")
                part = message.get("body", b"")
                if self._waiting + len(part) > _MOST_WAITING:
                    return _Answer(503, "too much at once; try again in a moment")
                self._waiting += len(part)
                size += len(part)
                if size > LARGEST_BODY:
                    return _Answer(413, f"the body is larger than {LARGEST_BODY:,} bytes")
                body += part
                if not message.get("more_body"):
                    break
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._store, self._ingest, bytes(body))
        finally:
            self._waiting -= size

    def _ingest(self, body: bytes) -> _Answer:
        try:
            ingested = self._ingestion().body(body, "request")
        except (AssayError, sqlite3.Error, OSError) as error:
            self._close()
            return _Answer(503, str(error))
        self._report(ingested)
        return _Answer(400, "; ".join(ingested.problems)) if ingested.problems else _Answer(200)

    def _ingestion(self) -> Ingestion:
        """Return the open stores of this thread, opened again when the index was updated."""
        version = tuple(member.home.current() for member in self._repo.members.values())
        if getattr(self._local, "version", None) != version:
            self._close()
            stack = contextlib.ExitStack()
            self._local.ingestion = stack.enter_context(self._repo.ingesting())
            self._local.stack, self._local.version = stack, version
        return self._local.ingestion  # type: ignore[no-any-return]

    def _close(self) -> None:
        if stack := getattr(self._local, "stack", None):
            self._local.stack, self._local.version = None, None
            with contextlib.suppress(AssayError, sqlite3.Error):
                stack.close()

    def close(self) -> None:
        """Store what was received, and close the stores."""
        self._store.submit(self._close)
        self._store.shutdown(wait=True)


async def _send(send: Send, answer: _Answer, requested: str) -> None:
    """Answer in the format of the request, as OTLP demands: an empty message, or the reason in plain text."""
    is_protobuf = requested.startswith(_PROTOBUF)
    content = b"" if is_protobuf else json.dumps({"message": answer.message} if answer.message else {}).encode()
    headers = [
        (b"content-type", (_PROTOBUF if is_protobuf else _JSON).encode()),
        (b"content-length", str(len(content)).encode()),
        (b"x-content-type-options", b"nosniff"),
    ]
    if answer.status == 503:
        headers.append((b"retry-after", b"1"))
    if answer.status == 413:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def run(app: ASGIApp, listening: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    serve(app, listening, loop="asyncio", lifespan="off", timeout_keep_alive=30, timeout_graceful_shutdown=3)
