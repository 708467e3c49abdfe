"""Read OTLP trace exports: JSON, JSON lines as the collector's file exporter writes them, and protobuf.

Only the attributes in `ATTRIBUTES` are read: code locations, routes, rpc names, destinations and the service's name.
Everything else in a span (urls, headers, statements, user ids, its name, events) is skipped without being kept, so that
a secret in an attribute goes nowhere. A batch is one export request: what an exporter sends again after a failure.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from assay.system.inputs import BadInput
from assay.system.protobuf import Malformed, fields, read_varint, skip

# Attributes that are read, in the names of old and new semantic conventions, and what they say.
ATTRIBUTES: Mapping[str, str] = {
    "code.function.name": "function", "code.function": "function", "code.namespace": "namespace",
    "code.file.path": "file", "code.filepath": "file", "code.line.number": "line", "code.lineno": "line",
    "http.route": "route", "http.request.method": "method", "http.method": "method",
    "rpc.service": "rpc_service", "rpc.method": "rpc_method",
    "messaging.destination.template": "destination", "messaging.destination.name": "destination",
    "messaging.destination": "destination",
}  # fmt: skip
_SERVICE = "service.name"

INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER = 1, 2, 3, 4, 5
_KINDS = {
    "SPAN_KIND_INTERNAL": INTERNAL, "SPAN_KIND_SERVER": SERVER, "SPAN_KIND_CLIENT": CLIENT,
    "SPAN_KIND_PRODUCER": PRODUCER, "SPAN_KIND_CONSUMER": CONSUMER,
}  # fmt: skip
_ERROR = 2

LARGEST_FILE = 16_000_000_000  # bytes after decompression: time is bounded by it, memory by the batch
LARGEST_BATCH = 64_000_000  # bytes: collectors refuse requests above 20 MB
_MOST_OBJECTS = 2_000_000  # JSON objects of a batch: an attribute takes two, some 200 bytes in memory
_MOST_SPANS = 250_000  # of a batch: SDKs send 512 at a time; 60 MB in memory
_LONGEST_VALUE = 300  # characters of an attribute: longer ones name no code
_MOST_BAD_LINES = 100  # a file with more of them is something else
_MOST_ATTRIBUTES = 64  # of a span: SDKs send at most 128, of which few are read
_KEY_MASK = (1 << 63) - 1  # SQLite's integers are signed
_MIX = 0x9E3779B97F4A7C15  # odd, with bits at random: the golden ratio


class Span(NamedTuple):
    """A span, as far as it is read."""

    key: int  # of its trace and span id
    parent: int  # key; 0: none
    kind: int
    time: int  # end, seconds since 1970; 0: unknown
    micros: int  # duration
    is_error: bool
    service: str
    facts: tuple[tuple[str, str], ...]  # values of ATTRIBUTES, sorted


class Batch(NamedTuple):
    """The spans of one export request, and a digest of its bytes."""

    digest: int
    spans: list[Span]


def read_batches(stream: io.BufferedReader, name: str) -> Iterator[Batch | BadInput]:
    """Yield the batches of a decompressed stream. A bad line becomes an error value; others follow it.

    Raises BadInput where reading cannot go on: a truncated or malformed protobuf message, another format.
    """
    head = stream.peek(1)[:1]
    if head in (b"{", b"[", b" ", b"\t", b"\r", b"\xef"):
        yield from _read_lines(stream, name)
    elif head == b"\n":  # the first field of a request
        yield from _read_fields(stream, name)
    elif head == b"\0":
        yield from _read_prefixed(stream, name)
    elif head:
        raise BadInput(name, "neither OTLP/JSON nor an OTLP protobuf message")


def digest_of(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") & _KEY_MASK


# JSON


class _Value(msgspec.Struct, gc=False):
    stringValue: str | None = None
    intValue: str | int | None = None


class _Attribute(msgspec.Struct, gc=False):
    key: str = ""
    value: _Value | None = None


class _Status(msgspec.Struct, gc=False):
    code: str | int = 0


class _JsonSpan(msgspec.Struct, gc=False):
    traceId: str = ""
    spanId: str = ""
    parentSpanId: str | None = None
    kind: str | int = 0
    startTimeUnixNano: str | int = 0
    endTimeUnixNano: str | int = 0
    attributes: list[_Attribute] | None = None
    status: _Status | None = None


class _Scope(msgspec.Struct):
    spans: list[_JsonSpan] | None = None


class _Resource(msgspec.Struct):
    attributes: list[_Attribute] | None = None


class _ResourceSpans(msgspec.Struct):
    resource: _Resource | None = None
    scopeSpans: list[_Scope] | None = None
    instrumentationLibrarySpans: list[_Scope] | None = None  # its name before OTLP 0.19


class _Request(msgspec.Struct):
    resourceSpans: list[_ResourceSpans] | None = None


_DECODER = msgspec.json.Decoder(_Request)


def _read_lines(stream: io.BufferedReader, name: str) -> Iterator[Batch | BadInput]:
    number = bad = 0
    while line := stream.readline(LARGEST_BATCH + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
            if line.strip() in (b"{", b"["):  # an indented document
                line += stream.read(LARGEST_BATCH + 1)
        if len(line) > LARGEST_BATCH:
            raise BadInput(
                name, f"a request is larger than {LARGEST_BATCH / 1e6:g} MB, which is the most that is read", number
            )
        if not line.strip():
            continue
        try:
            yield _json_batch(line)
        except (ValueError, RecursionError) as error:
            bad += 1
            yield BadInput(name, _reason(error), number)
            if bad >= _MOST_BAD_LINES:
                raise BadInput(name, f"{bad} lines are not OTLP/JSON; the rest was not read", number) from None


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return f"not an OTLP/JSON request ({str(error)[:200]})"


def _json_batch(data: bytes) -> Batch:
    """Decode one request. Raises ValueError (of msgspec, too) for what is not OTLP/JSON."""
    if data.count(b"{") > _MOST_OBJECTS:
        raise ValueError(f"more than {_MOST_OBJECTS:,} values")
    request = _DECODER.decode(data)
    spans: list[Span] = []
    for resource_spans in request.resourceSpans or ():
        service = ""
        if resource_spans.resource:
            for attribute in resource_spans.resource.attributes or ():
                if attribute.key == _SERVICE and attribute.value:
                    service = (attribute.value.stringValue or "")[:_LONGEST_VALUE]
        for scope in (*(resource_spans.scopeSpans or ()), *(resource_spans.instrumentationLibrarySpans or ())):
            if len(spans) + len(scope.spans or ()) > _MOST_SPANS:
                raise ValueError(f"more than {_MOST_SPANS:,} spans")
            spans += [_from_json(span, service) for span in scope.spans or ()]
    return Batch(digest_of(data.strip()), spans)


def _from_json(span: _JsonSpan, service: str) -> Span:
    trace, start, end = int(span.traceId, 16), int(span.startTimeUnixNano), int(span.endTimeUnixNano)
    facts: dict[str, str] = {}
    for attribute in (span.attributes or ())[:_MOST_ATTRIBUTES]:
        fact = ATTRIBUTES.get(attribute.key)
        if fact and fact not in facts and (value := attribute.value):
            text = value.stringValue if value.stringValue is not None else value.intValue
            if text is not None:
                facts[fact] = str(text)[:_LONGEST_VALUE]
    kind = span.kind if isinstance(span.kind, int) else _KINDS.get(span.kind, 0)
    code = span.status.code if span.status else 0
    return Span(
        _key(trace, int(span.spanId, 16)),
        _key(trace, int(span.parentSpanId, 16)) if span.parentSpanId else 0,
        kind if 0 <= kind <= CONSUMER else 0,
        end // 1_000_000_000,
        max(0, end - start) // 1000,
        code in (_ERROR, "STATUS_CODE_ERROR"),
        service,
        tuple(sorted(facts.items())),
    )


def _key(trace: int, span: int) -> int:
    """Combine ids; 63 bits tell a hundred thousand spans apart, also where ids are counted, not drawn."""
    return (trace * _MIX + span) & _KEY_MASK or 1


# Protobuf

# field numbers of opentelemetry/proto/trace/v1/trace.proto
_RESOURCE, _SCOPE_SPANS, _LIBRARY_SPANS, _SPANS = 1, 2, 1000, 2
# tags of a span's fields, number and wire type in one byte
_TRACE_ID, _SPAN_ID, _PARENT_ID, _KIND, _START, _END, _ATTRIBUTES, _STATUS = (
    0x0A,
    0x12,
    0x22,
    0x30,
    0x39,
    0x41,
    0x4A,
    0x7A,
)
_STATUS_CODE, _VALUE_STRING, _VALUE_INT = 3, 1, 3

_BY_KEY = {name.encode(): fact for name, fact in ATTRIBUTES.items()}
_FIXED = struct.Struct("<Q")
_DELIMITED = 2  # wire type


def _read_fields(stream: io.BufferedReader, name: str) -> Iterator[Batch]:
    """Yield a batch for each ResourceSpans of a request, or of several that were concatenated."""
    try:
        while tag := _stream_varint(stream):
            if tag & 7 != _DELIMITED:
                raise Malformed("an unknown field")
            body = _read_exactly(stream, _stream_varint(stream, required=True))
            if tag >> 3 == 1:
                yield Batch(digest_of(body), _resource_spans(body))
    except (Malformed, UnicodeDecodeError) as error:
        raise BadInput(name, f"not an OTLP trace request ({error})") from None


def _read_prefixed(stream: io.BufferedReader, name: str) -> Iterator[Batch]:
    """Yield a batch for each message of the collector's file exporter: a length of four bytes, big-endian, and it."""
    try:
        while prefix := stream.read(4):
            if len(prefix) < 4:
                raise Malformed("a length is cut off")
            body = _read_exactly(stream, int.from_bytes(prefix, "big"))
            parts = [value for number, value in fields(body) if number == 1 and isinstance(value, bytes)]
            yield Batch(digest_of(body), [span for part in parts for span in _resource_spans(part)])
    except (Malformed, UnicodeDecodeError) as error:
        raise BadInput(name, f"not an OTLP trace request ({error})") from None


