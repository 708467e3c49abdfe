"""Stored vectors and nearest neighbours: keyed by model, embedded once, equal to brute force."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.search.embed import Nearest, Role, Vectors, embed_all
from assay.search.embed.embedders import text_hash
from assay.store import vectors
from assay.store.vectors import VectorStore
from assay.store.word_vectors import unit
from support.command import ENVIRONMENT
from support.property_tests import examples


class Counting:
    """An embedder whose vectors tell the text, the role and the model, and that remembers what it was asked."""

    def __init__(self, name: str = "one", dimensions: int = 4, factor: float = 1.0) -> None:
        self.name, self.dimensions, self.factor = name, dimensions, factor
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        self.asked += texts
        rows = [[len(text) + 1.0, sum(map(ord, text)), role == "query", self.factor] for text in texts]
        return unit(np.array(rows, np.float32).reshape(len(texts), 4)[:, : self.dimensions])


@pytest.fixture
def store(tmp_path: Path) -> VectorStore:
    return VectorStore(tmp_path / "vectors.db")


def test_only_what_is_missing_is_embedded_and_each_text_once(store: VectorStore) -> None:
    model = Counting()
    first = embed_all(model, ["a", "b", "a"], store)
    assert model.asked == ["a", "b"]
    second = embed_all(model, ["c", "a", "b"], store)
    assert model.asked == ["a", "b", "c"]
    assert np.array_equal(second[1:], first[:2])
    assert np.array_equal(second, model.embed(["c", "a", "b"]))


@given(
    asked=st.lists(
        st.tuples(
            st.sampled_from(["one", "two"]),
            st.sampled_from(["passage", "query"]),
            st.lists(st.text(max_size=3), max_size=6),
        ),
        max_size=6,
    )
)
@settings(max_examples=examples(40), deadline=None)
def test_the_cache_never_mixes_models_roles_or_texts(
    asked: list[tuple[str, Role, list[str]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = VectorStore(tmp_path_factory.mktemp("store") / "vectors.db")
    models = {"one": Counting("one"), "two": Counting("two", factor=9.0)}
    for name, role, texts in asked:
        assert np.array_equal(embed_all(models[name], texts, store, role), models[name].embed(texts, role))
    store.close()


def test_no_texts_make_no_rows_but_the_right_width(store: VectorStore) -> None:
    assert embed_all(Counting(), [], store).shape == (0, 4)
    assert embed_all(Counting(), ["a"]).shape == (1, 4)


def test_a_vector_of_another_length_or_damaged_is_made_again(store: VectorStore, tmp_path: Path) -> None:
    embed_all(Counting(dimensions=3), ["a"], store)
    assert embed_all(Counting(), ["a"], store).shape == (1, 4)
    with sqlite3.connect(tmp_path / "vectors.db") as connection:
        connection.execute("UPDATE vectors SET vector = zeroblob(16)")
    model = Counting()
    assert embed_all(model, ["a"], store)[0].any()
    assert model.asked == ["a"]


def test_progress_counts_what_had_to_be_embedded(store: VectorStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.search.embed.embedders.PORTION", 2)
    seen: list[tuple[int, int]] = []
    embed_all(Counting(), ["a"], store)
    embed_all(Counting(), list("abcdef"), store, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(2, 5), (4, 5), (5, 5)]


@pytest.mark.parametrize("content", [b"", b"this is no database, it only looks as long as one" * 90])
def test_a_damaged_or_empty_file_is_no_obstacle(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vectors.db"
    path.write_bytes(content)
    model = Counting()
    embed_all(model, ["a"], VectorStore(path))
    embed_all(model, ["a"], VectorStore(path))
    assert model.asked == ["a"]


def test_a_place_that_cannot_be_written_only_costs_the_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert embed_all(Counting(), ["a"], VectorStore(tmp_path / "file" / "vectors.db")).shape == (1, 4)


WORKER = """
import os, signal, sys
from pathlib import Path
from test_vectors import Counting
from assay.search.embed import embed_all, embedders
from assay.store.vectors import VectorStore

embedders.PORTION = 5
path, first, last, kill_after = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
def progress(done, total):
    if kill_after and done >= kill_after:
        os.kill(os.getpid(), signal.SIGKILL)
