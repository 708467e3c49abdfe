"""Our own golden sets: every expected symbol and file exists and is unambiguous."""

from __future__ import annotations

from collections import Counter

import pytest

from assay.core.golden import GoldenQuery, Hit
from assay.evaluate.golden import load
from assay.evaluate.matching import MATCHERS
from assay.evaluate.systems.assay import Assay
from assay.index.pipeline import index
from assay.store.layout import Home
from support.paths import ROOT

EVAL = ROOT / "eval"


def _queries(name: str) -> tuple[GoldenQuery, ...]:
    golden = load(EVAL / name)
    assert golden.warnings == ()
    return golden.queries


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> list[Hit]:
    """Everything the index of this repository holds."""
    folder = tmp_path_factory.mktemp("own") / "index"
    index(ROOT, Home.of(ROOT, folder))
    system = Assay(ROOT, None, "default", folder)
    try:
        return system.items()
    finally:
        system.close()


@pytest.mark.parametrize("name", ["fixtures", "queries.yaml"])
def test_every_expected_symbol_is_exactly_one_definition(items: list[Hit], name: str) -> None:
    strict = MATCHERS["strict"].matches
    wrong = {
        f"{query.id}: {expected.name}": [hit.id for hit in items if strict(hit, expected)]
        for query in _queries(name)
        for expected in query.at("symbol")
        if sum(strict(hit, expected) for hit in items) != 1
    }
    assert wrong == {}


@pytest.mark.parametrize("name", ["queries.yaml", "questions.jsonl"])
def test_every_expected_file_is_there(name: str) -> None:
    assert [e.name for query in _queries(name) for e in query.at("file") if not (ROOT / e.name).is_file()] == []


def test_there_are_twenty_easy_twenty_medium_and_fifteen_hard_tasks_of_three_to_eight_symbols() -> None:
    queries = _queries("fixtures")
    assert Counter(query.tier for query in queries) == {"easy": 20, "medium": 20, "hard": 15}
    assert [query.id for query in queries if not 3 <= len(query.expected) <= 8] == []


def test_the_queries_are_thirty_in_five_categories() -> None:
    counts = Counter(query.category for query in _queries("queries.yaml"))
    assert counts == {
        "function_search": 10, "concept_search": 6, "error_search": 4, "pattern_search": 4, "api_search": 6,
    }  # fmt: skip


def test_what_a_right_answer_must_contain_stands_in_an_expected_document() -> None:
    queries = _queries("questions.jsonl")
    assert len(queries) >= 20
    assert sum(query.refuse for query in queries) >= 5
    absent = [
        f"{query.id}: {part}"
        for query in queries
        for part in query.must_contain
        if not any(part in (ROOT / e.name).read_text("utf-8") for e in query.at("file"))
    ]
    assert absent == []
