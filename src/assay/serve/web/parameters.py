"""Request parameters: one declaration validates the input and generates its JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import AssayError
from assay.text.terms import nearest
from assay.text.tokens import LONGEST_NAME

_TYPE_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean"}
_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A request parameter. An omitted optional one is its default: None, or an empty list with `several`."""

    name: str
    about: str
    type: type = str
    required: bool = False
    default: Any = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    several: bool = False
    longest: int = LONGEST_NAME

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the parameter."""
        value_schema: dict[str, Any] = {"type": _TYPE_NAMES[self.type]}
        if self.type is str:
            value_schema |= {"enum": list(self.choices)} if self.choices else {"maxLength": self.longest}
        if self.type is str and self.required:
            value_schema |= {"minLength": 1, "pattern": r"\S"}
        value_schema |= {"minimum": self.least} if self.least is not None else {}
        value_schema |= {"maximum": self.most} if self.most is not None else {}
        if self.several:
            return {"type": "array", "items": value_schema, "maxItems": 100}
        return value_schema | ({"default": self.default} if self.default is not None else {})

    def read(self, value: Any) -> Any:
        """Validate a value from a body, or from a query after `spelled`. Raises AssayError if it is invalid."""
        if self.several:
            if not isinstance(value, list):
                raise AssayError(f"{self.name} must be a list, not {_quote(value)}")
            if len(value) > 100:
                raise AssayError(f"{self.name}: at most 100 values, not {len(value)}")
            return [self._check_value(element) for element in value]
        return self._check_value(value)

    def _check_value(self, value: Any) -> Any:
        fits = isinstance(value, self.type) and not (self.type in (int, float) and isinstance(value, bool))
        if self.type is float and isinstance(value, int) and not isinstance(value, bool):
            value, fits = float(value), True
        if not fits:
            raise AssayError(f"{self.name} must be a {_TYPE_NAMES[self.type]}, not {_quote(value)}")
        if isinstance(value, str):
            return self._check_text(value)
        if self.least is not None and not value >= self.least:
            raise AssayError(f"{self.name} must be at least {self.least:g}, not {_quote(value)}")
        if self.most is not None and not value <= self.most:
            raise AssayError(f"{self.name} must be at most {self.most:g}, not {_quote(value)}")
        return value

    def _check_text(self, value: str) -> str:
        if len(value) > self.longest:
            raise AssayError(f"{self.name} has {len(value):,} characters; at most {self.longest:,} are read")
        if self.required and not value.strip():
            raise AssayError(f"{self.name} is empty: {self.about}")
        if "\0" in value:
            raise AssayError(f"{self.name} contains a NUL character")
        if self.choices and value not in self.choices:
            raise AssayError(f"{self.name} must be one of {', '.join(self.choices)}, not {_quote(value)}")
        return value.encode("utf-8", "replace").decode()  # replaces lone surrogates of JSON escapes

    def spelled(self, text: str) -> Any:
        """Convert query text to the parameter's type; return unconvertible text for `read` to reject."""
        if self.type is bool:
            return _BOOLEANS.get(text.lower(), text)
        if self.type in (int, float):
            try:
                return self.type(text) if text.isascii() and len(text) < 20 else text
            except ValueError:
                return text
        return text


def from_query(parameters: Sequence[Parameter], pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Parse and validate query parameters. Raises AssayError for unknown, repeated, missing or invalid ones."""
    by_name = {parameter.name: parameter for parameter in parameters}
    raw: dict[str, Any] = {}
    for name, text in pairs:
        parameter = by_name.get(name)
        if parameter is None:
            raise _unknown_parameter(name, by_name)
        if parameter.several:
            raw.setdefault(name, []).append(parameter.spelled(text))
        elif name in raw:
            raise AssayError(f"{name} is given twice")
        else:
            raw[name] = parameter.spelled(text)
    return _read_all(by_name, raw)


def from_body(parameters: Sequence[Parameter], body: bytes) -> dict[str, Any]:
    """Parse and validate a JSON body. Raises AssayError for unknown, missing or invalid parameters."""
    by_name = {parameter.name: parameter for parameter in parameters}
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError):
        raise AssayError("the body is not JSON") from None
    if not isinstance(raw, dict):
        raise AssayError("the body must be a JSON object of the parameters")
    for name in raw:
        if name not in by_name:
            raise _unknown_parameter(name, by_name)
    return _read_all(by_name, raw)


def _read_all(by_name: Mapping[str, Parameter], raw: Mapping[str, Any]) -> dict[str, Any]:
    missing = [parameter for parameter in by_name.values() if parameter.required and parameter.name not in raw]
    if missing:
        raise AssayError(f"{missing[0].name} is missing: {missing[0].about}")
    return {
        name: parameter.read(raw[name]) if name in raw else ([] if parameter.several else parameter.default)
        for name, parameter in by_name.items()
    }


def _unknown_parameter(name: str, by_name: Mapping[str, Parameter]) -> AssayError:
    near = nearest(name[:100], by_name, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return AssayError(f"no parameter called {_quote(name)}.{hint} There are: {', '.join(by_name) or 'none'}")


def _quote(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:59] + "…"
