"""Confidence of `assay context`: its features, its calibration, and the message when it is low."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay as package
from assay.config.configuration import ContextSettings
from assay.core.packs import NOTHING
from assay.rank.confidence import (
    VERSION,
    WEIGHTS,
    ConfidenceFeatures,
    confidence,
    confidence_features,
    shipped_threshold,
    unseen_words,
    weights,
)
from assay.rank.engine import Engine, open_engine
from assay.rank.profile import PROFILES, Profile
from assay.rank.query import suggest_names
from assay.store.index import Index
from support.command import Done, assay
from support.repository import Repository

SHOP = '''class Basket:
    """What a customer is going to buy."""

    def total_price(self, discounts):
        """Adds up the prices of the goods."""
        return apply_discounts(sum(self.goods), discounts)


def apply_discounts(amount, discounts):
    return amount - sum(discounts)


def send_invoice(basket, address):
    deliver(address, basket.total_price([]))


def deliver(address, amount):
    print(address, amount)
'''
FOREIGN = "helm chart ingress for kubernetes clusters with basket"
DEFAULT = Profile()


def _indexed(repository: Repository, **files: str) -> Repository:
    for name, text in files.items():
        repository.write(f"{name}.py", text)
    repository.commit()
    repository.index()
    return repository


@pytest.fixture
def shop(repository: Repository) -> Repository:
    return _indexed(repository, shop=SHOP)


@pytest.fixture
def index(shop: Repository) -> Iterator[Index]:
    opened = shop.open()
    yield opened
    opened.close()


def _chance(index: Index, task: str, profile: Profile = DEFAULT) -> float | None:
    return confidence(open_engine(index, profile).rank(task), profile)


def _context(shop: Repository, *arguments: str) -> Done:
    return assay(shop.root, "context", *arguments)


# what it is read from


def test_what_is_called_by_name_is_surer_than_what_is_described_and_that_than_what_is_foreign(index: Index) -> None:
    called, described, foreign = (
        _chance(index, task) for task in ("fix `apply_discounts`", "total price of the goods", FOREIGN)
    )
    assert called is not None
    assert described is not None
    assert foreign is not None
    assert called > described > foreign


def test_the_signs_say_what_they_are_named_for(index: Index) -> None:
    engine = Engine(index, DEFAULT)
    named = confidence_features(engine.rank("apply_discounts"))
    assert (named.called, named.direct_hits, named.covered, named.unseen) == (1.0, 1.0, 1.0, 0.0)
    described = confidence_features(engine.rank("what people buy zzyzx"))
    assert (described.called, described.direct_hits) == (0.0, 0.0)
    assert described.unseen > 0
    assert confidence_features(engine.rank("deliver")).tenth == 0.0, "fewer than ten have a word of it"


def test_the_tenth_is_near_the_best_when_many_would_do_as_well(repository: Repository) -> None:
    alike = "".join(f"def handle_{letter}(request):\n    pass\n\n\n" for letter in "abcdefghijklmnop")
    opened = _indexed(repository, handlers=alike).open()
    engine = Engine(opened, DEFAULT)
    assert confidence_features(engine.rank("handle a request")).tenth > 0.7
    assert confidence_features(engine.rank("handle_c")).tenth < 0.7
    opened.close()


def test_words_that_nothing_has_lower_it_and_are_told_as_they_are_written(index: Index) -> None:
    engine = Engine(index, DEFAULT)
    ranking = engine.rank("Kubernetes clusters for baskets, or kubernetes without")
    assert unseen_words(ranking) == ("Kubernetes", "clusters")
    assert unseen_words(engine.rank("x" * 5_000)) == ("x" * 40 + "…",)
    assert (
        confidence_features(ranking).unseen
        > confidence_features(engine.rank("clusters for basket invoices")).unseen
        > 0
    )


def test_equal_rankings_are_equally_sure_whatever_the_scale_of_scores(index: Index) -> None:
    ranking = Engine(index, DEFAULT).rank("total price of the basket")
    assert confidence(ranking, DEFAULT) == _chance(index, "total price of the basket")
    scaled = replace(ranking, scores=ranking.scores * 7, walk=replace(ranking.walk, visits=ranking.walk.visits * 3))
    assert confidence(scaled, DEFAULT) == confidence(ranking, DEFAULT)


def test_nothing_found_is_never_right_and_a_profile_without_the_signs_says_nothing(index: Index) -> None:
    assert _chance(index, "zzyzx") == 0.0
    for name in ("lexical", "seed"):
        assert _chance(index, "basket", PROFILES[name]) is None
    assert _chance(index, "basket", PROFILES["no-history"]) is not None


def test_a_change_that_concerns_nothing_here_is_doubted(index: Index) -> None:
    change = PROFILES["change"]
    assert (
        (_chance(index, FOREIGN, change) or 0)
        < shipped_threshold()
        <= (_chance(index, "fix `apply_discounts`", change) or 0)
    )


def test_one_symbol_and_an_empty_index_have_an_answer(repository: Repository, tmp_path: Path) -> None:
    opened = _indexed(repository, one="def alone():\n    pass\n").open()
    assert 0 < (_chance(opened, "alone") or 0) < 1
    opened.close()
    empty = Repository(tmp_path / "empty")
    empty.root.mkdir()
    empty.index()
    nothing = empty.open()
    assert _chance(nothing, "alone") == 0.0
    nothing.close()


# what the signs are worth

SHARES = st.floats(0, 1)
SIGNS = st.builds(
    ConfidenceFeatures, SHARES, st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0]), SHARES, SHARES, SHARES, st.floats(0, 9), st.floats(0, 14),
    SHARES, st.floats(-4, 4), st.floats(-4, 4), st.floats(0, 9), st.floats(-1, 1),
)  # fmt: skip


@given(SIGNS)
def test_it_is_never_certain(seen: ConfidenceFeatures) -> None:
    assert 0 < weights().chance(seen) < 1


@given(SIGNS, SHARES, SHARES)
def test_more_words_unseen_never_make_it_surer(seen: ConfidenceFeatures, one: float, other: float) -> None:
    less, more = sorted((one, other))
    chances = [weights().chance(replace(seen, unseen=unseen)) for unseen in (less, more)]
    assert chances[0] >= chances[1]


def test_the_weights_are_for_these_signs_and_turn_the_way_sense_demands() -> None:
    table = json.loads((Path(package.__file__).parent / "rank" / WEIGHTS).read_text("utf-8"))
    assert table["version"] == VERSION
    ways = {
        "tenth": -1,
        "called": 1,
        "direct_hits": 1,
        "agreement": 1,
        "covered": 1,
        "unseen": -1,
        "names": 1,
        "size": -1,
        "pairs": 1,
        "typical": 1,
        "characteristic": 1,
        "phrase": 1,
        "meaning": 1,
    }
    assert list(table["signs"]) == [field.name for field in fields(ConfidenceFeatures)]
    assert all(table["signs"][name] * way >= 0 for name, way in ways.items())
    assert ContextSettings().threshold == shipped_threshold()


# how it is told


def test_every_format_tells_it_of_a_task(shop: Repository) -> None:
    said = "that one of the first five is right"
    for form in ("text", "markdown", "comment"):
        assert said in _context(shop, "apply_discounts", "--format", form).out
    told = _context(shop, "apply_discounts", "--format", "json").json
    assert told["sure"] is True
    assert 0.3 < told["confidence"] < 1
    assert 'sure="yes"' in _context(shop, "apply_discounts", "--format", "xml").out
    with package.open(shop.root) as repo:
        answer = repo.context("apply_discounts")
        assert (round(answer.confidence or 0, 4), answer.sure) == (told["confidence"], True)


def test_files_and_reviews_have_none(shop: Repository) -> None:
    assert "confidence" not in _context(shop, "--files", "shop.py", "--format", "json").json
    assert "confidence" not in _context(shop, "--pr", "HEAD", "--format", "json").json
    assert "confidence" not in _context(shop, "basket", "--profile", "lexical", "--format", "json").json


def test_below_the_threshold_it_says_so_and_shows_what_was_found_all_the_same(shop: Repository) -> None:
    shop.write("assay.toml", "[context]\nthreshold = 0.99\n")
    done = _context(shop, "helm chart for invoyce and basket")
    assert done.code == 0
    head, _, found = done.out.partition("\n\n")
    assert head.startswith("confidence: "), "doubt is said first"
    assert re.search(
        r"\d % that one of the first five is right: \w+ not in this repository, or worded differently", head
    )
    assert "searched: 5 symbols of 1 file\n" in head
    assert "unmatched words: helm, chart, invoyce" in head
    assert "nearest names: send_invoice" in head
    assert "try: other words" in head
    assert "Basket" in found
    told = _context(shop, "helm chart for invoyce and basket", "--format", "json").json
    assert (told["sure"], told["unseen"]) == (False, ["helm", "chart", "invoyce"])
    assert told["items"]


def test_the_threshold_is_checked(shop: Repository) -> None:
    shop.write("assay.toml", "[context]\nthreshold = 2\n")
    done = _context(shop, "basket")
    assert done.code == 2
    assert "[context] threshold must be a number from 0 to 1, not 2" in done.err


def test_a_threshold_of_0_is_always_sure_of_what_was_found(shop: Repository) -> None:
    shop.write("assay.toml", "[context]\nthreshold = 0\n")
    assert _context(shop, FOREIGN, "--format", "json").json["sure"] is True
    nothing = _context(shop, "zzyzx", "--format", "json")
    assert (nothing.code, nothing.json["confidence"], nothing.json["sure"]) == (1, 0.0, False)


def test_a_remembered_answer_is_as_sure(shop: Repository) -> None:
    first, again = (_context(shop, "total price", "--format", "json") for _ in range(2))
    assert first.out == again.out
    assert (
        first.json["confidence"] == _context(shop, "total price", "--format", "json", "--no-cache").json["confidence"]
    )


def test_feedback_changes_the_order_and_leaves_a_chance(index: Index) -> None:
    ranking = Engine(index, DEFAULT).rank("total price", NOTHING)
    moved = replace(ranking, scores=np.where(ranking.scores > 0, ranking.scores[::-1] + 1, 0))
    assert 0 < (confidence(moved, DEFAULT) or 0) < 1


def test_names_with_a_word_like_a_misspelt_one_are_offered_the_likest_first_and_then_the_shortest(index: Index) -> None:
    assert suggest_names(index, ["invoyce"]) == ["send_invoice"]
    assert suggest_names(index, ["discuonts", "Addres"], 2) == ["apply_discounts"]
    assert suggest_names(index, []) == suggest_names(index, ["zzz", "=="]) == []


def test_signs_are_plain_numbers(index: Index) -> None:
    assert all(
        type(value) is float
        for value in asdict(confidence_features(Engine(index, DEFAULT).rank("total price"))).values()
    )
