"""Statistics: equal to scipy and to brute force, with the promised coverage."""

from __future__ import annotations

import doctest
import itertools
import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.errors import AssayError
from assay.evaluate.statistics import (
    ASSUMED_SD,
    Interval,
    Paired,
    detectable,
    detectable_before,
    holm,
    latency,
    mean_interval,
    paired,
    queries_needed,
    randomisation,
    student_t,
    summary,
    wilcoxon,
)
from assay.evaluate.statistics.intervals import Floats, difference_interval, quantile, two_sided_p, units_of
from support.paths import ROOT
from support.property_tests import examples

GUIDE = ROOT / "docs" / "guides" / "statistics.md"

_COARSE = st.sampled_from([-1.0, -0.5, -0.25, 0.0, 0.0, 0.25, 0.5, 1.0])  # many ties and zeros, as metrics have
_FINE = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda value: round(value, 6))
_HUGE = st.floats(-1e100, 1e100).filter(lambda value: abs(value) > 1e90)
_DIFFERENCES = st.one_of(*(st.lists(one, min_size=1, max_size=60) for one in (_COARSE, _FINE, _HUGE)))
_PAIRS = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=1, max_size=40).map(
    lambda pairs: (np.array(pairs) / 10).T
)


# --- against scipy and brute force ---


@given(_DIFFERENCES)
def test_wilcoxon_equals_scipy(values: list[float]) -> None:
    differences = np.array(values)
    assume(differences.any())
    kept = differences[differences != 0]
    exact = len(kept) <= 25 and len(np.unique(np.abs(kept))) == len(kept)
    expected = stats.wilcoxon(differences, zero_method="wilcox", method="exact" if exact else "approx")
    if exact:
        expected = stats.wilcoxon(kept, method="exact")
    assert wilcoxon(differences).p == pytest.approx(expected.pvalue, abs=1e-9)


@pytest.mark.parametrize(("n", "method"), [(25, "exact Wilcoxon"), (26, "Wilcoxon, normal approximation")])
def test_wilcoxon_is_exact_up_to_25_differences(n: int, method: str) -> None:
    differences = np.arange(1.0, n + 1) * np.where(np.arange(n) % 3, 1, -1)
    expected = stats.wilcoxon(differences, method="exact" if n == 25 else "approx").pvalue
    outcome = wilcoxon(differences)
    assert outcome[0] == pytest.approx(expected, abs=1e-12)
    assert outcome[1] == method


@given(_DIFFERENCES)
def test_the_paired_t_test_equals_scipy(values: list[float]) -> None:
    differences = np.array(values)
    assume(len(values) > 1 and np.std(differences) > 1e-9 * np.abs(differences).max())
    expected = stats.ttest_rel(differences, np.zeros(len(differences)))
    assert student_t(units_of(differences)).p == pytest.approx(expected.pvalue, abs=1e-9)


@pytest.mark.parametrize("freedom", [1, 2, 3, 10, 99, 100, 101, 5_000, 1_000_000])
@pytest.mark.parametrize("t", [0.0, 0.01, 0.5, 1.0, 2.0, 7.0, 40.0])
def test_the_tail_of_t_equals_scipy_in_nine_digits(freedom: int, t: float) -> None:
    assert two_sided_p(t, freedom) == pytest.approx(2 * stats.t.sf(t, freedom), rel=1e-9)
    assert two_sided_p(-t, freedom) == two_sided_p(t, freedom)


@pytest.mark.parametrize("freedom", [1, 2, 5, 59, 1_000_000])
@pytest.mark.parametrize("probability", [0.5, 0.8, 0.975, 0.9999])
def test_the_quantiles_of_t_equal_scipy(freedom: int, probability: float) -> None:
    assert quantile(probability, freedom) == pytest.approx(stats.t.ppf(probability, freedom), rel=1e-9, abs=1e-9)


