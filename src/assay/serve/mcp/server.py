"""The tools, resources and prompts behind the official SDK. Every call is answered in a thread: a long one holds up nobody."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from assay import __version__
from assay.errors import AssayError
from assay.pack.render.form import one_line
from assay.serve.mcp.arguments import Conversation, Conversations, Notes, schema
from assay.serve.mcp.offered import PROMPTS, RESOURCES, TOOLS, Prompt, Resource, Tool, instructions
from assay.serve.mcp.tools import Call
from assay.serve.watch import Resident, Residents
from assay.serve.watch.first_look import FirstLook
from assay.text.terms import nearest

_AT_ONCE = 8  # calls that are answered at the same time; more wait their turn
_SESSION = "mcp-session-id"
_log = logging.getLogger(__name__)

Request = ServerRequestContext[Any, Any]
Paged = types.PaginatedRequestParams | None
T = TypeVar("T")


class Serving:
    """One repository, served to any number of connections."""

    def __init__(self, resident: Resident | Residents, first: FirstLook, notes: Notes) -> None:
        self._resident, self._first, self._notes = resident, first, notes
        self._conversations = Conversations()
        self._turns = anyio.CapacityLimiter(_AT_ONCE)
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
        return types.ListToolsResult(tools=[_tool(tool) for tool in TOOLS.values()])

    async def _call_tool(self, ctx: Request, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            tool = _known("tool", params.name, TOOLS)
            text = await self._answered(tool, params.arguments or {}, self._conversation(ctx))
        except AssayError as error:
            return _said(_line(error), error=True)
        except Exception as error:
            _log.exception("%s failed", one_line(params.name))
            return _said(f"{params.name} failed: {type(error).__name__}: {_line(error)}", error=True)
        return _said(text)

    async def _answered(self, tool: Tool, given: dict[str, Any], conversation: Conversation) -> str:
        call = Call(self._resident, self._first, conversation, self._notes, threading.Event())
        try:
            return await self._in_thread(lambda: tool.call(call, given))
        except anyio.get_cancelled_exc_class():
            call.stop.set()
            raise

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._turns)

    def _conversation(self, ctx: Request) -> Conversation:
        """That of the connection: the only one of stdio, that of its session over HTTP, a new one where a client has no sessions."""
        return self._conversations.of("stdio" if ctx.request is None else ctx.request.headers.get(_SESSION))

    # resources and prompts

    async def _list_resources(self, _ctx: Request, _params: Paged) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[_resource(one) for one in RESOURCES.values()])

    async def _read_resource(self, _ctx: Request, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        try:
            resource = _known("resource", str(params.uri), RESOURCES)
            value = await self._in_thread(lambda: resource.read(self._resident))
        except AssayError as error:
            raise MCPError(types.INVALID_PARAMS, _line(error)) from None
        text = json.dumps(value, indent=1)
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=resource.uri, mime_type="application/json", text=text)]
        )

    async def _list_prompts(self, _ctx: Request, _params: Paged) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[_prompt(one) for one in PROMPTS.values()])

    async def _get_prompt(self, ctx: Request, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        given = params.arguments or {}
        try:
            prompt = _known("prompt", params.name, PROMPTS)
            found = await self._answered(TOOLS["context"], prompt.arguments(given), self._conversation(ctx))
        except AssayError as error:
            raise MCPError(types.INVALID_PARAMS, _line(error)) from None
        said = types.TextContent(type="text", text=prompt.text.format_map({**given, "found": found}))
        return types.GetPromptResult(
            description=prompt.description, messages=[types.PromptMessage(role="user", content=said)]
        )


def _known(what: str, name: str, table: dict[str, T]) -> T:
    """The row of a table; an unknown name is an error that offers the nearest."""
    if name not in table:
        near = nearest(name, table, 1)
        hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(table)}"
        raise AssayError(f"no {what} called '{name}'. {hint}")
    return table[name]


def _tool(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=tool.reads, destructive_hint=False, open_world_hint=False)
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schema(tool.takes),
        annotations=hints,
    )


def _resource(one: Resource) -> types.Resource:
    return types.Resource(uri=one.uri, name=one.name, description=one.description, mime_type="application/json")


def _prompt(one: Prompt) -> types.Prompt:
    takes = [types.PromptArgument(name=name, description=told, required=needed) for name, told, needed in one.takes]
    return types.Prompt(name=one.name, title=one.title, description=one.description, arguments=takes)


def _line(error: Exception) -> str:
    return one_line(" ".join(str(error).split()))


def _said(text: str, error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=error)
