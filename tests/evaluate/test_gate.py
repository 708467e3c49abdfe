"""The quality gate: floors, two guards against a baseline, critical queries, and reports for CI."""

from __future__ import annotations

import json
import random
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.errors import AssayError
from assay.evaluate.compare import Comparison, compare_scores
from assay.evaluate.gate import Check, Rules, gate, github_annotations, junit, markdown, parse_floors
from assay.evaluate.metrics import parse
from assay.evaluate.scores import Scores
from support.command import ENVIRONMENT
from support.waiting import PATIENCE
from support.workbench import COULD_NOT_RUN, DONE, QUALITY, Workbench, question

QUERIES = 60
TOP = [1 + n % 3 for n in range(QUERIES)]  # ranks 1, 2, 3, 1, 2, 3 …


def scores(ranks: Sequence[int], **changed: Any) -> Scores:
    """A run with these ranks of the only expected thing; 0 = nothing found."""
    found = np.array(ranks, dtype=float)
    hit = found > 0
    values = {
        "RR@10": np.where(hit, 1 / np.where(hit, found, 1), 0.0),
        "nDCG@10": np.where(hit, 1 / np.log2(np.where(hit, found, 1) + 1), 0.0),
        "R@10": hit.astype(float),
        "P@10": hit / 10,
        "empty_result_rate": (~hit).astype(float),
    }
    facts: dict[str, Any] = {
        "run_id": "run", "created": "2026-01-01", "golden_hash": "g", "system": "s", "matching": "doc", "k": 10, "status": "complete",
        "chunker_version": "", "config": {}, "queries": tuple(f"q{n}" for n in range(len(ranks))), "values": values,
        "first_rank": found, "means": {name: round(float(v.mean()), 4) for name, v in values.items()},
    }  # fmt: skip
    return Scores(**facts | changed)


GUARDED = ["P@10", "R@10", "RR@10", "nDCG@10"]


def against(a: Sequence[int], b: Sequence[int], guarded: Sequence[str] = GUARDED) -> Comparison:
    return compare_scores(scores(a), scores(b), [parse(name) for name in guarded])


def failed(a: Sequence[int], b: Sequence[int], critical: frozenset[str] = frozenset(), **rules: Any) -> list[str]:
    """The checks that fail when b comes after a."""
    guarded = rules.setdefault("guarded", GUARDED)
    checks = gate(scores(b), Rules(**rules), against(a, b, guarded), critical)
    return [check.name for check in checks if not check.passed]


def _mean(ranks: Sequence[int]) -> float:
    return float(scores(ranks).values["RR@10"].mean())


# --- the guard of significant losses


def test_the_same_run_again_passes() -> None:
    assert failed(TOP, TOP, tolerance=0.0) == []


def _lowered(share: float) -> list[int]:
    """Ranks that cost the whole run this share of RR@10: queries at rank 1 go to rank 2, half a point each."""
    ranks, left = list(TOP), round(share * QUERIES / 0.5)
    for number, rank in enumerate(ranks):
        if rank == 1 and left:
            ranks[number], left = 2, left - 1
    return ranks


def test_a_planted_loss_of_ten_points_fails() -> None:
    lowered = _lowered(0.10)
    assert _mean(TOP) - _mean(lowered) == pytest.approx(0.10)
    assert "RR@10 against the baseline" in failed(TOP, lowered)
    assert "no query breaks" not in failed(TOP, lowered)  # this guard alone


@pytest.mark.parametrize("seed", range(10))
def test_a_random_wobble_of_a_point_passes(seed: int) -> None:
    """Neighbouring ranks swap at random until the mean has moved by about a point, whichever way that is."""
    chance = random.Random(seed)
    ranks = [chance.choice([1, 1, 2, 3, 5, 8, 0]) for _ in range(QUERIES)]
    wobbled = list(ranks)
    for number in chance.sample(range(QUERIES), 20):
        if wobbled[number] > 1:
            wobbled[number] += chance.choice([-1, 1])
    drift = _mean(wobbled) - _mean(ranks)
    while abs(drift) > 0.012:  # single steps back until it is one point
        number = chance.choice([n for n in range(QUERIES) if wobbled[n] != ranks[n]])
        wobbled[number] = ranks[number]
        drift = _mean(wobbled) - _mean(ranks)
    assert failed(ranks, wobbled) == []


