"""Links from callers of an rpc to its implementations, also across repositories, and the impact that follows."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.api import Workspace
from assay.store.index import Index
from assay.store.links import Links
from support.repository import Repository
from support.rpc import CLIENT, SERVER, SERVICE, copy_of_the_shop
from support.tables import expected


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


def test_every_caller_is_linked_to_every_implementation_of_its_rpc(tmp_path: Path) -> None:
    shop = copy_of_the_shop(tmp_path)
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


def test_an_implementation_of_a_test_is_linked_to_callers_in_tests_only(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.write("tests/fake.py", SERVER)
    repository.write("client.py", CLIENT)
    repository.write("tests/test_client.py", CLIENT)
    repository.index()
    assert links_of(repository.open()) == {("tests/test_client.py::place", "tests/fake.py::Orders.PlaceOrder")}
