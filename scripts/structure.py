"""Measure the shape of the source: sizes, complexity, names and prose, one table for one or two trees.

    python scripts/structure.py [SRC ...]

SRC is a `src` folder; without one, that of this repository. Two of them give a table of before and after. Complexity is McCabe's as ruff
computes it, with radon's grades (D above 20, E above 30, F above 40).
"""

from __future__ import annotations

import ast
import json
import re
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

QUESTION_WORDS = ("What", "Which", "How", "Whether", "Why", "Where", "Who", "Whose", "When")
FILLERS = frozenset({"one", "found", "known", "told", "said", "asked", "beside", "several", "settled"})
LONG_FUNCTION = 60  # lines
SHORT_FILE = 60
SMALL_MODULE = 100  # lines of a module that could live in its only importer


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and text of every docstring below a node."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text


def opens_with_question(text: str) -> bool:
    """Tell whether a docstring opens with a question word instead of a verb or a noun."""
    return text.split(maxsplit=1)[0].rstrip(",:") in QUESTION_WORDS if text.strip() else False


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and name of every parameter, variable, function, class and attribute that a tree binds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def is_filler(name: str) -> bool:
    """Tell whether a name says nothing about what it holds."""
    return name.strip("_") in FILLERS


def measure(source: Path) -> dict[str, float]:
    """Return the figures of a `src` folder by their heading."""
    files = sorted(source.rglob("*.py"))
    trees = {path: ast.parse(path.read_text("utf-8")) for path in files}
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in files}
    functions = [
        node
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    grades = _grades(source)
    return {
        "files": len(files),
        "lines of code": sum(lines.values()),
        "median lines of a file": statistics.median(lines.values()),
        f"files below {SHORT_FILE} lines": sum(count < SHORT_FILE for count in lines.values()),
        f"functions above {LONG_FUNCTION} lines": sum(
            (node.end_lineno or node.lineno) - node.lineno >= LONG_FUNCTION for node in functions
        ),
        "complexity D": grades["D"],
        "complexity E": grades["E"],
        "complexity F": grades["F"],
        f"modules below {SMALL_MODULE} lines with one importer": _single_importers(source, trees, lines),
        "loose modules at the top": sum(1 for path in (source / "assay").glob("*.py")),
        "docstrings that open with a question word": sum(
            opens_with_question(text) for tree in trees.values() for _, text in docstrings(tree)
        ),
        "filler names": sum(is_filler(name) for tree in trees.values() for _, name in names(tree)),
    }


def _grades(source: Path) -> Counter[str]:
    command = [
        sys.executable, "-m", "ruff", "check", "--isolated", "--select", "C901", "--config", "lint.mccabe.max-complexity=20",
        "--output-format", "json", "--exit-zero", str(source),
    ]  # fmt: skip
    findings = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    complexities = [int(re.findall(r"\((\d+) > 20\)", finding["message"])[0]) for finding in findings]
    return Counter("F" if value > 40 else "E" if value > 30 else "D" for value in complexities)


def _single_importers(source: Path, trees: dict[Path, ast.Module], lines: dict[Path, int]) -> int:
    """Count small modules that exactly one other module imports."""
    modules = {".".join(path.relative_to(source).with_suffix("").parts): path for path in trees}
    importers: dict[str, set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    importers[name].add(path)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    importers[alias.name].add(path)
    return sum(
        len(importers[name] - {path}) == 1 and lines[path] < SMALL_MODULE
        for name, path in modules.items()
        if path.name != "__init__.py"
    )


def main() -> None:
    """Print the table."""
    sources = [Path(given) for given in sys.argv[1:]] or [Path(__file__).resolve().parent.parent / "src"]
    tables = [measure(source) for source in sources]
    width = max(map(len, tables[0]))
    for heading in tables[0]:
        print(f"{heading:<{width}}  " + "  ".join(f"{table[heading]:>8,.0f}" for table in tables))


if __name__ == "__main__":
    main()
