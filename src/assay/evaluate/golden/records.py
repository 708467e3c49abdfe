"""Golden queries as records with named fields: what fixtures, golden and queries YAML and JSON-lines pairs have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from assay.core.golden import LEVELS, Expected, GoldenQuery
from assay.evaluate.golden.nodes import Fields, Items, Node, Scalar, spoken
from assay.evaluate.golden.problems import Problems
from assay.text.identifiers import nearest

MAX_GRADE = 100  # far above any scale in use, and 2 ** grade is still a number
_INTEGER = re.compile(r"[-+]?[0-9]{1,15}")

# How an expectation that is written as a mapping calls its name at each level, and what else it may say
_NAMED = {"symbol": ("name",), "file": ("path",), "doc": ("id",), "chunk": ("id",), "span": ("path", "doc")}
_MORE = {"chunk": ("doc", "start", "end"), "span": ("start", "end")}

Complain = Callable[[int, str], None]


@dataclass(frozen=True, slots=True)
class Schema:
    """The fields of a format in the order they are written, each with what it is: an attribute of GoldenQuery or a level.

    Of two fields that are the same thing the first is written. An empty list at the level `negative` says: should be refused.
    """

    fields: dict[str, str]
    negative: str = ""

    def names(self, role: str) -> tuple[str, ...]:
        return tuple(name for name, it in self.fields.items() if it == role)

    @property
    def roles(self) -> frozenset[str]:
        return frozenset(self.fields.values())


def read_query(schema: Schema, node: Node, path: Path, problems: Problems, default_id: str = "") -> GoldenQuery | None:
    """The query that a record describes; None, and the problems told, when something is wrong with it."""
    complain = partial(problems.error, path)
    if not isinstance(node, Fields):
        complain(node.line, f"a query must be a mapping of fields, not {spoken(node)}")
        return None
    so_far = len(problems.errors)
    values = _values(schema, node, complain)
    expected = tuple(one for level in LEVELS for one in values.pop(level, ()))
    nothing = schema.negative in schema.roles and _is_empty_list(node, schema.names(schema.negative))
    refuse = values.pop("refuse", nothing and not expected)
    values.setdefault("id", default_id)
    for role in ("id", "text"):
        names = schema.names(role)
        if not values.get(role) and not any(name in node.values for name in names):
            complain(node.line, f"needs `{'` or `'.join(names)}`")
    if len(problems.errors) == so_far:
        _check_expectations(schema, node, expected, refuse, values, complain)
    if len(problems.errors) > so_far:
        return None
    return GoldenQuery(**values, expected=expected, refuse=refuse, where=f"{path}:{node.line}")


def _values(schema: Schema, node: Fields, complain: Complain) -> dict[str, Any]:
    """What each role was given. Fields that are empty (`null`) count as absent."""
    values: dict[str, Any] = {}
    given: dict[str, str] = {}
    for name, value in node.values.items():
        line = node.lines[name]
        role = schema.fields.get(name)
        if role is None:
            complain(line, unknown_field(name, schema.fields))
        elif role in given:
            complain(line, f"`{given[role]}` and `{name}` are the same field; keep one")
        else:
            given[role] = name
            if not _is_nothing(value) or role in ("id", "text"):
                values[role] = _READERS[role](value, _about(name, complain))
    return values


def _check_expectations(
    schema: Schema, node: Fields, expected: tuple[Expected, ...], refuse: bool, values: dict[str, Any], complain: Complain
) -> None:
    relevant = next((one for one in expected if one.grade > 0), None)
    if refuse and relevant:
        complain(node.line, f"says it should be refused, yet expects `{relevant.name}`; remove one of the two")
    if not (refuse or expected or values.get("must_contain") or values.get("forbidden")):
        fields = [name for level in LEVELS for name in schema.names(level)]
        negative = f"{schema.names(schema.negative)[0]}: []" if schema.negative else "refuse: true"
        complain(node.line, f"expects nothing: fill `{'` or `'.join(fields)}`, or write `{negative}` if it should be refused")


def unknown_field(name: str, known: Iterable[str]) -> str:
    """A message that offers the nearest known field."""
    known = list(known)
    near = nearest(name, known, 1)
    return f"unknown field `{name}`; " + (f"did you mean `{near[0]}`?" if near else f"known are {', '.join(known)}")


def _about(name: str, complain: Complain) -> Complain:
    return lambda line, message: complain(line, f"`{name}` {message}")


def _is_nothing(node: Node) -> bool:
    return isinstance(node, Scalar) and node.kind == "nothing"


def _is_empty_list(node: Fields, names: tuple[str, ...]) -> bool:
    values = [node.values[name] for name in names if name in node.values]
    return any(isinstance(value, Items) and not value.items for value in values)


# ── reading single fields ──


def _text(node: Node, complain: Complain) -> str:
    """Text as written; numbers are taken as text."""
    if isinstance(node, Scalar) and node.is_text:
        return node.text
    complain(node.line, f"must be text, not {spoken(node)}")
    return ""


def _filled(node: Node, complain: Complain) -> str:
    """Text that says something."""
    before = spoken(node)
    if isinstance(node, Scalar) and (node.kind == "nothing" or not node.text.strip()):
        complain(node.line, f"must not be empty, got {before}")
        return ""
    return _text(node, complain)


def _name(node: Node, complain: Complain) -> str:
    """An identifier: text without spaces around it, which would never match anything."""
    text = _filled(node, complain)
    if text != text.strip():
        complain(node.line, f"has spaces at its ends: `{text}`")
    return text


def _texts(node: Node, complain: Complain) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(node, Items):
        complain(node.line, f"must be a list, not {spoken(node)}")
        return ()
    return tuple(_filled(one, complain) for one in node.items)


def _flag(node: Node, complain: Complain) -> bool:
    if not (isinstance(node, Scalar) and node.kind == "flag"):
        complain(node.line, f"must be true or false, not {spoken(node)}")
        return False
    return node.text.lower() == "true"


def _integer(node: Node, complain: Complain) -> int:
    if not (isinstance(node, Scalar) and node.kind == "integer" and _INTEGER.fullmatch(node.text)):
        complain(node.line, f"must be a whole number, not {spoken(node)}")
        return 0
    return int(node.text)


def _grade(node: Node, complain: Complain) -> int:
    grade = _integer(node, complain)
    if abs(grade) > MAX_GRADE:
        complain(node.line, f"must be between -{MAX_GRADE} and {MAX_GRADE}, not {grade}")
    return grade


def _expectations(level: str, node: Node, complain: Complain) -> tuple[Expected, ...]:
    """A list of names, or of mappings with a name and more."""
    if not isinstance(node, Items):
        complain(node.line, f"must be a list, not {spoken(node)}")
        return ()
    out: list[Expected] = []
    known: dict[tuple[str, int, int], int] = {}
    for one in node.items:
        if isinstance(one, Fields):
            expected = _expectation(level, one, complain)
        elif level == "span":
            complain(one.line, f"must hold mappings {{path, start, end}}, not {spoken(one)}")
            continue
        else:
            expected = Expected(_name(one, complain), level)
        key = (expected.name, expected.start, expected.end) if level == "span" else (expected.name, 0, 0)
        if expected.name and known.setdefault(key, one.line) != one.line or expected in out:
            complain(one.line, f"expects `{expected.name}` twice, first in line {known[key]}")
        out.append(expected)
    return tuple(out)


def _expectation(level: str, node: Fields, complain: Complain) -> Expected:
    names, more = _NAMED[level], _MORE.get(level, ())
    known = (*names, *more, "grade")
    for name in node.values:
        if name not in known:
            complain(node.lines[name], unknown_field(name, known))
    given = [name for name in names if name in node.values]
    if len(given) != 1:
        complain(node.line, f"needs `{'` or `'.join(names)}`" + (" but not both" if given else ""))
        return Expected("", level)

    def read(name: str, reader: Callable[[Node, Complain], Any], default: Any) -> Any:
        return reader(node.values[name], _about(name, complain)) if name in node.values else default

    name = read(given[0], _name, "")
    doc = read("doc", _name, "") if "doc" in more else ""
    start, end, grade = read("start", _integer, 0), read("end", _integer, 0), read("grade", _grade, 1)
    if level == "span" and not ("start" in node.values and "end" in node.values):
        complain(node.line, f"needs `start` and `end` of `{name}`")
    elif start < 0 or end < start:
        complain(node.line, f"ends before it starts: `{name}` from {start} to {end}")
    return Expected(name, level, grade, doc, start, end)


_READERS: dict[str, Callable[[Node, Complain], Any]] = {
    "id": _name,
    "text": _filled,
    **dict.fromkeys(("tier", "category", "repository", "commit"), _name),
    **dict.fromkeys(("notes", "answer"), _text),
    **dict.fromkeys(("tags", "must_contain", "forbidden"), _texts),
    "refuse": _flag,
    **{level: partial(_expectations, level) for level in LEVELS},
}


# ── writing ──


def record(schema: Schema, query: GoldenQuery) -> dict[str, Any]:
    """The fields of a query that are not empty, by the names and in the order of the schema."""
    out: dict[str, Any] = {}
    implied = bool(schema.negative) and not query.expected  # an empty list says that it should be refused
    for role in dict.fromkeys(schema.fields.values()):
        value: Any
        if role in LEVELS:
            value = [_entry(one) for one in query.expected if one.level == role]
            keep = bool(value) or (query.refuse and implied and role == schema.negative)
        else:
            value = getattr(query, role)
            value = list(value) if isinstance(value, tuple) else value
            keep = bool(value) and not (role == "refuse" and implied)
        if keep:
            out[schema.names(role)[0]] = value
    return out


def _entry(expected: Expected) -> str | dict[str, Any]:
    entry: dict[str, Any] = {_NAMED[expected.level][0]: expected.name}
    if expected.doc:
        entry["doc"] = expected.doc
    if expected.level == "span" or expected.start or expected.end:
        entry |= {"start": expected.start, "end": expected.end}
    if expected.grade != 1:
        entry["grade"] = expected.grade
    return entry if len(entry) > 1 else expected.name
