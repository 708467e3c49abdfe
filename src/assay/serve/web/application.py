"""ASGI application: routes from the tables of pages and endpoints, worker threads, and errors as one-line responses.

Its guard checks Host, Origin, token and role, limits size and time, records every request, and adds security headers to
every response. A request without a token reaches no handler: the guard itself answers `/healthz` and `/readyz`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import parse_qs

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.database import StoreInUse
from assay.errors import AssayError
from assay.evaluate.compare import NotComparable
from assay.evaluate.run_file import NoSuchRun
from assay.rank.symbols import NoSuchSymbol
from assay.serve.access import COOKIE, UNAUTHORIZED, Access
from assay.serve.board import REQUESTS, Board
from assay.serve.http import LARGEST_HEAD, serve
from assay.serve.requests import Request as Question
from assay.serve.requests import from_body, from_query
from assay.serve.telemetry import METRICS_TYPE, Metrics, RequestRecord, columns_of
from assay.serve.tokens import Identity
from assay.serve.web.api import ENDPOINTS, Endpoint, description
from assay.serve.web.bench import Bench, NotFound, NotYet
from assay.serve.web.pages import compare, runs, search, status
from assay.serve.web.pages.shell import Page, Shown, document, failed, login_page, static
from assay.store.index import NoIndex, UnusableIndex

LARGEST_BODY = 262_144  # bytes: ten times the longest useful text
SECONDS = 60.0  # for one request, including receiving and sending
_HEALTH, _READY = "/healthz", "/readyz"  # for load balancers: the answer is nothing but a status
OPEN = ("/login", "/static/", _HEALTH, _READY)  # path prefixes served without the token

_TOO_LARGE = f"the body is larger than {LARGEST_BODY:,} bytes"
_API_PATHS = ("/api/", "/openapi.json", "/metrics")
_CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_SECURITY_HEADERS = {
    "content-security-policy": _CONTENT_SECURITY_POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """ASGI middleware: refuses invalid requests, records all of them, and adds security headers to responses."""

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        seconds: float = SECONDS,
        *,
        roles: Mapping[str, str] | None = None,
        records: Sequence[Callable[[RequestRecord], None]] = (),
        is_ready: Callable[[], bool] = lambda: True,
    ) -> None:
        """Set up the guard; `roles` are those that paths need, if it is not `read`."""
        self.app, self.access, self.seconds = app, access, seconds
        self._roles, self._records, self._is_ready = roles or {}, records, is_ready

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        started, status, since = False, 500, time.perf_counter()
        identity = self.access.identify(Headers(scope=scope))

        async def sending(message: Message) -> None:
            nonlocal started, status
            if message["type"] == "http.response.start":
                started, status = True, message["status"]
                answered = MutableHeaders(scope=message)
                for name, value in _SECURITY_HEADERS.items():
                    answered.setdefault(name, value)
            await send(message)

        try:
            refusal = self._refusal(scope, identity)
            if refusal is not None and not self.access.is_protected:
                identity = None  # a page of another site, perhaps: without tokens, only what is answered is the user's
            answer = refusal or self._health(scope["path"])
            if answer is not None:
                await answer(scope, receive, sending)
                return
            try:
                async with asyncio.timeout(self.seconds):
                    await self.app(scope, _limit_body(receive), sending)
            except TimeoutError:
                if not started:
                    await _error(504, f"no answer within {self.seconds:g} seconds")(scope, receive, sending)
        finally:
            request = RequestRecord(identity, scope["method"], scope["path"], status, time.perf_counter() - since)
            for record in self._records:
                record(request)

    def _health(self, path: str) -> Response | None:
        """Return the answer to a question about the server's health, else None."""
        if path == _HEALTH:
            return PlainTextResponse("ok\n")
        if path == _READY:
            return PlainTextResponse("ready\n") if self._is_ready() else PlainTextResponse("not ready\n", 503)
        return None

    def _refusal(self, scope: Scope, identity: Identity | None) -> Response | None:
        """Return the error response of a request that is refused, else None."""
        headers, path = Headers(scope=scope), scope["path"]
        if _head_size(scope) > LARGEST_HEAD:
            return _error(431, f"the head of the request is larger than {LARGEST_HEAD:,} bytes", connection="close")
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self.access.answers_to(host):
            return _error(403, "this server does not answer to that Host; start it with --allow-host NAME if it should")
        if not self._is_trusted_source(headers, host, scope):
            return _error(403, "requests from the pages of other sites are refused")
        if identity is None and not path.startswith(OPEN):
            if path.startswith(_API_PATHS):
                return _error(401, UNAUTHORIZED, **{"WWW-Authenticate": "Bearer"})
            return RedirectResponse("/login", 303)
        needed = self._roles.get(path, "read")
        if identity is not None and not identity.may(needed):
            return _error(403, f"this needs a token with the role {needed}; yours has {identity.role}")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            return _error(413, _TOO_LARGE, connection="close")
        return None

    def _is_trusted_source(self, headers: Headers, host: str, scope: Scope) -> bool:
        """Return True for same-origin requests, requests from no page, and navigation to a page (not to the API)."""
        site = headers.get("sec-fetch-site", "none")
        origin = headers.get("origin")
        if origin is not None and not self.access.allows_origin(origin, host, scope["scheme"]):
            return origin == "null" and site == "same-origin"  # form of a page with referrer-policy: no-referrer
        if site in ("none", "same-origin"):
            return True
        navigation = headers.get("sec-fetch-mode") == "navigate" and scope["method"] in ("GET", "HEAD")
        return navigation and not scope["path"].startswith(_API_PATHS)


