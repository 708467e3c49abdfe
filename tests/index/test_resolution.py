"""Calls that a language server resolved differently from us (`assay enrich --disagreements`), and was right."""

from __future__ import annotations

from support.repository import Repository


def test_super_in_python_is_an_object_and_no_call_of_the_inherited_method(repository: Repository) -> None:
    repository.write(
        "shop.py",
        "class Base:\n    def close(self):\n        return 1\n\n    def flush(self):\n        return 2\n\n\n"
        "class Store(Base):\n    def close(self):\n        return super().flush()\n",
    )
    repository.index()
    assert repository.edges("calls") == {("shop.py::Store.close", "shop.py::Base.flush")}


def test_cls_that_a_method_assigns_is_not_its_own_class(repository: Repository) -> None:
    repository.write(
        "shop.py",
        "class Client:\n    pass\n\n\nclass Shop:\n    def client(self):\n        cls = Client\n        return cls()\n\n"
        "    @classmethod\n    def create(cls):\n        return cls()\n",
    )
    repository.index()
    calls = repository.edges("calls")
    assert ("shop.py::Shop.client", "shop.py::Shop") not in calls
    assert ("shop.py::Shop.create", "shop.py::Shop") in calls


def test_type_arguments_with_object_types_do_not_hide_what_is_constructed(repository: Repository) -> None:
    repository.write(
        "shop.ts",
        "export class Shop<E> {\n  open(): void {}\n}\n\n"
        "export function start(): void {\n  const shop = new Shop<{ Bindings: { name: string }; tags: string[] }>()\n"
        "  shop.open()\n}\n",
    )
    repository.write("other.ts", "export class Door {\n  open(): void {}\n}\n")
    repository.index()
    assert ("shop.ts::start", "shop.ts::Shop.open") in repository.edges("calls")
    assert ("shop.ts::start", "other.ts::Door.open") not in repository.edges("calls")


def test_a_method_that_a_type_lacks_is_that_of_the_type_it_derefs_to(repository: Repository) -> None:
    other = "pub struct Other;\nimpl Other { pub fn weigh(&self) -> i32 { 2 } }\n"
    repository.write(
        "src/lib.rs",
        "use std::ops::Deref;\npub struct Parcel { grams: i32 }\nimpl Parcel { pub fn weigh(&self) -> i32 { self.grams } }\n"
        f"{other}pub struct Sealed {{ parcel: Parcel }}\n"
        "impl Deref for Sealed {\n    type Target = Parcel;\n    fn deref(&self) -> &Parcel { &self.parcel }\n}\n"
        "pub fn charge(sealed: &Sealed) -> i32 { sealed.weigh() }\n",
    )
    repository.index()
    assert ("src/lib.rs::charge", "src/lib.rs::Parcel.weigh") in repository.edges("calls")
    assert ("src/lib.rs::charge", "src/lib.rs::Other.weigh") not in repository.edges("calls")


def test_new_of_a_type_without_one_constructs_it(repository: Repository) -> None:
    """A derive of Rust and a macro of C++ (VTK, ITK) generate it."""
    repository.write("src/lib.rs", "pub struct Parcel { grams: i32 }\n\npub fn pack() { Parcel::new(); }\n")
    repository.write("mesh.cpp", "class Mesh {};\n\nvoid draw() { Mesh::New(); }\n")
    repository.index()
    calls = repository.edges("calls")
    assert {("src/lib.rs::pack", "src/lib.rs::Parcel"), ("mesh.cpp::draw", "mesh.cpp::Mesh")} <= calls
