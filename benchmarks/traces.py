"""Time, memory and disk space of ingesting synthetic traces.

    python benchmarks/traces.py [--spans 1000000] [--folder DIR] [--reference] [--json FILE]

Writes a small repository of two services and deterministic spans of their calls, as OTLP/JSON lines (as the collector's
file exporter writes them), as one protobuf request and as gzipped JSON lines, each in a fresh index. A request has six
spans: two servers by route, three functions by `code.*` attributes, one client, with the attributes that SDKs usually
add. One in a hundred parents comes after its children's batch. Prints, per format, the size of the file, the seconds and
peak memory of `assay ingest-otlp` in its own process, the size of `.assay/traces.db`, and the count of one edge, which
must be the number of requests. With --reference, also the seconds that opentelemetry-proto takes to parse the protobuf
file and read the same attributes, if it is installed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SPANS_PER_REQUEST = 6
_BATCH = 510  # spans of an export request: SDKs send at most 512
_WEB = """from flask import Flask
import requests

app = Flask(__name__)


@app.get("/items/<item_id>")
def show_item(item_id):
    return render(item_id)


def render(item_id):
    return fetch_stock(item_id)


def fetch_stock(item_id):
    return requests.get(f"http://stock:8002/stock/{item_id}").json()
"""
_STOCK = """from flask import Flask

app = Flask(__name__)


@app.route("/stock/<item_id>")
def stock_of(item_id):
    return {"units": count_units(item_id)}


def count_units(item_id):
    return 3
"""

Attributes = dict[str, str | int]
Span = tuple[int, int, int, int, int, Attributes]  # trace, span, parent, kind, microseconds, attributes


def _request(number: int, draw: random.Random) -> dict[str, list[Span]]:
    """Return the spans of one request by service, children first as exporters send them."""
    trace, first = draw.getrandbits(128) | 1, draw.getrandbits(56) * 8 + 1
    ids = [first + place for place in range(_SPANS_PER_REQUEST)]
    micros = 2000 + int(draw.expovariate(1 / 4000))
    usual: Attributes = {"thread.id": 140_245 + number % 7, "thread.name": f"worker-{number % 7}"}
    http: Attributes = {
        "http.request.method": "GET", "url.path": f"/items/{number}", "url.query": f"token={number:x}", "server.address": "shop",
        "user_agent.original": "bench/1.0", "http.response.status_code": 200, "network.protocol.version": "1.1",
    }  # fmt: skip
    web: list[Span] = [
        (trace, ids[3], ids[2], 3, micros * 7 // 10, {"http.request.method": "GET", "url.full": f"http://stock/stock/{number}"}),
        (trace, ids[2], ids[1], 1, micros * 8 // 10, usual | {"code.function": "fetch_stock", "code.filepath": "/srv/web/app.py"}),
        (trace, ids[1], ids[0], 1, micros * 9 // 10, usual | {"code.function.name": "web.app.render"}),
        (trace, ids[0], 0, 2, micros, http | {"http.route": "/items/<item_id>"}),
    ]  # fmt: skip
    code: Attributes = {
        "code.function.name": "count_units",
        "code.file.path": "/srv/stock/app.py",
        "code.line.number": 11,
    }
    stock: list[Span] = [
        (trace, ids[5], ids[4], 1, micros * 3 // 10, usual | code),
        (trace, ids[4], ids[3], 2, micros * 5 // 10, http | {"http.route": "/stock/<item_id>"}),
    ]
    return {"web": web, "stock": stock}


def batches(requests: int, now: int, seed: int = 1) -> Iterator[tuple[str, list[Span]]]:
    """Yield export requests: a service and its spans. One span in a hundred comes a batch later."""
    draw = random.Random(seed)
    waiting: dict[str, list[Span]] = {"web": [], "stock": []}
    late: dict[str, list[Span]] = {"web": [], "stock": []}
    for number in range(requests):
        for service, spans in _request(number, draw).items():
            for span in spans:
                (late if draw.random() < 0.01 else waiting)[service].append(span)
            if len(waiting[service]) >= _BATCH:
                yield service, waiting[service]
                waiting[service], late[service] = late[service], []
    for service in waiting:
        yield service, waiting[service] + late[service]


# Encodings


def as_json(service: str, spans: list[Span], now: int) -> bytes:
    def attributes(values: Attributes) -> list[dict[str, Any]]:
        return [
            {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
            for key, value in values.items()
        ]

    encoded = [
        {
            "traceId": f"{trace:032x}", "spanId": f"{span:016x}", "parentSpanId": f"{parent:016x}" if parent else "",
            "name": "span", "kind": kind, "startTimeUnixNano": str(now - micros * 1000), "endTimeUnixNano": str(now),
            "attributes": attributes(values), "status": {},
        }
        for trace, span, parent, kind, micros, values in spans
    ]  # fmt: skip
    scopes = [{"scope": {"name": "benchmark"}, "spans": encoded}]
    resource_spans = {"resource": {"attributes": attributes({"service.name": service})}, "scopeSpans": scopes}
    return json.dumps({"resourceSpans": [resource_spans]}, separators=(",", ":")).encode() + b"\n"


def as_protobuf(service: str, spans: list[Span], now: int) -> bytes:
    def attribute(key: str, value: str | int) -> bytes:
        text = _number(3, value) if isinstance(value, int) else _delimited(1, value.encode())
        return _delimited(1, key.encode()) + _delimited(2, text)

    def encoded(row: Span) -> bytes:
        trace, span, parent, kind, micros, values = row
        return b"".join((
            _delimited(1, trace.to_bytes(16, "big")), _delimited(2, span.to_bytes(8, "big")),
            _delimited(4, parent.to_bytes(8, "big")) if parent else b"", _delimited(5, b"span"), _number(6, kind),
            _varint(7 << 3 | 1), struct.pack("<Q", now - micros * 1000), _varint(8 << 3 | 1), struct.pack("<Q", now),
            *(_delimited(9, attribute(key, value)) for key, value in values.items()), _delimited(15, b""),
        ))  # fmt: skip

    scope = _delimited(1, _delimited(1, b"benchmark")) + b"".join(_delimited(2, encoded(span)) for span in spans)
    resource_bytes = _delimited(1, attribute("service.name", service))
    return _delimited(1, _delimited(1, resource_bytes) + _delimited(2, scope))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _delimited(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


# Measuring

_INGEST = """
import json, resource, sys, time
from pathlib import Path
from assay.api import Repository