def _stream_varint(stream: io.BufferedReader, required: bool = False) -> int:
    """Read a number; 0 at the end of the stream unless it is `required`."""
    data = b""
    while byte := stream.read(1):
        data += byte
        if byte[0] < 0x80 or len(data) > 10:
            return read_varint(data, 0)[0]
    if data or required:
        raise Malformed("cut off")
    return 0


def _read_exactly(stream: io.BufferedReader, size: int) -> bytes:
    if size > LARGEST_BATCH:
        raise Malformed(f"a message is larger than {LARGEST_BATCH / 1e6:g} MB, which is the most that is read")
    data = stream.read(size)
    if len(data) < size:
        raise Malformed("cut off")
    return data


def _resource_spans(data: bytes) -> list[Span]:
    service, scopes = "", list[bytes]()
    for number, value in fields(data):
        if number == _RESOURCE and isinstance(value, bytes):
            service = _service(value)
        elif number in (_SCOPE_SPANS, _LIBRARY_SPANS) and isinstance(value, bytes):
            scopes.append(value)
    values: dict[bytes, str] = {}  # decoded attribute values: the same ones come again and again
    spans: list[Span] = []
    for scope in scopes:
        for number, value in fields(scope):
            if number == _SPANS and isinstance(value, bytes):
                spans.append(_from_protobuf(value, service, values))
                if len(spans) > _MOST_SPANS:
                    raise Malformed(f"more than {_MOST_SPANS:,} spans")
    return spans


