"""Sweeps: configurations and their names, shared work, resumption, the verdict, and the reports."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.evaluate.runs import RunStore
from assay.evaluate.sweep import grid as grid_file
from assay.evaluate.sweep.grid import MAX_CONFIGURATIONS, Configuration, Grid, names
from assay.evaluate.sweep.verdict import Measured, band, best_shares, figures, judge, pareto_front
from support.command import COMMAND, ENVIRONMENT, assay
from support.model_server import run_model_server
from support.waiting import until
from support.workbench import COULD_NOT_RUN, DONE, QUALITY, Workbench, messages


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path / "bench")


# --- what is tried


def test_chunk_sizes_alone_are_tried_with_and_without_reranker_as_in_the_seed() -> None:
    configurations = Grid(axes={"chunker": ["structure:512", "structure:2048"]}).configurations()
    assert names(configurations) == [
        "chunk_512_no_rerank", "chunk_512_with_rerank", "chunk_2048_no_rerank", "chunk_2048_with_rerank",
    ]  # fmt: skip
    assert len(Grid().configurations()) == 8
    assert configurations[1].spec == "search:chunker=structure:512,embedder=lsa,reranker=features"


def test_names_include_embedders_where_there_are_several() -> None:
    axes = {
        "chunker": ["tokens:512:64"],
        "embedder": ["lsa", "none", "folder:/models/bge-small/", "openai:http://127.0.0.1:1/v1#nomic"],
        "reranker": ["features", "folder:models/cross"],
        "vectors": ["0.3"],
    }
    found = names(Grid(axes=axes).configurations())
    assert found[0] == "tokens_512_64_lsa_rerank_features_vectors_0.3"
    assert [name.removeprefix("tokens_512_64_").partition("_rerank")[0] for name in found[::2]] == [
        "lsa", "lexical", "bge-small", "nomic",
    ]  # fmt: skip
    assert found[1].endswith("rerank_cross_vectors_0.3")


VALUES = st.lists(
    st.sampled_from(["a", "a/b", "c/b", "1", "1.0", "x#y", "é", "a b", "a_b"]), min_size=1, max_size=4, unique=True
)
AXES = st.dictionaries(st.sampled_from(["chunks", "walk", "edge_weights.calls", "b"]), VALUES, min_size=1, max_size=3)


@given(AXES, st.data())
def test_a_grid_is_every_combination_that_is_not_excluded(axes: dict[str, list[str]], data: st.DataObject) -> None:
    every = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    excluded = data.draw(st.lists(st.sampled_from(every), max_size=len(every) - 1, unique_by=repr))
    found = Grid("assay", axes, excluded).configurations()
    assert [dict(one.settings) for one in found] == [one for one in every if one not in excluded]
    assert len(set(names(found))) == len(found)
    assert len({one.spec for one in found}) == len(found)


def test_a_setting_stands_at_its_place_in_the_system_or_behind_it() -> None:
    assert Configuration("cmd:s --a {a} {query}", {"a": "3"}).spec == "cmd:s --a 3 {query}"
    assert Configuration("assay", {"walk": "0"}).spec == "assay:walk=0"
    assert Configuration("assay:lexical", {"walk": "0", "hits": "1"}).spec == "assay:lexical,walk=0,hits=1"
    assert Configuration("search").spec == "search"


@pytest.mark.parametrize(
    ("grid", "says"),
    [
        (Grid("cmd:x {query}", {"alpha": ["1"]}), "has no placeholder for alpha; write {alpha}"),
        (Grid("assay", {"walk": ["1", "2", "1"]}), "walk 1 is given twice"),
        (Grid("assay", {"walk": ["1"]}, [{"wakl": "1"}]), "Did you mean 'walk'?"),
        (Grid("assay", {"walk": ["1"]}, [{"walk": "2"}]), "exclusion walk=2 matches no configuration"),
        (Grid("assay", {"walk": ["1"]}, [{"walk": "1"}]), "every configuration is excluded"),
        (Grid("cmd:x {query}", {"query": ["1"]}), "query is not a setting"),
        (Grid("assay", {"a": [str(n) for n in range(MAX_CONFIGURATIONS + 1)]}), "1,001 configurations"),
    ],
)
def test_an_impossible_grid_is_refused(grid: Grid, says: str) -> None:
    with pytest.raises(AssayError, match=re.escape(says)):
        grid.configurations()


def test_a_grid_file_has_the_axes_under_the_names_of_the_options(tmp_path: Path) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text(
        "chunk_sizes: [512, 1024]\nchunkers: tokens:256:32\nembedders: [lsa, none]\nrerankers: [none]\n"
        "set:\n  vectors: [0.3, 0.5]\nexclude:\n  - {embedder: none, vectors: 0.3}\n  - {chunk_size: 1024, embedder: none}\n"
    )
    grid = grid_file.read(path)
    assert grid.axes == {
        "chunker": ["structure:512", "structure:1024", "tokens:256:32"], "embedder": ["lsa", "none"], "reranker": ["none"],
        "vectors": ["0.3", "0.5"],
    }  # fmt: skip
    assert len(grid.configurations()) == 12 - 3 - 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("embedder: [lsa]", ":1: unknown field `embedder`. Did you mean 'embedders'?"),
        ("rerankers: [none]\nchunk_sizes: [512, many]", ":2: no chunker 'structure:many'"),
        ("chunk_sizes:\n  - 512\n  - 2", ":3: chunker 'structure:2'"),
        ("set: [1]", ":1: `set` must be a mapping"),
        ("set:\n  walk: {a: 1}", ":2: `walk` must be a list, not a mapping"),
        ("exclude:\n  - none", ":2: `exclude` must list mappings"),
        ("embedders: []", ":1: `embedders` has no values to try"),
        ("embedders: [[lsa]]", ":1: `embedders` must hold plain values, not a list"),
        ("embedders: [null]", ":1: `embedders` must hold plain values, not nothing"),
        ("embedders: [lsa", ":2: broken YAML"),
        ("- 512", ":1: a grid is a mapping of"),
        ("", ":1: a grid is a mapping of"),
    ],
)
def test_a_wrong_grid_file_is_refused_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text(text)
    with pytest.raises(AssayError) as refused:
        grid_file.read(path)
    assert str(refused.value).startswith(f"{path}{says}")


# --- the verdict


def measured(name: str, quality: list[float], latency: float) -> Measured:
    """A configuration with planted figures."""
    one = mock.create_autospec(Measured, instance=True)
    one.name, one.quality, one.latency = name, np.array(quality), latency
    one.score = one.mrr = float(np.mean(quality))
    return one  # type: ignore[no-any-return]


CONFIGURATIONS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), min_size=1, max_size=9)


@given(CONFIGURATIONS)
def test_the_front_is_what_nothing_beats_in_quality_and_latency(figures: list[tuple[int, int]]) -> None:
    every = [measured(str(n), [quality / 4], float(latency)) for n, (quality, latency) in enumerate(figures)]
    on = pareto_front(every)

    def beats(a: Measured, b: Measured) -> bool:
        return a.score >= b.score and a.latency <= b.latency and (a.score, -a.latency) != (b.score, -b.latency)

    assert all(not beats(a, b) for a in every for b in on)
    assert all(any(beats(a, b) for a in on) for b in every if b not in on)
    verdict = judge(every, limit=3.0)
    best, fastest = (next(one for one in every if one.name == name) for name in (verdict.best, verdict.fastest))
    assert best.score == max(one.score for one in every)
    assert fastest.latency == min(one.latency for one in every)
    assert verdict.best in verdict.front
    in_time = [one.score for one in every if one.latency <= 3.0]
    assert (verdict.best_within_limit == "") == (not in_time)
    assert not in_time or next(one for one in every if one.name == verdict.best_within_limit).score == max(in_time)


def test_only_significant_differences_separate_from_the_best() -> None:
    good = [1.0] * 12
    bad, close = [0.0] * 12, [1.0] * 10 + [0.0] * 2
    verdict = judge([measured("good", good, 9.0), measured("bad", bad, 1.0), measured("close", close, 5.0)], 100.0)
    assert verdict.best == "good"
    assert verdict.indistinguishable == ["close"]
    assert verdict.fastest_indistinguishable == "close"
    assert verdict.fastest == "bad"
    assert verdict.versus_best["bad"].delta == -1.0
    eight = [measured("good", good, 9.0), *(measured(f"low{n}", [1.0] * 6 + [0.0] * 6, 1.0) for n in range(8))]
    alone = judge(eight[:2], 100.0)
    assert not alone.is_indistinguishable("low0")  # p = 2 / 64 = 0.031
    assert judge(eight, 100.0).is_indistinguishable("low0")


@given(st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), min_size=1, max_size=5))
def test_the_shares_of_the_best_add_up(
    rows: list[list[int]],
) -> None:
    quality = [np.array(row, dtype=float) for row in rows]
    shares = best_shares(quality)
    assert sum(shares) == pytest.approx(1.0)
    for one, share in zip(quality, shares, strict=True):
        if all((one >= other).all() for other in quality):
            assert share == max(shares)
    unjudged = [np.append(row, math.nan) for row in quality]
    assert best_shares(unjudged) == shares
    assert best_shares(quality, [str(n) for n in range(6)]) == shares


def test_whole_clusters_are_drawn_for_the_shares_of_the_best() -> None:
    first, second = np.array([1.0, 1, 1, 0, 0, 0, 0]), np.array([0.0, 0, 0, 1, 1, 1, 1])
    alone, together = best_shares([first, second]), best_shares([first, second], list("aaabbbb"))
    assert together == pytest.approx([0.25, 0.75], abs=0.05)  # aa, ab or ba, bb
    assert alone[0] > together[0] + 0.05


@pytest.mark.parametrize(
    ("key", "value", "word"),
    [
        ("mrr", 0.8, "Excellent"), ("mrr", 0.79, "Good"), ("mrr", 0.6, "Good"), ("mrr", 0.4, "Fair"), ("mrr", 0.39, "Poor"),
        ("recall_at_5", 0.9, "Excellent"), ("recall_at_5", 0.7, "Good"), ("recall_at_5", 0.5, "Fair"), ("recall_at_5", 0.49, "Poor"),
        ("ndcg_at_10", 0.9, "Excellent"), ("ndcg_at_10", 0.8, "Good"), ("ndcg_at_10", 0.6, "Fair"), ("ndcg_at_10", 0.59, "Poor"),
        ("mrr", None, ""), ("recall_at_10", 1.0, ""),
    ],
)  # fmt: skip
def test_the_bands_are_the_seeds(key: str, value: float | None, word: str) -> None:
    assert band(key, value) == word


def test_the_figures_are_named_by_their_cut_off() -> None:
    assert [one.key for one in figures(10)] == ["mrr", "recall_at_5", "recall_at_10", "ndcg_at_10", "precision_at_10"]
    assert [one.key for one in figures(5)] == ["mrr", "recall_at_5", "ndcg_at_5", "precision_at_5"]
    assert [one.title for one in figures(3)] == ["RR@3", "R@3", "nDCG@3", "P@3"]


# --- any system


def planted(bench: Workbench) -> tuple[str | Path, ...]:
    """20 questions and three run files: good, fair and bad."""
    bench.golden(
        {
            "id": f"q{n}",
            "question": f"question {n}",
            "expected_docs": [f"d{n}"],
            "category": "ab"[n % 2],
            "difficulty": "easy",
        }
        for n in range(20)
    )
    bench.ranking("good", {f"q{n}": 1 for n in range(20)})
    bench.ranking("fair", {f"q{n}": 1 + n % 3 for n in range(20)})
    bench.ranking("bad", {f"q{n}": None if n % 2 else 10 for n in range(20)})
    return "--queries", "golden.jsonl", "--system", "trec:{file}.run", "--set", "file=bad,fair,good"


def test_any_system_is_swept_and_the_reports_have_the_seeds_shapes(bench: Workbench) -> None:
    report = bench.json("sweep", *planted(bench), "--output", "out")
    assert report == json.loads((bench.folder / "out/comparison.json").read_text())
    assert {"timestamp", "num_configs", "reports"} <= report.keys()
    assert report["num_configs"] == 3
    bad, fair, good = report["reports"]
    assert json.loads((bench.folder / "out/file_good.json").read_text()) == good
    assert {"config", "summary", "category_metrics", "query_results"} <= good.keys()
    assert {"name", "chunk_size", "embedding_model", "use_reranker", "reranker_model"} <= good["config"].keys()
    assert good["summary"] == {
        "total_queries": 20, "avg_mrr": 1.0, "avg_recall_at_5": 1.0, "avg_recall_at_10": 1.0, "avg_ndcg_at_10": 1.0,
        "avg_precision_at_10": 0.1, "avg_latency_ms": None,
    }  # fmt: skip
    assert bad["summary"]["avg_mrr"] == 0.05
    assert fair["summary"]["avg_recall_at_10"] == 1.0
    assert good["category_metrics"]["a"]["count"] == 10
    assert set(good["category_metrics"]["a"]) - {"count"} == set(good["summary"]) - {"total_queries"}
    for group in "ab":
        ranks = [row["mrr"] for row in fair["query_results"] if row["category"] == group]
        assert fair["category_metrics"][group]["avg_mrr"] == round(sum(ranks) / len(ranks), 4)
    first = good["query_results"][0]
    assert (first["query_id"], first["mrr"], first["first_rank"], first["expected"]) == ("q0", 1.0, 1, ["d0"])
    assert report["recommendations"]["best_quality"]["name"] == "file_good"
    assert report["against_best"]["file_bad"]["told_apart"]
    assert report["not_told_apart"] == []


def test_the_table_marks_the_best_of_every_column(bench: Workbench) -> None:
    done = bench.eval("sweep", *planted(bench))
    rows = {line.split()[1]: line for line in done.lines if line.startswith("│ file_")}
    assert "1.0000*" in rows["file_good"]
    assert "*" not in rows["file_bad"].replace("1.0000*", "")
    assert "Best overall quality: file_good (nDCG@10: 1.0000; the best on 100% of resampled query sets)" in done.out
    assert "file_good: RR@10 Excellent, R@5 Excellent, nDCG@10 Excellent" in done.out
    assert "Significantly worse than the best: file_fair, file_bad" in done.out


def test_a_figure_below_its_floor_exits_with_1(bench: Workbench) -> None:
    arguments = [one if one != "file=bad,fair,good" else "file=bad,fair" for one in planted(bench)]
    assert bench.eval("sweep", *arguments, "--min-mrr", "0.5", "--min-ndcg", "0.6").code == DONE
    done = bench.eval("sweep", *arguments, "--min-mrr", "0.9", "--min-ndcg", "0.2")
    assert done.code == QUALITY
    assert "file_fair: RR@10 0.6250 is below 0.9" in done.err
    assert "nDCG" not in done.err


def test_a_configuration_is_a_run_that_other_commands_know(bench: Workbench) -> None:
    report = bench.json("sweep", *planted(bench))
    listed = bench.json("list")["runs"]
    assert [run["label"] for run in listed] == ["file_bad", "file_fair", "file_good"]
    shown = bench.json("show", "file_fair")
    assert shown["metrics"]["nDCG@10"] == report["reports"][1]["summary"]["avg_ndcg_at_10"]
    compared = bench.json("compare", "file_fair", "file_good")
    assert compared["statistics"]["nDCG@10"]["delta"] == pytest.approx(-report["against_best"]["file_fair"]["delta"])


def test_answered_queries_are_reused_unless_something_changed(bench: Workbench) -> None:
    arguments = planted(bench)
    bench.json("sweep", *arguments)
    again = bench.json("sweep", *arguments)["work"]
    assert (again["queries_asked"], again["finished_before"]) == (0, 3)
    bench.ranking("good", {f"q{n}": 2 for n in range(20)})
    changed = bench.json("sweep", *arguments)
    assert (changed["work"]["queries_asked"], changed["work"]["finished_before"]) == (20, 2)
    assert changed["reports"][2]["summary"]["avg_mrr"] == 0.5
    with RunStore.open(bench.folder / ".assay/runs.db", write=True) as store:
        done = store.find("file_good")
        store.start(replace(done, run_id="later", status="running"), store.golden(done))  # begun and killed at once
    assert bench.json("sweep", *arguments)["work"]["queries_asked"] == 0  # one that is finished counts more
    assert bench.json("sweep", *arguments, "--fresh")["work"]["queries_asked"] == 60
    assert bench.json("sweep", *arguments, "-k", "5")["work"]["queries_asked"] == 60


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Missing option '--queries'"),
        (("--queries", "none.jsonl"), "no such file"),
        (("--queries", "golden.jsonl", "--chunk-sizes", "512,,1"), "has an empty value"),
        (("--queries", "golden.jsonl", "--chunk-sizes", "big"), "no chunker 'structure:big'"),
        (("--queries", "golden.jsonl", "--set", "walk"), "write it as NAME=VALUE,VALUE"),
        (("--queries", "golden.jsonl", "--embedders", "lsa", "--set", "embedder=none"), "embedder is given twice"),
        (("--queries", "golden.jsonl", "--single", "--chunk-sizes", "512"), "leave out --single"),
        (("--queries", "golden.jsonl", "--grid", "none.yaml"), "none.yaml: cannot be read"),
        (("--queries", "golden.jsonl", "--system", "trec:{file}", "--set", "file=none.run"), "none.run"),
        (("--queries", "golden.jsonl", "--matching", "chunk"), "try --matching doc"),
        (("--queries", "golden.jsonl", "--min-mrr", "2"), "--min-mrr"),
    ],
)
def test_what_cannot_be_swept_is_refused_in_words(bench: Workbench, arguments: tuple[str, ...], says: str) -> None:
    bench.questions(3)
    done = bench.refused("sweep", *arguments)
    assert done.code == COULD_NOT_RUN
    assert says in done.err


def test_failed_queries_are_sent_again_the_next_time(bench: Workbench) -> None:
    bench.questions(4)
    spec = bench.script("print(json.dumps([])) if query[-1] != '2' or os.path.exists(here + '/well') else sys.exit(3)")
    arguments = ("sweep", "--queries", "golden.jsonl", "--system", f"{spec} {{size}}", "--set", "size=3")
    done = bench.eval(*arguments)
    assert done.code == QUALITY
    assert "size_3 failed on 1 of 4 queries" in done.err
    bench.write("well", "")
    report = bench.json(*arguments)
    assert report["work"]["queries_asked"] == report["work"]["resumed"] == 1
    assert "--fresh" not in str(report["warnings"])
    assert "cannot be detected; --fresh repeats them" in str(
        bench.json(*arguments)["warnings"]
    )  # a command may be another one now


# --- passages: shared stages, resuming, reproducing

SIZES = ("--chunk-sizes", "32,64")
TOPICS = ("harbour", "oven", "bridge", "glacier", "violin", "orchard")


def documents(bench: Workbench, count: int = 12, sentences: int = 6, asked: int = 12) -> Workbench:
    """Documents about topics, a golden set that asks for them, and an index."""
    for number in range(count):
        topic = TOPICS[number % len(TOPICS)]
        sections = "".join(
            f"## Part {part}\n\n"
            + "\n".join(f"The {topic} {number} in part {part} has detail {n}." for n in range(sentences))
            + "\n\n"
            for part in range(3)
        )
        bench.write(f"docs/{topic}{number}.md", f"# {topic.title()} {number}\n\n{sections}")
    bench.write("src/pump.py", "def pump():\n    return 1\n")
    bench.golden(
        {
            "id": f"q{number}",
            "question": f"what is the detail of {topic} number {number}",
            "expected_docs": [f"docs/{topic}{number}.md"],
            "category": topic,
        }
        for number in range(asked)
        for topic in [TOPICS[number % len(TOPICS)]]
    )
    assert assay(bench.folder, "index", ".").code == DONE
    return bench


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    return documents(Workbench(tmp_path_factory.mktemp("library") / "bench"))


def test_documents_are_chunked_and_embedded_once(library: Workbench) -> None:
    report = library.json("sweep", "--queries", "golden.jsonl", *SIZES, "--embedders", "lsa,none")
    work = report["work"]
    assert report["num_configs"] == 8
    assert work["chunk_sets"] == work["embedding_pairs"] == 2
    assert work["documents_divided"] == 2 * 12
    stages = work["stages"]
    assert [(one["chunker"], one["embedder"]) for one in stages] == [
        ("structure:32", "lsa"), ("structure:32", "none"), ("structure:64", "lsa"), ("structure:64", "none"),
    ]  # fmt: skip
    assert [one["documents_divided"] for one in stages] == [12, 0, 12, 0]
    assert [one["texts_embedded"] for one in stages] == [stages[0]["passages"], 0, stages[2]["passages"], 0]
    assert work["queries_asked"] == 8 * 12
    config = report["reports"][1]["config"]
    assert config == {
        "name": "chunk_32_lsa_with_rerank", "chunk_size": 32, "embedding_model": "lsa", "use_reranker": True,
        "reranker_model": "features", "system": "search:chunker=structure:32,embedder=lsa,reranker=features",
        "settings": {"chunker": "structure:32", "embedder": "lsa", "reranker": "features"},
    }  # fmt: skip
    more = library.json("sweep", "--queries", "golden.jsonl", *SIZES, "--rerankers", "none", "--embedders", "lsa,none")
    assert more["work"]["queries_asked"] == more["work"]["texts_embedded"] == more["work"]["documents_divided"] == 0


def test_running_the_system_of_a_configuration_again_gives_its_figures_exactly(library: Workbench) -> None:
    report = library.json("sweep", "--queries", "golden.jsonl", *SIZES, "--embedders", "lsa,none")
    keys = {"RR@10": "avg_mrr", "R@10": "avg_recall_at_10", "nDCG@10": "avg_ndcg_at_10", "P@10": "avg_precision_at_10"}
    for one in report["reports"][:4]:
        run = library.run(one["config"]["system"])
        assert {keys[name]: run["metrics"][name] for name in keys} == {
            key: one["summary"][key] for key in keys.values()
        }
        swept = library.json("show", one["run_id"])
        assert one["summary"]["avg_latency_ms"] == swept["latency"]["mean"]
        assert [query["retrieved"] for query in run["queries"]] == [query["retrieved"] for query in swept["queries"]]


def test_figures_do_not_depend_on_what_was_tried_before(tmp_path: Path) -> None:
    """Nine in ten passages are the same by both chunkers: near enough to tempt a table trained on the one to serve the other."""
    swept = {}
    for sizes in ("64,128", "128"):
        bench = documents(Workbench(tmp_path / sizes), sentences=1)
        bench.write("docs/long.md", "# Long\n\n" + "".join(f"Sentence {n} about the harbour.\n\n" for n in range(20)))
        assert assay(bench.folder, "index", ".").code == DONE
        swept[sizes] = bench.json("sweep", "--queries", "golden.jsonl", "--chunk-sizes", sizes)
    both, alone = swept.values()
    assert both["work"]["stages"][1] == alone["work"]["stages"][0] | {
        "texts_embedded": both["work"]["stages"][1]["texts_embedded"]
    }
    assert both["work"]["stages"][0]["model"] != both["work"]["stages"][1]["model"]
    assert [one["summary"] | {"avg_latency_ms": 0} for one in both["reports"][2:]] == [
        one["summary"] | {"avg_latency_ms": 0} for one in alone["reports"]
    ]


def test_several_at_once_give_the_same_figures_with_a_warning(library: Workbench) -> None:
    arguments = ("sweep", "--queries", "golden.jsonl", *SIZES, "--fresh")
    alone, at_once = library.json(*arguments), library.json(*arguments, "--jobs", "3")
    assert [one["category_metrics"].keys() for one in alone["reports"]] == [
        one["category_metrics"].keys() for one in at_once["reports"]
    ]
    assert [one["summary"]["avg_ndcg_at_10"] for one in alone["reports"]] == [
        one["summary"]["avg_ndcg_at_10"] for one in at_once["reports"]
    ]
    assert not any(one["latency_under_load"] for one in alone["reports"])
    assert all(one["latency_under_load"] for one in at_once["reports"])
    assert any("while others ran" in warning for warning in messages(at_once))


def test_single_measures_the_configuration_of_assay_toml(library: Workbench) -> None:
    toml = library.write("assay.toml", '[search]\nchunker = "structure:64"\nembedder = "none"\nreranker = "features"\n')
    try:
        report = library.json("sweep", "--queries", "golden.jsonl", "--single", "--min-mrr", "0")
    finally:
        toml.unlink()
    assert report["num_configs"] == 1
    told = report["reports"][0]
    assert {name: told["config"][name] for name in ("name", "chunk_size", "embedding_model", "reranker_model")} == {
        "name": "chunk_64_with_rerank", "chunk_size": 64, "embedding_model": None, "reranker_model": "features",
    }  # fmt: skip
    swept = library.json(
        "sweep", "--queries", "golden.jsonl", "--chunk-sizes", "64", "--embedders", "none", "--rerankers", "features"
    )
    assert swept["reports"][0]["summary"]["avg_ndcg_at_10"] == told["summary"]["avg_ndcg_at_10"]


def test_numbers_of_a_profile_are_settings_too(library: Workbench) -> None:
    golden = library.golden([{"id": "p", "question": "pump", "expected_files": ["src/pump.py"]}], "code.jsonl")
    options = ("--system", "assay:lexical", "--set", "walk=0,1.5", "--set", "edge_weights.calls=0.5")
    report = library.json("sweep", "--queries", golden, *options)
    assert [one["config"]["name"] for one in report["reports"]] == ["walk_0_calls_0.5", "walk_1.5_calls_0.5"]
    run = library.run(report["reports"][1]["config"]["system"], golden=golden)
    assert run["config"]["config"]["walk"] == 1.5
    assert run["config"]["config"]["edge_weights.calls"] == 0.5
    for wrong, says in (
        ("wakl=1", "Did you mean 'walk'?"),
        ("walk=much", "must be a number"),
        ("walk.x=1", "must be a number"),
    ):
        name, _, value = wrong.partition("=")
        done = library.refused("sweep", "--queries", golden, "--system", "assay", "--set", f"{name}={value}")
        assert done.code == COULD_NOT_RUN
        assert says in done.err


def test_a_reranker_that_is_not_there_is_met_before_much_was_done(bench: Workbench) -> None:
    documents(bench, count=2, asked=2)
    done = bench.eval("sweep", "--queries", "golden.jsonl", *SIZES, "--rerankers", "none,nope")
    assert done.code == COULD_NOT_RUN
    assert "unknown reranker 'nope'" in done.err
    assert [path.name for path in (bench.folder / ".assay").glob("passages-*")] == ["passages-structure-32.npz"]
    assert not (bench.folder / ".assay/runs.db").exists()


# --- killed


def vectors(path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Embeddings of eight dimensions, from the letters of a text."""
    rows = [[float(text.count(letter)) + 0.1 for letter in "aeiorstn"] for text in body["input"]]
    return {"data": [{"index": place, "embedding": row} for place, row in enumerate(rows)]}


