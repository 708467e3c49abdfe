"""Answers depend on what a folder contains, not on the edits that led to it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import assay as package
from support.paths import FIXTURES, ROOT
from support.repository import Repository

QUESTIONS = ["how is an order stored", "add a language", "explain the score of a hit", "which metrics need a cut-off"]


@pytest.fixture
def edited(repository: Repository) -> Repository:
    """An index that was updated after each of several edits, with questions in between."""
    root = repository.root
    shutil.copytree(FIXTURES / "python" / "project", root, dirs_exist_ok=True)
    for page in ("graph", "languages", "retrieval", "packs"):
        repository.write(f"docs/{page}.md", (ROOT / "docs" / f"{page}.md").read_bytes())
    for number in range(30):  # so that a change stays an update
        repository.write(f"ballast_{number}.py", f"def ballast_{number}():\n    return {number}\n")
    repository.index()
    sources = sorted((root / "src").rglob("*.py"))
    longest = max(sources, key=lambda path: path.stat().st_size)
    edits: list[Callable[[], object]] = [
        lambda: longest.write_text("def first_of_all():\n    return 'order'\n\n\n" + longest.read_text()),
        lambda: shutil.copy(longest, root / "zz_copy.py"),
        lambda: longest.rename(longest.with_name("renamed.py")),
        lambda: (root / "docs" / "graph.md").rename(root / "docs" / "a-graph.md"),
        lambda: (root / "docs" / "packs.md").write_text("# Packs\n\nAn order is stored in a pack.\n"),
        lambda: (root / "ballast_3.py").unlink(),
        lambda: (root / "ballast_7.py").write_text("def later():\n    return 1\n\n\ndef ballast_7():\n    return 7\n"),
    ]
    for edit in edits:
        edit()
        assert repository.index().mode != "full"
        _answers(root)
    return repository


def _answers(root: Path) -> dict[str, list[tuple[str, float]]]:
    """Results with their scores, without differences in the order of summation."""
    answers: dict[str, list[tuple[str, float]]] = {}
    with package.open(root) as opened:
        for question in QUESTIONS:
            answers[f"search: {question}"] = [(hit.id, round(hit.score, 6)) for hit in opened.search(question, 30)]
            pack = opened.context(question)
            answers[f"context: {question}"] = [(item.id, round(item.score, 6)) for item in pack.items]
            reply = opened.ask(question)
            answers[f"ask: {question}"] = [(reply.text, round(reply.confidence, 6))]
    return answers


def test_the_same_content_gives_the_same_answers(edited: Repository, tmp_path: Path) -> None:
    fresh = Repository(tmp_path / "fresh")
    shutil.copytree(edited.root, fresh.root, ignore=shutil.ignore_patterns(".assay"))
    fresh.index()
    assert _answers(edited.root) == _answers(fresh.root)
