"""MCP server on the official SDK: dispatches tools, resources and prompts to worker threads."""

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
from assay.serve.mcp.conversation import Conversation, Conversations, UsageLog
from assay.serve.mcp.offered import PROMPTS, RESOURCES, TOOLS, Prompt, Resource, Tool, instructions
from assay.serve.mcp.tools import Call
from assay.serve.requests import json_schema
from assay.serve.watch import Resident, WorkspaceResident
from assay.serve.watch.first_look import FirstLook
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
