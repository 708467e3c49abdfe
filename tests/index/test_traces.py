"""Traces: spans become symbols, parents and children become calls, in any order and across files."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.api import Repository, open_all
from assay.core.items import Item, Link
from assay.index.enrich.ingest import Ingested
from assay.index.enrich.otlp import SERVER as SERVER_KIND
from assay.index.enrich.traces import _Symbols
from assay.store.links.traces import age_of_last_call, last_seen
from assay.store.traces.database import NAME
from support.command import assay
from support.paths import FIXTURES, ROOT
from support.spans import CLIENT, CONSUMER, PRODUCER, SERVER, SpanRow, code, json_request, protobuf_request, route

WEB = """from flask import Flask
import requests

app = Flask(__name__)

@app.get("/items/<item>")
def show_item(item):
    return render(item)

def render(item):
    return fetch_stock(item)

def fetch_stock(item):
    return requests.get(f"http://stock:8002/stock/{item}").json()

class Cart:
    def total(self):
        return 1

class Bill:
    def total(self):
        return 2
"""
STOCK = """from flask import Flask
app = Flask(__name__)

@app.route("/stock/<item>")
def stock_of(item):
    return {"units": count_units(item)}

def count_units(item):
    return 3
"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Repository]:
    for path, text in (("web/app.py", WEB), ("stock/app.py", STOCK)):
        (tmp_path / "shop" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "shop" / path).write_text(text)
    with Repository(tmp_path / "shop") as repo:
        repo.refresh()
        yield repo


def _request(number: int, **options: float) -> tuple[bytes, bytes]:
    """Return the export requests of both services for one request of a user, children before their parents."""
    trace, first = 1_000_003 * number, 10 * number
    age = options.get("ago", 0.0)
    web = [
        SpanRow(trace, first + 4, first + 3, CLIENT, {"http.request.method": "GET"}, 9, ago=age),
        SpanRow(trace, first + 3, first + 2, 1, code("fetch_stock", "/srv/web/app.py"), 10, ago=age),
        SpanRow(trace, first + 2, first + 1, 1, code("web.app.render"), 11, ago=age),
        SpanRow(trace, first + 1, 0, SERVER, route("/items/<item>"), 12, ago=age),
    ]
    stock = [
        SpanRow(trace, first + 6, first + 5, 1, code("count_units", "/srv/stock/app.py", 8), 3, ago=age),
        SpanRow(trace, first + 5, first + 4, SERVER, route("/stock/<item>"), 5, ago=age),
    ]
    return json_request("web", web), protobuf_request("stock", stock)


def _ingest(repo: Repository, folder: Path, **files: bytes) -> None:
    for name, data in files.items():
        (folder / name).write_bytes(data)
    results = repo.ingest_traces([folder / name for name in files])
    assert [result.problems for result in results] == [[]] * len(files)


def _links(repo: Repository) -> dict[tuple[str, str], Link]:
    links = [link for link in repo.index.links.all if link.provenance == "runtime"]
    return {(link.source.rpartition("::")[2], link.target.rpartition("::")[2]): link for link in links}


EXPECTED = {
    ("show_item", "render"): "calls",
    ("render", "fetch_stock"): "calls",
    ("fetch_stock", "stock_of"): "consumes_endpoint",
    ("stock_of", "count_units"): "calls",
}


@pytest.mark.parametrize("order", ["caller first", "callee first", "every span in a file of its own"])
def test_calls_are_joined_across_services_and_files_in_any_order(shop: Repository, tmp_path: Path, order: str) -> None:
    web, stock = _request(1)
    if order == "callee first":
        _ingest(shop, tmp_path, stock=stock)
        assert ("fetch_stock", "stock_of") not in _links(shop)
        _ingest(shop, tmp_path, web=web)
    else:
        _ingest(shop, tmp_path, web=web, stock=stock)
    links = _links(shop)
    assert {ends: link.type for ends, link in links.items()} == EXPECTED
    assert all(link.detail.startswith("called 1 time in the last day, p95 ") for link in links.values())
    assert {link.confidence for link in links.values()} == {0.2}


