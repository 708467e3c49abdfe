"""Golden-set formats: hand-written examples, files of other tools, and round trips through save and load."""

from __future__ import annotations

import gzip
import json
import re
import string
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import assay
from assay.core.golden import LEVELS, Expected, GoldenQuery
from assay.evaluate.golden import FORMATS, WRITABLE, InvalidGolden, convert, detect, load, query_files, save
from support.paths import ROOT
from support.property_tests import examples


def _write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return folder


def _problems(path: Path) -> tuple[str, ...]:
    with pytest.raises(InvalidGolden) as caught:
        load(path)
    return caught.value.problems


def _names(query: GoldenQuery, level: str) -> list[str]:
    return [one.name for one in query.expected if one.level == level]


def test_every_format_has_a_name_and_one_line_that_describes_it() -> None:
    assert set(WRITABLE) == {"fixtures", "golden", "pairs", "queries", "trec", "beir", "ragas"}
    assert set(FORMATS) - set(WRITABLE) == {"table", "promptfoo", "langsmith", "huggingface", "ir_datasets"}
    assert all(name == one.name and one.description and "\n" not in one.description for name, one in FORMATS.items())


@pytest.mark.parametrize(
    ("format", "place"),
    [("fixtures", "medium/x.yaml"), ("golden", "x.yaml"), ("queries", "x.yaml"), ("pairs", "x.jsonl")],
)
def test_the_examples_of_the_guide_are_of_their_format(tmp_path: Path, format: str, place: str) -> None:
    guide = ROOT / "docs/guides/golden-sets.md"
    section = guide.read_text(encoding="utf-8").partition(f"\n### {format}\n")[2].partition("\n### ")[0]
    example = section.split("```")[1].partition("\n")[2]
    assert load(_write(tmp_path, {place: example}) / place).format == format
    named = set(re.findall(r"`(\w+)`", section))
    fields = {
        "fixtures": query_files.FIXTURES_SCHEMA.fields,
        "pairs": query_files.PAIRS_SCHEMA.fields,
        "queries": query_files.QUERIES_SCHEMA.fields,
        "golden": {},
    }[format]
    assert set(fields) <= named


# ── fixtures ──

_FIXTURE = """\
task: "Add a new MCP tool that returns symbol documentation"
difficulty: easy
tags: [single-package, mcp, new-feature]
ground_truth:
  - mcp.registerTools
  - {name: mcp.Server, grade: 2}
"""


def test_a_fixture_takes_its_id_from_its_path(tmp_path: Path) -> None:
    folder = _write(tmp_path, {"easy/06-new-tool.yaml": _FIXTURE, "README.md": "how to", ".hidden/x.yaml": "no"})
    golden = load(folder)
    (query,) = golden.queries
    assert (golden.format, golden.levels) == ("fixtures", ("symbol",))
    assert (query.id, query.tier, query.tags) == ("easy/06-new-tool", "easy", ("single-package", "mcp", "new-feature"))
    assert query.expected == (Expected("mcp.registerTools"), Expected("mcp.Server", grade=2))
    assert query.where == f"{folder}/easy/06-new-tool.yaml:1"


def test_one_fixture_file_is_a_set_of_one(tmp_path: Path) -> None:
    _write(tmp_path, {"easy/06-new-tool.yml": _FIXTURE})
    (query,) = load(tmp_path / "easy/06-new-tool.yml").queries
    assert (query.id, query.tier) == ("06-new-tool", "easy")


def test_fixtures_of_several_repositories(tmp_path: Path) -> None:
    task = "id: flask-1\nrepo: flask\ntier: {}\ndescription: d\nsource: manual\nground_truth: [Flask.run]\nnotes: n\n"
    folder = _write(
        tmp_path,
        {
            "flask/easy/run.yaml": task.format("easy"),
            "other/multi_hop/walk.yaml": "task: t\nground_truth: [x]\n",
            "other/custom/walk.yaml": "task: t\ntier: odd\nground_truth: [x]\n",
        },
    )
    flask, custom, hop = load(folder).queries
    assert (flask.id, flask.repository, flask.tier) == ("flask-1", "flask", "easy")
    assert (flask.text, flask.category, flask.notes) == ("d", "manual", "n")
    assert (hop.id, hop.repository, hop.tier) == ("other/multi_hop/walk", "other", "multi_hop")
    assert (custom.id, custom.repository, custom.tier) == ("other/custom/walk", "", "odd")


