"""`assay init`: insert an `assay mcp` entry into configuration files of agents and editors; change nothing else."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.config.toml import with_table
from assay.errors import AssayError
from assay.system.files import TooLarge, read_regular
from assay.system.inputs import parse_toml

_WHITESPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.S)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL = re.compile(r"[^\s,:\[\]{}\"/]+")
_MAX_DEPTH = 200  # nesting levels, far more than real settings have


@dataclass(frozen=True, slots=True)
class _Node:
    """A parsed value with its span in the text; `members` of an object in source order."""

    start: int
    end: int
    value: Any
    members: tuple[tuple[str, _Node], ...] = ()
    open_ended: bool = False  # has a trailing comma


def insert_member(text: str, path: Sequence[str], value: Any) -> str:
    """Insert `value` at a path of object keys unless the path exists; return the text, otherwise unchanged.

    Raises AssayError if the text, or a value on the path, is not an object.
    """
    if "\r\n" in text:
        return insert_member(text.replace("\r\n", "\n"), path, value).replace("\n", "\r\n")
    text = text if text.strip() else "{}\n"
    node, remaining = _parse(text), list(path)
    while (inner := _member(node, remaining[0])) is not None:
        if len(remaining) == 1:
            return text
        if not isinstance(inner.value, dict):
            raise AssayError(f"its '{remaining[0]}' is not an object")
        node, remaining = inner, remaining[1:]
    for name in reversed(remaining[1:]):
        value = {name: value}
    return _insert_member(text, node, remaining[0], value, _indent_unit(text), len(path) - len(remaining) + 1)


def parse_jsonc(text: str) -> Any:
    """Parse JSON with comments and trailing commas."""
    return _parse(text).value


def _member(node: _Node, name: str) -> _Node | None:
    return next((value for key, value in reversed(node.members) if key == name), None)


def _insert_member(text: str, node: _Node, name: str, value: Any, unit: str, depth: int) -> str:
    """Insert a new last member after the comments that follow the previous one."""
    member = f"\n{unit * depth}{json.dumps(name)}: {_serialize(value, unit, depth)}"
    closing = f"\n{unit * (depth - 1)}"
    if not node.members:
        inside = text[node.start + 1 : node.end - 1].rstrip()
        return text[: node.start + 1] + inside + member + closing + text[node.end - 1 :]
    last = node.members[-1][1].end
    inside = text[last : node.end - 1].rstrip()
    comma = "" if node.open_ended else ","
    return text[:last] + comma + inside + member + ("," if node.open_ended else "") + closing + text[node.end - 1 :]


def _serialize(value: Any, unit: str, depth: int) -> str:
    """Serialize a value: object members on separate lines, everything else on one line."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    lines = (
        f"\n{unit * (depth + 1)}{json.dumps(name)}: {_serialize(member, unit, depth + 1)}"
        for name, member in value.items()
    )
    return "{" + ",".join(lines) + f"\n{unit * depth}}}"


def _indent_unit(text: str) -> str:
    """Return the indentation of one level, detected from the text."""
    match = re.search(r"^([ \t]+)\S", text, re.M)
    return match[1] if match else "  "


def _parse(text: str) -> _Node:
    reader = _Reader(text)
    node = reader.value(reader.skip(0), 0)
    if reader.skip(node.end) != len(text) or not isinstance(node.value, dict):
        raise AssayError("it is not one JSON object")
    return node


class _Reader:
    """Recursive descent over JSON with comments and trailing commas."""

    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, at: int) -> int:
        match = _WHITESPACE.match(self._text, at)
        return match.end() if match else at

    def value(self, at: int, depth: int) -> _Node:
        if depth > _MAX_DEPTH:
            raise AssayError("it is nested too deeply")
        first = self._text[at : at + 1]
        if first == "{":
            return self._object(at, depth)
        if first == "[":
            return self._array(at, depth)
        match = (_STRING if first == '"' else _LITERAL).match(self._text, at)
        if match is None:
            raise self._syntax_error(at)
        try:
            return _Node(at, match.end(), json.loads(match[0]))
        except ValueError:
            raise self._syntax_error(at) from None

    def _object(self, start: int, depth: int) -> _Node:
        members: list[tuple[str, _Node]] = []
        at, comma = self.skip(start + 1), True
        while self._text[at : at + 1] != "}":
            name = _STRING.match(self._text, at)
            if name is None or not comma:
                raise self._syntax_error(at)
            colon = self.skip(name.end())
            if self._text[colon : colon + 1] != ":":
                raise self._syntax_error(colon)
            node = self.value(self.skip(colon + 1), depth + 1)
            members.append((json.loads(name[0]), node))
            at, comma = self._next(node.end)
        value = {name: node.value for name, node in members}
        return _Node(start, at + 1, value, tuple(members), bool(members) and comma)

    def _array(self, start: int, depth: int) -> _Node:
        values = []
        at, comma = self.skip(start + 1), True
        while self._text[at : at + 1] != "]":
            if not comma:
                raise self._syntax_error(at)
            node = self.value(at, depth + 1)
            values.append(node.value)
            at, comma = self._next(node.end)
        return _Node(start, at + 1, values)

    def _next(self, at: int) -> tuple[int, bool]:
        """Return the offset of the next token after a value, and True if a comma precedes it."""
        at = self.skip(at)
        return (self.skip(at + 1), True) if self._text[at : at + 1] == "," else (at, False)

    def _syntax_error(self, at: int) -> AssayError:
        line = self._text.count("\n", 0, at) + 1
        return AssayError(f"it is not valid JSON (line {line})")


