"""Recipes of docs/guides/systems.md against servers: a search API on this machine, and PostgreSQL where it is installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.paths import ROOT
from support.workbench import Workbench

GUIDE = (ROOT / "docs/guides/systems.md").read_text("utf-8")
DOCUMENTS = {
    "docs/install.md": "Install it with pip.",
    "docs/keys.md": "Keys are rotated every ninety days.",
    "docs/proxy.md": "Behind a proxy set a variable.",
}
QUESTIONS = [
    {"id": "install", "question": "install it", "expected_docs": ["docs/install.md"]},
    {"id": "keys", "question": "rotated keys", "expected_docs": ["docs/keys.md"], "must_contain": ["ninety days"]},
    {"id": "proxy", "question": "proxy variable", "expected_docs": ["docs/proxy.md"]},
]


def _recipe(name: str) -> str:
    """The Python of the guide that begins with the comment of this file name."""
    return str(re.findall(rf"^```python\n# {name}\n(.*?)^```$", GUIDE, re.S | re.M)[0])


# Elasticsearch and OpenSearch


class _Search(BaseHTTPRequestHandler):
    """`GET /docs/_search?q=…&size=…` and `POST /docs/_search` with a match query, in the shape of Elasticsearch."""

    def do_GET(self) -> None:
        from urllib.parse import parse_qs, urlsplit

        asked = parse_qs(urlsplit(self.path).query)
        self._answer(asked["q"][0], int(asked["size"][0]))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(body["query"]["match"]["text"], body["size"])

    def _answer(self, text: str, size: int) -> None:
        wanted = set(text.lower().split())
        scores = {path: len(wanted & set(words.lower().strip(".").split())) for path, words in DOCUMENTS.items()}
        best = sorted((path for path in scores if scores[path]), key=lambda path: -scores[path])[:size]
        hits = [
            {"_index": "docs", "_id": path, "_score": float(scores[path]), "_source": {"text": DOCUMENTS[path]}}
            for path in best
        ]
        total = {"value": len(hits), "relation": "eq"}
        content = json.dumps({"took": 1, "timed_out": False, "hits": {"total": total, "max_score": 1.0, "hits": hits}})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(content.encode())

    def log_message(self, *arguments: Any) -> None:
        return


@pytest.fixture
def search_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Search)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_search_api_of_elasticsearch_is_read_without_a_wrapper(search_server: str, tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.golden(QUESTIONS)
    spec = re.findall(r"'(http://127\.0\.0\.1:9200/[^']+)'", GUIDE)[0].replace("http://127.0.0.1:9200", search_server)
    run = bench.run(spec)
    assert run["metrics"]["RR@10"] == 1.0
    assert run["metrics"]["phrase_recall"] == 1.0


def test_the_python_recipe_of_elasticsearch(
    search_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Workbench(tmp_path)
    bench.golden(QUESTIONS)
    bench.write("elastic.py", _recipe("elastic.py").replace("http://127.0.0.1:9200", search_server))
    assert bench.run("python:elastic:search")["metrics"]["RR@10"] == 1.0


# PostgreSQL

_POSTGRES = Path("/usr/lib/postgresql/15/bin")


@pytest.fixture
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server on this machine, with the documents in a table; it runs as the user postgres."""
    pytest.importorskip("psycopg")
    if not _POSTGRES.is_dir() or os.geteuid() != 0 or shutil.which("runuser") is None:
        pytest.skip("needs PostgreSQL 15 and the user postgres")
    folder = Path(subprocess.check_output(["runuser", "-u", "postgres", "--", "mktemp", "-d"], text=True).strip())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    as_postgres = ["runuser", "-u", "postgres", "--"]
    subprocess.run(
        [*as_postgres, str(_POSTGRES / "initdb"), "-D", str(folder / "data"), "-A", "trust"],
        check=True,
        capture_output=True,
    )
    options = f"-h 127.0.0.1 -p {port} -k {folder}"
    control = [*as_postgres, str(_POSTGRES / "pg_ctl"), "-D", str(folder / "data")]
    subprocess.run([*control, "-w", "-o", options, "-l", str(folder / "log"), "start"], check=True, capture_output=True)
    try:
        yield f"host=127.0.0.1 port={port} user=postgres dbname=postgres"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def test_the_recipe_of_postgresql_full_text_search(database: str, tmp_path: Path) -> None:
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(database) as connection:
        connection.execute("CREATE TABLE documents (id text PRIMARY KEY, body text)")
        connection.cursor().executemany("INSERT INTO documents VALUES (%s, %s)", list(DOCUMENTS.items()))
    bench = Workbench(tmp_path)
    bench.golden(QUESTIONS)
    bench.write("postgres.py", _recipe("postgres.py").replace("dbname=docs", database))
    run = bench.run("python:postgres:search")
    assert run["metrics"]["RR@10"] == 1.0
    assert run["metrics"]["phrase_recall"] == 1.0


def test_the_recipe_of_pgvector_is_valid_python() -> None:
    """pgvector is not packaged everywhere: its recipe is only compiled."""
    compile(_recipe("vectors.py"), "vectors.py", "exec")
