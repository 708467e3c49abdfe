"""Descriptions of items and files, which are the same for every query."""

from __future__ import annotations

from contextlib import closing

import pytest

from assay.rank import descriptions
from assay.rank.context import Resources
from assay.rank.profile import Profile
from support.repository import Repository


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("shop/price-list.ts", "export class PriceList {\n  total() {\n    return 1;\n  }\n}\n")
    repository.write("scripts/seed_shop.py", "def seed_shop():\n    return 2\n\n\ndef main():\n    return 3\n")
    repository.index()
    return repository


def test_items_have_their_name_and_lines_and_say_whether_their_file_is_called_like_them(shop: Repository) -> None:
    with closing(shop.open()) as index:
        table = Resources(index, Profile(), ()).items.descriptions
        numbers = {item.symbol: item.number for item in index.items("s.ordinal >= 0")}
        asked = ["main", "PriceList", "seed_shop", "PriceList.total"]
        assert [*map(tuple, table[[numbers[name] for name in asked]])] == [
            ("main", 2, False),
            ("PriceList", 5, True),
            ("seed_shop", 2, True),
            ("total", 3, False),
        ]


def test_files_have_the_terms_of_their_name_and_folders_of_scripts_are_support(shop: Repository) -> None:
    with closing(shop.open()) as index:
        items = Resources(index, Profile(), ()).items
        found = {items.paths[file]: items.file_descriptions[file] for file in items.paths}
        assert found["shop/price-list.ts"] == (("price", "list"), "pricelist", False)
        assert found["scripts/seed_shop.py"] == (("seed", "shop"), "seedshop", True)


def test_a_full_table_starts_anew_and_gives_the_same_descriptions(
    shop: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(shop.open()) as index:
        table = Resources(index, Profile(), ()).items.descriptions
        numbers = [item.number for item in index.items("s.ordinal >= 0")]
        every = table[numbers]
        monkeypatch.setattr(descriptions, "_MOST", 1)
        assert [table[[number, *numbers[:1]]][0] for number in numbers] == every
        assert table[[*reversed(numbers)]] == [*reversed(every)]


@pytest.mark.parametrize(
    ("task", "about"),
    [("Speed up the benchmarks", True), ("Order of the migrations", True), ("Fix the checkout", False)],
)
def test_a_task_that_speaks_of_support_code_is_about_it(task: str, about: bool) -> None:
    assert descriptions.mentions_support(task) == about
