"""MCP clients of the SDK connected to a real `assay mcp`."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.types import TextContent, TextResourceContents

from support.command import COMMAND, ENVIRONMENT
from support.waiting import PATIENCE


def text_of(part: object) -> str:
    """Return the text of a part of an answer; fail for images and other binary parts."""
    assert isinstance(part, TextContent | TextResourceContents), part
    return part.text


class Agent:
    """A client that reads answers as text."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def ask(self, tool: str, **arguments: Any) -> str:
        """The answer, which must not be an error."""
        text, failed = await self.call(tool, **arguments)
        assert not failed, text
        return text

    async def call(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        result = await self.client.call_tool(tool, arguments)
        return "".join(map(text_of, result.content)), bool(result.is_error)

    async def read(self, uri: str) -> Any:
        result = await self.client.read_resource(uri)
        return json.loads(text_of(result.contents[0]))

    async def until(self, is_so: Callable[[Any], bool], uri: str = "assay://freshness") -> Any:
        """Waits until a resource is as it should be."""
        deadline = time.monotonic() + PATIENCE
        while not is_so(found := await self.read(uri)):
            assert time.monotonic() < deadline, found
            await anyio.sleep(0.1)
        return found

    async def until_fresh(self) -> None:
        await self.until(lambda found: found["fresh"] and found["state"]["name"] == "fresh")


@contextlib.asynccontextmanager
async def over_stdio(root: Path, *options: str, mode: str = "auto") -> AsyncIterator[Agent]:
    """An agent with a server of its own."""
    started = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], "mcp", "--root", str(root), *options], env=ENVIRONMENT, cwd=root
    )
    async with Client(started, mode=mode) as client:
        yield Agent(client)


@contextlib.contextmanager
def http_server(root: Path, *options: str) -> Iterator[str]:
    """A server over HTTP; gives its URL."""
    command = [*COMMAND, "mcp", "--root", str(root), "--http", "0", *options]
    process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"http://\S+", said)
        assert found, said + process.stderr.read()
        yield found[0]
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def talk(work: Callable[[], Awaitable[None]]) -> None:
    """Runs what an agent does."""
    anyio.run(work)
