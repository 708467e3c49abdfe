"""The agents and editors that can be told about `assay mcp`: where their configuration is and what is added to it."""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.mcp.jsonc import parsed, with_member
from assay.system.files import TooLarge, read_regular

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
