"""`assay context --files`: the symbols of the files, their containers and their callers."""

from __future__ import annotations

import pytest

from assay.rank.impact import for_files
from assay.text.tokens import count
from support.command import assay
from support.repository import Repository

PRICES = '''\
"""Prices."""

LIMIT = 3


def rounded(amount):
    return round(amount, 2)


def with_tax(amount):
    return rounded(amount * 1.2)


def forgotten():
    return LIMIT
'''
SHOP = """\
from prices import rounded, with_tax


class Basket:
    def total(self):
        return with_tax(sum(self.goods))

    def invoice(self):
        return rounded(self.total())


def unrelated():
    return 1
"""
TESTS = """\
from prices import rounded


def test_rounded():
    assert rounded(1.234) == 1.23
"""


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("prices.py", PRICES)
    repository.write("store/shop.py", SHOP)
    repository.write("tests/test_prices.py", TESTS)
    repository.write("notes.txt", "no code\n")
    repository.write(".gitignore", "ignored.py\n")
    repository.write("ignored.py", "x = 1\n")
    repository.write("api.min.js", "x\n")
    repository.commit()
    repository.index()
    return repository


def test_files_bring_their_symbols_and_callers_and_nothing_else(shop: Repository) -> None:
    ranked = for_files(shop.open(), ["prices.py"])
    found = {one.item.symbol for one in ranked}
    assert {"rounded", "with_tax", "forgotten", "LIMIT", "Basket.total", "Basket.invoice", "test_rounded"} <= found
    assert not {"unrelated", "Basket"} & found
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)


def test_the_score_is_calls_confidence_recency_and_distance_of_the_specification(shop: Repository) -> None:
    scores = {one.item.symbol: one.score for one in for_files(shop.open(), ["prices.py"])}
    index = shop.open()
    surest = {
        name: max(float(e["confidence"]) for e in index.edges.into(item.number) if e["type"] != 0)
        for name in ("rounded", "with_tax")
        for item in index.items("s.symbol = ?", (name,))
    }
    assert scores["rounded"] == pytest.approx(
        0.40 + 0.25 * surest["rounded"] + 0.20 * 0.3 + 0.15
    )  # three calls: the most
    assert scores["with_tax"] == pytest.approx(0.40 / 3 + 0.25 * surest["with_tax"] + 0.20 * 0.3 + 0.15)
    assert scores["forgotten"] == pytest.approx(0.20 * 0.3 + 0.15)
    assert scores["Basket.invoice"] == pytest.approx(0.20 * 0.3 + 0.15 / 2), "one step away"
    assert scores["test_rounded"] == pytest.approx((0.20 * 0.3 + 0.15 / 2) * 0.3), "tests come last"


def test_callers_say_what_they_call_and_where(shop: Repository) -> None:
    whys = {one.item.symbol: one.why for one in for_files(shop.open(), ["prices.py"])}
    assert whys["Basket.total"] == "calls with_tax, line 6"
    assert whys["rounded"] == ""


def test_a_type_that_is_written_in_another_file_comes_with_its_methods(repository: Repository) -> None:
    repository.write("go.mod", "module shop\n")
    repository.write("basket.go", "package shop\n\ntype Basket struct{ goods int }\n")
    repository.write("total.go", "package shop\n\nfunc (b *Basket) Total() int { return b.goods }\n")
    repository.index()
    ranked = for_files(repository.open(), ["total.go"])
    assert {(one.item.symbol, one.why, one.proximity) for one in ranked} >= {
        ("Basket.Total", "", 1.0),
        ("Basket", "contains Basket.Total", 1.0),
    }


def test_a_file_without_symbols_is_itself_the_answer(repository: Repository) -> None:
    repository.write("run.py", "print(1)\n")
    repository.index()
    assert [one.item.id for one in for_files(repository.open(), ["run.py"])] == ["run.py"]


def test_a_task_decides_the_order_and_not_what_is_found(shop: Repository) -> None:
    plain = assay(shop.root, "context", "--files", "prices.py", "--format", "json").json["items"]
    asked = assay(shop.root, "context", "what is forgotten", "--files", "prices.py", "--format", "json").json["items"]
    assert {one["id"] for one in plain} == {one["id"] for one in asked}
    assert plain[0]["symbol"] == "rounded"
    assert asked[0]["symbol"] == "forgotten"


def test_several_files_and_options_after_them(shop: Repository) -> None:
    done = assay(shop.root, "context", "--files", "prices.py", "store/shop.py", "--budget", "400", "-k", "4")
    assert done.code == 0
    assert "scope: files prices.py, store/shop.py" in done.out
    assert count(done.out) <= 400
    assert len([line for line in done.lines if line.startswith(("prices.py:", "store/shop.py:"))]) == 4


def test_files_may_be_named_from_the_current_folder_the_root_or_absolutely(shop: Repository) -> None:
    for folder, name in [
        (shop.root, "store/shop.py"),
        (shop.root / "store", "shop.py"),
        (shop.root / "store", "store/shop.py"),
        (shop.root / "store", "../store/shop.py"),
        (shop.root / "tests", str(shop.root / "store" / "shop.py")),
    ]:
        assert "scope: files store/shop.py\n" in assay(folder, "context", "--files", name).out, (folder, name)


def test_the_current_folder_comes_before_the_root(shop: Repository) -> None:
    shop.write("store/prices.py", "def other():\n    pass\n")
    shop.index()
    assert "scope: files store/prices.py\n" in assay(shop.root / "store", "context", "--files", "prices.py").out
    assert "scope: files prices.py\n" in assay(shop.root, "context", "--files", "prices.py").out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("price.py", "Nearest: prices.py"),
        ("notes.txt", "It is in no language that assay parses."),
        ("ignored.py", "It is ignored by .gitignore or .assayignore."),
        ("api.min.js", "It was skipped: minified."),
        ("store", "It is a folder; name files in it."),
        ("../elsewhere.py", "outside"),
    ],
)
def test_a_file_that_is_not_indexed_is_refused_with_the_reason(shop: Repository, name: str, said: str) -> None:
    done = assay(shop.root, "context", "--files", name)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err


def test_a_new_file_is_told_from_an_ignored_one(shop: Repository) -> None:
    shop.write("new.py", "x = 1\n")
    refused = assay(shop.root, "context", "--files", "new.py", "--no-refresh")
    assert f"If it is new, run: assay index {shop.root}" in refused.err
    assert "new.py:1 variable x" in assay(shop.root, "context", "--files", "new.py").out


def test_a_file_that_was_deleted_since_is_still_known(shop: Repository) -> None:
    (shop.root / "prices.py").unlink()
    done = assay(shop.root, "context", "--files", "prices.py", "--no-refresh")
    assert done.code == 0
    assert "prices.py:6 function rounded [file is missing]" in done.out


def test_an_option_that_needs_files_says_so(shop: Repository) -> None:
    done = assay(shop.root, "context", "--files")
    assert done.code == 2
    assert "--files" in done.err
    assert "what is the task?" in assay(shop.root, "context").err
    assert (
        "cannot be combined with a TASK or --files" in assay(shop.root, "context", "--files", "prices.py", "--pr").err
    )
    assert "cannot be combined with a TASK or --files" in assay(shop.root, "context", "task", "--pr").err