# Clients and their configuration files

NAME = "assay"
_MAX_BYTES = 10_000_000  # of a configuration file
_OPEN_FOLDER = ("--root", "${workspaceFolder}")  # for editors that start servers outside the open folder


@dataclass(frozen=True)
class Client:
    """Location and entry format of an agent's MCP server configuration."""

    name: str
    title: str
    file: str  # relative to the repository, or to the home directory with ~
    place: tuple[str, ...]  # object keys of the entry
    options: tuple[str, ...] = ()
    more: tuple[tuple[str, Any], ...] = ()  # keys besides command and args

    @property
    def shared(self) -> bool:
        """True if the file belongs to the repository rather than to the user."""
        return not self.file.startswith("~")

    def path(self, root: Path) -> Path:
        return root / self.file if self.shared else Path(self.file).expanduser()

    def entry(self, command: list[str]) -> dict[str, Any]:
        return {**dict(self.more), "command": command[0], "args": [*command[1:], "mcp", *self.options]}


_STDIO = (("type", "stdio"),)

_ALL = (
    Client("claude", "Claude Code", ".mcp.json", ("mcpServers", NAME)),
    Client("cursor", "Cursor", ".cursor/mcp.json", ("mcpServers", NAME), _OPEN_FOLDER, _STDIO),
    Client("vscode", "VS Code", ".vscode/mcp.json", ("servers", NAME), _OPEN_FOLDER, _STDIO),
    Client("codex", "Codex", "~/.codex/config.toml", ("mcp_servers", NAME)),
    Client("zed", "Zed", "~/.config/zed/settings.json", ("context_servers", NAME)),
)
CLIENTS = {client.name: client for client in _ALL}


@dataclass(frozen=True)
class Change:
    """Configuration file content before and after adding the entry."""

    client: Client
    path: Path
    before: str
    after: str

    @property
    def needed(self) -> bool:
        return self.before != self.after


def plan(client: Client, root: Path, command: list[str]) -> Change:
    """Compute the change for a client; an existing entry is kept. Raises AssayError if the file is unusable."""
    path = client.path(root)
    if client.shared and not path.resolve().is_relative_to(root.resolve()):
        raise AssayError(f"{path}: a symbolic link leads out of the repository; the file was not changed")
    add = _add_table if path.suffix == ".toml" else insert_member
    try:
        before = read_regular(path, _MAX_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        before = ""
    except TooLarge as error:
        raise AssayError(f"{error}; the file was not changed") from None
    except (OSError, UnicodeDecodeError) as error:
        raise AssayError(f"{path}: cannot be read ({error}); the file was not changed") from None
    try:
        after = add(before, client.place, client.entry(command))
        _check_nothing_lost(path, client, before, after)
    except AssayError as error:
        raise AssayError(
            f"{path}: {error}; the file was not changed. Add the entry of `assay init --print` by hand"
        ) from None
    return Change(client, path, before, after)


def write(change: Change) -> None:
    """Write a configuration file atomically, keeping symbolic links and permissions. Raises AssayError on failure."""
    path = change.path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with open(handle, "wb") as file:
                file.write(change.after.encode())
            os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o644)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise AssayError(f"{change.path}: cannot be written ({error.strerror or error})") from None


def _check_nothing_lost(path: Path, client: Client, before: str, after: str) -> None:
    """Check that the new file without our entry equals the old one. Raises AssayError otherwise."""
    read: Callable[[str], Any] = parse_toml if path.suffix == ".toml" else parse_jsonc
    old, new = (read(before) if before.strip() else {}), read(after)
    section, name = client.place
    if name not in old.get(section, {}):
        del new[section][name]
    if not new.get(section) and section not in old:
        new.pop(section, None)
    if new != old:
        raise AssayError("adding an entry would change something else in it")


def _add_table(text: str, place: Sequence[str], value: dict[str, Any]) -> str:
    """Append a table to a TOML text unless it has one of that name. Raises AssayError for invalid TOML."""
    section, name = place
    try:
        present = name in parse_toml(text).get(section, {})
    except ValueError as error:
        raise AssayError(f"it is not valid TOML ({error})") from None
    return text if present else with_table(text, place, value)
