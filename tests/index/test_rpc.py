"""Items that implement and consume rpcs, per language."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.repository import Repository, assert_equals_full_index
from support.rpc import CLIENT, PROTO, SERVER, SERVICE, copy_of_the_shop
from support.tables import Row, expected


@pytest.fixture
def shop(tmp_path: Path) -> Repository:
    return copy_of_the_shop(tmp_path)


def rpc_edges(repository: Repository) -> set[Row]:
    repository.index()
    return {(kind, *edge) for kind in ("implements_rpc", "consumes_rpc") for edge in repository.edges(kind)}


def test_rpcs_are_those_of_the_hand_written_table(shop: Repository) -> None:
    table = expected("rpc", "rpc.txt", 3)
    assert rpc_edges(shop) == {(kind, item, f"{PROTO}::OrderService.{rpc}") for kind, item, rpc in table}


def test_without_the_proto_file_the_same_rpcs_are_external_names(shop: Repository) -> None:
    shutil.rmtree(shop.root / "protos")
    table = expected("rpc", "rpc.txt", 3)
    assert rpc_edges(shop) == {(kind, item, f"external:rpc:OrderService/{rpc}") for kind, item, rpc in table}


def test_a_change_of_the_proto_file_gives_the_same_index_as_starting_afresh(shop: Repository) -> None:
    shop.index()
    text = (shop.root / PROTO).read_text()
    changes = [
        text.replace("rpc PlaceOrder", "rpc Place"),
        text.replace("package shop.v1", "package shop.v2"),
        text.replace("service OrderService", "service Orders"),
        None,
        text,
    ]
    for change in changes:
        if change is None:
            (shop.root / PROTO).unlink()
        else:
            shop.write(PROTO, change)
        shop.index()
        assert_equals_full_index(shop.root, shop.home)


def test_generated_code_in_the_repository_changes_nothing(shop: Repository) -> None:
    before = rpc_edges(shop)
    shop.write("shop/v1/orders_pb2_grpc.py", "class OrderServiceStub:\n    def __init__(self, channel): ...\n")
    shop.write("python/shop/v1/orders_pb2_grpc.pyi", "class OrderServiceStub: ...\n")
    shop.write("go/go.mod", "module example.org/shop\n")
    shop.write("go/gen/shop/v1/orders_grpc.pb.go", "// Code generated. DO NOT EDIT.\npackage shop\n")
    shop.write("go/gen/shop/v1/extra.go", "package shop\n\nfunc Extra() {}\n")
    assert rpc_edges(shop) == before


def test_generated_code_that_is_indexed_is_recognized_by_the_proto_file(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.write("orders.proto", SERVICE.format("shop"))
    repository.write(
        "stubs.py",
        "class OrderServiceServicer:\n    def PlaceOrder(self, request, context): ...\n\n"
        "class OrderServiceStub:\n    def PlaceOrder(self, request): ...\n",
    )
    repository.write("server.py", SERVER.replace("orders_pb2_grpc", "stubs"))
    repository.write("client.py", CLIENT.replace("orders_pb2_grpc", "stubs"))
    assert rpc_edges(repository) == {
        ("implements_rpc", "server.py::Orders.PlaceOrder", "orders.proto::OrderService.PlaceOrder"),
        ("consumes_rpc", "client.py::place", "orders.proto::OrderService.PlaceOrder"),
    }


def test_a_client_of_something_else_consumes_no_rpc(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.write("a.py", "from testing import DatabaseStub\n\ndef f():\n    DatabaseStub().Query(1)\n")
    repository.write(
        "a.ts", "import { S3Client } from '@aws-sdk/client-s3';\nexport const f = () => new S3Client({}).send(1);\n"
    )
    repository.write(
        "a.go", 'package a\n\nimport "example.org/redis"\n\nfunc F() { redis.NewRedisClient().Get("a") }\n'
    )
    repository.write("A.cs", "class A : Base.ViewBase { void F(Http.HttpClient c) { c.Get(); } }\n")
    assert rpc_edges(repository) == set()


def test_a_registration_without_the_proto_file_counts_only_if_its_name_is_that_of_a_service(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.write(
        "server.js",
        "function serve(server, proto, service) {\n"
        "  server.addService(service, { place() {} });\n"
        "  server.addService(proto.Client, { place() {} });\n"
        "  server.addService(proto.shop.Orders.service, { place() {} });\n"
        "  cache.add(key, { place() {} });\n"
        "  app.service(Users, { find() {} });\n"
        "}\n",
    )
    assert rpc_edges(repository) == {("implements_rpc", "server.js::serve", "external:rpc:Orders/Place")}


def test_services_of_one_name_are_told_apart_by_the_generated_module(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.write("shop/orders.proto", SERVICE.format("shop"))
    repository.write("admin/audit.proto", SERVICE.format("admin"))
    repository.write("server.py", SERVER)
    repository.write("client.py", CLIENT.replace("orders_pb2_grpc", "audit_pb2_grpc"))
    repository.write("other.py", CLIENT.replace("orders_pb2_grpc", "some_pb2_grpc"))
    assert rpc_edges(repository) == {
        ("implements_rpc", "server.py::Orders.PlaceOrder", "shop/orders.proto::OrderService.PlaceOrder"),
        ("consumes_rpc", "client.py::place", "admin/audit.proto::OrderService.PlaceOrder"),
    }
