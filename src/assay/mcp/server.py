"""The tools, resources and prompts behind the official SDK. Every call is answered in a thread: a long one holds up nobody."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from assay import __version__
from assay.errors import AssayError
from assay.live import Resident
from assay.mcp.arguments import schema
from assay.mcp.conversation import Conversation, Conversations
from assay.mcp.first_look import FirstLook
from assay.mcp.offered import INSTRUCTIONS, TOOLS
from assay.mcp.tools import Call
from assay.text.identifiers import nearest

_AT_ONCE = 8  # calls that are answered at the same time; more wait their turn
_SESSION = "mcp-session-id"
_log = logging.getLogger(__name__)

Request = ServerRequestContext[Any, Any]


class Serving:
    """One repository, served to any number of connections."""

    def __init__(self, resident: Resident, first: FirstLook | None, learning: bool = True) -> None:
        self._resident, self._first, self._learning = resident, first, learning
        self._conversations = Conversations()
        self._turns = anyio.CapacityLimiter(_AT_ONCE)
        self.server: Server[Any] = Server(
            "assay",
            version=__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    async def over_stdio(self) -> None:
        """Until the client closes our stdin."""
        async with stdio_server() as (reading, writing):
            await self.server.run(reading, writing, self.server.create_initialization_options())

    async def _list_tools(self, _ctx: Request, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    title=tool.title,
                    description=tool.description,
                    input_schema=schema(tool.takes),
                    annotations=types.ToolAnnotations(
                        read_only_hint=tool.reads, destructive_hint=False, open_world_hint=False
                    ),
                )
                for tool in TOOLS.values()
            ]
        )

    async def _call_tool(self, ctx: Request, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            text = await self._answer(params.name, params.arguments or {}, self._conversation(ctx))
        except AssayError as error:
            return _said(" ".join(str(error).split()), error=True)
        except Exception as error:
            _log.exception("%s failed", params.name)
            return _said(f"{params.name} failed: {type(error).__name__}: {error}", error=True)
        return _said(text)

    async def _answer(self, name: str, given: dict[str, Any], conversation: Conversation) -> str:
        tool = TOOLS.get(name)
        if tool is None:
            near = nearest(name, TOOLS, 1)
            raise AssayError(
                f"no tool called '{name}'."
                + (f" Did you mean {near[0]}?" if near else f" There are: {', '.join(TOOLS)}")
            )
        call = Call(self._resident, self._first, conversation, self._learning, threading.Event())
        try:
            return await anyio.to_thread.run_sync(tool.call, call, given, abandon_on_cancel=True, limiter=self._turns)
        except anyio.get_cancelled_exc_class():
            call.stop.set()
            raise

    def _conversation(self, ctx: Request) -> Conversation:
        """That of the connection: the only one of stdio, that of its session over HTTP, a new one where a client has no sessions."""
        if ctx.request is None:
            return self._conversations.of("stdio")
        return self._conversations.of(ctx.request.headers.get(_SESSION))


def _said(text: str, error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=error)


def serve_stdio(root: Path, index_dir: Path | None, watch: bool, learning: bool) -> None:
    """Serves one client over stdin and stdout until it leaves."""
    with Resident(root, index_dir, watch) as resident:
        first = FirstLook(root) if resident.home.named() is None else None
        anyio.run(Serving(resident, first, learning).over_stdio)
