"""benchmarks/calibration.py and scripts/fit_confidence.py: the fit behind the published confidence figures."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pytest
import yaml

from support.paths import ROOT


@pytest.fixture
def calibration(monkeypatch: pytest.MonkeyPatch) -> Any:
    return _module(monkeypatch, "calibration")


@pytest.fixture
def fitting(monkeypatch: pytest.MonkeyPatch) -> Any:
    return _module(monkeypatch, "fit_confidence")


def _module(monkeypatch: pytest.MonkeyPatch, name: str) -> Any:
    for folder in ("benchmarks", "scripts"):
        monkeypatch.syspath_prepend(str(ROOT / folder))
    monkeypatch.setattr(sys, "path", sys.path.copy())
    return __import__(name)


def _sample(calibration: Any, weights: list[float], cases: int = 6000) -> Any:
    """Cases that come true as often as the weights say."""
    chosen = np.random.default_rng(7)
    signs = chosen.normal(size=(cases, len(weights) - 1))
    came = (chosen.random(cases) < calibration.said_by(np.array(weights), signs)).astype(float)
    return calibration.Sample(signs, came, np.ones(cases), np.array([f"r{number % 6}" for number in range(cases)]))


def test_weights_that_made_the_cases_are_found_again(calibration: Any) -> None:
    found = calibration.fit(_sample(calibration, [0.5, 1.5, -1.0]), np.array([1.0, -1.0]))
    assert found == pytest.approx([0.5, 1.5, -1.0], abs=0.15)


def test_a_sign_that_would_turn_the_wrong_way_is_worth_nothing(calibration: Any) -> None:
    found = calibration.fit(_sample(calibration, [0.5, 1.5, -1.0]), np.array([1.0, 1.0]))
    assert found[2] == 0
    assert found[1] > 1


def test_what_is_said_of_a_group_never_depends_on_what_came_of_it(calibration: Any) -> None:
    sample, limits = _sample(calibration, [0.0, 1.0], 600), np.zeros(1)
    here = sample.group == "r2"
    turned = calibration.Sample(
        sample.signs, np.where(here, 1 - sample.outcome, sample.outcome), sample.weight, sample.group
    )
    assert (calibration.left_out(sample, limits)[here] == calibration.left_out(turned, limits)[here]).all()


def test_the_figures_are_those_of_cases_worked_out_by_hand(calibration: Any) -> None:
    said, came, ones = np.array([0.1, 0.4, 0.4, 0.9]), np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4)
    told = calibration.figures(said, came, ones)
    assert told["AUC"] == 0.875  # of four pairs, three in order and one equal
    assert told["Brier"] == pytest.approx((0.01 + 0.36 + 0.16 + 0.01) / 4)
    assert told["ECE"] == pytest.approx((0.1 + 0.6 + 0.4 + 0.1) / 4)
    assert calibration.auc(said, came, np.array([1.0, 1.0, 3.0, 1.0])) == pytest.approx((2 + 1.5 + 3) / 8)


def test_what_is_said_as_often_as_it_comes_has_no_error(calibration: Any) -> None:
    sample = _sample(calibration, [0.0, 2.0])
    told = calibration.figures(calibration.left_out(sample, np.zeros(1)), sample.outcome, sample.weight)
    assert told["ECE"] < 0.03
    assert told["said"] == pytest.approx(told["came"], abs=0.02)


def _case(number: int, fitting: Any, chosen: np.random.Generator) -> dict[str, Any]:
    kind = ("own", "own", "foreign", "vague", "half", "invented")[number % 6]
    able = kind in ("own", "half")
    shift = 0.6 if able else 0.0  # the kinds overlap, as in reality
    return {
        "repository": f"r{number % 5}", "kind": kind, "foreign": not able,
        "signs": {name: way * (chosen.normal() + shift) for name, way in fitting.LIMITS.items()},
        "right": {level: bool(able and chosen.random() < 0.75) for level in ("symbol", "generous")},
    }  # fmt: skip


def test_kinds_of_tasks_count_as_much_as_is_assumed_and_the_same_cases_give_the_same(fitting: Any) -> None:
    chosen = np.random.default_rng(3)
    cases = [_case(number, fitting, chosen) for number in range(360)]
    sample = fitting.sample_of(cases, "symbol")
    kinds = np.array([case["kind"] for case in cases])
    for kind, share in fitting.SHARES.items():
        assert sample.weight[kinds == kind].sum() / sample.weight.sum() == pytest.approx(share)
    assert json.dumps(fitting.fitted(cases)) == json.dumps(fitting.fitted(cases))


def test_own_tasks_exceed_the_threshold_as_often_as_is_demanded_and_others_seldom(fitting: Any) -> None:
    chosen = np.random.default_rng(4)
    cases = [_case(number, fitting, chosen) for number in range(600)]
    kinds = np.array([case["kind"] for case in cases])
    sure = fitting.confidences(cases) >= fitting.threshold_of(cases)
    assert sure[kinds == "own"].mean() == pytest.approx(fitting.OWN_SURE, abs=0.03)
    assert sure[np.isin(kinds, ["foreign", "vague", "invented"])].mean() < 0.2
    assert fitting.confidences(cases).max() <= fitting.right_here(cases)


def test_the_confidence_is_tested_on_other_repositories() -> None:
    named = json.loads((ROOT / "scripts/histories.json").read_text("utf-8"))
    fitted_on = json.loads((ROOT / "src/assay/rank/confidence.json").read_text("utf-8"))["fitted on"]["repositories"]
    corpora = yaml.safe_load((ROOT / "eval/tasks/corpora.yaml").read_text("utf-8"))["corpora"]
    assert set(fitted_on) <= {row["name"] for row in corpora if row["split"] != "test"}
    learned, held_out = ({row["name"] for row in named[purpose]} for purpose in ("repositories", "confidence"))
    assert not held_out & {*learned, *fitted_on}
    assert all(
        len(row["cutoff"]) == len(row["head"]) == 40
        for rows in (named["repositories"], named["confidence"])
        for row in rows
    )