def test_counts_latencies_and_errors_add_up(shop: Repository, tmp_path: Path) -> None:
    pairs = [_request(number) for number in range(1, 1205)]
    _ingest(shop, tmp_path, web=b"".join(web for web, _ in pairs), stock=b"".join(stock for _, stock in pairs))
    link = _links(shop)["fetch_stock", "stock_of"]
    assert link.detail == "called 1,204 times in the last day, p95 5.3 ms"
    assert (link.confidence, link.provenance, link.path, link.line) == (0.95, "runtime", "web/app.py", 13)
    (dependent,) = [row for row in shop.impact("stock_of") if row.item.name == "fetch_stock"]
    assert (dependent.detail, dependent.edge) == (link.detail, "consumes_endpoint")
    assert shop.observed(shop.one_symbol("count_units")) == "called 1,204 times in the last day, p95 3.2 ms"


def test_a_file_a_batch_and_a_span_are_counted_once(shop: Repository, tmp_path: Path) -> None:
    web, stock = _request(1)
    later, _ = _request(2)
    _ingest(shop, tmp_path, web=web, stock=stock)
    (same,) = shop.ingest_traces([tmp_path / "web"])
    assert same.is_repeated
    (grown,) = _results(shop, tmp_path, "web", web + later)
    assert (grown.spans, grown.repeated) == (4, 4)
    doubled = web.replace(b'"a span"', b'"other name"')  # another request with the same spans
    (again,) = _results(shop, tmp_path, "doubled", doubled)
    assert (again.spans, again.repeated) == (0, 4)
    assert _links(shop)["show_item", "render"].detail.startswith("called 2 times ")


def _results(repo: Repository, folder: Path, name: str, data: bytes) -> list[Ingested]:
    (folder / name).write_bytes(data)
    return list(repo.ingest_traces([folder / name]))


def test_what_was_observed_of_other_code_no_longer_counts(shop: Repository, tmp_path: Path) -> None:
    _ingest(shop, tmp_path, web=_request(1)[0], stock=_request(1)[1])
    file = shop.root / "stock" / "app.py"
    file.write_text("# a comment above\n" + STOCK)
    shop.refresh()
    assert ("stock_of", "count_units") in _links(shop), "only its line changed"
    file.write_text(STOCK.replace("return 3", "return 4"))
    shop.refresh()
    assert _links(shop).keys() == EXPECTED.keys() - {("stock_of", "count_units")}
    assert shop.observed(shop.one_symbol("count_units")) == ""
    assert last_seen(shop.index, shop.one_symbol("count_units")) is None
    file.write_text("def other():\n    pass\n")
    shop.refresh()
    assert _links(shop).keys() == {("show_item", "render"), ("render", "fetch_stock")}


def test_older_calls_are_told_by_their_period(shop: Repository, tmp_path: Path) -> None:
    for days in (3, 20, 60):
        _ingest(shop, tmp_path, web=_request(days, ago=days * 86400)[0])
    detail = _links(shop)["show_item", "render"].detail
    assert detail.startswith("called 1 time in the last 7 days")
    seen = last_seen(shop.index, shop.one_symbol("render"))
    assert seen == pytest.approx(time.time() - 3 * 86400, abs=100)
    _ingest(shop, tmp_path, stock=_request(100)[1])
    assert age_of_last_call(shop.index, shop.one_symbol("render")) == pytest.approx(3 * 86400, abs=100)
    assert age_of_last_call(shop.index, shop.one_symbol("stock_of")) == 0
    assert age_of_last_call(shop.index, shop.one_symbol("Bill.total")) is None
    assert shop.status().observed_calls == 11


def test_topics_link_senders_to_receivers(shop: Repository, tmp_path: Path) -> None:
    destination: dict[str, str | int] = {"messaging.destination.name": "orders"}
    sent = [
        SpanRow(1, 2, 1, PRODUCER, destination),
        SpanRow(1, 1, 0, 1, code("render", "web/app.py")),
    ]
    received = [  # in a trace of its own, as consumers of batches do
        SpanRow(2, 4, 3, 1, code("count_units", "stock/app.py")),
        SpanRow(2, 3, 0, CONSUMER, destination),
    ]
    _ingest(shop, tmp_path, sent=json_request("web", sent), received=json_request("stock", received))
    link = _links(shop)["render", "count_units"]
    assert link.type == "calls"
    assert link.detail.startswith("through topic orders, called 1 time in the last day")


def test_callers_without_code_here_are_named_by_their_service(shop: Repository, tmp_path: Path) -> None:
    mobile = json_request("mobile", [SpanRow(5, 1, 0, CLIENT, {"http.request.method": "GET"})])
    stock = json_request("stock", [SpanRow(5, 2, 1, SERVER, route("/stock/<item>"))])
    _ingest(shop, tmp_path, stock=stock, mobile=mobile)
    (link,) = [link for link in shop.index.links.all if link.provenance == "runtime"]
    assert (link.source, link.target) == ("service:mobile", "stock/app.py::stock_of")


