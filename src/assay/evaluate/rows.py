"""Rows of the run file: golden queries, hits and answers as compact JSON, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import msgspec

from assay.core.golden import Expected, GoldenQuery, Hit, Response

# columns of `eval_query_results` as `response_row` fills and `response` reads them
ANSWER = ("hits", "answer", "trace", "config", "tokens", "latency_ms", "error")
NOT_ASKED = Response(error="not asked: the run was interrupted")

_DEFAULTS = {kind: {one.name: one.default for one in fields(kind)} for kind in (Hit, Expected, GoldenQuery)}


class OnlyRepository(msgspec.Struct):
    """What is read of a golden query where only its repository counts."""

    repository: str = ""


class OnlyTags(msgspec.Struct):
    """What is read of a golden query where only its tags count."""

    id: str
    tags: tuple[str, ...] = ()


def golden_queries(queries: Sequence[GoldenQuery]) -> bytes:
    return msgspec.json.encode(
        [_compact(query) | {"expected": [_compact(one) for one in query.expected]} for query in queries]
    )


def response_row(response: Response) -> tuple[Any, ...]:
    """A response as the columns of ANSWER."""
    return (
        msgspec.json.encode([_compact(hit) for hit in response.hits]),
        msgspec.json.encode(response.answer),
        msgspec.json.encode(response.stages),
        msgspec.json.encode(response.config) if response.config else None,
        response.tokens,
        response.latency_ms,
        response.error,
    )


class Damaged(Exception):
    """A stored value that is not what this version of assay writes."""


def decode(data: Any, kind: Any = Any) -> Any:
    """Return a stored JSON value as `kind`; raise Damaged for anything else, which only a damaged or forged file holds."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise Damaged(str(error)) from None


def response(row: Sequence[Any]) -> Response:
    """The response in the columns of ANSWER."""
    hits, answer, trace, config, tokens, latency, error = row
    parts = {"hits": hits, "answer": answer, "stages": trace, "config": config or b"{}"}
    raw: dict[str, Any] = {name: msgspec.Raw(part) for name, part in parts.items()}
    whole = msgspec.json.encode(raw | {"tokens": tokens, "latency_ms": latency, "error": error})
    decoded: Response = decode(whole, Response)
    return decoded


def _compact(value: Hit | Expected | GoldenQuery) -> dict[str, Any]:
    """The fields that are not as by default."""
    defaults = _DEFAULTS[type(value)].items()
    return {name: found for name, default in defaults if (found := getattr(value, name)) != default}
