"""Golden sets: validation errors, warnings, saving and appending."""

from __future__ import annotations

import gzip
import itertools
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.core.golden import Expected, GoldenQuery
from assay.errors import AssayError
from assay.evaluate.golden import FORMATS, InvalidGolden, append, convert, digest, load, save
from support.cpu import at_most


def _write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def _problems(path: Path, format: str | None = None) -> tuple[str, ...]:
    with pytest.raises(InvalidGolden) as caught:
        load(path, format)
    return caught.value.problems


def _pairs(folder: Path, *records: Mapping[str, object]) -> Path:
    return _write(folder / "set.jsonl", "".join(json.dumps(record) + "\n" for record in records))


def _query(name: str = "a", **more: object) -> GoldenQuery:
    return replace(GoldenQuery(name, f"what is {name}?", (Expected("f.py", "file"),)), **more)  # type: ignore[arg-type]


GOOD = {"id": "a", "question": "what is a?", "expected_files": ["f.py"]}

# What stands in line 2 of a set of pairs, and what is said about it.
_WRONG_RECORDS = [
    ({**GOOD, "id": "b", "expectd_files": []}, "unknown field `expectd_files`. Did you mean 'expected_files'?"),
    ({**GOOD, "id": "b", "zzz": 1}, "unknown field `zzz`. Known fields: id, question,"),
    ({**GOOD, "id": "b", "question": " "}, "`question` must not be empty"),
    ({**GOOD, "id": "b", "question": ["x"]}, "`question` must be text, not a list"),
    ({**GOOD, "id": ""}, "`id` must not be empty"),
    ({**GOOD, "id": True}, "`id` must be text, not `true`"),
    ({**GOOD, "id": " b"}, "`id` has spaces at its ends"),
    ({"question": "x", "expected_files": ["f"]}, "needs `id`"),
    ({**GOOD, "id": "b", "expected_files": "f.py"}, "`expected_files` must be a list, not `f.py`"),
    ({**GOOD, "id": "b", "expected_files": [["f.py"]]}, "`expected_files` must be text, not a list"),
    ({**GOOD, "id": "b", "tags": "x"}, "`tags` must be a list, not `x`"),
    ({**GOOD, "id": "b", "notes": {}}, "`notes` must be text, not a mapping"),
    ({**GOOD, "id": "b", "refuse": "yes"}, "`refuse` must be true or false, not `yes`"),
    ({**GOOD, "id": "b", "refuse": True}, "says it should be refused, yet expects `f.py`"),
    ({**GOOD, "id": "b", "difficulty": "easy", "tier": "easy"}, "`difficulty` and `tier` are the same field"),
    ({"id": "b", "question": "x"}, "expects nothing: fill `expected_symbols`"),
    ({"id": "b", "question": "x", "expected_files": []}, "or write `expected_chunks: []` if it should be refused"),
    ({"id": "b", "question": "x", "expected_chunks": [], "refuse": False}, "expects nothing"),
    (
        {**GOOD, "id": "b", "expected_files": [{"path": "f", "grade": True}]},
        "`grade` must be a whole number, not `true`",
    ),
    ({**GOOD, "id": "b", "expected_files": [{"path": "f", "grade": 101}]}, "must be between -100 and 100, not 101"),
    ({**GOOD, "id": "b", "expected_files": [{"grade": 1}]}, "`expected_files` needs `path`"),
    ({**GOOD, "id": "b", "expected_files": [{"path": "f", "grad": 1}]}, "unknown field `grad`. Did you mean 'grade'?"),
    (
        {**GOOD, "id": "b", "expected_files": ["f", {"path": "f", "grade": 2}]},
        "expects `f` twice with different values",
    ),
    ({**GOOD, "id": "b", "expected_spans": ["f"]}, "must hold mappings {path, start, end} or {path, page}, not"),
    ({**GOOD, "id": "b", "expected_spans": [{"path": "f", "start": 3}]}, "needs `start` and `end` of `f`"),
    ({**GOOD, "id": "b", "expected_spans": [{"path": "f", "start": 3, "end": 2}]}, "must not end before it starts"),
    ({**GOOD, "id": "b", "expected_spans": [{"path": "f"}]}, "needs `start` and `end` of `f`, or its `page`"),
    ({**GOOD, "id": "b", "expected_spans": [{"path": "f", "page": 0}]}, "needs a page from 1 and no lines"),
    ({**GOOD, "id": "b", "expected_spans": [{"path": "f", "page": 2, "start": 1, "end": 2}]}, "lines and no page"),
    ({**GOOD, "id": "b", "expected_chunks": [{"id": "f", "page": 2}]}, "unknown field `page`"),
    ({**GOOD, "id": "b", "expected_spans": [{"path": "f", "doc": "f", "start": 1, "end": 2}]}, "not both"),
    ({**GOOD, "id": "b", "expected_chunks": [{"id": "c", "start": 3}]}, "needs `start` and `end` of `c`"),
]


