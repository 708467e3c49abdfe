"""From whatever a foreign retriever prints or returns to a `Response`. The guide `docs/guides/systems.md` describes what is accepted."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

from assay.core.golden import Answer, Citation, Hit, Response, Stage
from assay.evaluate.systems.protocol import SystemFailed, one_line

# Where the list of results is, and what each fact of a result may be called; the first name that is there counts.
LISTS = ("items", "results", "hits", "matches", "documents", "data")
NAMES = {
    "id": ("id", "_id", "chunk_id", "docid", "doc_id", "document_id"),
    "symbol": ("symbol", "qualified_name", "symbol_name", "name"),
    "path": ("path", "file", "file_path", "filename", "filepath"),
    "doc": ("doc", "doc_id", "document", "document_id", "docid"),
    "start": ("start", "start_line", "line", "lineno", "line_number"),
    "end": ("end", "end_line"),
    "score": ("score", "_score"),
    "tokens": ("tokens", "token_count"),
    "page": ("page", "page_number"),
}
# Objects inside a result that hold the facts about it, as vector stores and search servers nest them.
NESTED = ("chunk", "node", "document", "metadata", "payload", "_source")
_RIPGREP = ("begin", "match", "context", "end", "summary")  # the kinds of line `rg --json` prints
_LINES = re.compile(r"(\d+)(?:\s*-\s*(\d+))?")
_PLACE = re.compile(r"(?P<id>(?P<path>.+?):(?P<start>\d+)(?:-(?P<end>\d+))?)(?::.*)?")
_JSON_LINE = re.compile(r"""\{|\[\s*(?:$|[]\[{"])""")
_SPACE = re.compile(r"\s*")


def parse(text: str, plain: bool = False) -> Response:
    """The response in an output: one JSON value, several (as JSON lines), or if `plain` is allowed, lines that begin with a path."""
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
    """The JSON values of a text, one after the other."""
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
    """What a line of `rg --json` says about a match, None if it is about something else; any other value as it is."""
    if isinstance(value, dict) and value.get("type") in _RIPGREP and isinstance(value.get("data"), dict):
        return value["data"] if value["type"] == "match" else None
    return value


def response(value: object) -> Response:
    """The response in a decoded value: a list of results, or an object that holds one and perhaps an answer."""
    if isinstance(value, Response):
        return value
    if isinstance(value, list | tuple):
        return Response(_hits(value))
    if not isinstance(value, Mapping):
        raise SystemFailed(f"the answer must be a list of results or an object with one, not {_kind(value)}")
    if value.get("error"):
        raise SystemFailed(one_line(_message(value["error"])))
    answer = _answer(value)
    return Response(
        hits=_hits(_results(value, answer is not None)),
        answer=answer,
        tokens=_whole(value.get("tokens"), "tokens"),
        stages=_stages(value),
        config=_config(value.get("config")),
    )


def _results(value: Mapping[str, Any], answered: bool) -> Sequence[object]:
    """The list of results in an object. An object without a list is itself the only result, unless it only answers."""
    for name in LISTS:
        found = value.get(name)
        if isinstance(found, list | tuple):
            return found
        if isinstance(found, Mapping) and any(inner in found for inner in LISTS):  # a search server's hits.hits
            return _results(found, answered)
        if name in value and found is None:  # how Go and others write an empty list
            return ()
    if answered:
        return ()
    try:
        hit(value)
    except SystemFailed:
        keys = ", ".join(map(str, value)) or "nothing"
        raise SystemFailed(f"no list of results: expected one of {', '.join(LISTS)}; there is {keys}") from None
    return (value,)


def _hits(values: Sequence[object]) -> tuple[Hit, ...]:
    """All results; an error says which one cannot be read."""
    hits = []
    for position, value in enumerate(values, 1):
        try:
            hits.append(hit(value))
        except SystemFailed as error:
            raise SystemFailed(f"result {position}: {error}") from None
    return tuple(hits)


def hit(value: object) -> Hit:
    """One result: an id, an (id, score) pair, or an object with any of the known names."""
    if isinstance(value, Hit):
        return value
    if isinstance(value, str | Integral) and not isinstance(value, bool):
        value = {"id": value}
    if isinstance(value, list | tuple) and len(value) == 2 and not hasattr(value, "_asdict"):
        return replace(hit(value[0]), score=_score(value[1]))
    fields = _fields(value)
    start, end = _span(fields)
    path, symbol, doc = _text(fields, "path").removeprefix("./"), _text(fields, "symbol"), _text(fields, "doc")
    identifier = _text(fields, "id") or _made_id(path, symbol, start, end) or doc
    if not identifier:
        there = ", ".join(map(str, fields)) or "nothing"
        raise SystemFailed(f"nothing names it: give it an id, a path or a symbol; there is {there}")
    score = _score(_first(fields, "score"))
    tokens, page = (_whole(_first(fields, fact), fact) or 0 for fact in ("tokens", "page"))
    known = Hit(identifier, symbol, path) if path or symbol else named(identifier)
    return replace(known, doc=doc, start=start, end=end, score=score, tokens=tokens, page=page)


def named(identifier: str, score: float | None = None) -> Hit:
    """A hit of which only the id is known; `src/app.py::Flask.run` also says path and symbol."""
    path, mark, symbol = identifier.partition("::")
    if mark and symbol and ("/" in path or "." in path):  # `std::vector` is all symbol
        return Hit(identifier, symbol, path, score=score)
    return Hit(identifier, score=score)


def _line(line: str) -> Hit:
    """A line of plain output: `path`, `path:10`, `path:10-20` or `path:10:text`, as grep, ripgrep and compilers print."""
    if _JSON_LINE.match(line):
        raise SystemFailed("plain lines and JSON are mixed; print the results to stdout and everything else to stderr")
    line = line.removeprefix("./")
    place = _PLACE.fullmatch(line)
    if place is None:
        known = named(line)
        return known if known.path else Hit(line, path=line)
    start = int(place["start"])
    return Hit(place["id"], path=place["path"], start=start, end=int(place["end"] or start))


def _made_id(path: str, symbol: str, start: int, end: int) -> str:
    """An id for a result that has none, from what it does say."""
    if path and symbol:
        return f"{path}::{symbol}"
    return f"{path}:{start}-{end}" if path and start else path or symbol


def _fields(value: object) -> dict[str, Any]:
    """The facts of a result object, those of nested objects among them; the result's own win."""
    own = _facts(value)
    if own is None:
        raise SystemFailed(f"must be an id or an object, not {_kind(value)}")
    fields: dict[str, Any] = {}
    for name in NESTED:
        if _facts(own.get(name)) is not None:
            fields |= _fields(own.pop(name))
    return fields | {name: fact for name, fact in own.items() if fact is not None}


def _facts(value: object) -> dict[str, Any] | None:
    """The facts of an object of JSON or of Python; None for anything else."""
    if isinstance(value, Mapping):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    return dict(vars(value)) if hasattr(value, "__dict__") and not callable(value) else None


def _first(fields: Mapping[str, Any], fact: str) -> Any:
    """A fact under the first of its names that is there."""
    return next((fields[name] for name in NAMES[fact] if fields.get(name) is not None), None)


def _text(fields: Mapping[str, Any], fact: str) -> str:
    """A fact that is a name; numbers become text, and ripgrep's `{"text": …}` its text."""
    value = _first(fields, fact)
    if isinstance(value, Mapping):
        value = value.get("text")
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(value)
    raise SystemFailed(f"its {fact} must be text, not {_kind(value)}")


def _span(fields: Mapping[str, Any]) -> tuple[int, int]:
    """First and last line; a single line is both. `lines` may say them together, as "10-20" or [10, 20]."""
    start, end = _whole(_first(fields, "start"), "start"), _whole(_first(fields, "end"), "end")
    lines = fields.get("lines")
    if start is None and isinstance(lines, str) and (both := _LINES.fullmatch(lines.strip())):
        start, end = int(both[1]), int(both[2] or both[1])
    elif start is None and isinstance(lines, list | tuple) and len(lines) == 2:
        start, end = _whole(lines[0], "lines"), _whole(lines[1], "lines")
    start = start or 0
    end = start if end is None else end
    if end < start:
        raise SystemFailed(f"it ends at {end}, before it starts at {start}")
    return start, end


def _whole(value: object, fact: str) -> int | None:
    """A count or a line number, also as text or as 12.0; None when absent."""
    if value is None:
        return None
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if number >= 0 and number.is_integer():
        return int(number)
    raise SystemFailed(f"{fact} must be a whole number from 0, not {value!r}")


def _score(value: object) -> float | None:
    """A score, also as text; None when absent. What cannot be ordered is refused."""
    if value is None:
        return None
    try:
        score = float(value) if isinstance(value, Real | str) and not isinstance(value, bool) else math.nan
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise SystemFailed(f"its score must be a finite number, not {value!r}")
    return score


def _answer(value: Mapping[str, Any]) -> Answer | None:
    """The written answer, as text or as an object; also a bare refusal, or citations without a text."""
    said = value.get("answer")
    if isinstance(said, Mapping):
        facts = {**value, **said}
        text = said.get("text")
    else:
        facts, text = dict(value), said
    if text is not None and not isinstance(text, str):
        raise SystemFailed(f"the answer must be text or an object with a text, not {_kind(text)}")
    refused, grounded = _flag(facts, "refused"), _flag(facts, "grounded")
    citations = facts.get("citations")
    if not text and refused is None and grounded is None and not citations:
        return None
    if citations is not None and not isinstance(citations, list | tuple):
        raise SystemFailed(f"citations must be a list, not {_kind(citations)}")
    return Answer(
        text=text or "",
        citations=tuple(_citation(one, position) for position, one in enumerate(citations or (), 1)),
        grounded=not refused if grounded is None else grounded,
        confidence=_confidence(facts.get("confidence")),
    )


def _citation(value: object, position: int) -> Citation:
    """One citation: an id, or an object that has one and may say whether it resolved, what it cites, and as which number."""
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
    """How sure the system says it is; words such as "high" say nothing that can be compared."""
    said = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    return said if math.isfinite(said) else None


def _stages(value: Mapping[str, Any]) -> tuple[Stage, ...]:
    """The trace, under `stages` or `trace`. A trace that is no list is something else of the system's own."""
    trace = value.get("stages") or value.get("trace")
    return tuple(map(_stage, trace)) if isinstance(trace, list | tuple) else ()


def _stage(value: object) -> Stage:
    """One stage of a trace: its name, what it passed on, and why it left single items out."""
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise SystemFailed("every stage of the trace must be an object with a name")
    items, dropped = value.get("items") or (), value.get("dropped") or {}
    if not isinstance(items, list | tuple) or not isinstance(dropped, Mapping):
        raise SystemFailed(f"stage '{value['name']}': items must be a list, and dropped an object of reasons by id")
    return Stage(value["name"], tuple(one.id for one in _hits(items)), {str(i): str(why) for i, why in dropped.items()})


def _config(value: object) -> dict[str, Any]:
    if value is None or isinstance(value, Mapping):
        return dict(value or {})
    raise SystemFailed(f"config must be an object, not {_kind(value)}")


def _flag(fields: Mapping[str, Any], name: str) -> bool | None:
    value = fields.get(name)
    if value is None or isinstance(value, bool):
        return value
    raise SystemFailed(f"{name} must be true or false, not {value!r}")


def _message(error: object) -> str:
    """What an `error` says: its text, or the message in it."""
    if isinstance(error, Mapping) and isinstance(error.get("message"), str):
        return str(error["message"])
    return error if isinstance(error, str) else json.dumps(error, default=str)


def _kind(value: object) -> str:
    """What a value is, in the words of JSON."""
    words = {"NoneType": "null", "bool": "true or false", "int": "a number", "float": "a number", "str": "text"}
    words |= {"list": "a list", "dict": "an object"}
    return words.get(type(value).__name__, type(value).__name__)