@given(st.lists(_COARSE | _FINE, min_size=1, max_size=10))
def test_the_exact_randomisation_test_equals_the_enumeration_of_all_signs(values: list[float]) -> None:
    observed, scale = abs(math.fsum(values)), sum(map(abs, values))
    sums = [
        abs(math.fsum(s * v for s, v in zip(signs, values, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    expected = sum(one >= observed - 1e-9 * scale for one in sums) / len(sums)
    assert randomisation(np.array(values)).p == pytest.approx(expected, abs=1e-12)


@given(st.integers(1, 3_000), st.data())
def test_differences_of_one_size_are_tested_exactly_as_a_coin_is(n: int, data: st.DataObject) -> None:
    wins = data.draw(st.integers(0, n))
    test = randomisation(np.repeat([0.25, -0.25, 0.0], [wins, n - wins, 5]))
    assert test.method == "exact randomisation"
    assert test.p == pytest.approx(stats.binomtest(wins, n).pvalue, abs=1e-9)


def test_sums_that_differ_only_by_rounding_count_as_equal() -> None:
    # 0.1 + 0.2 - 0.3 is not 0 in floating point; half of the patterns tie with the observed sum of 0.6 only up to rounding
    assert randomisation(np.array([0.1, 0.2, 0.3])).p == 0.25
    assert randomisation(np.array([0.1, 0.2, -0.3])).p == 1.0


def test_the_drawn_randomisation_test_agrees_with_the_exact_and_the_normal_one() -> None:
    differences = np.random.default_rng(7).normal(0.5, 1.0, 16)
    exact = randomisation(differences)
    assert exact.method == "exact randomisation"
    doubled = np.concatenate((differences, -differences * 1e-9))  # too many to enumerate; too small to matter
    drawn = randomisation(doubled, resamples=100_000)
    assert drawn.method == "randomisation, 100,000 resamples"
    assert drawn.p == pytest.approx(exact.p, abs=0.005)
    many = np.random.default_rng(7).normal(0.05, 1.0, 1_500)
    assert randomisation(many, resamples=20_000).p == pytest.approx(randomisation(many, 13_000).p, abs=0.01)
    assert "normal" in randomisation(many, resamples=20_000).method


def test_a_drawn_p_is_never_zero() -> None:
    assert randomisation(np.linspace(0.1, 0.2, 100), resamples=999).p == 1 / 1000


def test_the_summary_equals_numpy_and_leaves_out_what_was_not_measured() -> None:
    values: list[Any] = [0.2, math.nan, 0.9, 0.4, None]
    found = summary(values)
    assert (found.mean, found.sd) == pytest.approx((0.5, np.std([0.2, 0.9, 0.4], ddof=1)))
    assert found.n == 3
    assert (summary([0.7]).sd, summary([0.1, 0.1, 0.1]).sd) == (0.0, 0.0)
    assert math.isnan(summary([math.nan]).mean)
    assert summary([]).n == 0


def test_latency_percentiles_lie_linearly_between_ranks() -> None:
    found = latency([10.0, 20.0, 30.0, 40.0, math.nan])
    assert (found.p50, found.mean) == (25.0, 25.0)
    assert found.p95 == pytest.approx(38.5)
    assert math.isnan(latency([]).p95)


# --- laws of a comparison ---


def _p_values(result: Paired) -> tuple[float, float, float]:
    return result.p, result.p_wilcoxon, result.p_t


@given(_PAIRS)
def test_swapping_the_runs_mirrors_the_comparison(pairs: Floats) -> None:
    one, other = paired(*pairs, resamples=500), paired(*pairs[::-1], resamples=500)
    assert (one.p, one.detectable) == pytest.approx((other.p, other.detectable), nan_ok=True)
    assert (one.p_wilcoxon, one.p_t) == pytest.approx((other.p_wilcoxon, other.p_t), nan_ok=True)
    assert (one.wins, one.losses, one.ties) == (other.losses, other.wins, other.ties)
    assert one.delta == -other.delta
    if one.delta:
        assert (one.interval.low, one.interval.high) == pytest.approx(
            (-other.interval.high, -other.interval.low), rel=1e-12, nan_ok=True
        )


@given(_PAIRS, st.sampled_from([1e-6, 0.3, 7.0, 1e9]))
def test_the_unit_of_measurement_does_not_matter(pairs: Floats, scale: float) -> None:
    one, scaled = paired(*pairs, resamples=200), paired(*(pairs * scale), resamples=200)
    assert _p_values(one) == pytest.approx(_p_values(scaled), rel=1e-6, nan_ok=True)
    assert (one.wins, one.losses, one.ties) == (scaled.wins, scaled.losses, scaled.ties)
    assert one.delta * scale == pytest.approx(scaled.delta)


@given(_PAIRS, st.randoms(use_true_random=False))
def test_the_order_of_the_queries_does_not_matter(pairs: Floats, random: object) -> None:
    labels = [str(number % 3) for number in range(pairs.shape[1])]
    order = list(range(pairs.shape[1]))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = paired(*pairs[:, order], clusters=[labels[i] for i in order], resamples=200)
    assert msgspec.json.encode(shuffled) == msgspec.json.encode(paired(*pairs, clusters=labels, resamples=200))
    assert msgspec.json.encode(paired(*pairs[:, order], resamples=200)) == msgspec.json.encode(
        paired(*pairs, resamples=200)
    )


@given(_PAIRS)
def test_the_numbers_of_a_comparison_fit_together(pairs: Floats) -> None:
    result = paired(*pairs, resamples=200)
    assert result.wins + result.losses + result.ties == result.n == pairs.shape[1]
    assert result.delta == pytest.approx(result.mean_b - result.mean_a, abs=1e-12)
    assert 0 < result.p <= 1
    if result.n > 1:
        assert -1 <= result.interval.low <= result.interval.high <= 1
        assert result.interval.low - 0.05 <= result.delta <= result.interval.high + 0.05
    if result.effect is not None and result.n > 1:
        spread = np.std(pairs[1] - pairs[0], ddof=1)
        assert result.effect == pytest.approx(result.delta / spread if spread > 1e-9 else 0.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_a_run_compared_with_itself_shows_nothing(values: list[float]) -> None:
    result = paired(values, values)
    assert _p_values(result) == (1.0, 1.0, 1.0)
    assert (result.interval.low, result.interval.high, result.delta, result.effect) == (0.0, 0.0, 0.0, 0.0)
    assert (result.wins, result.losses, result.ties) == (0, 0, len(values))
    assert math.isnan(result.detectable)


def test_pairs_not_measured_on_one_side_are_left_out_and_counted() -> None:
    result = paired([0.5, math.nan, 0.2, 0.1], [0.6, 0.9, math.nan, 0.4], clusters=["x", "x", "y", "z"])
    expected = paired([0.5, 0.1], [0.6, 0.4])
    assert (result.n, result.dropped, result.wins) == (2, 2, 2)
    assert (result.delta, result.p, result.mean_a) == (expected.delta, expected.p, expected.mean_a)


def test_a_difference_of_rounding_is_a_tie() -> None:
    result = paired([0.3, 0.5, 1 / 3], [0.1 + 0.2, 0.5, 1 - 2 / 3])
    assert (result.ties, result.p, result.p_wilcoxon) == (3, 1.0, 1.0)


def test_differences_all_alike_have_no_effect_size_and_no_detectable_difference() -> None:
    result = paired([0.1, 0.2, 0.3, 0.4], [0.2, 0.3, 0.4, 0.5])
    assert (result.effect, result.p, result.p_t) == (None, 0.125, 0.0)
    assert result.interval.low <= 0 < result.delta <= result.interval.high  # four queries: p is 0.125
    assert math.isnan(result.detectable)


def test_too_few_values_give_no_interval_and_no_alarm() -> None:
    nothing, one = paired([], []), paired([0.0], [1.0])
    assert (nothing.n, nothing.p, math.isnan(nothing.delta), math.isnan(nothing.interval.low)) == (0, 1.0, True, True)
    assert (one.p, one.p_wilcoxon, math.isnan(one.p_t), math.isnan(one.interval.low)) == (1.0, 1.0, True, True)
    assert mean_interval([0.4]).method == "none: fewer than 2 values"
    assert mean_interval([]).method == "none: fewer than 2 values"


def test_a_p_that_cannot_be_small_has_a_note() -> None:
    few = paired([0.0] * 9, [1.0] * 5 + [0.0] * 4)
    assert few.p == 0.0625
    assert few.notes == ("p cannot be below 0.0625 with 5 of 9 queries differing",)
    assert paired([0.0] * 9, [1.0] * 6 + [0.0] * 3).notes == ()


def test_the_same_input_gives_the_same_bytes_and_another_seed_others() -> None:
    a, b = np.random.default_rng(3).random((2, 80))
    first, again, other = paired(a, b), paired(a, b), paired(a, b, seed=1)
    assert msgspec.json.encode(first) == msgspec.json.encode(again)
    assert first.interval == other.interval  # a formula: nothing is drawn
    assert first.p != other.p


def test_a_million_pairs_use_the_normal_approximation() -> None:
    generator = np.random.default_rng(0)
    a = generator.random(1_000_000)
    b = a + generator.normal(0.0003, 0.2, len(a))
    result = paired(a, b)
    assert result.method == "normal approximation of randomisation"
    assert result.p == pytest.approx(stats.ttest_rel(b, a).pvalue, rel=1e-3)
    half = 1.96 * np.std(b - a) / 1000
    assert (result.interval.low, result.interval.high) == pytest.approx(
        (result.delta - half, result.delta + half), 1e-3
    )


def test_values_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(ValueError, match="2 values paired with 3"):
        paired([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="1 cluster labels for 2 values"):
        paired([1, 2], [1, 2], clusters=["x"])
    with pytest.raises(AssayError, match="between 0 and 1"):
        mean_interval([0.1, 0.2], confidence=95)
    with pytest.raises(AssayError, match="resamples is 0"):
        mean_interval([0.1, 0.2], resamples=0)
    with pytest.raises(AssayError, match="above 0"):
        queries_needed(0.0)


# --- promises kept, by simulation ---


def _coverage(intervals: list[tuple[float, float]], truth: float) -> float:
    return sum(low <= truth <= high for low, high in intervals) / len(intervals)


def _ends(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


def _changed(random: np.random.Generator, share: float, n: int, values: Floats) -> Floats:
    """400 samples of n differences: a share of the queries changes by one of the values, each as likely."""
    drawn = np.where(random.random((400, n)) < share, random.choice(values, (400, n)), 0.0)
    return drawn[drawn.any(axis=1)]


@pytest.mark.parametrize("n", [30, 100])
@pytest.mark.parametrize("share", [0.15, 0.4, 1.0])
@pytest.mark.parametrize(
    "values",
    [[-1.0, 1.0], [-0.5, -0.25, 0.25, 0.5], [-0.25, 0.5, 0.5, 1.0], [0.25, 0.33, 0.5, 1.0]],
    ids=["success", "recall", "mostly gains", "gains only"],
)
def test_the_interval_of_a_difference_covers_it_though_few_queries_changed(
    n: int, share: float, values: list[float]
) -> None:
    samples = _changed(np.random.default_rng(n), share, n, np.array(values))
    intervals = [_ends(difference_interval(units_of(sample))) for sample in samples]
    assert _coverage(intervals, share * float(np.mean(values))) >= 0.93


@pytest.mark.parametrize("wins", range(1, 9))
def test_the_interval_of_few_gains_agrees_with_p(wins: int) -> None:
    result = paired([0.0] * 30, [0.5] * wins + [0.0] * (30 - wins))
    assert (result.interval.low > 0) == (result.p < 0.1)


def test_the_interval_of_a_reciprocal_rank_covers_its_mean() -> None:
    generator = np.random.default_rng(6)
    ranks = generator.geometric(0.35, (800, 25))
    samples = np.where(ranks <= 10, 1 / ranks, 0.0)
    truth = sum(0.35 * 0.65 ** (rank - 1) / rank for rank in range(1, 11))
    assert (
        0.93
        <= _coverage([_ends(mean_interval(s, resamples=1_000, seed=i)) for i, s in enumerate(samples)], truth)
        <= 0.97
    )
    narrow = [_ends(mean_interval(s, 0.8, resamples=1_000, seed=i)) for i, s in enumerate(samples)]
    assert 0.76 <= _coverage(narrow, truth) <= 0.84


def test_false_alarms_are_as_rare_as_alpha() -> None:
    experiments = np.random.default_rng(8).laplace(0.0, 0.3, (2_000, 30))
    for test in (lambda d: randomisation(d, 500), wilcoxon, lambda d: student_t(units_of(d))):
        alarms = sum(test(differences).p <= 0.05 for differences in experiments) / len(experiments)
        assert 0.035 <= alarms <= 0.065


@pytest.mark.parametrize("n", [8, 60])
def test_a_detectable_difference_is_detected_four_times_in_five(n: int) -> None:
    effect = detectable(0.3, n)
    experiments = np.random.default_rng(9).normal(effect, 0.3, (2_000, n))
    found = sum(student_t(units_of(differences)).p <= 0.05 for differences in experiments) / len(experiments)
    assert 0.77 <= found <= 0.83
    drawn = sum(randomisation(differences, 500).p <= 0.05 for differences in experiments) / len(experiments)
    assert 0.75 <= drawn <= 0.83


# --- power ---


def test_the_detectable_difference_follows_the_spread_and_the_number_of_queries() -> None:
    assert detectable(0.2, 60) == pytest.approx(2 * detectable(0.1, 60))
    assert detectable(0.35, 400) == pytest.approx(0.35 * (1.95996 + 0.84162) / 20, rel=0.005)
    assert detectable(0.3, 30, power=0.9) > detectable(0.3, 30) > detectable(0.3, 30, alpha=0.1)
    assert detectable_before(50) == detectable(ASSUMED_SD, 50)
    assert detectable(0.3, 1) == math.inf
    a, b = np.random.default_rng(2).random((2, 40))
    assert paired(a, b).detectable == pytest.approx(detectable(summary(b - a).sd, 40))


@settings(max_examples=examples(50))
@given(st.floats(0.01, 1.0), st.floats(0.05, 1.0))
def test_the_queries_needed_are_the_fewest_that_detect_the_effect(effect: float, sd: float) -> None:
    n = queries_needed(effect, sd)
    assert detectable(sd, n) <= effect
    assert n == 2 or detectable(sd, n - 1) > effect


# --- several metrics ---


def test_holm_gives_the_textbook_values_in_the_order_given() -> None:
    adjusted = holm({"a": 0.04, "b": 0.01, "c": 0.03, "d": 0.005, "e": math.nan})
    assert list(adjusted) == ["a", "b", "c", "d", "e"]
    assert [adjusted[name] for name in "abcd"] == pytest.approx([0.06, 0.03, 0.06, 0.02])
    assert math.isnan(adjusted["e"])
    assert holm({}) == {}


@given(st.dictionaries(st.text(), st.floats(0, 1), max_size=12))
def test_holm_keeps_the_order_and_stays_between_the_raw_p_and_bonferroni(p_values: dict[str, float]) -> None:
    adjusted = holm(p_values)
    for name, p in p_values.items():
        assert p <= adjusted[name] <= min(1.0, p * len(p_values))
    by_raw = sorted(p_values, key=lambda name: p_values[name])
    assert [adjusted[name] for name in by_raw] == sorted(adjusted.values())


# --- clusters ---


def test_repeating_queries_within_their_cluster_adds_no_certainty() -> None:
    a, b = np.random.default_rng(4).random((2, 30))
    labels = [f"repository {number}" for number in range(30)]
    once = paired(a, b)
    copied = paired(np.repeat(a, 20), np.repeat(b, 20), clusters=np.repeat(labels, 20))
    assert (copied.n, copied.clusters, once.clusters) == (600, 30, 0)
    assert _ends(copied.interval) == pytest.approx(_ends(once.interval))
    assert _p_values(copied) == pytest.approx(_p_values(once))
    assert copied.detectable == pytest.approx(once.detectable)
    blind = paired(np.repeat(a, 20), np.repeat(b, 20))
    assert blind.interval.high - blind.interval.low < 0.4 * (once.interval.high - once.interval.low)


@given(st.lists(st.lists(_FINE, min_size=3, max_size=3), min_size=2, max_size=10))
def test_with_clusters_of_one_size_t_is_that_of_their_means(rows: list[list[float]]) -> None:
    values = np.array(rows)
    means = values.mean(axis=1)
    assume(np.std(means) > 1e-9 * np.abs(values).max())
    result = paired(np.zeros(values.size), values.ravel(), clusters=np.repeat(np.arange(len(rows)), 3), resamples=50)
    assert result.p_t == pytest.approx(stats.ttest_1samp(means, 0.0).pvalue, abs=1e-9)


def test_clusters_of_different_sizes_are_flipped_and_drawn_whole() -> None:
    differences = np.array([0.5, 0.5, 0.5, 0.5, -0.5])
    result = paired(np.zeros(5), differences, clusters=list("xxxxy"))
    assert (result.p, result.delta, result.clusters) == (1.0, 0.3, 2)  # |±2 ± 0.5| >= 1.5 always
    assert _ends(result.interval) == (-0.5, 0.5)  # only x or only y
    assert result.notes == ("p cannot be below 0.5 with 2 of 2 clusters differing",)
    assert result.interval.method == "Student's t, adjusted for sparse and skewed differences over 2 clusters"


def test_one_cluster_is_no_cluster() -> None:
    a, b = np.random.default_rng(4).random((2, 30))
    one, none = paired(a, b, clusters=["same"] * 30), paired(a, b)
    assert one.notes == ("all queries are in one cluster: each was taken by itself",)
    assert (one.p, one.interval, one.clusters) == (none.p, none.interval, 0)
    assert mean_interval(a, clusters=["same"] * 30) == mean_interval(a)


def test_clusters_that_cancel_out_only_up_to_rounding_do_cancel_out() -> None:
    result = paired([0.0] * 6, [0.1, 0.2, -0.3, 0.3, -0.1, -0.2], clusters=list("xxxyyy"))
    assert _p_values(result) == (1.0, 1.0, 1.0)
    assert result.delta == 0.0


# --- the guide ---


def test_the_numbers_in_the_guide_are_what_the_code_gives() -> None:
    blocks = GUIDE.read_text().split("```python\n")[1:]
    examples = "\n".join(block.split("```")[0] for block in blocks)
    parsed = doctest.DocTestParser().get_doctest(examples, {}, "statistics.md", str(GUIDE), 0)
    outcome = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(parsed)
    assert outcome.attempted >= 8
    assert outcome.failed == 0