@pytest.mark.parametrize(("record", "said"), _WRONG_RECORDS)
def test_a_wrong_field_is_named_with_its_file_and_line(tmp_path: Path, record: dict[str, object], said: str) -> None:
    path = _pairs(tmp_path, GOOD, record)
    (problem,) = _problems(path)
    assert problem.startswith(f"{path}:2: ")
    assert said in problem


def test_grades_reach_from_minus_100_to_100(tmp_path: Path) -> None:
    graded = [{"path": "f", "grade": -100}, {"path": "g", "grade": 100}]
    (query,) = load(_pairs(tmp_path, {**GOOD, "expected_files": graded})).queries
    assert [one.grade for one in query.expected] == [-100, 100]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "b",', "broken JSON at column 12: expecting property name"),
        ("[1]", "a query must be a mapping of fields, not a list"),
        ("7", "a query must be a mapping of fields, not `7`"),
        ('{"id": "b", "id": "c"}', "`id` is given twice"),
        ('{"id": "\\ud800"}', "half a surrogate pair"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_the_lines_after_a_broken_json_line_are_still_read(tmp_path: Path, line: str, said: str) -> None:
    path = _write(tmp_path / "set.jsonl", f'{json.dumps(GOOD)}\n\n{line}\n{{"id": "z"}}\n')
    problems = _problems(path)
    assert problems[0].startswith(f"{path}:3: ")
    assert said in problems[0]
    assert problems[1] == f"{path}:4: needs `question` or `query`"


_WRONG_YAML = [
    ("queries:\n  - id: a\n    query: b: c\n", 3, "text that holds `: ` must be in quotes"),
    ("queries:\n\t- id: a\n", 2, "indent with spaces, not tabs"),
    ("queries:\n  - id: 'a\n", 3, "unexpected end of stream"),
    ("queries: [a\n", 2, "a bracket is not closed"),
    ("queries:\n  - id: a\n    query: x\n    id: b\n", 4, "`id` is given twice, first in line 2"),
    ("queries:\n  - !!python/object/apply:os.getcwd []\n", 2, "python/object/apply:os.getcwd` is not read"),
    ("queries:\n  - *nothing\n", 2, "undefined alias `*nothing`"),
    ("queries: &a [*a]\n", 1, "undefined alias `*a`"),
    ("queries: []\n---\nqueries: []\n", 2, "a second YAML document begins here"),
    ("queries: {}\n", 1, "`queries` must be a list, not a mapping"),
    ("- id: a\n", 1, "needs a list under `queries:`"),
    ("just text\n", 1, "needs a list under `queries:`"),
    ("queries:\n  - [a]\n", 2, "a query must be a mapping of fields, not a list"),
    ("queries:\n  - ? [a]\n    : b\n", 2, "the name of a field must be text"),
    ("queries:\n  - id: \x07\n", 2, "control characters are not allowed"),
    ("[" * 50_000, 1, "nested more than 20 levels deep"),
    ("- " * 50_000, 1, "nested more than 20 levels deep"),
]


@pytest.mark.parametrize(("text", "line", "said"), _WRONG_YAML)
def test_broken_yaml_is_explained_with_its_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    path = _write(tmp_path / "set.yaml", text)
    problem = _problems(path, "golden")[0]
    assert problem.startswith(f"{path}:{line}: ")
    assert said in problem


def test_all_fields_of_the_top_level_are_checked(tmp_path: Path) -> None:
    path = _write(tmp_path / "set.yaml", "versoin: 1\nqueries:\n  - {id: a, query: x, expected_files: [f]}\n")
    assert _problems(path) == (f"{path}:1: unknown field `versoin`. Did you mean 'version'?",)


def test_aliases_work_but_cannot_explode(tmp_path: Path) -> None:
    once = "{id: a, query: x, expected_files: &files [f, g]}"
    path = _write(tmp_path / "set.yaml", f"queries:\n- {once}\n- {{id: b, query: y, expected_files: *files}}\n")
    assert [e.name for e in load(path).queries[1].expected] == ["f", "g"]
    names = "abcdefghijklmnop"
    layers = [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in itertools.pairwise(names)]
    bomb = _write(tmp_path / "bomb.yaml", "\n".join(["a: &a [x]", *layers, "queries: [*p]"]))
    with at_most(10):
        assert "its aliases expand to more than 1,000,000 values" in _problems(bomb)[0]
    wide = [
        "- &q {id: a, query: x, expected_files: [" + ", ".join(f"f{n}" for n in range(2000)) + "]}",
        *["- *q"] * 2000,
    ]
    with at_most(10):
        assert "its aliases expand to" in _problems(_write(tmp_path / "wide.yaml", "queries:\n" + "\n".join(wide)))[0]


def test_yaml_scalars_are_taken_as_they_are_written(tmp_path: Path) -> None:
    text = """\
queries:
  - {id: no, query: 2024-01-01, expected_files: [1e3, 0o17, 1_000], tags: [yes, on, 1:30, null-ish], tier: off}
  - {id: 007, query: true, expected_doc_ids: [1.10, .nan], notes: ~}
  - {id: '~', query: "x", expected_doc_ids: []}
"""
    no, seven, tilde = load(_write(tmp_path / "set.yaml", text)).queries
    assert (no.id, no.text, no.tier) == ("no", "2024-01-01", "off")
    assert [e.name for e in no.expected] == ["1e3", "0o17", "1_000"]
    assert no.tags == ("yes", "on", "1:30", "null-ish")
    assert (seven.id, seven.text, seven.notes) == ("007", "true", "")
    assert [e.name for e in seven.expected] == ["1.10", ".nan"]
    assert (tilde.id, tilde.refuse) == ("~", True)


def test_a_duplicate_id_is_refused_with_both_lines(tmp_path: Path) -> None:
    path = _pairs(tmp_path, {**GOOD, "id": 1}, GOOD, {**GOOD, "id": "1"})
    assert _problems(path) == (f"{path}:3: id `1` is used twice, first in {path}:1",)


def test_a_repeated_expectation_counts_once_and_is_warned_about(tmp_path: Path) -> None:
    path = _pairs(tmp_path, {**GOOD, "expected_files": ["f.py", "g.py", "f.py"]})
    golden = load(path)
    assert [e.name for e in golden.queries[0].expected] == ["f.py", "g.py"]
    assert f"{path}:1: `expected_files` expects `f.py` twice, first in line 1; counted once" in golden.warnings


def test_up_to_twenty_problems_are_reported_at_once(tmp_path: Path) -> None:
    path = _pairs(tmp_path, *({"id": number} for number in range(25)))
    with pytest.raises(InvalidGolden) as caught:
        load(path)
    lines = str(caught.value).splitlines()
    assert len(caught.value.problems) == 25
    assert lines[0] == f"{path}: 25 problems"
    assert lines[20] == f"  {path}:20: needs `question` or `query`"
    assert lines[21:] == ["  … and 5 more"]
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff"])
def test_an_empty_set_is_refused(tmp_path: Path, text: str) -> None:
    path = _write(tmp_path / "set.jsonl", text)
    assert _problems(path) == (f"{path}: the golden set is empty",)


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "queries:\n", "queries: []\n", "null\n"])
def test_an_empty_yaml_set_is_refused(tmp_path: Path, text: str) -> None:
    path = _write(tmp_path / "set.yaml", text)
    assert _problems(path, "golden") == (f"{path}: the golden set is empty",)


