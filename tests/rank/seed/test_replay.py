"""The pipeline of seed 003: candidates, seeds, path context, noise, the formula, and that nothing of it can be set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.items import Item
from assay.errors import AssayError
from assay.rank.arrays import Floats
from assay.rank.engine import Engine, open_engine
from assay.rank.profile import PROFILES, Profile, from_table
from assay.rank.query import parse_task
from assay.rank.ranking import WalkResult
from assay.rank.recency import UNKNOWN
from assay.rank.seed.paths import path_context, path_terms
from assay.rank.seed.replay import SeedEngine, by_rank, composite, fuse, largest_folder_first, seed_count
from assay.rank.seed.specification import EDGE_WEIGHTS
from assay.rank.signals.fusion import Channel, fused_scores
from support.command import assay
from support.repository import Repository
from support.sample_code import BASKETS, OPERATIONS, STORE
from support.spans import SERVER, SpanRow, code, json_request


@pytest.fixture
def tables(repository: Repository) -> Repository:
    repository.write("app/migrations/operations.py", OPERATIONS)
    repository.write("app/store.py", STORE)
    repository.commit()
    repository.index()
    return repository


# -- the profile -------------------------------------------------------------------------------------------------------


def test_the_profile_seed_is_the_replay(tables: Repository) -> None:
    index = tables.open()
    engines = [open_engine(index, profile) for profile in PROFILES.values()]
    index.close()
    assert [engine.profile.name for engine in engines if isinstance(engine, SeedEngine)] == ["seed"]


@pytest.mark.parametrize("settings", [{}, {"walk": 0.5}, {"edge_weights": {"calls": 2.0}}])
def test_nothing_of_a_specification_can_be_changed(settings: Mapping[str, Any]) -> None:
    message = (
        "'seed' replays a specification and has no settings; base yours on default, no-history, hand-tuned, change"
    )
    with pytest.raises(AssayError, match=message):
        from_table("mine", {"base": "seed", **settings}, "here")


# -- candidates and seeds ----------------------------------------------------------------------------------------------


def test_seeds_by_rank_weigh_from_1_to_4_tenths() -> None:
    assert by_rank([3, 1, 2], 5, 3) == pytest.approx([0, 0.7, 0.4, 1.0, 0])
    assert by_rank([3, 1, 2], 5, 1).tolist() == [0, 0, 0, 1.0, 0]
    assert not by_rank([], 5, 3).any()


def test_the_folder_with_most_candidates_goes_first() -> None:
    folders = np.array([0, 7, 8, 8, 7, 8])
    assert largest_folder_first([1, 2, 3, 4, 5], folders) == [2, 3, 5, 1, 4]
    assert largest_folder_first([1, 2], folders) == [1, 2]
    assert largest_folder_first([], folders) == []


@pytest.mark.parametrize(("items", "count"), [(100, 15), (10_000, 20), (39_999, 20), (40_000, 25), (900_000, 25)])
def test_a_larger_graph_has_more_seeds(items: int, count: int) -> None:
    assert seed_count(items) == count


@given(
    st.dictionaries(
        st.sampled_from("abc"),
        st.builds(Channel, st.sampled_from([0.0, 0.5, 2.0]), st.lists(st.integers(1, 12), unique=True, max_size=8)),
    )
)
def test_fused_candidates_come_once_and_best_first(channels: dict[str, Channel]) -> None:
    scores = fused_scores(channels)
    assert fuse(channels, np.arange(13)) == sorted(scores, key=lambda number: (-scores[number], number))


def test_fusion_returns_forty_candidates() -> None:
    assert fuse({"a": Channel(1.0, range(100))}, np.arange(100)) == [*range(40)]


# -- path context ------------------------------------------------------------------------------------------------------


def test_path_terms_are_words_that_may_name_folders() -> None:
    assert path_terms("Fix the migration of old rows") == ["migration", "rows"]


def test_types_under_a_path_that_the_task_speaks_of_are_found_those_with_named_members_first(
    tables: Repository,
) -> None:
    index = tables.open()
    task = "fix the migration that should apply twice"
    found = path_context(index, task, parse_task(task, Profile()).keywords)
    names = [index.item(number).symbol for number in found]
    index.close()
    assert names[:2] == ["Rename", "Operation"]  # both have `apply`; shorter qualified names first
    assert names.index("Lonely") == 2
    assert "Store" not in names


def test_a_task_that_names_no_path_has_no_context(tables: Repository) -> None:
    index = tables.open()
    assert path_context(index, "encode numbers", parse_task("encode numbers", Profile()).keywords) == []
    index.close()


# -- scoring -----------------------------------------------------------------------------------------------------------


def _parts(walk: WalkResult, confidence: Floats) -> dict[str, Floats]:
    return composite(walk, confidence, np.full(len(confidence), UNKNOWN))


def test_the_score_has_the_weights_of_the_specification() -> None:
    walked = WalkResult(np.array([0.5, 0.25, 0.001]), np.array([1.0, 0, 0]), np.array([0.1, 0, 0]))
    parts = _parts(walked, np.array([0.9, 0.7, 1.0]))
    assert sum(values[0] for values in parts.values()) == pytest.approx(0.35 + 0.20 * 0.9 + 0.15 * 0.3 + 0.15 + 0.1)
    assert sum(values[1] for values in parts.values()) == pytest.approx(0.35 * 0.5 + 0.20 * 0.7 + 0.15 * 0.3 + 0.15 / 2)


def test_what_the_walk_hardly_reached_has_no_score() -> None:
    parts = _parts(WalkResult(np.array([1.0, 0.019]), np.array([1.0, 0]), np.zeros(2)), np.ones(2))
    assert sum(values[1] for values in parts.values()) == 0


def test_what_traces_saw_running_is_recent(repository: Repository, tmp_path: Path) -> None:
    repository.write("shop.py", BASKETS)
    repository.commit()
    repository.index()
    spans = [
        SpanRow(1, 2, 0, SERVER, code("shop.invoice", "/srv/shop.py"), 9),
        SpanRow(2, 4, 0, SERVER, code("shop.discounted", "/srv/shop.py"), 9, ago=10 * 86400),
    ]
    (tmp_path / "spans.json").write_bytes(json_request("shop", spans))
    assert assay(repository.root, "ingest-otlp", str(tmp_path / "spans.json")).code == 0
    recency = {}
    for symbol in ("invoice", "discounted", "Basket.total_price"):
        out = assay(repository.root, "why", "total price of the basket: invoice", symbol, "--profile", "seed").out
        [line] = [line for line in out.splitlines() if "recency: how lately traces saw it running" in line]
        recency[symbol] = float(line.split()[1])
        assert ("observed: called 1 time" in out) == (symbol != "Basket.total_price")
    assert recency == {"invoice": 0.15, "discounted": 0.075, "Basket.total_price": 0.045}


def test_test_code_counts_three_tenths_unless_the_task_is_about_tests(repository: Repository) -> None:
    repository.write("shop.py", BASKETS)
    repository.write("tests/test_shop.py", "from shop import invoice\n\n\ndef test_invoice():\n    invoice(None)\n")
    repository.index()
    index = repository.open()
    [test] = index.items("s.symbol = 'test_invoice'")
    engine = SeedEngine(index)
    lowered, plain = engine.rank("the invoice"), engine.rank("tests of the invoice")
    index.close()
    assert lowered.multipliers["tests"][test.number] == 0.3
    assert plain.multipliers["tests"][test.number] == 1.0


# -- edges -------------------------------------------------------------------------------------------------------------


def test_every_edge_that_weighs_something_can_be_walked() -> None:
    from assay.rank.profile import WALKED

    assert set(EDGE_WEIGHTS) == set(WALKED)


def test_types_come_first_among_the_seeds_of_a_dense_graph(tables: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tables.open()
    first_kinds = []
    for dense in (40_000, 1):
        monkeypatch.setattr("assay.rank.seed.specification.DENSE", dense)
        seeds = SeedEngine(index).rank("`describe` the rows: rename an operation").walk.seeds
        first_kinds.append(index.item(int(seeds.argmax())).kind)
    index.close()
    assert first_kinds == ["function", "class"]


# -- noise, implementors -----------------------------------------------------------------------------------------------


def test_noise_is_left_out_and_says_so(tables: Repository) -> None:
    tables.write("app/fake.py", "class FakeStore:\n    def save(self, row):\n        return row\n")
    tables.commit()
    tables.index()
    index = tables.open()
    ranking = SeedEngine(index).rank("fake store save row")
    dropped = {index.item(number).symbol for number in ranking.noise}
    kept = [index.item(number).symbol for number in ranking.best(20)]
    noisy = Engine(index, Profile()).ranked("fake store save row", 3)
    index.close()
    assert {"FakeStore", "FakeStore.save"} <= dropped
    assert dropped.isdisjoint(kept)
    assert noisy[0].item.symbol.startswith("FakeStore")


def test_implementors_of_an_interface_are_seeds(repository: Repository) -> None:
    repository.write("Shape.java", "public interface Shape { double area(); }\n")
    repository.write("Disc.java", "public class Disc implements Shape { public double area() { return 3; } }\n")
    repository.commit()
    repository.index()
    index = repository.open()
    [shape] = index.items("s.symbol = 'Shape'")
    [disc] = index.items("s.symbol = 'Disc'")
    engine = SeedEngine(index)
    assert disc.number in engine.graph.sources(np.array([shape.number]), "implements").tolist()
    found: list[Item] = [ranked.item for ranked in engine.ranked("the `Shape`", 5)]
    index.close()
    assert "Disc" in [item.symbol for item in found]
