"""System adapters: real commands, a real HTTP server, real modules, real run files."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import hashlib
import json
import shlex
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.core.golden import Answer, Citation, Hit, Response, Stage
from assay.errors import AssayError
from assay.evaluate.systems import System, SystemDied, SystemFailed, open_system, shape
from assay.evaluate.systems.shape import parse, response
from support.paths import ROOT
from support.processes import is_alive
from support.property_tests import examples
from support.waiting import PATIENCE, until

_NASTY = """ "; touch PWNED; ' `touch PWNED` $(touch PWNED) | touch PWNED && {k} ${HOME} * \\ é☃ \n -x """
_SHORT = 0.3  # seconds a hanging system is given
LARGE = b"more than is read"


def _system(spec: str, root: Path, **options: Any) -> System:
    return open_system(spec, root=root, **options)


def _ids(answer: Response) -> list[str]:
    return [hit.id for hit in answer.hits]


def _script(folder: Path, code: str, name: str = "retriever.py") -> str:
    """A Python script in a folder, as the beginning of a command line."""
    path = folder / name
    path.write_text(f"import json, os, sys, time\n{code}\n")
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}"


def _gone(pid: int) -> bool:
    """Wait for the end of a process."""
    return until(lambda: not is_alive(pid))


# --- which system a SPEC means


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (
            "cdm:rg {query}",
            "unknown kind of system 'cdm'; a system is one of assay, search, ask, cmd, http, https, python, trec",
        ),
        ("pyhton:a:b", "Did you mean 'python'?"),
        ("", "unknown kind of system ''"),
        ("cmd:", "has nothing after 'cmd:'; write for example cmd:rg"),
        ("trec:  ", "has nothing after 'trec:'"),
        ("cmd:grep 'x {query}", "a quote is not closed"),
        ("python:only_a_module", "must name a module and a function"),
        ("http://", "is not a URL"),
        ("http:ftp://host/x", "is not a URL"),
        ("http://host:port/x", "Port could not be cast"),
        ("https://me:secret@host/x", "a password in a URL would be stored"),
        ("trec:nowhere.run", "nowhere.run: no such run file"),
    ],
)
def test_a_spec_that_cannot_work_is_refused_with_what_to_write(tmp_path: Path, spec: str, says: str) -> None:
    with pytest.raises(AssayError) as refused:
        _system(spec, tmp_path)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


# --- what a retriever may print


@pytest.mark.parametrize(
    ("printed", "hit"),
    [
        ("a.md", Hit("a.md")),
        (7, Hit("7")),
        ("src/app.py::Flask.run", Hit("src/app.py::Flask.run", "Flask.run", "src/app.py")),
        ("std::vector", Hit("std::vector")),
        (["a.md", 0.5], Hit("a.md", score=0.5)),
        ({"_id": 12, "_score": "1.5"}, Hit("12", score=1.5)),
        ({"chunk_id": "c1", "doc_id": "d1"}, Hit("c1", doc="d1")),
        ({"doc_id": "d1"}, Hit("d1", doc="d1")),
        ({"document": "d1"}, Hit("d1", doc="d1")),
        ({"file": "./a.py", "name": "f"}, Hit("a.py::f", "f", "a.py")),
        ({"file_path": "a.py", "start_line": 3, "end_line": 9.0}, Hit("a.py:3-9", path="a.py", start=3, end=9)),
        ({"filename": "a.py", "lineno": "4"}, Hit("a.py:4-4", path="a.py", start=4, end=4)),
        ({"path": "a.py", "lines": "10-20"}, Hit("a.py:10-20", path="a.py", start=10, end=20)),
        ({"path": "a.py", "lines": [10, 20]}, Hit("a.py:10-20", path="a.py", start=10, end=20)),
        ({"path": "a.py", "id": None, "score": None}, Hit("a.py", path="a.py")),
        ({"qualified_name": "A.b", "tokens": 12}, Hit("A.b", "A.b", tokens=12)),
        ({"id": "c", "page": 3}, Hit("c", page=3)),
        ({"id": "x", "payload": {"path": "a.py", "id": "inner"}}, Hit("x", path="a.py")),
        (
            {"score": 2, "chunk": {"file_path": "a.py", "start_line": 1, "end_line": 2}},
            Hit("a.py:1-2", "", "a.py", "", 1, 2, 2.0),
        ),
    ],
)
def test_a_result_is_read_under_its_usual_names(printed: object, hit: Hit) -> None:
    assert response([printed]).hits == (hit,)


@pytest.mark.parametrize("name", ["items", "results", "hits", "matches", "documents", "data"])
def test_the_list_of_results_is_found_under_its_usual_names(name: str) -> None:
    assert _ids(response({name: ["a", {"id": "b"}], "took": 3})) == ["a", "b"]
    assert response({name: None}) == Response()
    assert _ids(response({name: {"total": 1, name: [{"_id": "a"}]}})) == ["a"]


