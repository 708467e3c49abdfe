"""Run comparison: kinds, notes, deltas, different chunkers, refused comparisons, and reports."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.evaluate.compare import (
    KINDS,
    NotComparable,
    classify_changes,
    compare_scores,
    config_differences,
)
from assay.evaluate.comparison_json import comparison_json
from assay.evaluate.metrics import parse
from assay.evaluate.scores import Scores, read_baseline, write_baseline
from support.paths import FIXTURES
from support.property_tests import examples
from support.workbench import COULD_NOT_RUN, DONE, QUALITY, Workbench, codes, messages, question

FIXTURE = FIXTURES / "eval" / "compare-1.json"


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path / "bench")


def scores(run_id: str, ranks: list[int], **changed: Any) -> Scores:
    """A run with these ranks of the first relevant result; 0 = nothing found."""
    found = np.array(ranks, dtype=float)
    values = {"RR@10": np.where(found > 0, 1 / np.where(found > 0, found, 1), 0.0)}
    facts: dict[str, Any] = {
        "run_id": run_id, "created": "2026-01-01", "golden_hash": "g", "system": "s", "matching": "doc", "k": 10, "status": "complete",
        "chunker_version": "", "config": {"spec": "s"}, "queries": tuple(f"q{n}" for n in range(len(ranks))), "values": values,
        "first_rank": found, "means": {"RR@10": round(float(values["RR@10"].mean()), 4)},
    }  # fmt: skip
    return Scores(**facts | changed)


RR = [parse("RR@10")]

# --- kinds


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        (0, 1, "Win"),
        (0, 10, "Win"),
        (3, 1, "Win"),
        (1, 2, "Loss"),
        (9, 10, "Loss"),
        (4, 4, "Draw"),
        (0, 0, "Draw"),
        (1, 0, "Regression"),
        (10, 0, "Regression"),
    ],
)
def test_the_first_relevant_rank_decides_the_kind_of_change(a: int, b: int, kind: str) -> None:
    assert KINDS[classify_changes(np.array([float(a)]), np.array([float(b)]))[0]] == kind


_RANKS = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=1, max_size=40)


@settings(max_examples=examples(20), deadline=None)
@given(_RANKS)
def test_turning_a_comparison_round_turns_every_kind_round(ranks: list[tuple[int, int]]) -> None:
    a, b = [one for one, _ in ranks], [other for _, other in ranks]
    there = compare_scores(scores("a", a), scores("b", b), RR)
    back = compare_scores(scores("b", b), scores("a", a), RR)
    assert sum(there.counts.values()) == len(ranks)
    assert there.counts["Win"] == back.counts["Loss"] + back.counts["Regression"]
    assert there.counts["Draw"] == back.counts["Draw"]
    assert there.statistics["RR@10"].delta == pytest.approx(-back.statistics["RR@10"].delta)
    assert there.statistics["RR@10"].p == pytest.approx(back.statistics["RR@10"].p)


@settings(max_examples=examples(20), deadline=None)
@given(_RANKS)
def test_a_comparison_does_not_depend_on_the_order_of_the_queries(ranks: list[tuple[int, int]]) -> None:
    a, b = [one for one, _ in ranks], [other for _, other in ranks]
    straight = compare_scores(scores("a", a), scores("b", b), RR)
    names = tuple(f"q{n}" for n in reversed(range(len(ranks))))
    turned = compare_scores(scores("a", a), scores("b", b[::-1], queries=names), RR)
    assert turned.counts == straight.counts
    assert comparison_json(turned)["per_query"] == comparison_json(straight)["per_query"]


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(st.integers(0, 10), min_size=1, max_size=40))
def test_a_run_against_itself_is_all_draw_and_p_is_1(ranks: list[int]) -> None:
    told = comparison_json(compare_scores(scores("a", ranks), scores("b", ranks), RR))
    assert told["counts"] == {"Win": 0, "Loss": 0, "Draw": len(ranks), "Regression": 0}
    assert told["statistics"]["RR@10"]["p"] == 1.0
    assert told["deltas"]["RR@10"] == 0.0


def test_ranks_beyond_the_smaller_k_do_not_count_when_cut_offs_differ() -> None:
    forced = compare_scores(scores("a", [8, 2], k=10), scores("b", [0, 2], k=5), RR, force=True)
    assert forced.counts == {"Win": 0, "Loss": 0, "Draw": 2, "Regression": 0}


# --- what is refused


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"golden_hash": "other"}, "different golden sets"),
        ({"matching": "file"}, "matching doc and file"),
        ({"k": 5}, "k 10 and 5"),
        ({"status": "incomplete"}, "run b is incomplete"),
        ({"status": "running"}, "run b is running"),
    ],
)
def test_what_is_not_comparable_is_refused_or_forced_with_a_banner(changed: dict[str, Any], says: str) -> None:
    a, b = scores("a", [1, 2]), scores("b", [1, 3], **changed)
    with pytest.raises(NotComparable, match=says):
        compare_scores(a, b, RR)
    forced = compare_scores(a, b, RR, force=True)
    assert [warning for warning in forced.warnings if warning.code == "forced" and says in warning.message]


def test_runs_without_a_common_query_cannot_even_be_forced() -> None:
    with pytest.raises(NotComparable, match="no query in common"):
        compare_scores(scores("a", [1]), scores("b", [1], queries=("other",), golden_hash="h"), RR, force=True)


def test_a_measure_that_one_side_does_not_have_is_named() -> None:
    with pytest.raises(NotComparable, match=r"nDCG@5: not in both runs; they have RR@10"):
        compare_scores(scores("a", [1]), scores("b", [1]), [parse("nDCG@5")])


def test_different_golden_sets_are_refused_or_forced_with_a_banner(bench: Workbench) -> None:
    bench.questions(12, "one.jsonl")
    bench.questions(15, "two.jsonl")
    spec = bench.ranking("system", {f"q{n}": 1 for n in range(15)})
    bench.run(spec, golden="one.jsonl")
    bench.run(spec, golden="two.jsonl")
    refused = bench.eval("compare")
    assert refused.code == COULD_NOT_RUN
    assert "different golden sets (0 queries only in a, 3 only in b, or other expectations)" in refused.err
    assert len(refused.err.splitlines()) == 1
    forced = bench.json("compare", "--force")
    assert messages(forced) == [
        "forced: different golden sets (0 queries only in a, 3 only in b, or other expectations)"
    ]
    assert len(forced["per_query"]) == 12
    report = next((bench.folder / ".assay" / "runs").glob("*/report.md")).read_text()
    assert "> **forced: different golden sets" in report


# --- the two runs of the snapshot: what changed, and why


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """Two runs of one retriever that got another chunker and another embedding between them."""
    bench = Workbench(tmp_path_factory.mktemp("pair"))
    bench.golden([question(number) | {"difficulty": "easy" if number < 6 else "hard"} for number in range(12)])
    before = {f"q{n}": rank for n, rank in enumerate([1, 2, 3, 1, 0, 0, 5, 1, 1, 4, 2, 1])}
    after = before | {"q0": 3, "q1": 1, "q2": 0, "q4": 2, "q9": 0}
    code = """