def test_a_file_that_is_not_utf8_names_the_line(tmp_path: Path) -> None:
    path = _write(tmp_path / "set.jsonl", json.dumps(GOOD).encode() + b'\n{"id": "caf\xe9"}\n')
    assert _problems(path) == (f"{path}:2: not UTF-8 (byte 0xe9); save it as UTF-8",)


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    path = _write(tmp_path / "set.jsonl", ("\ufeff" + json.dumps(GOOD) + "\r\n").encode())
    assert load(path).queries[0].id == "a"


def test_a_cut_gzip_file_is_refused(tmp_path: Path) -> None:
    path = _write(tmp_path / "set.jsonl.gz", gzip.compress(json.dumps(GOOD).encode())[:-10])
    assert "broken gzip file" in _problems(path)[0]


@pytest.mark.parametrize("name", ["missing.yaml", "empty", "notes.txt", "compose"])
def test_an_unrecognised_set_is_refused_with_the_formats(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    _write(tmp_path / "notes.txt", "to do\n")
    _write(tmp_path / "compose/docker.yaml", "services: {}\n")
    with pytest.raises(AssayError) as caught:
        load(tmp_path / name)
    assert str(caught.value).startswith(f"{tmp_path / name}: ")
    for format in FORMATS.values():
        assert f"  {format.name}" in str(caught.value)
        assert format.description in str(caught.value)


@pytest.mark.parametrize("format", [None, "pairs", "beir"])
@pytest.mark.parametrize("name", ["x" * 5000, "missing/deep/set"])
def test_a_path_that_cannot_be_opened_is_named(tmp_path: Path, name: str, format: str | None) -> None:
    with pytest.raises(AssayError) as caught:
        load(tmp_path / name, format)
    assert str(caught.value).startswith(str(tmp_path / name))


def test_a_link_is_written_through_and_keeps_the_mode_of_its_file(tmp_path: Path) -> None:
    save([_query()], tmp_path / "set.jsonl", "pairs")
    (tmp_path / "set.jsonl").chmod(0o600)
    (tmp_path / "link.jsonl").symlink_to("set.jsonl")
    append(_query("b"), tmp_path / "link.jsonl")
    assert (tmp_path / "link.jsonl").is_symlink()
    assert [query.id for query in load(tmp_path / "set.jsonl").queries] == ["a", "b"]
    assert (tmp_path / "set.jsonl").stat().st_mode & 0o777 == 0o600


def test_an_unknown_format_offers_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"unknown golden format 'fixture'\. Did you mean 'fixtures'"):
        load(tmp_path, "fixture")
    with pytest.raises(AssayError, match=r"unknown golden format 'xml'\. Known formats: fixtures"):
        save([_query()], tmp_path / "x", "xml")


