"""Edges by name: of the first generation of an index, before references are resolved by type."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from assay.core.items import EDGE_NAMES
from assay.index.extract import extract
from assay.index.facts import FILE, decode_facts
from assay.index.file import File
from assay.index.resolve.names import MOST, resolve_by_name
from assay.index.table import full_table
from assay.languages import language_of
from assay.languages.conventions import is_test_path
from assay.store.arrays import Array

Edge = tuple[str, str, str]  # type, source, target


def _parse(sources: dict[str, str]) -> dict[str, File]:
    files = {}
    for path, text in sources.items():
        language = language_of(path)
        assert language is not None
        files[path] = File(path, decode_facts(extract(text.encode(), language).facts), is_test_path(path))
    return files


def _resolve(files: dict[str, File], configs: dict[str, str] | None = None) -> tuple[set[Edge], Array]:
    """Return the edges between named items, and the result they are from."""
    ids = [file.sym(index).id for file in files.values() for index in range(FILE, len(file.facts.symbols))]
    numbers = {item: number for number, item in enumerate(dict.fromkeys(ids), 1)}
    rows = resolve_by_name(
        full_table(files, configs or {}), files, numbers, {path: at for at, path in enumerate(files, 1)}
    )
    names = {number: item for item, number in numbers.items()}
    edges = {(EDGE_NAMES[e["type"]], names[int(e["source"])], names[int(e["target"])]) for e in rows}
    return edges, rows


def _edges(sources: dict[str, str], *types: str, configs: dict[str, str] | None = None) -> set[tuple[str, str]]:
    """Return the edges of some types of a repository, as source and target."""
    edges, _ = _resolve(_parse(sources), configs)
    return {(source, target) for type_, source, target in edges if type_ in types}


SHOP = {
    "shop/cart.py": "class Cart:\n    def total(self):\n        return self.sum()\n\n    def sum(self):\n        return 1\n",
    "shop/__init__.py": "from .cart import Cart\n",
    "app.py": "from shop import Cart\n\ndef main():\n    cart = Cart()\n    return cart.total()\n",
    "tests/test_cart.py": "from shop import Cart\n\ndef test_total():\n    assert Cart().total() == 1\n",
}


def test_a_symbol_is_contained_in_its_file_or_type() -> None:
    assert ("shop/cart.py::Cart", "shop/cart.py::Cart.total") in _edges(SHOP, "contains")


def test_a_call_on_self_means_the_own_member() -> None:
    assert ("shop/cart.py::Cart.total", "shop/cart.py::Cart.sum") in _edges(SHOP, "calls")


def test_an_imported_name_is_followed_through_reexports() -> None:
    assert ("app.py::main", "shop/cart.py::Cart") in _edges(SHOP, "calls")
    assert ("app.py", "shop/cart.py::Cart") in _edges(SHOP, "imports")


def test_a_variable_of_a_known_type_leads_to_its_members() -> None:
    assert ("app.py::main", "shop/cart.py::Cart.total") in _edges(SHOP, "calls")


def test_a_test_is_linked_to_what_it_calls() -> None:
    edges = _edges(SHOP, "tests")
    assert ("tests/test_cart.py::test_total", "shop/cart.py::Cart.total") in edges


def test_what_one_test_calls_is_linked_pairwise() -> None:
    sources = {
        "a.py": "def one(): ...\ndef two(): ...\n",
        "test_a.py": "from a import one, two\ndef test_both():\n    one()\n    two()\n",
    }
    assert _edges(sources, "co_tested_with") == {("a.py::one", "a.py::two")}


def test_a_member_of_an_imported_module_is_found() -> None:
    sources = {
        "shop/__init__.py": "",
        "shop/tax.py": "def rate(): ...\n",
        "a.py": "from shop import tax\ndef use():\n    tax.rate()\n",
    }
    assert ("a.py::use", "shop/tax.py::rate") in _edges(sources, "calls")


def test_a_name_of_a_library_is_not_joined() -> None:
    sources = {"a.py": "import json\ndef use():\n    json.loads('')\n", "b.py": "def loads(): ...\n"}
    assert _edges(sources, "calls") == set()


def test_a_local_is_not_joined() -> None:
    sources = {"a.py": "def run(): ...\ndef use(run):\n    run()\n"}
    assert _edges(sources, "calls") == set()


def test_a_go_package_is_a_folder() -> None:
    sources = {
        "tax/rate.go": "package tax\nfunc Rate() int { return half() }\n",
        "tax/half.go": "package tax\nfunc half() int { return 1 }\n",
        "main.go": 'package main\nimport "example.org/shop/tax"\nfunc main() { tax.Rate() }\n',
    }
    edges = _edges(sources, "calls", configs={"go.mod": "module example.org/shop\n"})
    assert {("tax/rate.go::Rate", "tax/half.go::half"), ("main.go::main", "tax/rate.go::Rate")} <= edges


def test_a_go_type_implements_an_interface_whose_methods_it_has() -> None:
    sources = {
        "store.go": "package shop\ntype Store interface {\n\tSave()\n\tLoad()\n}\n",
        "disk.go": "package shop\ntype Disk struct{}\nfunc (d *Disk) Save() {}\nfunc (d *Disk) Load() {}\n",
        "half.go": "package shop\ntype Half struct{}\nfunc (h *Half) Save() {}\n",
    }
    assert _edges(sources, "implements") == {("disk.go::Disk", "store.go::Store")}
    assert ("disk.go::Disk.Save", "store.go::Store.Save") in _edges(sources, "overrides")


JAVA = {
    "src/shop/Cart.java": "package shop;\npublic class Cart extends Basket {\n  Tax tax;\n  int total() { return tax.rate() + size(); }\n}\n",
    "src/shop/Basket.java": "package shop;\npublic class Basket {\n  int size() { return 1; }\n  int total() { return 0; }\n}\n",
    "src/shop/Tax.java": "package shop;\npublic class Tax {\n  int rate() { return 2; }\n}\n",
    "src/other/Rate.java": "package other;\npublic class Rate {\n  int rate() { return 3; }\n}\n",
}


def test_a_field_of_a_declared_type_leads_to_its_members() -> None:
    calls = _edges(JAVA, "calls")
    assert ("src/shop/Cart.java::Cart.total", "src/shop/Tax.java::Tax.rate") in calls
    assert ("src/shop/Cart.java::Cart.total", "src/other/Rate.java::Rate.rate") not in calls


def test_an_inherited_member_is_found_and_an_override_linked() -> None:
    assert ("src/shop/Cart.java::Cart.total", "src/shop/Basket.java::Basket.size") in _edges(JAVA, "calls")
    assert _edges(JAVA, "extends") == {("src/shop/Cart.java::Cart", "src/shop/Basket.java::Basket")}
    assert _edges(JAVA, "overrides") == {("src/shop/Cart.java::Cart.total", "src/shop/Basket.java::Basket.total")}
    assert _edges(JAVA, "inherits") == {("src/shop/Cart.java::Cart", "src/shop/Basket.java::Basket.size")}


def test_a_member_of_an_unknown_object_is_joined_by_name() -> None:
    sources = {
        "a.py": "class Cart:\n    def checkout_all(self): ...\n",
        "b.py": "class Order:\n    def checkout_all(self): ...\n",
        "c.py": "def use(thing, order):\n    thing.checkout_all()\n\ndef hint(order):\n    order.checkout_all()\n",
    }
    calls = _edges(sources, "calls")
    assert {("c.py::use", "a.py::Cart.checkout_all"), ("c.py::use", "b.py::Order.checkout_all")} <= calls
    assert ("c.py::hint", "b.py::Order.checkout_all") in calls
    assert ("c.py::hint", "a.py::Cart.checkout_all") not in calls  # the receiver is named like the other type


def test_confidence_is_shared_among_candidates() -> None:
    sources = {f"m{n}.py": f"class A{n}:\n    def settle(self): ...\n" for n in range(3)}
    sources["use.py"] = "def use(thing):\n    thing.settle()\n"
    _, rows = _resolve(_parse(sources))
    calls = rows[rows["type"] == EDGE_NAMES.index("calls")]
    assert calls["confidence"].tolist() == pytest.approx([0.2] * 3)


def test_product_code_is_not_joined_to_tests() -> None:
    sources = {"tests/helper.py": "class Fake:\n    def settle(self): ...\n", "a.py": "def use(x):\n    x.settle()\n"}
    assert _edges(sources, "calls") == set()


def test_languages_do_not_see_each_other() -> None:
    sources = {"a.py": "class Cart:\n    def settle(self): ...\n", "b.js": "function use(cart) { cart.settle() }\n"}
    assert _edges(sources, "calls") == set()


def test_decorators_bases_and_hints_are_joined() -> None:
    sources = {
        "base.py": "class Base: ...\ndef traced(f): ...\n",
        "a.py": "from base import Base, traced\nclass A(Base): ...\n@traced\ndef use(base: Base): ...\n",
    }
    assert _edges(sources, "extends") == {("a.py::A", "base.py::Base")}
    assert _edges(sources, "decorates") == {("base.py::traced", "a.py::use")}
    assert _edges(sources, "type_hint_of") == {("a.py::use", "base.py::Base")}


def test_a_rust_impl_block_implements_its_trait() -> None:
    sources = {
        "src/lib.rs": "pub trait Draw { fn draw(&self); }\npub struct Pen;\nimpl Draw for Pen { fn draw(&self) {} }\n"
    }
    assert _edges(sources, "implements") == {("src/lib.rs::Pen", "src/lib.rs::Draw")}


# Laws


@pytest.fixture(scope="module")
def fixture_files() -> dict[str, File]:
    """Files of every language that the tests have."""
    root = Path(__file__).parents[1] / "fixtures"
    paths = sorted(path for path in root.rglob("*") if path.is_file() and language_of(path.name))[:300]
    return _parse({str(path.relative_to(root)): path.read_text("utf-8", "replace") for path in paths})


def test_edges_do_not_depend_on_the_order_of_files(fixture_files: dict[str, File]) -> None:
    expected, _ = _resolve(fixture_files)
    assert len(expected) > 100
    for seed in range(3):
        paths = [*fixture_files]
        random.Random(seed).shuffle(paths)
        shuffled = {path: File(path, fixture_files[path].facts, fixture_files[path].test) for path in paths}
        assert _resolve(shuffled)[0] == expected


def test_every_edge_is_stored_once_with_a_confidence(fixture_files: dict[str, File]) -> None:
    edges, rows = _resolve(fixture_files)
    assert len(edges) == len(rows)
    assert rows["confidence"].min() > 0
    assert rows["confidence"].max() <= 1
    assert rows["line"].min() >= 0


def test_nothing_yields_nothing() -> None:
    assert _resolve({})[0] == set()
    assert _edges({"a.py": ""}, *EDGE_NAMES) == set()


# Hostile input: counted, not timed


def test_a_name_of_many_definitions_yields_no_guess() -> None:
    sources = {f"m{n}.py": f"class A{n}:\n    def settle(self): ...\n" for n in range(MOST + 1)}
    sources["use.py"] = "def use(thing):\n    thing.settle()\n"
    assert _edges(sources, "calls") == set()


def test_edges_grow_with_the_code_whatever_its_names_are() -> None:
    def size(count: int) -> int:
        lines = [
            f"class C{n}(C{n - 1}):\n    def same(self, same): same.same(); self.same()\n" for n in range(1, count)
        ]
        return len(_resolve(_parse({"a.py": "class C0: ...\n" + "".join(lines)}))[1])

    assert size(2000) < 2.2 * size(1000)


def test_bases_in_a_circle_end() -> None:
    sources = {"a.py": "class A(B):\n    def use(self):\n        self.gone()\nclass B(A): ...\nclass C(C): ...\n"}
    assert ("a.py::A", "a.py::B") in _edges(sources, "extends")