def test_a_tier_that_contradicts_its_folder_is_refused(tmp_path: Path) -> None:
    folder = _write(tmp_path, {"hard/a.yaml": _FIXTURE, "custom/b.yaml": _FIXTURE})
    (problem,) = _problems(folder)
    assert problem.startswith(f"{folder}/hard/a.yaml:1: the tier is `easy`, but the file lies in the folder `hard`")
    assert _problems(folder / "hard") == _problems(folder / "hard/a.yaml") == (problem,)


def test_a_fixture_may_ask_for_files_or_for_a_refusal_but_not_for_nothing(tmp_path: Path) -> None:
    good = {
        "a.yaml": "task: a\nground_truth: []\nrefuse: true\n",
        "b.yaml": "task: b\nground_truth: [s]\nexpected_files: [f.py]\n",
    }
    refused, files = load(_write(tmp_path / "good", good)).queries
    assert refused.refuse
    assert (_names(files, "symbol"), _names(files, "file")) == (["s"], ["f.py"])
    (problem,) = _problems(_write(tmp_path / "bad", {"a.yaml": "task: a\nground_truth: []\n"}))
    assert "expects nothing: fill `ground_truth` or `expected_files`, or write `refuse: true`" in problem


def test_problems_of_all_fixture_files_are_reported_together(tmp_path: Path) -> None:
    files = {
        "easy/a.yaml": "task: [\n",
        "easy/b.yaml": "taskk: x\nground_truth: [y]\n",
        "easy/c.yaml": "",
        "easy/d.yaml": "queries: []\n",
        "easy/e.yaml": "task: x\nground_truth: y\n",
    }
    folder = _write(tmp_path, files)
    said = [problem.removeprefix(f"{folder}/easy/") for problem in _problems(folder)]
    assert said[0].startswith("a.yaml:2: broken YAML")
    assert said[1] == "b.yaml:1: unknown field `taskk`. Did you mean 'task'?"
    assert said[2] == "b.yaml:1: needs `task` or `description`"
    assert said[3] == "c.yaml: is empty; a fixture needs `task` and `ground_truth`"
    assert said[4] == "d.yaml:1: is a list of queries, not a fixture; give its own path to use it"
    assert said[5] == "e.yaml:2: `ground_truth` must be a list, not `y`"


def test_fixtures_keep_their_file_names_when_saved_elsewhere(tmp_path: Path) -> None:
    source = _write(
        tmp_path / "source", {"easy/06-new-tool.yaml": _FIXTURE, "hard/x.yaml": "task: t\nground_truth: [s]\n"}
    )
    assert convert(source, tmp_path / "copy", "fixtures") == []
    files = {
        path.relative_to(tmp_path / "copy").as_posix(): path.read_text() for path in (tmp_path / "copy").rglob("*.yaml")
    }
    assert set(files) == {"easy/06-new-tool.yaml", "hard/x.yaml"}
    assert files["easy/06-new-tool.yaml"] == (
        "task: Add a new MCP tool that returns symbol documentation\ndifficulty: easy\n"
        "tags: [single-package, mcp, new-feature]\nground_truth:\n- mcp.registerTools\n- name: mcp.Server\n  grade: 2\n"
    )


# ── lists of queries ──

_GOLDEN = """\
# `expected_doc_ids: []` = should refuse
queries:
  - id: install
    query: How is it installed?
    expected_chunk_ids: [readme#1, {id: readme#2, doc: readme, start: 10, end: 20, grade: 2}]
    expected_doc_ids: [readme, {id: guide, grade: 0}]
    expected_spans: [{path: README.md, start: 3, end: 9}, {doc: b.md, start: 0, end: 9, grade: 3}]
    must_contain: [pip]
    forbidden: ["npm"]
    tier: easy
    category: usage
    tags: [a, b]
    notes: why
    expected_answer: With pip.
  - id: weather
    query: Will it rain?
    expected_doc_ids: []
"""


