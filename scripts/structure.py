"""Measure the shape of the source: sizes, complexity, names and prose, one table for one or two trees.

    python scripts/structure.py [SRC ...]

SRC is a `src` folder; without one, that of this repository. Two of them give a table of before and after. Complexity grades are
radon's (D above 20, E above 30, F above 40), unused code is vulture's. With --names, filler names are listed by package and line.
"""

from __future__ import annotations

import ast
import json
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

QUESTION_WORDS = ("What", "Which", "How", "Whether", "Why", "Where", "Who", "Whose", "When")
FILLERS = frozenset(
    {"one", "found", "known", "told", "said", "asked", "beside", "several", "settled"}
    | {"given", "made", "kept", "wanted", "meant", "theirs", "ours"}
)
UNUSED_CONFIDENCE = 60  # percent; vulture is this sure of functions, methods and attributes
COMMAND_DECORATORS = "@*command*,@*.command*,@*group*"  # click calls these functions
CALLED_BY_LIBRARIES = "__getattr__,__dir__,handle_*,do_*"
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


def fillers(source: Path) -> list[tuple[Path, int, str]]:
    """Return file, line and name of every filler name below a folder."""
    return [
        (path, line, name)
        for path in sorted(source.rglob("*.py"))
        for line, name in names(ast.parse(path.read_text("utf-8")))
        if is_filler(name)
    ]


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
        "filler names": len(fillers(source)),
        f"unused code (vulture, {UNUSED_CONFIDENCE} %)": _unused(source),
    }


def _grades(source: Path) -> Counter[str]:
    """Count functions, methods and classes by radon's grade, D and worse."""
    command = [sys.executable, "-m", "radon", "cc", "--json", "--min", "D", str(source)]
    blocks = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return Counter(block["rank"] for file in blocks.values() for block in file)


def _unused(source: Path) -> int:
    """Count definitions that nothing in the source refers to."""
    command = [
        sys.executable, "-m", "vulture", str(source), "--min-confidence", str(UNUSED_CONFIDENCE),
        "--ignore-decorators", COMMAND_DECORATORS, "--ignore-names", CALLED_BY_LIBRARIES,
    ]  # fmt: skip
    return len(subprocess.run(command, check=False, capture_output=True, text=True).stdout.splitlines())


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


def _print_fillers(source: Path) -> None:
    findings = fillers(source)
    packages = Counter(path.relative_to(source).parts[1] for path, _, _ in findings)
    for package, count in packages.most_common():
        print(f"{package:<20} {count:>4}")
    for path, line, name in findings:
        print(f"{path}:{line}: {name}")


def main() -> None:
    """Print the table, or the filler names."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--names"]
    sources = [Path(argument) for argument in arguments] or [Path(__file__).resolve().parent.parent / "src"]
    if "--names" in sys.argv:
        for source in sources:
            _print_fillers(source)
        return
    tables = [measure(source) for source in sources]
    width = max(map(len, tables[0]))
    for heading in tables[0]:
        print(f"{heading:<{width}}  " + "  ".join(f"{table[heading]:>8,.0f}" for table in tables))


if __name__ == "__main__":
    main()