import json
SETTINGS = json.load(open("settings.json"))
class Retriever:
    def describe(self):
        return {name: SETTINGS[name] for name in ("chunker_version", "embedding")}
    def retrieve(self, query, k):
        number = query.rpartition(" ")[2]
        items = [f"other{place}" for place in range(10)]
        if rank := SETTINGS["ranks"]["q" + number]:
            items.insert(rank - 1, "d" + number)
        return items[:k]
"""
    bench.write("retriever.py", code)
    for label, ranks, chunker, embedding in (("before", before, "1", "small"), ("after", after, "2", "large")):
        settings = {"ranks": ranks, "chunker_version": chunker, "embedding": embedding}
        bench.write("settings.json", json.dumps(settings))
        bench.run("python:retriever:Retriever", "--label", label)
    return bench


def test_the_json_of_a_fixed_comparison_stays_as_it_is(pair: Workbench) -> None:
    told = pair.json("compare", "before", "after")
    told["run_a"], told["run_b"] = "before", "after"
    assert told == json.loads(FIXTURE.read_text("utf-8"))


def test_every_changed_query_has_its_ranks_and_the_known_causes(pair: Workbench) -> None:
    told = pair.json("compare", "before", "after")
    rows = {row["query_id"]: row for row in told["per_query"]}
    assert {q: (r["kind"], r["a_hit_rank"], r["b_hit_rank"]) for q, r in rows.items() if r["kind"] != "Draw"} == {
        "q0": ("Loss", 1, 3),
        "q1": ("Win", 2, 1),
        "q2": ("Regression", 3, None),
        "q4": ("Win", None, 2),
        "q9": ("Regression", 4, None),
    }
    assert told["counts"] == {"Win": 2, "Loss": 1, "Draw": 7, "Regression": 2}
    assert told["causes"] == ["chunker_version 1 → 2", "embedding small → large"]
    assert rows["q2"]["note"] == "lost d2; chunker_version 1 → 2; embedding small → large"
    assert rows["q4"]["note"].startswith("gained d4; ")
    assert rows["q0"]["note"] == "chunker_version 1 → 2; embedding small → large"
    assert rows["q3"]["note"] is None
    # documents are not chunks: another chunker changes nothing about what they are called
    assert told["deltas"]["chunker_version_match"] == "exact"
    assert told["deltas"]["RR@10"] == pytest.approx(
        told["aggregate_b"]["RR@10"] - told["aggregate_a"]["RR@10"], abs=2e-4
    )


def test_report_and_screen_match_the_json(pair: Workbench) -> None:
    done = pair.eval("compare", "before", "after", "--output", "out/report.md")
    assert done.code == DONE
    assert "2 Win, 1 Loss, 7 Draw, 2 Regression" in done.out
    line = "question number 2: rank 3 → –  (lost d2; chunker_version 1 → 2; embedding small → large)  [q2]"
    assert line in done.out
    report = (pair.folder / "out" / "report.md").read_text()
    for line in (
        "Known differences: chunker_version 1 → 2; embedding small → large",
        "### Regressions (2)",
        "### Losses (1)",
        "### Wins (2)",
        "| question number 2 | q2 | 3 | – | lost d2; chunker_version 1 → 2; embedding small → large |",
        "Chunks matched: exact.",
    ):
        assert line in report
    # without names: the last two, and the report is kept with the later run
    assert pair.eval("compare").lines[0] == done.lines[0]
    assert list((pair.folder / ".assay" / "runs").glob("*/report.md"))


def test_a_baseline_file_stands_in_for_the_first_run(pair: Workbench) -> None:
    assert pair.eval("baseline", "set", "before", "--file", "base.json").code == DONE
    told = pair.json("compare", "after", "--baseline", "base.json")
    direct = pair.json("compare", "before", "after")
    assert told["counts"] == direct["counts"]
    assert told["statistics"] == direct["statistics"]
    assert told["deltas"] == direct["deltas"]
    assert pair.eval("compare", "before", "after", "--baseline", "base.json").code == COULD_NOT_RUN


def test_a_golden_set_in_another_order_is_the_same_set(bench: Workbench) -> None:
    """Runs of both orders are comparable, and each query keeps its own answer."""
    ranks = {f"q{n}": n % 4 or None for n in range(12)}
    spec = bench.ranking("system", ranks)
    bench.questions(12)
    first = bench.run(spec)
    bench.golden(question(number) for number in reversed(range(12)))
    second = bench.run(spec)
    assert first["metrics"] == second["metrics"]
    assert {q["id"]: q["first_rank"] for q in second["queries"]} == ranks
    assert {q["id"]: q["first_rank"] for q in bench.json("show", "latest")["queries"]} == ranks
    assert bench.json("compare")["counts"]["Draw"] == 12


# --- chunkers


def _chunks(bench: Workbench, version: str, found: dict[str, tuple[str, int, int]]) -> None:
    """A run at chunk level by a retriever whose answers say its chunker version."""
    hits = [{"id": name, "doc": doc, "start": start, "end": end} for name, (doc, start, end) in found.items()]
    code = f"print(json.dumps({{'results': {hits!r}, 'config': {{'chunker_version': {version!r}}}}}))"
    bench.run(bench.script(code), "--label", version)


@pytest.fixture(scope="module")
def chunked(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """A set that expects chunk `a` (lines 1-10 of one.md) everywhere, and runs of three chunkers."""
    bench = Workbench(tmp_path_factory.mktemp("chunked"))
    bench.golden({"id": f"q{n}", "question": f"question {n}", "expected_chunks": ["a"]} for n in range(3))
    _chunks(bench, "v1", {"a": ("one.md", 1, 10), "b": ("one.md", 11, 20)})
    _chunks(bench, "v2", {"x": ("two.md", 1, 10), "y": ("one.md", 4, 10)})
    _chunks(bench, "v3", {"x": ("two.md", 1, 10), "y": ("one.md", 9, 28)})
    return bench


def test_chunks_of_another_chunker_are_matched_by_document_and_half_a_span(chunked: Workbench) -> None:
    told = chunked.json("compare", "v1", "v2")
    assert told["deltas"]["chunker_version_match"] == "fallback_doc_span"
    assert [(r["a_hit_rank"], r["b_hit_rank"], r["kind"]) for r in told["per_query"]] == [(1, 2, "Loss")] * 3
    assert "chunker versions differ (v1 → v2): chunks matched by document and ≥ 50 % span overlap" in messages(told)
    assert "chunker_version v1 → v2" in told["per_query"][0]["note"]
    assert "lost" not in told["per_query"][0]["note"]
    # 2 of 10 lines in common is no match
    assert [r["kind"] for r in chunked.json("compare", "v1", "v3")["per_query"]] == ["Regression"] * 3
    assert "lost a" in chunked.json("compare", "v1", "v3")["per_query"][0]["note"]


def test_a_strict_chunker_version_refuses_instead(chunked: Workbench) -> None:
    done = chunked.eval("compare", "v1", "v2", "--strict-chunker-version")
    assert done.code == COULD_NOT_RUN
    assert "was chunked by 'v1'" in done.err
    assert chunked.eval("compare", "v1", "v1", "--strict-chunker-version").code == DONE


def test_a_baseline_file_of_another_chunker_is_refused(chunked: Workbench) -> None:
    chunked.eval("baseline", "set", "v1", "--file", "base.json")
    done = chunked.eval("compare", "v2", "--baseline", "base.json")
    assert done.code == COULD_NOT_RUN
    assert "chunked by 'v1' in the baseline" in done.err
    gated = chunked.eval("gate", "v2", "--baseline", "v1", "--max-breaks", "9")
    assert gated.code == DONE, gated.out  # two runs can be matched by span: 1 → 2 on three queries is within chance


def test_expected_chunks_that_nobody_places_are_counted(bench: Workbench) -> None:
    bench.golden({"id": f"q{n}", "question": f"question {n}", "expected_chunks": ["a", "nowhere"]} for n in range(3))
    _chunks(bench, "v1", {"a": ("one.md", 1, 10)})
    _chunks(bench, "v2", {"y": ("one.md", 4, 10)})
    told = bench.json("compare")
    assert "3 expected chunks have no known span and cannot be matched across chunkers" in messages(told)


def test_an_expected_chunk_stands_where_the_first_run_has_it_else_the_second(bench: Workbench) -> None:
    bench.golden(
        [
            {"id": "both", "question": "both", "expected_chunks": ["a"]},
            {"id": "later", "question": "later", "expected_chunks": ["z"]},
        ]
    )
    _chunks(bench, "v1", {"a": ("one.md", 1, 10), "b": ("one.md", 50, 60)})
    _chunks(bench, "v2", {"a": ("one.md", 50, 60), "y": ("one.md", 1, 10), "z": ("one.md", 48, 60)})
    rows = {row["query_id"]: (row["a_hit_rank"], row["b_hit_rank"]) for row in bench.json("compare")["per_query"]}
    assert rows["both"] == (1, 2)  # the first run's `a`: lines 1-10, which the second calls `y`
    assert rows["later"] == (2, 1)  # only the second run knows `z`: lines 48-60, first met in its `a`


# --- causes


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        ({"spec": "s", "sha256": "0123456789abcdef" * 4}, {"spec": "s", "sha256": "f" * 64}, ["sha256 0123456789ab → ffffffffffff"]),
        ({"spec": "s"}, {"spec": "s", "prompt": "short"}, ["prompt – → short"]),
        ({"spec": "s", "config": {"m": 1}}, {"spec": "s", "config": {"m": 2}}, ["m 1 → 2"]),
        ({"spec": "s", "x": 1}, {"spec": "t", "x": 2}, ["s → t"]),
        ({"spec": "s", "x": 1}, {"spec": "s", "x": 1}, []),
    ],
)  # fmt: skip
def test_causes_are_the_facts_that_differ(a: dict[str, Any], b: dict[str, Any], told: list[str]) -> None:
    assert config_differences(a, b) == told


# --- several repositories


def test_queries_of_one_repository_count_as_a_cluster(bench: Workbench) -> None:
    bench.golden(question(number) | {"repository": f"r{number % 3}"} for number in range(60))
    ranks: dict[str, int | None] = {f"q{n}": 1 for n in range(60)}
    bench.run(bench.ranking("a", ranks))
    bench.run(bench.ranking("b", ranks | {f"q{n}": 2 for n in range(0, 60, 3)}))  # one repository lost everything
    pair = bench.json("compare")["statistics"]["RR@10"]
    assert pair["clusters"] == 3
    assert pair["p"] == 1.0  # one of three repositories moved: no evidence at all
    bench.eval("baseline", "set", "latest~1")
    gated = bench.eval("gate")
    assert gated.code == DONE, gated.out
    assert "lower, but not significantly" in gated.out


# --- baseline files


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(st.integers(0, 10), min_size=1, max_size=20))
def test_a_baseline_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, ranks: list[int]) -> None:
    path = tmp_path_factory.mktemp("baseline") / "base.json"
    given_scores = scores("a", ranks, queries=tuple(f'q "{n}" é\n' for n in range(len(ranks))))
    given_scores.values["RR@10"][1:2] = math.nan
    write_baseline(given_scores, path)
    back = read_baseline(path)
    assert back.queries == given_scores.queries
    assert np.array_equal(back.values["RR@10"], given_scores.values["RR@10"], equal_nan=True)
    assert (back.first_rank == given_scores.first_rank).all()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not a baseline file (JSONDecodeError"),
        ("[]", "not a baseline file"),
        ("{}", "not a baseline file (KeyError: 'assay_baseline')"),
        ('{"assay_baseline": 99}', "a baseline of format 99"),
        ('{"assay_baseline": 1, "queries": {}, "metrics": {"XYZ@3": 1}}', "XYZ@3"),
        (None, "no such baseline. Make one with: assay eval baseline set latest --file"),
    ],
)
def test_a_file_that_is_no_baseline_is_refused_in_one_line(tmp_path: Path, text: str | None, says: str) -> None:
    path = tmp_path / "bad.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(AssayError) as refused:
        read_baseline(path)
    assert str(refused.value).startswith(str(path))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


# --- honest words, questions, refusals


def test_a_run_compared_with_itself_is_warned_of(pair: Workbench) -> None:
    told = pair.json("compare", "before", "before")
    assert codes(told) == ["same-run"]
    assert {row["verdict"] for row in told["statistics"].values()} == {"same"}
    assert "is compared with itself: nothing can differ" in pair.eval("compare", "before", "before").err


def test_measures_are_named_by_any_tool_and_printed_by_one_name(pair: Workbench) -> None:
    names = ("-m", "MRR@10", "-m", "recall@10", "-m", "ndcg_cut_10", "-m", "hit_rate@3", "-m", "P_5")
    told = pair.json("compare", "before", "after", *names)
    assert list(told["statistics"]) == ["RR@10", "R@10", "nDCG@10", "Success@3", "P@5"]
    assert pair.eval("baseline", "set", "before", "--file", "aliases.json").code == DONE
    with_file = pair.json("compare", "after", "--baseline", "aliases.json", "-m", "MRR", "-m", "recall")
    assert list(with_file["statistics"]) == ["RR@10", "R@10"]


def test_a_question_to_refuse_that_is_answered_now_is_a_regression(tmp_path: Path) -> None:
    bench = Workbench(tmp_path / "bench")
    bench.golden(
        [{"id": f"n{n}", "question": f"is there a moon base {n}", "expected_chunks": []} for n in range(3)]
        + [question(1)]
    )
    answering = bench.script("print(json.dumps(['d1'] if 'number' in query or query[-1] in '01' else []))", "a.py")
    refusing = bench.script("print(json.dumps(['d1'] if 'number' in query or query[-1] in '2' else []))", "b.py")
    bench.run(refusing, "--label", "refusing", "--matching", "doc")
    bench.run(answering, "--label", "answering", "--matching", "doc")
    told = bench.json("compare", "refusing", "answering")
    rows = {row["query_id"]: (row["kind"], row.get("a_refused"), row.get("b_refused")) for row in told["per_query"]}
    assert rows == {
        "n0": ("Regression", True, False),
        "n1": ("Regression", True, False),
        "n2": ("Win", False, True),
        "q1": ("Draw", None, None),
    }
    done = bench.eval("compare", "refusing", "answering")
    assert "  Regression is there a moon base 0: refused → answered  [n0]" in done.out
    assert "  Win        is there a moon base 2: answered → refused  [n2]" in done.out
    assert "| is there a moon base 0 | n0 | refused | answered |" in next(
        path.read_text() for path in (bench.folder / ".assay" / "runs").glob("*/report.md")
    )
    assert bench.eval("baseline", "set", "refusing", "--file", "base.json").code == DONE
    assert bench.json("compare", "answering", "--baseline", "base.json")["counts"] == told["counts"]


def test_a_run_with_failures_is_compared_with_a_warning(tmp_path: Path) -> None:
    bench = Workbench(tmp_path / "bench")
    bench.questions(12)
    bench.run(bench.ranking("fine", {f"q{n}": 1 for n in range(12)}), "--label", "fine")
    failing = bench.script("n = query.split()[-1]\nif n == '3': sys.exit('no')\nprint(json.dumps(['d' + n]))")
    bench.run(failing, "--label", "failing", code=QUALITY)
    told = bench.json("compare", "fine", "failing")
    assert codes(told) == ["failed-queries"]
    assert told["counts"]["Regression"] == 1


def test_a_measure_with_the_figures_of_another_is_one_row_and_one_test(bench: Workbench) -> None:
    bench.questions(12)
    for name, shift in (("first", 0), ("second", 1)):
        bench.run(bench.ranking(name, {f"q{n}": n % 3 + 1 + shift for n in range(12)}), "--label", name)
    statistics = bench.json("compare", "first", "second")["statistics"]
    assert "R@10" in statistics
    assert "DocR@10" not in statistics  # of documents it is R@10
    assert "DocR@10" in bench.json("compare", "first", "second", "-m", "DocR@10")["statistics"]
    screen = bench.eval("show", "first").out
    assert "R@10:" in screen
    assert "DocR@10:" not in screen
