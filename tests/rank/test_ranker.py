"""The learned ranker: features, scores and training."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.index import pipeline
from assay.rank.engine import Engine, open_engine
from assay.rank.explain import explain
from assay.rank.features import FEATURES, matrix
from assay.rank.profile import PROFILES, Profile
from assay.rank.ranker import MODELS, LinearModel, Model, TreeModel, model_of, shipped
from assay.store.history import History
from support.command import assay
from support.paths import ROOT
from support.repository import Repository
from support.sample_code import BASKETS

TASK = "Wrong total price of a basket with a discount"


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("shop.py", BASKETS)
    repository.write("send.py", "from shop import invoice\n\n\ndef send(basket):\n    print(invoice(basket))\n")
    repository.commit("A shop")
    for share, message in ((0.8, "A higher discount"), (0.7, "A still higher discount")):
        repository.write("shop.py", BASKETS.replace("0.9", str(share)))
        repository.commit(message)
    repository.index()
    return repository


def _engine(shop: Repository, **settings: Any) -> Engine:
    """The ranking as the ranker finds it: the order of the first ten by hand comes after it, or not at all."""
    return Engine(shop.open(), dataclasses.replace(Profile(), **{"reorder": 0, "ranker": 0, **settings}))


# what is known of candidates


def test_every_feature_of_every_candidate_is_a_number(shop: Repository) -> None:
    engine = _engine(shop)
    candidates = engine.candidates(engine.rank(TASK))
    values = matrix(candidates, tuple(FEATURES))
    assert values.shape == (len(candidates.numbers), len(FEATURES))
    assert len(candidates.numbers) >= 5
    assert np.isfinite(values).all()


def test_features_are_those_that_rankings_of_every_profile_have(shop: Repository) -> None:
    for profile in PROFILES.values():
        engine = open_engine(shop.open(), profile)
        assert np.isfinite(matrix(engine.candidates(engine.rank(TASK)), tuple(FEATURES))).all()


def test_features_say_what_their_names_say(shop: Repository) -> None:
    engine = _engine(shop)
    candidates = engine.candidates(engine.rank(TASK))
    symbols = engine.index.symbols_of(candidates.numbers.tolist())
    named = [symbols[number] for number in candidates.numbers.tolist()]
    told = {name: dict(zip(named, matrix(candidates, (name,))[:, 0], strict=True)) for name in FEATURES}
    assert told["lines"]["Basket"] == pytest.approx(np.log1p(9))
    assert told["type"]["Basket"] == 1
    assert told["type"]["discounted"] == 0
    assert told["callable"]["discounted"] == 1
    assert told["depth"]["Basket.total_price"] == told["depth"]["discounted"] + 1
    assert told["name precision"]["Basket.total_price"] == pytest.approx(1)
    assert told["changes"]["discounted"] > told["changes"]["send"]
    assert told["age"]["send"] >= told["age"]["discounted"] == 0
    assert told["score"][named[0]] == 0
    assert told["place in file"][named[0]] == 0
    assert told["container words"]["discounted"] == 0 < told["container words"]["Basket.total_price"]
    assert told["best member"]["Basket"] > 0 == told["best member"]["Basket.total_price"]


def test_files_are_counted_as_their_commits_say(shop: Repository) -> None:
    index = shop.open()
    history = History.open(index)
    for row in index.files.values():
        commits = history.changes(row.number)
        assert history.counts[row.number] == len(commits)
        if commits:
            assert history.ages[row.number] == history.times.max() - history.times[commits].max()


def test_without_history_nothing_is_known_of_it(repository: Repository) -> None:
    repository.write("shop.py", BASKETS)
    repository.index()
    assert _engine(repository, ranker=1.0).ranked(TASK, 3)


# the order


def test_what_is_learned_orders_the_first_ten_too(shop: Repository) -> None:
    assert "reorder" in Engine(shop.open(), PROFILES["hand-tuned"]).rank(TASK).multipliers
    assert "reorder" not in Engine(shop.open(), Profile()).rank(TASK).multipliers


def test_a_weight_of_0_leaves_everything_as_it_was(shop: Repository) -> None:
    ranking = _engine(shop).rank(TASK)
    assert "ranker" not in ranking.multipliers
    assert _engine(shop, ranker=1e-12).rank(TASK).best(20) == ranking.best(20)


def _scores(model: Model, engine: Engine) -> dict[int, float]:
    """The scores of a model by item number."""
    candidates = engine.candidates(engine.rank(TASK))
    scores = model.scores(matrix(candidates, model.features)).tolist()
    return dict(zip(candidates.numbers.tolist(), scores, strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_alone_it_orders_candidates_by_their_scores(shop: Repository, name: str) -> None:
    scores = _scores(shipped(name), _engine(shop, namesake=1, overload=1))
    wanted = sorted(scores, key=lambda number: -scores[number])
    ranked = _engine(shop, ranker=1.0, ranker_model=name, namesake=1, overload=1).rank(TASK).best(len(wanted))
    assert [scores[number] for number in ranked] == pytest.approx([scores[number] for number in wanted])


def test_what_is_no_candidate_stays_behind_those_that_are(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    only: dict[str, Any] = {"channels": {}, "proposed": 0}
    plain = _engine(shop, **only).rank(TASK).best(20)
    monkeypatch.setattr("assay.rank.candidates.DEPTH", 2)
    reordered = _engine(shop, ranker=1.0, **only).rank(TASK).best(20)
    assert sorted(reordered[:2]) == sorted(plain[:2])
    assert reordered[2:] == plain[2:]


def test_why_tells_what_every_feature_is_worth(shop: Repository) -> None:
    for name in MODELS:
        engine = _engine(shop, ranker=1.0, ranker_model=name)
        scores = _scores(shipped(name), _engine(shop))
        explained = explain(engine, engine.rank(TASK), engine.index.numbered(scores).values(), 10)
        offset = [scores[one.item.number] - sum(one.ranker.values()) for one in explained]
        assert offset == pytest.approx([offset[0]] * len(offset), abs=1e-4), "the same for all: the mean of the trees"
    out = assay(shop.root, "why", TASK, "total_price", "--profile", "change").out
    assert "ranker: learned reranker" in out
    told = [feature.meaning for feature in FEATURES.values() if f"  {feature.meaning}\n" in out]
    assert len(told) >= 8


def test_to_a_model_without_features_all_are_worth_the_same(shop: Repository) -> None:
    engine = _engine(shop)
    candidates = engine.candidates(engine.rank(TASK))
    assert not LinearModel.of({}).scores(matrix(candidates, ())).any()


# what is shipped


def test_the_shipped_weights_go_by_the_sense_of_their_features_and_are_small() -> None:
    ranker = shipped("commits")
    assert isinstance(ranker, LinearModel)
    for name, weight in zip(ranker.features, ranker.weights, strict=True):
        assert weight * FEATURES[name].sense >= 0, name
    for name, file in MODELS.items():
        assert set(shipped(name).features) <= set(FEATURES)
        assert (ROOT / "src/assay/rank" / file).stat().st_size < 100_000


def test_trees_are_evaluated_as_written() -> None:
    # [feature, threshold, mean, left, right]; a leaf is its value
    nested = [0, 0.5, 1.0, [1, 2.0, 0.0, -1.0, 1.0], [1, 3.0, 2.0, [0, 0.75, 3.0, 4.0, 5.0], 6.0]]
    model = TreeModel.of(("a", "b"), [nested, 0.25])
    values = np.array([[0.5, 2.0], [0.5, 2.1], [0.6, 3.0], [0.9, 3.0], [0.6, 3.1]])
    assert model.scores(values).tolist() == [-0.75, 1.25, 4.25, 5.25, 6.25]
    # the root's mean plus what each split adds: sums to the leaf
    contributions = model.contributions(values)
    assert (contributions.sum(axis=1) + 1.0 + 0.25).tolist() == pytest.approx(model.scores(values).tolist())
    assert contributions[0].tolist() == [-1.0, -1.0]


# learning


@pytest.fixture
def training(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), str(ROOT / "benchmarks"), *sys.path])
    import train_commit_ranker

    return train_commit_ranker


def _described(training: Any, seed: int, telling: str, sign: float) -> Any:
    """Tasks of chance in which the right candidate is the one that has most of a feature, or least."""
    chance = np.random.default_rng(seed)
    values = chance.normal(size=(40, 12, len(FEATURES))).astype(np.float32)
    column = list(FEATURES).index(telling)
    right = np.zeros((40, 12), bool)
    right[np.arange(40), (sign * values[:, :, column]).argmax(axis=1)] = True
    none = np.zeros(480, bool)
    return training.Described(
        str(seed), values.reshape(480, -1), right.ravel(), np.arange(480, dtype=np.int32), right.ravel(), none,
        np.arange(0, 481, 12),
    )  # fmt: skip


def test_what_tells_right_from_wrong_is_learned(training: Any) -> None:
    names = list(FEATURES)[:12]
    told = [_described(training, seed, "found", 1) for seed in range(5)]
    weights = training.learned(told, names)
    assert max(weights, key=lambda name: abs(weights[name][1])) == "found"
    assert weights["found"][1] > 0
    before, after = training.left_out(told, names)
    assert after[1] > 0.95 > before[1]
    assert training.learned(told, names) == weights


def test_a_weight_against_the_sense_of_a_feature_is_not_learned(training: Any) -> None:
    told = [_described(training, seed, "found", -1) for seed in range(3)]
    assert FEATURES["found"].sense == 1
    assert "found" not in training.learned(told, list(FEATURES)[:12])


def test_the_script_reads_what_commits_touched(training: Any, shop: Repository, tmp_path: Path) -> None:
    from assay.core.golden import Expected, GoldenQuery
    from assay.evaluate.golden import save

    folder = tmp_path / "work/shop"
    folder.mkdir(parents=True)
    (folder / "state").symlink_to(shop.root)
    task = GoldenQuery("1", TASK, expected=(Expected("discounted", "symbol"), Expected("shop.py", "file")))
    save([task], folder / "tasks.jsonl", "pairs")
    one = training.described(folder, tmp_path / "kept")
    assert one.right.sum() == 1
    assert one.right_file.sum() > 1
    again = training.described(folder, tmp_path / "kept")
    np.testing.assert_array_equal(one.values, again.values)


def test_a_first_generation_has_its_own_model(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.write("a.py", "def settle(): ...\ndef use(): settle()\n")
    monkeypatch.setattr(pipeline, "_SMALL_FILES", 0)
    pipeline.index(repository.root, repository.home, wait=False)
    assert repository.edges("calls") == {("a.py::use", "a.py::settle")}
    assert model_of(PROFILES["default"], repository.open()) is shipped("names")
    assert model_of(PROFILES["change"], repository.open()) is shipped("commits")
    repository.index(rebuild=True)
    assert model_of(PROFILES["default"], repository.open()) is shipped("tasks")
