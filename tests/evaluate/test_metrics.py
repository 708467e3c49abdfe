"""Metrics: worked examples of the specification, conventions, names, and equality with trec_eval on random data."""

from __future__ import annotations

import doctest
import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import pytrec_eval
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assay.core.golden import Answer, Citation, Expected, GoldenQuery, Hit, Response
from assay.errors import AssayError
from assay.evaluate import metrics as dicts
from assay.evaluate.judging import Judged, judge, says
from assay.evaluate.matching import MATCHERS
from assay.evaluate.metrics import KINDS, Measure, UnknownMeasure, aggregate, defaults, mean, parse
from support.paths import ROOT
from support.property_tests import examples

GUIDE = ROOT / "docs" / "guides" / "metrics.md"


def judged(*cases: tuple[list[str], dict[str, int] | list[str]], level: str = "chunk", by: str = "") -> Judged:
    """One query per case: the ids returned, best first, and what was expected (perhaps with grades)."""
    queries = [
        GoldenQuery(
            f"q{number}", "?",
            tuple(Expected(name, level, grade) for name, grade in (expected if isinstance(expected, dict) else dict.fromkeys(expected, 1)).items()),
        )
        for number, (_, expected) in enumerate(cases)
    ]  # fmt: skip
    responses = [Response(tuple(Hit(name) for name in returned)) for returned, _ in cases]
    return judge(queries, responses, MATCHERS[by or level], level)


def figures(run: Judged, *names: str) -> list[float | None]:
    """The rounded means, as stored."""
    return list(aggregate(run, map(parse, names)).values())


def per_query(run: Judged, name: str) -> list[float | None]:
    return [None if math.isnan(value) else round(value, 4) for value in parse(name).values(run).tolist()]


def noise(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


# --- seed 001 ---


def test_hit_at_k_and_mrr_of_three_queries_with_ranks_one_four_and_a_miss() -> None:
    run = judged((["a", *noise(9)], ["a"]), ([*noise(3), "b", *noise(9)[3:]], ["b"]), (noise(10), ["c"]))
    assert figures(run, "hit@1", "hit@3", "hit@5", "hit@10") == [0.3333, 0.3333, 0.6667, 0.6667]
    assert figures(run, "mrr@10") == [0.4167]  # (1 + 1/4 + 0) / 3
    assert per_query(run, "RR") == [1.0, 0.25, 0.0]


def test_mrr_is_zero_beyond_the_cut_off() -> None:
    run = judged(([*noise(10), "a"], ["a"]))
    assert figures(run, "RR@10", "RR@11", "RR") == [0.0, 0.0909, 0.0909]


def test_document_recall_counts_the_documents_of_the_hits() -> None:
    query = GoldenQuery(
        "q", "?", (Expected("c1", "chunk"), Expected("d1", "doc"), Expected("d2", "doc"), Expected("d3", "doc"))
    )
    hits = (Hit("x", doc="d1"), Hit("y", doc="d1"), Hit("c1", doc="d9"), Hit("z", doc="d3"))
    run = judge([query], [Response(hits)], MATCHERS["chunk"], "chunk")
    assert figures(run, "recall@1_doc", "recall@3_doc", "recall@5_doc", "DocR") == [0.3333, 0.3333, 0.6667, 0.6667]
    assert figures(run, "recall@3") == [1.0]  # of the chunks


def answered(query: GoldenQuery, answer: Answer | None, *hits: Hit, error: str = "") -> dict[str, float | None]:
    run = judge([query], [Response(hits, answer, error=error)], MATCHERS["chunk"], "chunk")
    return aggregate(run, (Measure(kind) for kind in KINDS.values() if kind.cut == "no"))


ASKED = GoldenQuery("q", "?", (Expected("c", "chunk"),), must_contain=("mmap", "page"), forbidden=("malloc",))
REFUSE = GoldenQuery("r", "?", refuse=True)


def test_citation_coverage_is_zero_with_one_broken_citation() -> None:
    whole = Answer("", (Citation("c"), Citation("d", resolved=True)))
    broken = Answer("", (Citation("c"), Citation("missing")))
    denied = Answer("", (Citation("c", resolved=False),))
    assert answered(ASKED, whole, Hit("c"))["citation_coverage"] == 1.0
    assert answered(ASKED, broken, Hit("c"))["citation_coverage"] == 0.0
    assert answered(ASKED, denied, Hit("c"))["citation_coverage"] == 0.0


def test_citation_coverage_counts_grounded_answers_only() -> None:
    refused = Answer("I do not know", (Citation("missing"),), grounded=False)
    assert answered(ASKED, refused, Hit("c"))["citation_coverage"] is None
    assert answered(ASKED, None, Hit("c"))["citation_coverage"] is None
    assert answered(ASKED, Answer("x", (Citation("missing"),)), error="timeout")["citation_coverage"] is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("mmap of a page", 1.0), ("mmap of a page, not malloc", 0.0), ("mmap", 0.0), ("", 0.0)],
)
def test_groundedness_needs_every_must_contain_and_no_forbidden_string(text: str, value: float) -> None:
    assert answered(ASKED, Answer(text))["groundedness"] == value