def test_a_loss_within_the_tolerance_passes_however_sure_it_is() -> None:
    lower = [rank + 1 if rank == 3 else rank for rank in TOP]  # 20 times 1/3 → 1/4: p < 0.001, 2.8 points
    assert failed(TOP, lower, tolerance=0.02) == ["RR@10 against the baseline", "nDCG@10 against the baseline"]
    assert failed(TOP, lower, tolerance=0.05) == []


def test_a_loss_that_may_be_chance_passes_however_large_it_is() -> None:
    few = [1] * 8
    fallen = [1, 1, 1, 1, 1, 10, 10, 10]
    assert failed(few, fallen, breaks_allowed=99) == []
    told = gate(scores(fallen), Rules(guarded=["RR@10"]), against(few, fallen, ["RR@10"]))[1].message
    assert "lower, but not significantly" in told


def test_gains_pass_and_a_rate_of_failures_is_guarded_the_other_way_round() -> None:
    worse = [0] * 15 + TOP[15:]
    assert failed(worse, TOP) == []
    assert failed(TOP, worse, guarded=["empty_result_rate"], breaks_allowed=99) == [
        "empty_result_rate against the baseline"
    ]
    assert failed(worse, TOP, guarded=["empty_result_rate"]) == []


def test_a_measure_that_cannot_be_measured_is_not_passed() -> None:
    nothing = {"DocR@10": np.full(QUERIES, np.nan)}
    a, b = scores(TOP, values=nothing), scores(TOP, values=nothing)
    checks = gate(b, Rules(guarded=["DocR@10"]), compare_scores(a, b, [parse("DocR@10")]))
    assert [check.message for check in checks if not check.passed] == ["DocR@10 could not be measured in both runs"]


# --- the guard of single queries


def _broken(count: int, before: int = 1) -> tuple[list[int], list[int]]:
    ranks = [before] * QUERIES
    return ranks, [0] * count + ranks[count:]


def test_breaks_fail_when_the_changes_are_to_the_worse_beyond_noise() -> None:
    # five heads in a row have p = 1/32, four 1/16
    assert failed(*_broken(4)) == []
    assert failed(*_broken(5)) == ["no query breaks"]


def test_breaks_of_most_that_was_answered_fail_a_set_too_small_for_a_test() -> None:
    rest = [0] * (QUERIES - 3)
    assert failed([1, 2, 3, *rest], [0, 0, 3, *rest], tolerance=1.0) == ["no query breaks"]
    assert failed([1, 2, 3, *rest], [0, 2, 3, *rest], tolerance=1.0) == []


def test_a_number_of_breaks_may_be_set_instead() -> None:
    assert failed(*_broken(3), breaks_allowed=3) == []
    assert failed(*_broken(1), breaks_allowed=0) == ["no query breaks"]


def test_queries_that_get_better_outweigh_breaks() -> None:
    mended = [0] * 5 + [1] * (QUERIES - 5)
    assert failed(mended, [1] * 5 + [0] * 5 + [1] * (QUERIES - 10), breaks_allowed=None) == []
    message = gate(scores(mended[::-1]), Rules(), against(mended, mended[::-1]))[-1].message
    assert "5 are worse and 5 better as a whole (one-sided p = " in message
    assert "no more than noise" in message


def test_fewer_breaks_than_one_of_fifty_pass() -> None:
    worse = [rank + 1 for rank in TOP]
    assert failed(TOP, [0, *worse[1:]], tolerance=1.0) == []
    assert failed(TOP, [0, 0, *worse[2:]], tolerance=1.0) == ["no query breaks"]


@pytest.mark.parametrize(("differing", "passes"), [((), False), (("q0", "q1", "q2"), True)])
def test_a_break_counts_in_any_case_where_repeats_agree(differing: tuple[str, ...], passes: bool) -> None:
    before, after = _broken(3)
    check = gate(scores(after), Rules(), against(before, after), unstable=frozenset(differing))[-1]
    assert check.passed == passes
    assert ("3 of them gave the same results when repeated, 2 allowed" in check.message) != passes


def _noisy(random: np.random.Generator, relevant: float) -> tuple[list[int], list[int]]:
    """Ranks of 60 queries, 40 % of them drawn again, with this chance of an answer."""
    ranks = np.where(random.random(QUERIES) < 0.6, random.integers(1, 11, QUERIES), 0)
    again = np.where(random.random(QUERIES) < relevant, random.integers(1, 11, QUERIES), 0)
    return ranks.tolist(), np.where(np.arange(QUERIES) < 24, again, ranks).tolist()