def test_a_small_set_warns_and_ten_queries_do_not(tmp_path: Path) -> None:
    queries = [_query(f"q{number}") for number in range(10)]
    save(queries, tmp_path / "ten.jsonl", "pairs")
    assert load(tmp_path / "ten.jsonl").warnings == ()
    save(queries[:9], tmp_path / "nine.jsonl", "pairs")
    assert load(tmp_path / "nine.jsonl").warnings == ("only 9 queries: fewer than 10 can hardly detect a difference",)


def test_the_same_text_twice_is_a_warning_unless_it_is_about_another_repository(tmp_path: Path) -> None:
    save([_query(), _query("b", text=_query().text)], tmp_path / "set.jsonl", "pairs")
    assert any("`b` has the same text as `a`" in warning for warning in load(tmp_path / "set.jsonl").warnings)
    save([_query(repository="x"), _query("b", text=_query().text, repository="y")], tmp_path / "two.jsonl", "pairs")
    assert not any("asks the same" in warning for warning in load(tmp_path / "two.jsonl").warnings)


def test_the_digest_depends_on_what_can_change_a_score_and_on_nothing_else() -> None:
    one = _query("a", expected=(Expected("f", "file"), Expected("g", "file")), must_contain=("x",))
    two = _query("b")
    same = digest([one, two])
    assert digest([two, one]) == same
    assert digest([replace(one, expected=one.expected[::-1]), two]) == same
    for unseen in ("tier", "category", "notes", "answer", "where", "commit"):
        assert digest([replace(one, **dict[str, Any]({unseen: "other"})), two]) == same
    assert digest([replace(one, tags=("t",)), two]) == same
    changes: list[dict[str, Any]] = [
        {"id": "c"},
        {"text": "other"},
        {"repository": "other"},
        {"refuse": True},
        {"must_contain": ()},
        {"forbidden": ("y",)},
        {"expected": one.expected[:1]},
        *({"expected": (replace(one.expected[0], **change), one.expected[1])} for change in _EXPECTED_CHANGES),
    ]
    others = [digest([replace(one, **change), two]) for change in changes]
    assert len({same, *others}) == len(changes) + 1