def test_groundedness_leaves_out_errors_and_queries_without_an_answer() -> None:
    assert answered(ASKED, Answer("mmap page"), error="timeout")["groundedness"] is None
    assert answered(ASKED, None)["groundedness"] is None


CITED = (Citation("c", True, "Close the valve and call the plumber.", 1), Citation("d", True, "Pumps start slowly.", 4))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Close the valve. [#1]", 1.0),
        ("You should close the valve [#1]. Pumps start slowly [#4].", 1.0),
        ("Close the valve [#1]. Drink some tea [#1].", 0.5),
        ("Pumps start slowly [#1].", 0.0),  # it is the other one that says so
        ("Close the valve.", 0.0),  # cites nothing
        ("Close the valve. Call the plumber. [#1]", 1.0),  # the next citation counts for both
        ("Pumps start slowly: [#4]\n\n```\npumps.start(slowly)\n```", 1.0),
        ("Pumps start slowly: [#4]\n\n```\nvalve.close() [#1]\n```", 0.5),
        ("Close the valve [#7].", 0.0),
        ("So it is.", None),  # says nothing
        ("Close the red valve [#1].", 0.0),  # two words of three
        ("Close the valve, call the plumber quickly [#1].", 1.0),  # four of five
        ("Close the valve [#1]. Call the plumber.", 1.0),  # the one before
    ],
)
def test_support_is_the_share_of_sentences_whose_words_stand_in_what_they_cite(text: str, value: float | None) -> None:
    assert answered(ASKED, Answer(text, CITED))["support"] == value


def test_support_needs_a_grounded_answer_and_the_texts_of_its_citations() -> None:
    assert answered(ASKED, Answer("Close it [#1].", (Citation("c", True),)))["support"] is None
    assert answered(ASKED, Answer("Close it [#1].", CITED, grounded=False))["support"] is None
    by_place = (Citation("c", True, "Close the valve."), Citation("d", True, "Call the plumber."))
    assert answered(ASKED, Answer("Close the valve [#1]. Call the plumber [#2].", by_place))["support"] == 1.0


def test_refusal_correctness_is_one_when_everything_to_refuse_was_refused() -> None:
    refused = answered(REFUSE, Answer("no idea", grounded=False), Hit("x"))
    assert (refused["refusal_correctness"], refused["unsupported_answer"], refused["over_refusal"]) == (1.0, 0.0, None)
    empty = answered(REFUSE, None)  # without an answer, nothing returned is a refusal
    assert (empty["refusal_correctness"], empty["unsupported_answer"]) == (1.0, 0.0)


def test_made_up_answers_and_over_refusals_are_distinguished() -> None:
    made_up = answered(REFUSE, Answer("surely", grounded=True))
    assert (made_up["refusal_correctness"], made_up["unsupported_answer"], made_up["over_refusal"]) == (0.0, 1.0, None)
    shy = answered(ASKED, Answer("no idea", grounded=False))
    assert (shy["refusal_correctness"], shy["unsupported_answer"], shy["over_refusal"]) == (None, None, 1.0)
    failed = answered(REFUSE, None, error="timeout")  # a failure is neither a refusal nor an answer
    assert (failed["refusal_correctness"], failed["unsupported_answer"]) == (0.0, 0.0)