@pytest.mark.parametrize(
    ("printed", "says"),
    [
        (
            '[{"id": "a"}, {"text": "hello"}]',
            "result 2: no identifier: expected an id, a path or a symbol; got text",
        ),
        ('[{"id": ""}]', "result 1: no identifier"),
        ('[{"id": "a", "score": NaN}]', "result 1: its score must be a finite number, not nan"),
        ('[{"id": "a", "score": -Infinity}]', "its score must be a finite number"),
        ('[{"id": "a", "score": "high"}]', "its score must be a finite number, not 'high'"),
        ('["a", true]', "result 2: must be an id or an object, not true or false"),
        ('[{"id": ["a"]}]', "result 1: its id must be text, not a list"),
        ('[{"path": "a", "start": -1}]', "start must be a whole number from 0, not -1"),
        ('[{"path": "a", "start": 5, "end": 2}]', "it ends at 2, before it starts at 5"),
        ('{"took": 3}', "no list of results: expected one of items, results"),
        ('{"data": {"nothing": 1}}', "no list of results"),
        ('"a"', "must be a list of results or an object with one, not text"),
        ('[{"id": "a"},', "the output is not JSON: Expecting value: line 1 column 14"),
        ('{"id": "a"}\n{"id": }\n', "the output is not JSON: Expecting value: line 2"),
        ("[" * 100_000, "the output is not JSON"),
        ('{"error": "index missing\\nsee log"}', "index missing"),
        ('{"error": {"message": "over quota", "code": 9}}', "over quota"),
        ('{"items": [], "answer": 3}', "the answer must be text or an object with a text, not a number"),
        ('{"items": [], "refused": "yes"}', "refused must be true or false, not 'yes'"),
        ('{"items": [], "answer": "x", "citations": [{}]}', "citation 1: no identifier"),
        ('{"items": [], "stages": [{"items": []}]}', "every stage of the trace must be an object with a name"),
        ('{"items": [], "tokens": 1.5}', "tokens must be a whole number"),
        ('{"items": [], "config": []}', "config must be an object, not a list"),
    ],
)
def test_unreadable_output_fails_the_query_with_its_place(printed: str, says: str) -> None:
    with pytest.raises(SystemFailed) as failed:
        parse(printed)
    assert says in str(failed.value)
    assert "\n" not in str(failed.value)


def test_answers_citations_and_refusals_are_read_in_both_spellings() -> None:
    cited = (Citation("a"), Citation("b", resolved=False))
    flat = {"items": ["a"], "answer": "so [#1]", "citations": ["a", {"id": "b", "resolved": False}]}
    nested = {"items": ["a"], "answer": {"text": "so [#1]", "citations": flat["citations"], "grounded": True}}
    assert response(flat).answer == response(nested).answer == Answer("so [#1]", cited)
    assert response({"answer": {"text": "no", "refused": True}}).refused
    assert response({"items": ["a"], "answer": "no", "grounded": False}).refused
    closest = response({"answer": "perhaps", "outcome": "closest", "grounded": False})
    assert closest.answer == Answer("perhaps", grounded=False, closest=True)
    assert not closest.refused
    assert response({"answer": "no", "outcome": "refused", "grounded": False}).refused
    assert response({"refused": True}) == Response(answer=Answer("", grounded=False))
    assert response({"items": ["a"], "answer": None}).answer is None


def test_tokens_config_and_trace_are_kept() -> None:
    stages = [
        {"name": "bm25", "items": ["a", {"id": "b"}]},
        {"name": "pack", "items": ["a"], "dropped": {"b": "budget"}},
    ]
    read = response({"items": ["a"], "tokens": 40, "config": {"chunker_version": 2}, "trace": stages})
    assert read.stages == (Stage("bm25", ("a", "b")), Stage("pack", ("a",), {"b": "budget"}))
    assert (read.tokens, read.config) == (40, {"chunker_version": 2})
    assert response({"items": ["a"], "trace": "4bf92f35"}).stages == ()


_hits = st.lists(
    st.builds(
        Hit,
        id=st.text(min_size=1).filter(lambda text: "::" not in text),
        symbol=st.text(),
        path=st.text().filter(lambda text: not text.startswith("./")),
        doc=st.text(),
        start=st.integers(0, 10**6),
        score=st.none() | st.floats(allow_nan=False, allow_infinity=False),
        tokens=st.integers(0, 10**6),
    ).map(lambda hit: dataclasses.replace(hit, end=hit.start + hit.tokens)),
    min_size=2,
)


@given(_hits, st.sampled_from([None, 2]), st.booleans())
def test_what_is_printed_is_what_is_read_whatever_the_layout(hits: list[Hit], indent: int | None, ascii: bool) -> None:
    values = [dataclasses.asdict(hit) for hit in hits]
    whole = json.dumps({"query": "q", "results": values}, indent=indent, ensure_ascii=ascii)
    lines = "\n".join(json.dumps(value, indent=indent, ensure_ascii=ascii) for value in values)
    assert parse(whole).hits == parse(lines).hits == parse("\ufeff" + json.dumps(values)).hits == tuple(hits)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    ["id", "path", "start", "score", "items", "data", "answer", "error", "stages", "name", "x"]
                ),
                inner,
            )
        ),
    )
)
def test_no_json_value_is_met_with_anything_but_a_response_or_a_failure(value: object) -> None:
    with contextlib.suppress(SystemFailed):
        assert isinstance(response(value), Response)


