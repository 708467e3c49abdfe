"""Sanity before figures: leaks, a stale index, and results that the matcher can never match."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.golden import Expected, GoldenQuery, GoldenSet, Hit, Response
from assay.evaluate.matching import default_for, matcher
from assay.evaluate.sanity import WrongShape, golden_retrieved, require_names
from support.repository import Repository
from support.workbench import COULD_NOT_RUN, DONE, QUALITY, Workbench, codes, messages


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path / "bench")


@pytest.fixture
def shop(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "shop")
    repository.write(
        "shop/cart.py", "def add_item(cart, item):\n    cart.append(item)\n\n\ndef total(cart):\n    return sum(cart)\n"
    )
    repository.write("shop/tax.py", "def tax_rate(country):\n    return 0.2\n")
    repository.git("init", "-q", "-b", "main")
    repository.commit("Begin")
    return repository


def in_shop(shop: Repository) -> Workbench:
    return Workbench(shop.root)


def golden_set(*queries: GoldenQuery, format: str = "pairs") -> GoldenSet:
    return GoldenSet(queries, "golden.jsonl", format, "")


# --- results that carry other names than the set expects


def symbols(count: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"id": f"q{n}", "question": f"question {n}", "expected_symbols": ["Cart.add"], **more} for n in range(count)
    ]


def test_files_for_a_set_of_symbols_stop_the_run_and_name_the_matcher(bench: Workbench) -> None:
    bench.golden(symbols(20, expected_files=["shop/cart.py"]))
    spec = bench.script("open(here + '/asked', 'a').write('.'); print('shop/cart.py'); print('shop/tax.py:12')")
    done = bench.eval("run", "--golden", "golden.jsonl", "--system", spec)
    assert done.code == COULD_NOT_RUN
    assert (
        "nothing can match: matching 'strict' judges symbol expectations, but the results have files only" in done.err
    )
    assert done.err.rstrip().endswith("judge what the results have: --matching file")
    assert done.out == ""
    assert len((bench.folder / "asked").read_text()) == 5  # the other 15 would have been in vain
    assert bench.run(spec, "--matching", "file")["metrics"]["RR@10"] == 1.0


def test_a_short_set_is_stopped_at_its_end(bench: Workbench) -> None:
    bench.golden(symbols(2))
    done = bench.eval("run", "--golden", "golden.jsonl", "--system", bench.script("print('shop/cart.py')"))
    assert done.code == COULD_NOT_RUN
    assert "or expect files (`expected_files`) and use --matching file" in done.err


def test_symbols_for_a_set_of_files_stop_the_run(bench: Workbench) -> None:
    bench.golden([{"id": "q", "question": "q", "expected_files": ["shop/cart.py"], "expected_symbols": ["Cart.add"]}])
    spec = bench.script("print(json.dumps([{'symbol': 'Cart.remove'}]))")
    done = bench.eval("run", "--golden", "golden.jsonl", "--system", spec, "--matching", "file")
    assert done.code == COULD_NOT_RUN
    assert "judges file expectations, but the results have symbols only (Cart.remove)" in done.err
    assert done.err.rstrip().endswith("--matching strict")


def test_passages_without_lines_stop_a_run_on_spans(bench: Workbench) -> None:
    bench.golden([{"id": "q", "question": "q", "expected_spans": [{"path": "a.md", "start": 1, "end": 3}]}])
    done = bench.eval("run", "--golden", "golden.jsonl", "--system", bench.script("print('[\"b.md\"]')"))
    assert done.code == COULD_NOT_RUN
    assert "return `start` and `end` lines" in done.err


def test_chunk_ids_of_another_system_stop_the_run(bench: Workbench) -> None:
    bench.golden([{"id": 1, "question": "how do I install it", "expected_chunks": [12, 13]}])
    done = bench.eval(
        "run", "--golden", "golden.jsonl", "--system", bench.script("print('[\"docs/a.md#install:3f2a\"]')")
    )
    assert done.code == COULD_NOT_RUN
    assert "the set expects chunks like '12', the results have ids like 'docs/a.md#install:3f2a'" in done.err
    assert bench.run(bench.script("print('[44, 13]')"))["metrics"]["RR@10"] == 0.5


@pytest.mark.parametrize(
    "hits",
    [
        [Hit("Cart.remove", path="Cart.remove")],  # a line of plain output that is a dotted name
        [Hit("other1"), Hit("other2")],  # ids of a run file
        [Hit("shop/cart.py::Cart.remove", "Cart.remove", "shop/cart.py"), Hit("shop/tax.py", path="shop/tax.py")],
        [Hit("github.com/shop/internal/cart.Cart.Remove")],
        [],
    ],
)
def test_what_may_be_a_symbol_is_judged(hits: list[Hit]) -> None:
    golden = golden_set(GoldenQuery("q", "q", (Expected("Cart.add"),)))
    require_names(golden, matcher("strict"), "symbol", hits)


def test_files_are_recognised_whatever_their_suffix() -> None:
    golden = golden_set(GoldenQuery("q", "q", (Expected("Cart.add"),)))
    with pytest.raises(WrongShape):
        require_names(
            golden, matcher("strict"), "symbol", [Hit("CHANGES.rst"), Hit("docs/api.rst"), Hit("src/cart.py")]
        )


def test_query_sets_of_seed_004_are_judged_by_file_whatever_symbols_they_have(bench: Workbench) -> None:
    bench.write(
        "queries.yaml",
        "queries:\n"
        "  - {id: a, query: one, category: c, expected_files: [a.py], expected_symbols: [Cart.add]}\n"
        "  - {id: b, query: two, category: c, expected_files: [b.py]}\n"
        "  - {id: c, query: three, category: c, expected_files: [c.py]}\n",
    )
    told = bench.run(bench.script("print('a.py::Cart.add')"), golden="queries.yaml")
    assert (told["matching"], told["level"], told["counts"]["judged"]) == ("file", "file", 3)
    assert told["metrics"]["RR@10"] == pytest.approx(1 / 3, abs=1e-4)
    assert "unjudged-queries" not in codes(told)


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([("symbol", "file"), ("file",), ("file",)], "file"),  # an optional symbol silences nobody
        ([("symbol", "file"), ("symbol", "file")], "strict"),
        ([("symbol",), ("symbol",), ("file",)], "strict"),
        ([("chunk", "doc"), ("doc",)], "chunk"),  # seed 001: chunks where there are any, documents by DocR
        ([("doc",)], "doc"),
    ],
)
def test_the_default_matcher_judges_as_many_queries_as_it_can(levels: list[tuple[str, ...]], expected: str) -> None:
    queries = [GoldenQuery(str(n), "q", tuple(Expected("x", level) for level in of)) for n, of in enumerate(levels)]
    assert default_for(golden_set(*queries)).name == expected


# --- leaks and staleness


def test_a_set_mined_from_the_searched_history_is_warned_of(shop: Repository, tmp_path: Path) -> None:
    bench, golden = in_shop(shop), tmp_path / "mined.jsonl"
    shop.write("shop/tax.py", "def tax_rate(country):\n    return 0.25\n")
    shop.commit("Raise the tax rate of every country to a quarter")
    assert bench.rootless("mine", "-o", golden).code == DONE
    shop.index()
    told = bench.run("assay", golden=golden)
    assert "1 of 1 queries are messages of commits in the searched history" in "".join(messages(told))
    assert "mined-history" in codes(told)
    for spec in ("assay:no-history", "cmd:echo shop/tax.py::tax_rate"):
        assert {"mined-history", "mined-state"} & set(codes(bench.run(spec, golden=golden))) == {"mined-state"}
    assert "warning: 1 of 1 queries are messages" in bench.eval("run", "--golden", golden).err


def test_a_set_mined_from_later_commits_is_not_warned_of(shop: Repository, tmp_path: Path) -> None:
    bench, golden = in_shop(shop), tmp_path / "mined.jsonl"
    shop.write("shop/tax.py", "def tax_rate(country):\n    return 0.25\n")
    shop.commit("Raise the tax rate of every country to a quarter")
    assert bench.rootless("mine", "-o", golden).code == DONE
    shop.git("reset", "-q", "--hard", "HEAD~1")
    shop.index()
    assert not {"mined-history", "mined-state"} & set(codes(bench.run("assay", golden=golden)))


def test_a_stale_index_is_warned_of_and_brought_up_to_date_on_request(shop: Repository, tmp_path: Path) -> None:
    bench, golden = in_shop(shop), tmp_path / "golden.jsonl"
    golden.write_text('{"id": "q", "question": "refund an order", "expected_symbols": ["refund_order"]}\n')
    shop.index()
    assert "stale-index" not in codes(bench.run("assay", golden=golden))
    shop.write("shop/refund.py", "def refund_order(order):\n    return order\n")
    stale = bench.run("assay", golden=golden)
    assert "the index is older than the files (1 file changed); `assay eval run --index` updates it first" in messages(
        stale
    )
    assert stale["metrics"]["RR@10"] == 0.0
    fresh = bench.run("assay", "--index", golden=golden)
    assert "stale-index" not in codes(fresh)
    assert fresh["metrics"]["RR@10"] == 1.0


def test_an_index_is_built_for_the_first_run_on_request(shop: Repository, tmp_path: Path) -> None:
    golden = tmp_path / "golden.jsonl"
    golden.write_text('{"id": "q", "question": "tax rate of a country", "expected_symbols": ["tax_rate"]}\n')
    assert in_shop(shop).eval("run", "--golden", golden).code == COULD_NOT_RUN
    assert in_shop(shop).run("assay", "--index", golden=golden)["metrics"]["RR@10"] == 1.0


def test_a_run_on_another_commit_than_the_set_was_written_for_is_warned_of(shop: Repository, tmp_path: Path) -> None:
    bench, golden = in_shop(shop), tmp_path / "golden.jsonl"
    first = shop.git("rev-parse", "HEAD").strip()
    line = {"id": "q", "question": "q", "expected_files": ["shop/tax.py"], "commit": first}
    golden.write_text(json.dumps(line) + "\n")
    assert "other-commit" not in codes(bench.run("cmd:echo shop/tax.py", golden=golden))
    shop.write("shop/new.py", "x = 1\n")
    shop.commit("Go on")
    told = bench.run("cmd:echo shop/tax.py", golden=golden)
    assert "other-commit" in codes(told)
    assert f"the set was written for commit {first[:12]}, the run is on" in "".join(messages(told))


def test_a_golden_set_among_the_results_is_warned_of_whatever_the_system() -> None:
    golden = GoldenSet((), "eval/questions.jsonl", "pairs", "")
    hits = (Hit("docs/a.md", path="docs/a.md"), Hit("eval/questions.jsonl:3", path="eval/questions.jsonl"))
    assert [caution.code for caution in golden_retrieved(golden, [Response(hits)])] == ["golden-retrieved"]
    assert golden_retrieved(golden, [Response(hits[:1])]) == []
    fixtures = GoldenSet((), "eval/fixtures", "fixtures", "")
    inside = Hit("eval/fixtures/easy/01-a.yaml", path="eval/fixtures/easy/01-a.yaml")
    assert [caution.code for caution in golden_retrieved(fixtures, [Response((inside,))])] == ["golden-retrieved"]


def test_a_run_with_failures_fails_the_gate(bench: Workbench) -> None:
    bench.questions(12)
    bench.run(
        bench.script("n = query.split()[-1]\nif n == '3': sys.exit('no')\nprint(json.dumps(['d' + n]))"), code=QUALITY
    )
    done = bench.eval("gate", "--min", "RR@10=0.5")
    assert done.code == QUALITY
    assert "FAIL  run is complete: 12 queries; the system failed on 1 of them" in done.out
    refused = bench.eval("baseline", "set")
    assert refused.code == COULD_NOT_RUN
    assert "a baseline must be complete" in refused.err
