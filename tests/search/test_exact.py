"""Exact search: which results contain a phrase or expression, in which order, with which lines; limits and messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay as package
from assay.api import Repository as Opened
from assay.api import open_all
from assay.errors import AssayError
from assay.search.hits import SearchHit
from assay.search.pattern import Pattern, merged_spans
from assay.search.query import Exact, parse
from support.command import assay
from support.paths import ROOT
from support.repository import Repository

PUMPS = '''\
"""Pumps of a station."""
import os

os.environ.setdefault("PUMP_LIMIT", "3")  # max_pressure of the plant


class Pump:
    """Holds max_pressure for all."""

    def start(self):
        self.check(max_pressure=4)
        return "turbine"

    def check(self, max_pressure):
        if max_pressure > 3:
            raise ValueError("max_pressure exceeded")


def max_pressure(pump):
    return pump.limit
'''
TESTS = """\
from src.pumps import max_pressure


def test_max_pressure():
    assert max_pressure(None) == 3
    assert max_pressure(None) == 4
    assert max_pressure(None) == 5
"""
FILLER = "This is one of the many sentences that make a section long enough to be a passage of its own. " * 3
GUIDE = f"""\
# Waterworks

The setting max_pressure limits a pump. Ask the plumber.
{FILLER}

## max_pressure

It is given in bar. The turbine does not care.
{FILLER}
"""


@pytest.fixture(scope="module")
def station(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A folder with code, tests and documents. Only read."""
    made = Repository(tmp_path_factory.mktemp("exact") / "station")
    made.root.mkdir()
    made.git("init", "-q", "-b", "main")
    made.write("src/pumps.py", PUMPS)
    made.write("tests/test_pumps.py", TESTS)
    made.write("docs/guide.md", GUIDE)
    made.write("docs/page.html", "<html><body><h1>Page</h1>\n\n\n<p>The plumber\nis <b>here</b>.</p></body></html>\n")
    made.write("src/crlf.go", b'package main\r\n\r\nfunc Crlf() {\r\n\tprintln("\xc3\xa9t\xc3\xa9 zyx")\r\n}\r\n')
    made.write("web/main.ts", "export function zyx() { return 1; }\n")
    made.commit()
    made.index()
    return made


@pytest.fixture(scope="module")
def opened(station: Repository) -> Iterator[Opened]:
    with package.open(station.root) as repo:
        yield repo


def _ids(hits: list[SearchHit]) -> list[str]:
    return [re.sub(r":[0-9a-f]{8}$", "", hit.id) for hit in hits]


def _lines(hit: SearchHit) -> list[int]:
    return [match.line for match in hit.matches]


# what is found


def test_matching_lines_belong_to_the_innermost_definition_else_to_the_file_or_passage(opened: Opened) -> None:
    hits = opened.search('"max_pressure"')
    assert {id: _lines(hit) for id, hit in zip(_ids(hits), hits, strict=True)} == {
        "src/pumps.py": [4],
        "src/pumps.py::Pump": [8],
        "src/pumps.py::Pump.start": [11],
        "src/pumps.py::Pump.check": [14, 15, 16],
        "src/pumps.py::max_pressure": [19],
        "tests/test_pumps.py": [1],
        "tests/test_pumps.py::test_max_pressure": [4, 5, 6, 7],
        "docs/guide.md#waterworks": [3],
        "docs/guide.md#waterworks/max_pressure": [6],
    }


def test_names_and_headings_come_first_then_tests_last_then_the_number_of_lines_then_the_path(opened: Opened) -> None:
    assert _ids(opened.search('"max_pressure"')) == [
        "docs/guide.md#waterworks/max_pressure",  # all of a heading
        "src/pumps.py::max_pressure",  # all of a name
        "tests/test_pumps.py::test_max_pressure",  # a part of a name
        "src/pumps.py::Pump.check",  # three lines
        "docs/guide.md#waterworks",
        "src/pumps.py",
        "src/pumps.py::Pump",
        "src/pumps.py::Pump.start",
        "tests/test_pumps.py",
    ]


def test_a_phrase_that_includes_the_name_of_its_definition_counts_as_its_name(opened: Opened) -> None:
    assert _ids(opened.search("/def c|raise/")) == ["src/pumps.py::Pump.check"]
    assert _ids(opened.search("/class Pump|def max_pressure|3/ path:src"))[:2] == [
        "src/pumps.py::Pump", "src/pumps.py::max_pressure",
    ]  # fmt: skip


