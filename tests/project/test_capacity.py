"""The capacity page is what its script writes, and the simulation behind it agrees with queueing theory."""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import capacity  # noqa: E402


def test_the_page_has_the_figures_of_the_script() -> None:
    parts = capacity.blocks(json.loads(capacity.DEFAULT.read_text()))
    page = capacity.PAGE.read_text("utf-8")
    assert all(f"<!-- {name}: benchmarks/capacity.py -->\n{text}\n" in page for name, text in parts.items())
    assert capacity.filled(page, parts) == page, "run: python benchmarks/capacity.py page --write"


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_one_server_with_exponential_times_waits_as_long_as_theory_says(load: float) -> None:
    times = capacity.simulate(load, lambda chance: chance.expovariate(1.0), 1, seed=7)
    assert statistics.fmean(times) == pytest.approx(1 / (1 - load), rel=0.1)


def test_more_servers_are_found_for_more_work_and_a_long_job_ends_the_search() -> None:
    few, many = (capacity.servers_for(rate, lambda _: 1.0, 2.0)[0] for rate in (1.0, 20.0))
    assert 1 < few < 20 < many
    assert capacity.servers_for(1.0, lambda _: 10.0, 2.0)[0] >= 10