def test_noise_fails_the_gate_at_most_once_in_twenty_runs() -> None:
    random = np.random.default_rng(3)
    noise = [bool(failed(*_noisy(random, 0.6))) for _ in range(100)]
    losses = [bool(failed(*_noisy(random, 0.2))) for _ in range(50)]
    assert sum(noise) <= 5
    assert sum(losses) >= 25


def test_only_queries_that_were_answered_at_the_top_can_break() -> None:
    assert failed(*_broken(5, before=3), tolerance=1.0) == ["no query breaks"]
    assert failed(*_broken(5, before=4), tolerance=1.0) == []


def test_a_critical_query_may_never_break() -> None:
    ranks, broken = _broken(1)
    assert failed(ranks, broken) == []
    assert failed(ranks, broken, frozenset({"q0"})) == ["no query breaks"]
    assert failed(ranks, broken, frozenset({"q0"}), breaks_allowed=99) == ["no query breaks"]
    assert failed(ranks, broken, frozenset({"q1"})) == []
    told = gate(scores(broken), Rules(), against(ranks, broken), frozenset({"q0"}))[-1].message
    assert told.endswith(": q0; tagged critical: q0")


# --- floors


@pytest.mark.parametrize(
    ("floor", "passes"),
    [("R@10=0.5", True), ("R@10=0.5001", False), ("empty_result_rate=0.5", True), ("empty_result_rate=0.4999", False)],
)
def test_a_floor_is_the_least_and_where_lower_is_better_the_most(floor: str, passes: bool) -> None:
    half = scores([1, 0] * 10)
    assert gate(half, Rules(parse_floors([floor])))[-1].passed == passes


def test_a_floor_of_something_not_measured_fails() -> None:
    checks = gate(scores(TOP, means={"DocR@10": None}), Rules(parse_floors(["DocR@10=0.1"])))
    assert (checks[-1].passed, checks[-1].message) == (False, "DocR@10 could not be measured on this run")


TIERS = {"easy": frozenset(f"q{n}" for n in range(20)), "hard": frozenset(f"q{n}" for n in range(20, QUERIES))}


@pytest.mark.parametrize(
    ("floor", "passes"), [("hard:R@10=0.5", True), ("hard:R@10=0.6", False), ("easy:R@10=1", True), ("R@10=0.7", False)]
)
def test_a_floor_of_a_tier_counts_its_queries_only(floor: str, passes: bool) -> None:
    half = scores([1] * 20 + [1, 0] * 20)  # all easy ones are found, and half of the hard ones
    check = gate(half, Rules(parse_floors([floor])), tiers=TIERS)[-1]
    assert check.passed == passes


def test_a_floor_of_a_tier_that_the_set_does_not_have_is_refused() -> None:
    with pytest.raises(AssayError, match="no query is of tier 'eazy': the tiers are easy, hard"):
        gate(scores(TOP), Rules(parse_floors(["eazy:R@10=0.5"])), tiers=TIERS)


def test_an_incomplete_run_never_passes() -> None:
    checks = gate(scores(TOP, status="incomplete"), Rules(parse_floors(["R@10=0.1"])))
    assert [check.name for check in checks if not check.passed] == ["run is complete"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("RR@10", "write a measure and a number, like RR@10=0.7"),
        ("RR@10=high", "write a measure and a number"),
        ("RR@10=nan", "write a measure and a number"),
        ("RR@10=-1", "write a measure and a number"),
        ("RRR@10=0.7", "unknown measure 'RRR@10'. Did you mean 'RR'?"),
        ("P@-3=0.7", "the cut-off must be at least 1"),
    ],
)
def test_a_floor_written_wrongly_is_refused(text: str, says: str) -> None:
    with pytest.raises(AssayError) as refused:
        parse_floors([text])
    assert says in str(refused.value)


# --- how it is told


NASTY = Check("RR@10: a, b", False, '100 % of <queries>\r\nlost | a \x07bell & "quotes" ::error::')


def test_junit_xml_parses_whatever_the_messages_hold() -> None:
    suite = ElementTree.fromstring(junit(scores(TOP, system="cmd:a <b> \x00"), [NASTY, Check("fine", True, "")]))
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == ("2", "1", "0")
    cases = list(suite)
    assert [case.attrib["name"] for case in cases] == ["RR@10: a, b", "fine"]
    failure = cases[0].find("failure")
    assert failure is not None
    assert "<queries>" in failure.attrib["message"]
    assert cases[1].find("failure") is None


