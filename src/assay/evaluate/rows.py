"""JSON encoding of golden queries, hits and responses for the run file, and decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import msgspec

from assay.core.golden import Expected, GoldenQuery, Hit, Response

# columns of `eval_query_results` written by `response_row` and read by `response`
RESPONSE_COLUMNS = ("hits", "answer", "trace", "config", "tokens", "latency_ms", "error")
NOT_RUN = Response(error="not asked: the run was interrupted")

_DEFAULTS = {kind: {field.name: field.default for field in fields(kind)} for kind in (Hit, Expected, GoldenQuery)}


class OnlyRepository(msgspec.Struct):
    """Partial decoding of a golden query: its repository."""

    repository: str = ""


class OnlyTags(msgspec.Struct):
    """Partial decoding of a golden query: its id and tags."""

    id: str
    tags: tuple[str, ...] = ()


def encode_queries(queries: Sequence[GoldenQuery]) -> bytes:
    return msgspec.json.encode(
        [_compact(query) | {"expected": [_compact(expected) for expected in query.expected]} for query in queries]
    )


def encode_response(response: Response) -> tuple[Any, ...]:
    """Return a response as the columns in ANSWER."""
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
    """A stored value that this version of assay would not write."""


def decode(data: Any, kind: Any = Any) -> Any:
    """Decode a stored JSON value as `kind`; raise Damaged for anything else (a damaged or forged file)."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise Damaged(str(error)) from None


def decode_response(row: Sequence[Any]) -> Response:
    """Decode a response from the columns in ANSWER."""
    hits, answer, trace, config, tokens, latency, error = row
    parts = {"hits": hits, "answer": answer, "stages": trace, "config": config or b"{}"}
    raw: dict[str, Any] = {name: msgspec.Raw(part) for name, part in parts.items()}
    encoded = msgspec.json.encode(raw | {"tokens": tokens, "latency_ms": latency, "error": error})
    decoded: Response = decode(encoded, Response)
    return decoded


def _compact(value: Hit | Expected | GoldenQuery) -> dict[str, Any]:
    """Return the fields that differ from their defaults."""
    defaults = _DEFAULTS[type(value)].items()
    return {name: actual for name, default in defaults if (actual := getattr(value, name)) != default}
