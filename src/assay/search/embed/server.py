"""Model server client: JSON over HTTP with the standard library, with limits, retries and actionable errors."""

from __future__ import annotations

import email.utils
import http.client
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit
from urllib.request import Request

import numpy as np

from assay.config.user import origin_of, require_encryption, settings_for
from assay.errors import AssayError
from assay.search.embed.embedders import Role, Vectors
from assay.store.word_vectors import unit
from assay.system.http import (
    CHUNK,
    JSON,
    Broken,
    Refused,
    RequestFailed,
    TooMuch,
    Unreachable,
    failures,
    fetch,
    json_request,
    open_answer,
)

TIMEOUT = 60.0  # seconds per response: a busy server on a CPU needs tens
ATTEMPTS = 6
FIRST_PAUSE = 0.5  # seconds; doubled after each attempt
LONGEST_PAUSE = 60.0  # the longest Retry-After that is honoured
BODY_LIMIT = 256 << 20  # bytes of a response
STREAM_LIMIT = 16 << 20  # bytes of a streamed response: a long book
STREAM_TIME = 10  # times the timeout for a whole stream; the timeout itself limits each read

_RETRIED = frozenset({408, 429, 500, 502, 503, 504})  # transient by definition of the status codes
_ERROR_SHOWN = 300  # characters shown of it
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\n|$)")
_DONE = "[DONE]"  # last event of a stream

T = TypeVar("T")


class ServerFailed(AssayError):
    """The server could not be reached, refused the request or sent an unusable response."""


class StreamBroke(ServerFailed):
    """A stream ended before it was complete."""