def test_the_closest_passages_are_neither_a_refusal_nor_an_answer() -> None:
    closest = Answer("perhaps mmap a page", grounded=False, closest=True)
    wrongly = answered(REFUSE, closest, Hit("x"))
    assert (wrongly["refusal_correctness"], wrongly["unsupported_answer"], wrongly["over_refusal"]) == (0.0, 0.0, None)
    rightly = answered(ASKED, closest, Hit("c"))
    assert (rightly["refusal_correctness"], rightly["unsupported_answer"], rightly["over_refusal"]) == (None, None, 0.0)
    assert (rightly["citation_coverage"], rightly["support"]) == (None, None), "it claims nothing"
    assert (wrongly["closest"], rightly["closest"]) == (1.0, 1.0)
    assert answered(ASKED, Answer("sure"))["closest"] == answered(ASKED, Answer("no", grounded=False))["closest"] == 0.0
    assert answered(ASKED, None)["closest"] is None
    assert answered(ASKED, closest, error="timeout")["closest"] is None


@pytest.mark.parametrize(
    ("text", "phrase", "said"),
    [
        ("Run `Assay Index` first", "assay index", True),
        ("call the\n    plumber now", "the plumber", True),
        ("call the plumber", "the\nplumber", True),
        ("set **`k`** to 5", "set k to 5", True),
        ("STRASSE", "straße", True),
        ("call the plumber", "the plumbers", False),
        ("callthe plumber", "call the", False),
        ("", "x", False),
    ],
)
def test_required_words_are_found_whatever_their_case_markup_and_line_breaks(
    text: str, phrase: str, said: bool
) -> None:
    assert says(text, phrase) is said


def test_a_zero_denominator_is_null_in_json() -> None:
    stored = answered(ASKED, None, Hit("c"))
    assert json.loads(json.dumps(stored))["refusal_correctness"] is None
    assert "NaN" not in json.dumps(stored)
    nothing = judge([], [], MATCHERS["chunk"], "chunk")
    assert set(aggregate(nothing, defaults(10)).values()) == {None}


def test_empty_results_and_failures_are_counted_over_all_queries() -> None:
    responses = [Response((Hit("c"),)), Response(), Response(error="timeout"), Response((Hit("x"),))]
    run = judge([replace(ASKED, id=str(n)) for n in range(4)], responses, MATCHERS["chunk"], "chunk")
    assert figures(run, "empty_result_rate", "failure_rate", "R@10") == [0.5, 0.25, 0.25]


def test_token_efficiency_counts_each_relevant_result_once() -> None:
    hits = (Hit("c", tokens=30), Hit("x", tokens=50), Hit("c", tokens=30), Hit("y", tokens=10))
    assert answered(ASKED, None, *hits)["token_efficiency"] == 0.25  # 30 of 120
    assert answered(ASKED, None, Hit("c"))["token_efficiency"] is None


# --- seed 002 ---


def test_recall_precision_and_mrr_are_those_of_seed_002() -> None:
    expected, retrieved = ["3", "7", "9"], ["1", "7", "3", "4", "5", "9"]
    run = judged((retrieved, expected))
    for k in (1, 2, 3, 5, 10):
        found = len(set(expected) & set(retrieved[:k]))
        assert figures(run, f"recall@{k}", f"precision@{k}") == [round(found / 3, 4), round(found / k, 4)]
    assert figures(run, "mrr") == [0.5]


# --- seed 000 ---


def test_precision_divides_by_k_and_seed_000s_by_what_was_returned() -> None:
    run = judged((["a", "b", "x", "y"], ["a", "b"]), ([], ["a"]), ([*noise(11), "a"], ["a"]))
    assert per_query(run, "P@10") == [0.2, 0.0, 0.0]
    assert per_query(run, "P(over=returned)@10") == [0.5, 0.0, 0.0]
    assert per_query(run, "P(over=returned)@12") == [0.5, 0.0, 0.0833]


def test_seed_000s_recall_exceeds_one_where_ours_counts_expectations() -> None:
    returned = [f"internal/context.Engine{number}.ForTask" for number in range(3)]
    run = judged((returned, ["context.ForTask"]), level="symbol", by="symbol")
    assert figures(run, "R(count=matches)@10", "R@10", "P@10", "any-hit@10") == [3.0, 1.0, 0.3, 1.0]
    assert figures(run, "nDCG@10", "AP") == [1.0, 1.0]  # these pair one to one too


# --- seed 004 ---


def test_the_examples_of_seed_004() -> None:
    assert figures(judged((["x", "y", "a"], ["a"])), "MRR") == [0.3333]
    assert figures(judged((["x", "a", "y", "b", "z", "c"], ["a", "b", "c"])), "Recall@5") == [0.6667]
    dcg = 1 / math.log2(3) + 1 / math.log2(5)
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    run = judged((["x", "a", "y", "b"], ["a", "b", "c"]))
    assert figures(run, "NDCG@10") == [round(dcg / ideal, 4)] == [0.4982]