def test_a_span_of_the_handler_below_that_of_the_server_is_the_same_call(shop: Repository, tmp_path: Path) -> None:
    spans = [SpanRow(1, 2, 1, 1, code("web.app.show_item")), SpanRow(1, 1, 0, SERVER, route("/items/<item>"))]
    _ingest(shop, tmp_path, first=json_request("web", spans[:1]), then=json_request("web", spans[1:]))
    assert shop.observed(shop.one_symbol("show_item")).startswith("called 1 time ")
    assert _links(shop) == {}


# Names of code


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"function": "web.app.render"}, "web/app.py::render"),
        ({"function": "render", "namespace": "web.app"}, "web/app.py::render"),
        ({"function": "app.Cart.total"}, "web/app.py::Cart.total"),
        ({"function": "total", "namespace": "web.app.Bill"}, "web/app.py::Bill.total"),
        ({"function": "Cart::total", "file": "/app/web/app.py"}, "web/app.py::Cart.total"),
        ({"function": "total", "file": "C:\\srv\\web\\app.py", "line": "17"}, "web/app.py::Cart.total"),
        ({"function": "total", "file": "/srv/web/app.py", "line": "21"}, "web/app.py::Bill.total"),
        ({"file": "/srv/web/app.py", "line": "11"}, "web/app.py::render"),
        ({"function": "<module>.render", "file": "web/app.py"}, "web/app.py::render"),
        ({"function": "main.(*Cart).total"}, ""),  # no package `main` here
        ({"function": "total", "file": "/srv/web/app.py"}, ""),  # two
        ({"function": "total"}, ""),
        ({"function": "render", "namespace": "jinja2.environment"}, ""),
        ({"function": "render", "file": "/usr/lib/python3/site-packages/web/app.py"}, ""),
        ({"function": "render", "file": "/srv/other.py"}, ""),
        ({"file": "/srv/app.py", "line": "5"}, ""),  # two files of that name
        ({"function": ""}, ""),
        ({}, ""),
    ],
)
def test_code_is_found_by_name_file_and_line_only_if_one_fits(
    shop: Repository, facts: dict[str, str], expected: str
) -> None:
    item = _Symbols(shop.index).of(1, facts, "web")
    assert (item.id if item else "") == expected


def test_routes_of_two_services_are_told_apart_by_folder(tmp_path: Path) -> None:
    for service in ("cart", "billing"):
        (tmp_path / service).mkdir()
        (tmp_path / service / "app.py").write_text('@app.get("/health")\ndef health():\n    return 1\n')
    with Repository(tmp_path) as repo:
        repo.refresh()
        symbols = _Symbols(repo.index)
        facts = {"route": "/health", "method": "GET"}
        found = {
            service: symbols.of(SERVER_KIND, facts, service) for service in ("cart-service", "Billing", "other", "")
        }
    assert {service: item.path if item else "" for service, item in found.items()} == {
        "cart-service": "cart/app.py", "Billing": "billing/app.py", "other": "", "": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    "facts",
    [
        {"rpc_service": "shop.v1.CartService", "rpc_method": "AddItem"},
        {"rpc_method": "shop.v1.CartService/AddItem"},
        {"rpc_service": "Cart", "rpc_method": "AddItem"},
    ],
)
def test_rpc_methods_are_found_in_the_class_of_the_service(tmp_path: Path, facts: dict[str, str]) -> None:
    (tmp_path / "server.py").write_text(
        "class CartServicer:\n    def AddItem(self, request, context):\n        return 1\n\n\n"
        "class Other:\n    def AddItem(self):\n        return 2\n"
    )
    with Repository(tmp_path) as repo:
        repo.refresh()
        item = _Symbols(repo.index).of(SERVER_KIND, facts, "")
    assert isinstance(item, Item)
    assert item.symbol == "CartServicer.AddItem"


# Several repositories


def test_a_workspace_links_a_client_in_one_repository_to_a_handler_in_another(tmp_path: Path) -> None:
    for path, text in (("web/app.py", WEB), ("stock/app.py", STOCK)):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    web, stock = _request(1)
    (tmp_path / "traces.jsonl").write_bytes(web)
    (tmp_path / "traces.pb").write_bytes(stock)
    with open_all([tmp_path / "web", tmp_path / "stock"], index=True) as workspace:
        workspace.ingest_traces([tmp_path / "traces.jsonl", tmp_path / "traces.pb"])
        links = [link for link in workspace.index.links.all if link.provenance == "runtime"]
        (remote,) = [link for link in links if link.type == "consumes_endpoint"]
        assert (remote.source, remote.target) == ("web/app.py::fetch_stock", "stock/app.py::stock_of")
    with Repository(tmp_path / "stock") as alone:
        assert alone.observed(alone.one_symbol("stock_of")).startswith("called 1 time ")