def test_the_guide_describes_what_is_accepted() -> None:
    guide = (ROOT / "docs" / "guides" / "systems.md").read_text()
    for name in {*shape.LISTS, *shape.NESTED, *(name for names in shape.NAMES.values() for name in names)}:
        assert f"`{name}`" in guide
    asked, ids, whole = (block.split("```")[0] for block in guide.split("```json\n")[1:])
    assert json.loads(asked).keys() == {"query", "k", "budget", "repository"}
    assert _ids(parse(ids)) == ["src/app.py::Flask.run", "docs/config.md"]
    read = parse(whole)
    assert _ids(read) == ["c17", "src/app.py::Flask.run"]
    assert read.answer == Answer("Set SECRET_KEY [#1].", (Citation("c17"),))
    assert [stage.name for stage in read.stages] == ["bm25", "pack"]


def test_a_single_json_line_is_one_result_and_not_a_container() -> None:
    assert _ids(parse('{"id": "a", "score": 1}')) == ["a"]
    assert parse("[]") == parse("") == parse("null") == parse('{"results": []}') == Response()


def test_the_json_of_ripgrep_is_read_without_a_wrapper() -> None:
    lines = [
        {"type": "begin", "data": {"path": {"text": "a.py"}}},
        {"type": "match", "data": {"path": {"text": "a.py"}, "lines": {"text": "x = 1\n"}, "line_number": 7}},
        {"type": "end", "data": {"path": {"text": "a.py"}}},
        {"type": "summary", "data": {"stats": {"matches": 1}}},
    ]
    assert parse("\n".join(map(json.dumps, lines))).hits == (Hit("a.py:7-7", path="a.py", start=7, end=7),)
    assert parse(json.dumps(lines[-1])) == Response()


@pytest.mark.parametrize(
    ("line", "hit"),
    [
        ("src/a b.py", Hit("src/a b.py", path="src/a b.py")),
        ("./src/a.py:12", Hit("src/a.py:12", path="src/a.py", start=12, end=12)),
        ("src/a.py:12-40", Hit("src/a.py:12-40", path="src/a.py", start=12, end=40)),
        ("src/a.py:12:x = {3: 4}", Hit("src/a.py:12", path="src/a.py", start=12, end=12)),
        ("src/a.py:12:5:x", Hit("src/a.py:12", path="src/a.py", start=12, end=12)),
        ("src/a.py::A.b", Hit("src/a.py::A.b", "A.b", "src/a.py")),
    ],
)
def test_a_plain_line_is_a_hit_by_its_path(line: str, hit: Hit) -> None:
    assert parse(f"\n{line}\r\n", plain=True).hits == (hit,)


def test_json_after_other_output_is_refused_instead_of_counted_as_paths() -> None:
    with pytest.raises(SystemFailed, match="everything else to stderr"):
        parse('Loading model…\n[{"id": "a"}]', plain=True)


