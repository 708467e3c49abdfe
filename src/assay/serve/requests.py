"""Requests of agents (MCP) and of the HTTP API: a struct per question validates the input and describes itself.

JSON schema of MCP tools and OpenAPI parameters are derived from the structs; validation and its messages are shared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, inspect

from assay.core.items import KINDS
from assay.errors import AssayError
from assay.text.suggest import did_you_mean
from assay.text.tokens import LONGEST_NAME, LONGEST_TASK

_TYPE_NAMES: dict[type, str] = {
    inspect.StrType: "string", inspect.IntType: "integer", inspect.FloatType: "number", inspect.BoolType: "boolean"
}  # fmt: skip
_ARTICLES = {"integer": "an integer"}
_BOOLEANS = {"true": True, "false": False}
_MAX_VALUES = 100  # of a repeated parameter
_MAX_DIGITS = 20  # of a number in a query string: longer ones take quadratic time to parse
_MAX_QUOTED = 60  # characters of a wrong value in a message


class Request(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Base of all requests; without fields it is a request that takes no parameters."""


R = TypeVar("R", bound=Request)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A field of a request: its description, the msgspec type of one value, and whether it is repeated."""

    name: str
    about: str
    type: inspect.Type
    required: bool
    default: Any
    repeated: bool
    choices: tuple[str, ...]

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the parameter in an OpenAPI document."""
        value: dict[str, Any] = {"type": self._type_name}
        if self.choices:
            value |= {"enum": list(self.choices)}
        elif isinstance(self.type, inspect.StrType):
            limits = {"minLength": self.type.min_length, "maxLength": self.type.max_length}
            value |= limits | {"pattern": self.type.pattern}
        elif isinstance(self.type, inspect.IntType | inspect.FloatType):
            value |= {"minimum": self.type.ge, "maximum": self.type.le}
        value = {key: limit for key, limit in value.items() if limit is not None}
        if self.repeated:
            return {"type": "array", "items": value, "maxItems": _MAX_VALUES}
        return value | ({"default": self.default} if self.default is not None and not self.required else {})

    @property
    def _type_name(self) -> str:
        return _TYPE_NAMES.get(type(self.type), "string")

    def read(self, value: Any) -> Any:
        """Validate a value. Raises AssayError with the name and the reason."""
        if not self.repeated:
            return self._check(value)
        if not isinstance(value, list):
            raise AssayError(f"{self.name} must be a list, not {_quote(value)}")
        if len(value) > _MAX_VALUES:
            raise AssayError(f"{self.name}: at most {_MAX_VALUES} values, not {len(value)}")
        return [self._check(element) for element in value]

    def _check(self, value: Any) -> Any:
        name = self._type_name
        if name == "integer" and isinstance(value, float) and value.is_integer():  # JSON does not distinguish them
            value = int(value)
        expected = {"string": str, "integer": int, "number": int | float, "boolean": bool}[name]
        if not isinstance(value, expected) or (isinstance(value, bool) and name != "boolean"):
            raise AssayError(f"{self.name} must be {_ARTICLES.get(name, f'a {name}')}, not {_quote(value)}")
        if isinstance(value, str):
            return self._check_text(value)
        return value if name == "boolean" else self._check_number(value)

    def _check_number(self, value: float) -> float:
        assert isinstance(self.type, inspect.IntType | inspect.FloatType)
        if self.type.ge is not None and not value >= self.type.ge:
            raise AssayError(f"{self.name} must be at least {self.type.ge:g}, not {_quote(value)}")
        if self.type.le is not None and not value <= self.type.le:
            raise AssayError(f"{self.name} must be at most {self.type.le:g}, not {_quote(value)}")
        return float(value) if isinstance(self.type, inspect.FloatType) else value

    def _check_text(self, value: str) -> str:
        if self.choices:
            if value not in self.choices:
                raise AssayError(f"{self.name} must be one of {', '.join(self.choices)}, not {_quote(value)}")
            return value
        assert isinstance(self.type, inspect.StrType)
        if self.type.max_length is not None and len(value) > self.type.max_length:
            raise AssayError(f"{self.name} has {len(value):,} characters; at most {self.type.max_length:,} are read")
        if self.type.min_length and not value.strip():
            raise AssayError(f"{self.name} is empty: {self.about}")
        if "\0" in value:
            raise AssayError(f"{self.name} contains a NUL character")
        return value.encode("utf-8", "replace").decode()  # replaces lone surrogates of JSON escapes

    def spelled(self, text: str) -> Any:
        """Convert query text to the parameter's type; return unconvertible text for `read` to reject."""
        name = self._type_name
        if name == "boolean":
            return _BOOLEANS.get(text.lower(), text)
        if name in ("integer", "number") and text.isascii() and len(text) < _MAX_DIGITS:
            try:
                return int(text) if name == "integer" else float(text)
            except ValueError:
                return text
        return text


