"""Stands before every request: whom it answers, how much it reads, how long it works, and what browsers may do with the answer."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.serve.watch.access import UNAUTHORIZED, Access

LARGEST_HEAD = 65_536  # bytes: a task of 20,000 characters fits, written in an address
LARGEST_BODY = 262_144  # bytes: ten times the longest text there is a use for
SECONDS = 60.0  # for one request, with reading and sending
OPEN = ("/login", "/static/")  # what is answered without the token

_TOO_LARGE = f"the body is larger than {LARGEST_BODY:,} bytes"
_API = ("/api/", "/openapi.json")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """An ASGI application around another: refuses what it should not see and adds headers to what it answers."""

    def __init__(self, app: ASGIApp, access: Access, seconds: float = SECONDS) -> None:
        self.app, self.access, self.seconds = app, access, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._refusal(scope)
        if refused is not None:
            await refused(scope, receive, sending)
            return
        try:
            async with asyncio.timeout(self.seconds):
                await self.app(scope, _limited(receive), sending)
        except TimeoutError:
            if not started:
                await _error(504, f"no answer within {self.seconds:g} seconds")(scope, receive, sending)

    def _refusal(self, scope: Scope) -> Response | None:
        """What to answer to a request that is not to be heard; None for one that is."""
        headers, path = Headers(scope=scope), scope["path"]
        if _size(scope) > LARGEST_HEAD:
            return _error(431, f"the head of the request is larger than {LARGEST_HEAD:,} bytes", connection="close")
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self.access.answers_to(host):
            return _error(403, "this server does not answer to that Host; start it with --allow-host NAME if it should")
        if not self._ours(headers, host, scope):
            return _error(403, "requests from the pages of other sites are refused")
        if not self.access.allows(headers) and not path.startswith(OPEN):
            if path.startswith(_API):
                return _error(401, UNAUTHORIZED, **{"WWW-Authenticate": "Bearer"})
            return RedirectResponse("/login", 303)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            return _error(413, _TOO_LARGE, connection="close")
        return None

    def _ours(self, headers: Headers, host: str, scope: Scope) -> bool:
        """Whether a request comes from our own pages or from no page at all; following a link to a page is fine, too."""
        site = headers.get("sec-fetch-site", "none")
        origin = headers.get("origin")
        if origin is not None and not self.access.allows_origin(origin, host, scope["scheme"]):
            return origin == "null" and site == "same-origin"  # a form of a page that sends no referrer
        if site in ("none", "same-origin"):
            return True
        followed = headers.get("sec-fetch-mode") == "navigate" and scope["method"] in ("GET", "HEAD")
        return followed and not scope["path"].startswith(_API)


def _size(scope: Scope) -> int:
    """The bytes of a request's head, about."""
    return len(scope["raw_path"]) + len(scope["query_string"]) + sum(len(k) + len(v) for k, v in scope["headers"])


def _limited(receive: Receive) -> Receive:
    """The same body, cut off by an error when there is too much of it."""
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
