"""What a request may ask for: a table that is both the check of what comes in and its description."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import AssayError
from assay.text.terms import nearest
from assay.text.tokens import LONGEST_NAME

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}
_WORDS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing a request may say. Without a default it may be left out; then it is None, or an empty list of several."""

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
        """As JSON Schema."""
        one: dict[str, Any] = {"type": _TYPES[self.type]}
        if self.type is str:
            one |= {"enum": list(self.choices)} if self.choices else {"maxLength": self.longest}
        if self.type is str and self.required:
            one |= {"minLength": 1, "pattern": r"\S"}
        one |= {"minimum": self.least} if self.least is not None else {}
        one |= {"maximum": self.most} if self.most is not None else {}
        if self.several:
            return {"type": "array", "items": one, "maxItems": 100}
        return one | ({"default": self.default} if self.default is not None else {})

    def read(self, given: Any) -> Any:
        """A value of a body, or of a query after `spelled`; one that does not fit is an error."""
        if self.several:
            if not isinstance(given, list):
                raise AssayError(f"{self.name} must be a list, not {_shown(given)}")
            if len(given) > 100:
                raise AssayError(f"{self.name}: at most 100 of them, not {len(given)}")
            return [self._one(value) for value in given]
        return self._one(given)

    def _one(self, given: Any) -> Any:
        fits = isinstance(given, self.type) and not (self.type in (int, float) and isinstance(given, bool))
        if self.type is float and isinstance(given, int) and not isinstance(given, bool):
            given, fits = float(given), True
        if not fits:
            raise AssayError(f"{self.name} must be a {_TYPES[self.type]}, not {_shown(given)}")
        if isinstance(given, str):
            return self._text(given)
        if self.least is not None and not given >= self.least:
            raise AssayError(f"{self.name} must be at least {self.least:g}, not {_shown(given)}")
        if self.most is not None and not given <= self.most:
            raise AssayError(f"{self.name} must be at most {self.most:g}, not {_shown(given)}")
        return given

    def _text(self, given: str) -> str:
        if len(given) > self.longest:
            raise AssayError(f"{self.name} has {len(given):,} characters; at most {self.longest:,} are read")
        if self.required and not given.strip():
            raise AssayError(f"{self.name} is empty: {self.about}")
        if "\0" in given:
            raise AssayError(f"{self.name} has a NUL in it, which no name and no text has")
        if self.choices and given not in self.choices:
            raise AssayError(f"{self.name} must be one of {', '.join(self.choices)}, not {_shown(given)}")
        return given.encode("utf-8", "replace").decode()  # lone surrogates of JSON escapes

    def spelled(self, text: str) -> Any:
        """The value that the text of a query spells; text that spells none stays text, for `read` to complain about."""
        if self.type is bool:
            return _WORDS.get(text.lower(), text)
        if self.type in (int, float):
            try:
                return self.type(text) if text.isascii() and len(text) < 20 else text
            except ValueError:
                return text
        return text


def from_query(parameters: Sequence[Parameter], pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The values of a query; a name that is not there, or is there twice, is an error."""
    known = {one.name: one for one in parameters}
    given: dict[str, Any] = {}
    for name, text in pairs:
        one = known.get(name)
        if one is None:
            raise _unknown(name, known)
        if one.several:
            given.setdefault(name, []).append(one.spelled(text))
        elif name in given:
            raise AssayError(f"{name} is given twice")
        else:
            given[name] = one.spelled(text)
    return _complete(known, given)


def from_body(parameters: Sequence[Parameter], body: bytes) -> dict[str, Any]:
    """The values of a JSON object."""
    known = {one.name: one for one in parameters}
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise AssayError("the body is not JSON") from None
    if not isinstance(given, dict):
        raise AssayError("the body must be a JSON object of the parameters")
    for name in given:
        if name not in known:
            raise _unknown(name, known)
    return _complete(known, given)


def _complete(known: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    missing = [one for one in known.values() if one.required and one.name not in given]
    if missing:
        raise AssayError(f"{missing[0].name} is missing: {missing[0].about}")
    return {
        name: one.read(given[name]) if name in given else ([] if one.several else one.default)
        for name, one in known.items()
    }


def _unknown(name: str, known: Mapping[str, Parameter]) -> AssayError:
    near = nearest(name[:100], known, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return AssayError(f"no parameter called {_shown(name)}.{hint} There are: {', '.join(known) or 'none'}")


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:59] + "…"
