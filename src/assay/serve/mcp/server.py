"""MCP server on the official SDK: dispatch of tools, resources and prompts to worker threads, and its transports.

Transports are stdio for one client and HTTP for many, with request checks and a session limit.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay import __version__
from assay.errors import AssayError
from assay.serve.access import UNAUTHORIZED, Access
from assay.serve.http import serve
from assay.serve.mcp.conversation import Conversation, Conversations, UsageLog
from assay.serve.mcp.offered import PROMPTS, RESOURCES, TOOLS, Prompt, Resource, Tool, instructions
from assay.serve.mcp.tools import Call
from assay.serve.requests import json_schema
from assay.serve.telemetry import AuditLog, RequestRecord
from assay.serve.tokens import LOCAL, Identity
from assay.serve.watch import Resident, WorkspaceResident
from assay.serve.watch.first_look import FirstLook
from assay.text.display import one_line
from assay.text.suggest import require_name

_MAX_CONCURRENT = 8  # calls; further ones wait
_SESSION = "mcp-session-id"
_log = logging.getLogger(__name__)

Request = ServerRequestContext[Any, Any]
Paged = types.PaginatedRequestParams | None
T = TypeVar("T")


class McpServer:
    """MCP server of one resident repository, or several, for any number of connections."""

    def __init__(self, resident: Resident | WorkspaceResident, first: FirstLook, notes: UsageLog) -> None:
        self._resident, self._first, self._notes = resident, first, notes
        self._conversations = Conversations()
        self._limiter = anyio.CapacityLimiter(_MAX_CONCURRENT)
        self.server: Server[Any] = Server(
            "assay",
            version=__version__,
            instructions=instructions(notes.labels, notes.ignored_settings),
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )

    # tools

    async def _list_tools(self, _ctx: Request, _params: Paged) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_describe_tool(tool) for tool in TOOLS.values()])

    async def _call_tool(self, ctx: Request, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            tool = TOOLS[require_name("tool", params.name, TOOLS)]
            text = await self._run_tool(tool, params.arguments or {}, self._conversation(ctx))
        except AssayError as error:
            return _text_result(_one_line(error), error=True)
        except Exception as error:
            _log.exception("%s failed", one_line(params.name))
            return _text_result(f"{params.name} failed: {type(error).__name__}: {_one_line(error)}", error=True)
        return _text_result(text)

    async def _run_tool(self, tool: Tool, arguments: dict[str, Any], conversation: Conversation) -> str:
        call = Call(self._resident, self._first, conversation, self._notes, threading.Event())
        try:
            return await self._run_in_thread(lambda: tool.call(call, arguments))
        except anyio.get_cancelled_exc_class():
            call.stop.set()
            raise

    async def _run_in_thread(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)

    def _conversation(self, ctx: Request) -> Conversation:
        """Return the conversation: one for stdio, one per HTTP session, a new one without a session."""
        return self._conversations.of("stdio" if ctx.request is None else ctx.request.headers.get(_SESSION))

    # resources and prompts

    async def _list_resources(self, _ctx: Request, _params: Paged) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[_describe_resource(resource) for resource in RESOURCES.values()])

    async def _read_resource(self, _ctx: Request, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        try:
            resource = RESOURCES[require_name("resource", str(params.uri), RESOURCES)]
            value = await self._run_in_thread(lambda: resource.read(self._resident))
        except AssayError as error:
            raise MCPError(types.INVALID_PARAMS, _one_line(error)) from None
        text = json.dumps(value, indent=1)
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=resource.uri, mime_type="application/json", text=text)]
        )

    async def _list_prompts(self, _ctx: Request, _params: Paged) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[_describe_prompt(prompt) for prompt in PROMPTS.values()])

    async def _get_prompt(self, ctx: Request, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        arguments = params.arguments or {}
        try:
            prompt = PROMPTS[require_name("prompt", params.name, PROMPTS)]
            answer = await self._run_tool(TOOLS["context"], prompt.arguments(arguments), self._conversation(ctx))
        except AssayError as error:
            raise MCPError(types.INVALID_PARAMS, _one_line(error)) from None
        content = types.TextContent(type="text", text=prompt.text.format_map({**arguments, "found": answer}))
        return types.GetPromptResult(
            description=prompt.description, messages=[types.PromptMessage(role="user", content=content)]
        )


def _describe_tool(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=tool.reads, destructive_hint=False, open_world_hint=False)
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=json_schema(tool.takes),
        annotations=hints,
    )


def _describe_resource(resource: Resource) -> types.Resource:
    return types.Resource(
        uri=resource.uri, name=resource.name, description=resource.description, mime_type="application/json"
    )


def _describe_prompt(prompt: Prompt) -> types.Prompt:
    parameters = [
        types.PromptArgument(name=name, description=description, required=required)
        for name, description, required in prompt.takes
    ]
    return types.Prompt(name=prompt.name, title=prompt.title, description=prompt.description, arguments=parameters)


def _one_line(error: Exception) -> str:
    return one_line(" ".join(str(error).split()))


def _text_result(text: str, error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=error)


PATH = "/mcp"
SESSIONS = 256  # open at once: more than connections, so that an idle one can always be evicted
LARGEST_BODY = 1_048_576  # bytes of a request: many times the longest task and a hundred names
BODY_SECONDS = 30.0  # for a client to send the request body
_CONNECTIONS = 200  # concurrent; further ones get a 503
_SESSION_HEADER = b"mcp-session-id"


def serve_stdio(serving: McpServer) -> None:
    """Serve one client over stdin and stdout until it closes stdin."""

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await serving.server.run(reading, writing, serving.server.create_initialization_options())

    anyio.run(run)


def serve_http(
    serving: McpServer, access: Access, listening: socket.socket, role: str = "read", audit: AuditLog | None = None
) -> None:
    """Serve over HTTP on a listening socket until interrupted; tokens need a role."""
    app: Any = serving.server.streamable_http_app(
        streamable_http_path=PATH,
        # the SDK's patterns accept `localhost:1@evil.com` as `localhost:*`; Guard checks Host and Origin instead
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_sessions=SESSIONS,
        max_request_body_size=LARGEST_BODY,
    )
    print(f"assay: serving at http://{access.shown}:{listening.getsockname()[1]}{PATH}", file=sys.stderr, flush=True)
    serve(
        Guard(SessionLimiter(app), access, role=role, audit=audit),
        listening,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=2,
    )


class Guard:
    """ASGI middleware: checks Host, Origin and token, and limits body size and receive time."""

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        seconds: float = BODY_SECONDS,
        *,
        role: str = "read",
        audit: AuditLog | None = None,
    ) -> None:
        self._app, self._access, self._seconds = app, access, seconds
        self._role, self._audit = role, audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        identity = self._identify(scope)
        refusal = self._refusal(scope, identity)
        body = b""
        if refusal is None:
            try:
                async with asyncio.timeout(self._seconds):
                    body = await _read_body(receive)
            except TimeoutError:
                refusal = _error_response(408, f"the request was not complete within {self._seconds:g} seconds")
            except _TooLarge:
                refusal = _error_response(413, f"the body is larger than {LARGEST_BODY:,} bytes")
        if refusal is not None and not self._access.is_protected:
            identity = None
        if self._audit is not None:
            status = refusal.status_code if refusal else 0  # 0: a stream, whose end is not awaited
            self._audit.record(RequestRecord(identity, scope["method"], scope["path"], status, 0.0))
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self._app(scope, _replay_body(body, receive), send)

    def _identify(self, scope: Scope) -> Identity | None:
        return self._access.identify_bearer(Headers(scope=scope)) if self._access.is_protected else LOCAL

    def _refusal(self, scope: Scope, identity: Identity | None) -> Response | None:
        """Return the error response of a request that is refused, else None."""
        headers, access = Headers(scope=scope), self._access
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not (
            access.is_addressed(hosts[0]) if access.is_protected else access.answers_to(hosts[0])
        ):
            return _error_response(421, "this server does not answer to that Host")
        if len(origins) > 1 or (origins and not access.allows_origin(origins[0], hosts[0], scope["scheme"])):
            return _error_response(403, "requests from the pages of other sites are refused")
        if identity is None:
            return PlainTextResponse(f"{UNAUTHORIZED}\n", 401, {"WWW-Authenticate": "Bearer"})
        if not identity.may(self._role):
            return _error_response(403, f"this needs a token with the role {self._role}; yours has {identity.role}")
        return None


class SessionLimiter:
    """ASGI middleware that evicts the least recently used idle session when the SDK's session limit is reached.

    The evicted client gets a 404 on its next request, after which MCP clients start a new session.
    """

    def __init__(self, app: ASGIApp, most: int = SESSIONS) -> None:
        self._app, self._limit = app, most
        self._requests: OrderedDict[bytes, int] = OrderedDict()  # session → running requests, least recently used first
        self._opening = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        session = dict(scope["headers"]).get(_SESSION_HEADER)
        if session is None:
            await self._open(scope, receive, send)
        elif session in self._requests:
            await self._use(session, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request without a session, which may start one."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                new_session = dict(message["headers"]).get(_SESSION_HEADER)
                if new_session is not None:
                    self._requests.setdefault(new_session, 0)
            await send(message)

        while len(self._requests) + self._opening >= self._limit and await self._evict_idle():
            pass
        self._opening += 1
        try:
            await self._app(scope, receive, sending)
        finally:
            self._opening -= 1

    async def _use(self, session: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        ended = False

        async def sending(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                ended = message["status"] == 404 or (scope["method"] == "DELETE" and message["status"] < 300)
            await send(message)

        self._requests[session] += 1
        self._requests.move_to_end(session)
        try:
            await self._app(scope, receive, sending)
        finally:
            if ended:
                self._requests.pop(session, None)
            elif session in self._requests:
                self._requests[session] -= 1

    async def _evict_idle(self) -> bool:
        """Delete the least recently used idle session as its client would; return False if all are busy."""
        session = next((session for session, requests in self._requests.items() if not requests), None)
        if session is None:
            return False
        del self._requests[session]
        headers = [(b"host", b"localhost"), (_SESSION_HEADER, session)]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "method": "DELETE",
            "path": PATH, "raw_path": PATH.encode(), "root_path": "", "query_string": b"", "headers": headers,
        }  # fmt: skip
        await self._app(scope, _replay_body(b"", _disconnect), _discard)
        return True


class _TooLarge(Exception):
    """The request body exceeds LARGEST_BODY."""


async def _read_body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            raise _TooLarge
        if message["type"] != "http.request" or not message.get("more_body", False):
            return bytes(body)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that replays a body already read, then forwards."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receiving() -> Message:
        return pending.pop() if pending else await receive()

    return receiving


async def _disconnect() -> Message:
    return {"type": "http.disconnect"}


async def _discard(_message: Message) -> None:
    """Discard the response of an eviction."""


def _error_response(status: int, line: str) -> Response:
    return PlainTextResponse(f"{line}\n", status, {"connection": "close"})
