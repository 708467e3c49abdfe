"""Golden queries as records with named fields, shared by fixtures, golden and queries YAML, and JSON-lines pairs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from assay.core.golden import LEVELS, Expected, GoldenQuery
from assay.evaluate.golden.format import Problems
from assay.evaluate.golden.nodes import Fields, Items, Node, Scalar, describe_node
from assay.text.suggest import did_you_mean

MAX_GRADE = 100  # far above any scale in use; 2 ** grade stays finite
_POSITION_FIELDS = ("start", "end", "page")
_INTEGER = re.compile(r"[-+]?[0-9]{1,15}")

# Per level: the name fields and the position fields of an expectation written as a mapping.
_NAME_FIELDS = {"symbol": ("name",), "file": ("path",), "doc": ("id",), "chunk": ("id",), "span": ("path", "doc")}
_POSITION_FIELDS_BY_LEVEL = {"chunk": ("doc", "start", "end"), "span": ("start", "end", "page")}


@dataclass(frozen=True, slots=True)
class Schema:
    """Field names of a format in writing order, each mapped to its role: a GoldenQuery attribute or a level.

    When two fields share a role, the first is written. An empty list at the level `negative` marks a query to refuse.
    """

    fields: dict[str, str]
    negative: str = ""

    @classmethod
    def of(cls, fields: str, negative: str = "") -> Schema:
        """Return the schema of a list of fields: `name` for one named like its role, else `name=role`."""
        pairs = (field.partition("=") for field in fields.split())
        return cls({name: role or name for name, _, role in pairs}, negative)

    def names(self, role: str) -> tuple[str, ...]:
        return tuple(name for name, field_role in self.fields.items() if field_role == role)

    @property
    def roles(self) -> frozenset[str]:
        return frozenset(self.fields.values())


@dataclass(frozen=True, slots=True)
class _Reporter:
    """Collects problems of one file, prefixed with the current field."""

    path: Path
    problems: Problems
    field: str = ""

    def for_field(self, name: str) -> _Reporter:
        return _Reporter(self.path, self.problems, f"{self.field}`{name}` ")

    def error(self, line: int, message: str) -> None:
        self.problems.error(self.path, line, self.field + message)

    def warn(self, line: int, message: str) -> None:
        self.problems.warn(f"{self.path}:{line}: {self.field}{message}")


def read_query(schema: Schema, node: Node, path: Path, problems: Problems, default_id: str = "") -> GoldenQuery | None:
    """Parse a record into a query; return None and record the problems when it is invalid."""
    reporter = _Reporter(path, problems)
    if not isinstance(node, Fields):
        reporter.error(node.line, f"a query must be a mapping of fields, not {describe_node(node)}")
        return None
    errors_before = len(problems.errors)
    values = _read_fields(schema, node, reporter)
    values.setdefault("id", default_id)
    for role in ("id", "text"):
        if not values.get(role) and not any(name in node.values for name in schema.names(role)):
            reporter.error(node.line, f"needs {_join_names(schema.names(role))}")
    expected = tuple(expectation for level in LEVELS for expectation in values.pop(level, ()))
    negatives = map(node.values.get, schema.names(schema.negative))
    has_empty_list = any(isinstance(value, Items) and not value.items for value in negatives)
    refuse = values.pop("refuse", not expected and has_empty_list)
    query = GoldenQuery(**{"text": "", **values}, expected=expected, refuse=refuse, where=f"{path}:{node.line}")
    if len(problems.errors) == errors_before:
        _check_expectations(schema, query, node.line, reporter)
    return query if len(problems.errors) == errors_before else None


def _read_fields(schema: Schema, node: Fields, reporter: _Reporter) -> dict[str, Any]:
    """Return the parsed value of each role. Null fields count as absent, except id and text."""
    values: dict[str, Any] = {}
    field_by_role: dict[str, str] = {}
    for name, value in node.values.items():
        role = schema.fields.get(name)
        if role is None:
            reporter.error(node.lines[name], unknown_field(name, schema.fields))
        elif role in field_by_role:
            reporter.error(node.lines[name], f"`{field_by_role[role]}` and `{name}` are the same field; keep one")
        else:
            field_by_role[role] = name
            is_null = isinstance(value, Scalar) and value.kind == "nothing"
            if not is_null or role in ("id", "text"):
                values[role] = _READERS[role](value, reporter.for_field(name))
    return values


def _check_expectations(schema: Schema, query: GoldenQuery, line: int, reporter: _Reporter) -> None:
    relevant = next((expected for expected in query.expected if expected.grade > 0), None)
    if query.refuse and relevant:
        reporter.error(line, f"says it should be refused, yet expects `{relevant.name}`; remove one of the two")
    if not (query.refuse or query.expected or query.must_contain or query.forbidden):
        fields = _join_names(name for level in LEVELS for name in schema.names(level))
        negative = f"{schema.names(schema.negative)[0]}: []" if schema.negative else "refuse: true"
        reporter.error(line, f"expects nothing: fill {fields}, or write `{negative}` if it should be refused")


def unknown_field(name: str, fields: Iterable[str]) -> str:
    """Return an error message for an unknown field, with the nearest known one."""
    fields = list(fields)
    return f"unknown field `{name}`.{did_you_mean(name, fields) or ' Known fields: ' + ', '.join(fields)}"


def _join_names(names: Iterable[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)


# ── field parsers ──


def _text(node: Node, reporter: _Reporter) -> str:
    """Return text as written; numbers are accepted as text."""
    if isinstance(node, Scalar) and node.is_text:
        return node.text
    reporter.error(node.line, f"must be text, not {describe_node(node)}")
    return ""


def _non_empty_text(node: Node, reporter: _Reporter) -> str:
    """Return text that is not blank."""
    if isinstance(node, Scalar) and not node.text.strip():
        reporter.error(node.line, "must not be empty")
        return ""
    return _text(node, reporter)


def _identifier(node: Node, reporter: _Reporter) -> str:
    """Return an identifier: non-empty text without surrounding spaces, which would never match."""
    text = _non_empty_text(node, reporter)
    if text != text.strip():
        reporter.error(node.line, f"has spaces at its ends: `{text}`")
    return text


def _list_items(node: Node, reporter: _Reporter) -> tuple[Node, ...]:
    if isinstance(node, Items):
        return node.items
    reporter.error(node.line, f"must be a list, not {describe_node(node)}")
    return ()


def _texts(node: Node, reporter: _Reporter) -> tuple[str, ...]:
    return tuple(_non_empty_text(item, reporter) for item in _list_items(node, reporter))


def _flag(node: Node, reporter: _Reporter) -> bool:
    if isinstance(node, Scalar) and node.kind == "flag":
        return node.text.lower() == "true"
    reporter.error(node.line, f"must be true or false, not {describe_node(node)}")
    return False


def _integer(node: Node, reporter: _Reporter) -> int:
    if isinstance(node, Scalar) and node.kind == "integer" and _INTEGER.fullmatch(node.text):
        return int(node.text)
    reporter.error(node.line, f"must be a whole number, not {describe_node(node)}")
    return 0


def _grade(node: Node, reporter: _Reporter) -> int:
    grade = _integer(node, reporter)
    if abs(grade) > MAX_GRADE:
        reporter.error(node.line, f"must be between -{MAX_GRADE} and {MAX_GRADE}, not {grade}")
    return grade


def _expectations(level: str, node: Node, reporter: _Reporter) -> tuple[Expected, ...]:
    """Parse a list of names or mappings. A duplicate counts once; with another grade it is an error."""
    by_key: dict[tuple[str | int, ...], Expected] = {}
    lines: dict[tuple[str | int, ...], int] = {}
    for item in _list_items(node, reporter):
        expected = (
            _expectation_from_mapping(level, item, reporter)
            if isinstance(item, Fields)
            else _expectation_from_text(level, item, reporter)
        )
        if expected is None:
            continue
        position = (expected.start, expected.end, expected.page) if level == "span" else ()
        key = (expected.name, *position)
        if by_key.setdefault(key, expected) != expected:
            reporter.error(
                item.line, f"expects `{expected.name}` twice with different values, first in line {lines[key]}"
            )
        elif key in lines:
            reporter.warn(item.line, f"expects `{expected.name}` twice, first in line {lines[key]}; counted once")
        lines.setdefault(key, item.line)
    return tuple(by_key.values())


def _expectation_from_text(level: str, node: Node, reporter: _Reporter) -> Expected | None:
    if level == "span":
        reporter.error(
            node.line, f"must hold mappings {{path, start, end}} or {{path, page}}, not {describe_node(node)}"
        )
        return None
    name = _identifier(node, reporter)
    return Expected(name, level) if name else None


def _expectation_from_mapping(level: str, node: Fields, reporter: _Reporter) -> Expected | None:
    names, position_fields = _NAME_FIELDS[level], _POSITION_FIELDS_BY_LEVEL.get(level, ())
    allowed = (*names, *position_fields, "grade")
    for name in node.values:
        if name not in allowed:
            reporter.error(node.lines[name], unknown_field(name, allowed))
    present = [name for name in names if name in node.values]
    if len(present) != 1:
        reporter.error(node.line, f"needs {_join_names(names)}" + (", not both" if present else ""))
        return None

    def read(name: str, reader: Callable[[Node, _Reporter], Any], default: Any) -> Any:
        return reader(node.values[name], reporter.for_field(name)) if name in node.values else default

    name, doc = read(present[0], _identifier, ""), read("doc", _identifier, "") if "doc" in position_fields else ""
    start, end, page, grade = (*(read(field, _integer, 0) for field in _POSITION_FIELDS), read("grade", _grade, 1))
    lines = {"start", "end"} & node.values.keys()
    if len(lines) == 1 or (level == "span" and not lines and "page" not in node.values):
        reporter.error(
            node.line, f"needs `start` and `end` of `{name}`" + (", or its `page`" if level == "span" else "")
        )
    elif "page" in node.values and (lines or page < 1):
        reporter.error(node.line, f"`{name}` needs a page from 1 and no lines, or lines and no page")
    elif start < 0 or end < start:
        reporter.error(node.line, f"`{name}` must not end before it starts: {start} to {end}")
    return Expected(name, level, grade, doc, start, end, page)


_READERS: dict[str, Callable[[Node, _Reporter], Any]] = {
    **dict.fromkeys(("id", "tier", "category", "repository", "commit"), _identifier),
    "text": _non_empty_text,
    **dict.fromkeys(("notes", "answer"), _text),
    **dict.fromkeys(("tags", "must_contain", "forbidden"), _texts),
    "refuse": _flag,
    **{level: partial(_expectations, level) for level in LEVELS},
}


# ── writing ──


def record(schema: Schema, query: GoldenQuery) -> dict[str, Any]:
    """Return the non-empty fields of a query, named and ordered by the schema."""
    fields: dict[str, Any] = {}
    refusal_implied = bool(schema.negative) and not query.expected  # an empty list marks a query to refuse
    for role in dict.fromkeys(schema.fields.values()):
        value: Any
        if role in LEVELS:
            value = [_entry(expected) for expected in query.expected if expected.level == role]
            keep = bool(value) or (query.refuse and refusal_implied and role == schema.negative)
        else:
            value = getattr(query, role)
            value = list(value) if isinstance(value, tuple) else value
            keep = bool(value) and not (role == "refuse" and refusal_implied)
        if keep:
            fields[schema.names(role)[0]] = value
    return fields


def _entry(expected: Expected) -> str | dict[str, Any]:
    entry: dict[str, Any] = {_NAME_FIELDS[expected.level][0]: expected.name}
    if expected.doc:
        entry["doc"] = expected.doc
    if expected.page:
        entry["page"] = expected.page
    elif expected.level == "span" or expected.start or expected.end:
        entry |= {"start": expected.start, "end": expected.end}
    if expected.grade != 1:
        entry["grade"] = expected.grade
    return entry if len(entry) > 1 else expected.name