def _head_size(scope: Scope) -> int:
    """Return the approximate number of bytes of a request head."""
    return len(scope["raw_path"]) + len(scope["query_string"]) + sum(len(k) + len(v) for k, v in scope["headers"])


def _limit_body(receive: Receive) -> Receive:
    """Wrap `receive` to raise HTTPException 413 when the body exceeds LARGEST_BODY."""
    size = 0

    async def receiving() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST_BODY:
            raise HTTPException(413, _TOO_LARGE, {"connection": "close"})
        return message

    return receiving


def _error(status: int, line: str, **headers: Any) -> Response:
    return JSONResponse({"error": line}, status, headers)


Answer = TypeVar("Answer")

THREADS = 4  # requests are CPU-bound: more threads only use more memory
MOST = 128  # running or queued requests; further ones get a 503

PAGES: tuple[Page, ...] = (*search.PAGES, *runs.PAGES, *compare.PAGES, *status.PAGES)


class Busy(AssayError):
    """The request queue is full."""


class Workers:
    """Bounded thread pool. A cancelled request leaves the queue; one that is running finishes.

    Requests are counted on the board: MOST limits those of all processes that share it.
    """

    def __init__(self, board: Board | None = None, threads: int = THREADS, most: int = MOST) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="assay-serve")
        self._board, self._limit = board or Board(), most

    async def run(self, function: Callable[..., Answer], *arguments: Any) -> Answer:
        if self._board.total(REQUESTS) >= self._limit:
            raise Busy("too many requests at once; try again in a moment")
        loop = asyncio.get_running_loop()
        self._board.row[REQUESTS] += 1
        future = self._pool.submit(function, *arguments)

        def ended(_: Future[Answer]) -> None:
            with contextlib.suppress(RuntimeError):  # the server has stopped
                loop.call_soon_threadsafe(self._release)

        future.add_done_callback(ended)
        return await asyncio.wrap_future(future)

    def _release(self) -> None:
        self._board.row[REQUESTS] -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


# Routes

Endpoints = Callable[[Request], Awaitable[Response]]

_STATUS_CODES: dict[type[Exception], int] = {
    NoSuchSymbol: 404,
    NoSuchRun: 404,
    StoreInUse: 503,
    NotFound: 404,
    NotYet: 503,
    NotComparable: 409,
    NoIndex: 503,
    UnusableIndex: 503,
    Busy: 503,
    AssayError: 400,
    sqlite3.DatabaseError: 503,
}
_ROLES = {endpoint.path: endpoint.role for endpoint in ENDPOINTS}
_PATHS = frozenset({*_ROLES, *(page.path for page in PAGES)})
_YEAR = 31_536_000
_log = logging.getLogger("assay.serve")


def board_columns() -> int:
    """Return the number of columns of the board of this application."""
    return columns_of(_PATHS)


def application(
    bench: Bench, access: Access, board: Board | None = None, started: float = 0.0, threads: int = THREADS
) -> ASGIApp:
    """Build the guarded ASGI application of pages, API, metrics, login and static files.

    Several processes share the limits and metrics of a board; `started` is when the first of them did.
    """
    board = board or Board(columns=board_columns())
    work = Workers(board, threads)
    metrics = Metrics(_PATHS, board, started)
    routes = [
        *(
            Route(endpoint.path, _api_handler(endpoint, bench, work), methods=endpoint.methods)
            for endpoint in ENDPOINTS
        ),
        *(Route(page.path, _page_handler(page, bench, work), methods=["GET"]) for page in PAGES),
        Route("/openapi.json", _openapi_response, methods=["GET"]),
        Route("/metrics", _metrics_handler(bench, metrics), methods=["GET"]),
        Route("/login", _login_handler(access), methods=["GET", "POST"]),
        Route("/static/{name}", _static_response, methods=["GET"]),
    ]
    handlers: dict[Any, Any] = {HTTPException: _http_error, ClientDisconnect: _gone, Exception: _server_error}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    records = [metrics.record, *([bench.audit.record] if bench.audit else [])]
    return Guard(app, access, roles=_ROLES, records=records, is_ready=lambda: bench.is_ready)


