"""The HTTP API: same answers as the commands, one-line errors, and an accurate OpenAPI description."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, field

from assay.errors import AssayError
from assay.serve.requests import Request, from_body, from_query, parameters, text_meta
from assay.serve.web.api import ENDPOINTS, description
from assay.store.layout import Home
from support.command import assay
from support.waiting import until
from support.web_server import Server, run_server, write_files
from support.workbench import timeless

jsonschema = pytest.importorskip("jsonschema")

GOLDEN = [
    {"id": "q1", "question": "apply discounts to a price", "expected_symbols": ["apply_discounts"]},
    {"id": "q2", "question": "send an invoice", "expected_symbols": ["send_invoice"]},
    {"id": "q3", "question": "goods of a basket", "expected_symbols": ["Basket"]},
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with an index, two runs and a sweep."""
    made = write_files(tmp_path_factory.mktemp("serve") / "shop")
    golden = made.parent / "golden.jsonl"
    golden.write_text("".join(json.dumps(one) + "\n" for one in GOLDEN), "utf-8")
    assert assay(made, "index").code == 0
    for system in ("assay", "assay:default,walk=0"):
        assert assay(made, "eval", "run", "--golden", golden, "--system", system).code == 0
    assert assay(made, "eval", "sweep", "--golden", golden, "--system", "assay:default", "--set", "walk=0,1").code == 0
    return made


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Server]:
    with run_server(root) as found:
        yield found


TASK = "apply discounts to the price"
SAME: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "/api/context": ({"task": TASK, "k": 3, "budget": 500}, ("context", TASK, "-k", "3", "--budget", "500", "--no-cache")),
    "/api/why": ({"task": TASK, "symbol": "send_invoice"}, ("why", TASK, "send_invoice")),
    "/api/search": (
        {"query": "discounts", "k": 4, "path": ["docs/", "shop/"]},
        ("search", "discounts", "-k", "4", "--path", "docs/", "--path", "shop/"),
    ),
    "/api/ask": ({"question": "when are discounts applied"}, ("ask", "when are discounts applied")),
    "/api/impact": ({"symbol": "apply_discounts", "depth": 2, "limit": 2}, ("impact", "apply_discounts", "--depth", "2", "-n", "2")),
    "/api/symbols": ({"pattern": "*discounts*", "limit": 1}, ("symbols", "*discounts*", "-n", "1")),
    "/api/status": ({}, ("status",)),
    "/api/runs": ({}, ("eval", "list")),
    "/api/run": ({"run": "latest"}, ("eval", "show", "latest")),
    "/api/compare": ({"a": "latest~1", "b": "latest"}, ("eval", "compare", "latest~1", "latest")),
}  # fmt: skip


@pytest.mark.parametrize("path", SAME)
def test_an_answer_is_what_the_command_prints(path: str, root: Path, server: Server) -> None:
    asked, command = SAME[path]
    printed = assay(root, *command, "--format", "json").json
    answer = server.get(path, **asked)
    assert answer.status == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert _steady(answer.json) == _steady(printed)


def _steady(answer: Any) -> Any:
    """Without what differs between two equal answers."""
    return {name: value for name, value in timeless(answer).items() if name not in ("seconds", "bytes")}


@pytest.mark.parametrize("path", ["/api/context", "/api/why", "/api/search", "/api/ask"])
def test_a_long_question_may_be_posted(path: str, server: Server) -> None:
    asked, _ = SAME[path]
    posted = server.post(path, asked)
    assert posted.status == 200
    assert _steady(posted.json) == _steady(server.get(path, **asked).json)


def test_sweeps_are_listed_and_shown(server: Server) -> None:
    listed = server.get("/api/sweeps").json["sweeps"]
    assert [one["num_configs"] for one in listed] == [2]
    one = server.get("/api/sweep", sweep=listed[0]["sweep_id"])
    assert len(one.json["reports"]) == 2