def test_all_parts_must_be_in_one_result_on_any_of_its_lines(opened: Opened) -> None:
    assert _ids(opened.search('"check" "turbine"')) == ["src/pumps.py::Pump.start"]
    [pump] = opened.search('"turbine" "ValueError"')  # in two methods, so their class has both
    assert (_ids([pump]), _lines(pump)) == (["src/pumps.py::Pump"], [12, 16])
    [file] = opened.search('"PUMP_LIMIT" "ValueError"')
    assert (file.id, file.kind, file.title, _lines(file)) == ("src/pumps.py", "file", "file", [4, 16])
    assert opened.search('"PUMP_LIMIT" "plumber"') == []


def test_what_is_excluded_is_in_no_line_of_a_result(opened: Opened) -> None:
    assert _ids(opened.search('"turbine"')) == ["docs/guide.md#waterworks/max_pressure", "src/pumps.py::Pump.start"]
    assert _ids(opened.search('"turbine" -bar')) == ["src/pumps.py::Pump.start"]
    assert _ids(opened.search('"turbine" -/max.pressure/')) == []
    assert _ids(opened.search('"ValueError" -turbine')) == ["src/pumps.py::Pump.check"]


def test_smart_case_ignores_case_unless_there_is_a_capital(opened: Opened) -> None:
    assert _ids(opened.search('"valueerror"')) == _ids(opened.search('"ValueError"')) == ["src/pumps.py::Pump.check"]
    assert opened.search('"Valueerror"') == []
    assert opened.search("/Value[E]RROR/") == []
    assert _ids(opened.search("/Value[E]RROR/i")) == ["src/pumps.py::Pump.check"]
    assert opened.search("/(?-i)value[e]rror/") == []
    assert _ids(opened.search('"ÉTÉ"')) == []
    assert _ids(opened.search('"été zyx"')) == _ids(opened.search("/ÉTÉ ZYX/i")) == ["src/crlf.go::Crlf"]


def test_expressions_see_single_lines_without_line_ends(opened: Opened) -> None:
    assert opened.search(r"/os\s+LIMIT/i") == opened.search(r"/import os[^x]LIMIT/i") == []
    [hit] = opened.search(r"/zyx\"\)$/ lang:go")  # CRLF is a line end
    assert [(match.line, match.spans, match.text) for match in hit.matches] == [
        (4, ((14, 19),), '\tprintln("été zyx")')
    ]
    assert _ids(opened.search("/^import/")) == ["src/pumps.py"]


def test_words_rank_what_contains_the_exact_parts_however_deep_it_stands(repository: Repository) -> None:
    for number in range(60):
        repository.write(f"src/m{number}.py", f"def pump_{number}(pump):\n    return pump.pump(pump)\n")
    repository.write(
        "src/last.py",
        "def other(tank):\n    # a pump, once, among many other words that make it long\n    return 'needle'\n",
    )
    repository.write("src/none.py", "def unrelated():\n    return 'needle needle'\n")
    with package.open(repository.root, index=True) as repo:
        plain = _ids(repo.search("pump", 50))
        assert "src/last.py::other" not in plain
        hits = repo.search('pump "needle"')
        assert _ids(hits) == ["src/last.py::other", "src/none.py::unrelated"]  # without any word: last
        assert [_lines(hit) for hit in hits] == [[3], [2]]
        assert hits[0].score > hits[1].score == 0.0
        assert _ids(repo.search('pump "needle"', 1)) == ["src/last.py::other"]
        assert all("pump_" in hit.symbol for hit in repo.search("pump -needle", 100))
        assert _ids(repo.search('the "needle"')) == _ids(repo.search('"needle"'))  # a stop word ranks nothing


def test_the_lines_of_a_long_definition_are_cited_where_they_match(repository: Repository) -> None:
    methods = "".join(
        f"    def step_{n}(self):\n        return self.go({n}, 'ordinary words here')\n\n" for n in range(80)
    )
    repository.write("a.py", f"class Machine:\n{methods}    last = 'turbine grease'\n")
    with package.open(repository.root, index=True) as repo:
        [hit] = repo.search('kind:class "turbine grease"')
    assert hit.start > 200
    assert "turbine grease" in hit.text
    assert hit.snippet() == ["    last = 'turbine grease'"]
    assert hit.marked(hit.snippet()[0]) == [("    last = '", False), ("turbine grease", True), ("'", False)]


def test_the_snippet_of_a_long_line_shows_its_match(repository: Repository) -> None:
    repository.write("a.py", f"x = '{'a' * 2_000} needle {'b' * 2_000}'\n")
    with package.open(repository.root, index=True) as repo:
        [hit] = repo.search('"needle"')
    [line] = hit.snippet()
    assert " needle " in line
    assert line.startswith("…")
    assert line.endswith("…")
    assert len(line) <= 160
    assert hit.matches[0].spans == ((2_006, 2_012),)


