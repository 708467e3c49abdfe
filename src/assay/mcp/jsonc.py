"""Adding one member to a JSON file that people write, comments and trailing commas included, without touching anything else in it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import AssayError

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