WRONG = {
    ("/api/context", ""): (400, "task is missing"),
    ("/api/context", "task=+"): (400, "task is empty"),
    ("/api/context", "task=x&k=0"): (400, "k must be at least 1"),
    ("/api/context", "task=x&k=many"): (400, 'k must be an integer, not "many"'),
    ("/api/context", "task=x&task=y"): (400, "task is given twice"),
    ("/api/context", "tsk=x"): (400, "Did you mean 'task'?"),
    ("/api/context", "task=a%00b"): (400, "NUL"),
    ("/api/context", "task=x&profile=defualt"): (400, "default"),
    ("/api/why", "task=x&symbol=send_invoce"): (404, "Nearest: send_invoice"),
    ("/api/impact", "symbol=nothing_like_it"): (404, "no symbol called"),
    ("/api/run", "run=2019"): (404, "no run called '2019'"),
    ("/api/sweep", "sweep=..%2F.."): (404, "no sweep called"),
    ("/api/nothing", ""): (404, "nothing at this address"),
    ("/api/search", "query=x&language=klingon"): (400, "klingon"),
    ("/api/search", "query=x&kind=poem"): (400, "kind must be one of"),
    ("/api/search", "query=x+kind:poem"): (400, "unknown kind 'poem'"),
    ("/api/search", "query=/a(/"): (400, "missing )"),
    ("/api/search", "query=lang:python"): (400, "filters alone"),
    ("/api/search", "query=x&documents_only=true&code_only=true"): (400, "leave nothing to search"),
    ("/api/ask", "question=x&model=http://evil.example%23m"): (400, "no parameter called"),
}


@pytest.mark.parametrize(("path", "query"), WRONG)
def test_what_is_wrong_is_said_in_one_line(path: str, query: str, server: Server) -> None:
    status, line = WRONG[path, query]
    answer = server.ask("GET", f"{path}?{query}")
    assert answer.status == status
    assert list(answer.json) == ["error"]
    assert line in answer.json["error"]
    assert "\n" not in answer.json["error"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'"x"', b"[" * 100_000, b"\xff\xfe", b'{"task": 7}', b'{"task": "x", "more": 1}']
)
def test_a_body_that_is_not_a_question_is_refused(body: bytes, server: Server) -> None:
    answer = server.post("/api/context", body)
    assert answer.status == 400
    assert "error" in answer.json


def test_a_method_that_is_not_possible_says_which_are(server: Server) -> None:
    answer = server.ask("DELETE", "/api/context")
    assert answer.status == 405
    assert set(answer.headers["allow"].split(", ")) >= {"GET", "POST"}
    assert answer.json == {"error": "DELETE is not possible here"}


def test_everything_that_can_be_asked_is_described(server: Server) -> None:
    told = server.get("/openapi.json").json
    assert told == description()
    assert told["openapi"] == "3.1.0"
    assert set(told["paths"]) == {one.path for one in ENDPOINTS}
    for endpoint in ENDPOINTS:
        assert {method.upper() for method in told["paths"][endpoint.path]} == set(endpoint.methods)


def test_a_damaged_index_is_said_and_not_a_fault(tmp_path: Path) -> None:
    root = write_files(tmp_path / "shop")
    assert assay(root, "index").code == 0
    with run_server(root, "--no-watch") as server:
        assert server.get("/api/symbols", pattern="Basket").status == 200
        runs = root / ".assay" / "runs.db"
        runs.write_bytes(b"this is not a database" * 100)
        answer = server.get("/api/runs")
        assert answer.status in (400, 503)
        assert "runs.db" in answer.json["error"]


def test_while_the_index_is_built_a_context_is_a_first_look_that_says_so(tmp_path: Path) -> None:
    root = write_files(tmp_path / "shop")
    with run_server(root) as server:
        with Home.of(root).writing():  # whoever indexes has to wait
            (root / ".assay" / "current").unlink(missing_ok=True)
            answer = server.get("/api/context", task="apply discounts", k=2)
            assert answer.status == 200
            told = answer.json
            assert not told["fresh"]
            assert "by words alone" in told["freshness"]
            assert [one["kind"] for one in told["items"]] == ["file", "file"]
            assert told["items"][0]["path"] == "shop/discounts.py"
            assert "1: def apply_discounts(price):" in told["items"][0]["text"]
            assert server.get("/api/context", task="apply discounts", budget=200).json["tokens"] <= 200
            for path, asked in (
                ("/api/search", {"query": "discounts"}),
                ("/api/ask", {"question": "discounts"}),
                ("/api/status", {}),
                ("/api/why", {"task": "discounts", "symbol": "Basket"}),
            ):
                refused = server.get(path, **asked)
                assert refused.status == 503
                assert refused.headers["retry-after"] == "1"
        until(lambda: server.get("/api/status").status == 200)
        assert server.get("/api/context", task="apply discounts").json["items"][0]["symbol"] == "apply_discounts"


def test_runs_that_another_process_is_writing_are_asked_for_later(root: Path, server: Server) -> None:
    writer = sqlite3.connect(root / ".assay" / "runs.db", isolation_level=None)
    with contextlib.closing(writer):
        writer.execute("BEGIN EXCLUSIVE")
        for path in ("/api/runs", "/runs", "/compare"):
            answer = server.get(path)
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert "another process is writing" in answer.text
    assert server.get("/api/runs").status == 200


