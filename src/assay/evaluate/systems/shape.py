"""Conversion of foreign retrievers' output to a `Response`; docs/guides/systems.md lists what is accepted."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

from assay.core.golden import COST, LONGEST_HIT_TEXT, Answer, Citation, Hit, Response, Stage
from assay.evaluate.systems import SystemFailed, one_line

# Keys of the result list, and accepted keys of each result field; the first key present counts.
LISTS = ("items", "results", "hits", "matches", "documents", "data")
NAMES = {
    "id": ("id", "_id", "id_", "node_id", "chunk_id", "docid", "doc_id", "document_id"),
    "symbol": ("symbol", "qualified_name", "symbol_name", "name"),
    "path": ("path", "file", "file_path", "filename", "filepath"),
    "doc": ("doc", "doc_id", "document", "document_id", "docid"),
    "start": ("start", "start_line", "line", "lineno", "line_number"),
    "end": ("end", "end_line"),
    "score": ("score", "_score"),
    "tokens": ("tokens", "token_count"),
    "page": ("page", "page_number"),
    "text": ("text", "page_content", "content", "body", "snippet"),
}
_LANGCHAIN_TEXT, _LANGCHAIN_FILE = "page_content", "source"  # elsewhere, `source` may be anything
# Nested objects that hold the fields of a result, as in vector stores and search servers.
NESTED = ("chunk", "node", "document", "metadata", "payload", "_source")
_RIPGREP = ("begin", "match", "context", "end", "summary")  # line types of `rg --json`
_LINES = re.compile(r"(\d+)(?:\s*-\s*(\d+))?")
_PLACE = re.compile(r"(?P<id>(?P<path>.+?):(?P<start>\d+)(?:-(?P<end>\d+))?)(?::.*)?")
_JSON_LINE = re.compile(r"""\{|\[\s*(?:$|[]\[{"])""")
_SPACE = re.compile(r"\s*")


def parse(text: str, plain: bool = False) -> Response:
    """Parse output: a JSON value, JSON lines or, if `plain`, lines that begin with a path."""
    text = text.strip().removeprefix("\ufeff")
    if not text or text == "null":
        return Response()
    if plain and not text.startswith(("{", "[", '"')):
        return Response(tuple(_line(line.strip()) for line in text.split("\n") if line.strip()))
    values = _values(text)
    matches = [_ripgrep_match(value) for value in values]
    if matches[0] is values[0]:
        return response(values[0] if len(values) == 1 else values)
    return response([match for match in matches if match is not None])


def _values(text: str) -> list[object]:
    """Decode the consecutive JSON values of a text."""
    decoder, position, values = json.JSONDecoder(), 0, []
    while position < len(text):
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            raise SystemFailed(f"the output is not JSON: {one_line(str(error))}") from None
        values.append(value)
        position = _SPACE.match(text, position).end()  # type: ignore[union-attr]
    return values


def _ripgrep_match(value: object) -> object:
    """Return the match of an `rg --json` line, None for its other line types, other values unchanged."""
    if isinstance(value, dict) and value.get("type") in _RIPGREP and isinstance(value.get("data"), dict):
        return value["data"] if value["type"] == "match" else None
    return value


def response(value: object) -> Response:
    """Convert a decoded value: a list of results, or an object with such a list and optionally an answer."""
    if isinstance(value, Response):
        return value
    if isinstance(value, list | tuple):
        return Response(_hits(value))
    if not isinstance(value, Mapping):
        raise SystemFailed(f"the response must be a list of results or an object with one, not {_json_type(value)}")
    if value.get("error"):
        raise SystemFailed(one_line(_message(value["error"])))
    answer = _answer(value)
    return Response(
        hits=_hits(_results(value, answer is not None)),
        answer=answer,
        tokens=_integer(value.get("tokens"), "tokens"),
        stages=_stages(value),
        config=_config(value.get("config")) | _cost(value.get(COST)),
    )


def _results(value: Mapping[str, Any], answered: bool) -> Sequence[object]:
    """Return the result list of an object; an object without one is itself a result, unless it only has an answer."""
    for name in LISTS:
        results = value.get(name)
        if isinstance(results, list | tuple):
            return results
        if isinstance(results, Mapping) and any(inner in results for inner in LISTS):  # Elasticsearch: hits.hits
            return _results(results, answered)
        if name in value and results is None:  # null for an empty list, as in Go
            return ()
    if answered:
        return ()
    try:
        hit(value)
    except SystemFailed:
        keys = ", ".join(map(str, value)) or "nothing"
        raise SystemFailed(f"no list of results: expected one of {', '.join(LISTS)}; got {keys}") from None
    return (value,)


def _hits(values: Sequence[object]) -> tuple[Hit, ...]:
    """Convert all results; errors state the position."""
    hits = []
    for position, value in enumerate(values, 1):
        try:
            hits.append(hit(value))
        except SystemFailed as error:
            raise SystemFailed(f"result {position}: {error}") from None
    return tuple(hits)


def hit(value: object) -> Hit:
    """Convert a result: an id, an (id, score) pair, or an object with accepted keys."""
    if isinstance(value, Hit):
        return value
    if isinstance(value, str | Integral) and not isinstance(value, bool):
        value = {"id": value}
    if isinstance(value, list | tuple) and len(value) == 2 and not hasattr(value, "_asdict"):
        return replace(hit(value[0]), score=_score(value[1]))
    fields = _fields(value)
    if _LANGCHAIN_TEXT in fields and isinstance(fields.get(_LANGCHAIN_FILE), str):
        fields.setdefault("path", fields[_LANGCHAIN_FILE])
    start, end = _span(fields)
    path, symbol, doc = _text(fields, "path").removeprefix("./"), _text(fields, "symbol"), _text(fields, "doc")
    identifier = _text(fields, "id") or _derived_id(path, symbol, start, end) or doc
    if not identifier:
        keys = ", ".join(map(str, fields)) or "nothing"
        raise SystemFailed(f"no identifier: expected an id, a path or a symbol; got {keys}")
    score = _score(_field(fields, "score"))
    tokens, page = (_integer(_field(fields, fact), fact) or 0 for fact in ("tokens", "page"))
    base = Hit(identifier, symbol, path) if path or symbol else hit_from_id(identifier)
    text = _field(fields, "text")
    text = text[:LONGEST_HIT_TEXT] if isinstance(text, str) else ""  # optional: other values are no error
    return replace(base, doc=doc, start=start, end=end, score=score, tokens=tokens, page=page, text=text)


def hit_from_id(identifier: str, score: float | None = None) -> Hit:
    """Return a hit from its id; `src/app.py::Flask.run` also gives path and symbol."""
    path, mark, symbol = identifier.partition("::")
    if mark and symbol and ("/" in path or "." in path):  # not a path: `std::vector`
        return Hit(identifier, symbol, path, score=score)
    return Hit(identifier, score=score)


def _line(line: str) -> Hit:
    """Parse a line of plain output: `path`, `path:10`, `path:10-20` or `path:10:text`, as grep and compilers print."""
    if _JSON_LINE.match(line):
        raise SystemFailed("plain lines and JSON are mixed; print the results to stdout and everything else to stderr")
    line = line.removeprefix("./")
    match = _PLACE.fullmatch(line)
    if match is None:
        by_id = hit_from_id(line)
        return by_id if by_id.path else Hit(line, path=line)
    start = int(match["start"])
    return Hit(match["id"], path=match["path"], start=start, end=int(match["end"] or start))


def _derived_id(path: str, symbol: str, start: int, end: int) -> str:
    """Return an id from path, symbol and lines, for a result without one."""
    if path and symbol:
        return f"{path}::{symbol}"
    return f"{path}:{start}-{end}" if path and start else path or symbol


def _fields(value: object) -> dict[str, Any]:
    """Return the fields of a result object, merged with those of nested objects; its own take precedence."""
    own = _as_dict(value)
    if own is None:
        raise SystemFailed(f"must be an id or an object, not {_json_type(value)}")
    fields: dict[str, Any] = {}
    for name in NESTED:
        if _as_dict(own.get(name)) is not None:
            fields |= _fields(own.pop(name))
    return fields | {name: fact for name, fact in own.items() if fact is not None}


def _as_dict(value: object) -> dict[str, Any] | None:
    """Return the fields of a JSON or Python object; None for anything else."""
    if isinstance(value, Mapping):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    return dict(vars(value)) if hasattr(value, "__dict__") and not callable(value) else None


def _field(fields: Mapping[str, Any], field: str) -> Any:
    """Return a field under the first of its accepted keys that is present."""
    return next((fields[name] for name in NAMES[field] if fields.get(name) is not None), None)


def _text(fields: Mapping[str, Any], field: str) -> str:
    """Return a text field; numbers become text, as does ripgrep's `{"text": …}`."""
    value = _field(fields, field)
    if isinstance(value, Mapping):
        value = value.get("text")
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(value)
    raise SystemFailed(f"its {field} must be text, not {_json_type(value)}")


def _span(fields: Mapping[str, Any]) -> tuple[int, int]:
    """Return first and last line; a single line is both. Also reads `lines`: "10-20" or [10, 20]."""
    start, end = _integer(_field(fields, "start"), "start"), _integer(_field(fields, "end"), "end")
    lines = fields.get("lines")
    if start is None and isinstance(lines, str) and (match := _LINES.fullmatch(lines.strip())):
        start, end = int(match[1]), int(match[2] or match[1])
    elif start is None and isinstance(lines, list | tuple) and len(lines) == 2:
        start, end = _integer(lines[0], "lines"), _integer(lines[1], "lines")
    start = start or 0
    end = start if end is None else end
    if end < start:
        raise SystemFailed(f"it ends at {end}, before it starts at {start}")
    return start, end


def _integer(value: object, field: str) -> int | None:
    """Return a count or line number, also from text or 12.0; None if absent."""
    if value is None:
        return None
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if number >= 0 and number.is_integer():
        return int(number)
    raise SystemFailed(f"{field} must be a whole number from 0, not {value!r}")


def _score(value: object) -> float | None:
    """Return a score, also from text; None if absent. Raises SystemFailed unless finite."""
    if value is None:
        return None
    try:
        score = float(value) if isinstance(value, Real | str) and not isinstance(value, bool) else math.nan
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise SystemFailed(f"its score must be a finite number, not {value!r}")
    return score


_CLOSEST = "closest"  # outcome of an answer in the JSON of `assay ask`


def _answer(value: Mapping[str, Any]) -> Answer | None:
    """Return the answer, given as text or an object, or as a refusal or citations without text."""
    answer = value.get("answer")
    if isinstance(answer, Mapping):
        facts = {**value, **answer}
        text = answer.get("text")
    else:
        facts, text = dict(value), answer
    if text is not None and not isinstance(text, str):
        raise SystemFailed(f"the answer must be text or an object with a text, not {_json_type(text)}")
    refused, grounded = _flag(facts, "refused"), _flag(facts, "grounded")
    citations = facts.get("citations")
    if not text and refused is None and grounded is None and not citations:
        return None
    if citations is not None and not isinstance(citations, list | tuple):
        raise SystemFailed(f"citations must be a list, not {_json_type(citations)}")
    return Answer(
        text=text or "",
        citations=tuple(_citation(citation, position) for position, citation in enumerate(citations or (), 1)),
        grounded=not refused if grounded is None else grounded,
        confidence=_confidence(facts.get("confidence")),
        closest=facts.get("outcome") == _CLOSEST,
    )


def _citation(value: object, position: int) -> Citation:
    """Convert a citation: an id, or an object with an id and optionally resolved, text and n."""
    try:
        if not isinstance(value, Mapping):
            return Citation(hit(value).id)
        text, number = value.get("text"), value.get("n")
        return Citation(
            hit(value).id, _flag(value, "resolved"), text if isinstance(text, str) else "", number if type(number) is int else 0
        )  # fmt: skip
    except SystemFailed as error:
        raise SystemFailed(f"citation {position}: {error}") from None


def _confidence(value: object) -> float | None:
    """Return a numeric confidence; None for words such as "high", which cannot be compared."""
    confidence = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    return confidence if math.isfinite(confidence) else None


def _stages(value: Mapping[str, Any]) -> tuple[Stage, ...]:
    """Return the trace under `stages` or `trace`; a trace that is not a list is ignored."""
    trace = value.get("stages") or value.get("trace")
    return tuple(map(_stage, trace)) if isinstance(trace, list | tuple) else ()


def _stage(value: object) -> Stage:
    """Convert a trace stage: its name, the items passed on, and reasons for dropped items."""
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise SystemFailed("every stage of the trace must be an object with a name")
    items, dropped = value.get("items") or (), value.get("dropped") or {}
    if not isinstance(items, list | tuple) or not isinstance(dropped, Mapping):
        raise SystemFailed(f"stage '{value['name']}': items must be a list, and dropped an object of reasons by id")
    return Stage(
        value["name"],
        tuple(item.id for item in _hits(items)),
        {str(identifier): str(reason) for identifier, reason in dropped.items()},
    )


def _config(value: object) -> dict[str, Any]:
    if value is None or isinstance(value, Mapping):
        return dict(value or {})
    raise SystemFailed(f"config must be an object, not {_json_type(value)}")


def _cost(value: object) -> dict[str, float]:
    """Return the cost of a response, a number from 0, as metadata."""
    if value is None:
        return {}
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if math.isfinite(number) and number >= 0:
        return {COST: number}
    raise SystemFailed(f"cost must be a number from 0, not {value!r}")


def _flag(fields: Mapping[str, Any], name: str) -> bool | None:
    value = fields.get(name)
    if value is None or isinstance(value, bool):
        return value
    raise SystemFailed(f"{name} must be true or false, not {value!r}")


def _message(error: object) -> str:
    """Return the message of an `error` value."""
    if isinstance(error, Mapping) and isinstance(error.get("message"), str):
        return str(error["message"])
    return error if isinstance(error, str) else json.dumps(error, default=str)


def _json_type(value: object) -> str:
    """Name the JSON type of a value."""
    names = {"NoneType": "null", "bool": "true or false", "int": "a number", "float": "a number", "str": "text"}
    names |= {"list": "a list", "dict": "an object"}
    return names.get(type(value).__name__, type(value).__name__)
