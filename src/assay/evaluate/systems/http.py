"""`http:URL`: a retriever behind an address. It is sent the query as JSON, or in the address where that has a `{query}`."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import OpenerDirector, ProxyHandler, Request, build_opener

from assay.config.servers import is_loopback
from assay.core.golden import Response
from assay.errors import AssayError
from assay.evaluate.systems.protocol import (
    OUTPUT_LIMIT,
    PLACEHOLDER,
    Base,
    SystemDied,
    SystemFailed,
    finished,
    one_line,
    placeholders,
    require_budget,
)
from assay.evaluate.systems.shape import parse

_CHUNK = 1 << 16
_COMPLAINT = 1 << 12  # bytes of an error page that are read


def open(root: Path, corpus: Path | None, argument: str, timeout: float) -> Endpoint:
    """An endpoint from its address, written `http://host/…`, `http:host/…` or `http:https://host/…`."""
    scheme, _, rest = argument.partition(":")
    url = rest if "://" in rest else f"{scheme}:{rest}" if rest.startswith("//") else f"{scheme}://{rest}"
    try:
        address = urlsplit(PLACEHOLDER.sub("0", url))
        host, port = address.hostname, address.port
    except ValueError as error:
        raise AssayError(f"system '{argument}': {error}") from None
    if not host or port == 0 or address.scheme not in ("http", "https"):
        raise AssayError(f"system '{argument}' is no address; write for example http://127.0.0.1:8000/search")
    if address.username is not None:
        raise AssayError(
            "a password in an address would be stored with every run; send it from a command instead, for example "
            'cmd:curl -s -H "Authorization: Bearer $TOKEN" … , which keeps the variable\'s name only'
        )
    return Endpoint(argument, url, host, root, timeout)


class Endpoint(Base):
    """An HTTP endpoint that is asked once for each query."""

    def __init__(self, spec: str, url: str, host: str, root: Path, timeout: float) -> None:
        super().__init__(spec)
        self._url, self._root, self._timeout = url, root, timeout
        self._in_address = "query" in PLACEHOLDER.findall(url)
        self._opener = _opener(host)

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        require_budget(self._url, budget)
        request = self._request(text, k, budget, repository)
        try:
            body, seconds = _within(self._timeout, lambda: _fetch(self._opener, request, self._timeout))
        except TimeoutError:
            raise SystemFailed(f"no answer within {self._timeout:g} s") from None
        return finished(parse(body.decode("utf-8", "replace")), k, seconds)

    def _request(self, text: str, k: int, budget: int | None, repository: str) -> Request:
        """The request for one query: GET where the address holds it, else POST."""
        values = placeholders(text, k, budget, repository, self._root)
        url = PLACEHOLDER.sub(lambda found: quote(values[found[1]], safe="", errors="replace"), self._url)
        headers = {"Accept": "application/json", "User-Agent": "assay"}
        if self._in_address:
            return Request(url, headers=headers)
        asked = {"query": text, "k": k, "budget": budget, "repository": repository}
        return Request(url, json.dumps(asked).encode(), headers | {"Content-Type": "application/json"})


def _opener(host: str) -> OpenerDirector:
    """Goes through the environment's proxies, but never to reach this very machine."""
    return build_opener(ProxyHandler({}) if is_loopback(host) else ProxyHandler())


def _fetch(opener: OpenerDirector, request: Request, timeout: float) -> tuple[bytes, float]:
    """The body of an answer, and the seconds it took. Every way to fail says what happened in one line."""
    started = time.perf_counter()
    try:
        with opener.open(request, timeout=timeout) as reply:
            body = _read(reply, started + timeout)
    except HTTPError as error:
        with error:
            said = one_line(error.read(_COMPLAINT).decode("utf-8", "replace"))
        raise SystemFailed(f"HTTP {error.code} {error.reason}{': ' if said else ''}{said}") from None
    except URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise TimeoutError from None
        gone = isinstance(error.reason, ConnectionRefusedError | socket.gaierror)
        kind = SystemDied if gone else SystemFailed
        raise kind(f"cannot reach {urlsplit(request.full_url).netloc}: {error.reason}") from None
    except (http.client.HTTPException, ConnectionError, ValueError) as error:
        raise SystemFailed(f"the connection broke: {type(error).__name__} {one_line(str(error))}".rstrip()) from None
    return body, time.perf_counter() - started


def _read(reply: http.client.HTTPResponse, deadline: float) -> bytes:
    """The whole body, unless it is too large or comes too slowly."""
    body = bytearray()
    while chunk := reply.read1(_CHUNK):
        body += chunk
        if len(body) > OUTPUT_LIMIT:
            raise SystemFailed(f"sent more than {OUTPUT_LIMIT >> 20} MB; send the best results only")
        if time.perf_counter() > deadline:
            raise TimeoutError
    return bytes(body)


def _within(seconds: float, fetch: Callable[[], tuple[bytes, float]]) -> tuple[bytes, float]:
    """What `fetch` brings in time, else TimeoutError. A socket's own timeout counts anew with every packet, and never for names."""
    done: Future[tuple[bytes, float]] = Future()

    def work() -> None:
        try:
            done.set_result(fetch())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=work, daemon=True, name="assay-http").start()
    return done.result(seconds)