@pytest.mark.parametrize("gone", ["current", "generations", "everything"])
@pytest.mark.parametrize("options", [(), ("--no-watch",)], ids=["watched", "not watched"])
def test_an_index_that_is_deleted_is_said_and_built_again(gone: str, options: tuple[str, ...], tmp_path: Path) -> None:
    root = write_files(tmp_path / "shop")
    assert assay(root, "index").code == 0
    home = Home.of(root)
    with run_server(root, *options) as server:
        assert server.get("/api/context", task="discounts").json["fresh"]
        if gone == "everything":
            while (root / ".assay").exists():  # the server may be writing into it at this moment
                shutil.rmtree(root / ".assay", ignore_errors=True)
            home = Home.of(root)
        with home.writing():  # so that we see it before it is there again
            if gone == "current":
                (root / ".assay" / "current").unlink()
            elif gone == "generations":
                shutil.rmtree(root / ".assay" / "generations")
            page = server.get("/", task="apply discounts").text
            assert "It is being built again" in page
            assert "by words alone" in page
            assert server.get("/api/symbols", pattern="Basket").status == 503
        until(lambda: server.get("/api/symbols", pattern="Basket").status == 200)
        assert server.get("/api/context", task="apply discounts").json["items"][0]["symbol"] == "apply_discounts"


def test_a_repository_that_is_away_for_a_while_is_answered_about_when_it_is_back(tmp_path: Path) -> None:
    root, away = write_files(tmp_path / "shop"), tmp_path / "away"
    assert assay(root, "index").code == 0
    with run_server(root) as server:
        assert server.get("/api/context", task="discounts").status == 200
        root.rename(away)
        for path in ("/api/context", "/"):
            answer = server.get(path, task="discounts")
            assert answer.status == 503
            assert "no such folder" in answer.text
        away.rename(root)
        until(lambda: server.get("/api/context", task="discounts").status == 200)


# parameters


class Sample(Request, frozen=True, kw_only=True):
    text: Annotated[str, text_meta("words", required=True)]
    number: Annotated[int, Meta(ge=1, le=9, description="a number")] = 3
    share: Annotated[float, Meta(ge=0, le=1, description="a share")] | None = None
    yes: Annotated[bool, Meta(description="or no")] = False
    form: Annotated[Literal["a", "b"], Meta(description="one of some")] = "a"
    several: Annotated[list[str], Meta(description="words")] = field(default_factory=list)


VALUES = (
    st.none() | st.booleans() | st.integers(-2, 12) | st.floats(-1, 2) | st.sampled_from(["", " ", "a", "b", "x y"])
)


@given(st.dictionaries(st.sampled_from([*parameters(Sample), "other"]), VALUES | st.lists(VALUES, max_size=3)))
def test_a_body_is_taken_exactly_when_the_description_allows_it(body: dict[str, Any]) -> None:
    schema = {
        "type": "object",
        "required": ["text"],
        "properties": {name: parameter.schema for name, parameter in parameters(Sample).items()},
        "additionalProperties": False,
    }
    allowed = jsonschema.Draft202012Validator(schema).is_valid(body)
    try:
        from_body(Sample, json.dumps(body).encode())
    except AssayError:
        assert not allowed
    else:
        assert allowed


@given(
    st.text(max_size=5).filter(str.strip), st.integers(1, 9), st.booleans(), st.lists(st.text(max_size=3), max_size=3)
)
def test_an_address_says_the_same_as_a_body(text: str, number: int, yes: bool, several: list[str]) -> None:
    given_values = {"text": text, "number": number, "yes": yes, "several": several}
    pairs = [("text", text), ("number", str(number)), ("yes", str(yes).lower()), *(("several", one) for one in several)]
    try:
        from_address = from_query(Sample, pairs)
    except AssayError:
        assert "\0" in text + "".join(several)
    else:
        assert from_address == from_body(Sample, json.dumps(given_values).encode())


@pytest.mark.parametrize(("name", "value", "taken"), [
    ("number", 1, True), ("number", 9, True), ("number", 0, False), ("number", 10, False),
    ("share", 0, True), ("share", 1, True), ("share", 1.001, False), ("number", True, False), ("yes", 1, False),
])  # fmt: skip
def test_bounds_belong_to_what_is_allowed(name: str, value: Any, taken: bool) -> None:
    body = json.dumps({"text": "x", name: value}).encode()
    if taken:
        assert getattr(from_body(Sample, body), name) == value
    else:
        with pytest.raises(AssayError, match=name):
            from_body(Sample, body)
