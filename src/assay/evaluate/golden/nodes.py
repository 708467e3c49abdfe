"""YAML and JSON lines as nodes with line numbers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value as written, and its kind."""

    line: int
    text: str
    kind: str = "text"  # text, integer, number, flag, nothing
    plain: bool = False  # unquoted YAML scalar: `no`, `1e3` or a date are accepted as text

    @property
    def is_text(self) -> bool:
        return self.kind in ("text", "integer") or (self.plain and self.kind != "nothing")


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    line: int
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping: its values, and the line of each key."""

    line: int
    values: dict[str, Node]
    lines: dict[str, int]


Node = Scalar | Items | Fields


def describe_node(node: Node) -> str:
    """Return a description of a node for error messages."""
    if isinstance(node, Scalar):
        shown = node.text if len(node.text) <= 30 else node.text[:29] + "…"
        return "nothing" if node.kind == "nothing" else f"`{shown}`" if shown else "empty text"
    return "a list" if isinstance(node, Items) else "a mapping"


class Unreadable(Exception):
    """A file that cannot be read or parsed, with the offending line (0 = none)."""

    def __init__(self, line: int, message: str, path: Path | None = None) -> None:
        super().__init__(message)
        self.line, self.message, self.path = line, message, path

    def located(self, path: Path) -> str:
        """Return the message with the file and the line."""
        place = self.path or path
        return f"{place}:{self.line}: {self.message}" if self.line else f"{place}: {self.message}"


# YAML from parser events: no tag is executed, scalars are not coerced, alias expansion is bounded

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_MAX_ALIASED_VALUES = 1_000_000  # values after expanding all aliases of a file
_MAX_VALUES = 1_000_000  # per file: about 50,000 queries, parsed in 15 s with 300 MB
_MAX_DEPTH = 20  # golden sets need four levels
_MAX_WIDTH = 1 << 20  # never wrap text when dumping

_INTEGER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_FLAGS = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_ALLOWED_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "bool", "float", "null", "seq", "map"))

# parser message → likely cause
_YAML_HINTS = {
    "mapping values are not allowed": "text that holds `: ` must be in quotes",
    "could not find expected ':'": "is a `:` missing, or a quote?",
    "cannot start any token": "indent with spaces, not tabs; text that begins with @, ` or % must be in quotes",
    "found unexpected end of stream": "a quote or a bracket is not closed",
    "did not find expected key": "check the indentation, and quotes inside quoted text",
    "did not find expected '-' indicator": "the entries of a list must begin in the same column",
    "did not find expected ',' or ']'": "a bracket is not closed",
    "undefined alias": "text that begins with * must be in quotes",
    "did not find expected alphabetic": "text that begins with * or & must be in quotes",
}


def parse(text: str) -> Node | None:
    """Parse a YAML text with one document; return None when it is empty. Raise Unreadable."""
    try:
        return _compose(yaml.parse(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "it cannot be parsed"
        advice = next((f" ({hint})" for message, hint in _YAML_HINTS.items() if message in problem), "")
        raise Unreadable(mark.line + 1 if mark else 0, f"broken YAML: {problem}{advice}") from None
    except yaml.reader.ReaderError as error:
        line = text.encode()[: error.position].count(b"\n") + 1
        raise Unreadable(line, f"broken YAML: {error.reason}") from None


@dataclass(slots=True)
class _OpenCollection:
    """A list or mapping under construction."""

    line: int
    anchor: str | None
    keyed: bool
    items: list[Node] = field(default_factory=list)
    values: dict[str, Node] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    key: str | None = None
    size: int = 1

    def add(self, node: Node, size: int) -> None:
        self.size += size
        if not self.keyed:
            self.items.append(node)
        elif self.key is not None:
            self.values[self.key] = node
            self.key = None
        elif not isinstance(node, Scalar):
            raise Unreadable(node.line, "broken YAML: the name of a field must be text")
        elif node.text in self.lines:
            raise Unreadable(node.line, f"`{node.text}` is given twice, first in line {self.lines[node.text]}")
        else:
            self.key = node.text
            self.lines[node.text] = node.line

    def close(self) -> Node:
        return Fields(self.line, self.values, self.lines) if self.keyed else Items(self.line, tuple(self.items))


def _compose(events: Any) -> Node | None:
    """Build the nodes of one document. Aliases share a node, so expanding them costs nothing here."""
    root: Node | None = None
    opened: list[_OpenCollection] = []
    anchors: dict[str, tuple[Node, int]] = {}
    aliased = values = 0
    for event in events:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent) and root is not None:
            raise Unreadable(line, "a second YAML document begins here; a file holds one")
        if isinstance(event, yaml.CollectionStartEvent):
            _check_tag(event.tag, line)
            if len(opened) >= _MAX_DEPTH:
                raise Unreadable(line, f"nested more than {_MAX_DEPTH} levels deep")
            opened.append(_OpenCollection(line, event.anchor, keyed=isinstance(event, yaml.MappingStartEvent)))
            continue
        if not isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            continue
        values += 1
        if values > _MAX_VALUES:
            raise Unreadable(line, f"more than {_MAX_VALUES:,} values; write a set of that size as JSON lines")
        node, size, anchor = _complete_node(event, line, opened, anchors)
        aliased += size if isinstance(event, yaml.AliasEvent) else 0
        if aliased > _MAX_ALIASED_VALUES:
            raise Unreadable(line, f"its aliases expand to more than {_MAX_ALIASED_VALUES:,} values")
        if anchor:
            anchors[anchor] = (node, size)
        if opened:
            opened[-1].add(node, size)
        else:
            root = node
    return None if isinstance(root, Scalar) and root.kind == "nothing" else root


def _complete_node(
    event: Any, line: int, opened: list[_OpenCollection], anchors: dict[str, tuple[Node, int]]
) -> tuple[Node, int, str | None]:
    """Return the node an event completes, its number of values, and its anchor."""
    if isinstance(event, yaml.ScalarEvent):
        _check_tag(event.tag, line)
        return _scalar(event, line), 1, event.anchor
    if isinstance(event, yaml.AliasEvent):
        if event.anchor not in anchors:
            raise Unreadable(line, f"broken YAML: undefined alias `*{event.anchor}` ({_YAML_HINTS['undefined alias']})")
        return *anchors[event.anchor], None
    collection = opened.pop()
    return collection.close(), collection.size, collection.anchor


def _check_tag(tag: str | None, line: int) -> None:
    if tag not in (None, "!") and tag not in _ALLOWED_TAGS:
        raise Unreadable(line, f"the YAML tag `{tag}` is not read; write the value without it")


def _scalar(event: yaml.ScalarEvent, line: int) -> Scalar:
    text = str(event.value)
    if event.style not in (None, "") or event.tag is not None:
        return Scalar(line, text)
    if text in _NULLS:
        kind = "nothing"
    elif text in _FLAGS:
        kind = "flag"
    elif _INTEGER.fullmatch(text):
        kind = "integer"
    elif _NUMBER.fullmatch(text):
        kind = "number"
    else:
        kind = "text"
    return Scalar(line, text, kind, plain=True)


def dump(record: dict[str, Any]) -> str:
    """Render a record as YAML in its own order; `tags` in flow style, other lists as blocks."""
    return "".join(_dump({name: value}, flow=name == "tags") for name, value in record.items())


def _dump(value: dict[str, Any], flow: bool) -> str:
    text = yaml.dump(
        value,
        Dumper=_DUMPER,
        allow_unicode=True,
        sort_keys=False,
        width=_MAX_WIDTH,
        default_flow_style=None if flow else False,
    )
    return str(text)


# JSON lines


def parse_json(line: str, number: int) -> Node:
    """Parse one line of JSON into a node. Raise Unreadable."""
    try:
        decoded = json.loads(
            line,
            object_pairs_hook=partial(_fields, number),
            parse_int=partial(Scalar, number, kind="integer"),
            parse_float=partial(Scalar, number, kind="number"),
            parse_constant=partial(Scalar, number, kind="number"),
        )
        return _node(decoded, number)
    except json.JSONDecodeError as error:
        problem = error.msg[0].lower() + error.msg[1:]
        raise Unreadable(number, f"broken JSON at column {error.colno}: {problem}") from None
    except RecursionError:
        raise Unreadable(number, "broken JSON: nested too deeply") from None


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
        return Items(line, tuple(_node(item, line) for item in value))
    if value is None:
        return Scalar(line, "", "nothing")
    if isinstance(value, bool):
        return Scalar(line, "true" if value else "false", "flag")
    node: Node = value
    return node