def test_golden_yaml_holds_chunks_documents_spans_and_answers(tmp_path: Path) -> None:
    golden = load(_write(tmp_path, {"set.yaml": _GOLDEN}) / "set.yaml")
    install, weather = golden.queries
    assert (golden.format, golden.levels) == ("golden", ("doc", "chunk", "span"))
    assert install.expected == (
        Expected("readme", "doc"),
        Expected("guide", "doc", 0),
        Expected("readme#1", "chunk"),
        Expected("readme#2", "chunk", 2, "readme", 10, 20),
        Expected("README.md", "span", 1, "", 3, 9),
        Expected("b.md", "span", 3, "", 0, 9),
    )
    assert (install.must_contain, install.forbidden) == (("pip",), ("npm",))
    assert (install.tier, install.category, install.tags) == ("easy", "usage", ("a", "b"))
    assert (install.notes, install.answer, install.refuse) == ("why", "With pip.", False)
    assert (weather.refuse, weather.expected, weather.where) == (True, (), f"{tmp_path}/set.yaml:15")


def test_no_documents_means_a_refusal_only_where_nothing_else_is_expected(tmp_path: Path) -> None:
    text = "queries:\n  - {id: a, query: b, expected_doc_ids: [], expected_chunk_ids: [c]}\n"
    (query,) = load(_write(tmp_path, {"set.yaml": text}) / "set.yaml").queries
    assert not query.refuse


def test_a_query_may_ask_only_for_words_of_the_answer(tmp_path: Path) -> None:
    text = "queries:\n  - {id: a, query: b, must_contain: [c]}\n"
    (query,) = load(_write(tmp_path, {"set.yaml": text}) / "set.yaml").queries
    assert (query.expected, query.refuse, query.must_contain) == ((), False, ("c",))


def test_the_header_of_a_saved_golden_file_documents_the_refusal(tmp_path: Path) -> None:
    save([GoldenQuery("a", "b", refuse=True)], tmp_path / "set.yaml", "golden")
    header, _, body = (tmp_path / "set.yaml").read_text().partition("queries:\n")
    assert "`expected_doc_ids: []` means" in header
    assert body == "  - id: a\n    query: b\n    expected_doc_ids: []\n"


def test_categorised_queries_hold_files_and_symbols(tmp_path: Path) -> None:
    text = """\
queries:
  - id: func_collision_detection
    query: "collision detection function"
    category: function_search
    expected_files:
      - "Source/Runtime/Physics/CollisionSystem.cpp"
    expected_symbols:
      - "DetectCollision"
      - "CheckCollision"
"""
    golden = load(_write(tmp_path, {"queries.yaml": text}) / "queries.yaml")
    (query,) = golden.queries
    assert (golden.format, golden.levels, query.category) == ("queries", ("symbol", "file"), "function_search")
    assert _names(query, "symbol") == ["DetectCollision", "CheckCollision"]
    assert _names(query, "file") == ["Source/Runtime/Physics/CollisionSystem.cpp"]


# ── pairs ──


def test_question_pairs_take_numbers_as_ids(tmp_path: Path) -> None:
    text = """\
{"id": 1, "question": "How do I install it?", "expected_chunks": [5, 6], "difficulty": "easy", "category": "installation", "notes": "README"}
{"id": 4, "question": "Is there real-time sync?", "expected_chunks": [], "expected_answer": null}
{"id": 5, "question": "Where?", "expected_chunks": [], "expected_files": ["a.md"]}
"""
    golden = load(_write(tmp_path, {"gold.jsonl": text}) / "gold.jsonl")
    install, sync, where = golden.queries
    assert golden.format == "pairs"
    assert (install.id, _names(install, "chunk"), install.tier, install.category) == (
        "1",
        ["5", "6"],
        "easy",
        "installation",
    )
    assert (sync.refuse, sync.answer) == (True, "")
    assert (where.refuse, _names(where, "file")) == (False, ["a.md"])


# ── TREC ──

_SGML = """\
<top>
<num> Number: 301
<title> International Organized Crime &amp; AT&T

<desc> Description:
Identify organizations.
<narr> Narrative: no
</top>
<top><num>302</num><title></title><desc>Polio</desc></top>
"""
_XML = '<?xml version="1.0"?>\n<topics>\n<topic number="7" type="x"><query>ham radio</query></topic>\n</topics>\n'
_QRELS = "# judged by us\n301 0 FBIS3-1 1\n301\t0\tFBIS3-2\t-2\n302 Q0 FBIS3-1 0\n"


def test_sgml_topics_ask_their_title_or_else_their_description(tmp_path: Path) -> None:
    golden = load(
        _write(tmp_path, {"topics.301-302": _SGML, "qrels.txt": _QRELS, ".qrels.old": _QRELS, "more/qrels": _QRELS})
    )
    crime, polio = golden.queries
    assert (golden.format, golden.levels) == ("trec", ("doc",))
    assert (crime.id, crime.text, crime.notes) == (
        "301",
        "International Organized Crime & AT&T",
        "Identify organizations.",
    )
    assert crime.expected == (Expected("FBIS3-1", "doc", 1), Expected("FBIS3-2", "doc", -2))
    assert (polio.text, polio.notes, polio.expected) == ("Polio", "", (Expected("FBIS3-1", "doc", 0),))
    assert crime.at("doc") == crime.expected[:1]


