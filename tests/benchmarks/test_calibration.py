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


def test_the_threshold_is_the_highest_below_which_enough_did_not_come(calibration: Any) -> None:
    said, came = np.array([0.1, 0.2, 0.3, 0.4, 0.5]), np.array([0.0, 0.0, 0.0, 1.0, 1.0])
    steps = [step / 100 for step in range(1, 100)]
    assert calibration.threshold(said, came, np.ones(5), 0.75, steps) == 0.5
    assert calibration.threshold(said, came, np.ones(5), 1.0, steps) == 0.4
    assert calibration.threshold(said, np.ones(5), np.ones(5), 0.5, steps) == 0.0


def test_cases_of_other_repositories_count_as_much_as_is_assumed_and_the_same_cases_give_the_same(fitting: Any) -> None:
    chosen = np.random.default_rng(3)
    cases = [
        {
            "profile": ("default", "change")[number % 2],
            "repository": f"r{number % 3}",
            "foreign": number % 4 == 0,
            "signs": dict(zip(fitting.LIMITS, chosen.random(len(fitting.LIMITS)).tolist(), strict=True)),
            "right": {level: bool(number % 4 and chosen.random() < 0.6) for level in ("symbol", "generous", "file")},
        }
        for number in range(240)
    ]
    sample = fitting.sample_of(cases, "symbol")
    foreign = np.array([case["foreign"] for case in cases])
    assert sample.weight[foreign].sum() / sample.weight.sum() == pytest.approx(0.1)
    table = fitting.table(cases)
    assert json.dumps(table) == json.dumps(fitting.table(cases))
    assert {name: own["fitted on"]["tasks"] for name, own in table["profiles"].items()} == {
        "default": 60,
        "change": 120,
    }


def test_the_manifest_names_what_was_fitted_on() -> None:
    named = json.loads((ROOT / "scripts/histories.json").read_text("utf-8"))["repositories"]
    profiles = json.loads((ROOT / "src/assay/rank/confidence.json").read_text("utf-8"))["profiles"]
    fitted_on = {name: own["fitted on"]["repositories"] for name, own in profiles.items()}
    corpora = yaml.safe_load((ROOT / "eval/tasks/corpora.yaml").read_text("utf-8"))["corpora"]
    in_training = sum(row["split"] != "test" for row in corpora)
    assert fitted_on["default"] == in_training + 8  # and the development tasks
    assert fitted_on["change"] == sum(row.get("confidence", True) for row in named)
    assert all(len(row["cutoff"]) == len(row["head"]) == 40 for row in named)