def test_lines_of_a_passage_are_lines_of_the_file_or_unknown(opened: Opened) -> None:
    [page] = opened.search('"plumber" lang:html')
    assert _lines(page) == [0]  # its text has other lines than the file
    [guide] = opened.search('"plumber" lang:markdown')
    assert (_lines(guide), guide.snippet()) == ([3], [GUIDE.split("\n")[2]])


# filters


def test_filters_confine_ranked_and_exact_results(opened: Opened) -> None:
    for query, paths in (
        ("path:src", {"src/pumps.py"}),
        ("path:pumps.py", {"src/pumps.py"}),  # a name, at any depth
        ("path:/pumps.py", None),  # at the root
        ("path:src/*.py", {"src/pumps.py"}),
        ("path:docs path:tests", {"docs/guide.md", "tests/test_pumps.py"}),  # any of a field
        ("-path:tests -path:docs", {"src/pumps.py"}),
        ("path:src lang:markdown", set()),  # all fields
        ("lang:Python", {"src/pumps.py", "tests/test_pumps.py"}),
        ("-lang:python", {"docs/guide.md"}),
        ("kind:docs", {"docs/guide.md"}),
        ("kind:passage", {"docs/guide.md"}),
        ("-kind:docs", {"src/pumps.py", "tests/test_pumps.py"}),
        ("kind:code", {"src/pumps.py", "tests/test_pumps.py"}),
        ("-kind:code", {"docs/guide.md"}),
        ("kind:all", {"src/pumps.py", "tests/test_pumps.py", "docs/guide.md"}),
        ("kind:docs kind:method", {"src/pumps.py", "docs/guide.md"}),
    ):
        for text in ("pressure pump", '"max_pressure"'):
            if paths is None:
                with pytest.raises(AssayError, match="no indexed file"):
                    opened.search(f"{text} {query}")
            else:
                assert {hit.path for hit in opened.search(f"{text} {query}", 50)} == paths, (text, query)


def test_the_kind_of_a_result_is_the_innermost_of_that_kind_around_a_line(opened: Opened) -> None:
    assert _ids(opened.search('kind:class "max_pressure"')) == ["src/pumps.py::Pump"]
    assert _lines(opened.search('kind:class "max_pressure"')[0]) == [8, 11, 14, 15, 16]
    assert _ids(opened.search('kind:file "max_pressure" -path:tests')) == ["src/pumps.py"]
    assert {hit.kind for hit in opened.search('-kind:file "max_pressure"')} == {
        "passage",
        "class",
        "method",
        "function",
    }