@pytest.mark.parametrize(
    ("topics", "id", "text"),
    [
        (_XML, "7", "ham radio"),
        ("7\tham radio 5 1\n", "7", "ham radio 5 1"),
        ("".join(f".I {n:03}\n.W\nasks {n}\nmore .\n" for n in range(2, 16, 2)), "7", "asks 14 more ."),
    ],
)
def test_topics_of_other_kinds_are_read(tmp_path: Path, topics: str, id: str, text: str) -> None:
    folder = _write(
        tmp_path, {"web.topics.gz": topics, "web.qrels.gz": f"{id} 0 d1 1\n", "docs": ".I 1\n.T\ntitle\n.W\nx\n"}
    )
    for path in (folder, folder / "web.qrels.gz"):
        (query,) = load(path).queries
        assert (query.id, query.text, _names(query, "doc")) == (id, text, ["d1"])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("301 0 d9 1.5", "the grade must be a whole number between -100 and 100, not `1.5`"),
        ("301 0 d9 nan", "not `nan`"),
        ("301 0 d9 101", "not `101`"),
        ("301 0 d9", "needs 4 columns (query, iteration, document, grade), has 3"),
        ("301 0 d 9 1", "has 5"),
        ("301 0 FBIS3-1 2", "document `FBIS3-1` of query `301` has another grade in line 2"),
    ],
)
def test_a_wrong_judgement_is_refused_with_its_line(tmp_path: Path, line: str, said: str) -> None:
    folder = _write(tmp_path, {"topics.sgml": _SGML, "qrels": _QRELS + line + "\n"})
    (problem,) = _problems(folder)
    assert problem.startswith(f"{folder}/qrels:5: ")
    assert said in problem


def test_queries_without_judgements_and_judgements_without_query_are_counted(tmp_path: Path) -> None:
    qrels = _QRELS + "301 0 FBIS3-1 1\n400 0 d 1\n401 0 d 1\n"
    folder = _write(tmp_path, {"topics.tsv": "301\ta\n302\tb\n303\tc\n", "qrels": qrels})
    golden = load(folder)
    assert [query.id for query in golden.queries] == ["301", "302"]
    assert golden.warnings[:3] == (
        f"{folder}/qrels: judges 2 queries that topics.tsv does not have, e.g. `400`",
        f"{folder}/qrels:5: 1 repeated judgements are counted once",
        f"{folder}/topics.tsv: 1 queries without judgements in qrels are left out",
    )


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"qrels": _QRELS}, "no topics file was found"),
        ({"qrels": _QRELS, "a.qrels": _QRELS, "topics": _SGML}, "more than one qrels file: a.qrels, qrels"),
        ({"qrels": _QRELS, "topics": _SGML, "queries": "1\tx\n"}, "more than one topics file: queries, topics"),
        ({"qrels": "9 0 d 1\n", "topics": _SGML}, "judges none of the queries of"),
        ({"qrels": _QRELS, "topics": "1\tx\n1\ty\n"}, "topics:2: id `1` is used twice, first in line 1"),
        ({"qrels": _QRELS, "topics": "1\tx\ny\n"}, "topics:2: a topic is an id, a tab and a text"),
        ({"qrels": _QRELS, "topics": "1\tx\n2\t \n"}, "topics:2: the text of query `2` is empty"),
        ({"qrels": _QRELS, "topics": "<top><title>x</title></top>"}, "topics:1: a topic needs `<num>`"),
    ],
)
def test_a_trec_folder_that_does_not_fit_together_is_refused(tmp_path: Path, files: dict[str, str], said: str) -> None:
    assert said in _problems(_write(tmp_path, files))[0]


# ── BEIR ──


