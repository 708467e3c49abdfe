"""HTTP client: redirects are refused, this machine is reached without a proxy, answers are limited in time and size."""

from __future__ import annotations

import http.client
import ipaddress
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from email.message import Message
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

CHUNK = 1 << 16  # bytes per read
JSON = "application/json"
_ERROR_BYTES = 1 << 12  # read of an error page


class RequestFailed(Exception):
    """A request without a usable answer; a timeout is a TimeoutError instead."""


class Refused(RequestFailed):
    """The server answered with an error status, or with a redirect, which would take texts and keys elsewhere."""

    def __init__(self, status: int, reason: str, headers: Message, page: str) -> None:
        super().__init__(f"HTTP {status} {reason}")
        self.status, self.headers, self.page = status, headers, page


class Unreachable(RequestFailed):
    """No connection; `absent` if nothing listens there or the name is unknown."""

    def __init__(self, reason: object) -> None:
        super().__init__(str(reason))
        self.absent = isinstance(reason, ConnectionRefusedError | socket.gaierror)


class Broken(RequestFailed):
    """The connection broke, or the answer is not HTTP; `kind` is the type of the error."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.kind = type(error).__name__


class TooMuch(RequestFailed):
    """The answer exceeds its limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"sent more than {limit >> 20} MB")


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        return None


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by name alone: a DNS answer could be forged."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def json_request(url: str, payload: object = None, headers: Mapping[str, str] | None = None) -> Request:
    """Return a POST of a JSON payload, or a GET without one."""
    sent = {"Accept": JSON, "User-Agent": "assay", **(headers or {})}
    if payload is None:
        return Request(url, headers=sent)
    return Request(url, json.dumps(payload).encode(), {"Content-Type": JSON, **sent})


def fetch(request: Request, seconds: float, limit: int) -> bytes:
    """Return the whole body of an answer. Raises TimeoutError or RequestFailed.

    The deadline covers name resolution and slow answers: a socket timeout restarts with every packet.
    """
    result: Future[bytes] = Future()

    def work() -> None:
        try:
            with failures(), open_answer(request, seconds) as answer:
                result.set_result(_read(answer, time.monotonic() + seconds, limit))
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=work, daemon=True, name="assay-http").start()
    return result.result(seconds)


def open_answer(request: Request, seconds: float) -> http.client.HTTPResponse:
    """Open an answer to be read in parts, within `failures`; `seconds` limit each read."""
    proxies = ProxyHandler({}) if is_loopback(urlsplit(request.full_url).hostname or "") else ProxyHandler()
    answer: http.client.HTTPResponse = build_opener(proxies, _NoRedirect()).open(request, timeout=seconds)
    return answer


@contextmanager
def failures() -> Iterator[None]:
    """Convert the errors of urllib and of sockets to TimeoutError or RequestFailed."""
    try:
        yield
    except TimeoutError:
        raise
    except HTTPError as error:
        with error:
            page = " ".join(error.read(_ERROR_BYTES).decode("utf-8", "replace").split())
        raise Refused(error.code, error.reason, error.headers, page) from None
    except URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise TimeoutError from None
        raise Unreachable(error.reason) from None
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise Broken(error) from None


def _read(answer: http.client.HTTPResponse, deadline: float, limit: int) -> bytes:
    """Read the whole body; raise if it is too large, too slow or truncated."""
    body, expected = bytearray(), answer.length
    while chunk := answer.read1(CHUNK):
        body += chunk
        if len(body) > limit:
            raise TooMuch(limit)
        if time.monotonic() > deadline:
            raise TimeoutError
    if expected is not None and len(body) < expected:
        raise http.client.IncompleteRead(bytes(body), expected - len(body))
    return bytes(body)
