"""Code in a search: definitions by the engine's ranking, and files that match as a whole."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import assay as package
from assay.api import Repository as Opened
from assay.search.code_ranker import CodeCandidates, CodeRanker
from assay.search.filters import FILE
from support.repository import Repository


@pytest.fixture
def opened(repository: Repository) -> Iterator[Opened]:
    repository.write("shop/mailer.py", '"""Email messages."""\n\ndef post(letter):\n    return letter\n')
    repository.write(
        "shop/basket.py", "def total_price(items):\n    return sum(items)\n\n\ndef other():\n    return 1\n"
    )
    repository.write("shop/rates/exchange.py", "def convert(amount):\n    return amount\n")
    repository.write("tests/test_basket.py", "def test_total_price():\n    assert True\n")
    repository.index()
    with package.open(repository.root) as repo:
        yield repo


def _candidates(repo: Opened, query: str, *paths: str) -> tuple[CodeCandidates, list[str]]:
    """The candidates of a query, in some files or everywhere, and their ids."""
    search = repo.searcher()
    items = repo.index.numbered(range(len(repo.index.columns)))
    allowed = np.array([not paths or (n in items and items[n].path in paths) for n in range(len(repo.index.columns))])
    found = search.code_ranker.candidates(query, allowed)
    return found, [items[number].id for number in found.numbers.tolist()]


def test_a_file_is_found_by_its_purpose_although_no_definition_matches_a_word(opened: Opened) -> None:
    hits = opened.search("smtp newsletter")
    assert [(hit.path, hit.kind) for hit in hits][:1] == [("shop/mailer.py", FILE)]
    assert hits[0].lexical == 0.0
    assert opened.search("smtp newsletter", embedder="none") == [], "nothing has a word of it"


def test_definitions_come_first_best_first_then_files_without_one(opened: Opened) -> None:
    found, ids = _candidates(opened, "total price exchange")
    assert ids[0] == "shop/basket.py::total_price"
    engine = found.features["engine"]
    ranked = found.features["reciprocal rank"] > 1 / 300
    assert engine[ranked].tolist() == sorted(engine[ranked].tolist(), reverse=True)
    files = [id.partition("::")[0] for id in ids]
    assert all(path not in files[: int(ranked.sum())] for path in files[int(ranked.sum()) :])
    assert len(ids) == len(set(ids))


def test_every_feature_has_a_value_for_every_candidate(opened: Opened) -> None:
    for query in ("total price", "smtp newsletter", "zzzz", "shop"):
        found, ids = _candidates(opened, query)
        assert {len(values) for values in found.features.values()} <= {len(ids)}
        assert all(np.isfinite(values).all() for values in found.features.values())


def test_tests_and_paths_are_told_apart(opened: Opened) -> None:
    found, ids = _candidates(opened, "total price exchange")
    tests = dict(zip(ids, found.features["test"].tolist(), strict=True))
    assert {id for id, value in tests.items() if value} == {id for id in ids if id.startswith("tests/")} != set()
    paths = dict(zip((id.partition("::")[0] for id in ids), found.features["path"].tolist(), strict=True))
    assert paths["shop/rates/exchange.py"] > paths["shop/basket.py"] == 0


def test_only_allowed_items_are_candidates(opened: Opened) -> None:
    _, ids = _candidates(opened, "total price exchange email", "shop/mailer.py")
    assert ids
    assert {id.partition("::")[0] for id in ids} == {"shop/mailer.py"}


def test_without_vectors_files_have_no_similarity(opened: Opened) -> None:
    ranker = CodeRanker(opened.engine())
    found = ranker.candidates("total price", np.ones(len(opened.index.columns), bool))
    assert not found.features["file vector"].any()
    assert not found.features["file vector, relative"].any()
    assert len(found.numbers)
