"""The tiers of the name signal over a real index, their caps, and places named by paths and stack frames."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.rank.query import Keywords, extract
from assay.rank.signals.names import names
from assay.rank.signals.places import files_of, places
from assay.rank.symbols import NameTable
from assay.store.catalogue import Catalogue, FileRow, SymbolRow
from assay.store.index import Index
from support.repository import Repository

CART = """\
class Cart:
    def total(self):
        return 1

    def total_tax(self):
        return 2


class Basket:
    def total(self):
        return 3


def parse_receipt(text):
    return text
"""


@pytest.fixture
def opened(repository: Repository) -> Index:
    repository.write("shop/cart.py", CART)
    repository.write("shop/billing/invoice.py", "class Invoice:\n    pass\n\n\ndef send():\n    pass\n")
    repository.write("tests/test_cart.py", "def total():\n    pass\n")
    repository.commit()
    repository.index()
    return repository.open()


def found(index: Index, keywords: Keywords) -> list[tuple[str, str, str]]:
    return [
        (index.item(hit.number).id, hit.tier, hit.keyword)
        for hit in names(NameTable(index.catalogue.connection), keywords)
    ]


def table(*symbols: str, path: str = "a/b.py") -> NameTable:
    """A catalogue of functions in one file, numbered as they are given."""
    catalogue = Catalogue.create(Path(":memory:"))
    catalogue.add_files([FileRow(1, path, "python", 0, 0, b"", 0, 0, 0, "", 0, 0, 0, 0, 0)])
    catalogue.add_symbols(
        SymbolRow(n, 1, n, f"{path}::{s}", s.rpartition(".")[2], "function", s, 1, "", "", 1, 1, 0)
        for n, s in enumerate(symbols)
    )
    return NameTable(catalogue.connection)


def test_exact_names_come_first_whatever_the_case_and_tests_come_last(opened: Index) -> None:
    hits = found(opened, Keywords(exact=("TOTAL",)))
    assert hits == [
        ("shop/cart.py::Cart.total", "exact", "total"),
        ("shop/cart.py::Basket.total", "exact", "total"),
        ("tests/test_cart.py::total", "exact", "total"),
        ("shop/cart.py::Cart.total_tax", "prefix", "total"),
    ]


@pytest.mark.parametrize(
    "name",
    ["Basket.total", "basket.total", "Basket#total", "cart.Basket.total", "shop.cart.Basket.total", "Basket::total"],
)
def test_a_qualified_keyword_must_agree_with_all_it_says(opened: Index, name: str) -> None:
    assert [hit[0] for hit in found(opened, Keywords(compounds=(name,))) if hit[1] == "exact"] == [
        "shop/cart.py::Basket.total"
    ]


@pytest.mark.parametrize("name", ["Order.total", "ket.total", "x.cart.Basket.total"])
def test_a_qualifier_that_does_not_agree_finds_nothing_exact(opened: Index, name: str) -> None:
    assert not [hit for hit in found(opened, Keywords(compounds=(name,))) if hit[1] in ("exact", "prefix")]


def test_single_words_are_asked_only_when_identifiers_found_little(opened: Index) -> None:
    hits = found(opened, Keywords(compounds=("parse_receipt",), components=("invoice",)))
    assert [hit[:2] for hit in hits[:2]] == [
        ("shop/cart.py::parse_receipt", "exact"),
        ("shop/billing/invoice.py::Invoice", "exact"),
    ]
    many = table(*[f"C{n}.same" for n in range(5)], "word")
    tiers = {hit.keyword: hit.tier for hit in names(many, Keywords(compounds=("same",), components=("word",)))}
    assert tiers == {"same": "exact"}


def test_substrings_are_a_last_resort_and_need_four_letters(opened: Index) -> None:
    assert found(opened, Keywords(components=("eceip",))) == [("shop/cart.py::parse_receipt", "substring", "eceip")]
    assert found(opened, Keywords(components=("cei",))) == []
    assert found(opened, Keywords(components=("art.tot",)))[0] == ("shop/cart.py::Cart.total", "substring", "art.tot")


def test_a_folder_or_file_name_finds_its_symbols_types_first(opened: Index) -> None:
    hits = found(opened, Keywords(components=("billing",)))
    assert [hit[:2] for hit in hits] == [
        ("shop/billing/invoice.py::Invoice", "path"),
        ("shop/billing/invoice.py::send", "path"),
    ]
    assert found(opened, Keywords(components=("bill",))) == []


def test_exact_matches_are_never_cut_and_the_other_tiers_stop_at_their_caps() -> None:
    same = table(*[f"C{n}.same" for n in range(60)])
    assert len(names(same, Keywords(exact=("same",)))) == 60
    begun = table(*[f"begun{n:03}" for n in range(60)])
    assert [hit.tier for hit in names(begun, Keywords(exact=("begun",)))] == ["prefix"] * 30
    inside = table(*[f"x_inside{n:03}" for n in range(60)])
    assert [hit.tier for hit in names(inside, Keywords(components=("inside",)))] == ["substring"] * 20
    below = table(*[f"f{n:03}" for n in range(60)], path="folder/x.py")
    assert [hit.tier for hit in names(below, Keywords(components=("folder",)))] == ["path"] * 40


def test_prefixes_are_not_asked_when_there_are_fifteen_exact_matches() -> None:
    for count, tiers in ((14, {"exact", "prefix"}), (15, {"exact"})):
        many = table(*[f"C{n}.same" for n in range(count)], "same_more")
        assert {hit.tier for hit in names(many, Keywords(exact=("same",)))} == tiers


def test_paths_are_not_asked_when_there_are_thirty_results() -> None:
    for count, tiers in ((29, {"exact", "path"}), (30, {"exact"})):
        many = table(*[f"C{n}.folder" for n in range(count)], "other", path="folder/x.py")
        assert {hit.tier for hit in names(many, Keywords(exact=("folder",)))} == tiers


def test_the_shortest_continuation_of_a_prefix_comes_first() -> None:
    ordered = table("load_everything", "load_it", "loader")
    assert [hit.number for hit in names(ordered, Keywords(exact=("load",)))] == [2, 1, 0]


def test_no_item_comes_twice(opened: Index) -> None:
    hits = names(
        NameTable(opened.catalogue.connection),
        extract("total of `Cart.total` in cart: `total`, parse_receipt, receipt"),
    )
    assert len({hit.number for hit in hits}) == len(hits) > 3


def test_an_empty_index_and_no_keywords_find_nothing() -> None:
    assert names(table(), extract("fix total of `Cart`")) == []
    assert names(table("a"), Keywords()) == []


def test_names_are_found_whatever_their_style() -> None:
    styles = table("parse_config", "parseConfig", "ParseConfig", "parse_configs")
    assert {row.number for row in styles.squeezed("Parse_Config")} == {0, 1, 2}


_NAMES = st.lists(st.text("aAbBéÉß_1", min_size=1, max_size=4), unique=True, max_size=12)


@settings(deadline=None)
@given(_NAMES, st.text("aAbBéÉß_1", min_size=1, max_size=3))
def test_looking_names_up_says_what_looking_at_every_name_says(there: list[str], wanted: str) -> None:
    searched, low = table(*there), wanted.lower()
    assert {row.name for row in searched.exact(wanted)} == {name for name in there if name.lower() == low}
    begun = [row.name.lower() for row in searched.prefixed(wanted)]
    expected = [name.lower() for name in there if name.lower().startswith(low)]
    assert begun == sorted(expected, key=lambda name: (len(name), name))
    assert [row.number for row in searched.containing(wanted)] == [
        n for n, name in enumerate(there) if low in name.lower()
    ]


@pytest.mark.parametrize("keyword", ["12", "a\t1", "\n", "\ud800", "a.\ud800", "%", "*"])
def test_what_no_name_has_is_found_nowhere_not_even_in_what_stands_beside_the_names(keyword: str) -> None:
    there = table(*[f"name_{chr(97 + n)}" for n in range(20)])
    assert [*there.exact(keyword), *there.prefixed(keyword), *there.containing(keyword), *there.under(keyword)] == []


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("see shop/cart.py:6", "shop/cart.py::Cart.total_tax"),
        ("see cart.py:15", "shop/cart.py::parse_receipt"),
        ("see shop/cart.py", "shop/cart.py"),
        ("see ./shop/cart.py:7", "shop/cart.py"),
        ('  File "/srv/else/shop/cart.py", line 999, in parse_receipt', "shop/cart.py::parse_receipt"),
        ('  File "/srv/else/shop/cart.py", line 11, in total', "shop/cart.py::Basket.total"),
        ('  File "/srv/else/shop/cart.py", line 11, in gone', "shop/cart.py::Basket.total"),
    ],
)
def test_paths_and_frames_point_at_items(opened: Index, task: str, expected: str) -> None:
    assert [opened.item(hit.number).id for hit in places(opened, extract(task).pieces)] == [expected]


def test_a_path_means_the_files_that_agree_longest_from_the_end() -> None:
    known = ["a/x.py", "b/x.py", "b/c/x.py", "b/only.py"]
    assert files_of("/home/me/b/x.py", known) == ["b/x.py"]
    assert files_of("x.py", known) == ["a/x.py", "b/x.py", "b/c/x.py"]
    assert files_of("/usr/lib/only.py", known) == ["b/only.py"]
    assert files_of("/usr/lib/x.py", known) == []
    assert files_of("ax.py", known) == []
    assert files_of("./", known) == []
