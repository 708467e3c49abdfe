"""JSON lines as nodes: every value carries the number of its line."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from assay.evaluate.golden.nodes import Fields, Items, Node, Scalar
from assay.evaluate.golden.problems import Unreadable


def parse(line: str, number: int) -> Node:
    """One line of JSON."""
    try:
        value = json.loads(
            line,
            object_pairs_hook=partial(_fields, number),
            parse_int=partial(Scalar, number, kind="integer"),
            parse_float=partial(Scalar, number, kind="number"),
            parse_constant=partial(Scalar, number, kind="number"),
        )
        return _node(value, number)
    except json.JSONDecodeError as error:
        raise Unreadable(number, f"broken JSON at column {error.colno}: {_plain(error.msg)}") from None
    except RecursionError:
        raise Unreadable(number, "broken JSON: nested too deeply") from None


def _plain(message: str) -> str:
    return message[0].lower() + message[1:]


def _fields(line: int, pairs: list[tuple[str, Any]]) -> Fields:
    values: dict[str, Node] = {}
    for name, value in pairs:
        if name in values:
            raise Unreadable(line, f"`{name}` is given twice")
        values[name] = _node(value, line)
    return Fields(line, values, dict.fromkeys(values, line))


def _node(value: Any, line: int) -> Node:
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            raise Unreadable(line, "broken JSON: half a surrogate pair (\\ud800 to \\udfff) in a text")
        return Scalar(line, value)
    if isinstance(value, list):
        return Items(line, tuple(_node(one, line) for one in value))
    if value is None:
        return Scalar(line, "", "nothing")
    if isinstance(value, bool):
        return Scalar(line, "true" if value else "false", "flag")
    node: Node = value
    return node