def _beir(folder: Path, gz: str = "") -> Path:
    queries = [
        {"_id": "q1", "text": "one", "metadata": {"url": "x"}},
        {"_id": 2, "text": "two"},
        {"_id": "q3", "text": "3"},
    ]
    header = "query-id\tcorpus-id\tscore\n"
    return _write(
        folder,
        {
            f"queries.jsonl{gz}": "".join(json.dumps(query) + "\n" for query in queries),
            f"corpus.jsonl{gz}": '{"_id": "d 1", "title": "", "text": "x"}\n',
            f"qrels/test.tsv{gz}": f"{header}q1\td 1\t2\nq1\td2\t0\n2\td2\t1\n",
            f"qrels/dev.tsv{gz}": f"{header}q3\td2\t1\n",
        },
    )


@pytest.mark.parametrize("gz", ["", ".gz"])
def test_a_beir_folder_is_read_at_its_test_split_or_at_the_one_named(tmp_path: Path, gz: str) -> None:
    folder = _beir(tmp_path, gz)
    golden = load(folder)
    one, two = golden.queries
    assert (golden.format, one.id, one.text, two.id) == ("beir", "q1", "one", "2")
    assert one.expected == (Expected("d 1", "doc", 2), Expected("d2", "doc", 0))
    assert f"{folder}/queries.jsonl{gz}: 1 queries without judgements in test.tsv{gz} are left out" in golden.warnings
    assert load(folder / f"queries.jsonl{gz}").queries == golden.queries
    dev = load(folder / f"qrels/dev.tsv{gz}")
    assert (dev.format, [query.id for query in dev.queries]) == ("beir", ["q3"])


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t0.5\n", "test.tsv:2: the grade must be a whole number"),
        ("qrels/test.tsv", "q1\td1\tNaN\n", "test.tsv:1: the grade must be a whole number"),
        ("qrels/test.tsv", "q1 d1 1\n", "test.tsv:1: needs 3 columns with tabs between"),
        ("queries.jsonl", '{"_id": "q1"}\n', "queries.jsonl:1: a query needs `_id` and `text`: object missing"),
        (
            "queries.jsonl",
            '{"_id": "q1", "text": 1}\n',
            "queries.jsonl:1: a query needs `_id` and `text`: expected `str`",
        ),
        ("queries.jsonl", "{\n", "queries.jsonl:1: broken JSON: input data was truncated"),
        ("queries.jsonl", '{"_id": "q1", "text": " "}\n', "queries.jsonl:1: the text of query `q1` is empty"),
    ],
)
def test_a_broken_beir_file_is_refused_with_its_line(tmp_path: Path, file: str, text: str, said: str) -> None:
    assert said in _problems(_write(_beir(tmp_path), {file: text}))[0]


def test_without_a_test_split_one_of_several_must_be_named(tmp_path: Path) -> None:
    folder = _beir(tmp_path)
    (folder / "qrels/test.tsv").unlink()
    assert [query.id for query in load(folder).queries] == ["q3"]
    _write(folder, {"qrels/train.tsv": "q1\td\t1\n"})
    assert _problems(folder) == (f"{folder}/qrels: has no test.tsv; name one of dev.tsv, train.tsv",)


# ── written by other tools ──

IMPORTS = ROOT / "tests/fixtures/eval/imports"


def test_every_example_is_recognised() -> None:
    formats = {path.name: detect(path).name for path in IMPORTS.iterdir() if path.name != "README.md"}
    assert formats == {
        "ragas.csv": "ragas",
        "ragas.jsonl": "ragas",
        "promptfoo.yaml": "promptfoo",
        "langsmith.jsonl": "langsmith",
        "langsmith.csv": "langsmith",
        "huggingface": "huggingface",
        "questions.csv": "table",
    }


def test_a_spreadsheet_of_questions() -> None:
    golden = load(IMPORTS / "questions.csv")
    first, second = golden.queries
    assert (first.id, first.text, first.tier) == ("2", "Where are cookies signed?", "easy")
    assert _names(first, "file") == ["src/sessions.py", "src/signing.py"]
    assert second.text.startswith("=HYPERLINK("), "a formula is text"
    assert _names(second, "file") == ["docs/config.md"]
    assert any("columns that are not read: `owner`" in warning for warning in golden.warnings)


def test_a_ragas_test_set_as_pandas_writes_it() -> None:
    first, second = load(IMPORTS / "ragas.csv").queries
    assert first.must_contain == ("To add a member, open Settings and press Invite. Only owners may invite.",)
    assert second.must_contain[0] == "Only owners may invite.", "the mark of a hop is dropped"
    assert second.answer == "Owners; seven days."
    found = assay.evaluate(
        [first],
        lambda query, k: [
            {"id": 1, "text": "To add a member, open Settings and\npress Invite. Only owners may invite. More."}
        ],
    )
    assert found.metrics["phrase_recall"] == 1.0


