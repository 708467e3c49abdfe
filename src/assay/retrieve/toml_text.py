"""Adding a table to a TOML file that people write, without touching anything else in it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import AssayError

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def table_text(path: Sequence[str], rows: Mapping[str, Any]) -> str:
    """A table as TOML has it: `[profile.mine]`, and a line for each row."""
    lines = [f"[{'.'.join(map(key, path))}]", *(f"{key(name)} = {value(one)}" for name, one in rows.items())]
    return "\n".join([*lines, ""])


def with_table(text: str, path: Sequence[str], rows: Mapping[str, Any], comment: str = "") -> str:
    """The text with a table more at its end. Raises AssayError when that cannot be, because something stands there already."""
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = newline * (2 - text.endswith("\n")) if text.strip("\ufeff \r\n\t") else ""
    said = "".join(f"# {line}\n" for line in comment.splitlines())
    added = text + gap + (said + table_text(path, rows)).replace("\n", newline)
    if _parsed(added) != _deepened(_parsed(text), path, rows):
        raise AssayError(
            f"[{'.'.join(map(key, path))}] cannot be added: something of that name stands there in another form"
        )
    return added


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return {}


def _deepened(table: dict[str, Any], path: Sequence[str], rows: Mapping[str, Any]) -> dict[str, Any] | None:
    """What should come out: the table with one more at a path; None when there is one, or no place for it."""
    inner = table
    for name in path[:-1]:
        inner = inner.setdefault(name, {})
        if not isinstance(inner, dict):
            return None
    if path[-1] in inner:
        return None
    inner[path[-1]] = dict(rows)
    return table


def key(name: str) -> str:
    return name if _BARE.fullmatch(name) else value(name)


def value(given: object) -> str:
    """A value of TOML; a table stands in one line."""
    if isinstance(given, Mapping):
        return f"{{ {', '.join(f'{key(name)} = {value(one)}' for name, one in given.items())} }}"
    return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")