# --- the other formulas, by hand ---


def test_graded_ndcg_takes_the_grade_as_gain_and_the_exponential_one_by_name() -> None:
    run = judged((["b", "x", "a"], {"a": 3, "b": 1, "c": 2}))
    assert per_query(run, "nDCG") == [round((1 + 3 / 2) / (3 + 2 / math.log2(3) + 1 / 2), 4)]
    assert per_query(run, "nDCG(dcg=exp-log2)") == [round((1 + 7 / 2) / (7 + 3 / math.log2(3) + 1 / 2), 4)]
    assert per_query(run, "nDCG@2") == [round(1 / (3 + 2 / math.log2(3)), 4)]


def test_f1_is_the_harmonic_mean_and_zero_when_both_are() -> None:
    run = judged((["a", "x"], ["a", "b", "c"]), (["x"], ["a"]), (["x"], []))
    assert per_query(run, "F1@2") == [round(2 * 0.5 * (1 / 3) / (0.5 + 1 / 3), 4), 0.0, None]


def test_judged_is_the_share_of_results_anybody_judged() -> None:
    run = judged((["a", "x", "b", "y"], {"a": 1, "b": 0}), ([], ["a"]))
    assert per_query(run, "Judged@2") == [0.5, None]
    assert per_query(run, "Judged@10") == [0.5, None]


def test_rel_is_the_grade_from_which_something_is_relevant() -> None:
    run = judged((["a", "b", "c"], {"a": 1, "b": 2, "c": 3, "d": 2}), (["a"], {"a": 1}))
    assert per_query(run, "P(rel=2)@2") == [0.5, None]
    assert per_query(run, "R(rel=2)@10") == [0.6667, None]
    assert per_query(run, "RR(rel=3)") == [0.3333, None]


# --- conventions ---


def test_a_query_with_nothing_relevant_is_left_out_of_the_mean() -> None:
    run = judged((["a"], ["a"]), (["a"], []), (["a"], {"a": 0}), (["a"], {"a": -1}))
    for name in ("P@1", "R@1", "RR", "AP", "nDCG@10", "F1@1", "Success@1"):
        assert per_query(run, name) == [1.0, None, None, None], name
        assert figures(run, name) == [1.0]


def test_an_empty_list_and_a_failure_score_zero_and_count() -> None:
    query = GoldenQuery("q", "?", (Expected("a", "chunk"),))
    run = judge([query] * 2, [Response(), Response(error="timeout")], MATCHERS["chunk"], "chunk")
    for name in ("P@1", "R@1", "RR", "AP", "nDCG@10", "F1@1", "Success@1"):
        assert per_query(run, name) == [0.0, 0.0], name


def test_duplicates_are_counted_and_never_rewarded() -> None:
    run = judged((["a", "a", "x", "a", "b"], ["a", "b"]))
    assert figures(run, "duplicate_rate", "P@5", "R@5", "Success@5") == [0.4, 0.4, 1.0, 1.0]
    assert per_query(run, "nDCG@5") == [round((1 + 1 / math.log2(6)) / (1 + 1 / math.log2(3)), 4)]


def test_means_are_rounded_to_four_decimals_and_never_negative_zero() -> None:
    assert mean(np.array([1.0, 0.0, 0.0])) == 0.3333
    assert mean(np.array([np.nan, 0.5])) == 0.5
    assert mean(np.array([np.nan])) is None
    assert str(mean(np.array([-0.00001]))) == "0.0"


_IDS = st.lists(st.sampled_from("abcdefgh"), max_size=8)
_GRADES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 3), max_size=6)


@given(st.lists(st.tuples(_IDS, _GRADES), max_size=6))
def test_the_same_run_gives_the_same_bytes_also_from_stored_arrays(
    cases: list[tuple[list[str], dict[str, int]]],
) -> None:
    for level, by in (("chunk", "chunk"), ("doc", "doc"), ("symbol", "dotted"), ("symbol", "symbol")):
        run, again = (judged(*cases, level=level, by=by) for _ in range(2))
        stored = {name: np.frombuffer(array.tobytes(), array.dtype) for name, array in run.arrays().items()}
        read = Judged.from_arrays(run.queries, stored)
        first, second, third = (json.dumps(aggregate(one, defaults(10))) for one in (run, again, read))
        assert first == second == third
        for measure in (*defaults(5), parse("R(count=matches)@5"), parse("nDCG(dcg=exp-log2)"), parse("AP")):
            assert measure.values(run).tobytes() == measure.values(again).tobytes() == measure.values(read).tobytes()
        assert run.fact("duplicate_rate").tobytes() == read.fact("duplicate_rate").tobytes()
        assert (read.documents is read.main) == (run.documents is run.main)


