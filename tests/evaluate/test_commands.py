"""The `assay eval` commands: bad input, show, diagnose, verify, create, experiment log, several repositories."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from assay.core.golden import Expected, GoldenQuery, Hit, Response, Stage
from assay.evaluate.matching import matcher
from assay.evaluate.statistics import mean_interval
from assay.evaluate.verify import diagnose
from support.command import Done, assay
from support.repository import Repository
from support.workbench import COULD_NOT_RUN, DONE, QUALITY, Workbench, question


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path / "bench")


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """Twelve questions in tiers and categories, and two runs: `first` finds half of them at rank 2, `second` all at rank 1."""
    made = Workbench(tmp_path_factory.mktemp("ready"))
    made.golden(
        question(n)
        | {"difficulty": ("easy", "medium", "hard")[n % 3], "category": f"c{n % 2}", "expected_files": [f"src/d{n}.py"]}
        for n in range(12)
    )
    first = made.ranking("first", {f"q{n}": None if n % 2 else 2 for n in range(12)}, depth=30)
    second = made.ranking("second", {f"q{n}": 1 for n in range(12)})
    made.run(first, "--label", "first", "--matching", "doc")
    made.run(second, "--label", "second", "--matching", "doc")
    return made


# --- bad input: one clear line, the right exit code, nothing lost


GOOD = json.dumps(question(1)) + "\n"

BAD_RUNS: dict[str, tuple[dict[str, str], list[str], str]] = {
    # name: files, options, what is said
    "broken YAML": ({"g.yaml": "queries:\n  - id: [unclosed\n"}, ["--golden", "g.yaml"], "g.yaml:"),
    "no such set": ({}, ["--golden", "nowhere.jsonl"], "nowhere.jsonl: no such file or folder"),
    "no set named": ({}, [], "no golden set: give --golden PATH"),
    "negative k": ({"g.jsonl": GOOD}, ["--golden", "g.jsonl", "-k", "-3"], "-3 is not in the range x>=1"),
    "unknown measure": ({"g.jsonl": GOOD}, ["--golden", "g.jsonl", "-m", "nDGC@10"], "unknown measure 'nDGC@10'. Did you mean 'nDCG'?"),
    "unknown matcher": ({"g.jsonl": GOOD}, ["--golden", "g.jsonl", "--matching", "dottd"], "unknown matching 'dottd'. Did you mean 'dotted'?"),
    "another level": ({"g.jsonl": GOOD}, ["--golden", "g.jsonl", "--matching", "strict"], "the set has only doc; try --matching doc"),
    "NaN in a run file": (
        {"g.jsonl": GOOD, "r.run": "q1 Q0 d1 1 nan t\n"}, ["--golden", "g.jsonl", "--system", "trec:r.run"], "r.run:1: the score 'nan'",
    ),
    "no index": ({"g.jsonl": GOOD}, ["--golden", "g.jsonl", "--system", "assay"], "assay index"),
    "no run to resume": ({}, ["--resume", "nowhere"], "no run called 'nowhere'"),
    "no timeout": ({"g.jsonl": GOOD}, ["--golden", "g.jsonl", "--timeout", "0"], "0.0 is not in the range x>0"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_RUNS)
def test_a_run_that_cannot_begin_gives_one_line(bench: Workbench, name: str) -> None:
    files, options, says = BAD_RUNS[name]
    for path, text in files.items():
        bench.write(path, text)
    if files and "--system" not in options:
        options = [*options, "--system", bench.ranking("ok", {"q1": 1})]
    done = bench.refused("run", *options)
    assert done.code == COULD_NOT_RUN
    assert says in done.err
    assert done.out == ""
    meant = [line for line in done.err.splitlines() if line and not line.startswith(("Usage:", "Try ", "  "))]
    assert len(meant) == 1, done.err  # formats to choose from may follow, indented
    assert not list((bench.folder / ".assay").glob("runs/*"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "secnd"], "no run called 'secnd'"),
        (["show", "--query", "q13"], "no query 'q13' in this run. Did you mean 'q1'"),
        (["show", "--matching", "chunk"], "matching 'chunk' judges chunk expectations, but the set has only file, doc"),
        (["show", "-m", "Sucess@5"], "Did you mean 'Success'?"),
        (["compare", "first", "nowhere"], "no run called 'nowhere'"),
        (["baseline", "show"], "baseline.json: no such baseline"),
        (["experiment", "conclude", "--conclusion", "c"], "no experiment is open"),
        (["list", "--runs", "nowhere.db"], "nowhere.db: no runs yet. Make one with: assay eval run"),
        (["show", "latest~9"], "has only 2 runs"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_named_with_the_nearest(ready: Workbench, arguments: list[str], says: str) -> None:
    done = ready.refused(*arguments)
    assert done.code == COULD_NOT_RUN
    assert says in done.err
    assert len(done.err.splitlines()) == 1


# --- looking again


def test_a_run_is_shown_again_by_other_measures_and_matchers(ready: Workbench) -> None:
    whole = ready.json("show", "first")
    assert whole["metrics"]["Success@10"] == 0.5
    told = ready.json("show", "first", "-m", "P(over=returned)@1 nDCG(dcg=exp-log2)@3", "-m", "RR")
    assert set(told["metrics"]) == {"P(over=returned)@1", "nDCG(dcg=exp-log2)@3", "RR"}
    assert told["metrics"]["RR"] == 0.25
    by_file = ready.json("show", "second", "--matching", "file")
    assert (by_file["matching"], by_file["level"], by_file["metrics"]["RR@10"]) == ("file", "file", 0.0)
    assert ready.json("show", "second")["matching"] == "doc"  # the run itself is as it was


def test_a_single_query_shows_what_was_expected_and_what_came(ready: Workbench) -> None:
    found = ready.eval("show", "first", "--query", "q0").out
    assert "expected  d0  found at 2" in found
    assert "    2  d0   ← d0" in found
    missed = ready.json("show", "first", "--query", "q1")
    assert (missed["expected"], missed["found"], missed["first_rank"]) == (["d1"], {}, None)
    assert missed["retrieved"][:2] == ["other1", "other2"]


def test_runs_are_listed_by_system_and_golden_set(ready: Workbench) -> None:
    def labels(*options: str) -> list[str]:
        return [run["label"] for run in ready.json("list", *options)["runs"]]

    assert labels() == ["first", "second"]
    assert labels("--system", "second.run") == ["second"]
    assert labels("--golden", "golden.jsonl", "-n", "1") == ["second"]
    assert labels("--golden", "elsewhere") == []
    assert "0.5000" in ready.eval("list").out


def test_the_screen_has_queries_groups_failures_and_the_whole(ready: Workbench) -> None:
    shown = ready.eval("show", "first").out
    assert re.search(r"^⚠  question number 0 +0\.1000 +1\.0000 +0\.5000 +0\.6309 +2 +easy$", shown, re.MULTILINE)
    assert re.search(r"^medium +\S+ +\S+ +\S+ +\S+ +4$", shown, re.MULTILINE)
    assert re.search(r"^c1 +0\.0000 +0\.0000 +0\.0000 +0\.0000 +6$", shown, re.MULTILINE)
    assert "6 weak queries (RR@10 < 0.5, failed, or wrongly answered):" in shown
    assert "… and 1 more in FINDINGS.md" in shown
    assert re.search(r"RR@10: +0\.2500 \(±0\.2611\)  95 % ", shown)


def test_findings_have_every_query_and_what_was_not_found(ready: Workbench) -> None:
    run_id = ready.json("show", "first")["run_id"]
    findings = (ready.folder / ".assay" / "runs" / run_id / "FINDINGS.md").read_text()
    for line in ("## Per tier", "## Per category", "## Per query", "## Weak queries (6)", "  - expected: `d1`"):
        assert line in findings
    assert findings.count(" | question number") == 12
    ready.run("trec:second.run", "--matching", "doc", "-m", "AP", "--output", "out")
    assert "| AP | 1.0000 |" in (ready.folder / "out" / "FINDINGS.md").read_text()
    assert "| question number 0 | 1.0000 | 1 | easy |" in (ready.folder / "out" / "FINDINGS.md").read_text()


def test_depth_and_k_are_distinguished(ready: Workbench) -> None:
    deep = ready.run("trec:first.run", "--matching", "doc", "-k", "1", "--depth", "5", "-m", "RR@1,RR")
    assert deep["metrics"] == {"RR@1": 0.0, "RR": 0.25}
    told = ready.json("diagnose")
    assert told["stages"] == {"not returned": 6, "ranked low": 6}
    low = next(one for one in told["lost"] if one["stage"] == "ranked low")
    assert low["detail"] == "rank 2, beyond the first 1"


# --- diagnosing


def _asked(*expected: str) -> GoldenQuery:
    return GoldenQuery("q", "text", tuple(Expected(name, "chunk") for name in expected))


def _lost(response: Response, exists: Any = lambda expected, repository: None, k: int = 2) -> tuple[str, str]:
    [lost] = diagnose([_asked("gold")], [response], matcher("chunk"), "chunk", k, exists)
    return lost.stage, lost.detail


def _stages(*stages: tuple[str, list[str], dict[str, str]]) -> Response:
    return Response((Hit("x"),), stages=tuple(Stage(name, tuple(items), dropped) for name, items, dropped in stages))


@pytest.mark.parametrize(
    ("response", "stage", "detail"),
    [
        (Response(error="it broke"), "system failed", "it broke"),
        (Response(), "empty result", "returned nothing"),
        (Response((Hit("x"),)), "not returned", "not among the 1 results"),
        (Response((Hit("x"), Hit("y"), Hit("gold"))), "ranked low", "rank 3, beyond the first 2"),
        (_stages(("bm25", ["x"], {}), ("rank", ["x"], {})), "no channel", "not retrieved by any of bm25, rank"),
        (_stages(("bm25", ["x", "gold"], {}), ("rank", ["x"], {})), "rank", "rank 2 after bm25"),
        (_stages(("bm25", ["gold"], {}), ("noise", ["x"], {"gold": "a test file"}), ("rank", [], {})), "noise", "a test file"),
        (_stages(("bm25", ["x"], {"gold": "below the threshold"}), ("rank", [], {})), "bm25", "below the threshold"),
        (_stages(("bm25", ["gold"], {}), ("rank", ["gold"], {})), "result", "rank 1 after rank"),
    ],
)  # fmt: skip
def test_the_stage_that_lost_an_expectation_is_named(response: Response, stage: str, detail: str) -> None:
    found = _lost(response)
    assert found[0] == stage
    assert detail in found[1]


def test_a_stage_that_passed_one_part_on_did_not_lose_the_document() -> None:
    """A document of which bm25 drops one chunk and passes another is lost where the other one is."""
    query = GoldenQuery("q", "text", (Expected("a.md", "doc"),))
    response = Response(
        (Hit("c9", doc="b.md"),),
        stages=(
            Stage("bm25", ("a.md",), {"a.md": "one of its chunks is too short"}),
            Stage("rank", (), {"a.md": "low"}),
        ),
    )
    [lost] = diagnose([query], [response], matcher("doc"), "doc", 10)
    assert (lost.stage, lost.detail) == ("rank", "low")


def test_what_does_not_exist_is_not_blamed_on_the_ranking() -> None:
    assert _lost(Response((Hit("x"),)), lambda expected, repository: False)[0] == "absent from the corpus"


def test_diagnose_adds_up_the_stages_of_a_trace(bench: Workbench) -> None:
    bench.golden({"id": f"q{n}", "question": f"question {n}", "expected_chunks": [f"c{n}"]} for n in range(4))
    bench.write(
        "traced.py",
        "def search(query, k):\n    n = query.split()[-1]\n    gold = 'c' + n\n"
        "    kept = [gold] if n == '0' else []\n"
        "    found = [gold] if n in '012' else ['x']\n"
        "    return {'items': kept, 'stages': [{'name': 'bm25', 'items': found}, "
        "{'name': 'pack', 'items': kept, 'dropped': {gold: 'over budget'} if n == '2' else {}}]}\n",
    )
    bench.run("python:traced:search")
    told = bench.json("diagnose")
    assert (told["queries"], told["missed"], told["stages"]) == (4, 3, {"pack": 2, "no channel": 1})
    assert {one["query"]: one["detail"] for one in told["lost"]}["q2"] == "over budget"
    text = bench.eval("diagnose").out
    assert "3 of 4 expectations missed in the first 10" in text
    assert re.search(r"^pack +2 +67%$", text, re.MULTILINE)


# --- our own engine


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write(
        "shop/cart.py",
        "class Cart:\n    def add_item(self, item):\n        return item\n\n\ndef checkout(cart):\n    return cart\n",
    )
    repository.write("shop/tax.py", "def rate(country):\n    return 0.2\n")
    repository.commit()
    repository.index()
    return repository


def _shop_golden(folder: Path, **more: Any) -> Path:
    path = folder / "golden.jsonl"
    queries = [
        {"id": "cart", "question": "add an item to the cart", "expected_symbols": ["Cart.add_item"], "tier": "easy"},
        {
            "id": "tax",
            "question": "tax rate of a country",
            "expected_symbols": ["rate", "Cart.discount"],
            "tier": "hard",
        },
    ]
    path.write_text("".join(json.dumps(query | more) + "\n" for query in queries))
    return path


def _eval(repository: Repository, *arguments: str | Path) -> Done:
    return assay(repository.root, "eval", *arguments, "--root", ".")


def test_our_engine_starts_cold_and_its_index_is_part_of_the_run(shop: Repository, tmp_path: Path) -> None:
    golden = _shop_golden(tmp_path)
    first = _eval(shop, "run", "--golden", golden, "--format", "json").json
    again = _eval(shop, "run", "--golden", golden, "--format", "json", "--label", "again").json
    assert first["config"]["cold_start"] is True
    assert first["index_fingerprint"] == again["index_fingerprint"] != ""
    assert first["metrics"] == again["metrics"]
    shop.write("shop/tax.py", "def rate(country):\n    return 0.3\n")
    shop.index()
    changed = _eval(shop, "run", "--golden", golden, "--format", "json").json
    assert changed["index_fingerprint"] != first["index_fingerprint"]
    compared = _eval(shop, "compare", "again", "latest", "--format", "json").json
    assert any(cause.startswith("index_fingerprint ") for cause in compared["causes"])
    resumed = _eval(shop, "run", "--resume", "again")
    assert (resumed.code, "index_fingerprint changed since" in resumed.err) == (COULD_NOT_RUN, True)
    lost = _eval(shop, "diagnose", "--format", "json").json
    assert {one["expected"]: one["stage"] for one in lost["lost"]}["Cart.discount"] == "absent from the corpus"


def test_a_damaged_index_is_not_blamed_on_the_run_file(shop: Repository, tmp_path: Path) -> None:
    catalogue = next(shop.home.generations.glob("*/catalogue.db"))
    content = catalogue.read_bytes()
    catalogue.write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))
    done = _eval(shop, "run", "--golden", _shop_golden(tmp_path))
    assert done.code == COULD_NOT_RUN
    assert "assay index --rebuild" in done.err
    assert "runs.db" not in done.err


def test_a_golden_set_inside_what_is_searched_is_warned_of(shop: Repository, tmp_path: Path) -> None:
    says = "lies inside the searched corpus: its own text may be retrieved"
    outside = _eval(shop, "run", "--golden", _shop_golden(tmp_path))
    assert says not in outside.err
    inside = _shop_golden(shop.root)
    assert says not in _eval(shop, "run", "--golden", inside).err  # not in the index yet, and JSON lines are not code
    for spec in ("cmd:echo a.py::checkout", "python:json:loads"):  # neither is known to read it
        assert says not in _eval(shop, "run", "--golden", inside, "--system", spec, "--format", "json").out


def test_create_looks_expected_symbols_up_in_the_index(shop: Repository, tmp_path: Path) -> None:
    create = ("create", "--golden", tmp_path / "new.jsonl", "--question", "Where?", "--expect-symbol")
    refused = _eval(shop, *create, "Cart.ad_item")
    assert refused.code == COULD_NOT_RUN
    assert "there is no symbol `Cart.ad_item` in" in refused.err
    assert "(nearest: Cart.add_item" in refused.err
    assert _eval(shop, *create, "Cart.add_item").code == DONE


def test_verify_names_what_is_missing_with_the_nearest(shop: Repository, tmp_path: Path) -> None:
    done = _eval(shop, "verify", "--golden", _shop_golden(tmp_path))
    assert done.code == QUALITY
    assert done.lines[0].startswith("MISSING [hard] tax rate of a country: Cart.discount  (nearest: Cart")
    assert done.lines[1] == "pairs: 2 queries, 3 expectations checked, 1 missing"
    told = _eval(shop, "verify", "--golden", _shop_golden(tmp_path), "--format", "json")
    assert told.code == QUALITY
    assert [(one["query"], one["expected"]) for one in told.json["missing"]] == [("tax", "Cart.discount")]
    fine = tmp_path / "fine.jsonl"
    fine.write_text(
        '{"id": "a", "question": "b", "expected_symbols": ["checkout"], "expected_files": ["shop/tax.py"]}\n'
    )
    assert _eval(shop, "verify", "--golden", fine).code == DONE
    fine.write_text('{"id": "a", "question": "b", "expected_files": ["shop/taxes.py"]}\n')
    missing = _eval(shop, "verify", "--golden", fine)
    assert (missing.code, "MISSING [-] b: shop/taxes.py  (nearest: shop/tax.py" in missing.out) == (QUALITY, True)


def test_verify_takes_a_list_of_everything_instead_of_an_index(bench: Workbench) -> None:
    bench.golden([question(1), question(2)])
    bench.write("items.txt", "d1\nd3\n")
    done = bench.eval("verify", "--golden", "golden.jsonl", "--items", "items.txt")
    assert (done.code, done.lines[0]) == (QUALITY, "MISSING [-] question number 2: d2  (nearest: d1, d3)")
    bench.write("items.jsonl", '{"id": "d1"}\n{"chunk_id": "x", "doc": "d2"}\n')
    assert bench.eval("verify", "--golden", "golden.jsonl", "--items", "items.jsonl").code == DONE
    bench.write("items.json", '["d1", "d2"]')
    assert bench.eval("verify", "--golden", "golden.jsonl", "--items", "items.json").code == DONE
    bench.write("bad.jsonl", '{"id": "d1"}\n{"score": 1}\n')
    bad = bench.eval("verify", "--golden", "golden.jsonl", "--items", "bad.jsonl")
    assert (bad.code, "bad.jsonl:2: " in bad.err) == (COULD_NOT_RUN, True)


@pytest.mark.parametrize("packed", [False, True])
def test_verify_looks_documents_of_a_beir_set_up_in_its_corpus(bench: Workbench, packed: bool) -> None:
    bench.write("set/queries.jsonl", '{"_id": "1", "text": "one"}\n')
    bench.write("set/qrels/test.tsv", "query-id\tcorpus-id\tscore\n1\tD1\t1\n1\tD9\t1\n")
    corpus = '{"_id": "D1", "title": "", "text": "x"}\n{"_id": "D2", "text": "y"}\n'
    bench.write("set/corpus.jsonl", corpus)
    if packed:
        (bench.folder / "set" / "corpus.jsonl").unlink()
        with gzip.open(bench.folder / "set" / "corpus.jsonl.gz", "wt") as file:
            file.write(corpus)
    done = bench.eval("verify", "--golden", "set")
    assert done.code == QUALITY
    assert "MISSING [-] one: D9" in done.out
    assert "2 expectations checked, 1 missing" in done.out


@pytest.mark.parametrize(("golden", "level"), [("codes.jsonl", "symbol"), ("collection", "doc")])
def test_verify_refuses_a_set_it_cannot_check(bench: Workbench, golden: str, level: str) -> None:
    bench.write("codes.jsonl", '{"id": "a", "question": "b", "expected_symbols": ["f"]}\n')
    bench.write("collection/topics.tsv", "1\tone\n")
    bench.write("collection/qrels.txt", "1 0 D1 1\n")
    done = bench.refused("verify", "--golden", golden)
    assert done.code == COULD_NOT_RUN
    assert f"cannot check expectations at level {level}" in done.err
    assert "--items FILE" in done.err


# --- creating and converting


def test_create_adds_by_options_and_makes_ids(bench: Workbench) -> None:
    create = ("create", "--golden", "new.jsonl", "--question")
    first = bench.json(*create, "Where is the cart?", "--expect-symbol", "Cart", "--tier", "easy", "--unverified")
    assert first == {"id": "where-is-the-cart", "golden": "new.jsonl", "lost": []}
    second = bench.json(*create, "Where is the cart?!", "--expect-file", "a.py", "--tag", "critical", "--unverified")
    assert second["id"] == "where-is-the-cart-2"
    bench.json(*create, "The meaning of life?", "--negative", "--notes", "nobody knows")
    lines = [json.loads(line) for line in (bench.folder / "new.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == ["where-is-the-cart", "where-is-the-cart-2", "the-meaning-of-life"]
    assert lines[2]["expected_chunks"] == []
    told = bench.run(bench.script("print('[]')"), golden="new.jsonl")
    assert told["counts"]["to_refuse"] == 1
    assert told["metrics"]["refusal_correctness"] == 1.0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--question", "q"], "give either what is expected"),
        (["--question", "q", "--negative", "--expect-doc", "d"], "give either what is expected"),
        (["--question", "q", "--expect-doc", "d", "--id", "q1"], "id `q1` is already used"),
        (["--question", " ", "--expect-doc", "d"], "empty"),
    ],
)
def test_an_addition_that_is_refused_leaves_the_set_as_it_was(bench: Workbench, options: list[str], says: str) -> None:
    path = bench.golden([question(1)])
    before = path.read_bytes()
    done = bench.eval("create", "--golden", "golden.jsonl", *options)
    assert done.code == COULD_NOT_RUN
    assert says in done.err
    assert path.read_bytes() == before
    path.write_text("{broken\n")
    done = bench.eval("create", "--golden", "golden.jsonl", "--question", "q", "--expect-doc", "d")
    assert (done.code, path.read_text()) == (COULD_NOT_RUN, "{broken\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_addition_that_cannot_be_written_leaves_the_set_as_it_was(bench: Workbench) -> None:
    path = bench.golden([question(1)], "kept/golden.jsonl")
    before = path.read_bytes()
    path.parent.chmod(0o500)
    done = bench.eval("create", "--golden", path, "--question", "q", "--expect-doc", "d")
    path.parent.chmod(0o700)
    assert (done.code, path.read_bytes()) == (COULD_NOT_RUN, before)


def test_create_interviews_with_search_in_view(bench: Workbench) -> None:
    spec = bench.script(
        "print(json.dumps([{'id': f'a.py::{query.split()[0]}', 'symbol': query.split()[0], 'path': 'a.py', 'start': 3}, 'b.md']))"
    )
    typed = [
        "alpha beta", "1, doc:guide", "/gamma", "1 7", "", "", "hard", "names", "because",  # picked, searched again, done
        "y", "who knows?", "", "-", "nobody", "easy", "", "",  # nothing yet, then a refusal
        "n",
    ]  # fmt: skip
    done = bench.eval("create", "--golden", "new.jsonl", "--system", spec, input="\n".join(typed) + "\n")
    assert done.code == DONE, done.err
    assert "1  alpha  a.py:3" in done.out
    assert "there is no result 7" in done.out
    assert "nothing is expected yet; type - if the right answer is a refusal" in done.out
    first, second = (json.loads(line) for line in (bench.folder / "new.jsonl").read_text().splitlines())
    assert (first["id"], first["expected_symbols"], first["expected_docs"]) == (
        "alpha-beta",
        ["alpha", "gamma"],
        ["guide"],
    )
    assert (first["difficulty"], first["category"], first["notes"]) == ("hard", "names", "because")
    assert (second["id"], second["expected_chunks"]) == ("nobody", [])


def test_an_interview_that_ends_early_loses_only_the_unfinished_query(bench: Workbench) -> None:
    path = bench.golden([question(1)])
    before = path.read_bytes()
    done = bench.eval("create", "--golden", "golden.jsonl", "--system", "trec:nowhere", input="a question\nname\n")
    assert done.code == 130
    assert "search unavailable: nowhere: no such run file" in done.err
    assert path.read_bytes() == before


def test_converting_lists_what_the_format_cannot_hold(bench: Workbench) -> None:
    bench.golden([question(n) | {"notes": "why", "tags": ["t"]} for n in range(3)])
    done = bench.rootless("convert", "golden.jsonl", "set", "--to", "beir")
    assert done.code == DONE
    assert "wrote set (beir)" in done.out
    assert "lost: " in done.err
    spec = bench.ranking("r", {f"q{n}": n + 1 for n in range(3)})
    assert bench.run(spec)["metrics"] == bench.run(spec, golden="set")["metrics"]
    refused = bench.rootless("convert", "nowhere.jsonl", "x.yaml", "--to", "golden")
    assert (refused.code, "no such file" in refused.err) == (COULD_NOT_RUN, True)


# --- experiments


def test_an_experiment_is_logged_from_two_runs_in_the_seeds_template(ready: Workbench) -> None:
    log = ready.folder / "EXPERIMENTS.md"
    log.unlink(missing_ok=True)
    asked = ("--hypothesis", "Titles help\nmost.", "--what", "Weights", "--before", "first")
    opened = ready.json("experiment", "new", "Documents first", *asked)
    assert opened["number"] == 1
    assert "(open: " in log.read_text()
    done = ready.eval("experiment", "conclude", "--after", "second", "--conclusion", "It worked. Keep.")
    assert done.code == DONE, done.err
    text = log.read_text()
    a, b = (ready.json("show", name)["run_id"] for name in ("first", "second"))
    for line in (
        "## Experiment 1: Documents first",
        "**Hypothesis:** Titles help most.",
        "**What:** Weights",
        f"**Before:** run {a}",
        f"**After:** run {b}",
        "- Easy: P@10 5.0% -> 10.0% (+5.0pp), R@10 50.0% -> 100.0% (+50.0pp), RR@10 25.0% -> 100.0% (+75.0pp)",
        "- Overall: P@10 5.0% -> 10.0% (+5.0pp)",
        "- Queries: 12 won, 0 lost, 0 regressed, 0 drawn",
        "**Conclusion:** It worked. Keep.",
    ):
        assert line in text
    assert re.search(r"^\*\*Date:\*\* \d{4}-\d\d-\d\d$", text, re.MULTILINE)
    assert text.index("**Result:**") < text.index("- Easy:") < text.index("**Conclusion:**")
    assert "(open" not in text
    assert ready.eval("experiment", "conclude", "--conclusion", "again").code == COULD_NOT_RUN


def test_several_open_experiments_need_a_number(ready: Workbench) -> None:
    new, conclude = (("experiment", name, "--log", "log.md") for name in ("new", "conclude"))
    for title in ("one", "two"):
        ready.json(*new, title, "--hypothesis", "h", "--what", "w", "--before", "second")
    both = ready.eval(*conclude, "--conclusion", "c")
    assert (both.code, "several experiments are open (1, 2); give --number N" in both.err) == (COULD_NOT_RUN, True)
    assert ready.eval(*conclude, "--number", "2", "--after", "first", "--conclusion", "c").code == DONE
    text = (ready.folder / "log.md").read_text()
    assert (
        text.index("**Before:** run")
        < text.index("(open: ")
        < text.index("## Experiment 2: two")
        < text.index("- Regressed: question number 1; question number 3")
    )
    assert "6 lost, 6 regressed" in text


# --- several repositories


def test_several_repositories_are_searched_and_reported_separately(bench: Workbench) -> None:
    repositories, tiers = ("alpha", "beta", "gamma"), ("exact", "concept", "multi_hop")
    for name in repositories:
        bench.write(f"corpus/{name}/only_{name}.txt", name)
    queries = [
        {"id": f"{name}-{tier}", "question": f"{tier} of {name}", "expected_docs": [f"only_{name}.txt"], "repository": name, "tier": tier}
        for name in repositories for tier in tiers
    ]  # fmt: skip
    bench.golden([*queries, {"id": "no", "question": "nothing", "expected_chunks": [], "repository": "alpha"}])
    spec = bench.script(
        "if query == 'exact of gamma' and not os.path.exists(here + '/well'): sys.exit('not today')\n"
        "files = [] if query == 'concept of beta' else sorted(os.listdir('.'))\n"
        "print(json.dumps([*files, sys.argv[3]]))"
    )
    bench.run(spec + " {repo}", "--corpus", "corpus", "--jobs", "2", code=QUALITY)
    bench.write("well", "")
    # where the repositories are is remembered for going on
    told = bench.json("run", "--resume", "latest", "--system", spec + " {repo}", "--findings", "docs/FOUND.md")
    assert list(told["tiers"]) == list(tiers)
    found = {name: group["metrics"]["Success@10"] for name, group in told["repositories"].items()}
    assert found == {"alpha": 1.0, "beta": 0.6667, "gamma": 1.0}
    assert told["queries"][0]["retrieved"] == ["only_alpha.txt", "alpha"]
    cross = (bench.folder / ".assay" / "runs" / told["run_id"] / "CROSS_REPO_FINDINGS.md").read_text()
    assert cross == (bench.folder / "docs" / "FOUND.md").read_text()
    for line in (
        "| exact | 1.0000 |",
        "| beta | 0.6667 |",
        "## Nothing found (1)",
        "| beta | concept | concept of beta | `only_beta.txt` |",
    ):
        assert line in cross
    # the interval is that of three repositories, not of nine queries
    values = [float(query["id"] != "beta-concept") for query in queries]
    interval = mean_interval(values, clusters=[query["repository"] for query in queries])
    spread = told["spread"]["Success@10"]
    assert (spread["low"], spread["high"]) == (round(interval.low, 4), round(interval.high, 4))
    assert interval != mean_interval(values)


def test_a_repository_that_is_not_in_the_corpus_fails_its_queries_only(bench: Workbench) -> None:
    bench.write("corpus/here/a.txt", "")
    bench.golden(
        {"id": name, "question": f"q of {name}", "expected_docs": ["a.txt"], "repository": name}
        for name in ("here", "gone")
    )
    told = bench.run(bench.script("print(json.dumps(os.listdir('.')))"), "--corpus", "corpus", code=QUALITY)
    errors = {query["id"]: query["error"] for query in told["queries"]}
    assert errors["here"] == ""
    assert "no folder 'gone' in the corpus" in errors["gone"]


# --- reports


def test_an_experiment_is_not_concluded_with_the_run_it_began_with(ready: Workbench) -> None:
    new = ("experiment", "new", "same", "--hypothesis", "h", "--what", "w", "--before", "second", "--log", "same.md")
    ready.json(*new)
    done = ready.refused("experiment", "conclude", "--after", "second", "--log", "same.md")
    assert done.code == COULD_NOT_RUN
    assert "and no run was made since; make one with `assay eval run`, or name it with --after RUN" in done.err


def test_a_conclusion_is_drafted_from_the_figures(ready: Workbench) -> None:
    for before, after, says in (
        ("first", "second", "RR@10 better. Per tier: easy positive (+75.0pp), medium positive (+75.0pp), hard positive (+75.0pp). Keep."),
        ("second", "first", "RR@10 worse. Per tier: easy negative (-75.0pp), medium negative (-75.0pp), hard negative (-75.0pp). Revert."),
    ):  # fmt: skip
        log = f"{before}.md"
        ready.json("experiment", "new", "t", "--hypothesis", "h", "--what", "w", "--before", before, "--log", log)
        text = ready.eval("experiment", "conclude", "--after", after, "--log", log).out
        assert f"**Conclusion:** {says} (drafted from the figures)" in text