@cache
def parameters(of: type[Request]) -> dict[str, Parameter]:
    """Return the fields of a request by name, required ones first."""
    described = inspect.type_info(of)
    assert isinstance(described, inspect.StructType)
    fields = [_parameter(field) for field in described.fields]
    return {parameter.name: parameter for parameter in sorted(fields, key=lambda parameter: not parameter.required)}


def _parameter(field: inspect.Field) -> Parameter:
    about, choices = "", tuple[str, ...]()
    kind, repeated = field.type, False
    while not isinstance(kind, tuple(_TYPE_NAMES)):
        if isinstance(kind, inspect.Metadata):
            extra = kind.extra_json_schema or {}
            about, choices = about or extra.get("description", ""), choices or tuple(extra.get("enum", ()))
            kind = kind.type
        elif isinstance(kind, inspect.ListType):
            kind, repeated = kind.item_type, True
        elif isinstance(kind, inspect.UnionType):
            kind = next(member for member in kind.types if not isinstance(member, inspect.NoneType))
        else:
            assert isinstance(kind, inspect.LiteralType)
            choices, kind = tuple(map(str, kind.values)), inspect.StrType()
    default = None if field.required or repeated else field.default
    return Parameter(field.name, about, kind, field.required, default, repeated, choices)


def read(of: type[R], raw: Mapping[str, Any]) -> R:
    """Validate a request. Raises AssayError for unknown, missing or invalid fields; null counts as left out."""
    fields = parameters(of)
    for name in raw:
        if name not in fields:
            raise _unknown(name, fields)
    given = {name: value for name, value in raw.items() if value is not None}
    for parameter in fields.values():
        if parameter.required and parameter.name not in given:
            raise AssayError(f"{parameter.name} is missing: {parameter.about}")
    return of(**{name: fields[name].read(value) for name, value in given.items()})


def from_query(of: type[R], pairs: Iterable[tuple[str, str]]) -> R:
    """Parse and validate query parameters. Raises AssayError also for one that is given twice."""
    fields, raw = parameters(of), dict[str, Any]()
    for name, text in pairs:
        if name not in fields:
            raise _unknown(name, fields)
        value = fields[name].spelled(text)
        if fields[name].repeated:
            raw.setdefault(name, []).append(value)
        elif name in raw:
            raise AssayError(f"{name} is given twice")
        else:
            raw[name] = value
    return read(of, raw)


def from_body(of: type[R], body: bytes) -> R:
    """Parse and validate a JSON body, in which null is no value."""
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError):
        raise AssayError("the body is not JSON") from None
    if not isinstance(raw, dict):
        raise AssayError("the body must be a JSON object of the parameters")
    fields = parameters(of)
    for name, value in raw.items():
        if value is None and name in fields:
            fields[name].read(value)  # raises
    return read(of, raw)


def json_schema(of: type[Request]) -> dict[str, Any]:
    """Return the self-contained JSON schema of a request."""
    return {**msgspec.json.schema(of)["$defs"][of.__name__], "additionalProperties": False}


def _unknown(name: str, fields: Mapping[str, Parameter]) -> AssayError:
    suggestion = did_you_mean(name[:LONGEST_NAME], fields)
    return AssayError(f"no parameter called {_quote(name)}.{suggestion} Known: {', '.join(fields) or 'none'}")


