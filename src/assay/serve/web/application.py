"""The ASGI application: pages and API as tables become routes, errors become one clear line, the guard stands before all."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sqlite3
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import parse_qs

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from assay.errors import AssayError
from assay.evaluate.compare import NotComparable
from assay.evaluate.runs import NoSuchRun, RunsInUse
from assay.rank.symbols import NoSuchSymbol
from assay.serve.watch.access import BACKLOG, COOKIE, Access
from assay.serve.watch.keeper import Polite
from assay.serve.web.api import ENDPOINTS, Endpoint, description
from assay.serve.web.bench import Bench, NotFound, NotYet
from assay.serve.web.guard import LARGEST_HEAD, Guard
from assay.serve.web.pages.shell import Page, Shown, document, failed, login_page
from assay.serve.web.pages.table import PAGES
from assay.serve.web.parameters import from_body, from_query
from assay.serve.web.static import static
from assay.store.index import NoIndex, UnusableIndex

Answer = TypeVar("Answer")

THREADS = 4  # work is mostly computing: more threads than this only hold more memory
MOST = 128  # requests that work or wait for a thread; the next is told to come back


class Busy(AssayError):
    """There is too much to do already."""


class Workers:
    """Runs functions in threads. A request that is given up leaves the queue; one that has a thread keeps it until it is done."""

    def __init__(self, threads: int = THREADS, most: int = MOST) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="assay-serve")
        self._most, self._inside = most, 0

    async def run(self, function: Callable[..., Answer], *arguments: Any) -> Answer:
        if self._inside >= self._most:
            raise Busy("too many requests at once; try again in a moment")
        loop = asyncio.get_running_loop()
        self._inside += 1
        future = self._pool.submit(function, *arguments)

        def ended(_: Future[Answer]) -> None:
            with contextlib.suppress(RuntimeError):  # the server has stopped
                loop.call_soon_threadsafe(self._leave)

        future.add_done_callback(ended)
        return await asyncio.wrap_future(future)

    def _leave(self) -> None:
        self._inside -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


# The ASGI application: pages and API as tables become routes, errors become one clear line, the guard stands before
# all.

Endpoints = Callable[[Request], Awaitable[Response]]

_STATUS: dict[type[Exception], int] = {
    NoSuchSymbol: 404,
    NoSuchRun: 404,
    RunsInUse: 503,
    NotFound: 404,
    NotYet: 503,
    NotComparable: 409,
    NoIndex: 503,
    UnusableIndex: 503,
    Busy: 503,
    AssayError: 400,
    sqlite3.DatabaseError: 503,
}
_YEAR = 31_536_000
_log = logging.getLogger("assay.serve")


def application(bench: Bench, access: Access, workers: Workers | None = None) -> ASGIApp:
    """The whole server as an ASGI application."""
    work = workers or Workers()
    routes = [
        *(Route(one.path, _asked(one, bench, work), methods=one.methods) for one in ENDPOINTS),
        *(Route(one.path, _shown(one, bench, work), methods=["GET"]) for one in PAGES),
        Route("/openapi.json", _description, methods=["GET"]),
        Route("/login", _login(access), methods=["GET", "POST"]),
        Route("/static/{name}", _static, methods=["GET"]),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _refused, Exception: _broken})
    app.router.redirect_slashes = False
    return Guard(app, access)


def _asked(endpoint: Endpoint, bench: Bench, work: Workers) -> Endpoints:
    """A question of the API."""

    async def answer(request: Request) -> Response:
        try:
            if request.method == "POST":
                values = from_body(endpoint.parameters, await request.body())
            else:
                values = from_query(endpoint.parameters, request.query_params.multi_items())
            return await work.run(_answer, endpoint, bench, values)
        except (AssayError, sqlite3.DatabaseError) as error:
            return _json_error(error)

    return answer


def _answer(endpoint: Endpoint, bench: Bench, values: dict[str, Any]) -> Response:
    """Answers, and encodes in the same thread: a long answer must not hold up the others."""
    found = endpoint.answer(bench, values)
    content = found.encode() if isinstance(found, str) else msgspec.json.encode(found)
    return Response(content, media_type="application/json")


def _shown(page: Page, bench: Bench, work: Workers) -> Endpoints:
    """A page."""

    async def answer(request: Request) -> Response:
        try:
            values = from_query(page.parameters, request.query_params.multi_items())
            return await work.run(_page, page, bench, values)
        except (AssayError, sqlite3.DatabaseError) as error:
            status = _status(error)
            return HTMLResponse(_written(page, failed(status, _line(error)), bench), status, _later(status))

    return answer


def _page(page: Page, bench: Bench, values: dict[str, Any]) -> Response:
    return HTMLResponse(_written(page, page.show(bench, values), bench))


def _written(page: Page, shown: Shown, bench: Bench) -> str:
    return shown.body if page.fragment else document(shown, page.place or page.path, bench.name)


async def _description(request: Request) -> Response:
    return JSONResponse(description())


async def _static(request: Request) -> Response:
    found = static(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return Response(
        found.content, media_type=found.type, headers={"cache-control": f"public, max-age={_YEAR}, immutable"}
    )


def _login(access: Access) -> Endpoints:
    """The form for the token; the right one becomes a cookie that scripts and other sites cannot use."""

    async def answer(request: Request) -> Response:
        if not access.token:
            return RedirectResponse("/", 303)
        if request.method == "GET":
            return login_page()
        form = parse_qs((await request.body()).decode("ascii", "replace"))
        if not access.is_token(form.get("token", [""])[0].strip()):
            return login_page(wrong=True)
        response = RedirectResponse("/", 303)
        response.set_cookie(COOKIE, access.cookie, httponly=True, samesite="strict", path="/")
        return response

    return answer


# errors


def _status(error: Exception) -> int:
    return next(status for kind, status in _STATUS.items() if isinstance(error, kind))


def _line(error: Exception) -> str:
    if isinstance(error, sqlite3.DatabaseError):
        return f"the index is damaged ({error}). Rebuild it with: assay index --rebuild"
    return str(error)


def _json_error(error: Exception) -> Response:
    status = _status(error)
    return JSONResponse({"error": _line(error)}, status, _later(status))


def _later(status: int) -> dict[str, str]:
    """When to ask again, where that helps."""
    return {"retry-after": "1"} if status == 503 else {}


async def _refused(request: Request, error: Exception) -> Response:
    """No such address, or not with this method."""
    assert isinstance(error, HTTPException)
    lines = {404: "there is nothing at this address", 405: f"{request.method} is not possible here"}
    line = lines.get(error.status_code, error.detail)
    if request.url.path.startswith("/api/") or request.method not in ("GET", "HEAD"):
        return JSONResponse({"error": line}, error.status_code, error.headers)
    return HTMLResponse(document(failed(error.status_code, line)), error.status_code, error.headers)


async def _broken(request: Request, error: Exception) -> Response:
    """A fault of ours: the log has it, the answer does not."""
    _log.error("%s %s", request.method, request.url.path, exc_info=error)
    return JSONResponse({"error": "something broke in assay; its log says what"}, 500)


# Running the web server on a socket that listens.

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
