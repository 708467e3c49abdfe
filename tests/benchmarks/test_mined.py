"""benchmarks/mined.py and its baseline, benchmarks/bm25.py."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from assay.core.golden import Expected, GoldenQuery, Hit
from assay.errors import AssayError
from assay.git import Git
from assay.rank.query import query_terms
from assay.store.history import History
from support.paths import BENCHMARKS
from support.repository import Repository

_CART = '''class Cart:
    """The lines a customer wants to buy."""

    def total(self):
        return sum(self.lines)

    def discount(self, rate):
        return self.total() * rate
'''
_SOLD = _CART.replace("* rate", "* (1 - rate)")
_TAX = "def tax(total, country):\n    return total * RATES[country]\n"


@pytest.fixture
def mined(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark as a module."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import mined

    return mined


@pytest.fixture
def time_split(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import time_split

    return time_split


@pytest.fixture
def clone(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Two commits before the cutoff, three after it: one touches what was there, one what moved, one what was not there yet."""

    def commit(minute: int, message: str) -> None:
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"2024-01-01T00:{minute:02}:00Z")
        repository.commit(message)

    repository.write("shop/cart.py", _CART)
    repository.write("shop/tax.py", _TAX)
    commit(1, "Start the shop with carts and taxes")
    repository.write("shop/cart.py", _SOLD)
    commit(2, "Discounts are taken off, not kept")
    repository.write("shop/cart.py", _SOLD.replace("sum(self.lines)", "round(sum(self.lines))"))
    commit(3, "Round the total of a cart (#12)")
    repository.git("mv", "shop/tax.py", "shop/duty.py")
    commit(4, "Taxes are called duty from now on")
    repository.write("shop/duty.py", _TAX.replace("RATES[country]", "RATES.get(country, 0)"))
    commit(5, "No tax for a country without a rate")
    repository.write("shop/ship.py", "def ship(cart):\n    return cart\n")
    commit(6, "Ship what is in the cart")
    repository.write("shop/ship.py", "def ship(cart):\n    return list(cart)\n")
    commit(7, "Ship a copy of the cart instead")
    return repository


@pytest.fixture
def prepared(time_split: Any, clone: Repository, tmp_path: Path) -> Any:
    return time_split.prepare(clone.root, tmp_path / "work" / "shop", 3, False)


def _answers(task: GoldenQuery) -> tuple[list[str], list[str]]:
    return [one.name for one in task.at("symbol")], [one.name for one in task.at("file")]


# ---- preparing


def test_tasks_are_later_commits_that_touch_what_was_there_under_its_path_there(prepared: Any) -> None:
    assert {task.text: _answers(task) for task in prepared.tasks} == {
        "Round the total of a cart": (["Cart.total"], ["shop/cart.py"]),
        "No tax for a country without a rate": (["tax"], ["shop/tax.py"]),
    }


def test_nothing_that_came_after_the_cutoff_is_in_what_is_searched(prepared: Any, clone: Repository) -> None:
    assert "(1 - rate)" in (prepared.root / "shop/cart.py").read_text()
    assert not (prepared.root / "shop/ship.py").exists()
    known = (Git(prepared.root).ask("log", "--all", "--format=%H", "HEAD") or "").split()
    assert known
    assert clone.git("rev-parse", "HEAD").strip() not in known
    opened = Repository(prepared.root).open()
    history = History.open(opened)
    assert [history.subject(number) for number in range(len(history))] == ["Discounts are taken off, not kept"]
    opened.close()


def test_a_task_that_was_said_before_the_cutoff_is_none(time_split: Any, prepared: Any) -> None:
    said = {time_split.message.fingerprint("Round the total of a cart")}
    left = time_split.answerable(prepared.tasks, prepared.root, {}, said)
    assert [task.text for task in left] == ["No tax for a country without a rate"]


def test_a_task_mostly_about_what_was_not_there_is_none(time_split: Any, prepared: Any) -> None:
    names = ["Cart.total", "Cart.later", "Cart.latest"]
    task = GoldenQuery("a", "text", (*(Expected(name) for name in names), Expected("shop/cart.py", "file")))
    assert time_split.answerable([task], prepared.root, {}, set()) == []