def test_a_ragas_dataset_with_context_ids() -> None:
    first, second = load(IMPORTS / "ragas.jsonl").queries
    assert _names(first, "chunk") == ["members-1"]
    assert _names(second, "chunk") == ["billing-2", "billing-3"]


def test_promptfoo_tests() -> None:
    first, second = load(IMPORTS / "promptfoo.yaml").queries
    assert first.text == "What is the largest purchase without approval?"
    assert _names(first, "file") == ["docs/reimbursement.md"]
    assert first.must_contain == ("$500",)
    assert first.answer == "the largest purchase without approval is $500"
    assert second.must_contain == ("16 weeks", "paid")
    assert second.forbidden == ("unpaid",)
    assert second.notes == "maternity leave"


def test_langsmith_examples() -> None:
    first, second = load(IMPORTS / "langsmith.jsonl").queries
    assert first.id.endswith("0001")
    assert (_names(first, "doc"), first.tier, first.answer) == (["docs/regions.md"], "easy", "eu-west-1")
    assert _names(second, "doc") == ["docs/keys.md#2"]
    by_csv = load(IMPORTS / "langsmith.csv").queries
    assert [_names(query, "file") for query in by_csv] == [["docs/regions.md"], ["docs/keys.md"]]


def test_a_hugging_face_folder_uses_the_split_that_results_are_published_on() -> None:
    golden = load(IMPORTS / "huggingface")
    first, second = golden.queries
    assert first.must_contain == ("The ferry crosses the strait in forty minutes.", "forty minutes")
    assert second.refuse, "a question without an answer"
    assert any("the split `validation` is used" in warning for warning in golden.warnings)


def test_parquet_needs_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "test.parquet").write_bytes(b"PAR1")
    with pytest.raises(assay.AssayError, match="pip install pyarrow"):
        load(tmp_path)


@pytest.mark.parametrize("rows", [[{"query": "x", "expected": ["a", "b"]}, {"query": "y", "expected": "c"}]])
def test_parquet_files_are_read(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows[1]["expected"] = ["c"]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "test.parquet")
    assert [_names(query, "doc") for query in load(tmp_path).queries] == [["a", "b"], ["c"]]


def test_ir_datasets_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = SimpleNamespace(
        queries_iter=lambda: [
            SimpleNamespace(query_id="1", text="ferry"),
            SimpleNamespace(query_id="2", text="harbour"),
        ],
        qrels_iter=lambda: [SimpleNamespace(query_id="1", doc_id="d7", relevance=2)],
    )
    monkeypatch.setitem(sys.modules, "ir_datasets", SimpleNamespace(load={"vaswani": dataset}.__getitem__))
    golden = assay.load_golden("ir_datasets:vaswani")
    assert [(query.id, query.expected[0].name, query.expected[0].grade) for query in golden] == [("1", "d7", 2)]
    with pytest.raises(assay.AssayError, match="no judged queries under `nope`"):
        assay.load_golden("ir_datasets:nope")
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(assay.AssayError, match="pip install ir_datasets"):
        assay.load_golden("ir_datasets:vaswani")


@pytest.mark.parametrize("name", ["query", "question"])
def test_json_lines_of_another_tool(tmp_path: Path, name: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps({name: "where?", "relevant_docs": ["a.md"], "owner": "ada"}) + "\n")
    (query,) = load(path).queries
    assert (query.text, _names(query, "doc")) == ("where?", ["a.md"])


def test_rows_that_expect_nothing_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "set.csv"
    path.write_text("question,expected,answer\nfirst?,a.md,yes\nsecond?,,no\n")
    golden = load(path)
    assert len(golden.queries) == 1
    assert any("1 rows name no document" in warning for warning in golden.warnings)
    path.write_text("question,answer\nfirst?,yes\n")
    with pytest.raises(assay.AssayError, match="Add a column such as `expected_docs`"):
        load(path)


@pytest.mark.parametrize("source", [path for path in sorted(IMPORTS.iterdir()) if path.name != "README.md"], ids=str)
def test_every_import_can_be_converted_to_pairs_and_keeps_its_identity(source: Path, tmp_path: Path) -> None:
    convert(source, tmp_path / "set.jsonl", "pairs")
    assert load(tmp_path / "set.jsonl").digest == load(source).digest


