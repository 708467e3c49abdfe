"""The agents and editors that can be told about `assay mcp`: where their configuration is and what is added to it."""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.system.files import TooLarge, read_regular

_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.S)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_WORD = re.compile(r"[^\s,:\[\]{}\"/]+")
_DEEPEST = 200  # nobody's settings are deeper


@dataclass(frozen=True, slots=True)
class _Node:
    """A value and where it stands; the `members` of an object in their order."""

    start: int
    end: int
    value: Any
    members: tuple[tuple[str, _Node], ...] = ()
    open_ended: bool = False  # its last member has a comma behind it


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """The text with `value` at the path of names if nothing stands there yet, and everything else as it was. Raises AssayError for no object."""
    if "\r\n" in text:
        return with_member(text.replace("\r\n", "\n"), path, value).replace("\n", "\r\n")
    text = text if text.strip() else "{}\n"
    node, rest = _parse(text), list(path)
    while (inner := _member(node, rest[0])) is not None:
        if len(rest) == 1:
            return text
        if not isinstance(inner.value, dict):
            raise AssayError(f"its '{rest[0]}' is not an object")
        node, rest = inner, rest[1:]
    for name in reversed(rest[1:]):
        value = {name: value}
    return _inserted(text, node, rest[0], value, _unit(text), len(path) - len(rest) + 1)


def parsed(text: str) -> Any:
    """The value of a text with comments."""
    return _parse(text).value


def _member(node: _Node, name: str) -> _Node | None:
    return next((value for known, value in reversed(node.members) if known == name), None)


def _inserted(text: str, node: _Node, name: str, value: Any, unit: str, depth: int) -> str:
    """A new last member, behind the comments that follow the one before."""
    member = f"\n{unit * depth}{json.dumps(name)}: {_written(value, unit, depth)}"
    closing = f"\n{unit * (depth - 1)}"
    if not node.members:
        inside = text[node.start + 1 : node.end - 1].rstrip()
        return text[: node.start + 1] + inside + member + closing + text[node.end - 1 :]
    last = node.members[-1][1].end
    inside = text[last : node.end - 1].rstrip()
    comma = "" if node.open_ended else ","
    return text[:last] + comma + inside + member + ("," if node.open_ended else "") + closing + text[node.end - 1 :]


def _written(value: Any, unit: str, depth: int) -> str:
    """Objects on lines of their own, everything else on one."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    lines = (
        f"\n{unit * (depth + 1)}{json.dumps(name)}: {_written(one, unit, depth + 1)}" for name, one in value.items()
    )
    return "{" + ",".join(lines) + f"\n{unit * depth}}}"


def _unit(text: str) -> str:
    """What a level is indented by."""
    found = re.search(r"^([ \t]+)\S", text, re.M)
    return found[1] if found else "  "


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
        found = _BLANK.match(self._text, at)
        return found.end() if found else at

    def value(self, at: int, depth: int) -> _Node:
        if depth > _DEEPEST:
            raise AssayError("it is nested too deeply")
        sign = self._text[at : at + 1]
        if sign == "{":
            return self._object(at, depth)
        if sign == "[":
            return self._array(at, depth)
        found = (_STRING if sign == '"' else _WORD).match(self._text, at)
        if found is None:
            raise self._wrong(at)
        try:
            return _Node(at, found.end(), json.loads(found[0]))
        except ValueError:
            raise self._wrong(at) from None

    def _object(self, start: int, depth: int) -> _Node:
        members: list[tuple[str, _Node]] = []
        at, comma = self.skip(start + 1), True
        while self._text[at : at + 1] != "}":
            name = _STRING.match(self._text, at)
            if name is None or not comma:
                raise self._wrong(at)
            colon = self.skip(name.end())
            if self._text[colon : colon + 1] != ":":
                raise self._wrong(colon)
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
                raise self._wrong(at)
            node = self.value(at, depth + 1)
            values.append(node.value)
            at, comma = self._next(node.end)
        return _Node(start, at + 1, values)

    def _next(self, at: int) -> tuple[int, bool]:
        """Behind a value: where the next thing stands, and whether a comma came before it."""
        at = self.skip(at)
        return (self.skip(at + 1), True) if self._text[at : at + 1] == "," else (at, False)

    def _wrong(self, at: int) -> AssayError:
        line = self._text.count("\n", 0, at) + 1
        return AssayError(f"it is not valid JSON (line {line})")


# The agents and editors that can be told about `assay mcp`: where their configuration is and what is added to it.

NAME = "assay"
_LIMIT = 10_000_000  # bytes of a configuration
_OPEN_FOLDER = ("--root", "${workspaceFolder}")  # for editors that do not start servers in the folder that is open


@dataclass(frozen=True)
class Client:
    """Where an agent keeps its servers, and how an entry of it looks."""

    name: str
    title: str
    file: str  # from the repository, or with ~ from the home of the user
    place: tuple[str, ...]  # names that lead to the entry
    options: tuple[str, ...] = ()
    more: tuple[tuple[str, Any], ...] = ()  # besides command and args

    @property
    def shared(self) -> bool:
        """Whether the file is part of the repository."""
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
    """A configuration as it is and as it will be."""

    client: Client
    path: Path
    before: str
    after: str

    @property
    def needed(self) -> bool:
        return self.before != self.after


def plan(client: Client, root: Path, command: list[str]) -> Change:
    """What is to be written for a client; nothing where it has an entry, whatever it says. Raises AssayError for a file that cannot be read."""
    path = client.path(root)
    if client.shared and not path.resolve().is_relative_to(root.resolve()):
        raise AssayError(f"{path}: a link leads out of the repository; it is left as it is")
    add = _with_table if path.suffix == ".toml" else with_member
    try:
        before = read_regular(path, _LIMIT).decode("utf-8-sig")
    except FileNotFoundError:
        before = ""
    except TooLarge as error:
        raise AssayError(f"{error}; it is left as it is") from None
    except (OSError, UnicodeDecodeError) as error:
        raise AssayError(f"{path}: cannot be read ({error}); it is left as it is") from None
    try:
        after = add(before, client.place, client.entry(command))
        _check(path, client, before, after)
    except AssayError as error:
        raise AssayError(
            f"{path}: {error}; it is left as it is. Add the entry of `assay init --print` by hand"
        ) from None
    return Change(client, path, before, after)


def write(change: Change) -> None:
    """Writes a configuration in one step; a link stays a link, and who may read the file stays the same."""
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


def _check(path: Path, client: Client, before: str, after: str) -> None:
    """That nothing is lost: without our entry, the new file says what the old one said."""
    read: Callable[[str], Any] = tomllib.loads if path.suffix == ".toml" else parsed
    old, new = (read(before) if before.strip() else {}), read(after)
    section, name = client.place
    if name not in old.get(section, {}):
        del new[section][name]
    if not new.get(section) and section not in old:
        new.pop(section, None)
    if new != old:
        raise AssayError("adding an entry would change something else in it")


def _with_table(text: str, place: tuple[str, ...], value: dict[str, Any]) -> str:
    """TOML with a table at its end, unless it has one of that name."""
    try:
        known = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise AssayError(f"it is not valid TOML ({error})") from None
    section, name = place
    if name in known.get(section, {}):
        return text
    end = "\r\n" if "\r\n" in text else "\n"
    lines = [
        f"[{section}.{name}]",
        *(f"{key} = {json.dumps(one, ensure_ascii=False)}" for key, one in value.items()),
        "",
    ]
    gap = "" if not text else end if re.search(r"\n$", text) else end * 2
    return text + gap + end.join(lines)
