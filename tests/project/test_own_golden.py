"""Our own golden sets: every expected symbol and file exists and is unambiguous, and the default ranks them as well as before."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

import assay
from assay.core.golden import GoldenQuery, Hit
from assay.evaluate.golden import load
from assay.evaluate.matching import MATCHERS
from assay.evaluate.systems.assay import Assay
from assay.index.pipeline import index
from assay.store.layout import Home
from support.paths import ROOT

sys.path.append(str(ROOT / "scripts"))
from own_baseline import own_run

EVAL = ROOT / "eval"


def _queries(name: str) -> tuple[GoldenQuery, ...]:
    golden = load(EVAL / name)
    assert golden.warnings == ()
    return golden.queries


@pytest.fixture(scope="module")
def own_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own") / "index"
    index(ROOT, Home.of(ROOT, folder))
    return folder


@pytest.fixture(scope="module")
def items(own_index: Path) -> list[Hit]:
    """Everything the index of this repository holds."""
    system = Assay(ROOT, None, "default", own_index)
    try:
        return system.items()
    finally:
        system.close()


@pytest.fixture(scope="module")
def run(own_index: Path) -> assay.Run:
    return own_run("default", own_index)


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


def test_there_are_fifty_five_tasks_of_three_tiers_and_three_to_eight_symbols() -> None:
    queries = _queries("fixtures")
    assert Counter(query.tier for query in queries) == {"easy": 14, "medium": 27, "hard": 14}
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


# the gate: the floors per tier in eval/baseline.json (`python scripts/own_baseline.py`)


def test_our_own_tasks_are_ranked_as_well_as_the_baseline_and_the_targets_say(run: assay.Run) -> None:
    gated = assay.gate(run, EVAL / "baseline.json")
    assert gated, gated.failures
    assert sum(check.name.endswith("floor") for check in gated.checks) >= 12


def test_the_default_finds_more_of_our_own_tasks_than_bm25f_alone(run: assay.Run, own_index: Path) -> None:
    lexical = own_run("lexical", own_index)
    for measure in ("R@10", "Success@10"):
        ours, plain = (each.metrics[measure] or 0.0 for each in (run, lexical))
        assert ours > plain, measure
