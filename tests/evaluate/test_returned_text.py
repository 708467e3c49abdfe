"""Measures of what is returned, not only of its rank: token budgets, answer phrases, grouping by file, tokens and cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.core.golden import Hit, Response
from assay.evaluate.judging import hit_tokens
from assay.evaluate.metrics import UnknownMeasure, parse
from assay.evaluate.run import group_by_file
from support.workbench import Workbench

TWO = [{"id": "q", "question": "x", "expected_docs": ["a", "b"]}]


def _coverage(hits: list[dict[str, Any]], *names: str, golden: list[dict[str, Any]] = TWO) -> list[float | None]:
    run = assay.evaluate(golden, lambda query, k: hits, metrics=names)
    return list(run.metrics.values())


# Cov@2000t


def test_coverage_counts_what_fits_whole_into_the_budget() -> None:
    hits = [{"id": "a", "tokens": 900}, {"id": "x", "tokens": 900}, {"id": "b", "tokens": 300}]
    assert _coverage(hits, "Cov@2000t", "Cov@2100t", "Cov@899t", "R@10") == [0.5, 1.0, 0.0, 1.0]


def test_a_repeated_result_costs_its_tokens_again() -> None:
    hits = [{"id": "a", "tokens": 600}, {"id": "a", "tokens": 600}, {"id": "b", "tokens": 600}]
    assert _coverage(hits, "Cov@1799t", "Cov@1800t") == [0.5, 1.0]


def test_unreported_tokens_are_counted_or_estimated() -> None:
    hits = (Hit("a", tokens=100), Hit("b", text="one two three"), Hit("c", start=5, end=8), Hit("d"))
    tokens = hit_tokens([Response(hits), Response(error="failed"), Response((Hit("e"),))])
    assert tokens is not None
    assert tokens.tolist() == [100, 3, 4 * 13, 52, 52]
    assert hit_tokens([Response((Hit("d"),))]) is None


def test_coverage_is_not_measured_without_sizes() -> None:
    assert _coverage([{"id": "a"}], "Cov@2000t") == [None]


def test_a_query_without_results_covers_nothing_of_a_run_that_has_sizes() -> None:
    golden = [*TWO, {"id": "r", "question": "nothing", "expected_docs": ["a"]}]
    run = assay.evaluate(golden, lambda query, k: [] if query == "nothing" else [{"id": "a", "tokens": 5}])
    assert [row["Cov@2000t"] for row in run.rescored(["Cov@2000t"])] == [0.5, 0.0]
    assert run.metrics["Cov@2000t"] == 0.25, "reported by default where it can be measured"


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8), st.integers(0, 200), st.integers(1, 200))
def test_coverage_grows_with_the_budget_up_to_recall(sizes: list[int], low: int, more: int) -> None:
    names = "abxyzuvw"
    hits = [{"id": names[place], "tokens": size} for place, size in enumerate(sizes)]
    small, large, whole, recall = _coverage(hits, f"Cov@{low + 1}t", f"Cov@{low + more + 1}t", "Cov@100000t", "R@10")
    assert small is not None
    assert large is not None
    assert small <= large
    assert whole == recall


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Cov", "write Cov@2000t"),
        ("Cov@2000", "counts tokens: write Cov@2000t"),
        ("P@10t", "counts ranks: write P@10"),
        ("Cov@0t", "at least 1"),
    ],
)
def test_a_token_cut_off_is_written_with_its_unit(name: str, message: str) -> None:
    with pytest.raises(UnknownMeasure, match=message):
        parse(name)


def test_a_measure_of_a_budget_prints_as_it_parses() -> None:
    assert str(parse("coverage(rel=2)@500t")) == "Cov(rel=2)@500t"


def test_sizes_that_no_machine_holds_do_not_overflow() -> None:
    hits = [{"id": "a", "tokens": 10**15}, {"id": "b", "start": 1, "end": 10**14}]
    assert _coverage(hits, "Cov@2000t") == [0.0]


# answer phrases


def test_phrases_are_sought_in_the_returned_texts() -> None:
    golden = [{"id": "q", "question": "x", "expected_docs": ["a"], "must_contain": ["make `install`", "Python 3.11"]}]
    run = assay.evaluate(golden, lambda query, k: [{"id": "b", "text": "Run **make install** first."}])
    assert run.metrics["phrase_recall"] == 0.5
    assert run.metrics["RR@10"] == 0.0, "the right text under another id still has the phrase"


def test_a_phrase_is_not_pieced_together_from_two_results() -> None:
    golden = [{"id": "q", "question": "x", "must_contain": ["make install"]}]
    run = assay.evaluate(golden, lambda query, k: [{"id": "a", "text": "make"}, {"id": "b", "text": "install"}])
    assert run.metrics["phrase_recall"] == 0.0


def test_a_system_without_texts_is_not_judged_by_phrases() -> None:
    golden = [{"id": "q", "question": "x", "must_contain": ["make install"]}]
    assert assay.evaluate(golden, lambda query, k: ["a"]).metrics.get("phrase_recall") is None


# results grouped by file


def test_symbols_of_one_file_are_one_result() -> None:
    hits = [Hit("a.py::f", "f", "a.py", tokens=5), Hit("b.py::g", "g", "b.py"), Hit("a.py::h", "h", "a.py", tokens=7)]
    assert group_by_file(hits) == (Hit("a.py", path="a.py", tokens=12), Hit("b.py", path="b.py"))


def test_grouping_gives_files_the_ranks_of_a_list_of_files() -> None:
    golden = [{"id": "q", "question": "x", "expected_files": ["a.py", "b.py"]}]
    names = [f"a.py::f{number}" for number in range(10)] + ["b.py::g"]

    def search(query: str, k: int) -> list[str]:
        return names[:k]

    plain, grouped = (assay.evaluate(golden, search, k=5, group=group) for group in ("", "file"))
    assert (plain.metrics["R@5"], grouped.metrics["R@5"]) == (0.5, 1.0)
    assert grouped.queries[0]["retrieved"] == ["a.py", "b.py"]
    assert grouped.queries[0]["found"] == {"a.py": 1, "b.py": 2}
    with pytest.raises(assay.AssayError, match="group is"):
        assay.evaluate(golden, search, group="folder")


def test_the_command_groups_as_well_and_resumes_so(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.golden([{"id": "q", "question": "x", "expected_files": ["a.py", "b.py"]}])
    spec = bench.script("print('a.py::f\\na.py::g\\nb.py::h')")
    run = bench.run(spec, "--group", "file", "-k", "2")
    assert run["queries"][0]["retrieved"] == ["a.py", "b.py"]
    assert run["config"]["group"] == "file"


# tokens and cost


def test_reported_tokens_and_cost_are_totalled() -> None:
    golden = [{"id": f"q{n}", "question": f"x {n}", "expected_docs": ["a"]} for n in range(4)]

    def search(query: str, k: int) -> dict[str, Any]:
        return {"results": ["a"]} if query.endswith("0") else {"results": ["a"], "tokens": 100, "cost": 0.002}

    run = assay.evaluate(golden, search)
    assert run.summary["cost"] == {"total": 0.006, "mean": 0.002, "queries": 3}
    assert run.summary["tokens"] == {"total": 300.0, "mean": 100.0, "queries": 3}
    assert [row["cost"] for row in run] == [None, 0.002, 0.002, 0.002]
    assert "cost" not in run.summary["config"]


@pytest.mark.parametrize("cost", [-1, float("nan"), "free", True, [1]])
def test_a_cost_that_is_no_number_fails_the_query(cost: object) -> None:
    run = assay.evaluate(TWO, lambda query, k: {"results": ["a"], "cost": cost})
    assert "cost must be a number from 0" in run.queries[0]["error"]