# --- commands


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two repositories with a file each."""
    for name, text in (("one", "alpha beta"), ("two", "beta gamma")):
        (tmp_path / "corpus" / name).mkdir(parents=True)
        (tmp_path / "corpus" / name / f"{name}.txt").write_text(text)
    return tmp_path / "corpus"


@pytest.mark.parametrize("spec", ["cmd:grep -rl -e {query} .", "cmd:grep -rl -e '{query}' . | sort | head -n {k}"])
def test_grep_is_a_retriever_without_a_wrapper(corpus: Path, spec: str) -> None:
    system = _system(spec, corpus)
    found = system.retrieve("alpha", 5)
    assert found.hits == (Hit("one/one.txt", path="one/one.txt"),)
    assert found.latency_ms > 0
    assert system.retrieve("no such word", 5).hits == ()
    assert len(system.retrieve("beta", 1).hits) == 1
    assert len(system.retrieve("beta", 5).hits) == 2


def test_a_query_is_asked_in_the_folder_of_its_repository(corpus: Path) -> None:
    system = _system("cmd:grep -rl -e {query} .", corpus.parent, corpus=corpus)
    assert _ids(system.retrieve("beta", 5, repository="two")) == ["two.txt"]
    for wrong in ("three", "..", "../corpus", "/tmp"):
        with pytest.raises(SystemFailed, match="no folder"):
            system.retrieve("beta", 5, repository=wrong)


_ECHO = "print(json.dumps([sys.argv[1:]] if len(sys.argv) == 3 else [{'id': a} for a in sys.argv[1:]]))"


@pytest.mark.parametrize("shell", ["", " ; true", " | cat"])
@pytest.mark.parametrize("quoted", ["{query}", "'{query}'", '"{query}"'])
def test_a_query_reaches_the_command_as_it_is_and_never_a_shell(tmp_path: Path, shell: str, quoted: str) -> None:
    program = _script(tmp_path, _ECHO)
    system = _system(f"cmd:{program} {quoted}{shell}", tmp_path)
    assert _ids(system.retrieve(_NASTY, 5)) == [_NASTY]
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.parametrize(
    "template",
    [
        'cmd:echo "$(echo "{query}")"',
        "cmd:echo `echo {query}`",
        "cmd:cat <<END\n{query}\nEND",
        'cmd:x="{query}"; echo $x',
        "cmd:sh -c 'echo \"$1\"' sh {query}",
    ],
)
def test_no_template_makes_a_query_run_as_code(tmp_path: Path, template: str) -> None:
    system = _system(template, tmp_path)
    for query in (
        _NASTY,
        "$(touch PWNED)",
        "`touch PWNED`",
        "'; touch PWNED; '",
        '"; touch PWNED; "',
        "\nEND\ntouch PWNED",
    ):
        with contextlib.suppress(SystemFailed):
            system.retrieve(query, 5)
        assert not (tmp_path / "PWNED").exists()


@pytest.mark.parametrize(
    "template",
    [
        "sh -c 'grep {query} x'",
        'bash -e -c "grep {query}"',
        "/bin/sh -c {query}",
        "true; eval grep {query}",
        "ls | xargs sh -c 'cd {repo}'",
    ],
)
def test_a_template_that_hands_the_query_to_a_shell_is_refused(tmp_path: Path, template: str) -> None:
    with pytest.raises(AssayError, match="would be run as shell code"):
        _system(f"cmd:{template}", tmp_path)


def test_words_that_only_look_like_a_shell_are_let_through(tmp_path: Path) -> None:
    for template in ("./search.sh -c {query}", "assay eval search {query}", "my-eval {query}"):
        _system(f"cmd:{template}", tmp_path)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40))
def test_any_query_arrives_unchanged_by_argument_by_shell_and_on_stdin(tmp_path: Path, query: str) -> None:
    by_argument = _script(tmp_path, "print(json.dumps([{'id': 'x', 'symbol': ascii(sys.argv[1])}]))", "argument.py")
    by_stdin = _script(
        tmp_path, "print(json.dumps([{'id': 'x', 'symbol': ascii(sys.stdin.buffer.read().decode())}]))", "stdin.py"
    )
    for spec in (
        f"cmd:{by_argument} {{query}}",
        f'cmd:{by_argument} "{{query}}" | cat',
        f"cmd:{by_stdin}",
        f"cmd:{by_stdin} | cat",
    ):
        assert _system(spec, tmp_path).retrieve(query, 1).hits[0].symbol == ascii(query)


def test_a_command_with_the_query_among_its_arguments_finds_nothing_on_stdin(tmp_path: Path) -> None:
    # ripgrep searches whatever file or pipe it finds there instead of the folder
    program = _script(tmp_path, "print(os.path.samestat(os.fstat(0), os.stat(os.devnull)))")
    for end in ("", " ; true"):
        assert _ids(_system(f"cmd:{program} {{query}}{end}", tmp_path).retrieve("q", 5)) == ["True"]


def test_all_placeholders_are_filled_and_other_braces_stay(corpus: Path) -> None:
    program = _script(corpus, _ECHO)
    for end in ("", " | cat"):
        template = f"cmd:{program} {{query}} -n{{k}} --budget={{budget}} {{repo}} {{root}} '{{path}}' '{{{{x}}}}'{end}"
        system = _system(template, corpus, corpus=corpus)
        assert _ids(system.retrieve("q {k}", 9, 500, "two")) == [
            "q {k}",
            "-n9",
            "--budget=500",
            "two",
            str(corpus / "two"),
            "{path}",
            "{{x}}",
        ]
        with pytest.raises(SystemDied, match="pass --budget N"):
            system.retrieve("q", 9)


def test_a_variable_of_the_shell_is_not_taken_for_a_placeholder(tmp_path: Path) -> None:
    assert _ids(_system("cmd:query=mine; echo ${query}/{query}", tmp_path).retrieve("yours", 5)) == ["mine/yours"]


def test_a_jq_program_in_quotes_needs_no_shell_and_keeps_its_braces(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text('[{"p": "a.py"}, {"p": "b.py"}]')
    program = _script(tmp_path, "print(json.dumps([' '.join(sys.argv[1:])]))")
    assert _ids(_system(f"cmd:{program} '.[] | {{path: .p}}' {{query}}", tmp_path).retrieve("q", 5)) == [
        ".[] | {path: .p} q"
    ]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (
            "print('noise', file=sys.stderr); print('why it failed', file=sys.stderr); sys.exit(3)",
            "exit code 3: why it failed",
        ),
        ("sys.exit(2)", "exit code 2: nothing on stderr"),
        ("print('no index', file=sys.stderr); sys.exit(1)", "exit code 1: no index"),
        ("print('[\"a\"]'); sys.exit(1)", "exit code 1: nothing on stderr"),
        ("os.kill(os.getpid(), 9)", "killed by signal 9 (Killed)"),
        ("raise ValueError('broken')", "exit code 1: ValueError: broken"),
        ("print('{\"results\": [')", "the output is not JSON"),
        ("print('x' * (65 << 20))", "printed more than 64 MB"),
        ("print('x' * 10**6, file=sys.stderr); sys.exit(5)", "exit code 5: xxx"),
    ],
)
def test_a_failed_command_gives_its_reason_and_can_be_asked_again(tmp_path: Path, code: str, says: str) -> None:
    system = _system(f"cmd:{_script(tmp_path, code)} {{query}}", tmp_path)
    for _ in range(2):
        with pytest.raises(SystemFailed) as failed:
            system.retrieve("q", 5)
        assert str(failed.value).startswith(says)
        assert len(str(failed.value)) < 400
        assert not isinstance(failed.value, SystemDied)


@pytest.mark.parametrize(
    "code", ["pass", "sys.exit(1)", "print('[]')", "print('[]'); sys.exit(1)", "print('progress', file=sys.stderr)"]
)
def test_nothing_found_is_an_empty_result_and_no_error(tmp_path: Path, code: str) -> None:
    assert _system(f"cmd:{_script(tmp_path, code)}", tmp_path).retrieve("q", 5).hits == ()


def test_noise_on_stderr_and_large_output_do_no_harm(tmp_path: Path) -> None:
    code = """
