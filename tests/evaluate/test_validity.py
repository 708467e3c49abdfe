"""Sanity of a run: figures that are no measurement are refused, marked, and explained."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.core.golden import GoldenSet, Hit, Response
from assay.evaluate.sanity import golden_retrieved
from assay.evaluate.validity import Sanity
from support.workbench import COULD_NOT_RUN, DONE, Workbench, messages, question


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path / "bench")


NAMES = ["judgements", "failures", "results", "ids", "duplicates", "depth", "order", "leaks", "staleness"]


def state(run: dict[str, Any], name: str) -> str:
    return Sanity.from_json(run["sanity"])[name].state


def records(count: int, name: str = "{}") -> list[dict[str, Any]]:
    return [{"id": f"q{n}", "query": f"{n}", "expected_docs": [name.format(n)]} for n in range(1, count + 1)]


# --- depth against cut-offs


def test_results_are_requested_as_deep_as_the_deepest_cut_off(bench: Workbench) -> None:
    bench.questions(12)
    spec = bench.ranking("r", {f"q{n}": 40 for n in range(12)}, depth=100)
    told = bench.run(spec, "-m", "R@100", "-m", "R@10")
    assert told["metrics"] == {"R@100": 1.0, "R@10": 0.0}
    deep = assay.evaluate(records(3), lambda query, k: [*map(str, range(1000, 1039)), query][:k], metrics=["R@100"])
    assert deep.metrics == {"R@100": 1.0}


def test_a_depth_below_a_cut_off_is_refused(bench: Workbench) -> None:
    bench.questions(12)
    spec = bench.ranking("r", {f"q{n}": 1 for n in range(12)})
    done = bench.eval("run", "--golden", "golden.jsonl", "--system", spec, "-m", "R@100", "--depth", "50")
    assert (done.code, done.out) == (COULD_NOT_RUN, "")
    assert "R@100: a depth of 50 is too small; leave it out, or give 100" in done.err


def test_a_stored_run_is_not_measured_beyond_its_depth(bench: Workbench) -> None:
    bench.questions(12)
    bench.run(bench.ranking("r", {f"q{n}": 1 for n in range(12)}))
    for command in (["show"], ["compare", "latest", "latest"], ["gate", "--min", "R@100=0.1"]):
        measure = [] if command[0] == "gate" else ["-m", "R@100"]
        done = bench.refused(*command, *measure)
        assert done.code == COULD_NOT_RUN
        assert "R@100 cannot be measured: run" in done.err
        assert "requested 10 results per query. Run it again with --depth 100" in done.err
    shallow = assay.evaluate(records(3), lambda query, k: [query])
    with pytest.raises(assay.AssayError, match="R@20 cannot be measured"):
        shallow.rescored(["R@20"])


def test_a_gate_runs_as_deep_as_its_rules_need(bench: Workbench) -> None:
    bench.questions(12)
    spec = bench.ranking("r", {f"q{n}": 40 for n in range(12)}, depth=50)
    assert bench.eval("gate", "--golden", "golden.jsonl", "--system", spec, "--min", "R@50=0.9").code == DONE


def test_a_system_that_limits_its_results_is_warned_of() -> None:
    run = assay.evaluate(records(12), lambda query, k: [query, *(f"d{n}" for n in range(9))], metrics=["R@100"])
    assert (run.sanity["depth"].state, run.sanity.is_measurement) == ("warning", True)
    assert "no list has more than 10 results, so a cut-off of 100 sees no more" in run.sanity["depth"].message


# --- ids that never match


@pytest.mark.parametrize(
    ("expected", "returned", "example"),
    [
        ("{}", "{}.txt", "expected like `1`, returned like `1.txt`"),
        ("{}", "docs/{}.txt", "expected like `1`, returned like `docs/1.txt`"),
        ("{}.txt", "{}", "expected like `1.txt`, returned like `1`"),
        ("{}", "000{}", "expected like `1`, returned like `0001`"),
        ("café {}", unicodedata.normalize("NFD", "café {}"), "expected like `café 1`, returned like `cafe\\u0301 1`"),
    ],
)
def test_ids_in_another_spelling_are_not_a_measurement(expected: str, returned: str, example: str) -> None:
    run = assay.evaluate(records(4, expected), lambda query, k: [returned.format(query), "none"])
    assert not run.sanity.is_measurement
    assert run.sanity["ids"].message == f"none of 8 returned ids is known to the set; {example}"
    assert "unknown-ids" in [caution.code for caution in run.warnings]


def test_ids_that_never_match_end_a_run_with_an_example(bench: Workbench) -> None:
    bench.golden(question(n) | {"expected_docs": [str(100 + n)]} for n in range(15))
    spec = bench.script("n = 100 + int(query.split()[-1])\nprint(json.dumps([f'{n + i}.txt' for i in range(k)]))")
    done = bench.eval("run", "--golden", "golden.jsonl", "--system", spec)
    assert done.code == COULD_NOT_RUN
    message = "none of 150 returned ids is known to the set; expected like `100`, returned like `100.txt`"
    assert f"not a measurement: {message}" in done.err
    assert f"  ids:                  invalid  {message}\n" in done.out
    assert bench.json("list")["runs"][0]["measurement"] is False
    assert " invalid " in bench.eval("list").out


def test_many_foreign_ids_are_not_a_measurement_but_a_few_are() -> None:
    foreign = assay.evaluate(records(15), lambda query, k: [f"{query}-{n:x}-uuid" for n in range(k)])
    assert foreign.sanity["ids"].state == "invalid"
    unlucky = assay.evaluate(records(15), lambda query, k: ["900", "901"])
    assert (unlucky.sanity["ids"].state, unlucky.sanity.is_measurement) == ("warning", True)


def test_some_ids_in_another_spelling_are_warned_of() -> None:
    run = assay.evaluate(records(12), lambda query, k: [query.zfill(2)])  # 10, 11 and 12 match
    assert run.sanity["ids"].state == "warning"
    assert "9 expected ids never matched, but returned in another spelling" in run.sanity["ids"].message


@pytest.mark.parametrize("other", ["docs/README.md", "README.rst", "docs/README"])
def test_other_documents_of_a_similar_name_are_no_spelling(other: str) -> None:
    golden = [{"id": "a", "query": "a", "expected_docs": ["README.md"]}]
    assert assay.evaluate(golden, lambda query, k: [other]).sanity["ids"].state == "warning"


# --- nothing returned, nothing judged


@pytest.mark.parametrize(
    ("code", "check", "says"),
    [
        ("print('[]')", "results", "the system returned nothing for 12 queries, which is every one with an answer"),
        ("sys.exit(3)", "failures", "the system failed on all 12 queries"),
    ],
)
def test_a_system_without_any_result_is_not_a_measurement(bench: Workbench, code: str, check: str, says: str) -> None:
    bench.questions(12)
    options = ["--stop-after", "0", "--jobs", "4"]
    for label in ("before", "after"):
        told = bench.run(bench.script(code), *options, "--label", label, code=COULD_NOT_RUN)
        assert state(told, check) == "invalid"
        assert says in "".join(messages(told))
        assert not told["sanity"]["measurement"]
    gate = bench.refused("gate", "after", "--baseline", "before")
    assert gate.code == COULD_NOT_RUN
    assert gate.out.endswith("gate failed\n")
    for run in ("run", "baseline"):
        assert re.search(rf"FAIL  run is a measurement: {run} \S+: {says}\n", gate.out)
    floors = bench.refused("gate", "after", "--min", "RR@10=0")
    assert floors.code == COULD_NOT_RUN
    assert f"FAIL  run is a measurement: run {told['run_id']}: {says}" in floors.out
    assert "is not a measurement" in bench.refused("compare", "before", "after").err
    forced = bench.eval("compare", "before", "after", "--force")
    assert (forced.code, "warning: forced: run" in forced.err) == (DONE, True)
    assert bench.refused("baseline", "set").code == COULD_NOT_RUN


def test_a_set_without_positive_judgements_is_not_a_measurement(bench: Workbench) -> None:
    bench.write("set/topics.tsv", "".join(f"{n}\tquestion {n}\n" for n in range(1, 16)))
    bench.write("set/qrels.txt", "".join(f"{n} 1 d{n} 0\n" for n in range(1, 16)))  # grade before the document's zero
    told = bench.run("cmd:echo d1", golden="set", code=COULD_NOT_RUN)
    assert state(told, "judgements") == "invalid"
    assert "nothing could be judged: every judgement has grade 0 or less" in "".join(messages(told))


def test_refusals_and_written_answers_are_measurements() -> None:
    golden = [{"id": f"{n}", "query": "anything?", "refuse": True} for n in range(4)]
    assert assay.evaluate(golden, lambda query, k: []).sanity.is_measurement
    answered = [{"id": f"{n}", "query": "anything?", "expected_docs": ["a"]} for n in range(4)]
    refusing = assay.evaluate(answered, lambda query, k: {"hits": [], "answer": {"text": "", "grounded": False}})
    assert refusing.sanity["results"].state == "ok"


# --- order against scores


def test_scores_that_rise_while_ranks_fall_are_warned_of() -> None:
    def ascending(query: str, k: int) -> list[tuple[str, float]]:
        return [(f"x{n}", float(n)) for n in range(4)] + [(query, 9.0)]

    run = assay.evaluate(records(12), ascending)
    assert run.sanity["order"].state == "warning"
    assert run.sanity["order"].message.startswith("scores rise while ranks fall in 12 of 12 lists")
    descending = assay.evaluate(records(12), lambda query, k: ascending(query, k)[::-1])
    assert descending.sanity["order"].state == "ok"


# --- leaks


def test_a_folder_of_the_same_name_is_not_the_golden_set(bench: Workbench) -> None:
    golden = GoldenSet((), str(bench.folder / "eval/fixtures"), "fixtures", "")
    other = Response((Hit("tests/fixtures/shape.c", path="tests/fixtures/shape.c"),))
    own = Response((Hit("eval/fixtures/a.yaml", path="eval/fixtures/a.yaml"),))
    absolute = str(bench.folder / "eval/fixtures/a.yaml")
    assert golden_retrieved(golden, [other], bench.folder) == []
    assert golden_retrieved(golden, [own], bench.folder) != []
    assert golden_retrieved(golden, [Response((Hit(absolute, path=absolute),))]) != []
    assert golden_retrieved(golden, [Response((Hit("x", path="fixtures\0/../a"),))], bench.folder) == []


# --- the block


def test_every_run_has_a_sanity_block_in_table_json_and_pages(bench: Workbench) -> None:
    bench.questions(12)
    spec = bench.ranking("r", {f"q{n}": 2 for n in range(12)})
    told = bench.run(spec)
    assert [check["name"] for check in told["sanity"]["checks"]] == NAMES
    assert {check["state"] for check in told["sanity"]["checks"]} == {"ok"}
    assert told["sanity"]["measurement"] is True
    shown = bench.eval("show").out
    assert "sanity:\n  judgements:           ok       12 of 12 queries have expectations at level doc\n" in shown
    folder = bench.folder / ".assay/runs" / told["run_id"]
    assert json.loads((folder / "results.json").read_text())["sanity"] == told["sanity"]
    assert "## Sanity" in (folder / "FINDINGS.md").read_text()
    bench.eval("report")
    assert "<h2>Sanity" in (folder / "report.html").read_text().replace('<h2 id="sanity-title">', "<h2>")


def test_sanity_is_readable_in_python() -> None:
    run = assay.evaluate(records(4), lambda query, k: [f"{query}.txt"])
    assert repr(run.sanity).startswith("<Sanity: not a measurement\n  judgements ok ")
    assert "\n  ids        invalid none of 4 returned ids" in repr(run.sanity)
    assert repr(run).endswith("; not a measurement: " + run.sanity["ids"].message + ">")
    assert Sanity.from_json(run.summary["sanity"]) == run.sanity


@pytest.mark.parametrize("forged", [{}, {"checks": 3}, {"checks": [None, {"name": 1}]}])
def test_a_forged_sanity_of_a_store_raises_nothing(forged: dict[str, Any]) -> None:
    assert Sanity.from_json(forged).is_measurement


def test_what_could_not_be_measured_is_null(bench: Workbench) -> None:
    bench.questions(12)
    told = bench.run(bench.ranking("r", {f"q{n}": 1 for n in range(12)}))
    stored = json.loads((bench.folder / ".assay/runs" / told["run_id"] / "results.json").read_text())
    for metrics in (told["metrics"], stored["metrics"], bench.json("list")["runs"][0]["metrics"]):
        assert metrics["refusal_correctness"] is None
        assert metrics["citation_coverage"] is None
    assert "citation_coverage" not in bench.eval("show").out
    assert "citation_coverage:    – (±–)" in bench.eval("show", "-m", "citation_coverage").out


# --- golden sets


def beir(bench: Workbench, header: str, rows: list[tuple[str, ...]]) -> Path:
    queries = "".join(json.dumps({"_id": str(n), "text": f"question {n}"}) + "\n" for n in range(1, 16))
    bench.write("beir/queries.jsonl", queries)
    bench.write("beir/qrels/test.tsv", "".join("\t".join(row) + "\n" for row in [tuple(header.split()), *rows]))
    return bench.folder / "beir"


@pytest.mark.parametrize(
    "header", ["query-id corpus-id score", "corpus-id query-id score", "score doc_id qid", "query_id Q0 corpus_id Rel"]
)
def test_beir_columns_are_read_by_their_header(bench: Workbench, header: str) -> None:
    role = {"query": "{0}", "qid": "{0}", "corpus": "10{0}", "doc": "10{0}", "Q0": "0", "score": "2", "Rel": "2"}
    cells = [next(cell for start, cell in role.items() if name.startswith(start)) for name in header.split()]
    rows = [tuple(cell.format(n) for cell in cells) for n in range(1, 16)]
    golden = assay.load_golden(beir(bench, header, rows))
    assert {query.id: [(e.name, e.grade) for e in query.expected] for query in golden} == {
        str(n): [(f"10{n}", 2)] for n in range(1, 16)
    }


@pytest.mark.parametrize("kind", ["trec", "beir"])
def test_swapped_columns_are_refused(bench: Workbench, kind: str) -> None:
    judgements = [(str(n), str(10 + 37 * n + m)) for n in range(1, 16) for m in range(6)]  # query, document
    if kind == "beir":
        path = beir(bench, "query-id corpus-id score", [(document, query, "1") for query, document in judgements])
    else:
        bench.write("set/topics.tsv", "".join(f"{n}\tquestion {n}\n" for n in range(1, 16)))
        bench.write("set/qrels.txt", "".join(f"{document} 0 {query} 1\n" for query, document in judgements))
        path = bench.folder / "set"
    with pytest.raises(assay.AssayError, match=r"judgements belong to no query of .*: columns swapped\?"):
        assay.load_golden(path)


def test_judgements_of_other_queries_are_a_warning(bench: Workbench) -> None:
    bench.write("set/topics.tsv", "".join(f"{n}\tquestion {n}\n" for n in range(1, 16)))
    bench.write("set/qrels.txt", "".join(f"{n} 0 doc{n} 1\n" for n in range(1, 51)))
    golden = assay.load_golden(bench.folder / "set")
    assert len(golden) == 15
    assert "35 of 50 judgements belong to no query of topics.tsv: columns swapped?" in "".join(golden.warnings)


def test_a_ragas_set_is_not_written_under_a_name_it_cannot_be_read_by(bench: Workbench) -> None:
    bench.questions(12)
    done = bench.rootless("convert", "golden.jsonl", "set.csv", "--to", "ragas")
    assert (done.code, (bench.folder / "set.csv").exists()) == (COULD_NOT_RUN, False)
    assert "a ragas set is written as JSON lines; name it set.jsonl" in done.err
    assert bench.rootless("convert", "golden.jsonl", "set.jsonl", "--to", "ragas").code == DONE
    assert len(assay.load_golden(bench.folder / "set.jsonl")) == 12


def test_create_refuses_what_does_not_exist(bench: Workbench) -> None:
    bench.write("docs/guide.md", "# Guide\n")
    create = ("create", "--golden", "set.jsonl", "--question", "Where?")
    missing = bench.refused(*create, "--expect-file", "docs/gide.md")
    assert missing.code == COULD_NOT_RUN
    assert "nothing was added: there is no file `docs/gide.md` in" in missing.err
    assert "(nearest: docs/guide.md)" in missing.err
    unknown = bench.refused(*create, "--expect-symbol", "NoSuchSymbol")
    assert "symbol `NoSuchSymbol` cannot be checked" in unknown.err
    assert not (bench.folder / "set.jsonl").exists()
    assert bench.eval(*create, "--expect-file", "docs/guide.md").code == DONE
    bench.write("items.txt", "d1\n")
    assert bench.eval(*create, "--expect-doc", "d1", "--items", "items.txt").code == DONE
    assert bench.eval(*create, "--expect-symbol", "Later", "--unverified").code == DONE


def test_an_interview_takes_no_name_that_does_not_exist(bench: Workbench) -> None:
    bench.write("guide.md", "# Guide\n")
    typed = ["a question", "file:nope.md easy", "file:guide.md", ""]
    done = bench.eval("create", "--golden", "set.jsonl", "--system", "trec:nowhere", input="\n".join(typed) + "\n")
    assert "there is no file `nope.md`" in done.out
    assert "symbol `easy` cannot be checked" in done.out
    assert "so far: guide.md" in done.out
    assert done.code == 130
    assert "ended: 0 queries added to set.jsonl; the unfinished one is not written" in done.err
    assert "kept" not in done.err