@dataclass(frozen=True)
class Server:
    """A JSON endpoint, the model to request, and the environment variable that holds the key."""

    url: str
    model: str = ""
    key_variable: str = ""
    timeout: float = TIMEOUT
    sleep: Callable[[float], None] = time.sleep

    @property
    def name(self) -> str:
        return f"{self.url}#{self.model}" if self.model else self.url

    def ask(self, body: dict[str, Any]) -> Any:
        """Post a body and return the parsed response, retrying transient failures."""
        request = self._request(body)
        return self._with_retries(lambda: self._parse(fetch(request, self.timeout, BODY_LIMIT)))

    def stream(self, body: dict[str, Any]) -> Iterator[Any]:
        """Yield the events of a response, retrying until the first arrives.

        Raises StreamBroke if the stream is incomplete.
        """
        request = self._request(body, accept=f"text/event-stream, {JSON}")
        reply, first = self._with_retries(lambda: _open_stream(request, self.timeout))
        with reply, self._streaming():
            for data in _events(reply, first, STREAM_TIME * self.timeout):
                if data == _DONE:
                    return
                yield self._event(data)
        if reply.headers.get_content_type() != JSON:
            raise StreamBroke(f"{self.name}: the stream ended without {_DONE}")

    def _with_retries(self, attempt: Callable[[], T]) -> T:
        """Call `attempt` until it succeeds, with exponential backoff after transient failures."""
        for number in range(1, ATTEMPTS + 1):
            try:
                return attempt()
            except (TimeoutError, RequestFailed) as failure:
                problem, asked_pause = self._transient(failure)
            pause = FIRST_PAUSE * 2 ** (number - 1) if asked_pause is None else asked_pause
            if number == ATTEMPTS or pause > LONGEST_PAUSE:
                wait = f"; it asks to wait {pause:.0f} s" if pause > LONGEST_PAUSE else ""
                attempts = f" ({number} attempts)" if number > 1 else ""
                raise self._failure(f"{problem}{wait}{attempts}. Try again later; finished work is cached")
            self.sleep(pause)
        raise AssertionError("unreachable")

    def _transient(self, failure: Exception) -> tuple[str, float | None]:
        """Return the problem of a failure that may pass, with the Retry-After of the server; raise any other."""
        if isinstance(failure, TooMuch):
            raise self._failure(str(failure)) from None
        if isinstance(failure, Refused):
            if failure.status not in _RETRIED:
                raise self._refusal(failure) from None
            return str(failure), _retry_after(failure.headers.get("Retry-After"))
        if isinstance(failure, Unreachable):
            return f"cannot be reached: {failure}", None
        if isinstance(failure, Broken):
            return f"the connection broke ({failure.kind})", None
        return f"no answer within {self.timeout:g} s", None

    @contextmanager
    def _streaming(self) -> Iterator[None]:
        """Convert network errors in a stream to StreamBroke."""
        try:
            with failures():
                yield
        except TimeoutError:
            raise StreamBroke(f"{self.name}: nothing more came within {self.timeout:g} s") from None
        except Broken as error:
            raise StreamBroke(f"{self.name}: the connection broke ({error.kind})") from None

    def _event(self, data: str) -> Any:
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise StreamBroke(f"{self.name}: sent something that is not JSON: {_excerpt(data.encode())!r}") from None

    def _request(self, body: dict[str, Any], accept: str = JSON) -> Request:
        headers = {"Accept": accept}
        if self.key_variable:
            headers["Authorization"] = f"Bearer {self._key()}"
        payload = {"model": self.model, **body} if self.model else body
        return json_request(self.url, payload, headers)

    def _key(self) -> str:
        """Read the key from the environment; it is never stored."""
        key = os.environ.get(self.key_variable, "").strip()
        if not key:
            raise self._failure(f"the environment variable {self.key_variable} for its key is not set")
        if not (key.isascii() and key.isprintable()):
            raise self._failure(f"the environment variable {self.key_variable} holds an invalid key")
        return key

    def _parse(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise self._failure(f"the answer is not JSON: {_excerpt(body)!r}") from None

    def _refusal(self, error: Refused) -> ServerFailed:
        hint = _HINTS.get(error.status, "")
        if error.status in (401, 403):
            hint = (
                f"the key in {self.key_variable} is refused"
                if self.key_variable
                else "it requires a key: name its environment variable"
            )
        if 300 <= error.status < 400:
            hint = f"it points to {error.headers.get('Location', 'another address')}: write that address"
        return self._failure("; ".join(filter(None, (str(error), hint, error.page[:_ERROR_SHOWN]))))

    def _failure(self, problem: str) -> ServerFailed:
        return ServerFailed(f"{self.name}: {problem}")


_HINTS = {
    404: "no such address or model there",
    413: "the texts are too long for it",
    400: "it does not accept the request",
}


def server(argument: str, path: str, key_variable: str = "") -> Server:
    """Create a server from `URL[#MODEL]`; `path`, such as embeddings, is appended if the address lacks it.

    Without a key variable, the one in the user's configuration for this server is used.
    """
    url, _, model = argument.partition("#")
    origin = origin_of(url)
    require_encryption(origin)
    if not key_variable and (entry := settings_for(origin)):
        key_variable = entry.key_variable
    address = urlsplit(url)
    base = address.path.rstrip("/") or "/v1"
    full_path = base if base.endswith(f"/{path}") else f"{base}/{path}"
    return Server(urlunsplit(address._replace(path=full_path)), model, key_variable)


def _open_stream(request: Request, timeout: float) -> tuple[http.client.HTTPResponse, bytes]:
    """Open a response and read its first bytes; empty if it has none."""
    with failures():
        reply = open_answer(request, timeout)
        try:
            return reply, reply.read1(CHUNK)
        except BaseException:
            reply.close()
            raise


def _events(reply: http.client.HTTPResponse, first: bytes, seconds: float) -> Iterator[str]:
    """Yield the data of server-sent events. A JSON body is one event: not every server streams on request."""
    streamed = reply.headers.get_content_type() != JSON
    deadline = time.monotonic() + seconds
    buffer, size, chunk = b"", 0, first
    while chunk:
        size += len(chunk)
        if size > STREAM_LIMIT:
            raise StreamBroke(f"{reply.url}: sent more than {STREAM_LIMIT >> 20} MB")
        if time.monotonic() > deadline:
            raise StreamBroke(f"{reply.url}: not done after {seconds:g} s")
        buffer += chunk
        if streamed:
            *lines, buffer = _LINE_END.split(buffer)
            yield from _event_data(lines)
        chunk = reply.read1(CHUNK)
    yield from _event_data([buffer]) if streamed else [buffer.decode("utf-8", "replace")]


def _event_data(lines: list[bytes]) -> Iterator[str]:
    """Yield the text after `data:`; other fields are not needed, and chat events are single lines."""
    for line in lines:
        if line.startswith(b"data:"):
            yield line.removeprefix(b"data:").strip().decode("utf-8", "replace")


def _retry_after(value: str | None) -> float | None:
    """Parse Retry-After (seconds or a date) to seconds; None if it is neither."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _excerpt(body: bytes) -> str:
    """Return the start of a response on one line."""
    return " ".join(body[: 4 * _ERROR_SHOWN].decode("utf-8", "replace").split())[:_ERROR_SHOWN]


# openai:URL[#MODEL]: any OpenAI-compatible /v1/embeddings (llama.cpp, Ollama, vLLM, TEI, hosted services)

BATCH = 64  # texts per request
BATCH_CHARACTERS = 200_000  # per request, as servers limit its size


class ServerEmbedder:
    """Embedder on a server, in batches; vectors are scaled to unit length here."""

    def __init__(self, argument: str, key_variable: str = "", dimensions: int | None = None) -> None:
        self.server: Server = server(argument, "embeddings", key_variable)
        self._expected = dimensions

    @property
    def name(self) -> str:
        return f"openai:{self.server.name}"

    @cached_property
    def dimensions(self) -> int:
        """As configured, or the length of a first vector."""
        return self._expected or len(self._request_vectors(["dimensions"], None)[0])

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        rows = [self._request_vectors(batch, self.dimensions) for batch in _batches(texts)]
        return unit(np.concatenate(rows)) if rows else np.zeros((0, self.dimensions), np.float32)

    def _request_vectors(self, texts: Sequence[str], dimensions: int | None) -> Vectors:
        # many servers refuse an empty text
        answer = self.server.ask({"input": [text if text.strip() else "-" for text in texts]})
        try:
            return _vectors(answer, len(texts), dimensions)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            reason = str(error) if isinstance(error, _UnusableResponse) else "not a /v1/embeddings response"
            raise ServerFailed(f"{self.server.name}: the answer cannot be used: {reason}") from None


class _UnusableResponse(ValueError):
    """A response of the right shape with unusable content."""


def _vectors(answer: Any, count: int, dimensions: int | None) -> Vectors:
    """Parse and check the vectors of a response, ordered by index."""
    rows = answer["data"]
    if len(rows) != count:
        raise _UnusableResponse(f"{len(rows)} vectors for {count} texts")
    positions = [row.get("index", position) for position, row in enumerate(rows)]
    if sorted(positions) != list(range(count)):
        raise _UnusableResponse("its indexes are not those of the texts")
    lengths = {len(row["embedding"]) for row in rows}
    if len(lengths) != 1 or 0 in lengths:
        raise _UnusableResponse("its vectors have different lengths")
    if dimensions is not None and lengths != {dimensions}:
        raise _UnusableResponse(
            f"its vectors have {lengths.pop()} dimensions, those before had {dimensions}: another model answers there now"
        )
    vectors = np.empty((count, lengths.pop()), np.float32)
    for position, row in zip(positions, rows, strict=True):
        vectors[position] = row["embedding"]
    if not np.isfinite(vectors).all():
        raise _UnusableResponse("its vectors have numbers that are not finite")
    return vectors


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Split texts, in order, into requests within both limits."""
    first = size = 0
    for place, text in enumerate(texts):
        if place > first and (place - first == BATCH or size + len(text) > BATCH_CHARACTERS):
            yield texts[first:place]
            first, size = place, 0
        size += len(text)
    if first < len(texts):
        yield texts[first:]
