"""Golden sets that other tools wrote: each from a file in the shape of the tool's own example, and hostile ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import assay
from assay.core.golden import GoldenQuery
from assay.evaluate.golden import WRITABLE, convert, detect, load
from support.paths import ROOT

IMPORTS = ROOT / "tests/fixtures/eval/imports"


def _names(query: GoldenQuery, level: str) -> list[str]:
    return [expected.name for expected in query.at(level)]


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