def test_document_judgements_beside_others_survive_storing() -> None:
    query = GoldenQuery("q", "?", (Expected("c1", "chunk"), Expected("d1", "doc")))
    run = judge([query], [Response((Hit("c2", doc="d1"),))], MATCHERS["chunk"], "chunk")
    read = Judged.from_arrays(run.queries, run.arrays())
    assert figures(read, "DocR@1", "R@1") == figures(run, "DocR@1", "R@1") == [1.0, 0.0]


# --- names ---

_CUT = st.one_of(st.none(), st.integers(1, 10_000))


@given(st.sampled_from(list(KINDS.values())), st.integers(1, 9), _CUT)
def test_a_measure_prints_as_it_parses(kind: object, rel: int, cut: int | None) -> None:
    measure = Measure(kind, rel, cut)  # type: ignore[arg-type]
    assume(measure.kind.cut != "must" or cut)
    assume(measure.kind.cut != "no" or (cut is None and rel == 1))
    assert parse(str(measure)) == measure
    assert str(parse(str(measure))) == str(measure)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("ndcg_cut_10", "nDCG@10"), ("ndcg_cut.10", "nDCG@10"), ("NDCG@10", "nDCG@10"), ("ndcg", "nDCG"),
        ("map", "AP"), ("map_cut_100", "AP@100"), ("MAP@10", "AP@10"), ("recip_rank", "RR"), ("mrr", "RR"), ("MRR@10", "RR@10"),
        ("P_5", "P@5"), ("precision@5", "P@5"), ("recall_1000", "R@1000"), ("recall.1000", "R@1000"), ("Recall@5", "R@5"),
        ("hit@10", "Success@10"), ("hit_rate@3", "Success@3"), ("success_1", "Success@1"), ("any-hit", "Success"),
        ("any_hit@10", "Success@10"), ("acc@1", "Success@1"),
        ("recall@10_doc", "DocR@10"), ("doc_recall@5", "DocR@5"), ("f1@5", "F1@5"), ("judged@10", "Judged@10"),
        (" P( rel = 2 )@5 ", "P(rel=2)@5"), ("nDCG(dcg='exp-log2')@10", "nDCG(dcg=exp-log2)@10"),
        ("precision(over=returned)@10", "P(over=returned)@10"), ("R(count=matches,rel=2)@10", "R(rel=2,count=matches)@10"),
    ],
)  # fmt: skip
def test_other_peoples_names_are_understood_and_one_spelling_is_printed(alias: str, name: str) -> None:
    assert str(parse(alias)) == name


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ncdg@10", "unknown measure 'ncdg@10'. Did you mean 'nDCG'?"),
        ("refusal_corectness", "Did you mean 'refusal_correctness'?"),
        ("zzz", "unknown measure 'zzz'. Known: P, R, RR"),
        ("P@0", "'P@0': the cut-off must be at least 1"),
        ("P@-3", "'P@-3': the cut-off must be at least 1"),
        ("P", "'P' needs a cut-off: write P@10"),
        ("P(rel=2)", "'P(rel=2)' needs a cut-off: write P(rel=2)@10"),
        ("AP@x", "'AP@x' is not a measure. Write it like P@10"),
        ("", "'' is not a measure"),
        ("P@10@5", "'P@10@5' is not a measure"),
        ("P(rel=0)@5", "rel must be a whole number of at least 1"),
        ("P(rel=two)@5", "rel must be a whole number of at least 1"),
        ("P(rel=²)@5", "rel must be a whole number of at least 1"),
        ("P(colour=red)@5", "unknown measure 'P(colour=red)@5'"),
        ("P(over=returned,count=matches)@5", "unknown measure"),
        ("hit@10_doc", "unknown measure 'hit@10_doc'"),
        ("failure_rate@10", "'failure_rate@10' takes no cut-off and no grade: write failure_rate"),
        ("failure_rate(rel=2)", "takes no cut-off and no grade"),
    ],
)
def test_a_wrong_measure_is_refused_with_what_to_write_instead(text: str, says: str) -> None:
    with pytest.raises(UnknownMeasure) as raised:
        parse(text)
    assert says in str(raised.value)