def test_a_set_is_exported_for_ragas(tmp_path: Path) -> None:
    source = tmp_path / "set.jsonl"
    source.write_text(
        json.dumps({"id": "a", "question": "where?", "expected_docs": ["a.md"], "expected_answer": "here"}) + "\n"
        + json.dumps({"id": "b", "question": "what?", "must_contain": ["make install"]}) + "\n"
    )  # fmt: skip
    lost = convert(source, tmp_path / "ragas.jsonl", "ragas")
    lines = [json.loads(line) for line in (tmp_path / "ragas.jsonl").read_text().splitlines()]
    assert lines == [
        {"user_input": "where?", "reference_context_ids": ["a.md"], "reference": "here"},
        {"user_input": "what?", "reference_contexts": ["make install"]},
    ]
    assert any("ids of queries are not kept" in note for note in lost)
    assert "ragas" in WRITABLE


def test_what_is_only_read_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(assay.AssayError, match="a promptfoo set is only read; write one of"):
        convert(IMPORTS / "questions.csv", tmp_path / "set.yaml", "promptfoo")


# the corpus of an exported BEIR set


def _exported(tmp_path: Path, expected: dict[str, Any]) -> tuple[dict[str, dict[str, str]], list[str]]:
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "docs/a.md").write_text("first\nsecond\nthird\n")
    (root / "docs/b.md").write_text("other\n")
    (root / "binary.dat").write_bytes(b"\0\1")
    (root / "link.md").symlink_to("/etc/hostname")
    source = tmp_path / "set.jsonl"
    source.write_text(json.dumps({"id": "a", "question": "where?", **expected}) + "\n")
    lost = convert(source, tmp_path / "beir", "beir", corpus=root)
    rows = map(json.loads, (tmp_path / "beir/corpus.jsonl").read_text().splitlines())
    assert detect(tmp_path / "beir").name == "beir"
    return {row["_id"]: row for row in rows}, lost


def test_an_exported_beir_set_has_the_texts_of_its_documents_and_of_the_others(tmp_path: Path) -> None:
    rows, lost = _exported(tmp_path, {"expected_docs": ["docs/a.md", "gone.md"]})
    assert rows["docs/a.md"] == {"_id": "docs/a.md", "title": "a.md", "text": "first\nsecond\nthird\n"}
    assert list(rows) == ["docs/a.md", "docs/b.md"], "no binary file, nothing behind a link"
    assert any("gone.md" in note for note in lost)


def test_an_expected_chunk_is_exported_as_its_lines(tmp_path: Path) -> None:
    chunk = {"id": "a#2", "doc": "docs/a.md", "start": 2, "end": 3}
    rows, _ = _exported(tmp_path, {"expected_chunks": [chunk]})
    assert rows["a#2"]["text"] == "second\nthird"


@pytest.mark.parametrize("name", ["/etc/hostname", "../outside.md", "docs/../../outside.md", "link.md"])
def test_an_expectation_never_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "outside.md").write_text("secret")
    rows, lost = _exported(tmp_path, {"expected_docs": [name, "docs/a.md"]})
    assert name not in rows
    assert any(name in note for note in lost)


def test_only_a_beir_set_has_a_corpus(tmp_path: Path) -> None:
    with pytest.raises(assay.AssayError, match="a pairs set has no corpus"):
        convert(IMPORTS / "questions.csv", tmp_path / "set.jsonl", "pairs", corpus=tmp_path)


# ── what is saved is what is loaded ──

_CHARACTERS = st.characters(exclude_categories=["Cs"])
_words = st.text(_CHARACTERS, min_size=1, max_size=12).filter(str.strip)
_names_of = st.one_of(
    st.sampled_from(
        ["no", "1e3", "~", "null", "007", "2024-01-01", "a: b", "- a", "#a", "*a", "'", '"', "a\tb", "<top>"]
    ),
    _words.map(str.strip).filter(bool),
)
_codes = st.text(string.ascii_letters + string.digits + "._-/:", min_size=1, max_size=8)  # what TREC ids can hold


@st.composite
def _expected(draw: st.DrawFn, level: str, names: st.SearchStrategy[str], grades: st.SearchStrategy[int]) -> Expected:
    one = Expected(draw(names), level, draw(grades))
    if level == "chunk":
        one = replace(one, doc=draw(st.just("") | names))
    if level == "span" and draw(st.booleans()):
        one = replace(one, page=draw(st.integers(1, 50)))
    elif level == "span" or (level == "chunk" and draw(st.booleans())):
        start = draw(st.integers(0, 50))
        one = replace(one, start=start, end=start + draw(st.integers(0, 50)))
    return one


