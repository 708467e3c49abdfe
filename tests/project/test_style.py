"""Mechanical checks of names and prose. `make structure` prints all figures."""

from __future__ import annotations

import ast
import importlib.util

from support.paths import ROOT

SOURCES = sorted((ROOT / "src").rglob("*.py"))
HELPERS = sorted(path for folder in ("tests/support", "benchmarks", "scripts") for path in (ROOT / folder).glob("*.py"))
TEST_MODULES = sorted(path for path in (ROOT / "tests").rglob("*.py") if "fixtures" not in path.parts)
FILLER_NAMES = 80  # left over; lower it after renaming some

_spec = importlib.util.spec_from_file_location("structure", ROOT / "scripts" / "structure.py")
assert _spec is not None
assert _spec.loader is not None
structure = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(structure)


def test_docstrings_open_with_a_verb_or_a_noun() -> None:
    questions = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in (*SOURCES, *HELPERS)
        for line, text in structure.docstrings(ast.parse(path.read_text("utf-8")))
        if structure.opens_with_question(text)
    ]
    assert questions == []


def test_docstrings_of_test_modules_open_with_a_noun() -> None:
    openings = {path: ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "" for path in TEST_MODULES}
    assert [str(path) for path, text in openings.items() if structure.opens_with_question(text)] == []


def test_names_that_say_nothing_become_fewer() -> None:
    """`make structure` counts them, `scripts/structure.py --names` lists them."""
    assert len(structure.fillers(ROOT / "src")) <= FILLER_NAMES


def test_lines_of_the_docs_are_short() -> None:
    """But for tables and transcripts, which cannot be broken, and the generated reference."""
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.name != "cli.md"]
    long = []
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *pages]:
        code = False
        for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
            code ^= line.lstrip().startswith("```")
            if len(line) > 120 and not code and not line.startswith("|"):
                long.append(f"{page.relative_to(ROOT)}:{number}")
    assert long == []
