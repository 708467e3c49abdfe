"""Golden queries as records with named fields: what fixtures, golden and queries YAML and JSON-lines pairs have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from assay.core.golden import LEVELS, Expected, GoldenQuery
from assay.evaluate.golden.nodes import Fields, Items, Node, Problems, Scalar, Unreadable, spoken
from assay.text.terms import nearest

MOST_QUERIES = 200_000  # of a set in JSON lines: read in ten seconds and 200 MB; asking them takes hours
MAX_GRADE = 100  # far above any scale in use, and 2 ** grade is still a number
_PLACE = ("start", "end", "page")
_INTEGER = re.compile(r"[-+]?[0-9]{1,15}")

# How an expectation that is written as a mapping calls its name at each level, and what else it may say
_NAMED = {"symbol": ("name",), "file": ("path",), "doc": ("id",), "chunk": ("id",), "span": ("path", "doc")}
_MORE = {"chunk": ("doc", "start", "end"), "span": ("start", "end", "page")}


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


@dataclass(frozen=True, slots=True)
class _Told:
    """Where problems with a field are told."""

    path: Path
    problems: Problems
    field: str = ""

    def about(self, name: str) -> _Told:
        return _Told(self.path, self.problems, f"{self.field}`{name}` ")

    def error(self, line: int, message: str) -> None:
        self.problems.error(self.path, line, self.field + message)

    def warn(self, line: int, message: str) -> None:
        self.problems.warn(f"{self.path}:{line}: {self.field}{message}")


def read_query(schema: Schema, node: Node, path: Path, problems: Problems, default_id: str = "") -> GoldenQuery | None:
    """The query that a record describes; None, and the problems told, when something is wrong with it."""
    told = _Told(path, problems)
    if not isinstance(node, Fields):
        told.error(node.line, f"a query must be a mapping of fields, not {spoken(node)}")
        return None
    so_far = len(problems.errors)
    values = _values(schema, node, told)
    values.setdefault("id", default_id)
    for role in ("id", "text"):
        if not values.get(role) and not any(name in node.values for name in schema.names(role)):
            told.error(node.line, f"needs {_either(schema.names(role))}")
    expected = tuple(one for level in LEVELS for one in values.pop(level, ()))
    refuse = values.pop("refuse", not expected and _is_empty_list(node, schema.names(schema.negative)))
    query = GoldenQuery(**{"text": "", **values}, expected=expected, refuse=refuse, where=f"{path}:{node.line}")
    if len(problems.errors) == so_far:
        _check_expectations(schema, query, node.line, told)
    return query if len(problems.errors) == so_far else None


def _values(schema: Schema, node: Fields, told: _Told) -> dict[str, Any]:
    """What each role was given. Fields that are empty (`null`) count as absent."""
    values: dict[str, Any] = {}
    given: dict[str, str] = {}
    for name, value in node.values.items():
        role = schema.fields.get(name)
        if role is None:
            told.error(node.lines[name], unknown_field(name, schema.fields))
        elif role in given:
            told.error(node.lines[name], f"`{given[role]}` and `{name}` are the same field; keep one")
        else:
            given[role] = name
            if not _is_nothing(value) or role in ("id", "text"):
                values[role] = _READERS[role](value, told.about(name))
    return values


def _check_expectations(schema: Schema, query: GoldenQuery, line: int, told: _Told) -> None:
    relevant = next((one for one in query.expected if one.grade > 0), None)
    if query.refuse and relevant:
        told.error(line, f"says it should be refused, yet expects `{relevant.name}`; remove one of the two")
    if not (query.refuse or query.expected or query.must_contain or query.forbidden):
        fields = _either(name for level in LEVELS for name in schema.names(level))
        negative = f"{schema.names(schema.negative)[0]}: []" if schema.negative else "refuse: true"
        told.error(line, f"expects nothing: fill {fields}, or write `{negative}` if it should be refused")


def check_size(queries: Sequence[GoldenQuery], line: int) -> None:
    """Raise Unreadable when a set has more queries than are read."""
    if len(queries) > MOST_QUERIES:
        raise Unreadable(line, f"more than {MOST_QUERIES:,} queries, which is the most that is read")


def unknown_field(name: str, known: Iterable[str]) -> str:
    """A message that offers the nearest known field."""
    known = list(known)
    near = nearest(name, known, 1)
    return f"unknown field `{name}`; " + (f"did you mean `{near[0]}`?" if near else f"known are {', '.join(known)}")


def _either(names: Iterable[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)


def _is_nothing(node: Node) -> bool:
    return isinstance(node, Scalar) and node.kind == "nothing"


def _is_empty_list(node: Fields, names: Iterable[str]) -> bool:
    return any(isinstance(value, Items) and not value.items for value in map(node.values.get, names))


# ── reading single fields ──


def _text(node: Node, told: _Told) -> str:
    """Text as written; numbers are taken as text."""
    if isinstance(node, Scalar) and node.is_text:
        return node.text
    told.error(node.line, f"must be text, not {spoken(node)}")
    return ""


def _filled(node: Node, told: _Told) -> str:
    """Text that says something."""
    if isinstance(node, Scalar) and not node.text.strip():
        told.error(node.line, "must not be empty")
        return ""
    return _text(node, told)


def _name(node: Node, told: _Told) -> str:
    """An identifier: text without spaces around it, which would never match anything."""
    text = _filled(node, told)
    if text != text.strip():
        told.error(node.line, f"has spaces at its ends: `{text}`")
    return text


def _listed(node: Node, told: _Told) -> tuple[Node, ...]:
    if isinstance(node, Items):
        return node.items
    told.error(node.line, f"must be a list, not {spoken(node)}")
    return ()


def _texts(node: Node, told: _Told) -> tuple[str, ...]:
    return tuple(_filled(one, told) for one in _listed(node, told))


def _flag(node: Node, told: _Told) -> bool:
    if isinstance(node, Scalar) and node.kind == "flag":
        return node.text.lower() == "true"
    told.error(node.line, f"must be true or false, not {spoken(node)}")
    return False


def _integer(node: Node, told: _Told) -> int:
    if isinstance(node, Scalar) and node.kind == "integer" and _INTEGER.fullmatch(node.text):
        return int(node.text)
    told.error(node.line, f"must be a whole number, not {spoken(node)}")
    return 0


def _grade(node: Node, told: _Told) -> int:
    grade = _integer(node, told)
    if abs(grade) > MAX_GRADE:
        told.error(node.line, f"must be between -{MAX_GRADE} and {MAX_GRADE}, not {grade}")
    return grade


def _expectations(level: str, node: Node, told: _Told) -> tuple[Expected, ...]:
    """A list of names, or of mappings with a name and more. One that is repeated counts once; with another grade it is an error."""
    out: dict[tuple[str | int, ...], Expected] = {}
    lines: dict[tuple[str | int, ...], int] = {}
    for one in _listed(node, told):
        expected = _expectation(level, one, told) if isinstance(one, Fields) else _plain(level, one, told)
        if expected is None:
            continue
        place = (expected.start, expected.end, expected.page) if level == "span" else ()
        key = (expected.name, *place)
        if out.setdefault(key, expected) != expected:
            told.error(one.line, f"expects `{expected.name}` twice and differently, first in line {lines[key]}")
        elif key in lines:
            told.warn(one.line, f"expects `{expected.name}` twice, first in line {lines[key]}; counted once")
        lines.setdefault(key, one.line)
    return tuple(out.values())


def _plain(level: str, node: Node, told: _Told) -> Expected | None:
    if level == "span":
        told.error(node.line, f"must hold mappings {{path, start, end}} or {{path, page}}, not {spoken(node)}")
        return None
    name = _name(node, told)
    return Expected(name, level) if name else None


def _expectation(level: str, node: Fields, told: _Told) -> Expected | None:
    names, more = _NAMED[level], _MORE.get(level, ())
    known = (*names, *more, "grade")
    for name in node.values:
        if name not in known:
            told.error(node.lines[name], unknown_field(name, known))
    given = [name for name in names if name in node.values]
    if len(given) != 1:
        told.error(node.line, f"needs {_either(names)}" + (", not both" if given else ""))
        return None

    def read(name: str, reader: Callable[[Node, _Told], Any], default: Any) -> Any:
        return reader(node.values[name], told.about(name)) if name in node.values else default

    name, doc = read(given[0], _name, ""), read("doc", _name, "") if "doc" in more else ""
    start, end, page, grade = (*(read(place, _integer, 0) for place in _PLACE), read("grade", _grade, 1))
    lines = {"start", "end"} & node.values.keys()
    if len(lines) == 1 or (level == "span" and not lines and "page" not in node.values):
        told.error(node.line, f"needs `start` and `end` of `{name}`" + (", or its `page`" if level == "span" else ""))
    elif "page" in node.values and (lines or page < 1):
        told.error(node.line, f"`{name}` needs a page from 1 and no lines, or lines and no page")
    elif start < 0 or end < start:
        told.error(node.line, f"`{name}` must not end before it starts: {start} to {end}")
    return Expected(name, level, grade, doc, start, end, page)


_READERS: dict[str, Callable[[Node, _Told], Any]] = {
    **dict.fromkeys(("id", "tier", "category", "repository", "commit"), _name),
    "text": _filled,
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
    if expected.page:
        entry["page"] = expected.page
    elif expected.level == "span" or expected.start or expected.end:
        entry |= {"start": expected.start, "end": expected.end}
    if expected.grade != 1:
        entry["grade"] = expected.grade
    return entry if len(entry) > 1 else expected.name