@given(st.text(max_size=12))
def test_any_text_is_a_measure_or_an_error_for_people(text: str) -> None:
    try:
        measure = parse(text)
    except AssayError:
        return
    assert parse(str(measure)) == measure


def test_the_default_measures_are_those_of_the_seeds() -> None:
    names = [str(measure) for measure in defaults(10)]
    assert {"P@10", "R@10", "RR@10", "nDCG@10", "Success@1", "Success@3", "Success@5", "Success@10"} <= set(names)
    assert {"DocR@1", "DocR@3", "DocR@5", "DocR@10", "citation_coverage", "refusal_correctness"} <= set(names)
    assert len(names) == len(set(names)) == len([str(measure) for measure in defaults(7)])
    assert "Success@10" not in map(str, defaults(7))


# --- trec_eval as oracle ---

ORACLE = {f"ndcg_cut_{k}": f"nDCG@{k}" for k in (1, 3, 10)} | {f"map_cut_{k}": f"AP@{k}" for k in (1, 3, 10)}
ORACLE |= {f"recall_{k}": f"R@{k}" for k in (1, 3, 10)} | {f"P_{k}": f"P@{k}" for k in (1, 3, 10)}
ORACLE |= {f"success_{k}": f"Success@{k}" for k in (1, 3, 10)} | {"map": "AP", "recip_rank": "RR", "ndcg": "nDCG"}
_WANTED = {name.replace("cut_", "cut.").replace("_1", ".1").replace("_3", ".3") for name in ORACLE}

_DOCUMENTS = st.sampled_from([f"d{number}" for number in range(30)])
_QRELS = st.dictionaries(
    st.sampled_from("uvwxyz"), st.dictionaries(_DOCUMENTS, st.integers(-2, 4), min_size=1, max_size=20), min_size=1
)
_EXACT_SCORE = st.integers(-64, 64).map(
    lambda number: number / 8
)  # the same in 32 bits, which is what pytrec_eval keeps
_TIED_RUN = st.dictionaries(st.sampled_from("uvwxyz"), st.dictionaries(_DOCUMENTS, _EXACT_SCORE, max_size=25))


def equal_to_trec_eval(qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]], ties: str) -> None:
    # pytrec_eval 0.5 reads out of bounds on negative grades (it crashes or hangs); they mean irrelevant, which is 0
    clipped = {query: {name: max(grade, 0) for name, grade in grades.items()} for query, grades in qrels.items()}
    oracle = pytrec_eval.RelevanceEvaluator(clipped, _WANTED).evaluate(run)
    ours = dicts.evaluate(qrels, run, list(ORACLE.values()), ties)
    for theirs, name in ORACLE.items():
        assert list(ours[name]) == list(qrels)
        for query in qrels:  # one that is missing from the run scores 0; pytrec_eval leaves it out
            assert abs(ours[name][query] - oracle.get(query, {theirs: 0.0})[theirs]) <= 1e-9, (name, query)


@settings(max_examples=examples(200))
@given(_QRELS, _TIED_RUN, st.randoms(use_true_random=False))
def test_without_ties_every_value_is_that_of_trec_eval(
    qrels: dict[str, dict[str, int]], shape: dict[str, dict[str, float]], random: object
) -> None:
    run = {}
    for query, hits in shape.items():
        scores = [number / 8 for number in range(len(hits))]
        random.shuffle(scores)  # type: ignore[attr-defined]
        run[query] = dict(zip(hits, scores, strict=True))
    for ties in ("order", "trec"):
        equal_to_trec_eval(qrels, run, ties)