def test_annotations_are_one_line_each_and_escaped() -> None:
    [line] = github_annotations([NASTY, Check("fine", True, "")])
    assert line.startswith("::error title=RR@10%3A a%2C b::100 %25 of <queries>%0D%0Alost | a")
    assert "\n" not in line


def test_the_summary_is_a_table_with_a_row_per_check() -> None:
    rows = markdown(scores(TOP), [NASTY, Check("fine", True, "")]).splitlines()
    assert rows[0] == "## assay gate failed: run run"
    assert len([row for row in rows if row.startswith(("| ✅", "| ❌"))]) == 2
    assert "lost \\| a" in "".join(rows)


# --- the command


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """Runs called `good`, `same`, `lower` (ten points) and `broken` (q0, which is critical) on 60 queries."""
    made = Workbench(tmp_path_factory.mktemp("gate"))
    made.golden(question(n) | ({"tags": ["critical"]} if n == 0 else {}) for n in range(QUERIES))
    runs = {"good": TOP, "same": TOP, "lower": _lowered(0.10), "broken": [0, *TOP[1:]]}
    for name, ranks in runs.items():
        spec = made.ranking(name, {f"q{n}": rank or None for n, rank in enumerate(ranks)})
        made.run(spec, "--label", name)
    assert made.eval("baseline", "set", "good").code == DONE
    return made


def test_a_planted_loss_of_ten_points_fails_the_command_against_file_and_run(bench: Workbench) -> None:
    by_file = bench.eval("gate", "lower")
    by_run = bench.eval("gate", "lower", "--baseline", "good")
    assert (by_file.code, by_run.code) == (QUALITY, QUALITY)
    assert by_file.out == by_run.out
    assert "FAIL  RR@10 against the baseline: RR@10 0.6111 → 0.5111 (-0.1000, p = 0.00" in by_file.out
    assert by_file.lines[-1] == "gate failed"
    assert bench.eval("gate", "lower", "--tolerance", "0.2").code == DONE
    assert bench.eval("gate", "lower", "--guard", "Success@10").code == DONE


def test_breaks_of_a_run_whose_repeats_agree_fail_the_command(bench: Workbench) -> None:
    spec = bench.ranking("three", {f"q{n}": TOP[n] if n > 3 or n == 0 else None for n in range(QUERIES)})
    bench.run(spec, "--label", "three")
    bench.run(spec, "--label", "repeated", "--repeat", "2")
    assert bench.eval("gate", "three", "--tolerance", "1").code == DONE
    repeated = bench.eval("gate", "repeated", "--tolerance", "1")
    assert repeated.code == QUALITY
    assert "3 of them gave the same results when repeated, 2 allowed: q1, q2, q3" in repeated.out
    assert bench.eval("gate", "--golden", "golden.jsonl", "--system", spec, "--repeat", "2").code == QUALITY


def test_floors_need_no_baseline(bench: Workbench, tmp_path: Path) -> None:
    apart = ["--baseline", "good"]  # so that the usual file is not looked for elsewhere
    assert bench.eval("gate", "good", "--min", "mrr@10=0.6", "--min", "R@10=1", *apart).code == DONE
    assert bench.eval("gate", "good", "--min", "RR@10=0.7", *apart).code == QUALITY
    assert bench.eval("gate", "good", "--min", "failure_rate=0", *apart).code == DONE
    usual = bench.folder / "eval" / "baseline.json"
    usual.rename(tmp_path / "away.json")
    try:
        assert bench.eval("gate", "good", "--min", "R@10=1").code == DONE
        nothing = bench.eval("gate", "good")
        assert nothing.code == COULD_NOT_RUN
        assert "nothing to compare the run with" in nothing.err
    finally:
        (tmp_path / "away.json").rename(usual)


