"""YAML and JSON lines as nodes that carry their line numbers, and the problems found in them."""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from assay.errors import AssayError
from assay.system import inputs
from assay.system.files import TooLarge


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value as it is written, and what it looks like."""

    line: int
    text: str
    kind: str = "text"  # text, integer, number, flag, nothing
    plain: bool = False  # an unquoted YAML scalar: where text is wanted, `no`, `1e3` or a date are taken as written

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
    """A mapping: its values, and the line of each name."""

    line: int
    values: dict[str, Node]
    lines: dict[str, int]


Node = Scalar | Items | Fields

_SPOKEN = {"text": "text", "integer": "a number", "number": "a number", "flag": "true or false", "nothing": "nothing"}


def spoken(node: Node) -> str:
    """What a node is, for a message."""
    if isinstance(node, Scalar):
        shown = node.text if len(node.text) <= 30 else node.text[:29] + "…"
        return _SPOKEN[node.kind] if node.kind == "nothing" else f"`{shown}`" if shown else "empty text"
    return "a list" if isinstance(node, Items) else "a mapping"


# What is wrong with a golden set: collected while it is read, told all at once.

SHOWN = 20  # problems of one set that are printed
MOST = 1_000  # problems after which nothing more is read


class InvalidGolden(AssayError):
    """A golden set that cannot be used. `problems` holds one line for each thing to put right."""

    def __init__(self, path: Path, problems: list[str]) -> None:
        self.problems = tuple(problems)
        more = [f"… and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
        lines = [*problems[:SHOWN], *more]
        super().__init__(lines[0] if len(problems) == 1 else "\n  ".join([f"{path}: {len(problems)} problems", *lines]))


class Unreadable(Exception):
    """A file that could not be read or parsed at all, and the line that says so (0 = none)."""

    def __init__(self, line: int, message: str, path: Path | None = None) -> None:
        super().__init__(message)
        self.line, self.message, self.path = line, message, path


@dataclass(slots=True)
class Problems:
    """Errors and warnings in the order they were met."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def error(self, path: Path | str, line: int, message: str) -> None:
        self.errors.append(f"{path}:{line}: {message}" if line else f"{path}: {message}")
        if len(self.errors) == MOST:
            raise InvalidGolden(Path(path), self.errors)

    def unreadable(self, path: Path, reason: Unreadable) -> None:
        self.error(reason.path or path, reason.line, reason.message)

    def warn(self, message: str) -> None:
        self.warnings.append(message)

    def raise_if_any(self, path: Path) -> None:
        if self.errors:
            raise InvalidGolden(path, self.errors)


# YAML with line numbers, read from events: no tag is executed, nothing is guessed about scalars, aliases cannot
# explode.

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_MAX_ALIASED = 1_000_000  # values that the aliases of a file stand for, all written out
_MAX_VALUES = 1_000_000  # of a file: some 50,000 queries, read in 15 s and 300 MB
_MAX_DEPTH = 20  # a golden set needs four
_MAX_WIDTH = 1 << 20  # a text stays on its line

_INTEGER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_FLAGS = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
_NOTHING = frozenset({"", "~", "null", "Null", "NULL"})
_KNOWN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "bool", "float", "null", "seq", "map"))

# What the parser says, and what people usually did
_ADVICE = {
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
    """The one document of a YAML text; None when there is nothing in it."""
    try:
        return _compose(yaml.parse(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "it cannot be parsed"
        advice = next((f" ({advice})" for said, advice in _ADVICE.items() if said in problem), "")
        raise Unreadable(mark.line + 1 if mark else 0, f"broken YAML: {problem}{advice}") from None
    except yaml.reader.ReaderError as error:
        line = text.encode()[: error.position].count(b"\n") + 1
        raise Unreadable(line, f"broken YAML: {error.reason}") from None


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

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

    def closed(self) -> Node:
        return Fields(self.line, self.values, self.lines) if self.keyed else Items(self.line, tuple(self.items))


def _compose(events: Any) -> Node | None:
    """The nodes of one document. Aliases share a node, so that they cost nothing here; whoever walks it pays."""
    root: Node | None = None
    opened: list[_Open] = []
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
            opened.append(_Open(line, event.anchor, keyed=isinstance(event, yaml.MappingStartEvent)))
            continue
        if not isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            continue
        values += 1
        if values > _MAX_VALUES:
            raise Unreadable(line, f"more than {_MAX_VALUES:,} values; write a set of that size as JSON lines")
        node, size, anchor = _finished(event, line, opened, anchors)
        aliased += size if isinstance(event, yaml.AliasEvent) else 0
        if aliased > _MAX_ALIASED:
            raise Unreadable(line, f"its aliases stand for more than {_MAX_ALIASED:,} values")
        if anchor:
            anchors[anchor] = (node, size)
        if opened:
            opened[-1].add(node, size)
        else:
            root = node
    return None if isinstance(root, Scalar) and root.kind == "nothing" else root


def _finished(
    event: Any, line: int, opened: list[_Open], anchors: dict[str, tuple[Node, int]]
) -> tuple[Node, int, str | None]:
    """The node that an event completes, the values in it, and the anchor that names it."""
    if isinstance(event, yaml.ScalarEvent):
        _check_tag(event.tag, line)
        return _scalar(event, line), 1, event.anchor
    if isinstance(event, yaml.AliasEvent):
        if event.anchor not in anchors:
            raise Unreadable(line, f"broken YAML: undefined alias `*{event.anchor}` ({_ADVICE['undefined alias']})")
        return *anchors[event.anchor], None
    ended = opened.pop()
    return ended.closed(), ended.size, ended.anchor


def _check_tag(tag: str | None, line: int) -> None:
    if tag not in (None, "!") and tag not in _KNOWN_TAGS:
        raise Unreadable(line, f"the YAML tag `{tag}` is not read; write the value without it")


def _scalar(event: yaml.ScalarEvent, line: int) -> Scalar:
    text = str(event.value)
    if event.style not in (None, "") or event.tag is not None:
        return Scalar(line, text)
    if text in _NOTHING:
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
    """A record as YAML lines in its own order; its tags on one line, other lists below each other."""
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


# JSON lines as nodes: every value carries the number of its line.


def parse_json(line: str, number: int) -> Node:
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


# The text of a file of a golden set, plain or gzipped.

_HEAD = 4096  # bytes enough to tell what a file holds


def read_text(path: Path) -> str:
    """The whole text, without a byte order mark, with `\\n` as the only line end."""
    with _as_problem(path):
        return inputs.read_text(path)


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers; only one is held at a time."""
    with _as_problem(path):
        for number, line in inputs.read_lines(path):
            if line and not line.isspace():
                yield number, line


def read_head(path: Path) -> str:
    """The beginning of a file, as far as it is text; empty when it cannot be read."""
    try:
        with inputs.open_unpacked(path, inputs.LARGEST_STREAM) as file:
            head = file.read(_HEAD)
    except (OSError, EOFError, zlib.error):
        return ""
    return "" if b"\0" in head else head.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def without_gz(path: Path) -> str:
    """The name of a file as it would be if it were not gzipped."""
    return path.name.removesuffix(".gz")


@contextlib.contextmanager
def _as_problem(path: Path) -> Iterator[None]:
    try:
        yield
    except inputs.BadInput as error:
        raise Unreadable(error.line, error.reason, path) from None
    except TooLarge as error:
        raise Unreadable(
            0, f"larger than {error.limit / 1e6:,.0f} MB of text, which is the most that is read", path
        ) from None
    except OSError as error:
        raise Unreadable(0, f"cannot be read ({error.strerror or error})", path) from None
