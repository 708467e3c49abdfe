"""Selections of queries in runs, shown runs and comparisons, and the repository's own golden set."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.workbench import COULD_NOT_RUN, DONE, Workbench, codes, messages, question


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """Twelve questions of three tiers, two categories and a tag; `before` finds the hard ones, `after` the others."""
    made = Workbench(tmp_path_factory.mktemp("ready"))
    made.golden(
        question(n)
        | {"difficulty": ("easy", "medium", "hard")[n % 3], "category": f"c{n % 2}", "tags": ["late"] if n > 8 else []}
        for n in range(12)
    )
    made.run(made.ranking("before", {f"q{n}": 1 if n % 3 == 2 else None for n in range(12)}), "--label", "before")
    made.run(made.ranking("after", {f"q{n}": None if n % 3 == 2 else 1 for n in range(12)}), "--label", "after")
    return made


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--tier", "hard"], [2, 5, 8, 11]),
        (["--tier", "hard", "--tier", "easy"], [0, 2, 3, 5, 6, 8, 9, 11]),
        (["--tier", "hard", "--category", "c0"], [2, 8]),
        (["--tag", "late"], [9, 10, 11]),
        (["--query", "q3", "--query", "q1"], [1, 3]),
    ],
)
def test_a_run_may_send_a_part_of_the_set(ready: Workbench, options: list[str], expected: list[int]) -> None:
    told = ready.run("trec:after.run", *options)
    assert [row["id"] for row in told["queries"]] == [f"q{n}" for n in expected]
    assert told["golden"]["queries"] == len(expected)
    assert f"{len(expected)} of 12 queries: those with " in "".join(messages(told))


def test_a_part_is_another_set_and_not_compared_with_the_whole(ready: Workbench) -> None:
    part = ready.run("trec:after.run", "--tier", "hard")
    done = ready.eval("compare", "before", part["run_id"])
    assert (done.code, "different golden sets" in done.err) == (COULD_NOT_RUN, True)


def test_a_stored_run_is_shown_in_part(ready: Workbench) -> None:
    whole, part = ready.json("show", "before"), ready.json("show", "before", "--tier", "hard")
    assert part["metrics"]["RR@10"] == whole["tiers"]["hard"]["metrics"]["RR@10"] == 1.0
    assert [row["id"] for row in part["queries"]] == ["q2", "q5", "q8", "q11"]


def test_a_comparison_may_be_of_a_part(ready: Workbench) -> None:
    part = ready.json("compare", "before", "after", "--tier", "hard")
    assert part["counts"] == {"Win": 0, "Loss": 0, "Draw": 0, "Regression": 4}
    assert (part["statistics"]["RR@10"]["n"], part["aggregate_a"]["RR@10"], part["aggregate_b"]["RR@10"]) == (
        4,
        1.0,
        0.0,
    )
    assert ready.json("compare", "before", "after", "--query", "q0")["counts"]["Win"] == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--tier", "hrad"], "no query has the tier 'hrad'. Did you mean 'hard'?"),
        (["--query", "q99"], "no query has the id 'q99'."),
        (["--tier", "hard", "--query", "q0"], "no query has tier hard, query q0"),
    ],
)
def test_a_selection_of_nothing_is_refused_with_the_nearest_name(
    ready: Workbench, options: list[str], says: str
) -> None:
    done = ready.refused("run", "--golden", "golden.jsonl", "--system", "trec:after.run", *options)
    assert (done.code, says in done.err) == (COULD_NOT_RUN, True)


# --- the repository's own set


def test_a_run_takes_the_golden_set_of_the_repository(tmp_path: Path) -> None:
    bench = Workbench(tmp_path / "bench")
    spec = bench.ranking("ok", {f"q{n}": 1 for n in range(3)})
    missing = bench.eval("run", "--system", spec)
    assert (missing.code, "no golden set: give --golden PATH, or put it at eval/golden.jsonl" in missing.err) == (
        2,
        True,
    )
    bench.questions(3, "eval/golden.jsonl")
    assert bench.eval("run", "--system", spec).code == DONE
    bench.questions(3, "docs/eval/golden.jsonl")
    several = bench.eval("run", "--system", spec)
    assert several.code == COULD_NOT_RUN
    assert "one of eval/golden.jsonl, docs/eval/golden.jsonl" in several.err


def test_the_repositorys_set_is_never_outside_of_it(tmp_path: Path) -> None:
    bench = Workbench(tmp_path / "bench")
    outside = bench.questions(3, "../outside.jsonl")
    (bench.folder / "eval").mkdir()
    (bench.folder / "eval" / "golden.jsonl").symlink_to(outside)
    done = bench.eval("run", "--system", bench.ranking("ok", {"q0": 1}))
    assert (done.code, "a symbolic link leads out of the repository" in done.err) == (COULD_NOT_RUN, True)


# --- recomputed figures are stored again


def test_recomputed_figures_are_stored_on_request(tmp_path: Path) -> None:
    import sqlite3

    bench = Workbench(tmp_path / "bench")
    bench.questions(3)
    before = bench.run(bench.ranking("ok", {f"q{n}": 1 for n in range(3)}))
    with sqlite3.connect(bench.folder / ".assay" / "runs.db") as database:
        database.execute("UPDATE eval_runs SET aggregate_json = '{}'")
        database.execute("DELETE FROM eval_judged")
    assert bench.json("list")["runs"][0]["metrics"] == {}
    assert bench.json("show", "--store") == before
    assert bench.json("list")["runs"][0]["metrics"]["RR@10"] == 1.0
    assert codes(before) == codes(bench.json("show"))
    refused = bench.refused("show", "--store", "-m", "AP")
    assert (refused.code, "--store keeps the run's own figures" in refused.err) == (COULD_NOT_RUN, True)
