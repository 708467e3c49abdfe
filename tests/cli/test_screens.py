"""Recorded screens of a terminal of 80 × 24, and the same answers piped.

The project and the recordings are in `tests/fixtures/screens`. Record them again, and read the difference, with

    PYTHONPATH=src:tests python tests/cli/test_screens.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from support.command import assay
from support.environment import isolate
from support.paths import FIXTURES
from support.terminal import STYLE, in_terminal, without_progress

RECORDED = FIXTURES / "screens"
TASK = "how is the fine for an overdue loan computed"
QUERY = "how many days of grace before a fine"
QUESTION = "How much does a late book cost per day?"
PIPED = ("context", "context-n", "context-files", "search", "ask")
ANSWERS = {
    "context": ("context", TASK),
    "context-nothing": ("context", "rotate encryption keys"),
    "context-n": ("context", TASK, "-n", "3"),
    "context-files": ("context", "--files", "loans/mail.py"),
    "search": ("search", QUERY),
    "search-nothing": ("search", "blockchain"),
    "ask": ("ask", QUESTION),
    "ask-closest": ("ask", "How do I renew a passport?"),
    "ask-refused": ("ask", "Which Kubernetes cluster runs the billing?"),
    "symbols": ("symbols", "*fine*"),
    "impact": ("impact", "compute_fine"),
}


def _project(folder: Path) -> Path:
    root = folder / "loans"
    shutil.copytree(RECORDED / "project", root)
    assert assay(root, "index").code == 0
    assert assay(root, "search", "fine").code == 0  # builds the passages, which would show a progress bar
    return root


def _screen(root: Path, arguments: tuple[str, ...]) -> str:
    code, shown = in_terminal(root, *arguments)
    return f"{STYLE.sub('', without_progress(shown))}[exit code {code}]\n"


def _piped(root: Path, arguments: tuple[str, ...]) -> str:
    done = assay(root, *arguments)
    return f"{done.out}[exit code {done.code}]\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _project(tmp_path_factory.mktemp("screens"))


@pytest.mark.parametrize("name", ANSWERS)
def test_a_terminal_shows_the_recorded_screen(project: Path, name: str) -> None:
    screen = _screen(project, ANSWERS[name])
    assert screen == (RECORDED / f"{name}.screen").read_text("utf-8")
    assert max(map(len, screen.splitlines())) <= 80


@pytest.mark.parametrize("name", PIPED)
def test_a_pipe_gets_the_recorded_text(project: Path, name: str) -> None:
    assert _piped(project, ANSWERS[name]) == (RECORDED / f"{name}.piped").read_text("utf-8")


@pytest.mark.parametrize("name", ["context", "search", "ask"])
def test_one_screen_holds_the_command_and_the_prompt_too(project: Path, name: str) -> None:
    for height in (10, 24, 40):
        code, shown = in_terminal(project, *ANSWERS[name], size=(80, height))
        assert (code, shown.count("\n") <= height - 2) == (0, True)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("context", ("--format", "text")),
        ("context", ("--full", "--no-pager")),
        ("context", ("--budget", "50000", "--no-pager")),
        ("context-n", ("--full", "--no-pager")),
        ("search", ("--format", "text")),
        ("search", ("--full", "--no-pager")),
        ("ask", ("--format", "text")),
        ("ask", ("--full", "--no-pager")),
    ],
)
def test_a_terminal_shows_the_whole_answer_if_that_is_asked_for(
    project: Path, name: str, options: tuple[str, ...]
) -> None:
    code, shown = in_terminal(project, *ANSWERS[name], *options)
    whole = f"{STYLE.sub('', without_progress(shown))}[exit code {code}]\n"
    assert whole == (RECORDED / f"{name}.piped").read_text("utf-8")


def _record() -> None:
    isolate()
    with tempfile.TemporaryDirectory() as folder:
        root = _project(Path(folder))
        for name, arguments in ANSWERS.items():
            (RECORDED / f"{name}.screen").write_text(_screen(root, arguments), "utf-8")
            if name in PIPED:
                (RECORDED / f"{name}.piped").write_text(_piped(root, arguments), "utf-8")


if __name__ == "__main__":
    _record()
