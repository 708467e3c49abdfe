"""Asking a model server: JSON over HTTP by the standard library, with limits, patience, and errors that say what to do."""

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
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

import numpy as np

from assay.config.servers import is_loopback, origin_of, require_encryption, settings_for
from assay.errors import AssayError
from assay.search.embed.embedders import Role, Vectors, unit

TIMEOUT = 60.0  # seconds for one answer: a busy server on a processor needs tens
ATTEMPTS = 6
FIRST_PAUSE = 0.5  # seconds; each further pause is twice the one before
LONGEST_PAUSE = 60.0  # what a server may ask us to wait, and no more
BODY_LIMIT = 256 << 20  # bytes of an answer
STREAM_LIMIT = 16 << 20  # bytes of one that is streamed: a long book
STREAM_TIME = 10  # times the timeout that a whole stream may take; the timeout itself is for each wait

_AGAIN = frozenset({408, 429, 500, 502, 503, 504})  # passing trouble, by the meaning of the codes
_COMPLAINT = 1 << 12  # bytes of an error page that are read
_SHOWN = 300  # characters of it that are shown
_CHUNK = 1 << 16
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\n|$)")
_JSON = "application/json"
_DONE = "[DONE]"  # the last event of a stream

T = TypeVar("T")


class ServerFailed(AssayError):
    """The server could not be asked, or answered with something that is no answer."""


class StreamBroke(ServerFailed):
    """A stream that had begun did not come to its end."""


class _Passing(Exception):
    """Trouble that may be over the next time; `pause` is what the server asked for."""

    def __init__(self, what: str, pause: float | None = None) -> None:
        super().__init__(what)
        self.pause = pause


class _NoRedirect(HTTPRedirectHandler):
    """A redirect would carry the key to wherever it points."""

    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        return None


