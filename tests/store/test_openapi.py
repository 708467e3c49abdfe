"""OpenAPI documents connect clients and handlers by the ids of their operations."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from assay.store.links.openapi import MAX_OPERATIONS, Operation, operations, spellings
from support.repository import Repository

YAML = """\
openapi: 3.1.0
info:
  title: Orders
paths:
  /orders/{id}:
    parameters:
      - name: id
        in: path
    get:
      operationId: showOrder
      responses:
        "200":
          description: ok
          links:
            again:
              operationId: placeOrder
    delete:
      summary: without an id
  "/orders":
    post:
      operationId: 'placeOrder'
components:
  schemas:
    paths:
      /not-a-path:
        get:
          operationId: listNothing
"""


def test_operations_of_a_yaml_document_are_read_by_indentation() -> None:
    assert operations(YAML) == [Operation("GET /orders/{id}", "showOrder"), Operation("POST /orders", "placeOrder")]


def test_operations_of_a_json_document_are_read() -> None:
    document = {"swagger": "2.0", "paths": {"/a": {"get": {"operationId": "listAll"}, "parameters": []}, "/b": 3}}
    assert operations(json.dumps(document)) == [Operation("GET /a", "listAll")]


def test_generators_spell_an_operation_in_every_case() -> None:
    assert spellings("showOrder") == {"showOrder", "ShowOrder", "show_order"}
    assert spellings("get-HTTP-status") >= {"getHttpStatus", "get_http_status"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "kind: Deployment\npaths:\n  /a:\n    get:\n      operationId: x\n",
        '{"openapi": ' + "[" * 200_000,
        "openapi: 3\npaths:\n" + "  /a:\n    get:\n" * 100_000,
        "openapi: 3\na: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\npaths: *c\n",
        "openapi: 3\npaths:\n" + " " * 300_000 + "\n  /a" + "'" * 100_000,
        "openapi: 3\npaths: 3\n\x00\n  - get",
    ],
)
def test_other_broken_and_hostile_documents_have_no_operations(text: str) -> None:
    start = time.process_time()
    assert operations(text) == []
    assert time.process_time() - start < 2


def test_the_number_of_operations_is_bounded() -> None:
    paths = "".join(f"  /a{n}:\n    get:\n      operationId: showA{n}\n" for n in range(MAX_OPERATIONS + 10))
    assert len(operations("openapi: 3\npaths:\n" + paths)) == MAX_OPERATIONS


def test_a_generated_client_is_linked_to_the_handler_of_its_operation(tmp_path: Path) -> None:
    for path, text in {
        "openapi.yaml": YAML,
        "server/orders.py": "def show_order(id):\n    return id\n\ndef place_order():\n    return {}\n",
        "client/api.ts": "export function showOrder(id: string) {\n  return send(1, id);\n}\n",
        "web/page.ts": "export function load(id: string) {\n  return fetch(`/orders/${id}`);\n}\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    repository = Repository(tmp_path)
    repository.index()
    assert {(link.source, link.target) for link in repository.open().links.all} == {
        ("client/api.ts::showOrder", "server/orders.py::show_order"),
        ("web/page.ts::load", "server/orders.py::show_order"),
    }
