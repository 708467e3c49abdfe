"""The checklists of CONTRIBUTING.md on a copy of the package: a language, an MCP tool, a metric."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay.evaluate.metrics import measures
from assay.evaluate.metrics.judged import Floats, Judged

PACKAGE = Path(assay.__file__).parent


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package that a contributor may change."""
    shutil.copytree(PACKAGE, tmp_path / "src" / "assay", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "src"


def run(source: Path, *arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(source)}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, env=environment, cwd=source.parent, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def insert(path: Path, before: str, text: str) -> None:
    """Write a row above the line that closes a table."""
    content = path.read_text()
    assert content.count(before) == 1, f"{path.name} has no single {before!r}"
    path.write_text(content.replace(before, text + before))


def test_a_language_is_a_row_a_query_and_its_everyday_names(copy: Path) -> None:
    languages = copy / "assay" / "languages"
    row = '    Language("toy", (".toy",), "tree_sitter_lua:language", imports="lua", comments=("--",)),\n'
    insert(languages / "__init__.py", ")\n\n\n@cache\ndef by_extension()", row)
    (languages / "toy.scm").write_text(
        "(function_declaration name: (identifier) @name) @def.function\n(function_call name: (identifier) @callee) @call\n"
    )
    (languages / "toy.common").write_text("print\n")
    (copy.parent / "shop.toy").write_text(
        "function total()\n  return 1\nend\nfunction checkout()\n  return total()\nend\n"
    )
    shown = run(copy, "-m", "assay.index.show", "shop.toy")
    assert "total" in shown
    assert "checkout" in shown
    run(copy, "-m", "assay", "index", "--root", str(copy.parent))
    assert "checkout" in run(copy, "-m", "assay", "impact", "total", "--root", str(copy.parent))


def test_a_metric_is_a_formula_and_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def misses(judged: Judged, k: int | None, rel: int) -> Floats:
        return 1 - measures.success(judged, k, rel)

    monkeypatch.setitem(measures.KINDS, "Miss", measures.Kind("Miss", "nothing relevant in the first k", misses))
    measure = measures.parse("Miss@2")
    assert str(measure) == "Miss@2"
    qrels, ranked = {"a": {"x": 1}, "b": {"y": 1}}, {"a": {"x": 2.0, "z": 1.0}, "b": {"z": 1.0}}
    figures = measures.evaluate(qrels, ranked, ["Miss@2", "Success@2"])
    assert figures["Miss@2"] == {"a": 0.0, "b": 1.0}


def test_an_mcp_tool_is_arguments_a_function_and_a_row(copy: Path) -> None:
    mcp = copy / "assay" / "serve" / "mcp"
    with (mcp / "arguments.py").open("a") as file:
        file.write("\n\nclass Echo(Arguments, frozen=True):\n    text: str\n")
    with (mcp / "tools.py").open("a") as file:
        file.write("\n\ndef echo(call: Call, asked: arguments.Echo) -> str:\n    return asked.text.upper()\n")
    row = '    Tool("echo", "Loud", "Repeat a text in capitals.", arguments.Echo, tools.echo),\n'
    insert(mcp / "offered.py", ")\nTOOLS = ", row)
    code = (
        "from assay.serve.mcp.offered import TOOLS\n"
        "print(list(TOOLS)[-1], TOOLS['echo'].call(None, {'text': 'heard'}))\n"
        "try:\n    TOOLS['echo'].call(None, {'words': 1})\nexcept Exception as error:\n    print(error)\n"
    )
    shown = run(copy, "-c", code)
    assert shown.startswith("echo HEARD\n")
    assert "It takes: text" in shown
