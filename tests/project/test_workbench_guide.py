"""The guide of the evaluation API, its notebook, and the way from a retriever to a gate, each run as it is written."""

from __future__ import annotations

import ast
import doctest
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.paths import ROOT
from support.repository import Repository
from support.transcripts import shell_environment

GUIDE = ROOT / "docs/guides/workbench.md"
NOTEBOOK = ROOT / "docs/notebooks/evaluate.ipynb"


def test_the_guide_says_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?\n)```$", GUIDE.read_text("utf-8"), re.S | re.M)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {"__name__": "guide"}, "workbench.md", str(GUIDE), 0)
    assert len(test.examples) > 15
    printed: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(test, out=printed.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(printed)
    assert not list(tmp_path.iterdir()), "nothing is written to disk"


def _cells() -> list[str]:
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def _run_cells() -> list[str]:
    """Execute the cells in one namespace, as a notebook does; return what each would show."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for number, cell in enumerate(_cells()):
        tree = ast.parse(cell, f"cell {number}")
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), namespace)
            shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
    return shown


def test_the_notebook_runs_and_shows_the_same_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = (
        [re.sub(r"\d{8}-\d{6}-\w+(-\d+)?|[\d.,]+ (ms|s)\b", "…", shown) for shown in _run_cells()] for _ in range(2)
    )
    assert first == second
    assert first.count("None") == 1, "every cell but the one that prints shows something"
    assert sum(shown.startswith("<table>") for shown in first) == 4
    assert not list(tmp_path.iterdir())


def test_the_notebook_is_stored_without_outputs() -> None:
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in notebook["cells"])


# from a retriever to a gate


def _commands() -> list[str]:
    """The shell commands of the section, a line each."""
    page = (ROOT / "docs/guides/evaluate.md").read_text("utf-8")
    section = page.partition("## From your own retriever to a gate")[2].partition("\n## ")[0]
    (block,) = re.findall(r"^```sh\n(.*?)^```$", section, re.S | re.M)
    return [line for line in block.splitlines() if line and not line.startswith("#")]


def test_the_way_from_a_retriever_to_a_gate_is_short_enough() -> None:
    assert len(_commands()) <= 10


def test_the_way_from_a_retriever_to_a_gate(repository: Repository, tmp_path: Path) -> None:
    page = (ROOT / "docs/guides/evaluate.md").read_text("utf-8")
    section = page.partition("## From your own retriever to a gate")[2].partition("\n## ")[0]
    retriever = re.findall(r"^```python\n# my_search.py\n(.*?)^```$", section, re.S | re.M)[0]
    for number in range(12):
        topic = f"topic{number}"
        repository.write(
            f"src/{topic}.py",
            f'def handle_{topic}(value):\n    """Handle the {topic} of an order."""\n    return value\n',
        )
    repository.write("my_search.py", retriever)
    repository.commit()
    script = "set -e\n" + "\n".join(_commands())
    environment = shell_environment(tmp_path / "tools")
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=repository.root,
        env=environment,
        pass_fds=[int(environment["ASSAY_WARM"])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "gate passed" in done.stdout
    assert (repository.root / "eval/baseline.json").exists()