def _service(resource: bytes) -> str:
    for number, value in fields(resource):
        if number == 1 and isinstance(value, bytes):
            parts = dict(fields(value))
            if parts.get(1) == _SERVICE.encode() and isinstance(any_value := parts.get(2), bytes):
                return _text(any_value)
    return ""


def _text(any_value: bytes) -> str:
    for number, value in fields(any_value):
        if number == _VALUE_STRING and isinstance(value, bytes):
            return value.decode("utf-8", "replace")[:_LONGEST_VALUE]
        if number == _VALUE_INT and isinstance(value, int):
            return str(value)
    return ""


def _from_protobuf(data: bytes, service: str, values: dict[bytes, str]) -> Span:
    """Decode a span. One loop without calls for the usual field: a million spans have fifteen million fields."""
    trace = span = parent = kind = start = end = 0
    has_error = False
    facts: dict[str, str] = {}
    at, size = 0, len(data)
    try:
        while at < size:
            tag = data[at]
            at += 1
            if tag & 7 == _DELIMITED and tag < 0x80:
                length = data[at]
                at += 1
                if length >= 0x80:
                    length, at = read_varint(data, at - 1)
                stop = at + length
                if tag == _ATTRIBUTES:
                    # KeyValue: the key comes first in every encoder; any other order is skipped
                    value_at = at + 2 + data[at + 1]
                    if (fact := _BY_KEY.get(data[at + 2 : value_at])) and data[at] == 0x0A and value_at < stop:
                        raw = data[value_at:stop]
                        text = values.get(raw)
                        if text is None:
                            text = values[raw] = _attribute_value(raw)
                        facts.setdefault(fact, text)
                elif tag == _TRACE_ID:
                    trace = int.from_bytes(data[at:stop], "big")
                elif tag == _SPAN_ID:
                    span = int.from_bytes(data[at:stop], "big")
                elif tag == _PARENT_ID:
                    parent = int.from_bytes(data[at:stop], "big")
                elif tag == _STATUS and length:
                    has_error = dict(fields(data[at:stop])).get(_STATUS_CODE) == _ERROR
                at = stop
            elif tag == _START:
                (start,) = _FIXED.unpack_from(data, at)
                at += 8
            elif tag == _END:
                (end,) = _FIXED.unpack_from(data, at)
                at += 8
            elif tag == _KIND:
                kind = data[at]
                at += 1
            else:
                at = skip(data, at - 1)
    except (IndexError, struct.error):
        raise Malformed("a field runs past the end") from None
    if at != size or not trace or not span:
        raise Malformed("a span runs past its end, or has no id")
    return Span(
        _key(trace, span), _key(trace, parent) if parent else 0, kind if kind <= CONSUMER else 0, end // 1_000_000_000,
        max(0, end - start) // 1000, has_error, service, tuple(sorted(facts.items())) if len(facts) > 1 else tuple(facts.items()),
    )  # fmt: skip


def _attribute_value(rest: bytes) -> str:
    """Return the value of a KeyValue whose key was cut off."""
    any_value = dict(fields(rest)).get(2)
    return _text(any_value) if isinstance(any_value, bytes) else ""
