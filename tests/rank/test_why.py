"""`assay why`: the arithmetic adds up, and it explains the same ranking that `assay context` returned."""

from __future__ import annotations

import re

import pytest

from support.command import assay
from support.repository import Repository
from support.sample_code import BASKETS

TASK = "total price of a basket"


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("shop.py", BASKETS)
    repository.write(
        "tests/test_shop.py", "from shop import Basket\n\n\ndef test_price():\n    Basket().total_price()\n"
    )
    repository.write("README.md", "# Prices\n\nThe total price of a basket is `Basket.total_price`.\n")
    repository.commit("The total price of a basket")
    repository.index()
    return repository


def _sums(text: str) -> list[tuple[float, float]]:
    """Of each sum that is printed: what it comes to when it is done by hand, and what is printed."""
    done, result = [], 0.0
    for sign, number in re.findall(r"^    ([+×=]) +(-?[\d.]+)", text, re.M):
        value = float(number)
        if sign == "=":
            done.append((result, value))
            result = 0.0
        else:
            result = result * value if sign == "×" else result + value
    return done


@pytest.mark.parametrize("profile", ["default", "change", "lexical", "no-history", "seed"])
@pytest.mark.parametrize("symbol", ["Basket.total_price", "Basket", "discounted", "invoice", "test_price"])
def test_the_printed_numbers_add_up(shop: Repository, symbol: str, profile: str) -> None:
    sums = _sums(assay(shop.root, "why", TASK, symbol, "--profile", profile).out)
    assert len(sums) == 2
    for by_hand, printed in sums:
        assert by_hand == pytest.approx(printed, rel=0.05, abs=0.02)


def test_what_changes_nothing_is_not_told(shop: Repository) -> None:
    assert "×   1.00" not in assay(shop.root, "why", TASK, "Basket.total_price").out


def test_every_factor_and_part_is_said_in_words(shop: Repository) -> None:
    for symbol in ("Basket.total_price", "Basket", "test_price"):
        assert not re.search(r": *$", assay(shop.root, "why", TASK, symbol).out, re.M)


def test_ways_read_as_sentences(shop: Repository) -> None:
    assert "shop.py::Basket.total_price, calls it" in assay(shop.root, "why", TASK, "discounted").out


def _ranks(shop: Repository, *session: str) -> list[str]:
    answer = assay(shop.root, "context", TASK, "--format", "json", *session).json
    return [item["id"] for item in answer["items"]]


def test_it_explains_the_ranking_that_feedback_made(shop: Repository) -> None:
    before = _ranks(shop)
    last = next(one for one in reversed(before) if one.startswith("shop.py"))
    for _ in range(2):
        assay(shop.root, "feedback", "useful", last, "--task", TASK)
    after = _ranks(shop)
    assert after.index(last) < before.index(last)
    told = assay(shop.root, "why", TASK, last)
    assert f"rank {after.index(last) + 1}, " in told.out
    assert "learned: feedback, and what the session was given" in told.out


def test_it_explains_the_ranking_that_a_session_sees(shop: Repository) -> None:
    first = _ranks(shop, "--session", "mine")[0]
    why = ("why", TASK, first, "--profile", "seed")
    assert "learned: feedback" in assay(shop.root, *why, "--session", "mine").out
    assert "learned: feedback" not in assay(shop.root, *why).out


def test_it_names_learned_words_and_not_the_task(shop: Repository) -> None:
    task = "persist the gizmo"
    for _ in range(2):
        assay(shop.root, "feedback", "useful", "discounted", "--task", task)
    said = assay(shop.root, "why", task, "discounted").out
    assert "found by learned vocabulary at rank 1" in said
    assert "points at" not in said


def test_it_says_which_keyword_and_which_class_found_a_symbol(shop: Repository) -> None:
    shop.write("assay.toml", '[classes.PAYMENT]\nphrases = ["settle the bill"]\ntargets = ["total_price"]\n')
    told = assay(shop.root, "why", "settle the bill: `total_price`", "total_price").out
    assert 'names at rank 1 (exact "total_price")' in told
    assert 'classes at rank 1 (class PAYMENT by "settle the bill")' in told
    assert " uses)" in told
    [explained] = assay(shop.root, "why", "settle the bill", "total_price", "--format", "json").json["explanations"]
    assert explained["matched"] == {"direct_hits": 'class PAYMENT by "settle the bill"'}
    assert explained["uses"] > 0
    assert explained["rank"] == 1