def _metrics_handler(bench: Bench, metrics: Metrics) -> Endpoints:
    async def answer(request: Request) -> Response:
        gauges = {"assay_repositories": float(len(bench.members)), "assay_ready": float(bench.is_ready)}
        return Response(metrics.render(gauges), media_type=METRICS_TYPE)

    return answer


def _api_handler(endpoint: Endpoint, bench: Bench, work: Workers) -> Endpoints:
    """Return the handler of an API endpoint."""

    async def answer(request: Request) -> Response:
        try:
            if request.method == "POST":
                question = from_body(endpoint.takes, await request.body())
            else:
                question = from_query(endpoint.takes, request.query_params.multi_items())
            return await work.run(_api_response, endpoint, bench, question)
        except (AssayError, sqlite3.DatabaseError) as error:
            return _json_error(error)

    return answer


def _api_response(endpoint: Endpoint, bench: Bench, question: Question) -> Response:
    """Compute and encode an answer in the worker thread, so that large answers do not block the event loop."""
    answer = endpoint.answer(bench, question)
    content = answer.encode() if isinstance(answer, str) else msgspec.json.encode(answer)
    return Response(content, media_type="application/json")


def _page_handler(page: Page, bench: Bench, work: Workers) -> Endpoints:
    """Return the handler of a page."""

    async def answer(request: Request) -> Response:
        try:
            question = from_query(page.takes, request.query_params.multi_items())
            return await work.run(_page_response, page, bench, question)
        except (AssayError, sqlite3.DatabaseError) as error:
            status = _status(error)
            return HTMLResponse(
                _render_page(page, failed(status, _message(error)), bench), status, _retry_headers(status)
            )

    return answer


def _page_response(page: Page, bench: Bench, question: Question) -> Response:
    return HTMLResponse(_render_page(page, page.show(bench, question), bench))


def _render_page(page: Page, shown: Shown, bench: Bench) -> str:
    return shown.body if page.fragment else document(shown, page.place or page.path, bench.name)


async def _openapi_response(request: Request) -> Response:
    return JSONResponse(description())


async def _static_response(request: Request) -> Response:
    file = static(request.path_params["name"])
    if file is None:
        raise HTTPException(404)
    return Response(
        file.content, media_type=file.type, headers={"cache-control": f"public, max-age={_YEAR}, immutable"}
    )


def _login_handler(access: Access) -> Endpoints:
    """Return the login handler: a valid token sets an HttpOnly, SameSite=Strict cookie."""

    async def answer(request: Request) -> Response:
        if not access.is_protected:
            return RedirectResponse("/", 303)
        if request.method == "GET":
            return login_page()
        form = parse_qs((await request.body()).decode("ascii", "replace"))
        identity = access.identify_token(form.get("token", [""])[0].strip())
        if identity is None:
            return login_page(wrong=True)
        response = RedirectResponse("/", 303)
        response.set_cookie(COOKIE, access.cookie(identity), httponly=True, samesite="strict", path="/")
        return response

    return answer


# errors


def _status(error: Exception) -> int:
    return next(status for kind, status in _STATUS_CODES.items() if isinstance(error, kind))


def _message(error: Exception) -> str:
    if isinstance(error, sqlite3.DatabaseError):
        return f"the index is damaged ({error}). Rebuild it with: assay index --rebuild"
    return str(error)


def _json_error(error: Exception) -> Response:
    status = _status(error)
    return JSONResponse({"error": _message(error)}, status, _retry_headers(status))


def _retry_headers(status: int) -> dict[str, str]:
    """Return a Retry-After header for 503 responses."""
    return {"retry-after": "1"} if status == 503 else {}


async def _http_error(request: Request, error: Exception) -> Response:
    """Respond to an unknown path or an unsupported method."""
    assert isinstance(error, HTTPException)
    lines = {404: "there is nothing at this address", 405: f"{request.method[:20]} is not possible here"}
    line = lines.get(error.status_code, error.detail)
    if request.url.path.startswith("/api/") or request.method not in ("GET", "HEAD"):
        return JSONResponse({"error": line}, error.status_code, error.headers)
    return HTMLResponse(document(failed(error.status_code, line)), error.status_code, error.headers)


async def _gone(request: Request, error: Exception) -> Response:
    """Give the records a status for a client that ended before its request did."""
    return Response(status_code=400)


async def _server_error(request: Request, error: Exception) -> Response:
    """Log an unexpected exception and respond 500 without details."""
    _log.error("%.20s %.200r", request.method, request.url.path, exc_info=error)
    return JSONResponse({"error": "internal error in assay; see the server log"}, 500)


_IDLE_SECONDS = 10  # keep-alive between two requests of a connection
STOP_SECONDS = 8  # for requests under way when the server stops: less than the 10 that container engines wait


def run(
    app: ASGIApp,
    listening: socket.socket,
    board: Board | None = None,
    on_start: Callable[[], object] = lambda: None,
) -> None:
    """Serve the application until Ctrl-C or SIGTERM."""
    serve(
        app,
        listening,
        board,
        on_start,
        loop="asyncio",
        lifespan="off",
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