def test_a_baseline_file_keeps_floors_per_tier_and_relative_to_its_figures(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.golden(question(n) | {"difficulty": "easy" if n < 12 else "hard"} for n in range(24))
    hard = {f"q{n}": 1 for n in range(12)} | {f"q{n}": 5 if n == 12 else None for n in range(12, 24)}  # RR 1/60
    bench.run(bench.ranking("before", hard), "--label", "before")
    bench.run(bench.ranking("after", hard | {"q12": 6}), "--label", "after")
    assert bench.eval("baseline", "set", "before").code == DONE
    assert bench.eval("gate", "after").code == DONE  # 0.0167 → 0.0139 in one tier is within every tolerance
    relative = bench.eval("gate", "after", "--min", "hard:RR@10=90%")
    assert relative.code == QUALITY
    assert "FAIL  hard RR@10 floor: hard RR@10 is 0.0139; required: at least 0.015 (90% of 0.0167)" in relative.out
    kept = bench.eval("baseline", "set", "before", "--min", "hard:RR@10=90%", "--min", "easy:RR@10=0.9")
    assert kept.code == DONE
    assert bench.eval("gate", "after").code == QUALITY
    assert bench.eval("baseline", "set", "after").code == DONE  # renewed: the floors stay, of the new figures
    assert bench.json("gate", "after")["checks"][2]["name"] == "easy RR@10 floor"


def test_a_share_needs_a_baseline(bench: Workbench) -> None:
    refused = bench.refused("gate", "good", "--min", "nDCG@5=90%", "--baseline", "good.json")
    assert refused.code == COULD_NOT_RUN
    usual = bench.refused("gate", "good", "--min", "nDCG@5=90%")
    assert (usual.code, "no baseline has nDCG@5 to take a share of" in usual.err) == (COULD_NOT_RUN, True)


def test_ci_gets_junit_annotations_and_a_step_summary(bench: Workbench, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    environment = ENVIRONMENT | {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    done = _with_environment(bench, environment, "gate", "lower", "--junit", tmp_path / "deep" / "gate.xml")
    assert done[0] == QUALITY
    assert "::error title=RR@10 against the baseline::RR@10 0.6111 → 0.5111" in done[1]
    assert summary.read_text().startswith("before\n## assay gate failed: run ")
    suite = ElementTree.parse(tmp_path / "deep" / "gate.xml").getroot()
    assert int(suite.attrib["failures"]) == len([c for c in suite if c.find("failure") is not None]) > 0
    # JSON on stdout stays JSON
    done = _with_environment(bench, environment, "gate", "lower", "--format", "json")
    assert json.loads(done[1])["passed"] is False
    assert "::error" in done[2]


def _with_environment(bench: Workbench, environment: dict[str, str], *arguments: str | Path) -> tuple[int, str, str]:
    import subprocess

    from support.command import COMMAND

    done = subprocess.run(
        [*COMMAND, "eval", *map(str, arguments), "--root", "."],
        cwd=bench.folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere"], "no run called 'nowhere'"),
        (["good", "--baseline", "nowhere"], "no run called 'nowhere'"),
        (["good", "--baseline", "nowhere.json"], "nowhere.json: no such baseline"),
        (["good", "--guard", "nDGC@10"], "Did you mean 'nDCG'?"),
        (["good", "--min", "RR@10"], "write a measure and a number"),
        (["good", "--tolerance", "2"], "2.0 is not in the range 0<=x<=1"),
        (["good", "--max-breaks", "-1"], "-1 is not in the range x>=0"),
        (["good", "--junit", "/proc/nowhere/gate.xml"], "/proc/nowhere/gate.xml: cannot be written"),
    ],
)
def test_a_gate_that_cannot_run_exits_with_2(bench: Workbench, arguments: list[str], says: str) -> None:
    done = bench.refused("gate", *arguments)
    assert done.code == COULD_NOT_RUN
    assert says in done.err


def test_a_set_of_refusals_names_what_can_be_guarded(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.golden({"id": f"q{n}", "question": f"question {n}", "expected_chunks": []} for n in range(12))
    quiet = bench.script("print('[]')", "quiet.py")
    bench.run(quiet, "--label", "quiet")
    bench.run(bench.ranking("loud", {f"q{n}": None for n in range(12)}), "--label", "loud")
    unsaid = bench.eval("gate", "loud", "--baseline", "quiet")
    assert unsaid.code == COULD_NOT_RUN
    assert "--guard refusal_correctness" in unsaid.err
    assert bench.eval("gate", "loud", "--baseline", "quiet", "--guard", "refusal_correctness").code == QUALITY
    assert bench.eval("gate", "quiet", "--baseline", "loud", "--guard", "refusal_correctness").code == DONE
