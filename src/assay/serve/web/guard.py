"""Request guard: Host, Origin and token checks, size and time limits, and security headers of every response."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.serve.access import UNAUTHORIZED, Access
from assay.serve.http import LARGEST_HEAD

LARGEST_BODY = 262_144  # bytes: ten times the longest useful text
SECONDS = 60.0  # for one request, including receiving and sending
OPEN = ("/login", "/static/")  # path prefixes served without the token

_TOO_LARGE = f"the body is larger than {LARGEST_BODY:,} bytes"
_API_PATHS = ("/api/", "/openapi.json")
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
    """ASGI middleware: refuses invalid requests and adds security headers to responses."""

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
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, sending)
            return
        try:
            async with asyncio.timeout(self.seconds):
                await self.app(scope, _limit_body(receive), sending)
        except TimeoutError:
            if not started:
                await _error(504, f"no answer within {self.seconds:g} seconds")(scope, receive, sending)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the error response of a request that is refused, else None."""
        headers, path = Headers(scope=scope), scope["path"]
        if _head_size(scope) > LARGEST_HEAD:
            return _error(431, f"the head of the request is larger than {LARGEST_HEAD:,} bytes", connection="close")
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self.access.answers_to(host):
            return _error(403, "this server does not answer to that Host; start it with --allow-host NAME if it should")
        if not self._is_trusted_source(headers, host, scope):
            return _error(403, "requests from the pages of other sites are refused")
        if not self.access.allows(headers) and not path.startswith(OPEN):
            if path.startswith(_API_PATHS):
                return _error(401, UNAUTHORIZED, **{"WWW-Authenticate": "Bearer"})
            return RedirectResponse("/login", 303)
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
