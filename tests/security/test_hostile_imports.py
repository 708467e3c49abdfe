"""Golden sets of other tools by a stranger: malformed, huge, deep; each is refused in a line, in bounded time."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import assay
from assay.evaluate.golden import load

_LAUGHS = "tests:\n  - &a {vars: {query: x}}\n" + "".join(
    f"  - &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

CASES = {
    "unclosed.csv": ('query,expected\n"never closed', "broken CSV"),
    "nul.csv": ("query,expected\nx\0y,a\n", r"set\.csv|nul\.csv|broken|not recognised"),
    "wide.csv": ("query,expected\n" + "x" * 200_000 + ",a\n", "broken CSV: field larger"),
    "head.csv": ("query,expected\n", "empty"),
    "deep.jsonl": ('{"query": "x", "relevant_docs": ' + "[" * 100_000 + "]" * 100_000 + "}\n", "nested too deeply"),
    "deep_cell.csv": ('query,expected\nx,"' + "[" * 50_000 + "]" * 50_000 + '"\n', ""),
    "twice.jsonl": ('{"query": "x", "query": "y", "documents": ["a"]}\n', "given twice"),
    "list.jsonl": ('{"query": "x", "documents": ["a"]}\n[1, 2]\n', "must be a mapping"),
    "laughs.yaml": (_LAUGHS, "aliases expand|must be a mapping"),
    "tag.yaml": ("tests:\n  - vars: !!python/object/apply:os.system [id]\n", "YAML tag"),
    "file.yaml": ("tests: file:///etc/passwd\n", "the tests are elsewhere"),
    "files.yaml": ("tests:\n  - file:///etc/passwd\n", "the tests are elsewhere"),
    "scalar.yaml": ("tests:\n  - vars: 3\n    assert: 4\n", "needs a text"),
    "object.json": ('{"query": {"question": 1}}', "needs a list of rows"),
    "cell.csv": ('inputs,outputs\n"{""question"": ""x""","{}"\n', "broken JSON"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_import_is_refused_in_a_line(tmp_path: Path, name: str) -> None:
    text, message = CASES[name]
    path = tmp_path / name
    path.write_text(text)
    started = time.process_time()
    if not message:
        assert load(path).queries, "a cell that is no list is a name"
    else:
        with pytest.raises(assay.AssayError, match=message) as refused:
            load(path)
        assert len(str(refused.value)) < 2_000
    assert time.process_time() - started < 10


def test_a_dataset_folder_leads_nowhere_else(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "test.jsonl").write_text('{"query": "secret", "documents": ["a"]}\n')
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "dataset_info.json").write_text("{}")
    (folder / "data").symlink_to(outside, target_is_directory=True)
    with pytest.raises(assay.AssayError, match="holds no data files"):
        load(folder)


def test_a_broken_parquet_file_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "test.parquet").write_bytes(b"PAR1" + b"\0" * 100 + b"PAR1")
    with pytest.raises(assay.AssayError, match="broken Parquet"):
        load(tmp_path)


def test_markup_and_escapes_of_an_import_reach_a_notebook_as_text(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps({"query": "<img src=x onerror=alert(1)>\x1b[2J", "documents": ["<b>"]}) + "\n")
    page = assay.load_golden(path)._repr_html_()
    assert "<img" not in page
    assert "\x1b" not in page
