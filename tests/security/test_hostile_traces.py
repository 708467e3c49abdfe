"""Hostile trace files and requests: each costs only itself, in bounded time and memory."""

from __future__ import annotations

import gzip
import os
import resource
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.api import Repository
from assay.store.traces.database import NAME
from support.command import COMMAND, ENVIRONMENT, assay
from support.cpu import at_most
from support.spans import SpanRow, code, delimited, json_request, protobuf_request, varint
from support.waiting import PATIENCE, until

GOOD = [SpanRow(1, 2, 1, 1, code("callee")), SpanRow(1, 1, 0, 1, code("caller"))]
SOURCE = "def caller():\n    return callee()\n\n\ndef callee():\n    return 1\n"
MEMORY = 700_000_000  # bytes of address space above what an idle process has


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "app.py").write_text(SOURCE)
    assert assay(tmp_path / "repo", "index").code == 0
    return tmp_path / "repo"


def _deep() -> bytes:
    return b'{"resourceSpans": [{"x": ' + b"[" * 500_000 + b"]" * 500_000 + b"}]}\n"


def _bomb() -> bytes:
    return gzip.compress(b'{"resourceSpans": [' + b" " * 300_000_000, 9)


def _wide() -> bytes:
    return b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + b"{}," * 3_000_000 + b"{}]}]}]}\n"


def _huge_number() -> bytes:
    return json_request("web", GOOD).replace(b'"kind": 1', b'"kind": 1' + b"0" * 5000)


def _many_spans() -> bytes:
    span = delimited(2, delimited(1, b"t" * 16) + delimited(2, b"s" * 8))
    return delimited(1, delimited(2, span * 400_000))


def _empty_spans() -> bytes:
    return delimited(1, delimited(2, delimited(2, b"") * 1_000_000))


HOSTILE: dict[str, bytes | Callable[[], bytes]] = {  # large ones are made when used
    "malformed.json": b'{"resourceSpans": [{"scopeSpans": 7}]}\n',
    "truncated.json": json_request("web", GOOD)[:-40],
    "truncated.pb": protobuf_request("web", GOOD)[:-10],
    "longer.pb": b"\x0a" + varint(1 << 40) + b"abc",
    "prefixed.pb": b"\x00\x00\x00\x0a" + b"abc",
    "endless-number.pb": b"\x0a" + b"\xff" * 50,
    "torn.json.gz": gzip.compress(json_request("web", [SpanRow(50, 1, 0, 1, code("callee"))]) * 500)[:-20],
    "deep.json": _deep,
    "wide.json": _wide,
    "numbers.json": _huge_number(),
    "spans.pb": _many_spans,
    "empty-spans.pb": _empty_spans,
    "bomb.json.gz": _bomb,
    "image.png": b"\x89PNG\r\n",
    "bytes.json": b"{\xff\xfe\x00\n",
    "ids.json": json_request("web", GOOD).replace(b'"traceId": "', b'"traceId": "zz'),
    "attributes.pb": delimited(1, delimited(2, delimited(2, delimited(9, b"\x0a\xff"))))
}  # fmt: skip


def test_each_hostile_file_costs_only_itself(root: Path, tmp_path: Path) -> None:
    for name, data in HOSTILE.items():
        (tmp_path / name).write_bytes(data() if callable(data) else data)
    (tmp_path / "good.json").write_bytes(json_request("web", GOOD))
    os.mkfifo(tmp_path / "pipe.json")
    names = [*HOSTILE, "pipe.json", "good.json"]
    with at_most(60):
        done = assay(root, "ingest-otlp", *(tmp_path / name for name in names), preexec_fn=_limit_memory)
    assert done.code == 1
    for name in names[:-1]:
        assert any(line.startswith("problem: ") and name in line for line in done.err.splitlines()), name
    assert len(done.err) < 20_000
    assert "good.json: 2 spans" in done.out
    assert "calls callee (called 1 time" in assay(root, "impact", "callee").out


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY * 2, MEMORY * 2))


def test_what_came_before_a_cut_is_counted_once(root: Path, tmp_path: Path) -> None:
    line = json_request("web", GOOD)
    (tmp_path / "growing.jsonl").write_bytes(line + line[:100])
    first = assay(root, "ingest-otlp", tmp_path / "growing.jsonl")
    assert (first.code, "growing.jsonl:2: " in first.err) == (1, True)
    (tmp_path / "growing.jsonl").write_bytes(line + json_request("web", [SpanRow(9, 9, 0, 1, code("callee"))]))
    second = assay(root, "ingest-otlp", tmp_path / "growing.jsonl")
    assert second.code == 0
    assert "1 span in" in second.out
    assert "2 counted before" in second.out