print("x" * 10**6, file=sys.stderr)
results = [{"id": str(n), "text": "é" * 500} for n in range(5000)]
sys.stdout.buffer.write(json.dumps(results, ensure_ascii=False).encode())
"""
    found = _system(f"cmd:{_script(tmp_path, code)}", tmp_path).retrieve("q", 10**6)
    assert _ids(found) == [str(n) for n in range(5000)]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("cmd:no-such-program-here {query}", "no program 'no-such-program-here' in the PATH"),
        ("cmd:./missing.sh {query}", "no program './missing.sh' seen from"),
        ("cmd:/etc/passwd {query}", "'/etc/passwd' cannot be started: Permission denied"),
        ("cmd:no-such-program-here {query} | cat", "no-such-program-here"),
        ("cmd:cd . && no-such-program-here {query}", "no-such-program-here"),
    ],
)
def test_a_missing_program_means_the_system_is_dead(tmp_path: Path, spec: str, says: str) -> None:
    with pytest.raises(SystemDied) as died:
        _system(spec, tmp_path).retrieve("q", 5)
    assert says in str(died.value)


def test_a_program_that_is_missing_but_replaced_is_no_reason_to_give_up(tmp_path: Path) -> None:
    assert _ids(_system("cmd:no-such-program-here {query} || echo a.py", tmp_path).retrieve("q", 5)) == ["a.py"]


def test_queries_that_fit_no_command_line_fail_alone(tmp_path: Path) -> None:
    system = _system("cmd:echo {query}", tmp_path)
    for query, says in (
        ("a\0b", "cannot be passed on a command line"),
        ("\ud800", "cannot be passed"),
        ("x" * 10**6, "too long"),
    ):
        with pytest.raises(SystemFailed, match=says) as failed:
            system.retrieve(query, 5)
        assert not isinstance(failed.value, SystemDied)
    for spec in ("cmd:cat", "cmd:cat | cat"):
        assert _ids(_system(spec, tmp_path).retrieve("x" * 10**6, 5)) == ["x" * 10**6]


@pytest.mark.parametrize("end", ["", " | cat"])
def test_a_command_that_hangs_is_killed_with_everything_it_started(tmp_path: Path, end: str) -> None:
    code = (
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '1200'])\n"
        "open(sys.argv[1], 'w').write(f'{os.getpid()} {child.pid}')\n"
        "time.sleep(1200)"
    )
    for seconds in (1, 10, 100):  # a busy machine may need longer to start it
        system = _system(f"cmd:{_script(tmp_path, code)} {{query}}{end}", tmp_path, timeout=seconds)
        with pytest.raises(SystemFailed, match=f"no answer within {seconds} s"):
            system.retrieve(str(tmp_path / "pids"), 5)
        if (tmp_path / "pids").exists() and (tmp_path / "pids").read_text():
            break
    assert all(_gone(int(pid)) for pid in (tmp_path / "pids").read_text().split())


@pytest.mark.parametrize(
    "command",
    ["sleep 1200", "sh -c 'sleep 1200 & echo a.py'", "sh -c 'exec >&- 2>&-; sleep 1200'", "yes"],
    ids=["silent", "child-keeps-the-pipe", "closed-its-output", "endless-output"],
)
def test_every_way_to_hang_ends_in_time(tmp_path: Path, command: str) -> None:
    started = time.monotonic()
    with pytest.raises(SystemFailed, match=r"no answer within 0\.3 s|printed more than"):
        _system(f"cmd:{command}", tmp_path, timeout=_SHORT).retrieve("q", 5)
    assert time.monotonic() - started < PATIENCE


def test_closing_a_system_ends_the_query_under_way(tmp_path: Path) -> None:
    program = _script(tmp_path, "open(sys.argv[1], 'w').close(); time.sleep(60)")
    system = _system(f"cmd:{program} {{query}}", tmp_path)
    failures: list[SystemFailed] = []

    def ask() -> None:
        try:
            system.retrieve(str(tmp_path / "begun"), 5)
        except SystemFailed as failed:
            failures.append(failed)

    thread = threading.Thread(target=ask)
    thread.start()
    while not (tmp_path / "begun").exists():
        time.sleep(0.01)
    system.close()
    thread.join(10)
    assert [str(failed)[:18] for failed in failures] == ["killed by signal 9"]


# --- HTTP


class Server(ThreadingHTTPServer):
    """A real server that answers what it is told and remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.body, self.pause = 200, b"[]", 0.0
        self.asked: list[tuple[str, str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append((self.command, self.path, json.loads(sent) if sent else None))
        try:
            self.send_response(self.server.status)
            self.end_headers()
            step = 1 if self.server.pause else len(self.server.body) or 1
            for start in range(0, len(self.server.body), step):
                time.sleep(self.server.pause)
                self.wfile.write(self.server.body[start : start + step])
        except OSError:
            return

    do_POST = do_GET

    def log_message(self, *arguments: object) -> None:
        return None


@pytest.fixture
def server() -> Iterator[Server]:
    """A server on a port of its own."""
    made = Server()
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def test_an_endpoint_is_sent_the_query_as_json(server: Server, tmp_path: Path) -> None:
    server.body = '{"results": [{"id": "é"}, {"id": "b"}], "answer": "so", "citations": ["é"]}'.encode()
    system = _system(f"{server.url}/search", tmp_path)
    found = system.retrieve(_NASTY, 1, 800, "flask")
    assert _ids(found) == ["é"]
    assert system.answer("q", 2).answer == Answer("so", (Citation("é"),))
    assert found.latency_ms > 0
    assert server.asked[0] == ("POST", "/search", {"query": _NASTY, "k": 1, "budget": 800, "repository": "flask"})
    assert server.asked[1][2]["budget"] is None


def test_an_address_with_a_query_in_it_is_fetched(server: Server, tmp_path: Path) -> None:
    system = _system(f"http:{server.url}/find?q={{query}}&n={{k}}&in={{repo}}", tmp_path)
    assert system.retrieve("a&b=c/d é#?", 7, repository="x/y").hits == ()
    assert server.asked == [("GET", "/find?q=a%26b%3Dc%2Fd%20%C3%A9%23%3F&n=7&in=x%2Fy", None)]


def test_an_address_may_leave_out_what_goes_without_saying(server: Server, tmp_path: Path) -> None:
    for spec in (
        f"http:127.0.0.1:{server.server_port}/x",
        f"http:http://127.0.0.1:{server.server_port}/x",
        f"{server.url}/x",
    ):
        system = _system(spec, tmp_path)
        assert system.name == spec
        system.retrieve("q", 5)
    assert [asked[1] for asked in server.asked] == ["/x"] * 3


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (500, b"\n index is broken\nsecond line", "HTTP 500 Internal Server Error: index is broken"),
        (404, b"", "HTTP 404 Not Found"),
        (200, b"<html>log in</html>", "the output is not JSON"),
        (200, b'{"error": "no index"}', "no index"),
        (200, LARGE, "sent more than 64 MB"),
    ],
)
def test_a_failed_endpoint_gives_its_reason_and_can_be_asked_again(
    server: Server, tmp_path: Path, status: int, body: bytes, says: str
) -> None:
    server.status, server.body = status, b"x" * (65 << 20) if body is LARGE else body
    system = _system(server.url, tmp_path)
    with pytest.raises(SystemFailed) as failed:
        system.retrieve("q", 5)
    assert str(failed.value).startswith(says)
    assert not isinstance(failed.value, SystemDied)
    server.status, server.body = 200, b'["a"]'
    assert _ids(system.retrieve("q", 5)) == ["a"]


