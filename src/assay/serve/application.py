"""The ASGI application: pages and API as tables become routes, errors become one clear line, the guard stands before all."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from assay.errors import AssayError
from assay.evaluate.compare import NotComparable
from assay.evaluate.runs import NoSuchRun, RunsInUse
from assay.live.access import COOKIE, Access
from assay.retrieve.names import NoSuchSymbol
from assay.serve.api import ENDPOINTS, Endpoint
from assay.serve.bench import Bench, NotFound, NotYet
from assay.serve.guard import Guard
from assay.serve.openapi import description
from assay.serve.pages.login import login_page
from assay.serve.pages.shell import Page, Shown, document, failed
from assay.serve.pages.table import PAGES
from assay.serve.parameters import from_body, from_query
from assay.serve.static import static
from assay.serve.workers import Busy, Workers
from assay.store.index import NoIndex, UnusableIndex

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
