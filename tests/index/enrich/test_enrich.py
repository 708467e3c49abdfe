"""`assay enrich` with language servers and indexers that are real processes, written in Python."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from assay.api import Repository as Opened
from assay.core.items import Edge
from assay.errors import AssayError
from assay.index.enrich import lsp
from support.command import COMMAND, ENVIRONMENT, assay
from support.language_tools import Tools
from support.repository import Repository
from support.scip_file import DEFINITION, document, index, symbol_name
from support.waiting import until

BASE = """\
class Base:
    def run(self):
        return 0
"""
THING = """\
class Thing:
    def __init__(self):
        self.size = 1

    def settle(self):
        return self.size


class Other:
    def settle(self):
        return 2
"""
APP = """\
from base import Base
from thing import Thing


def call(thing):
    return thing.settle()


def build(registry):
    registry.append(Thing())
    return Base().run
"""


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("base.py", BASE)
    repository.write("thing.py", THING)
    repository.write("app.py", APP)
    repository.index()
    return repository


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    return Tools(tmp_path / "bin", monkeypatch)


def _edges(repository: Repository, provenance: str) -> set[tuple[str, str, str]]:
    opened = repository.open()
    try:
        edges: list[Edge] = opened.export()[1]
        return {(e.type, e.source, e.target) for e in edges if e.provenance == provenance}
    finally:
        opened.close()


def _enrich(repository: Repository, **options: object) -> Opened:
    opened = Opened(repository.root)
    opened.enrich(**options)  # type: ignore[arg-type]
    return opened


# language servers


def test_definitions_that_a_server_knows_become_edges_by_the_role_of_the_reference(
    shop: Repository, tools: Tools
) -> None:
    tools.add_server()
    run = Opened(shop.root).enrich().runs[0]
    assert (run.tool, run.files, run.answered, run.reused, run.problems) == ("basedpyright", 3, 3, 0, [])
    assert _edges(shop, "lsp") == {
        ("calls", "app.py::call", "thing.py::Thing.settle"),
        ("calls", "app.py::build", "thing.py::Thing"),
        ("calls", "app.py::build", "base.py::Base"),
        ("references", "app.py::build", "base.py::Base.run"),
    }
    assert run.edges == 4


def test_calls_that_only_the_server_resolves_are_counted(shop: Repository, tools: Tools) -> None:
    tools.add_server()
    shop.write("app.py", "def call(x):\n    return x.settle()\n")
    for number in range(6):  # more candidates than are guessed among
        shop.write(f"other_{number}.py", f"class Other{number}:\n    def settle(self):\n        return {number}\n")
    shop.index()
    repo = _enrich(shop)
    status = repo.status()
    assert status.enrichment is not None
    assert status.calls_resolved is not None
    assert status.calls_resolved < 1
    assert (status.enrichment.gained, status.enrichment.calls_resolved) == (1, 1.0)


def test_a_call_that_the_server_resolves_differently_is_a_disagreement(shop: Repository, tools: Tools) -> None:
    tools.add_server()
    shop.write("app.py", "from thing import Other\n\n\ndef call():\n    return Other().settle()\n")
    shop.index()
    repo = _enrich(shop)
    (found,) = repo.disagreements()
    assert (found.path, found.line, found.call, found.kind) == ("app.py", 5, "Other().settle", "target")
    assert (found.own_targets, found.tool_targets) == (["thing.py::Other.settle"], ["thing.py::Thing.settle"])
    assert found.provenance == "resolved"
    listed = assay(shop.root, "enrich", "--disagreements").out
    assert "ours: thing.py::Other.settle  (resolved)" in listed
    assert "tool: thing.py::Thing.settle" in listed
    shown = assay(shop.root, "status").out
    assert "enriched by basedpyright: 1 file," in shown
    assert "disagreements with our own resolution: 1" in shown
    figures = assay(shop.root, "status", "--format", "json").json["enrichment"]
    assert figures["kinds"] == {"target": 1}


def test_answers_are_cached_by_content(shop: Repository, tools: Tools) -> None:
    tools.add_server()
    _enrich(shop)
    assert sorted(tools.opened) == ["app.py", "thing.py"], "base.py refers to nothing"
    before = len(tools.opened)
    edges = _edges(shop, "lsp")
    run = Opened(shop.root).enrich().runs[0]
    assert (len(tools.opened), run.reused) == (before, 3)
    assert _edges(shop, "lsp") == edges
    shop.write("app.py", APP + "\n\ndef more():\n    return build([])\n")
    shop.index()
    run = Opened(shop.root).enrich().runs[0]
    assert (tools.opened[before:], run.reused) == (["app.py"], 2)
    assert ("calls", "app.py::more", "app.py::build") in _edges(shop, "lsp")
    _enrich(shop, again=True)
    assert len(tools.opened) > before + 1


def test_a_killed_run_continues_where_it_stopped(shop: Repository, tools: Tools) -> None:
    tools.add_server("slow")
    for number in range(3):
        shop.write(f"more_{number}.py", f"def more_{number}():\n    return len('')\n")
    shop.index()
    process = subprocess.Popen(
        [*COMMAND, "enrich"], cwd=shop.root, env=ENVIRONMENT | {"PATH": os.environ["PATH"]}, stderr=subprocess.PIPE
    )
    until(lambda: len(tools.opened) >= 3)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = tools.opened
    assert 3 <= len(before) < 5
    run = Opened(shop.root).enrich().runs[0]
    assert (run.answered, run.problems) == (6, [])
    assert run.reused >= 2
    assert len(set(before[:-1]) & set(tools.opened[len(before) :])) == 0, "answered files are not opened again"


def test_the_deadline_stops_a_run_and_keeps_what_was_answered(shop: Repository, tools: Tools) -> None:
    tools.add_server("slow")
    for number in range(8):
        shop.write(f"more_{number}.py", f"def more_{number}():\n    return len('')\n")
    shop.index()
    done = assay(shop.root, "enrich", "--deadline", "4", env=ENVIRONMENT | {"PATH": os.environ["PATH"]})
    assert done.code == 1
    assert "files not asked after the deadline; run again to continue" in done.err
    assert Opened(shop.root).enrich().runs[0].reused > 0


def test_a_file_that_crashes_the_server_costs_itself(shop: Repository, tools: Tools) -> None:
    tools.add_server("crash on open")
    shop.write("bad.py", "def bad():\n    return len('')\n")
    shop.index()
    run = Opened(shop.root).enrich().runs[0]
    assert (run.answered, run.files) == (3, 4)
    assert run.problems == ["bad.py: ended (exit code 9): no message"]
    assert ("calls", "app.py::call", "thing.py::Thing.settle") in _edges(shop, "lsp")


# indexers


def _scip() -> bytes:
    thing, settle, init = (symbol_name("thing", text) for text in ("Thing#", "Thing#settle().", "Thing#__init__()."))
    return index(
        document("thing.py", [(1, thing, DEFINITION), (2, init, DEFINITION), (5, settle, DEFINITION)]),
        document(
            "app.py", [(6, settle, 0, 17), (10, init, 0, 20), (10, symbol_name("builtins", "list#append()."), 0, 13)]
        ),
    )


def test_an_indexer_is_preferred_to_a_server_and_runs_only_when_files_changed(shop: Repository, tools: Tools) -> None:
    tools.add_server()
    tools.add_indexer(_scip())
    run = Opened(shop.root).enrich().runs[0]
    assert (run.tool, run.version, run.answered, run.files) == ("scip-python", "1.2.3", 2, 3)
    assert _edges(shop, "scip") == {
        ("calls", "app.py::call", "thing.py::Thing.settle"),
        ("calls", "app.py::build", "thing.py::Thing.__init__"),
    }
    assert tools.opened == []
    assert Opened(shop.root).enrich().runs[0].reused == 3
    assert len([line for line in tools.log if line.startswith("index ")]) == 1
    shop.write("base.py", BASE + "\n")
    shop.index()
    _enrich(shop)
    assert len([line for line in tools.log if line.startswith("index ")]) == 2


def test_an_indexer_is_compared_with_our_resolver_by_position(shop: Repository, tools: Tools) -> None:
    tools.add_indexer(_scip())
    status = _enrich(shop).status().enrichment
    assert status is not None
    assert (status.calls, status.agreed, status.disagreements) == (3, 3, 0)


@pytest.mark.parametrize(
    ("data", "message", "problem"),
    [
        (b"", "Error: no tsconfig \x1b[31mhere", "exit code 4: Error: no tsconfig"),
        (b"not an index", "", "index.scip: not a SCIP index"),
    ],
)
def test_an_indexer_that_fails_is_a_problem_and_changes_nothing(
    shop: Repository, tools: Tools, data: bytes, message: str, problem: str
) -> None:
    tools.add_indexer(data, message)
    before = shop.home.current()
    (text,) = Opened(shop.root).enrich().runs[0].problems
    assert problem in text
    assert "\x1b" not in text
    assert shop.home.current() == before


# choosing tools


def test_without_any_tool_the_message_says_what_to_install(shop: Repository, tools: Tools) -> None:
    with pytest.raises(AssayError, match="pip install basedpyright") as raised:
        Opened(shop.root).enrich()
    assert "npm install -g @sourcegraph/scip-python" in str(raised.value)


def test_the_list_shows_what_would_run_and_runs_nothing(shop: Repository, tools: Tools) -> None:
    program = tools.add_server()
    environment = ENVIRONMENT | {"PATH": os.environ["PATH"]}
    rows = assay(shop.root, "enrich", "--list", "--format", "json", env=environment).json["tools"]
    assert [(row["name"], row["chosen"]) for row in rows] == [("scip-python", False), ("basedpyright", True)]
    assert rows[1]["program"] == str(program)
    assert "would run" in assay(shop.root, "enrich", "--list", env=environment).out
    assert tools.log == []


def test_a_tool_that_runs_code_of_the_repository_needs_permission(repository: Repository, tools: Tools) -> None:
    repository.write("Cargo.toml", "[package]\nname = 'shop'\n")
    repository.write("src/lib.rs", "pub fn run() -> u8 {\n    helper()\n}\n\nfn helper() -> u8 {\n    1\n}\n")
    repository.index()
    tools.add_server(name="rust-analyzer")
    with pytest.raises(
        AssayError, match="runs build scripts and procedural macros of the repository: add --allow-build"
    ):
        Opened(repository.root).enrich()
    assert tools.log == []
    (listed,) = Opened(repository.root).enrichment_tools(tools=["rust-analyzer"], allow_build=True)
    assert listed.chosen


def test_unknown_tools_and_languages_are_refused(shop: Repository, tools: Tools) -> None:
    repo = Opened(shop.root)
    with pytest.raises(AssayError, match="basedpyright"):
        repo.enrich(tools=["basedpyrigth"])
    with pytest.raises(AssayError, match="no go files in the index; there are python"):
        repo.enrich(languages=["go"])


def test_positions_count_utf16_units(repository: Repository, tools: Tools) -> None:
    repository.write("thing.py", THING)
    repository.write("app.py", 'def call(thing):\n    return "𝄞é" + thing.settle()\n')
    repository.index()
    tools.add_server()
    _enrich(repository)
    assert ("calls", "app.py::call", "thing.py::Thing.settle") in _edges(repository, "lsp")


def test_a_server_is_given_up_after_a_request_without_answer(
    shop: Repository, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lsp, "_REQUEST_SECONDS", 0.3)
    tools.add_server("silent")
    run = Opened(shop.root).enrich().runs[0]
    assert "no answer within 0 s" in run.problems[0]
    assert run.seconds < 30
