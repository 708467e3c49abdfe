"""A synchronous client of language servers over standard input and output.

Requests are pipelined: a batch is written while answers are read, so that neither side blocks on a full pipe. Messages
have a size limit, requests a deadline. Everything a server says is checked before it is used.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from assay.index.enrich.process import ToolFailed, exit_reason, last_line

MAX_MESSAGE = 32_000_000  # bytes; the largest real answers have some hundred kilobytes
_MAX_HEADER = 4_096
_KEPT = 4_000  # bytes of stderr
_READ = 1 << 16
_REQUEST_SECONDS = 60.0  # for one batch of requests; a busy server takes seconds for the first of a file
_START_SECONDS = 180.0  # loading a large project
_AHEAD = 32  # requests in flight
_QUIET_SECONDS = 1.0  # without progress messages, a project counts as loaded
_LAST_NUMBER = 2**31 - 1
_METHOD_NOT_FOUND = -32601

_CAPABILITIES = {
    "textDocument": {
        "definition": {"linkSupport": True},
        "synchronization": {"didSave": False},
    },
    "workspace": {"configuration": True, "workspaceFolders": True, "didChangeConfiguration": {}},
    "window": {"workDoneProgress": True},
    "general": {"positionEncodings": ["utf-16"]},
}


class Location(NamedTuple):
    """A position that a server names: the absolute path, line from 1, column in UTF-16 units."""

    path: str
    line: int
    column: int


class Server:
    """A running language server. Every method raises ToolFailed if it crashes, is too slow or talks nonsense."""

    def __init__(
        self, process: subprocess.Popen[bytes], root: Path, settings: Mapping[str, Any], deadline: float
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process, self._root, self._settings, self._deadline = process, root, settings, deadline
        self._input, self._stderr_stream = process.stdin.fileno(), process.stderr.fileno()
        self._output = process.stdout.fileno()
        for descriptor in (self._input, self._output, self._stderr_stream):
            os.set_blocking(descriptor, False)
        self._received, self._unsent, self._stderr = bytearray(), bytearray(), bytearray()
        self._next = 0
        self._answers: dict[int, Any] = {}
        self._pending: set[int] = set()
        self._progress: set[str] = set()
        self._last_progress = time.monotonic()

    def initialize(self, options: Mapping[str, Any], loads: bool) -> None:
        """Introduce the repository; with `loads`, wait until the server has loaded it."""
        uri = self._root.as_uri()
        self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": uri,
                "rootPath": str(self._root),
                "workspaceFolders": [{"uri": uri, "name": self._root.name}],
                "capabilities": _CAPABILITIES,
                "initializationOptions": dict(options),
            },
            _START_SECONDS,
        )
        self.notify("initialized", {})
        self.notify("workspace/didChangeConfiguration", {"settings": dict(self._settings)})
        if loads:
            self._last_progress = time.monotonic()
            self._pump(self._is_idle, _START_SECONDS, "not ready")

    def _is_idle(self) -> bool:
        return not self._progress and time.monotonic() - self._last_progress > _QUIET_SECONDS

    def open(self, path: Path, language: str, text: str) -> str:
        """Open a document and return its URI."""
        uri = path.as_uri()
        self.notify(
            "textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": language, "version": 1, "text": text}}
        )
        return uri

    def close(self, uri: str) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def definitions(self, uri: str, positions: Sequence[tuple[int, int]]) -> list[list[Location]]:
        """Return the locations of the definition behind each position (line from 1, column) of an open document."""
        out: list[list[Location]] = []
        for first in range(0, len(positions), _AHEAD):
            ids = [
                self._send(
                    "textDocument/definition",
                    {"textDocument": {"uri": uri}, "position": {"line": line - 1, "character": column}},
                )
                for line, column in positions[first : first + _AHEAD]
            ]
            self._wait(ids, _REQUEST_SECONDS)
            out += [_locations(self._answers.pop(id)) for id in ids]
        return out

    # Messages

    def request(self, method: str, parameters: Any, seconds: float) -> Any:
        """Send a request and return its result; None if the server refuses it."""
        id = self._send(method, parameters)
        self._wait([id], seconds)
        return self._answers.pop(id)

    def notify(self, method: str, parameters: Any) -> None:
        self._write({"method": method, "params": parameters})

    def _send(self, method: str, parameters: Any) -> int:
        self._next += 1
        self._pending.add(self._next)
        self._write({"id": self._next, "method": method, "params": parameters})
        return self._next

    def _write(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._unsent += b"Content-Length: %d\r\n\r\n" % len(body) + body

    def _wait(self, ids: Sequence[int], seconds: float) -> None:
        self._pump(lambda: all(id in self._answers for id in ids), seconds, "no answer")

    def _pump(self, is_done: Callable[[], bool], seconds: float, late: str) -> None:
        """Write and read until `is_done`. Raises ToolFailed after `seconds`, and at the overall deadline."""
        end = min(time.monotonic() + seconds, self._deadline)
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            selector.register(self._stderr_stream, selectors.EVENT_READ)
            while not is_done():
                remaining = end - time.monotonic()
                if remaining <= 0:
                    overall = time.monotonic() >= self._deadline
                    raise ToolFailed(
                        "stopped at the deadline (--deadline)" if overall else f"{late} within {seconds:.0f} s"
                    )
                self._select(selector, min(remaining, 0.1 if self._progress or late == "not ready" else remaining))

    def _select(self, selector: selectors.BaseSelector, seconds: float) -> None:
        if self._unsent and self._input not in selector.get_map():
            selector.register(self._input, selectors.EVENT_WRITE)
        elif not self._unsent and self._input in selector.get_map():
            selector.unregister(self._input)
        for key, _ in selector.select(seconds):
            if key.fd == self._input:
                self._flush()
            elif key.fd == self._output:
                self._read()
            else:
                self._read_errors(selector)

    def _flush(self) -> None:
        try:
            written = os.write(self._input, self._unsent[:_READ])
        except BlockingIOError:
            return
        except OSError:
            self._fail_with_exit()
        del self._unsent[:written]

    def _read(self) -> None:
        try:
            chunk = os.read(self._output, _READ)
        except BlockingIOError:
            return
        if not chunk:
            self._fail_with_exit()
        self._received += chunk
        while (message := self._next_message()) is not None:
            self._handle(message)

    def _read_errors(self, selector: selectors.BaseSelector) -> None:
        try:
            chunk = os.read(self._stderr_stream, _READ)
        except BlockingIOError:
            return
        if not chunk:
            selector.unregister(self._stderr_stream)
        self._stderr += chunk
        del self._stderr[:-_KEPT]

    def _fail_with_exit(self) -> None:
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            raise ToolFailed("closed its output") from None
        text = bytes(self._stderr).decode("utf-8", "replace")
        raise ToolFailed(f"ended ({exit_reason(code)}): {last_line(text) or 'no message'}")

    def _next_message(self) -> dict[str, Any] | None:
        """Take a complete message from what was received; None if there is none yet."""
        end = self._received.find(b"\r\n\r\n", 0, _MAX_HEADER)
        if end < 0:
            if len(self._received) >= _MAX_HEADER:
                raise ToolFailed("sent something else than messages of the language server protocol")
            return None
        length = _content_length(bytes(self._received[:end]))
        start = end + 4
        if len(self._received) < start + length:
            return None
        body = bytes(self._received[start : start + length])
        del self._received[: start + length]
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            raise ToolFailed("sent a message that is not JSON") from None
        if not isinstance(message, dict):
            raise ToolFailed("sent a message that is not an object")
        return message

    def _handle(self, message: dict[str, Any]) -> None:
        method, id = message.get("method"), message.get("id")
        if isinstance(method, str):
            if id is not None:
                self._answer(method, message.get("params"), id)
            elif method == "$/progress":
                self._note_progress(message.get("params"))
        elif isinstance(id, int) and id in self._pending:
            self._pending.discard(id)
            self._answers[id] = message.get("result")

    def _answer(self, method: str, parameters: Any, id: object) -> None:
        """Answer a request of the server. It gets settings and nothing else: no edits, no commands."""
        if method == "workspace/configuration":
            items = parameters.get("items") if isinstance(parameters, dict) else None
            self._write(
                {"id": id, "result": [self._setting(item) for item in items] if isinstance(items, list) else []}
            )
        elif method in ("client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create"):
            self._write({"id": id, "result": None})
        elif method == "workspace/workspaceFolders":
            self._write({"id": id, "result": [{"uri": self._root.as_uri(), "name": self._root.name}]})
        elif method == "workspace/applyEdit":
            self._write({"id": id, "result": {"applied": False}})
        else:
            self._write({"id": id, "error": {"code": _METHOD_NOT_FOUND, "message": "not supported"}})

    def _setting(self, item: Any) -> Any:
        section = item.get("section") if isinstance(item, dict) else None
        value: Any = self._settings
        for name in section.split(".") if isinstance(section, str) and section else ():
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def _note_progress(self, parameters: Any) -> None:
        value = parameters.get("value") if isinstance(parameters, dict) else None
        kind = value.get("kind") if isinstance(value, dict) else None
        token = repr(parameters.get("token"))[:100] if kind else ""
        self._last_progress = time.monotonic()
        if kind == "begin" and len(self._progress) < 1_000:
            self._progress.add(token)
        elif kind == "end":
            self._progress.discard(token)


def _content_length(header: bytes) -> int:
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit() and len(value) < 20:
            length = int(value)
            if length > MAX_MESSAGE:
                raise ToolFailed(f"sent a message of {length / 1e6:,.0f} MB (the limit is {MAX_MESSAGE / 1e6:.0f} MB)")
            return length
    raise ToolFailed("sent something else than messages of the language server protocol")


def _locations(result: Any) -> list[Location]:
    """Return the valid locations of an answer: a Location, or a list of Location or LocationLink."""
    rows = result if isinstance(result, list) else [result]
    return [location for row in rows[:100] if isinstance(row, dict) and (location := _location(row))]


def _location(row: dict[str, Any]) -> Location | None:
    uri = row.get("targetUri", row.get("uri"))
    span = row.get("targetSelectionRange", row.get("range"))
    start = span.get("start") if isinstance(span, dict) else None
    if not isinstance(uri, str) or not isinstance(start, dict):
        return None
    line, column = start.get("line"), start.get("character")
    if (
        type(line) is not int
        or type(column) is not int
        or not (0 <= line < _LAST_NUMBER and 0 <= column < _LAST_NUMBER)
    ):
        return None
    try:
        address = urlsplit(uri)
        if address.scheme != "file" or address.netloc not in ("", "localhost"):
            return Location("", line + 1, column)  # a virtual document: outside
        path = unquote(address.path, errors="surrogateescape")
    except ValueError:
        return None
    return Location(path, line + 1, column) if "\0" not in path else None