def started(bench: Workbench, *arguments: str | Path) -> subprocess.Popen[bytes]:
    command = [*COMMAND, "eval", *map(str, arguments), "--root", "."]
    return subprocess.Popen(
        command, cwd=bench.folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def test_a_sweep_that_was_killed_while_embedding_embeds_only_the_rest(bench: Workbench) -> None:
    documents(bench, count=150, sentences=1, asked=4)
    with run_model_server(vectors) as server:
        arguments = (
            "sweep", "--queries", "golden.jsonl", "--chunk-sizes", "64,128", "--embedders", f"openai:{server.url}#toy,none",
        )  # fmt: skip
        process = started(bench, *arguments)
        until(
            lambda: sum(len(body["input"]) for body in server.asked) > 256 + 64
        )  # a portion is kept, the next under way
        kill(process)
        before = -1
        while before != len(server.asked):  # what the killed process had sent may still be on its way
            before = len(server.asked)
            time.sleep(0.5)
        report = bench.json(*arguments)
        sent = [text for body in server.asked for text in body["input"] if text.startswith(TITLES)]
        asked_again = [text for body in server.asked[before:] for text in body["input"] if text.startswith(TITLES)]
        first, _, second, _ = report["work"]["stages"]
        assert first["passages"] == second["passages"] == len(set(sent))  # sections are too short to be divided
        assert (first["texts_embedded"], second["texts_embedded"]) == (len(asked_again), 0)
        assert len(sent) - len(set(sent)) <= 256 + 64  # what was under way; portions that were kept are not sent again
        assert len(asked_again) <= len(set(sent)) - 256
        asked = len(server.asked)
        questions = Counter(
            text for body in server.asked[before:] for text in body["input"] if text.startswith("what is")
        )
        assert len(questions) == 4
        assert min(questions.values()) >= 4  # in each of four configurations: as if nobody had asked it before
        done = bench.json(*arguments)
        assert (done["work"]["texts_embedded"], done["work"]["queries_asked"]) == (0, 0)
        assert not [text for body in server.asked[asked:] for text in body["input"] if text.startswith(TITLES)]


TITLES = tuple(topic.title() for topic in TOPICS)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_sweep_that_was_killed_while_asking_asks_only_the_rest(bench: Workbench, jobs: str) -> None:
    bench.questions(12)
    spec = bench.script(
        "open(here + '/asked', 'a').write(sys.argv[3] + ' ' + query + '\\n'); time.sleep(0.05); print(json.dumps(['d' + query.split()[-1]]))"
    )
    options = ("--system", f"{spec} {{size}}", "--set", "size=a,b,c,d", "--jobs", jobs)
    arguments = ("sweep", "--queries", "golden.jsonl", *options)
    log = bench.folder / "asked"

    def asked() -> list[str]:
        return log.read_text().splitlines() if log.exists() else []

    process = started(bench, *arguments)
    until(lambda: len(asked()) >= 30)  # two of the four are finished, another is half way
    kill(process)
    before = -1
    while before != len(asked()):  # what it had started ends
        before = len(asked())
        time.sleep(0.5)
    finished = [run["label"] for run in bench.json("list")["runs"] if run["status"] == "complete"]
    assert finished
    report = bench.json(*arguments)
    assert report["work"]["queries_asked"] == len(asked()) - before
    assert report["work"]["resumed"] >= 1
    assert report["work"]["finished_before"] == len(finished)
    times = Counter(asked())
    assert len(times) == 48
    assert all(times[line] == 1 for line in times if f"size_{line[0]}" in finished)
    assert sum(times.values()) - 48 <= int(jobs) * 14  # the answers of half a second are lost at most
    assert all(one["summary"]["avg_mrr"] == 1.0 for one in report["reports"])
    assert len(bench.json("list")["runs"]) == 4


# --- the page


def test_the_page_holds_everything_and_fetches_nothing(library: Workbench) -> None:
    report = library.json("sweep", "--queries", "golden.jsonl", *SIZES, "--embedders", "lsa,none", "--output", "page")
    page = (library.folder / "page/report.html").read_text()
    assert "default-src &#x27;none&#x27;" in page
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page)
    for one in report["reports"]:
        assert one["run_id"] in page
    for words in ("Quality and latency", "Recommendations", "By category", "Predicted difficulty", "reranker features"):
        assert words in page
    shades = re.findall(r'class="shade"', page)
    assert len(shades) == 8 * 12


def test_a_page_of_hostile_names_and_nothing_measured_is_still_a_page(bench: Workbench) -> None:
    bench.golden([{"id": "<b>", "question": "<script>alert(1)</script>", "expected_chunks": [], "category": "<i>"}])
    bench.write("a.run", "<b> Q0 d 1 1 x\n")
    bench.write("<u>.run", "<b> Q0 <img> 1 1 x\n")
    done = bench.eval(
        "sweep", "--queries", "golden.jsonl", "--system", "trec:{file}.run", "--set", "file=<u>,a", "--output", "out"
    )
    page = (bench.folder / "out/report.html").read_text()
    assert "<script>alert" not in page
    assert "<img>" not in page
    assert "<u>" not in page
    assert "–" in done.out