def test_the_timeout_is_for_the_whole_answer_and_not_for_each_packet(server: Server, tmp_path: Path) -> None:
    server.body, server.pause = b"[" + b" " * 10_000 + b"]", 0.1
    started = time.monotonic()
    with pytest.raises(SystemFailed, match=r"no answer within 0\.3 s"):
        _system(server.url, tmp_path, timeout=_SHORT).retrieve("q", 5)
    assert time.monotonic() - started < PATIENCE


def test_a_slow_answer_is_not_read_on_after_it_was_given_up(server: Server, tmp_path: Path) -> None:
    server.body, server.pause = b"[" + b" " * 10_000 + b"]", 0.1
    with pytest.raises(SystemFailed, match="no answer within"):
        _system(server.url, tmp_path, timeout=_SHORT).retrieve("q", 5)
    until(lambda: not any(thread.name == "assay-http" for thread in threading.enumerate()))


def test_headers_that_never_end_are_given_up_too(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def trickle() -> None:
            connection, _ = listening.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                for _ in range(10_000):
                    connection.sendall(b"X-More: yes\r\n")
                    time.sleep(0.1)
                connection.sendall(b"\r\n[]")

        threading.Thread(target=trickle, daemon=True).start()
        started = time.monotonic()
        with pytest.raises(SystemFailed, match=r"no answer within 0\.3 s"):
            _system(f"http://127.0.0.1:{listening.getsockname()[1]}/", tmp_path, timeout=_SHORT).retrieve("q", 5)
        assert time.monotonic() - started < PATIENCE


def test_an_address_where_nobody_listens_means_the_system_is_dead(tmp_path: Path) -> None:
    server = Server()
    server.server_close()
    with pytest.raises(SystemDied, match=r"cannot reach 127\.0\.0\.1:"):
        _system(server.url, tmp_path).retrieve("q", 5)


def test_a_proxy_is_never_used_to_reach_this_machine(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    server.body = b'["a"]'
    assert _ids(_system(server.url, tmp_path).retrieve("q", 5)) == ["a"]
    assert _ids(_system(f"http://localhost:{server.server_port}", tmp_path).retrieve("q", 5)) == ["a"]
    with pytest.raises(SystemDied):
        _system("http://retriever.example:80/", tmp_path).retrieve("q", 5)
    assert len(server.asked) == 2


# --- Python


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Writes a module into the current folder and gives its name, a new one each time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(code: str) -> str:
        name = f"retriever_{hashlib.sha256(f'{tmp_path}{code}'.encode()).hexdigest()[:12]}"
        (tmp_path / f"{name}.py").write_text(code)
        return name

    return write


@pytest.mark.parametrize(
    "definition",
    [
        "def f(query, k): return [query, str(k)]",
        "def f(query, top_k=99): return [query, str(top_k)]",
        "def f(query, k=99, /): return [query, str(k)]",
        "def f(query, how_many): return [query, str(how_many)]",
        "def f(query, *, limit=99): return [query, str(limit)]",
        "def f(query, rerank=True, k=99): assert rerank is True; return [query, str(k)]",
        "def f(*given): return list(given)",
        "f = lambda query, k: iter([query, str(k)])",
        "def f(query, k):\n    yield query\n    yield k",
        "def f(query, k): return {'hits': [(query, 0.5), {'id': k}]}",
        "class f:\n    def retrieve(self, query, k): return [query, k]",
        "class f:\n    def __call__(self, query, k): return [query, k]",
        "from assay.core.golden import Hit, Response\ndef f(query, k): return Response((Hit(query), Hit(str(k))))",
        "from collections import namedtuple\nR = namedtuple('R', 'path score')\ndef f(query, k): return [R(query, 1), R(str(k), 0.5)]",
        "class R:\n    def __init__(self, name): self.metadata = {'id': name}\ndef f(query, k): return [R(query), R(k)]",
    ],
)
def test_a_function_a_class_or_an_object_is_asked_as_it_wants_to_be(
    module: Callable[[str], str], tmp_path: Path, definition: str
) -> None:
    assert _ids(_system(f"python:{module(definition)}:f", tmp_path).retrieve("q", 7)) == ["q", "7"]


def test_a_callable_gets_only_what_it_asks_for(module: Callable[[str], str], tmp_path: Path) -> None:
    code = "def one(query): return [query]\ndef all(query, k, budget, repository, query_id): return [k, budget, repository, query_id]\n"
    name = module(code + "class Engine:\n    search = staticmethod(lambda query, budget: [budget])\n")
    asked = ("q", 7, 500, "flask", "Q1")
    assert _ids(_system(f"python:{name}:one", tmp_path).retrieve(*asked)) == ["q"]
    assert _ids(_system(f"python:{name}:all", tmp_path).retrieve(*asked)) == ["7", "500", "flask", "Q1"]
    assert _ids(_system(f"python:{name}:Engine.search", tmp_path).retrieve(*asked)) == ["500"]


def test_more_results_than_asked_for_are_cut(module: Callable[[str], str], tmp_path: Path) -> None:
    name = module("def f(query): return list(range(100))")
    assert _ids(_system(f"python:{name}:f", tmp_path).retrieve("q", 3)) == ["0", "1", "2"]


def test_index_reset_answer_and_describe_are_used_where_they_exist(
    module: Callable[[str], str], tmp_path: Path
) -> None:
    code = """
__version__ = "1.2"
class Engine:
    chunker_version = 3
    def __init__(self): self.seen = ["new"]
    def index(self): self.seen.append("indexed")
    def reset(self): self.seen.clear()
    def retrieve(self, query, k): self.seen.append(query); return list(self.seen)
    def answer(self, query, k): return {"items": [], "answer": "because"}
    def describe(self): return {"alpha": 0.2}
"""
    name = module(code)
    system = _system(f"python:{name}:Engine", tmp_path)
    system.index()
    assert _ids(system.retrieve("q", 9)) == ["new", "indexed", "q"]
    system.reset()
    assert _ids(system.retrieve("r", 9)) == ["r"]
    assert system.answer("q", 9).answer == Answer("because")
    assert system.describe() == {
        "spec": f"python:{name}:Engine",
        "sha256": hashlib.sha256(code.encode()).hexdigest(),
        "version": "1.2",
        "chunker_version": "3",
        "config": {"alpha": 0.2},
    }
    assert not system.concurrent
    system.close()


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("def f(query): raise ValueError('bad\\nworse')", "ValueError: bad"),
        ("def f(query): raise KeyError", "KeyError"),
        ("def f(query): raise SystemExit(3)", "SystemExit: 3"),
        ("def f(query): raise TimeoutError('upstream')", "TimeoutError: upstream"),
        ("def f(query): return 3", "the response must be a list of results"),
        ("def f(query): return None", "the response must be a list of results or an object with one, not null"),
        ("async def f(query): raise ValueError('later')", "ValueError: later"),
        ("def f(query): return [{'id': 'a', 'score': float('nan')}]", "result 1: its score"),
        ("def f(query):\n    yield 'a'\n    raise ValueError('late')", "ValueError: late"),
    ],
)
def test_what_a_function_raises_is_the_failure_of_one_query(
    module: Callable[[str], str], tmp_path: Path, code: str, says: str
) -> None:
    system = _system(f"python:{module(code)}:f", tmp_path)
    for _ in range(2):
        with pytest.raises(SystemFailed) as failed:
            system.retrieve("q", 5)
        assert str(failed.value).startswith(says)
        assert not isinstance(failed.value, SystemDied)


