"""benchmarks/query.py on a tiny tree: it reports which latency budgets hold."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.paths import BENCHMARKS


@pytest.fixture
def query(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark as a module."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import query

    return query


def test_it_measures_everything_that_has_a_budget(
    query: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree, tasks, result = tmp_path / "tree", tmp_path / "tasks.jsonl", tmp_path / "result.json"
    tree.mkdir()
    (tree / "shop.py").write_text("def total_price():\n    return 1\n")
    tasks.write_text('{"id": "a", "question": "total price", "expected_symbols": ["total_price"]}\n')
    options = {"tasks": tasks, "django": tree, "work": tmp_path / "work", "rounds": 1, "commands": 1, "json": result}
    arguments = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
    monkeypatch.setattr(sys, "argv", ["query.py", *arguments])
    monkeypatch.setattr(query, "SETTLED", 0.0)
    query.main()
    shown, figures = capsys.readouterr().out, json.loads(result.read_text())
    for name in query.BUDGETS:
        assert name in figures
        assert f"| {name} |" in shown
    assert figures["symbols at 4×"] == 4 * figures["symbols"] == 4


def test_a_budget_that_is_exceeded_is_called_missed(query: Any) -> None:
    table = query.table(
        {"context p50": query.Took(50.1, 1.0), "context p95": query.Took(150.0, 1.0), "symbols": 12_345}
    )
    assert "| context p50 | 50 ms (1) | 50 | MISSED |" in table
    assert "| context p95 | 150 ms (1) | 150 | kept |" in table
    assert "| symbols | 1.234e+04 |  |  |" not in table