@dataclass(frozen=True)
class Server:
    """An address that takes JSON, the model to ask it for, and the name of the variable that holds its key."""

    url: str
    model: str = ""
    key_variable: str = ""
    timeout: float = TIMEOUT
    sleep: Callable[[float], None] = time.sleep

    @property
    def name(self) -> str:
        return f"{self.url}#{self.model}" if self.model else self.url

    def ask(self, body: dict[str, Any]) -> Any:
        """The answer to a body, asked again while the trouble may pass."""
        request = self._request(body)
        opener = _opener(urlsplit(self.url).hostname or "")
        return self._patiently(lambda: self._parsed(_fetch(opener, request, self.timeout)))

    def stream(self, body: dict[str, Any]) -> Iterator[Any]:
        """The events of an answer as they come, asked again until the first one came. StreamBroke when the rest does not come."""
        request = self._request(body, accept=f"text/event-stream, {_JSON}")
        opener = _opener(urlsplit(self.url).hostname or "")
        reply, first = self._patiently(lambda: _begun(opener, request, self.timeout))
        with reply, self._streaming():
            for data in _events(reply, first, STREAM_TIME * self.timeout):
                if data == _DONE:
                    return
                yield self._event(data)
        if reply.headers.get_content_type() != _JSON:
            raise StreamBroke(f"{self.name}: the stream ended without {_DONE}")

    def _patiently(self, attempt: Callable[[], T]) -> T:
        """What an attempt returns; it is made again after trouble that may pass."""
        for nth in range(1, ATTEMPTS + 1):
            try:
                return attempt()
            except _Passing as trouble:
                pause = FIRST_PAUSE * 2 ** (nth - 1) if trouble.pause is None else trouble.pause
                if nth == ATTEMPTS or pause > LONGEST_PAUSE:
                    wait = f"; it asks to wait {pause:.0f} s" if pause > LONGEST_PAUSE else ""
                    tried = f" ({nth} attempts)" if nth > 1 else ""
                    raise self._failed(f"{trouble}{wait}{tried}. Try again later: what was done is kept") from None
                self.sleep(pause)
            except HTTPError as error:
                raise self._refused(error) from None
        raise AssertionError("unreachable")

    @contextmanager
    def _streaming(self) -> Iterator[None]:
        """Says what became of a stream that broke."""
        try:
            yield
        except TimeoutError:
            raise StreamBroke(f"{self.name}: nothing more came within {self.timeout:g} s") from None
        except (http.client.HTTPException, OSError) as error:
            raise StreamBroke(f"{self.name}: the connection broke ({type(error).__name__})") from None

    def _event(self, data: str) -> Any:
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise StreamBroke(f"{self.name}: sent something that is not JSON: {_shown(data.encode())!r}") from None

    def _request(self, body: dict[str, Any], accept: str = _JSON) -> Request:
        headers = {"Content-Type": _JSON, "Accept": accept, "User-Agent": "assay"}
        if self.key_variable:
            headers["Authorization"] = f"Bearer {self._key()}"
        named = {"model": self.model, **body} if self.model else body
        return Request(self.url, json.dumps(named).encode(), headers)

    def _key(self) -> str:
        """Read when needed and never kept."""
        key = os.environ.get(self.key_variable, "").strip()
        if not key:
            raise self._failed(f"the environment variable {self.key_variable}, which is to hold its key, is not set")
        if not (key.isascii() and key.isprintable()):
            raise self._failed(f"the environment variable {self.key_variable} holds no key that can be sent")
        return key

    def _parsed(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise self._failed(f"the answer is not JSON: {_shown(body)!r}") from None

    def _refused(self, error: HTTPError) -> ServerFailed:
        with error:
            said = _shown(error.read(_COMPLAINT))
        hint = _HINTS.get(error.code, "")
        if error.code in (401, 403):
            hint = (
                f"the key in {self.key_variable} is refused"
                if self.key_variable
                else "it wants a key: name its environment variable"
            )
        if 300 <= error.code < 400:
            hint = f"it points to {error.headers.get('Location', 'another address')}: write that address"
        return self._failed("; ".join(filter(None, (f"HTTP {error.code} {error.reason}", hint, said))))

    def _failed(self, what: str) -> ServerFailed:
        return ServerFailed(f"{self.name}: {what}")


_HINTS = {
    404: "no such address or model there",
    413: "the texts are too long for it",
    400: "it does not accept the request",
}


def server(argument: str, path: str, key_variable: str = "") -> Server:
    """A server from `URL[#MODEL]`; `path`, such as embeddings, is added where the address stops before it.

    Without a key variable, it is the one that the user's configuration has for this server.
    """
    url, _, model = argument.partition("#")
    origin = origin_of(url)
    require_encryption(origin)
    if not key_variable and (entry := settings_for(origin)):
        key_variable = entry.key_variable
    address = urlsplit(url)
    base = address.path.rstrip("/") or "/v1"
    whole = base if base.endswith(f"/{path}") else f"{base}/{path}"
    return Server(urlunsplit(address._replace(path=whole)), model, key_variable)


def _fetch(opener: OpenerDirector, request: Request, timeout: float) -> bytes:
    """The body of an answer. Whatever may pass is _Passing; what the server refuses is an HTTPError."""
    deadline = time.monotonic() + timeout
    with _trouble(timeout), opener.open(request, timeout=timeout) as reply:
        return _read(reply, deadline)


def _begun(opener: OpenerDirector, request: Request, timeout: float) -> tuple[http.client.HTTPResponse, bytes]:
    """An answer that has begun to come, and its first bytes; none when it is empty."""
    with _trouble(timeout):
        reply: http.client.HTTPResponse = opener.open(request, timeout=timeout)
        try:
            return reply, reply.read1(_CHUNK)
        except BaseException:
            reply.close()
            raise


@contextmanager
def _trouble(timeout: float) -> Iterator[None]:
    """Whatever may pass becomes _Passing."""
    try:
        yield
    except HTTPError as error:
        if error.code not in _AGAIN:
            raise
        with error:
            raise _Passing(
                f"HTTP {error.code} {error.reason}", _retry_after(error.headers.get("Retry-After"))
            ) from None
    except URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise _Passing(f"no answer within {timeout:g} s") from None
        raise _Passing(f"cannot be reached: {error.reason}") from None
    except TimeoutError:
        raise _Passing(f"no answer within {timeout:g} s") from None
    except (http.client.HTTPException, OSError) as error:
        raise _Passing(f"the connection broke ({type(error).__name__})") from None


def _events(reply: http.client.HTTPResponse, first: bytes, seconds: float) -> Iterator[str]:
    """The data of server-sent events. A body that is JSON is an event of its own: not every server streams when it is asked to."""
    streamed = reply.headers.get_content_type() != _JSON
    deadline = time.monotonic() + seconds
    left, size, bit = b"", 0, first
    while bit:
        size += len(bit)
        if size > STREAM_LIMIT:
            raise StreamBroke(f"{reply.url}: sent more than {STREAM_LIMIT >> 20} MB")
        if time.monotonic() > deadline:
            raise StreamBroke(f"{reply.url}: not done after {seconds:g} s")
        left += bit
        if streamed:
            *lines, left = _LINE_END.split(left)
            yield from _data(lines)
        bit = reply.read1(_CHUNK)
    yield from _data([left]) if streamed else [left.decode("utf-8", "replace")]


def _data(lines: list[bytes]) -> Iterator[str]:
    """What follows `data:`; comments, names and ids of events are of no use here. Each event of a chat is one line."""
    for line in lines:
        if line.startswith(b"data:"):
            yield line.removeprefix(b"data:").strip().decode("utf-8", "replace")


def _read(reply: http.client.HTTPResponse, deadline: float) -> bytes:
    """The whole body, unless it is too large, comes too slowly or stops short."""
    body = bytearray()
    expected = reply.length
    while chunk := reply.read1(_CHUNK):
        body += chunk
        if len(body) > BODY_LIMIT:
            raise ServerFailed(f"{reply.url}: sent more than {BODY_LIMIT >> 20} MB")
        if time.monotonic() > deadline:
            raise TimeoutError
    if expected is not None and len(body) < expected:
        raise http.client.IncompleteRead(bytes(body))
    return bytes(body)


def _retry_after(value: str | None) -> float | None:
    """Seconds, from seconds or a date; None for anything else."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _opener(host: str) -> OpenerDirector:
    """Goes through the environment's proxies, but never to reach this very machine."""
    return build_opener(ProxyHandler({}) if is_loopback(host) else ProxyHandler(), _NoRedirect())


def _shown(body: bytes) -> str:
    """The beginning of what a server said, on one line."""
    return " ".join(body[:_COMPLAINT].decode("utf-8", "replace").split())[:_SHOWN]


# `openai:URL[#MODEL]`: any server with an OpenAI-compatible /v1/embeddings (llama.cpp, Ollama, vLLM, TEI, hosted
# ones).

BATCH = 64  # texts in one request
BATCH_CHARACTERS = 200_000  # and no more than this, as servers limit the size of a request


class ServerEmbedder:
    """Asks a server for vectors, in batches; they are brought to length one here."""

    def __init__(self, argument: str, key_variable: str = "", dimensions: int | None = None) -> None:
        self.server: Server = server(argument, "embeddings", key_variable)
        self._expected = dimensions

    @property
    def name(self) -> str:
        return f"openai:{self.server.name}"

    @cached_property
    def dimensions(self) -> int:
        """As it was told, or known from a first vector."""
        return self._expected or len(self._asked(["dimensions"], None)[0])

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        rows = [self._asked(batch, self.dimensions) for batch in _batches(texts)]
        return unit(np.concatenate(rows)) if rows else np.zeros((0, self.dimensions), np.float32)

    def _asked(self, texts: Sequence[str], dimensions: int | None) -> Vectors:
        # many servers refuse an empty text
        answer = self.server.ask({"input": [text if text.strip() else "-" for text in texts]})
        try:
            return _vectors(answer, len(texts), dimensions)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            reason = str(error) if isinstance(error, _Unfit) else "it has not the shape of /v1/embeddings"
            raise ServerFailed(f"{self.server.name}: the answer cannot be used: {reason}") from None


class _Unfit(ValueError):
    """An answer of the right shape with the wrong content."""


def _vectors(answer: Any, count: int, dimensions: int | None) -> Vectors:
    """The vectors of an answer in the order of their indexes, checked."""
    rows = answer["data"]
    if len(rows) != count:
        raise _Unfit(f"{len(rows)} vectors for {count} texts")
    places = [row.get("index", place) for place, row in enumerate(rows)]
    if sorted(places) != list(range(count)):
        raise _Unfit("its indexes are not those of the texts")
    lengths = {len(row["embedding"]) for row in rows}
    if len(lengths) != 1 or 0 in lengths:
        raise _Unfit("its vectors have different lengths")
    if dimensions is not None and lengths != {dimensions}:
        raise _Unfit(
            f"its vectors have {lengths.pop()} dimensions, those before had {dimensions}: another model answers there now"
        )
    found = np.empty((count, lengths.pop()), np.float32)
    for place, row in zip(places, rows, strict=True):
        found[place] = row["embedding"]
    if not np.isfinite(found).all():
        raise _Unfit("its vectors have numbers that are not finite")
    return found


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in order, in requests that stay within both limits."""
    first = size = 0
    for place, text in enumerate(texts):
        if place > first and (place - first == BATCH or size + len(text) > BATCH_CHARACTERS):
            yield texts[first:place]
            first, size = place, 0
        size += len(text)
    if first < len(texts):
        yield texts[first:]