started, spent = time.perf_counter(), time.process_time()
with Repository(Path(sys.argv[1])) as repo:
    (ingested,) = repo.ingest_traces([sys.argv[2]])
    seconds, spent = time.perf_counter() - started, time.process_time() - spent
    (caller,) = [affected for affected in repo.impact("stock_of", depth=1) if affected.item.name == "fetch_stock"]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"seconds": round(seconds, 1), "processor_seconds": round(spent, 1), "peak_mb": peak // 1024,
                  "spans": ingested.spans, "calls": ingested.calls,
                  "problems": ingested.problems, "edge": caller.detail}))
"""


def _repository(folder: Path) -> Path:
    for service, text in (("web", _WEB), ("stock", _STOCK)):
        (folder / service).mkdir(parents=True)
        (folder / service / "app.py").write_text(text)
    subprocess.run([sys.executable, "-m", "assay", "index", str(folder)], check=True, stdout=subprocess.DEVNULL)
    return folder


def _measure(folder: Path, file: Path) -> dict[str, Any]:
    root = _repository(folder / f"shop-{file.name}")
    run = subprocess.run(
        [sys.executable, "-c", _INGEST, str(root), str(file)], check=True, capture_output=True, text=True
    )
    files = list((root / ".assay").glob("traces.db*"))
    row: dict[str, Any] = json.loads(run.stdout)
    return {
        "file_mb": round(file.stat().st_size / 1e6, 1),
        **row,
        "disk_mb": round(sum(f.stat().st_size for f in files) / 1e6, 1),
    }


def _reference(file: Path) -> float | None:
    """Return the processor seconds that opentelemetry-proto takes for the same file and attributes."""
    try:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # type: ignore[import-not-found]
            ExportTraceServiceRequest,
        )
    except ImportError:
        return None
    started = time.process_time()
    request = ExportTraceServiceRequest.FromString(file.read_bytes())
    rows = []
    for resource_spans in request.resource_spans:
        for scope in resource_spans.scope_spans:
            for span in scope.spans:
                facts = {a.key: a.value.string_value for a in span.attributes if a.key.startswith(("code.", "http."))}
                rows.append(
                    (span.trace_id, span.span_id, span.parent_span_id, span.kind, span.end_time_unix_nano, facts)
                )
    return round(time.process_time() - started, 1)


def _reading(file: Path) -> float:
    """Return the processor seconds that assay's reader takes for a protobuf file."""
    from assay.index.enrich.otlp import Batch, read_batches
    from assay.system.inputs import open_unpacked

    started = time.process_time()
    with open_unpacked(file, 1 << 40) as stream:
        spans = sum(len(batch.spans) for batch in read_batches(stream, str(file)) if isinstance(batch, Batch))
    assert spans
    return round(time.process_time() - started, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="Where to write; by default a temporary folder.")
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    now = int(time.time()) * 10**9
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        plain, proto, packed = folder / "spans.jsonl", folder / "spans.pb", folder / "spans.jsonl.gz"
        with plain.open("wb") as lines, proto.open("wb") as messages, gzip.open(packed, "wb", 1) as zipped:
            for service, spans in batches(options.spans // _SPANS_PER_REQUEST, now):
                line = as_json(service, spans, now)
                lines.write(line)
                zipped.write(line)
                messages.write(as_protobuf(service, spans, now))
        results: dict[str, Any] = {file.name: _measure(folder, file) for file in (plain, proto, packed)}
        if options.reference:
            results["reading protobuf, processor seconds"] = {
                "assay": _reading(proto),
                "opentelemetry-proto": _reference(proto),
            }
    for key, value in results.items():
        print(key, json.dumps(value, ensure_ascii=False))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))
    print(f"this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


if __name__ == "__main__":
    main()