def test_what_is_prepared_is_kept(time_split: Any, prepared: Any, tmp_path: Path) -> None:
    assert time_split.prepare(tmp_path / "no clone any more", tmp_path / "work" / "shop", 3, False) == prepared


def test_files_that_moved_in_a_circle_are_followed_once(time_split: Any) -> None:
    assert time_split._before("a", {"a": "b", "b": "a"}, {"c"}) in ("a", "b")


def test_a_history_that_is_too_short_says_so(time_split: Any, repository: Repository, tmp_path: Path) -> None:
    repository.write("a.py", "def first():\n    return 1\n")
    repository.commit("Begin with one function only")
    with pytest.raises(AssayError, match="no commit makes a task"):
        time_split.prepare(repository.root, tmp_path / "work", 3, False)


# ---- ranking


def test_a_file_ranks_where_its_best_definition_does_and_a_name_counts_only_in_its_file(mined: Any) -> None:
    task = GoldenQuery("a", "text", (Expected("run"), Expected("stop"), Expected("b.py", "file")))
    hits = tuple(Hit(f"{path}::{name}", name, path) for path, name in [("a.py", "run"), ("a.py", "x"), ("b.py", "run")])
    found = mined.ranks_of("shop", task, hits)
    assert found.ranks == {"symbol": [3, math.inf], "file": [2]}
    assert [found.any_within("symbol", cut) for cut in (2, 3)] == [False, True]
    assert not found.all_within("symbol", 10)
    assert found.all_within("file", 2)


def test_the_tables_tell_shares_and_the_gain_over_the_better_base_line(
    mined: Any, prepared: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "figures.json"
    work = str(prepared.root.parent.parent)
    monkeypatch.setattr(
        sys, "argv", ["mined.py", "--work", work, "--system", "assay", "--lost", "--json", str(figures)]
    )
    mined.main()
    said = capsys.readouterr().out
    assert "| shop | 2 | " in said
    assert "symbols @5: assay against BM25: +0% relative" in said
    told = json.loads(figures.read_text())
    assert told["tasks"] == 2
    assert told["file"]["systems"]["BM25 of files"]["5"]["accuracy"] == 1


# ---- the base line


def test_plain_bm25_is_the_formula_over_one_bag_of_all_words(prepared: Any, mined: Any) -> None:
    task = "the total rate of a cart"
    index = Repository(prepared.root).open()
    words = index.generation.postings.words()
    bags: dict[str, Counter[str]] = {one.id: Counter() for one in index.items("s.ordinal >= 0")}
    ids = index.ids(words.numbers.tolist())
    for place, item, counts in zip(words.terms.tolist(), words.items.tolist(), words.counts, strict=True):
        if ids[item] in bags:
            bags[ids[item]][words.vocabulary[place]] += int(counts.sum())
    index.close()
    average = sum(bag.total() for bag in bags.values()) / len(bags)
    expected: dict[str, float] = {}
    for name, bag in bags.items():
        for term, times in query_terms(task, 2).items():
            having = sum(term in other for other in bags.values())
            rarity = math.log(1 + (len(bags) - having + 0.5) / (having + 0.5))
            length = 1 - 0.75 + 0.75 * bag.total() / average
            expected[name] = expected.get(name, 0) + times * rarity * bag[term] * 2.2 / (bag[term] + 1.2 * length)
    found = mined.bm25.Symbols(prepared.root).retrieve(task, 10).hits
    assert [hit.id for hit in found] == sorted((n for n in expected if expected[n]), key=lambda n: -expected[n])


def test_plain_bm25_of_files_ranks_files_once_and_gives_nothing_for_unknown_words(prepared: Any, mined: Any) -> None:
    files = mined.bm25.Files(prepared.root)
    assert [hit.path for hit in files.retrieve("total of a cart", 10).hits] == ["shop/cart.py", "shop/tax.py"]
    assert files.retrieve("zebra", 10).hits == ()
    assert files.retrieve("", 10).hits == ()
    assert len(files.retrieve("total", 1).hits) == 1


def test_clones_of_one_name_and_an_empty_work_folder_are_refused_in_words(
    mined: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments, said in ((["a/x", "b/x.git"], "different names"), ([], "nothing is prepared")):
        monkeypatch.setattr(sys, "argv", ["mined.py", "--work", str(tmp_path), *arguments])
        with pytest.raises(SystemExit, match=said):
            mined.main()