@settings(max_examples=examples(200))
@given(_QRELS, _TIED_RUN)
def test_with_ties_every_value_is_that_of_trec_eval_when_asked_for(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> None:
    equal_to_trec_eval(qrels, run, "trec")


def test_lists_of_very_different_lengths_and_a_long_one_are_trec_evals() -> None:
    random = np.random.default_rng(3)
    lengths = [0, 1, 5000, 2, 0, 300, 1]
    run = {
        f"q{n}": {f"d{at}": float(s) for at, s in enumerate(random.permutation(size))} for n, size in enumerate(lengths)
    }
    qrels = {
        f"q{n}": {f"d{at}": int(random.integers(-1, 4)) for at in random.integers(0, size + 5, 20)}
        for n, size in enumerate(lengths)
    }
    equal_to_trec_eval(qrels, run, "trec")


def test_blocks_of_queries_do_not_change_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(4)
    run = {f"q{n}": {f"d{at}": float(s) for at, s in enumerate(random.permutation(n % 9))} for n in range(50)}
    qrels = {query: {f"d{at}": 1 for at in range(3)} for query in run}
    whole = dicts.evaluate(qrels, run, list(ORACLE.values()))
    for block in (1, 7, 20):
        monkeypatch.setattr(dicts, "_BLOCK", block)
        assert dicts.evaluate(qrels, run, list(ORACLE.values())) == whole


@given(_QRELS, _TIED_RUN)
def test_a_run_of_dictionaries_is_judged_as_the_same_hits_are(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> None:
    queries = [
        GoldenQuery(query, "?", tuple(Expected(name, "doc", grade) for name, grade in grades.items()))
        for query, grades in qrels.items()
    ]
    responses = [
        Response(tuple(Hit(name) for name in sorted(hits, key=lambda name: -hits[name])))  # stable: order breaks ties
        for hits in (run.get(query, {}) for query in qrels)
    ]
    ours, theirs = judge(queries, responses, MATCHERS["doc"], "doc"), dicts.judge(qrels, run)
    assert ours.queries == theirs.queries
    kept = {name for name in ours.arrays() if not name.startswith("fact.")}
    for name in kept:
        assert ours.arrays()[name].tolist() == theirs.arrays()[name].tolist(), name


def test_ties_keep_their_order_or_go_by_id_as_in_trec_eval() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"b": 1.0, "a": 1.0, "c": 1.0}}
    assert dicts.evaluate(qrels, run, ["RR"])["RR"]["q"] == 1 / 2
    assert dicts.evaluate(qrels, run, ["RR"], ties="trec")["RR"]["q"] == 1 / 3
    with pytest.raises(AssayError, match="ties='random': it is 'order'"):
        dicts.judge(qrels, run, ties="random")


def test_infinite_scores_are_ranked_and_a_score_that_is_no_number_is_refused() -> None:
    qrels = {"p": {"a": 1}, "q": {"a": 1}}
    low = {"p": {"b": -math.inf, "a": -math.inf}, "q": {"c": 0.0, "b": math.inf, "a": -math.inf}}
    assert dicts.evaluate(qrels, low, ["RR"])["RR"] == {"p": 1 / 2, "q": 1 / 3}
    with pytest.raises(AssayError, match="query 'q': a score is not a number"):
        dicts.judge(qrels, {"p": {"a": 1.0}, "q": {"b": 1.0, "a": math.nan}})


def test_scores_closer_than_32_bits_are_distinguished() -> None:
    run = {"q": {"a": 0.9000000005, "b": 0.900000001}}
    assert dicts.evaluate({"q": {"a": 1}}, run, ["RR"])["RR"]["q"] == 0.5


def test_an_unjudged_query_is_left_out_and_an_irrelevant_one_scores_zero() -> None:
    values = dicts.evaluate({"p": {"a": 0}, "q": {"a": 1}}, {"q": {"a": 1.0}, "z": {"a": 1.0}}, ["AP"])
    assert values == {"AP": {"p": 0.0, "q": 1.0}}
    assert figures(dicts.judge({"p": {"a": 0}, "q": {"a": 1}}, {"q": {"a": 1.0}}), "AP") == [1.0]


def test_nothing_at_all_is_judged_without_complaint() -> None:
    assert dicts.evaluate({}, {}, ["AP", "P@10"]) == {"AP": {}, "P@10": {}}
    assert dicts.evaluate({"q": {}}, {}, ["AP", "P@10"]) == {"AP": {"q": 0.0}, "P@10": {"q": 0.0}}


def test_importing_the_metrics_loads_nothing_heavy() -> None:
    code = "import sys, assay.evaluate.metrics; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not {"scipy", "pandas", "yaml", "sqlite3", "click", "tree_sitter", "msgspec"} & loaded


def test_the_examples_in_the_guide_are_true() -> None:
    failures, tried = doctest.testfile(str(GUIDE), module_relative=False)
    assert tried > 5
    assert not failures