def test_options_and_filters_of_the_query_must_both_hold(opened: Opened) -> None:
    assert {hit.path for hit in opened.search('"max_pressure" path:src', paths=["*.py"])} == {"src/pumps.py"}
    assert opened.search('"max_pressure" path:src', paths=["docs/"]) == []
    assert opened.search("pressure lang:python", languages=["markdown"]) == []
    assert opened.search('kind:method "max_pressure"', kinds=["class"]) == []
    assert {hit.kind for hit in opened.search('"max_pressure"', code=False)} == {"passage"}
    assert opened.search('kind:docs "max_pressure"', documents=False) == []


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("pump lang:pyton", "unknown language 'pyton'. Did you mean 'python'"),
        ("pump -lang:pyton", "Did you mean 'python'"),
        ("pump kind:clas", "unknown kind 'clas'. Did you mean 'class'"),
        ("pump path:scr", "no indexed file matches path:scr. Did you mean 'src'"),
        ("lang:python path:src", "lang:python path:src: a query of filters alone"),
        ("-pump", "exclusions alone"),
        ("pump kind:file", "kind:file lists the files that contain"),
        ("/pump(/", r"invalid regular expression /pump\(/: missing \) at character 5"),
        ("/[pump/", r"missing \] \[pump at character 1"),
        (r"/(?<!x)pump/", r"invalid perl operator \(\?<! at character 1"),
        (r"/a)b/", r"unexpected \) at character 2"),
        (r"/(p)\1/", r"invalid escape sequence \\1 at character 4"),
        ("/(((p{100}){100}){100}){100}/", "invalid repetition size"),
        (r"/\pL{1000}/", "too large"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_reason(opened: Opened, query: str, message: str) -> None:
    with pytest.raises(AssayError, match=message):
        opened.search(query)


def test_an_excluded_path_that_nothing_has_excludes_nothing(opened: Opened) -> None:
    assert _ids(opened.search('"turbine" -path:nowhere')) == _ids(opened.search('"turbine"'))
    assert _ids(opened.search("turbine -kind:file")) == _ids(opened.search("turbine"))


def test_plain_words_have_no_operators(opened: Opened) -> None:
    assert opened.search('"max_pressure" -pump path:src', plain=True)
    assert opened.search("/pump( max_pressure", plain=True), "as a regular expression it would be an error"
    assert opened.ask('what limits a "pump", and is it -max_pressure?').grounded


def test_several_repositories_are_searched_as_one(station: Repository, tmp_path: Path) -> None:
    other = Repository(tmp_path / "plant")
    other.root.mkdir()
    other.git("init", "-q", "-b", "main")
    other.write("src/pumps.py", "def drain():\n    return 'turbine'\n")
    other.commit()
    other.index()
    with open_all([station.root, other.root]) as workspace:
        assert _ids(workspace.search('"turbine"')) == [
            "plant/src/pumps.py::drain",
            "station/docs/guide.md#waterworks/max_pressure",
            "station/src/pumps.py::Pump.start",
        ]
        for path in ("plant", "plant/", "plant/src"):
            assert _ids(workspace.search(f'"turbine" path:{path}')) == ["plant/src/pumps.py::drain"]
        assert len(workspace.search('"turbine" path:src/pumps.py')) == 2
        assert _lines(workspace.search('"turbine" path:plant')[0]) == [2]


# stale files, limits, hostile texts


def test_files_that_changed_are_left_out_and_named(repository: Repository) -> None:
    repository.write("a.py", "def a():\n    return 'needle'\n")
    repository.write("b.py", "def b():\n    return 'needle'\n")
    repository.write("c.py", "def c():\n    return 'needle'\n")
    repository.index()
    repository.write("a.py", "\n\n\ndef a():\n    return 'needle'\n")
    (repository.root / "c.py").unlink()
    with package.open(repository.root) as repo:
        hits = repo.search('"needle"')
        assert _ids(hits) == ["b.py::b"]
        [note] = hits.notes
        assert "2 files not searched" in note
        assert "a.py, c.py" in note
        assert _ids(repo.search("return -zebra")) == ["b.py::b"]  # nobody knows what the others contain


def test_what_is_not_shown_is_counted(opened: Opened) -> None:
    assert opened.search('"max_pressure"', 9).notes == ()
    assert opened.search('"max_pressure"', 2).notes == ("best 2 of 9 results shown",)


def test_a_query_that_takes_too_long_says_how_far_it_came(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(1_000_000))
    monkeypatch.setattr("assay.search.exact.monotonic", lambda: next(ticks) * 1.25)
    with pytest.raises(AssayError, match=r"stopped after 5 s: 3 of 6 files searched; narrow it with path: or lang:"):
        opened.search('"max_pressure"')


@pytest.mark.parametrize(
    "expression", ["(a+)+$", "(a|aa)+$", "(a|a)*b", "(.*)(.*)(.*)(.*)(.*)x", "a.*b|a", "(?:a?){300}a{300}"]
)
def test_catastrophic_expressions_are_answered_on_hostile_lines(repository: Repository, expression: str) -> None:
    repository.write("a.py", f"x = '{'a' * 60_000}!'\n" * 3)
    with package.open(repository.root, index=True) as repo:
        repo.search(f"/{expression}/")


def test_hostile_texts_and_queries_cost_no_more_than_themselves(repository: Repository) -> None:
    repository.write("huge.md", "# Huge\n\n" + "needle " * 100_000 + "\n")
    repository.write("nul.py", b"x = 'needle'\0\n")
    repository.write("binary.py", bytes(range(256)) * 50)
    repository.write("latin.py", "x = 'needle caf\xe9'\n".encode("latin-1"))
    repository.write("red.py", "def red():\n    return 'needle \x1b[31m \u202e'\n")
    repository.write("empty.py", "")
    repository.write("_.py", "_ = 1; __ = '++'\n")
    with package.open(repository.root, index=True) as repo:
        assert {hit.path for hit in repo.search('"needle"', 10_000)} >= {"huge.md", "latin.py", "red.py"}
        assert {hit.path for hit in repo.search('"++"')} == {"_.py"}
        assert _ids(repo.search('"needle café"')) == ["latin.py::x"]
        for query in (
            '"\ud800"',
            '"\0"',
            "/\\x00/",
            "/\ud800/",
            '"' + "a" * 3_000 + '"',
            "/^/",
            "/$/",
            "/x*/",
            r"/\b/",
        ):
            repo.search(query)
    done = assay(repository.root, "search", '"needle"', "-k", "10000")
    assert done.code == 0
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


def test_a_link_that_replaces_a_file_is_not_followed(repository: Repository, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("def a():\n    return 'needle'\n")
    repository.write("a.py", secret.read_text())
    repository.index()
    (repository.root / "a.py").unlink()
    (repository.root / "a.py").symlink_to(secret)
    with package.open(repository.root) as repo:
        hits = repo.search('"needle"')
        assert (list(hits), len(hits.notes)) == ([], 1)


# patterns

_TEXTS = st.text(alphabet="abA\n é", max_size=40)


@given(_TEXTS, st.text(alphabet="abA é", min_size=1, max_size=3))
def test_a_phrase_matches_exactly_the_lines_that_have_it(text: str, phrase: str) -> None:
    lines = text.split("\n")
    expected = [number for number, line in enumerate(lines, 1) if phrase in line]
    matches = list(Pattern(Exact(phrase, ignore_case=False)).first_in_lines(text.encode()))
    assert [match.line for match in matches] == expected
    data = text.encode()
    assert all(data[match.start : match.end].decode() == phrase for match in matches)


@given(_TEXTS, st.sampled_from(["a", "a+b?", "^a", "b$", "^$", "[^a]", r"\s", "(?:ab|A)", "x*", r"\bA"]))
def test_an_expression_matches_exactly_the_lines_that_it_matches_alone(text: str, expression: str) -> None:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()  # nothing after the last line end
    pattern = Pattern(Exact(expression, regex=True, ignore_case=False))
    expected = [number for number, line in enumerate(lines, 1) if pattern.is_in(line)]
    python = [number for number, line in enumerate(lines, 1) if re.search(expression, line, re.ASCII)]
    assert expected == python
    assert [match.line for match in pattern.first_in_lines(text.encode())] == expected


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted).map(tuple), max_size=8))
def test_merged_spans_cover_the_same_characters_without_overlap(spans: list[tuple[int, int]]) -> None:
    merged = merged_spans(spans)
    cover = {place for start, end in spans for place in range(start, end)}
    assert {place for start, end in merged for place in range(start, end)} == cover
    assert all(first[1] < second[0] for first, second in pairwise(merged))


