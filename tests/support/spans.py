"""Export requests of spans, as exporters encode them: OTLP/JSON and protobuf."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER = 1, 2, 3, 4, 5


class SpanRow(NamedTuple):
    """A span to encode. Ids are numbers; `parent` 0 is none."""

    trace: int
    span: int
    parent: int = 0
    kind: int = INTERNAL
    attributes: dict[str, str | int] = {}  # noqa: RUF012 (never changed)
    ms: float = 5
    is_error: bool = False
    ago: float = 0  # seconds before now

    @property
    def times(self) -> tuple[int, int]:
        end = int((time.time() - self.ago) * 1e9)
        return end - int(self.ms * 1e6), end


def code(function: str, file: str = "", line: int = 0) -> dict[str, str | int]:
    """Return the attributes that name a function."""
    return {
        "code.function.name": function,
        **({"code.file.path": file} if file else {}),
        **({"code.line.number": line} if line else {}),
    }


def route(path: str, method: str = "GET") -> dict[str, str | int]:
    return {"http.route": path, "http.request.method": method}


def json_request(service: str, spans: Sequence[SpanRow]) -> bytes:
    """Return a request as one line."""

    def attributes(values: dict[str, str | int]) -> list[dict[str, Any]]:
        return [
            {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
            for key, value in values.items()
        ]

    encoded = [
        {
            "traceId": f"{span.trace:032x}", "spanId": f"{span.span:016x}",
            "parentSpanId": f"{span.parent:016x}" if span.parent else "", "name": "a span", "kind": span.kind,
            "startTimeUnixNano": str(start), "endTimeUnixNano": str(end),
            "attributes": attributes(span.attributes), "status": {"code": 2} if span.is_error else {},
        }
        for span in spans
        for start, end in [span.times]
    ]  # fmt: skip
    resource = {"attributes": attributes({"service.name": service})}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": encoded}]}]}).encode() + b"\n"


def protobuf_request(service: str, spans: Sequence[SpanRow]) -> bytes:
    """Return a request as a protobuf message."""
    resource = delimited(1, attribute("service.name", service))
    scope = b"".join(delimited(2, protobuf_span(span)) for span in spans)
    return delimited(1, delimited(1, resource) + delimited(2, scope))


def protobuf_span(span: SpanRow) -> bytes:
    start, end = span.times
    return b"".join((
        delimited(1, span.trace.to_bytes(16, "big")), delimited(2, span.span.to_bytes(8, "big")),
        delimited(4, span.parent.to_bytes(8, "big")) if span.parent else b"", delimited(5, b"a span"), number(6, span.kind),
        varint(7 << 3 | 1), struct.pack("<Q", start), varint(8 << 3 | 1), struct.pack("<Q", end),
        *(delimited(9, attribute(key, value)) for key, value in span.attributes.items()),
        delimited(15, number(3, 2) if span.is_error else b""),
    ))  # fmt: skip


def attribute(key: str, value: str | int) -> bytes:
    content = number(3, value) if isinstance(value, int) else delimited(1, value.encode())
    return delimited(1, key.encode()) + delimited(2, content)


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def delimited(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data