embed_all(Counting(), [f"text {n}" for n in range(first, last)], VectorStore(path), progress=progress)
"""


def work(path: Path, first: int, last: int, kill_after: int = 0) -> subprocess.Popen[bytes]:
    where = os.pathsep.join((str(Path(__file__).parent), *sys.path))
    command = [sys.executable, "-c", WORKER, str(path), str(first), str(last), str(kill_after)]
    return subprocess.Popen(command, env={**ENVIRONMENT, "PYTHONPATH": where}, stderr=subprocess.PIPE)


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "vectors.db"
    killed = work(path, 0, 50, kill_after=20)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    model = Counting()
    rows = embed_all(model, [f"text {n}" for n in range(50)], VectorStore(path))
    assert model.asked == [f"text {n}" for n in range(20, 50)]
    assert np.array_equal(rows, model.embed([f"text {n}" for n in range(50)]))


def test_two_processes_fill_one_store(tmp_path: Path) -> None:
    path = tmp_path / "vectors.db"
    both = [work(path, 0, 300), work(path, 200, 500)]
    assert [process.communicate()[1] for process in both] == [b"", b""]
    model = Counting()
    embed_all(model, [f"text {n}" for n in range(500)], VectorStore(path))
    assert model.asked == []


def kept(store: VectorStore, name: str) -> bool:
    return bool(store.vectors(name, [text_hash("a", "passage")], 4))


def test_what_was_not_asked_for_in_a_long_time_is_swept(store: VectorStore) -> None:
    for name in ("old", "new"):
        embed_all(Counting(name), ["a"], store)
    store.write("UPDATE models SET day = day - ? WHERE name = ?", [(vectors.UNUSED_DAYS + 1, "old")])
    store.sweep()
    assert (kept(store, "old"), kept(store, "new")) == (False, True)


def test_a_store_that_is_too_large_loses_its_oldest_models(store: VectorStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first", "second", "third"):
        embed_all(Counting(name), list("abcd"), store)
    monkeypatch.setattr(vectors, "MOST_BYTES", 2 * 4 * 16)
    store.sweep()
    assert [kept(store, name) for name in ("first", "second", "third")] == [False, True, True]
    assert store.read("SELECT count(*) FROM vectors") == [(8,)]


# nearness


def clustered(rows: int, dimensions: int = 64, seed: int = 1) -> Vectors:
    generator = np.random.default_rng(seed)
    centres = generator.standard_normal((max(1, rows // 50), dimensions))
    return unit(
        (
            centres[generator.integers(0, len(centres), rows)] + 0.5 * generator.standard_normal((rows, dimensions))
        ).astype(np.float32)
    )


@given(st.integers(0, 40), st.integers(0, 45), st.integers(0, 99))
@settings(max_examples=examples(60), deadline=None)
def test_an_exact_search_is_a_full_sort_with_ties_by_number(rows: int, k: int, seed: int) -> None:
    made = np.random.default_rng(seed).integers(-1, 2, (rows, 3)).astype(np.float32)
    query = np.array([1, 2, 3], np.float32)
    scores = made @ query
    expected = sorted(range(rows), key=lambda row: (-scores[row], row))[:k]
    found = Nearest(made).search(query, k)
    assert found.rows.tolist() == expected
    assert found.scores.tolist() == scores[expected].tolist()


def test_a_search_among_some_rows_finds_only_those() -> None:
    made = clustered(300)
    among = np.arange(0, 300, 7)
    for limit in (1_000, 10):
        found = Nearest(made, exact_up_to=limit).search(made[3], 5, among)
        assert found.rows.tolist() == [
            int(among[place]) for place in np.argsort(-(made[among] @ made[3]), kind="stable")[:5]
        ]


def test_an_approximate_search_finds_nearly_all_and_measures_how_many() -> None:
    made = clustered(20_000)
    approximate = Nearest(made, exact_up_to=100)
    assert Nearest(made).recall() == 1.0
    assert not approximate.exact
    assert 0.95 <= approximate.recall(k=10, sample=40) <= 1.0
    found = approximate.search(made[17], 10)
    assert found.rows[0] == 17
    assert np.all(np.diff(found.scores) <= 0)


def test_the_recall_that_is_reported_is_that_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    made = clustered(3_000)
    monkeypatch.setattr("assay.search.embed.vector_index.RESCORED", 1)
    monkeypatch.setattr("assay.search.embed.vector_index.LEAST_RESCORED", 10)
    poor = Nearest(made, exact_up_to=100)
    asked = made[np.linspace(0, len(made) - 1, 30).astype(int)]
    shares = [len(set(poor.search(one, 10).rows) & set(Nearest(made).search(one, 10).rows)) / 10 for one in asked]
    assert poor.recall(10, 30) == pytest.approx(float(np.mean(shares)))
    assert poor.recall(10, 30) < 0.95
