"""`assay ask`: answers with citations that resolve, or a refusal that lists the searched terms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import assay as package
from assay.answer.answering import resolves
from assay.answer.question import analyze_question
from assay.api import Repository as Opened
from assay.evaluate.systems import open_system
from assay.search.hits import Scored
from assay.search.search import Search
from support import documents
from support.command import assay
from support.paths import ROOT
from support.repository import Repository

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


def test_an_evaluated_question_is_searched_once_and_has_the_hits_of_a_search(
    station: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    question, searched = "What do I do when a pipe bursts?", list[str]()
    expected = [hit.id for hit in open_system("search", root=station.root).retrieve(question, 3).hits]
    candidates = Search.candidates

    def noted(self: Search, query: str, *rest: Any) -> list[Scored]:
        searched.append(query)
        return candidates(self, query, *rest)

    monkeypatch.setattr(Search, "candidates", noted)
    response = open_system("ask", root=station.root).retrieve(question, 3)
    assert searched == [question]
    assert [hit.id for hit in response.hits] == expected
    assert response.answer is not None
    assert response.answer.grounded


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
    assert "ask in words" in nothing.err


# what is said


def test_the_json_is_what_the_guide_documents(station: Repository) -> None:
    told = assay(station.root, "ask", "What do I do when a pipe bursts?", "--threshold", "0.3", "--format", "json").json
    assert list(told) == [
        "question", "answer", "outcome", "grounded", "confidence", "threshold", "missing", "citations", "dropped_citations",
        "searched", "model", "problem", "fresh",
    ]  # fmt: skip
    first = told["citations"][0]
    assert list(first) == ["n", "id", "path", "start", "end", "page", "headings", "citation", "text"]
    assert (first["n"], first["path"], first["page"], first["citation"]) == (
        1,
        "docs/guide.md",
        None,
        "docs/guide.md:11-12",
    )
    assert first["text"].startswith("When a pipe bursts, close the valve nearest to it")
    assert set(told["searched"]) == {"corpus", "places", "unseen_words"}
    assert told["searched"]["corpus"] == "5 passages and 1 definition"
    assert (told["grounded"], told["threshold"], told["fresh"]) == (True, 0.3, True)
    assert told["threshold"] <= told["confidence"] <= 1


def test_markdown_lists_the_sources(station: Repository) -> None:
    done = assay(station.root, "ask", "What do I do when a pipe bursts?", "--format", "markdown")
    assert "- [#1] `docs/guide.md:11-12` – Waterworks > Emergencies" in done.lines


def test_a_page_of_a_pdf_is_cited(opened: Opened) -> None:
    reply = opened.ask("On which day is the turbine greased?", threshold=0.0)
    assert reply.sources[0].place == "docs/manual.pdf, page 2"
    assert "greased on Mondays" in reply.text


def test_every_citation_resolves_to_lines_that_say_it(opened: Opened) -> None:
    for question in ("What do I do when a pipe bursts?", "start the pumps", "turbine", "who reads the manual"):
        reply = opened.ask(question, threshold=0.0)
        assert reply.sources
        passages = opened.searcher().passages
        assert all(resolves(one, opened.root, passages) for one in reply.sources)
        changed = replace(reply.sources[0], text="something else")
        assert not resolves(changed, opened.root, passages)
        assert not resolves(replace(reply.sources[0], path="docs/gone.md"), opened.root, passages)


def test_the_same_question_gets_the_same_answer(opened: Opened) -> None:
    assert opened.ask("when is a valve opened") == opened.ask("when is a valve opened")


def test_parts_of_a_word_must_stand_together(opened: Opened, station: Repository) -> None:
    station.write(
        "docs/web.md", "# Web\n\nA web of pipes. The socket of a pump, time and again, is ordered. Use the OpenAPI.\n"
    )
    station.index()
    with package.open(station.root) as repo:
        search = repo.searcher()
        assert analyze_question("WebSocket time-ordered openapi", search).unseen == ("WebSocket", "time-ordered")
        assert analyze_question("x " * 1_500 + "pipe", search).words[-1].written == "x"  # the rest is not looked at


# confined and settled


def test_filters_confine_what_is_answered_from(opened: Opened) -> None:
    reply = opened.ask("start the pumps", paths=["src/"], threshold=0.0)
    assert {one.path for one in reply.sources} == {"src/pumps.py"}
    nothing = opened.ask("start the pumps", paths=["nowhere/"], threshold=0.0)
    assert not nothing.grounded
    assert "use fewer" in nothing.text


def test_the_threshold_is_settled_in_assay_toml_and_overridden_by_the_option(station: Repository) -> None:
    question = "What do I do when a pipe bursts?"
    Path(station.root, "assay.toml").write_text("[ask]\nthreshold = 1.0\n")
    assert assay(station.root, "ask", question).code == 1
    assert assay(station.root, "ask", question, "--threshold", "0").code == 0
    Path(station.root, "assay.toml").write_text('[ask]\nthreshold = "high"\n')
    wrong = assay(station.root, "ask", question)
    assert wrong.code == 2
    assert "[ask] threshold must be a number from 0 to 1" in wrong.err


@pytest.mark.parametrize(
    "question", ["how do I do it?", "???", "🙂", pytest.param("x" * 100_000, id="one long word"), "a\x00b", "[#1] [#2]"]
)
def test_odd_questions_get_an_answer_or_a_refusal(opened: Opened, question: str) -> None:
    reply = opened.ask(question)
    assert reply.grounded == bool(reply.sources)
    assert reply.text


def test_what_a_document_says_cannot_steer_a_terminal(station: Repository) -> None:
    station.write("docs/evil.md", "# Evil\n\nThe sluice \x1b[31mis red\x1b]0;owned\x07 and \u202e closed.\n")
    station.index()
    done = assay(station.root, "ask", "is the sluice red", "--threshold", "0")
    assert "sluice" in done.out
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", done.out)


def test_citations_that_a_document_fakes_are_only_text(opened: Opened, station: Repository) -> None:
    station.write("docs/fake.md", "# Fake\n\nThe sluice opens at noon [#9], as everybody knows [#2].\n")
    station.index()
    with package.open(station.root) as repo:
        reply = repo.ask("when does the sluice open", threshold=0.0)
    assert reply.text == "The sluice opens at noon, as everybody knows. [#1]"
    assert [one.number for one in reply.sources] == [1]


def test_without_an_index_and_refresh_it_says_how_to_make_one(tmp_path: Path) -> None:
    done = assay(tmp_path, "ask", "what is this", "--no-refresh")
    assert done.code == 2
    assert "assay index" in done.err


# measured


GOLDEN = """\
{"id": "burst", "question": "What do I do when a pipe bursts?", "expected_files": ["docs/guide.md"], "must_contain": ["call the plumber"]}
{"id": "grease", "question": "When is the turbine greased?", "expected_files": ["docs/manual.pdf"], "must_contain": ["Mondays"]}
{"id": "helm", "question": "Which Helm chart deploys the billing dashboard?", "expected_chunks": []}
"""


def test_eval_measures_answers_citations_and_refusals(station: Repository, tmp_path: Path) -> None:
    golden = tmp_path / "golden.jsonl"
    golden.write_text(GOLDEN)
    done = assay(
        station.root, "eval", "run", "--golden", golden, "--system", "ask", "--matching", "file", "--format", "json"
    )
    assert done.code == 0, done.err
    figures = done.json["metrics"]
    assert {name: figures[name] for name in ("citation_coverage", "groundedness", "support", "refusal_correctness")} == {
        "citation_coverage": 1.0, "groundedness": 1.0, "support": 1.0, "refusal_correctness": 1.0,
    }  # fmt: skip
    assert figures["over_refusal"] == 0.0


def test_a_system_may_be_asked_with_settings_of_its_own(station: Repository, tmp_path: Path) -> None:
    golden = tmp_path / "golden.jsonl"
    golden.write_text(GOLDEN)
    run = ("eval", "run", "--golden", golden, "--matching", "file", "--format", "json", "--system")
    strict = assay(station.root, *run, "ask:threshold=1,embedder=none").json
    assert strict["system"] == "ask:embedder=none,threshold=1.0"
    never = assay(station.root, *run, "ask:threshold=1,refuse_below=1").json
    assert (never["metrics"]["over_refusal"], never["metrics"]["closest"]) == (1.0, 0.0)
    assert (strict["metrics"]["over_refusal"], strict["metrics"]["closest"]) == (0.0, 0.6667), (
        "both answerable questions come closest"
    )
    assert strict["metrics"].get("citation_coverage") is None
    wrong = assay(station.root, *run, "ask:treshold=1")
    assert wrong.code == 2
    assert "Did you mean 'threshold'?" in wrong.err


def test_eval_threshold_shows_the_curve_and_says_when_a_set_is_too_small(station: Repository, tmp_path: Path) -> None:
    golden = tmp_path / "golden.jsonl"
    golden.write_text(GOLDEN)
    done = assay(station.root, "eval", "threshold", "--golden", golden)
    assert done.code == 0, done.err
    assert "ask on " in done.lines[0]
    assert "keep it: the set has only 1 question to refuse; at least 8 are needed" in done.out
    told = assay(station.root, "eval", "threshold", "--golden", golden, "--format", "json").json
    assert (told["answerable"], told["to_refuse"], len(told["curve"])) == (2, 1, 21)
    golden.write_text(GOLDEN.splitlines()[0])
    alone = assay(station.root, "eval", "threshold", "--golden", golden)
    assert alone.code == 2
    assert "both kinds are needed" in alone.err


# the guide


def test_the_python_of_the_guide_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    guide = (ROOT / "docs/guides/ask.md").read_text("utf-8")
    files = re.findall(r"^cat > (\S+) <<'EOF'\n(.*?)^EOF$", guide, re.DOTALL | re.MULTILINE)
    station = Repository(tmp_path)
    for path, text in files[:2]:
        station.write(path, text)
    station.index()
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```python\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)
    exec(block, {"assay": package})
    assert capsys.readouterr().out.startswith("True True\n1 docs/guide.md:5 Pumps must be started")