# the command and the guide


def test_the_command_prints_numbered_lines_and_what_was_left_out(station: Repository) -> None:
    done = assay(station.root, "search", '"max_pressure" path:tests', "-k", "1")
    assert done.code == 0
    assert done.lines == [
        "tests/test_pumps.py:4-7  function test_max_pressure",
        "    4: def test_max_pressure():",
        "    5:     assert max_pressure(None) == 3",
        "    6:     assert max_pressure(None) == 4",
        "    7:     assert max_pressure(None) == 5",
    ]
    assert "best 1 of 2 results shown" in done.err
    more = assay(station.root, "search", "/max_pressure|./ path:tests kind:file")
    assert more.lines[-1] == "    and 1 more matching line"


def test_the_json_of_an_exact_search_has_the_matching_lines(station: Repository) -> None:
    answer = assay(station.root, "search", '"max_pressure" kind:method', "-k", "1", "--format", "json").json
    assert answer["notes"] == ["best 1 of 2 results shown"]
    [result] = answer["results"]
    assert (result["symbol"], result["score"]) == ("Pump.check", 3.0)
    assert result["matches"] == [
        {"line": 14, "columns": [[20, 32]], "text": "    def check(self, max_pressure):"},
        {"line": 15, "columns": [[11, 23]], "text": "        if max_pressure > 3:"},
        {"line": 16, "columns": [[30, 42]], "text": '            raise ValueError("max_pressure exceeded")'},
    ]
    plain = assay(station.root, "search", "pressure", "--format", "json").json
    assert "notes" not in plain
    assert all("matches" not in result for result in plain["results"])


def test_errors_of_a_query_are_one_line_and_exit_code_2(station: Repository) -> None:
    for query in ("/pump(/", "lang:pyton x", "path:nowhere x", "lang:python", "/(((p{100}){100}){100}){100}/"):
        done = assay(station.root, "search", query)
        assert done.code == 2
        assert len(done.err.splitlines()) == 1
    assert assay(station.root, "search", '"zebra crossing"').code == 1
    assert assay(station.root, "search", "--", "-zebra pressure").code == 0


@pytest.mark.parametrize(
    "row", ["src/app.py", "and/or", "/api/users", "/etc/hosts/", "/import /", "--flag", "-p", "foo:bar"]
)
def test_what_the_guide_calls_words_is_words(row: str) -> None:
    guide = (ROOT / "docs/guides/query-language.md").read_text("utf-8")
    assert f"`{row}`" in guide
    assert parse(row).is_plain
