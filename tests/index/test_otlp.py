"""Reading of OTLP exports: both encodings, old and new attribute names, only what is listed."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from assay.index.enrich.otlp import Batch, Span, read_batches
from assay.system.inputs import BadInput, unpacked
from support.paths import FIXTURES
from support.spans import CLIENT, SERVER, SpanRow, code, delimited, json_request, protobuf_request, route

CAPTURE = FIXTURES / "traces" / "shop.jsonl"
Encoder = Callable[[str, Sequence[SpanRow]], bytes]
SPANS = [
    SpanRow(7, 2, 1, CLIENT, {"http.request.method": "GET"}, ms=2),
    SpanRow(7, 1, 0, SERVER, code("shop.cart.total", "/srv/shop/cart.py", 12) | route("/cart"), ms=3.5, is_error=True),
]


def _read(data: bytes) -> list[Span]:
    return [span for batch in _batches(data) for span in batch.spans]


def _batches(data: bytes) -> list[Batch]:
    batches = list(read_batches(unpacked(io.BytesIO(data), "test", 1 << 30), "test"))
    assert all(isinstance(batch, Batch) for batch in batches), batches
    return [batch for batch in batches if isinstance(batch, Batch)]


@pytest.mark.parametrize("encode", [json_request, protobuf_request])
def test_a_request_is_read_in_either_encoding(encode: Encoder) -> None:
    client, server = _read(encode("web", SPANS))
    assert client.parent == server.key
    assert client.key not in (server.key, 0)
    assert (client.kind, server.kind, server.parent) == (CLIENT, SERVER, 0)
    assert (client.micros, server.micros) == pytest.approx((2000, 3500), abs=2)
    assert (client.is_error, server.is_error) == (False, True)
    assert server.service == "web"
    assert dict(server.facts) == {
        "function": "shop.cart.total", "file": "/srv/shop/cart.py", "line": "12", "route": "/cart", "method": "GET",
    }  # fmt: skip


def test_both_encodings_give_the_same_ids_and_facts() -> None:
    same = [
        [(span.key, span.parent, span.kind, span.facts) for span in _read(encode("web", SPANS))]
        for encode in (json_request, protobuf_request)
    ]
    assert same[0] == same[1]


@pytest.mark.parametrize("encode", [json_request, protobuf_request])
def test_attributes_have_the_names_of_old_and_new_conventions(encode: Encoder) -> None:
    old: dict[str, str | int] = {
        "code.function": "total", "code.namespace": "shop.cart", "code.filepath": "cart.py", "code.lineno": 3,
        "http.method": "GET", "http.route": "/cart", "messaging.destination": "orders",
    }  # fmt: skip
    new: dict[str, str | int] = {
        "code.function.name": "total", "code.namespace": "shop.cart", "code.file.path": "cart.py", "code.line.number": 3,
        "http.request.method": "GET", "http.route": "/cart", "messaging.destination.name": "orders",
    }  # fmt: skip
    first, second = _read(encode("web", [SpanRow(1, 1, 0, SERVER, old), SpanRow(1, 2, 0, SERVER, new)]))
    assert first.facts == second.facts
    assert len(first.facts) == 7


@pytest.mark.parametrize("encode", [json_request, protobuf_request])
def test_attributes_that_are_not_listed_are_never_kept(encode: Encoder) -> None:
    secret: dict[str, str | int] = {
        "url.full": "https://shop/?token=s3cret", "http.url": "https://shop/?token=s3cret", "user.id": "s3cret",
        "db.statement": "SELECT s3cret", "http.request.header.authorization": "Bearer s3cret",
    }  # fmt: skip
    assert "s3cret" not in repr(_read(encode("web", [SpanRow(1, 1, 0, SERVER, secret | route("/cart"))])))


def test_lines_documents_and_lengths_before_messages_are_read() -> None:
    line, message = json_request("web", SPANS), protobuf_request("web", SPANS)
    indented = json.dumps(json.loads(line), indent=2).encode()
    prefixed = len(message).to_bytes(4, "big") + message
    for data in (line * 2, b"\xef\xbb\xbf" + line + b"\n\r\n" + line, message * 2, prefixed * 2):
        assert len(_batches(data)) == 2
    assert len(_read(indented)) == len(SPANS)
    assert len(_read(gzip.compress(line) + gzip.compress(line))) == 2 * len(SPANS)
    assert _batches(b"") == []


def test_metrics_and_logs_in_a_file_are_passed_over() -> None:
    assert _read(b'{"resourceMetrics": [{}]}\n{"resourceLogs": []}\n' + json_request("web", SPANS))


def test_kinds_and_numbers_may_be_words_and_texts() -> None:
    request = json.loads(json_request("web", SPANS[:1]))
    span = request["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    span |= {"kind": "SPAN_KIND_SERVER", "endTimeUnixNano": 2_000_000_000, "startTimeUnixNano": 1_000_000_000}
    span["status"] = {"code": "STATUS_CODE_ERROR"}
    (read,) = _read(json.dumps(request).encode())
    assert (read.kind, read.time, read.micros, read.is_error) == (SERVER, 2, 1_000_000, True)


def test_unknown_fields_of_a_span_are_skipped() -> None:
    from support.spans import number, protobuf_span

    unknown = number(200, 5) + delimited(201, b"later") + b"\xcd\x0c" + b"1234" + b"\xc9\x0c" + b"12345678"
    scope = delimited(2, unknown + protobuf_span(SPANS[1]) + unknown)
    (span,) = _read(delimited(1, delimited(2, scope)))
    assert dict(span.facts)["route"] == "/cart"


def test_a_bad_line_costs_only_itself() -> None:
    line = json_request("web", SPANS)
    values = list(
        read_batches(unpacked(io.BytesIO(line + b'{"resourceSpans": 7}\n{"a\n' + line), "a.jsonl", 1 << 30), "a.jsonl")
    )
    assert [type(value) for value in values] == [Batch, BadInput, BadInput, Batch]
    assert str(values[1]).startswith("a.jsonl:2: ")


def test_the_capture_of_real_services_is_read_whole() -> None:
    spans = _read(CAPTURE.read_bytes())
    assert {span.service for span in spans} == {"web", "stock"}
    assert len({span.key for span in spans}) == len(spans) > 100
    assert "s3cret" in CAPTURE.read_text()
    assert "s3cret" not in repr(spans)


def test_another_format_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"trace\.zip: neither OTLP/JSON nor an OTLP protobuf message"):
        list(read_batches(unpacked(io.BytesIO(b"PK\x03\x04"), "trace.zip", 1 << 30), "trace.zip"))
