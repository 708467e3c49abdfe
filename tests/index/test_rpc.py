"""Items that implement and consume rpcs, per language; links between them, also across repositories."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import assay
from assay.api import Workspace
from assay.store.index import Index
from assay.store.links import Links
from support.paths import FIXTURES
from support.repository import Repository, assert_equals_full_index
from support.tables import Row, expected

PROJECT = FIXTURES / "rpc" / "project"
PROTO = "protos/shop/v1/orders.proto"
SERVICE = (
    'syntax = "proto3";\npackage {};\nservice OrderService {{ rpc PlaceOrder (A) returns (A); }}\nmessage A {{}}\n'
)
SERVER = "import orders_pb2_grpc\n\nclass Orders(orders_pb2_grpc.OrderServiceServicer):\n    def PlaceOrder(self, request, context): ...\n"
CLIENT = "import orders_pb2_grpc\n\ndef place(channel):\n    orders_pb2_grpc.OrderServiceStub(channel).PlaceOrder(1)\n"


@pytest.fixture
def shop(tmp_path: Path) -> Repository:
    shutil.copytree(PROJECT, tmp_path / "shop")
    return Repository(tmp_path / "shop")


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


# Links


def links_of(index: Index) -> set[tuple[str, str]]:
    return {(link.source, link.target) for link in Links(index).all if link.type == "consumes_rpc"}


def workspace(tmp_path: Path, **packages: str) -> Workspace:
    """Repositories by label: a server or a client, with a .proto file of that package, or without one."""
    for label, package in packages.items():
        repository = Repository(tmp_path / label)
        repository.write("code.py", SERVER if label.startswith("server") else CLIENT)
        if package:
            repository.write("orders.proto", SERVICE.format(package))
        repository.index()
    return assay.open_all([tmp_path / label for label in packages])


def test_every_caller_is_linked_to_every_implementation_of_its_rpc(shop: Repository) -> None:
    shop.index()
    table = expected("rpc", "rpc.txt", 3)
    callers = {(item, rpc) for kind, item, rpc in table if kind == "consumes_rpc"}
    methods = {(item, rpc) for kind, item, rpc in table if kind == "implements_rpc"}
    assert links_of(shop.open()) == {(a, b) for a, rpc in callers for b, other in methods if rpc == other}


@pytest.mark.parametrize("server", ["shop", ""])
@pytest.mark.parametrize("client", ["shop", ""])
def test_impact_of_an_implementation_names_callers_in_other_repositories(
    tmp_path: Path, server: str, client: str
) -> None:
    with workspace(tmp_path, server=server, client=client) as both:
        reached = {row.item.id: row.edge for row in both.impact("server/code.py::Orders.PlaceOrder")}
    assert reached == {"client/code.py::place": "consumes_rpc"}


def test_impact_of_an_rpc_names_its_callers_and_implementations(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.write("orders.proto", SERVICE.format("shop"))
    repository.write("server.py", SERVER)
    repository.write("client.py", CLIENT)
    repository.index()
    with assay.open(tmp_path) as opened:
        reached = {row.item.id: row.edge for row in opened.impact("orders.proto::OrderService.PlaceOrder")}
    assert reached == {"client.py::place": "consumes_rpc", "server.py::Orders.PlaceOrder": "implements_rpc"}


def test_services_of_one_name_in_different_packages_are_not_linked(tmp_path: Path) -> None:
    with workspace(tmp_path, server="shop", client="admin") as both:
        assert links_of(both.index) == set()


def test_a_caller_of_an_unknown_package_is_linked_only_if_one_may_be_meant(tmp_path: Path) -> None:
    with workspace(tmp_path, server="shop", server2="admin", client="") as three:
        assert links_of(three.index) == set()


def test_a_caller_is_linked_to_the_implementation_of_its_package(tmp_path: Path) -> None:
    with workspace(tmp_path, server="shop", server2="admin", client="admin") as three:
        assert {target.partition("/")[0] for _, target in links_of(three.index)} == {"server2"}
