"""TOML as written into users' files: tomlkit renders what is new, everything that was there keeps every byte.

tomlkit is imported when something is written; reading uses the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import AssayError
from assay.system.inputs import parse_toml


def key(name: str) -> str:
    """Render a key, quoted if necessary."""
    import tomlkit

    return tomlkit.key(name).as_string()


def value(given: object) -> str:
    """Render a value; a table becomes an inline table."""
    return str(_item(given).as_string())


def table_text(path: Sequence[str], rows: Mapping[str, Any]) -> str:
    """Render a table: `[profile.mine]`, and a line for each row."""
    lines = [f"[{'.'.join(map(key, path))}]", *(f"{key(name)} = {value(row)}" for name, row in rows.items())]
    return "\n".join([*lines, ""])


def with_table(text: str, path: Sequence[str], rows: Mapping[str, Any], comment: str = "") -> str:
    """Append a table to TOML text. Raises AssayError if the text is invalid or already defines that name."""
    try:
        before = parse_toml(text.removeprefix("\ufeff"))
    except ValueError as error:
        raise AssayError(f"it is not valid TOML ({error})") from None
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = newline * (2 - text.endswith("\n")) if text.strip("\ufeff \r\n\t") else ""
    comment_lines = "".join(f"# {line}\n" for line in comment.splitlines())
    result = text + gap + (comment_lines + table_text(path, rows)).replace("\n", newline)
    try:
        after = parse_toml(result.removeprefix("\ufeff"))
    except ValueError:
        after = None
    if after is None or after != _with_inner_table(before, path, rows):
        raise AssayError(f"[{'.'.join(map(key, path))}] cannot be added: the file already defines that name")
    return result


def _item(given: object) -> Any:
    import tomlkit

    if not isinstance(given, Mapping):
        return tomlkit.item(given)
    table = tomlkit.inline_table()
    for name, inner in given.items():
        table.add(name, _item(inner))
    return table


def _with_inner_table(table: dict[str, Any], path: Sequence[str], rows: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the table with one more at a path; None if it exists or cannot be added."""
    inner = table
    for name in path[:-1]:
        inner = inner.setdefault(name, {})
        if not isinstance(inner, dict):
            return None
    if path[-1] in inner:
        return None
    inner[path[-1]] = dict(rows)
    return table