@pytest.mark.parametrize(
    ("code", "name", "says"),
    [
        ("x = 1", "x", "is neither a function nor an object with retrieve()"),
        ("def search(query): pass", "serach", "'serach' of 'serach' is not in"),
        ("def search(query): pass", "serach", "Did you mean 'search'?"),
        ("def f(): pass", "f", "cannot be called with (query, k)"),
        ("def f(query, k, *, model): pass", "f", "missing a required"),
        ("1 / 0", "f", "loading it failed: ZeroDivisionError"),
        ("import no_such_module_here", "f", "ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("class f:\n    def __init__(self, model): pass", "f", "loading it failed: TypeError"),
    ],
)
def test_an_object_that_cannot_be_asked_is_refused_when_it_is_opened(
    module: Callable[[str], str], tmp_path: Path, code: str, name: str, says: str
) -> None:
    with pytest.raises(AssayError) as refused:
        _system(f"python:{module(code)}:{name}", tmp_path)
    assert says in str(refused.value)


def test_a_module_that_is_not_there_is_named(tmp_path: Path) -> None:
    for name in ("no_such_retriever", "json.no_such_part"):
        with pytest.raises(AssayError, match=f"no module '{name}', neither installed nor in"):
            _system(f"python:{name}:f", tmp_path)


def test_a_function_that_hangs_is_given_up_and_the_next_query_waits_for_it(
    module: Callable[[str], str], tmp_path: Path
) -> None:
    name = module("import time\ndef f(query):\n    time.sleep(float(query))\n    return [query]")
    system = _system(f"python:{name}:f", tmp_path, timeout=_SHORT)
    with pytest.raises(SystemFailed, match=r"no answer within 0\.3 s"):
        system.retrieve("0.5", 5)
    assert _ids(system.retrieve("0", 5)) == ["0"]
    with pytest.raises(SystemFailed, match="no answer within"):
        system.retrieve("5", 5)
    with pytest.raises(SystemDied, match="still busy with an earlier query"):
        system.retrieve("0", 5)


def test_a_reset_neither_waits_for_ever_nor_takes_the_run_down(module: Callable[[str], str], tmp_path: Path) -> None:
    code = "import time\nclass f:\n    def retrieve(self, query): time.sleep(3)\n    def reset(self): raise ValueError('no')\n"
    system = _system(f"python:{module(code)}:f", tmp_path, timeout=_SHORT)
    with pytest.raises(SystemFailed, match=r"reset\(\) failed: ValueError: no"):
        system.reset()
    with pytest.raises(SystemFailed, match="no answer within"):
        system.retrieve("q", 5)
    with pytest.raises(SystemDied, match="still busy"):
        system.reset()


def test_a_retriever_lives_in_one_thread_so_that_it_can_use_sqlite(
    module: Callable[[str], str], tmp_path: Path
) -> None:
    code = "import sqlite3\nclass f:\n    def __init__(self): self.db = sqlite3.connect(':memory:')\n"
    name = module(
        code + "    def retrieve(self, query, k): return [r[0] for r in self.db.execute('select ?', (query,))]"
    )
    system = _system(f"python:{name}:f", tmp_path)
    assert [_ids(system.retrieve(query, 5)) for query in "abc"] == [["a"], ["b"], ["c"]]


# --- TREC run files


def test_a_run_file_answers_by_query_id_with_higher_scores_first(tmp_path: Path) -> None:
    text = (
        "\ufeff1 Q0 a 1 0.5 mine\n2 Q0 x 1 9 mine\n\n1 Q0 b 2 0.9 mine\n1\tQ0\tc\t3\t0.5\tmine\r\n1 Q0 a 4 0.1 mine\n"
    )
    (tmp_path / "results.run").write_text(text, newline="")
    system = _system(f"trec:{tmp_path / 'results.run'}", tmp_path)
    assert system.retrieve("whatever", 10, query_id="1").hits == (
        Hit("b", score=0.9),
        Hit("a", score=0.5),
        Hit("c", score=0.5),
        Hit("a", score=0.1),
    )
    assert _ids(system.retrieve("", 2, query_id="1")) == ["b", "a"]
    assert system.retrieve("", 10, query_id="unknown") == Response()
    assert system.describe()["tag"] == "mine"
    assert system.describe()["sha256"] == hashlib.sha256(text.encode()).hexdigest()


@given(st.lists(st.tuples(st.sampled_from("pq"), st.sampled_from("abc"), st.integers(-3, 3)), min_size=1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_run_file_keeps_every_line_and_the_order_of_equal_scores(
    tmp_path: Path, rows: list[tuple[str, str, int]]
) -> None:
    lines = [f"{query} Q0 {document} {rank} {score} t" for rank, (query, document, score) in enumerate(rows)]
    (tmp_path / "r.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    system = _system(f"trec:{tmp_path / 'r.gz'}", tmp_path)
    for query in "pq":
        expected = sorted(((d, float(s)) for q, d, s in rows if q == query), key=lambda row: -row[1])
        assert [(hit.id, hit.score) for hit in system.retrieve("", 1000, query_id=query).hits] == expected


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"1 Q0 a 1 0.5 t\n1 Q0 b 2 0.4\n", ":2: 5 columns instead of 6 (qid Q0 docid rank score tag)"),
        (b"1 Q0 a one 0.5 t\n", ":1: the rank 'one' is not a whole number"),
        (b"1 Q0 a 1 nan t\n", ":1: the score 'nan' is not a finite number"),
        (b"1 Q0 a 1 high t\n", ":1: the score 'high' is not a finite number"),
        (b"1 Q0 a 1 1 t\n1 Q0 \xff 1 1 t\n", ":2: not UTF-8 (byte 0xff)"),
        (b"\n\n", ": no results"),
        (gzip.compress(b"1 Q0 a 1 0.5 t\n", mtime=0)[:-9], ": broken gzip file ("),
    ],
)
def test_a_run_file_that_is_wrong_is_refused_with_its_line(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "bad.run"
    path.write_bytes(content)
    with pytest.raises(AssayError) as refused:
        _system(f"trec:{path}", tmp_path)
    assert str(refused.value).startswith(f"{path}{says}")
