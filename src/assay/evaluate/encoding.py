"""Stored form of golden queries and responses: compact JSON, decoded strictly, since somebody else may have written it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import msgspec

from assay.core.golden import Expected, GoldenQuery, Hit, Response
from assay.database import Damaged

# columns of `eval_query_results` that hold a response
RESPONSE_COLUMNS = ("hits", "answer", "trace", "config", "tokens", "latency_ms", "error")

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
    """Return a response as RESPONSE_COLUMNS."""
    return (
        msgspec.json.encode([_compact(hit) for hit in response.hits]),
        msgspec.json.encode(response.answer),
        msgspec.json.encode(response.stages),
        msgspec.json.encode(response.config) if response.config else None,
        response.tokens,
        response.latency_ms,
        plain_text(response.error),
    )


def plain_text(text: str) -> str:
    """Return a text without NUL, which PostgreSQL cannot store; every store treats it the same way."""
    return text.replace("\0", "\N{SYMBOL FOR NULL}")


def encode(value: Any) -> str:
    """Encode a JSON column; equal values give equal texts."""
    return msgspec.json.encode(value, order="deterministic").decode()


def decode(data: Any, kind: Any = Any) -> Any:
    """Decode a stored JSON value as `kind`; raise Damaged for anything else (a damaged or forged store)."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise Damaged(str(error)) from None


def decode_response(row: Sequence[Any]) -> Response:
    """Decode a response from RESPONSE_COLUMNS."""
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
