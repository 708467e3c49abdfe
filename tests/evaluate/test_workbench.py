"""The Python API of evaluation: callables as systems, runs as tables, comparisons and gates without a run file."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import assay
from support.workbench import Workbench, question, timeless

RECORDS = [question(number) for number in range(12)]


def perfect(query: str, k: int) -> list[str]:
    return [f"d{query.split()[-1]}"]


def half(query: str, k: int) -> list[str]:
    number = int(query.split()[-1])
    return ["other", f"d{number}"] if number % 2 else ["other"]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    assert not (tmp_path / ".assay").exists() or (tmp_path / "keeps").exists(), "a run in memory wrote a file"


# systems


def test_the_package_is_callable() -> None:
    package: Any = import_module("assay.evaluate")
    assert package is assay.evaluate
    assert assay.evaluate(RECORDS, perfect).metrics["R@10"] == 1.0


class Retriever:
    def retrieve(self, query: str, top_k: int = 3) -> list[dict[str, Any]]:
        return [{"id": document, "score": 1.0} for document in perfect(query, top_k)]


async def waiting(query: str, k: int) -> list[str]:
    await asyncio.sleep(0)
    return perfect(query, k)


def with_hits(query: str, k: int) -> Iterator[assay.Hit]:
    yield assay.Hit(perfect(query, k)[0], score=0.5)


def with_pairs(query: str) -> list[tuple[str, float]]:
    return [(perfect(query, 1)[0], 0.5)]


@pytest.mark.parametrize("system", [Retriever, Retriever(), waiting, with_hits, with_pairs, lambda q, k: perfect(q, k)])
def test_every_kind_of_retriever_in_python_is_accepted(system: object) -> None:
    assert assay.evaluate(RECORDS, system).metrics["RR@10"] == 1.0


def test_an_async_client_stays_in_one_loop_for_all_queries() -> None:
    loops = set()

    async def search(query: str, k: int) -> list[str]:
        loops.add(id(asyncio.get_running_loop()))
        return perfect(query, k)

    assert assay.evaluate(RECORDS, search).metrics["RR@10"] == 1.0
    assert len(loops) == 1


@dataclass
class Document:
    """The shape of a LangChain document."""

    page_content: str
    metadata: dict[str, Any]
    id: str | None = None


class RunnableRetriever:
    def invoke(self, input: str, config: object = None, **options: object) -> list[Document]:
        return [Document("some text", {"source": f"docs/{perfect(input, 1)[0]}"})]


def test_a_retriever_with_invoke_is_asked_like_langchains() -> None:
    golden = [{"id": "q1", "question": "question number 1", "expected_files": ["docs/d1"]}]
    assert assay.evaluate(golden, RunnableRetriever()).metrics["RR@10"] == 1.0


@dataclass
class Node:
    id_: str
    text: str
    metadata: dict[str, Any]


@dataclass
class NodeWithScore:
    """The shape of a LlamaIndex result."""

    node: Node
    score: float


def test_a_retriever_with_nodes_is_asked_like_llamaindexs() -> None:
    class Index:
        def retrieve(self, str_or_query_bundle: str) -> list[NodeWithScore]:
            return [NodeWithScore(Node(perfect(str_or_query_bundle, 1)[0], "text", {}), 0.9)]

    assert assay.evaluate(RECORDS, Index()).metrics["RR@10"] == 1.0


# systems that misbehave


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"system": 3}, "neither a function nor an object"),
        ({"system": "nope:x"}, "unknown kind of system 'nope'"),
        ({"k": 0}, "must be at least 1"),
        ({"metrics": ["nDGC@10"]}, "unknown measure"),
        ({"metrics": "nDCG@10"}, "metrics is a list"),
        ({"matching": "stric"}, "Did you mean 'strict'"),
        ({"golden": "nowhere.jsonl"}, "no such file"),
        ({"golden": []}, "empty"),
        ({"golden": [{"question": "x", "expected_docs": [object()]}]}, "records:1"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    chosen: dict[str, Any] = {"golden": RECORDS, "system": perfect} | arguments
    with pytest.raises(assay.AssayError, match=message):
        assay.evaluate(**chosen)


# runs


def test_a_run_is_a_table() -> None:
    run = assay.evaluate(RECORDS, half, metrics=["RR@5", "Success@1"])
    assert run.metrics == {"RR@5": 0.25, "Success@1": 0.0}
    rows = run.to_dicts()
    assert [row["id"] for row in rows] == [f"q{number}" for number in range(12)]
    assert rows[1]["RR@5"] == 0.5
    assert rows[1]["found"] == {"d1": 2}
    assert rows[1]["retrieved"] == ["other", "d1"]
    assert list(run) == rows
    assert repr(run) == f"<Run {run.id}: {run.system} on 12 queries, RR@5 0.2500, Success@1 0.0000>"


def test_a_missing_table_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    run = assay.evaluate(RECORDS, half)
    for package in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(assay.AssayError, match=f"{package} is not installed: pip install {package}"):
            getattr(run, f"to_{package}")()


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_run_as_a_data_frame(package: str) -> None:
    pytest.importorskip(package)
    frame = getattr(assay.evaluate(RECORDS, half), f"to_{package}")()
    assert list(frame["RR@10"])[:2] == [0.0, 0.5]
    assert len(frame) == 12


def test_a_run_is_the_same_in_memory_in_a_file_and_by_the_command(tmp_path: Path) -> None:
    (tmp_path / "keeps").touch()
    bench = Workbench(tmp_path)
    bench.golden(RECORDS)
    spec = bench.ranking("planted", {f"q{number}": 1 + number % 3 for number in range(12)})
    run = assay.evaluate("golden.jsonl", spec, label="mine")
    printed = bench.run(spec, "--label", "mine")
    assert timeless(run.summary) == timeless(printed)
    identity = run.save(tmp_path)
    assert run.save(tmp_path) == identity, "saving twice keeps one run"
    # the command may have made a run of the same second, so that the saved one has another id
    assert assay.Run.load(tmp_path, identity).summary == {**run.summary, "run_id": identity}
    assert bench.json("show", identity)["metrics"] == run.metrics


def test_a_run_with_a_store_is_kept_there(tmp_path: Path) -> None:
    run = assay.evaluate(RECORDS, half, store=tmp_path / "runs.db")
    assert assay.Run.load(tmp_path / "runs.db").summary == run.summary


def test_a_run_can_be_judged_again_by_another_matcher() -> None:
    golden = [{"id": "a", "question": "x", "expected_symbols": ["Store.open"]}]
    run = assay.evaluate(golden, lambda query, k: ["src/store.py::store.open"])
    assert run.metrics["R@10"] == 0.0
    assert run.rescored(matching="dotted").metrics["R@10"] == 1.0
    assert run.rescored(["RR@1"]).metrics == {"RR@1": 0.0}
    assert run.metrics["R@10"] == 0.0


# comparisons and gates


def test_two_runs_are_compared_as_the_command_compares_them(tmp_path: Path) -> None:
    (tmp_path / "keeps").touch()
    bench = Workbench(tmp_path)
    bench.golden(RECORDS)
    specs = [
        bench.ranking("before", {f"q{number}": 1 + number % 3 for number in range(12)}),
        bench.ranking("after", {f"q{number}": 1 for number in range(12)}),
    ]
    before, after = (assay.evaluate("golden.jsonl", spec) for spec in specs)
    comparison = assay.compare(before, after)
    assert comparison.counts == {"Win": 8, "Loss": 0, "Draw": 4, "Regression": 0}
    assert comparison.metrics["RR@10"].delta > 0
    bench.run(specs[0])
    bench.run(specs[1])
    printed = bench.json("compare", "latest~1", "latest")
    assert comparison.summary["statistics"] == printed["statistics"]
    assert [row["kind"] for row in comparison.to_dicts()] == [row["kind"] for row in printed["per_query"]]
    assert "RR@10 +0.3889" in repr(comparison)


def test_runs_on_several_sets_are_pooled_as_clusters() -> None:
    sets = [[question(number) | {"id": f"s{part}-{number}"} for number in range(part, part + 6)] for part in range(4)]
    before = [assay.evaluate(golden, half) for golden in sets]
    after = [assay.evaluate(golden, perfect) for golden in sets]
    comparison = assay.compare(before, after)
    pair = comparison.metrics["RR@10"]
    assert (pair.n, pair.clusters) == (24, 4)
    assert pair.p >= 2 / 2**4, "four sets cannot show more, however many queries they have"
    assert comparison.to_dicts()[0]["query_id"] == "records/s0-0"
    assert comparison.to_dicts()[-1]["query_id"] == "records-4/s3-8"
    assert comparison.to_dicts()[-1]["text"] == "question number 8"
    with pytest.raises(assay.AssayError, match="give a pair for every golden set"):
        assay.compare(before, after[:2])


def test_a_gate_checks_minimums_and_the_baseline(tmp_path: Path) -> None:
    good, bad = assay.evaluate(RECORDS, perfect), assay.evaluate(RECORDS, half)
    assert assay.gate(good, minimum={"RR@10": 0.9})
    assert assay.gate(good, bad)
    verdict = assay.gate(bad, good, minimum={"mrr@10": 0.9})
    assert not verdict.passed
    assert any("RR@10 is 0.2500; required: at least 0.9" in message for message in verdict.failures)
    assert any("significant loss" in message for message in verdict.failures)
    good.save_baseline(tmp_path / "baseline.json")
    assert assay.gate(bad, tmp_path / "baseline.json").failures == assay.gate(bad, good).failures
    assert assay.gate(good, tmp_path / "baseline.json")


def test_a_baseline_that_lies_in_the_folder_is_not_taken_unasked(tmp_path: Path) -> None:
    (tmp_path / "eval").mkdir()
    assay.evaluate(RECORDS, perfect).save_baseline(tmp_path / "eval/baseline.json")
    assert assay.gate(assay.evaluate(RECORDS, half)).passed


# notebooks


def test_every_value_shows_itself_as_escaped_html() -> None:
    nasty = "<script>alert(1)</script>"
    records = [
        {"id": f"{nasty}{number}", "question": f"{nasty} {number}", "expected_docs": [f"{nasty}d{number}"]}
        for number in range(12)
    ]

    def failing(query: str, k: int) -> list[str]:
        raise ValueError(f"{nasty}\x00")

    good = assay.evaluate(records, lambda query, k: [f"{nasty}d{query.split()[-1]}"])
    bad = assay.evaluate(records, failing, stop_after=0)
    values: list[Any] = [
        assay.load_golden(records),
        good,
        bad,
        assay.compare(good, bad, force=True),
        assay.gate(bad, good),
    ]
    for value in values:
        page = value._repr_html_()
        assert page.startswith("<table>")
        assert "&lt;script&gt;" in page or "gate" in page
        assert nasty not in page
        assert "\x00" not in page


def test_a_large_run_shows_only_its_first_rows() -> None:
    page = assay.evaluate([question(number) for number in range(50)], perfect)._repr_html_()
    assert page.count("<tr>") < 30
    assert "… and 30 more" in page


def test_a_system_that_fails_at_once_is_stopped() -> None:
    asked: list[str] = []

    def failing(query: str, k: int) -> list[str]:
        asked.append(query)
        raise ValueError("out of order")

    records = [{"id": f"{number}", "question": f"q {number}", "expected_docs": [f"d{number}"]} for number in range(12)]
    stopped = assay.evaluate(records, failing, stop_after=3)
    assert len(asked) == 3
    good = assay.evaluate(records, lambda query, k: [f"d{query.split()[-1]}"])
    with pytest.raises(assay.AssayError, match="incomplete"):
        assay.gate(stopped, good)
