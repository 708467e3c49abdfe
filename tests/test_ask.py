"""Asking: an answer with citations that resolve, or a refusal that says what was searched."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import assay as package
import documents
from assay.repository import Repository as Opened
from command import assay
from conftest import Repository

GUIDE = """\
# Waterworks

Welcome to the manual of the station. It is read from the first page to the last by everybody who works here, once.

## Starting

Pumps must be started before any valve is opened, or the pipe bursts. Use `start_pumps` for it and wait for the pressure.

## Emergencies

When a pipe bursts, close the valve nearest to it and call the plumber.
The number of the plumber is written on the wall.
"""


@pytest.fixture
def station(repository: Repository) -> Repository:
    repository.write(
        "src/pumps.py", 'def start_pumps(station):\n    """Starts the pumps of a station."""\n    station.start()\n'
    )
    repository.write("docs/guide.md", GUIDE)
    repository.write("docs/manual.pdf", documents.pdf("Contents of this book", "The turbine is greased on Mondays."))
    repository.commit()
    repository.index()
    return repository


@pytest.fixture
def opened(station: Repository) -> Iterator[Opened]:
    with package.open(station.root) as repo:
        yield repo


def test_an_answer_says_sentences_of_the_documents_and_cites_their_lines(opened: Opened) -> None:
    reply = opened.ask("What do I do when a pipe bursts?")
    assert reply.grounded
    assert reply.text.startswith("When a pipe bursts, close the valve nearest to it and call the plumber.")
    assert reply.text.split("\n\n")[0].endswith("[#1]")
    first = reply.sources[0]
    assert (first.place, first.start, first.end) == ("docs/guide.md:11-12", 11, 12)
    assert first.headings == ("Waterworks", "Emergencies")


def test_a_question_nobody_here_speaks_of_is_refused_with_what_was_searched(opened: Opened) -> None:
    reply = opened.ask("Which Kubernetes cluster hosts the billing dashboard?")
    assert not reply.grounded
    assert not reply.sources
    assert set(reply.searched.unseen) == {"Kubernetes", "cluster", "hosts", "billing", "dashboard"}
    assert "“Kubernetes”" in reply.text


def test_the_exit_code_says_whether_it_was_answered(station: Repository) -> None:
    answered = assay(station.root, "ask", "What do I do when a pipe bursts?")
    assert answered.code == 0
    assert "[#1] docs/guide.md:11-12  Waterworks > Emergencies" in answered.lines
    refused = assay(station.root, "ask", "Which Kubernetes cluster hosts the billing dashboard?")
    assert refused.code == 1
    nothing = assay(station.root, "ask", "  ")
    assert nothing.code == 2
    assert "Ask in words" in nothing.err