_EXPECTED_CHANGES: list[dict[str, Any]] = [
    {"name": "h"},
    {"level": "doc"},
    {"grade": 2},
    {"doc": "d"},
    {"start": 1},
    {"end": 1},
]


# ── saving ──


def test_a_set_that_would_not_be_read_again_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    save([_query()], path, "pairs")
    before = path.read_bytes()
    with pytest.raises(InvalidGolden, match=f"{path}: id `a` is used by more than one query"):
        save([_query(), _query()], path, "pairs")
    with pytest.raises(InvalidGolden, match=f"{path}:2: `id` has spaces at its ends"):
        save([_query(), _query(" b")], path, "pairs")
    with pytest.raises(InvalidGolden, match="no query can be written as pairs"):
        save([], path, "pairs")
    with pytest.raises(AssayError, match="cannot be written as UTF-8"):
        save([_query(text="\udc80")], path, "pairs")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["set.jsonl"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = _write(tmp_path / "file", "") / "set.jsonl"
    with pytest.raises(AssayError, match="cannot be written"):
        save([_query()], blocked, "pairs")
    with pytest.raises(AssayError, match="is a folder; a pairs set is a file"):
        save([_query()], tmp_path, "pairs")
    with pytest.raises(AssayError, match="a beir set is a folder"):
        save([_query()], tmp_path / "file", "beir")
    with pytest.raises(AssayError, match="a fixtures set is a folder"):
        save([_query()], tmp_path / "new.yaml", "fixtures")


def test_a_folder_with_other_files_is_not_written_into(tmp_path: Path) -> None:
    _write(tmp_path / "set/easy/01-old.yaml", "task: old\nground_truth: [x]\n")
    with pytest.raises(AssayError, match=r"holds other files \(easy/01-old.yaml\)"):
        save([_query()], tmp_path / "set", "fixtures")
    assert os.listdir(tmp_path / "set") == ["easy"]


def test_a_folder_of_the_same_files_is_replaced(tmp_path: Path) -> None:
    document = (Expected("d", "doc"),)
    save([_query(expected=document)], tmp_path / "set", "trec")
    save([_query("b", expected=document)], tmp_path / "set", "trec")
    assert [query.id for query in load(tmp_path / "set").queries] == ["b"]
    assert sorted(os.listdir(tmp_path)) == ["set"]


def test_a_name_that_ends_in_gz_is_compressed(tmp_path: Path) -> None:
    save([_query()], tmp_path / "set.jsonl.gz", "pairs")
    append(_query("b"), tmp_path / "set.jsonl.gz")
    assert gzip.decompress((tmp_path / "set.jsonl.gz").read_bytes()).startswith(b'{"id": "a"')
    assert [query.id for query in load(tmp_path / "set.jsonl.gz").queries] == ["a", "b"]


def test_a_conversion_lists_what_is_lost(tmp_path: Path) -> None:
    queries = [
        _query("a", tier="easy", must_contain=("x",), expected=(Expected("s"), Expected("d", "doc"))),
        _query("b", tier="hard", expected=(Expected("c", "chunk"),)),
        _query("c", expected=(), refuse=True),
    ]
    source = tmp_path / "set.jsonl"
    assert save(queries, source, "pairs") == []
    assert convert(source, tmp_path / "fixtures", "fixtures") == [
        "1 of 3 queries: must contain not kept",
        "1 of 3 queries: expectations at doc level not kept",
        "1 of 3 queries: expectations at chunk level not kept",
        "1 of 3 queries left out: their expectations cannot be written",
    ]
    assert {query.id for query in load(tmp_path / "fixtures").queries} == {"a", "c"}
    assert convert(source, tmp_path / "trec", "trec") == [
        "1 of 3 queries: refuse not kept",
        "2 of 3 queries: tier not kept",
        "1 of 3 queries: must contain not kept",
        "1 of 3 queries: expectations at symbol level not kept",
        "1 of 3 queries: expectations at chunk level not kept",
        "2 of 3 queries left out: their expectations cannot be written",
    ]
    assert convert(source, tmp_path / "golden.yaml", "golden") == []


def test_names_of_another_level_become_document_ids(tmp_path: Path) -> None:
    spans = (Expected("f.py", "span", 1, "", 1, 5), Expected("f.py", "span", 3, "", 9, 12))
    save([_query(expected=spans)], tmp_path / "set.jsonl", "pairs")
    assert convert(tmp_path / "set.jsonl", tmp_path / "beir", "beir") == ["span names are written as document ids"]
    assert load(tmp_path / "beir").queries[0].expected == (Expected("f.py", "doc", 3),)


def test_a_conversion_that_keeps_nothing_is_refused(tmp_path: Path) -> None:
    save([_query(expected=(), refuse=True)], tmp_path / "set.jsonl", "pairs")
    with pytest.raises(InvalidGolden, match="no query can be written as trec"):
        convert(tmp_path / "set.jsonl", tmp_path / "trec", "trec")
    assert not (tmp_path / "trec").exists()


@pytest.mark.parametrize("format", ["trec", "beir"])
def test_an_id_that_a_format_cannot_hold_is_refused(tmp_path: Path, format: str) -> None:
    with pytest.raises(InvalidGolden, match="cannot hold"):
        save([_query(expected=(Expected("a\tb", "doc"),))], tmp_path / "set", format)


# ── appending ──


def test_appending_to_json_lines_keeps_every_byte_that_is_there(tmp_path: Path) -> None:
    path = _write(tmp_path / "set.jsonl", '{"expected_chunks": [1],   "question": "x", "id": 5}')
    before = path.read_text()
    assert append(_query(), path) == []
    assert path.read_text().startswith(before + "\n")
    assert [query.id for query in load(path).queries] == ["5", "a"]


def test_appending_to_yaml_keeps_its_comments_and_its_indentation(tmp_path: Path) -> None:
    text = """\
# ours
version: 1
queries:
# the first
- id: x  # by hand
  query: "what?"
  expected_files: [f.py]
"""
    path = _write(tmp_path / "set.yaml", text)
    append(_query(notes="two\n  lines: #1"), path)
    assert path.read_text().startswith(text + "\n- id: a\n")
    assert [query.notes for query in load(path).queries] == ["", "two\n  lines: #1"]


@pytest.mark.parametrize(
    "text",
    [
        "# ours\n\nqueries: [{id: x, query: y, expected_files: [f]}]\n",
        "# ours\n\nqueries:\n  - {id: x, query: y, expected_files: [f]}\nversion: 1\n",
    ],
)
def test_a_yaml_list_that_is_not_at_the_end_is_written_anew_below_its_header(tmp_path: Path, text: str) -> None:
    path = _write(tmp_path / "set.yaml", text)
    append(_query(), path)
    version = "version: '1'\n" if "version" in text else ""
    assert path.read_text().startswith(f"# ours\n\n{version}queries:\n  - id: x\n")
    assert [query.id for query in load(path).queries] == ["x", "a"]


@pytest.mark.parametrize("text", ["", "# ours\n", "# ours\nqueries:\n", "# ours\nqueries: []\n"])
def test_appending_to_a_yaml_file_without_queries_begins_the_list(tmp_path: Path, text: str) -> None:
    path = _write(tmp_path / "set.yaml", text)
    append(_query(), path)
    assert path.read_text().startswith("# ours\n" if text else "# Golden queries")
    assert [query.id for query in load(path).queries] == ["a"]


@pytest.mark.parametrize(
    ("name", "query", "format"),
    [
        ("new.jsonl", _query(), "pairs"),
        ("new.yaml", _query(), "queries"),
        ("new.yml", _query(must_contain=("x",)), "golden"),
        ("new.yml", _query(forbidden=("x",)), "golden"),
        ("new.yml", _query(answer="x"), "golden"),
        ("new.yml", _query(expected=(), must_contain=("x",)), "golden"),
        ("new.yml", _query(expected=(), forbidden=("x",)), "golden"),
        ("new.yml", _query(expected=(Expected("f", "span", 1, "", 0, 0),)), "golden"),
        ("new.yaml", _query(expected=(Expected("d", "doc"),)), "golden"),
        ("new.yaml", _query(expected=(), refuse=True), "golden"),
        ("deep/new", _query(), "fixtures"),
    ],
)
def test_a_new_set_takes_its_format_from_its_name_and_its_first_query(
    tmp_path: Path, name: str, query: GoldenQuery, format: str
) -> None:
    assert append(query, tmp_path / name) == []
    golden = load(tmp_path / name)
    assert golden.format == format
    assert [replace(one, where="") for one in golden.queries] == [query]


def test_a_fixture_is_appended_as_the_next_file_of_its_tier(tmp_path: Path) -> None:
    query = _query(tier="hard", text="Why is the walk slow, on Windows at least?", expected=(Expected("walk"),))
    append(query, tmp_path / "set")
    append(replace(query, id="b", text="…"), tmp_path / "set")
    append(replace(query, id="c", tier="easy"), tmp_path / "set")
    files = sorted(file.relative_to(tmp_path / "set").as_posix() for file in (tmp_path / "set").rglob("*.yaml"))
    slug = "why-is-the-walk-slow-on.yaml"
    assert files == [f"easy/01-{slug}", f"hard/01-{slug}", "hard/02-task.yaml"]
    assert [one.id for one in load(tmp_path / "set").queries] == ["c", "a", "b"]


def test_a_fixture_joins_its_repository_or_the_tiers_of_a_set_of_one(tmp_path: Path) -> None:
    query = _query(tier="hard", repository="flask", expected=(Expected("walk"),))
    append(query, tmp_path / "all")
    assert (tmp_path / "all/flask/hard/01-what-is-a.yaml").is_file()
    append(replace(query, id="b"), tmp_path / "all")
    assert (tmp_path / "all/flask/hard/02-what-is-a.yaml").is_file()
    _write(tmp_path / "one/hard/x.yaml", "task: t\nground_truth: [x]\n")
    append(query, tmp_path / "one")
    assert (tmp_path / "one/hard/01-what-is-a.yaml").is_file()


def test_an_id_that_is_taken_is_not_appended(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    append(_query(), path)
    before = path.read_bytes()
    with pytest.raises(AssayError, match=f"{path}:1: id `a` is already used"):
        append(_query(), path)
    assert path.read_bytes() == before


def test_what_cannot_be_appended_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"name it \.jsonl or \.yaml"):
        append(_query(), tmp_path / "set.csv")
    save([_query(expected=(Expected("d", "doc"),))], tmp_path / "beir", "beir")
    with pytest.raises(AssayError, match="a beir set cannot be added to; convert it"):
        append(_query("b"), tmp_path / "beir")
    fixture = _write(tmp_path / "one.yaml", "task: t\nground_truth: [x]\n")
    with pytest.raises(AssayError, match="a fixture file holds one task"):
        append(_query("b"), fixture)
    append(_query(), tmp_path / "fixtures")
    with pytest.raises(AssayError, match="cannot be written"):
        append(_query("b", expected=(Expected("d", "doc"),)), tmp_path / "fixtures")
    broken = _write(tmp_path / "broken.jsonl", "{")
    with pytest.raises(InvalidGolden, match="broken JSON"):
        append(_query(), broken)
    assert broken.read_text() == "{"
