"""The receiver of traces: OTLP/HTTP in both encodings, only for this machine and never for web pages."""

from __future__ import annotations

import gzip
import http.client
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from assay.cli.traces import _Totals
from assay.index.enrich.ingest import Ingested
from support.command import COMMAND, ENVIRONMENT, assay
from support.spans import SpanRow, code, json_request, protobuf_request
from support.waiting import PATIENCE

JSON, PROTOBUF = {"content-type": "application/json"}, {"content-type": "application/x-protobuf"}
SOURCE = "def caller():\n    return callee()\n\n\ndef callee():\n    return 1\n"


class Listening(NamedTuple):
    root: Path
    port: int
    process: subprocess.Popen[str]


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    root = tmp_path_factory.mktemp("receiver")
    (root / "app.py").write_text(SOURCE)
    assert assay(root, "index").code == 0
    with subprocess.Popen(
        [*COMMAND, "ingest-otlp", "--listen", "0"],
        cwd=root, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        first = process.stdout.readline()
        port = re.search(r"http://127\.0\.0\.1:(\d+)/v1/traces", first)
        assert port, first
        assert "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:" in process.stdout.readline()
        yield Listening(root, int(port[1]), process)
        process.kill()


def _post(
    listening: Listening, body: bytes, headers: dict[str, str], path: str = "/v1/traces", method: str = "POST"
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", listening.port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def _spans(number: int) -> list[SpanRow]:
    return [
        SpanRow(number, 2 * number, 2 * number + 1, 1, code("callee")),
        SpanRow(number, 2 * number + 1, 0, 1, code("caller")),
    ]


def test_spans_are_counted_when_the_request_is_answered(listening: Listening) -> None:
    packed = gzip.compress(protobuf_request("web", _spans(7)))
    for body, headers in (
        (json_request("web", _spans(1)), JSON),
        (json_request("web", _spans(1)), JSON),  # an exporter that did not hear the answer
        (protobuf_request("web", _spans(3)), PROTOBUF),
        (packed, PROTOBUF | {"content-encoding": "gzip"}),
    ):
        expected = b"{}" if headers is JSON else b""
        assert _post(listening, body, headers) == (200, expected)
    assert "calls callee (called 3 times" in assay(listening.root, "impact", "callee").out


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (JSON | {"host": "evil.example"}, 403),
        (JSON | {"origin": "https://evil.example"}, 403),
        (JSON | {"sec-fetch-site": "cross-site"}, 403),
        ({"content-type": "text/plain"}, 415),
        (JSON | {"content-encoding": "br"}, 415),
        (JSON | {"content-length": "99999999999"}, 413),
    ],
)
def test_requests_of_pages_and_other_formats_are_refused(
    listening: Listening, headers: dict[str, str], status: int
) -> None:
    assert _post(listening, b"{}", headers)[0] == status


def test_other_addresses_and_methods_are_refused(listening: Listening) -> None:
    assert _post(listening, b"{}", JSON, "/v1/metrics")[0] == 404
    assert _post(listening, b"", JSON, method="GET")[0] == 405


def test_bad_bodies_are_answered_and_cost_nothing_else(listening: Listening) -> None:
    bomb = gzip.compress(b'{"resourceSpans": [' + b" " * 100_000_000)
    for body, headers in ((b"{", JSON), (b"\x0a\xff", PROTOBUF), (bomb, JSON), (b"\x1f\x8b\x08junk", JSON)):
        assert _post(listening, body, headers)[0] == 400
    assert _post(listening, json_request("web", _spans(1)), JSON)[0] == 200


def test_a_body_without_end_is_cut_off(listening: Listening) -> None:
    with socket.create_connection(("127.0.0.1", listening.port), timeout=PATIENCE) as connection:
        head = b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        connection.sendall(head)
        part = b"%x\r\n%b\r\n" % (1_000_000, b" " * 1_000_000)
        is_closed = False
        try:
            for _ in range(60):
                connection.sendall(part)
        except OSError:
            is_closed = True
        assert is_closed or connection.recv(100).startswith(b"HTTP/1.1 413")
    assert _post(listening, json_request("web", _spans(1)), JSON)[0] == 200


def test_spans_are_matched_to_the_index_as_it_is(listening: Listening) -> None:
    (listening.root / "later.py").write_text("def added_later():\n    return 1\n")
    assert assay(listening.root, "index").code == 0
    body = json_request("web", [SpanRow(99, 1, 0, 1, code("later.added_later"))])
    assert _post(listening, body, JSON)[0] == 200
    assert "called 1 time" in assay(listening.root, "impact", "added_later").out


def test_an_interrupt_ends_it_with_the_totals(listening: Listening) -> None:
    listening.process.send_signal(signal.SIGINT)
    assert listening.process.wait(PATIENCE) == 0
    assert listening.process.stdout is not None
    assert "received: 7 spans in " in listening.process.stdout.read()


def test_only_this_machine_can_be_listened_on(listening: Listening) -> None:
    for address in ("0.0.0.0:4318", "192.168.1.2:4318", "4318x", "99999"):
        done = assay(listening.root, "ingest-otlp", "--listen", address)
        assert done.code == 2
        assert f"--listen {address}" in done.err


def test_problems_of_many_requests_are_few_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 6_000.0)
    totals = _Totals()
    for _ in range(1_000):
        totals.add(Ingested("request", problems=["request: not an OTLP trace request"]))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "problem: request: not an OTLP trace request"
    assert "problems left out in this minute: 512" in lines
    assert len(lines) < 100