@st.composite
def _query(draw: st.DrawFn, levels: tuple[str, ...], attributes: tuple[str, ...]) -> GoldenQuery:
    """A query that holds only these levels and attributes, as a reader would give it."""
    refuse = "refuse" in attributes and draw(st.booleans())
    grades = st.integers(-2, 0) if refuse else st.integers(-2, 5)
    some = [one for level in levels for one in draw(st.lists(_expected(level, _names_of, grades), max_size=3))]
    unique = {(e.level, e.name, (e.start, e.end, e.page) if e.level == "span" else 0): e for e in some}
    if not unique and not refuse:
        unique["", "", 0] = Expected("x", levels[0], 1, "", 1, 2) if levels[0] == "span" else Expected("x", levels[0])
    expected = sorted(unique.values(), key=lambda e: LEVELS.index(e.level))
    values: dict[str, object] = {}
    for name in attributes:
        if name in ("tags", "must_contain", "forbidden"):
            values[name] = tuple(draw(st.lists(_words, max_size=3)))
        elif name in ("notes", "answer"):
            values[name] = draw(st.text(_CHARACTERS, max_size=20))
        elif name == "tier":
            values[name] = draw(st.sampled_from(["", "easy", "hard", "multi_hop"]) | _names_of)
        elif name != "refuse":
            values[name] = draw(st.just("") | _names_of)
    return GoldenQuery(draw(_names_of), draw(_words), tuple(expected), refuse, **values)  # type: ignore[arg-type]


def _sets(levels: tuple[str, ...], attributes: tuple[str, ...]) -> st.SearchStrategy[list[GoldenQuery]]:
    return st.lists(_query(levels, attributes), min_size=1, max_size=5, unique_by=lambda query: query.id)


_ATTRIBUTES = ("refuse", "tier", "category", "tags", "notes", "repository", "commit")
_EVERYTHING = (*_ATTRIBUTES, "answer", "must_contain", "forbidden")
_unhurried = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _saved(queries: list[GoldenQuery], format: str) -> list[GoldenQuery]:
    """The queries after a way through a file; nothing may be lost on it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "set")
        assert save(queries, path, format) == []
        return [replace(query, where="") for query in load(path, format).queries]


@_unhurried
@given(_sets(("symbol", "file"), _ATTRIBUTES))
def test_fixtures_give_back_what_they_hold(queries: list[GoldenQuery]) -> None:
    assert sorted(_saved(queries, "fixtures"), key=lambda q: q.id) == sorted(queries, key=lambda q: q.id)


def _documents(
    draw: Callable[..., Any], ids: st.SearchStrategy[str], texts: st.SearchStrategy[str]
) -> list[GoldenQuery]:
    grades = st.dictionaries(ids, st.integers(-3, 5), min_size=1, max_size=4)
    out = []
    for name in draw(st.lists(ids, min_size=1, max_size=5, unique=True)):
        expected = tuple(Expected(document, "doc", grade) for document, grade in draw(grades).items())
        out.append(GoldenQuery(name, draw(texts), expected))
    return out


@_unhurried
@given(st.data())
def test_trec_folders_give_back_what_they_hold(data: st.DataObject) -> None:
    texts = st.lists(_codes, min_size=1, max_size=4).map(" ".join)
    queries = _documents(data.draw, _codes, texts)
    assert _saved(queries, "trec") == queries


@_unhurried
@given(st.data())
def test_beir_folders_give_back_what_they_hold(data: st.DataObject) -> None:
    queries = _documents(data.draw, _names_of.filter(lambda name: not set(name) & set("\t\r\n")), _words)
    assert _saved(queries, "beir") == queries


@_unhurried
@given(_sets(LEVELS, _EVERYTHING), st.permutations(["pairs", "golden", "queries"]))
def test_a_chain_of_conversions_keeps_every_query(queries: list[GoldenQuery], chain: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, str(number)) for number in range(len(chain))]
        save(queries, paths[0], chain[0])
        for number, format in enumerate(chain[1:], 1):
            assert convert(paths[number - 1], paths[number], format, chain[number - 1]) == []
        last = load(paths[-1], chain[-1])
        assert [replace(query, where="") for query in last.queries] == queries
        assert last.digest == load(paths[0], chain[0]).digest