def test_names_in_spans_reach_a_terminal_escaped_and_bounded(root: Path, tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\u202e" + "x" * 100_000
    spans = [SpanRow(1, 2, 1, 2, code("callee")), SpanRow(1, 1, 0, 3)]
    requests = json_request("web", spans[:1]) + json_request(evil, spans[1:])
    (tmp_path / "evil.json").write_bytes(requests)
    assert assay(root, "ingest-otlp", tmp_path / "evil.json").code == 0
    graph = assay(root, "graph", "callee").out
    assert "service" in graph
    assert "\x1b" not in graph
    assert "\u202e" not in graph
    assert len(graph) < 5000


def test_secrets_in_attributes_are_never_stored(root: Path, tmp_path: Path) -> None:
    names = (
        "url.full", "url.query", "http.target", "http.request.header.cookie", "db.query.text", "enduser.id", "code.stacktrace",
    )  # fmt: skip
    secret: dict[str, str | int] = dict.fromkeys(names, "s3cret-value")
    span = SpanRow(
        1, 1, 0, 2, secret | code("callee") | {"http.route": "/x?token=s3cret-value", "rpc.method": "s3cret-value"}
    )
    (tmp_path / "a.json").write_bytes(json_request("web", [span]))
    (tmp_path / "b.pb").write_bytes(protobuf_request("web", [span._replace(span=2)]))
    assert assay(root, "ingest-otlp", tmp_path / "a.json", tmp_path / "b.pb").code == 0
    for path in (root / ".assay").rglob("*"):
        assert path.is_dir() or b"s3cret-value" not in path.read_bytes(), path


def test_a_link_or_a_foreign_database_in_place_of_the_store_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "good.json").write_bytes(json_request("web", GOOD))
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (root / ".assay" / NAME).symlink_to(victim)
    done = assay(root, "ingest-otlp", tmp_path / "good.json")
    assert done.code == 2
    assert "symbolic link" in done.err
    assert victim.read_text() == "precious"
    (root / ".assay" / NAME).unlink()
    (root / ".assay" / NAME).write_bytes(b"SQLite format 3\x00" + os.urandom(5000))
    assert "ingest-otlp --forget" in assay(root, "impact", "callee").err
    assert assay(root, "ingest-otlp", "--forget").code == 0
    assert assay(root, "ingest-otlp", tmp_path / "good.json").code == 0


def test_two_processes_at_once_lose_nothing_and_count_nothing_twice(root: Path, tmp_path: Path) -> None:
    shared = b"".join(json_request("web", _pair(number)) for number in range(300))
    files = []
    for process in range(2):
        own = b"".join(json_request("web", _pair(1000 * (process + 1) + number)) for number in range(300))
        files.append(tmp_path / f"{process}.jsonl")
        files[-1].write_bytes((shared + own) if process else (own + shared))
    running = [
        subprocess.Popen([*COMMAND, "ingest-otlp", file], cwd=root, env=ENVIRONMENT, stdout=-1) for file in files
    ]
    assert [process.wait(PATIENCE) for process in running] == [0, 0]
    for finished in running:
        finished.communicate()
    assert "calls callee (called 900 times" in assay(root, "impact", "callee").out


def _pair(number: int) -> list[SpanRow]:
    return [
        SpanRow(number + 5, 2 * number + 1, 2 * number + 2, 1, code("callee")),
        SpanRow(number + 5, 2 * number + 2, 0, 1, code("caller")),
    ]


def test_a_killed_process_leaves_a_store_that_goes_on(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    with file.open("wb") as lines:
        for number in range(12_000):
            lines.write(json_request("web", _pair(number)))
    process = subprocess.Popen([*COMMAND, "ingest-otlp", file], cwd=root, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    until(lambda: _is_partly_stored(root) or process.poll() is not None, pause=0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = assay(root, "ingest-otlp", file)
    assert done.code == 0
    assert "calls callee (called 12,000 times" in assay(root, "impact", "callee").out


def _is_partly_stored(root: Path) -> bool:
    with Repository(root) as repo:
        return bool(repo.observed(repo.one_symbol("callee")))
