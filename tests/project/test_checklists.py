"""The checklists of CONTRIBUTING.md, followed: a language, a signal and an MCP tool added to a copy of the package, a metric to its table."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay.evaluate import metrics as measures
from assay.evaluate.judging import Floats, Judged
from support.waiting import PATIENCE

PACKAGE = Path(assay.__file__).parent


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package that a contributor may change, with what is compiled already; beside it, an empty `shop`."""
    shutil.copytree(PACKAGE, tmp_path / "src" / "assay")
    (tmp_path / "shop").mkdir()
    return tmp_path / "src"


def run(source: Path, *arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(source)}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command,
        env=environment,
        cwd=source.parent / "shop",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
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
    (copy.parent / "shop" / "shop.toy").write_text(
        "function total()\n  return 1\nend\nfunction checkout()\n  return total()\nend\n"
    )
    shown = run(copy, "-m", "assay.index.show", "shop.toy")
    assert "total" in shown
    assert "checkout" in shown
    run(copy, "-m", "assay", "index", "--root", ".")
    assert "checkout" in run(copy, "-m", "assay", "impact", "total", "--root", ".")


def test_a_metric_is_a_formula_and_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def misses(judged: Judged, k: int | None, rel: int) -> Floats:
        return 1 - measures.success(judged, k, rel)

    monkeypatch.setitem(measures.KINDS, "Miss", measures.Kind("Miss", "nothing relevant in the first k", misses))
    measure = measures.parse("Miss@2")
    assert str(measure) == "Miss@2"
    qrels, ranked = {"a": {"x": 1}, "b": {"y": 1}}, {"a": {"x": 2.0, "z": 1.0}, "b": {"z": 1.0}}
    figures = measures.evaluate(qrels, ranked, ["Miss@2", "Success@2"])
    assert figures["Miss@2"] == {"a": 0.0, "b": 1.0}


SHORTNESS = '''
"""Short names gain."""

from assay.rank.signals.signal import Signal, Stage


def _short(query):
    symbols = query.index.symbols_of(range(query.items.size))
    return query.items.by_item({number: 1.0 for number, symbol in symbols.items() if len(symbol) <= 6})


SHORTNESS = Signal(
    "shortness", Stage.FACTOR, "names", "its name is short", weights={"shortness": (0.5, 1.0)}, generate=_short
)
'''


def test_a_signal_is_a_module_a_row_and_a_weight(copy: Path) -> None:
    rank = copy / "assay" / "rank"
    (rank / "signals" / "shortness.py").write_text(SHORTNESS)
    insert(rank / "signals" / "table.py", "    structure,\n", "    shortness,\n")
    insert(rank / "signals" / "table.py", "    structure.KIND,\n", "    shortness.SHORTNESS,\n")
    insert(rank / "profile.py", "    test_weight: float", "    shortness: float = 0.0\n")
    (copy.parent / "shop" / "shop.py").write_text(
        "def order():\n    return 1\n\n\ndef order_all_goods():\n    return order()\n"
    )
    (copy.parent / "shop" / "assay.toml").write_text("[profile.terse]\nbase = 'hand-tuned'\nshortness = 0.75\n")
    run(copy, "-m", "assay", "index", "--root", ".")
    why = ("-m", "assay", "why", "order of goods", "order", "--root", ".")
    assert "shortness" not in run(copy, *why), "off by default"
    assert "×   1.75  shortness: its name is short" in run(copy, *why, "--profile", "terse")
    code = (
        "import assay\n"
        "from assay.evaluate.systems.assay import TUNED\n"
        "from assay.rank.explain import contributions\n"
        "repository = assay.open('.')\n"
        "amounts = [contributions(repository.why('order of goods', 'order', profile=name)[0]) for name in ('hand-tuned', 'terse')]\n"
        "print(amounts[1]['names'] / sum(amounts[1].values()) > amounts[0]['names'] / sum(amounts[0].values()))\n"
        "print(TUNED['shortness'])\n"
    )
    assert run(copy, "-c", code).split("\n")[:2] == ["True", "(0.5, 1.0)"]


def test_an_mcp_tool_is_arguments_a_function_and_a_row(copy: Path) -> None:
    mcp = copy / "assay" / "serve" / "mcp"
    with (mcp.parent / "requests.py").open("a") as file:
        file.write("\n\nclass Echo(Request, frozen=True):\n    text: str\n")
    with (mcp / "tools.py").open("a") as file:
        file.write("\n\ndef echo(call: Call, asked: requests.Echo) -> str:\n    return asked.text.upper()\n")
    row = '    Tool("echo", "Loud", "Repeat a text in capitals.", requests.Echo, tools.echo),\n'
    insert(mcp / "offered.py", ")\nTOOLS = ", row)
    code = (
        "from assay.serve.mcp.offered import TOOLS\n"
        "print(list(TOOLS)[-1], TOOLS['echo'].call(None, {'text': 'heard'}))\n"
        "try:\n    TOOLS['echo'].call(None, {'words': 1})\nexcept Exception as error:\n    print(error)\n"
    )
    shown = run(copy, "-c", code)
    assert shown.startswith("echo HEARD\n")
    assert "Known: text" in shown