# The command, with the capture of real services


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's repository, with the capture of its services under load ingested."""
    root = tmp_path_factory.mktemp("traces") / "shop"
    shutil.copytree(ROOT / "examples" / "traces", root)
    assert assay(root, "index").code == 0
    assert assay(root, "ingest-otlp", FIXTURES / "traces" / "shop.jsonl").code == 0
    return root


# every call between two traced functions of examples/traces, read in its source
TRUE_CALLS = {
    ("show_item", "describe", "calls"), ("list_items", "describe", "calls"), ("describe", "Prices.of", "calls"),
    ("describe", "units_in_stock", "calls"), ("units_in_stock", "stock_of", "consumes_endpoint"),
    ("stock_of", "count_units", "calls"), ("place_order", "reserve", "calls"), ("place_order", "Prices.of", "calls"),
    ("place_order", "publish", "calls"), ("reserve", "make_reservation", "consumes_endpoint"),
    ("make_reservation", "count_units", "calls"), ("Prices.of", "Prices.discounted", "calls"),
    ("publish", "confirm_order", "calls"),
}  # fmt: skip


def test_the_capture_gives_exactly_the_calls_of_the_source(captured: Path) -> None:
    with Repository(captured) as repo:
        links = [link for link in repo.index.links.all if link.provenance == "runtime"]
    short = {(link.source.rpartition("::")[2], link.target.rpartition("::")[2], link.type) for link in links}
    assert short == TRUE_CALLS


def test_nothing_of_a_span_but_the_names_of_code_topics_and_services_is_stored(captured: Path) -> None:
    stored = b"".join(path.read_bytes() for path in (captured / ".assay").glob(f"{NAME}*"))
    assert b"shop/web.py::describe" in stored
    assert b"topic:orders" in stored
    for secret in (
        b"s3cret",
        b"session=",
        b"Bearer",
        b"card=4111",
        b"/items/",
        b"/srv/shop",
        b"127.0.0.1",
        b"python-requests",
    ):
        assert secret not in stored, secret


def test_status_why_and_impact_tell_what_was_observed(captured: Path) -> None:
    status = assay(captured, "status")
    assert "traces: " in status.out
    assert "observed calls of 13 symbols, since 2026-11-1" in status.out
    why = assay(captured, "why", "units of an item in stock", "count_units")
    assert "  observed: called " in why.out
    assert assay(captured, "why", "units", "count_units", "--format", "json").json["explanations"][0]["observed"]
    impact = assay(captured, "impact", "stock_of", "--format", "json").json
    assert impact["symbols"][0]["observed"].startswith("called ")
    assert impact["affected"][0]["detail"].startswith("called ")


def test_a_review_tells_how_often_callers_run(captured: Path) -> None:
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", str(captured)]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "A shop"]):
        subprocess.run([*git, *arguments], check=True)
    file = captured / "shop" / "stock.py"
    before = file.read_text()
    try:
        file.write_text(before.replace("time.sleep(0.001)", "time.sleep(0.002)"))
        review = assay(captured, "context", "--pr", "--format", "markdown")
    finally:
        file.write_text(before)
    assert re.search(r"calls count\\_units \(called 2 times [^)]*, before this change\)", review.out)


def test_the_command_counts_once_lists_problems_and_forgets(captured: Path, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(captured, root)
    capture = FIXTURES / "traces" / "shop.jsonl"
    assert "counted before" in assay(root, "ingest-otlp", capture).out
    (tmp_path / "bad.json").write_text("{")
    bad = assay(root, "ingest-otlp", tmp_path / "bad.json", tmp_path / "missing.json", tmp_path / "*.none", capture)
    assert bad.code == 1
    assert "bad.json:1: not an OTLP/JSON request" in bad.err
    assert "missing.json: no such file" in bad.err
    assert assay(root, "ingest-otlp").code == 2
    assert assay(root, "ingest-otlp", "--forget").out == "forgotten: all observed calls\n"
    assert not (root / ".assay" / NAME).exists()
    again = assay(root, "ingest-otlp", "-", input=capture.read_text())
    assert again.code == 0
    assert again.out.startswith("standard input: 204 spans")
