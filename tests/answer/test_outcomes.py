"""Outcomes of a question: answered, closest passages or refused, by two thresholds; and what counts as evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import assay as package
from assay.answer.answering import Chat, evidence, extract, messages, write
from assay.answer.excerpts import excerpts
from assay.answer.gaps import missing
from assay.answer.question import Question, Word
from assay.answer.reply import ANSWERED, CLOSEST, CLOSEST_PASSAGES, REFUSED
from assay.api import Repository as Opened
from assay.config.configuration import AskSettings
from assay.search.embed.server import Server
from assay.search.hits import SearchHit as Hit
from assay.text.terms import terms
from support.command import assay
from support.repository import Repository

GUIDE = """\
# Waterworks

## Starting

Pumps must be started before any valve is opened, or the pipe bursts. Wait for the pressure to rise.

## Emergencies

When a pipe bursts, close the valve nearest to it and call the plumber. The number is written on the wall.
"""
QUESTION = "What do I do when a pipe bursts?"


@pytest.fixture
def station(repository: Repository) -> Repository:
    repository.write("docs/guide.md", GUIDE)
    repository.write(
        "src/pumps.py",
        'def start_pumps(station):\n    """Start the pumps when a pipe bursts: call the plumber, close the valve."""\n    station.start()\n',
    )
    repository.index()
    return repository


@pytest.fixture
def opened(station: Repository) -> Iterator[Opened]:
    with package.open(station.root) as repo:
        yield repo


# thresholds


def test_two_thresholds_tell_three_outcomes_apart(opened: Opened) -> None:
    found = evidence(opened.searcher(), QUESTION)
    sure = extract(found, AskSettings(threshold=0.0)).confidence
    for threshold, refuse_below, outcome in (
        (sure, 0.0, ANSWERED),
        (sure, 1.0, ANSWERED),
        (sure + 0.001, sure, CLOSEST),
        (sure + 0.001, 0.0, CLOSEST),
        (sure + 0.001, sure + 0.001, REFUSED),
        (1.0, 1.0, REFUSED),
    ):
        reply = extract(found, AskSettings(threshold=threshold, refuse_below=refuse_below))
        assert (reply.outcome, reply.confidence) == (outcome, sure)
        assert reply.grounded == (outcome == ANSWERED)
        assert bool(reply.sources) == (outcome != REFUSED)


def test_the_closest_passages_are_those_of_the_answer(opened: Opened) -> None:
    found = evidence(opened.searcher(), QUESTION)
    answer = extract(found, AskSettings(threshold=0.0))
    closest = extract(found, AskSettings(threshold=1.0, refuse_below=0.0))
    assert (closest.text, closest.sources) == (answer.text, answer.sources)
    refused = extract(found, AskSettings(threshold=1.0, refuse_below=1.0))
    assert refused.text.startswith("Not here. Searched: 2 passages and 1 definition.")
    assert "Nearest: docs/guide.md:7-9" in refused.text


def test_nothing_found_is_refused_whatever_the_thresholds(opened: Opened) -> None:
    found = replace(evidence(opened.searcher(), QUESTION), hits=())
    reply = extract(found, AskSettings(threshold=0.0, refuse_below=0.0))
    assert (reply.outcome, reply.confidence, reply.sources) == (REFUSED, 0.0, ())
    assert extract(evidence(opened.searcher(), "???"), AskSettings(threshold=0.0)).outcome == REFUSED


# the command


def _settle(station: Repository, threshold: float, refuse_below: float) -> None:
    Path(station.root, "assay.toml").write_text(f"[ask]\nthreshold = {threshold}\nrefuse_below = {refuse_below}\n")


def test_the_exit_code_is_0_only_for_an_answer(station: Repository) -> None:
    for threshold, refuse_below, outcome, code in ((0, 0, ANSWERED, 0), (1, 0, CLOSEST, 1), (1, 1, REFUSED, 1)):
        _settle(station, threshold, refuse_below)
        done = assay(station.root, "ask", QUESTION, "--format", "json")
        assert (done.code, done.json["outcome"], done.json["grounded"]) == (code, outcome, outcome == ANSWERED)
        assert bool(done.json["citations"]) == (outcome != REFUSED)
        for form in ("text", "markdown"):
            printed = assay(station.root, "ask", QUESTION, "--format", form)
            assert printed.code == code
            assert printed.out.startswith(f"{CLOSEST_PASSAGES}: ") == (outcome == CLOSEST)
            assert ("[#1]" in printed.out) == (outcome != REFUSED)
            assert printed.out.startswith("Not here. ") == (outcome == REFUSED)
        assert (done.json["missing"] is not None) == (outcome == CLOSEST)


def test_a_terminal_says_first_that_it_is_no_answer(station: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.cli import ask
    from assay.cli.common import Size
    from assay.cli.options import View

    shown: list[str] = []
    view = View(whole=False, paged=False)
    view.screen = Size(80, 24)
    monkeypatch.setattr(View, "show", lambda self, text: shown.append(text))
    with package.open(station.root) as repo:
        reply = extract(evidence(repo.searcher(), QUESTION), AskSettings(threshold=1.0, refuse_below=0.0))
    ask._print_answer(reply, "text", False, view)
    ask._print_answer(replace(reply, outcome=ANSWERED), "text", False, view)
    assert shown[0].startswith(f"{CLOSEST_PASSAGES}: ")
    assert CLOSEST_PASSAGES not in shown[1]


def test_a_bad_limit_is_an_error_that_names_it(station: Repository) -> None:
    for value in ("2", "-0.1", '"low"', "nan"):
        Path(station.root, "assay.toml").write_text(f"[ask]\nrefuse_below = {value}\n")
        done = assay(station.root, "ask", QUESTION)
        assert done.code == 2
        assert "[ask] refuse_below must be a number from 0 to 1" in done.err


# models


class _Model(Chat):
    """A model that says one thing and counts how often it is asked."""

    def __init__(self, said: str) -> None:
        super().__init__(Server("http://127.0.0.1:1/v1/chat/completions", "none"))
        self.said, self.asked = said, 0

    def text(self, messages: Any) -> Iterator[str]:
        self.asked += 1
        yield self.said


def test_a_model_is_asked_unless_the_excerpts_are_refused(opened: Opened) -> None:
    found = evidence(opened.searcher(), QUESTION)
    for threshold, refuse_below, asked in ((0.0, 0.0, 1), (1.0, 0.0, 1), (1.0, 1.0, 0)):
        model = _Model("Call the plumber [#1].")
        reply = write(found, AskSettings(threshold=threshold, refuse_below=refuse_below), model)
        assert model.asked == asked
        assert reply.outcome == (ANSWERED if asked else REFUSED)
    silent = write(found, AskSettings(threshold=1.0, refuse_below=0.0), _Model("Call somebody."))
    assert (silent.outcome, silent.sources) == (REFUSED, ())
    assert len(messages(QUESTION, found.hits)) == 2


# evidence


def test_a_question_to_the_documents_is_never_answered_from_code(opened: Opened) -> None:
    for question in (QUESTION, "When must pumps be started?", "whom do I call"):
        found = evidence(opened.searcher(), question)
        assert found.hits
        assert {hit.kind for hit in found.hits} == {"passage"}, question
        assert all(source.path == "docs/guide.md" for source in opened.ask(question, threshold=0.0).sources)


def test_a_question_about_code_may_be_answered_from_it(station: Repository) -> None:
    station.write("src/ledger.py", "def parse_ledger(lines):\n    return [line.split() for line in lines]\n")
    station.index()
    with package.open(station.root) as repo:
        found = evidence(repo.searcher(), "where is parse_ledger implemented")
        assert found.hits[0].id == "src/ledger.py::parse_ledger"
        reply = repo.ask("where is parse_ledger implemented", threshold=0.0)
    assert reply.sources[0].path == "src/ledger.py"
    assert reply.text.startswith("```\ndef parse_ledger(lines):\n    return")


def test_without_documents_the_code_answers(opened: Opened) -> None:
    reply = opened.ask(QUESTION, code=True, documents=False, threshold=0.0)
    assert {source.path for source in reply.sources} == {"src/pumps.py"}
    assert opened.ask(QUESTION, code=False, threshold=0.0).sources[0].path == "docs/guide.md"


def test_a_word_only_of_the_code_is_unseen_to_a_question_to_the_documents(opened: Opened) -> None:
    question = "What do I do when the station has a pipe that bursts?"
    found = evidence(opened.searcher(), question)
    assert {hit.kind for hit in found.hits} == {"passage"}
    assert "station" in found.question.unseen


# near misses


def test_a_near_miss_is_not_printed_as_an_answer(opened: Opened) -> None:
    for question in (
        "How do I stop the pumps before the pressure rises?",
        "How do I drain the pumps?",
        "Who repairs a valve when it leaks?",
        "Does the plumber work on Sundays?",
    ):
        reply = opened.ask(question)
        assert reply.outcome != ANSWERED, (question, reply.confidence)
        assert reply.confidence < reply.threshold


def test_a_question_that_the_documents_answer_is_answered(opened: Opened) -> None:
    reply = opened.ask("When must pumps be started?")
    assert (reply.outcome, reply.missing, reply.notice) == (ANSWERED, "", "")
    assert reply.text.startswith("Pumps must be started before any valve is opened")
    assert reply.confidence >= reply.threshold


def test_closest_passages_name_what_they_lack(opened: Opened) -> None:
    never = opened.ask("How do I stop the pumps before the pressure rises?")
    assert (never.outcome, never.missing) == (CLOSEST, "nothing in this corpus mentions “stop”")
    assert never.notice == f"{CLOSEST_PASSAGES}: {never.missing}."


def test_what_is_missing_is_absent_elsewhere_scattered_or_uncertain() -> None:
    hit = Hit(
        "a", "passage", "a.md", "markdown", 1, 1, 0, ("Gateway",), "", 1.0, 1.0, 0.5, "The gateway speaks REST.", "a.md:1",
        frozenset(),
    )  # fmt: skip
    other = replace(hit, id="b", headings=(), text="A stream of events.")
    chosen = [next(excerpts([each])) for each in (hit, other)]

    def lacks(**frequencies: int) -> str:
        words = tuple(Word(word, tuple(terms(word)), count, 3.0 - count) for word, count in frequencies.items())
        return missing(Question("?", words, 10), chosen)

    assert lacks(gateway=1, gRPC=0) == "nothing in this corpus mentions “gRPC”"
    assert lacks(gateway=1, billing=1) == "none of them mentions “billing”"
    assert lacks(gRPC=0, billing=1) == "nothing in this corpus mentions “gRPC”; none of them mentions “billing”"
    assert lacks(gateway=1, events=1) == "no passage says all of this in one place"
    assert lacks(gateway=1, rest=1).startswith("they have the words of the question")
    assert lacks(a1=1, b2=2, c3=1, d4=1) == "none of them mentions “a1”, “c3” or “d4”"
