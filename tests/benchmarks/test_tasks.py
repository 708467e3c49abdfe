"""The task corpus (eval/tasks), and how benchmarks/tasks.py scores and compares on it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from assay.core.golden import Expected, GoldenQuery
from assay.core.items import Item
from assay.evaluate.golden import load
from support.paths import ROOT

TASKS = ROOT / "eval/tasks"
ROWS = yaml.safe_load((TASKS / "corpora.yaml").read_text("utf-8"))["corpora"]
NOT_CODE = (".vue", ".svelte", ".gjs", ".html", ".sql", ".css", ".erb")


@pytest.fixture
def corpus(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    import task_corpus

    return task_corpus


@pytest.fixture
def scoring(corpus: Any) -> Any:
    import tasks

    return tasks


# the corpus


def test_splits_are_by_repository_and_tested_on_large_applications() -> None:
    assert Counter(row["split"] for row in ROWS) == {"train": 16, "development": 8, "test": 8}
    assert all(row["large"] for row in ROWS if row["split"] == "test")
    assert sum(row["large"] for row in ROWS) >= 16
    assert set(Counter(row["language"] for row in ROWS).values()) == {4}
    assert all(len(row["commit"]) == 40 for row in ROWS)


@pytest.mark.parametrize("name", [row["name"] for row in ROWS])
def test_every_task_follows_the_guide(name: str) -> None:
    golden = load(TASKS / f"{name}.jsonl")
    assert golden.warnings == ()
    assert len(golden.queries) == len({query.id for query in golden.queries}) == 20
    for query in golden.queries:
        labels = query.at("symbol")
        assert 3 <= len(labels) <= 10, query.id
        assert {label.grade for label in labels} <= {1, 2, 3}
        assert any(label.grade == 3 for label in labels), query.id
        assert len({label.name for label in labels}) == len(labels), query.id
        assert query.category in ("understand", "extend", "fix", "change")
        for label in labels:
            path, separator, symbol = label.name.partition("::")
            assert separator
            assert symbol
            assert not path.startswith("/")
            assert not path.endswith(NOT_CODE), label.name


def test_a_fifth_is_labelled_twice_with_the_same_questions() -> None:
    second = [query for row in ROWS for query in load(TASKS / "second" / f"{row['name']}.jsonl").queries]
    first = {query.id: query.text for row in ROWS for query in load(TASKS / f"{row['name']}.jsonl").queries}
    assert len(second) == 128
    assert all(first[query.id] == query.text for query in second)


# scores


def _item(id: str) -> Item:
    path, _, symbol = id.partition("::")
    return Item(1, id, "function", symbol.rpartition(".")[2], symbol, path, 1, 2, "", "", False)


def _task(*labels: tuple[str, int]) -> GoldenQuery:
    return GoldenQuery("q", "text", tuple(Expected(name=name, level="symbol", grade=grade) for name, grade in labels))


def test_figures_count_a_label_once_and_neighbours_for_precision_only(corpus: Any) -> None:
    task = _task(("a.py::Cart.add", 3), ("b.py::Order", 1))
    items = [_item("c.py::other"), _item("a.py::Cart"), _item("a.py::Cart.add"), _item("a.py::ns.Cart.add")]
    figures = corpus.Judged.of(items, task).figures([0, 1, 2, 3])
    assert figures == {"P@10": 0.3, "R@10": 0.5, "RR@10": 0.5, "must-know R@10": 1.0}
    assert corpus.Judged.of(items, task).figures([2])["RR@10"] == 1
    assert corpus.Judged.of([], task).figures([])["R@10"] == 0


def test_a_difference_of_all_repositories_is_significant_and_one_of_chance_is_not(scoring: Any) -> None:
    before = np.linspace(0.2, 0.4, 8)
    low, high, p = scoring.compared(before, before + 0.05)
    assert -0.02 < low < high == pytest.approx(0.05), "eight equal differences leave room for another one"
    assert p < 0.02  # the least that eight repositories allow: 2 of 256
    chance = np.array([0.1, -0.1, 0.05, -0.05, 0.02, -0.02, 0.01, -0.01])
    low, high, p = scoring.compared(before, before + chance)
    assert low < 0 < high
    assert p > 0.5


def test_every_look_at_the_test_split_is_logged(scoring: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "EXPERIMENTS.md"
    log.write_text("# Experiments\n\nNewest first.\n\n## Older\n\nText.\n")
    monkeypatch.setattr(scoring, "LOG", log)
    for reason in ("look 1", "look 2"):
        scoring.log_look(reason, ["| a | 0.1 |"])
    text = log.read_text()
    assert text.count("## Looks at the test split") == 1
    assert text.index("look 2") < text.index("look 1") < text.index("## Older")
    monkeypatch.setattr(sys, "argv", ["tasks.py", "--work", str(tmp_path), "--split", "test"])
    with pytest.raises(SystemExit):
        scoring.main()
    assert log.read_text() == text


def test_the_models_name_features_that_exist() -> None:
    stored = json.loads((ROOT / "src/assay/rank/ranker_tasks.json").read_text("utf-8"))
    from assay.rank.features import FEATURES

    assert set(stored["features"]) <= set(FEATURES)
    assert len(stored["trees"]) == 400