def _quote(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= _MAX_QUOTED else text[: _MAX_QUOTED - 1] + "…"


# Requests of agents; they read the descriptions

MIN_BUDGET = 100  # tokens: less holds neither results nor a hint
_MAX_BUDGET = 100_000  # tokens of an answer

Budget = Annotated[
    int, Meta(ge=MIN_BUDGET, le=_MAX_BUDGET, description="Maximum number of tokens of the whole answer.")
]
Symbol = Annotated[
    str,
    Meta(
        min_length=1,
        description="A name as code or earlier answers have it: `run`, `Flask.run`, `src/app.py::Flask.run`.",
    ),
]
Aim = Annotated[
    Literal["know", "change"],
    Meta(description="know: what there is to know for the task. change: what an edit for it is likely to touch."),
]
Names = Annotated[list[Symbol], Meta(max_length=_MAX_VALUES)]
Paths = Annotated[list[str], Meta(max_length=_MAX_VALUES)]


class Context(Request, frozen=True):
    task: Annotated[
        str,
        Meta(description="What you want to understand or change, in words. Names, paths and stack traces in it help."),
    ] = ""
    symbols: Annotated[Names, Meta(description="Instead: show these symbols in full, e.g. from an outline.")] = []
    files: Annotated[
        Paths,
        Meta(
            description="Instead: the symbols of these files and who calls them; with a task, in the order it suggests."
        ),
    ] = []
    pr: Annotated[
        str | None,
        Meta(
            description='Instead: what a review of the changes since this base needs (branch or commit; "" for the likely one).'
        ),
    ] = None
    aim: Aim = "know"
    budget: Budget = 4_000
    detail: Annotated[
        Literal["outline", "full"],
        Meta(description="outline: names and signatures. full: bodies, too, as far as the budget goes."),
    ] = "outline"
    repeat: Annotated[
        bool, Meta(description="Send bodies again that were sent before, e.g. when you no longer have them.")
    ] = False


_QUERY = 'Words that the passage or definition should have, or mean; also "exact phrase", /regex/, -excluded, path:, lang: and kind:.'


class Search(Request, frozen=True):
    query: Annotated[str, Meta(min_length=1, description=_QUERY)]
    paths: Annotated[Paths, Meta(description="Only in these: `docs/`, `*.md`, `src/app.py`.")] = []
    only: Annotated[Literal["all", "documents", "code"], Meta(description="What to search.")] = "all"
    limit: Annotated[int, Meta(ge=1, le=100, description="Maximum number of results.")] = 10
    budget: Budget = 2_000


class Ask(Request, frozen=True):
    question: Annotated[str, Meta(min_length=1, description="A question in words, about this repository.")]
    paths: Annotated[Paths, Meta(description="Only from these: `docs/`, `*.md`, `src/app.py`.")] = []
    budget: Budget = 2_000


class Why(Request, frozen=True):
    task: Annotated[str, Meta(min_length=1, description="The task as it was given to `context`.")]
    symbol: Symbol
    aim: Aim = "know"
    budget: Budget = 1_000


class Impact(Request, frozen=True):
    symbol: Symbol
    tests: Annotated[bool, Meta(description="Only the tests among them: what to run after the change.")] = False
    depth: Annotated[int, Meta(ge=1, le=20, description="Maximum number of call steps to follow.")] = 5
    budget: Budget = 1_500


class Feedback(Request, frozen=True):
    useful: Annotated[Names, Meta(description="What you read or changed for the task.")] = []
    not_useful: Annotated[Names, Meta(description="What was offered and had nothing to do with it.")] = []
    task: Annotated[str, Meta(description="The task they were (not) useful for.")] = ""


# Requests of the HTTP API and of web pages

_MAX_RESULTS = 1000
_MAX_LINE = 10_000_000  # of a document
_PASSAGE_KINDS = ["passage", *sorted(KINDS - {"file"})]


def text_meta(description: str, required: bool = False, longest: int = LONGEST_NAME) -> Meta:
    """Return the constraints of a text field: its length and, if it is required, some visible character."""
    if not required:
        return Meta(max_length=longest, description=description)
    return Meta(min_length=1, max_length=longest, pattern=r"\S", description=description)


TaskText = Annotated[str, text_meta("what you want to understand or change, in words", True, LONGEST_TASK)]
Profile = Annotated[str, text_meta("ranking profile: built in, or defined in assay.toml")] | None
Limit = Annotated[int, Meta(ge=1, le=10_000, description="maximum number of entries")]
Name = Annotated[str, text_meta("the name of a symbol, as you would write it", True)]
Text = Annotated[str, Meta(max_length=LONGEST_NAME)]


class ContextQuery(Request, frozen=True):
    task: TaskText
    k: Annotated[int, Meta(ge=1, le=_MAX_RESULTS, description="maximum number of items")] | None = None
    budget: Annotated[int, Meta(ge=0, le=1_000_000, description="maximum number of tokens")] | None = None
    profile: Profile = None


class WhyQuery(Request, frozen=True):
    task: TaskText
    symbol: Name
    k: Annotated[int, Meta(ge=1, le=_MAX_RESULTS, description="how many results count as the answer")] = 10
    profile: Profile = None


class Filters(Request, frozen=True):
    """Restrictions of a search; none by default."""

    path: Annotated[list[Text], Meta(description="only files that match: docs/, *.md, src/app.py")] = []
    language: Annotated[list[Text], Meta(description="only this language, or format of documents")] = []
    kind: Annotated[
        list[Annotated[str, Meta(extra_json_schema={"enum": _PASSAGE_KINDS})]],
        Meta(description="only passages of documents (passage), or definitions of a kind"),
    ] = []
    documents_only: Annotated[bool, Meta(description="only passages of documents")] = False
    code_only: Annotated[bool, Meta(description="only definitions of code")] = False

    def arguments(self) -> dict[str, Any]:
        """Return the filter arguments of `Repository.search`. Raises AssayError if they exclude everything."""
        if self.documents_only and self.code_only:
            raise AssayError("documents_only and code_only leave nothing to search; give one of them")
        return {
            "paths": self.path,
            "languages": self.language,
            "kinds": self.kind,
            "documents": not self.code_only,
            "code": not self.documents_only,
        }


class SearchQuery(Filters, frozen=True, kw_only=True):
    query: Annotated[str, text_meta('words, "exact phrases", /regular expressions/ and filters', True, LONGEST_TASK)]
    k: Annotated[int, Meta(ge=1, le=_MAX_RESULTS, description="maximum number of results")] | None = None


class AskQuery(Filters, frozen=True, kw_only=True):
    question: Annotated[str, text_meta("a question, in words", True, LONGEST_TASK)]
    threshold: Annotated[float, Meta(ge=0, le=1, description="refuse to answer below this confidence")] | None = None


class ImpactQuery(Request, frozen=True):
    symbol: Name
    depth: Annotated[int, Meta(ge=1, le=100, description="maximum number of steps to follow")] = 5
    min_confidence: Annotated[float, Meta(ge=0, le=1, description="minimum confidence of a result")] = 0.1
    all: Annotated[bool, Meta(description="follow types, fields and inheritance too")] = False
    limit: Limit = 100


class SymbolsQuery(Request, frozen=True):
    pattern: Annotated[str, text_meta("a name, a pattern or a part of a name", True)]
    kind: Annotated[str, text_meta("only symbols of this kind: function, method, class, …")] | None = None
    limit: Limit = 100


class RunsQuery(Request, frozen=True):
    limit: Limit = 100


class RunQuery(Request, frozen=True):
    run: Annotated[str, text_meta("its id, a beginning of it, its label, latest or latest~1")] = "latest"


class CompareQuery(Request, frozen=True):
    a: Annotated[str, text_meta("a run")] = "latest~1"
    b: Annotated[str, text_meta("a later run")] = "latest"
    force: Annotated[bool, Meta(description="compare the queries two golden sets share, with a warning")] = False


class AuditQuery(Request, frozen=True):
    limit: Limit = 100


class RegisterCommand(Request, frozen=True):
    path: Annotated[str, text_meta("absolute path of its folder on the server", True)]
    label: Annotated[str, text_meta("what its paths begin with; by default the name of its folder")] = ""


class UnregisterCommand(Request, frozen=True):
    label: Annotated[str, text_meta("its label", True)]


class SweepQuery(Request, frozen=True):
    sweep: Annotated[str, text_meta("its id", True)]


class SearchPage(Request, frozen=True):
    task: Annotated[str, text_meta("what you want to understand, change or know", longest=LONGEST_TASK)] = ""
    view: Annotated[Literal["code", "passages", "answer"], Meta(description="kind of answer")] = "code"
    why: Annotated[str, text_meta("a symbol to explain")] = ""
    profile: Profile = None


class ResultPage(Request, frozen=True):
    task: TaskText
    id: Annotated[str, text_meta("the id of a symbol", True)]
    profile: Profile = None


class PassagePage(Request, frozen=True):
    id: Annotated[str, text_meta("the id of a passage", True, LONGEST_TASK)]
    start: Annotated[int, Meta(ge=1, le=_MAX_LINE, description="the first line that is cited")] = 0
    end: Annotated[int, Meta(ge=1, le=_MAX_LINE, description="the last line that is cited")] = 0


class ComparePage(Request, frozen=True):
    a: Annotated[str, text_meta("a run")] = ""
    b: Annotated[str, text_meta("a later run")] = ""
    force: Annotated[bool, Meta(description="compare the queries two golden sets share")] = False


class PairPage(Request, frozen=True):
    a: Annotated[str, text_meta("a run", True)]
    b: Annotated[str, text_meta("a later run", True)]
    query: Annotated[str, text_meta("the id of a query", True)]
