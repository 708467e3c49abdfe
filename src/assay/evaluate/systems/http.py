"""`http:URL`: a retriever behind a URL, queried by JSON POST, or by GET if the URL contains `{query}`."""

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
    System,
    SystemDied,
    SystemFailed,
    finished,
    one_line,
    placeholders,
    require_budget,
)
from assay.evaluate.systems.shape import parse

_CHUNK = 1 << 16
_ERROR_BYTES = 1 << 12  # bytes read of an error page


def open(root: Path, corpus: Path | None, argument: str, timeout: float) -> Endpoint:
    """Open an endpoint from `http://host/…`, `http:host/…` or `http:https://host/…`."""
    scheme, _, remainder = argument.partition(":")
    url = (
        remainder
        if "://" in remainder
        else f"{scheme}:{remainder}"
        if remainder.startswith("//")
        else f"{scheme}://{remainder}"
    )
    try:
        address = urlsplit(PLACEHOLDER.sub("0", url))
        host, port = address.hostname, address.port
    except ValueError as error:
        raise AssayError(f"system '{argument}': {error}") from None
    if not host or port == 0 or address.scheme not in ("http", "https"):
        raise AssayError(f"system '{argument}' is not a URL; write for example http://127.0.0.1:8000/search")
    if address.username is not None:
        raise AssayError(
            "a password in a URL would be stored with every run; send it from a command instead, for example "
            'cmd:curl -s -H "Authorization: Bearer $TOKEN" … , which stores only the variable\'s name'
        )
    return Endpoint(argument, url, host, root, timeout)


class Endpoint(System):
    """An HTTP endpoint with one request per query."""

    def __init__(self, spec: str, url: str, host: str, root: Path, timeout: float) -> None:
        super().__init__(spec)
        self._url, self._root, self._timeout = url, root, timeout
        self._query_in_url = "query" in PLACEHOLDER.findall(url)
        self._opener = _opener(host)

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        require_budget(self._url, budget)
        request = self._request(text, k, budget, repository)
        try:
            body, seconds = _call_with_timeout(self._timeout, lambda: _fetch(self._opener, request, self._timeout))
        except TimeoutError:
            raise SystemFailed(f"no answer within {self._timeout:g} s") from None
        return finished(parse(body.decode("utf-8", "replace")), k, seconds)

    def _request(self, text: str, k: int, budget: int | None, repository: str) -> Request:
        """Build the request of a query: GET if the URL holds the query, else POST."""
        values = placeholders(text, k, budget, repository, self._root)
        url = PLACEHOLDER.sub(lambda match: quote(values[match[1]], safe="", errors="replace"), self._url)
        headers = {"Accept": "application/json", "User-Agent": "assay"}
        if self._query_in_url:
            return Request(url, headers=headers)
        payload = {"query": text, "k": k, "budget": budget, "repository": repository}
        return Request(url, json.dumps(payload).encode(), headers | {"Content-Type": "application/json"})


def _opener(host: str) -> OpenerDirector:
    """Return an opener that uses the environment's proxies except for loopback hosts."""
    return build_opener(ProxyHandler({}) if is_loopback(host) else ProxyHandler())


def _fetch(opener: OpenerDirector, request: Request, timeout: float) -> tuple[bytes, float]:
    """Return the response body and the seconds taken. Raises TimeoutError, SystemFailed or SystemDied."""
    started = time.perf_counter()
    try:
        with opener.open(request, timeout=timeout) as reply:
            body = _read(reply, started + timeout)
    except HTTPError as error:
        with error:
            message = one_line(error.read(_ERROR_BYTES).decode("utf-8", "replace"))
        raise SystemFailed(f"HTTP {error.code} {error.reason}{': ' if message else ''}{message}") from None
    except URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise TimeoutError from None
        unreachable = isinstance(error.reason, ConnectionRefusedError | socket.gaierror)
        failure = SystemDied if unreachable else SystemFailed
        raise failure(f"cannot reach {urlsplit(request.full_url).netloc}: {error.reason}") from None
    except (http.client.HTTPException, ConnectionError, ValueError) as error:
        raise SystemFailed(f"the connection broke: {type(error).__name__} {one_line(str(error))}".rstrip()) from None
    return body, time.perf_counter() - started


def _read(reply: http.client.HTTPResponse, deadline: float) -> bytes:
    """Return the body. Raises SystemFailed if it is too large, TimeoutError after the deadline."""
    body = bytearray()
    while chunk := reply.read1(_CHUNK):
        body += chunk
        if len(body) > OUTPUT_LIMIT:
            raise SystemFailed(f"sent more than {OUTPUT_LIMIT >> 20} MB; send the best results only")
        if time.perf_counter() > deadline:
            raise TimeoutError
    return bytes(body)


def _call_with_timeout(seconds: float, fetch: Callable[[], tuple[bytes, float]]) -> tuple[bytes, float]:
    """Return the result of `fetch`, or raise TimeoutError after `seconds`.

    A socket timeout restarts with every packet and does not cover name resolution.
    """
    result: Future[tuple[bytes, float]] = Future()

    def work() -> None:
        try:
            result.set_result(fetch())
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=work, daemon=True, name="assay-http").start()
    return result.result(seconds)
