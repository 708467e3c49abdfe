"""Answers are deterministic, byte for byte: across processes, hash seeds and earlier queries."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

import assay as package
from support.command import COMMAND, ENVIRONMENT
from support.repository import Repository

TASK = "how does a handler look up the store, and what is returned when `get` finds nothing? See server.py:3"
TIMES = 10


@pytest.fixture
def indexed(project: Callable[[str], Repository]) -> Repository:
    """A project of several files, with a history and a document."""
    made = project("python")
    made.git("init", "-q")
    made.write("README.md", "# Store\n\nHandlers look up the store; see `get`.\n")
    made.commit("handlers look up the store")
    made.index()
    return made


def _asked(indexed: Repository, seed: int, *options: str) -> bytes:
    command = [*COMMAND, "context", TASK, *options]
    environment = ENVIRONMENT | {"PYTHONHASHSEED": str(seed)}
    return subprocess.run(command, cwd=indexed.root, env=environment, capture_output=True, check=True).stdout


@pytest.mark.parametrize("form", ["text", "json"])
def test_ten_processes_and_one_that_stays_answer_with_the_same_bytes(indexed: Repository, form: str) -> None:
    options = ("--format", form)
    answers = [_asked(indexed, seed, *options, "--no-cache") for seed in range(TIMES)]
    answers += [_asked(indexed, seed, *options) for seed in range(2)]  # the first is kept, the second is read
    with package.open(indexed.root) as repo:
        for number in range(TIMES):
            answers.append(repo.context(TASK, format=form).render().encode())
            repo.context(f"something else {number}")
    assert len(answers[0]) > 500
    assert len(set(answers)) == 1
