"""The answer cache of the web server: repeated queries are not ranked again until a dependency changes."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.serve.requests import ContextQuery, ResultPage, SearchPage
from assay.serve.watch import Resident
from assay.serve.web import api
from assay.serve.web.bench import AnswerCache, Bench
from assay.serve.web.pages import search
from support.command import assay
from support.waiting import until
from support.web_server import write_files

CONTEXT = ContextQuery("apply discounts")
PAGE = SearchPage("apply discounts")
RESULT = ResultPage("apply discounts", "shop/discounts.py::apply_discounts")
QUESTIONS: dict[str, Callable[[Bench], object]] = {
    "context": lambda bench: api.context(bench, CONTEXT),
    "page": lambda bench: search.show(bench, PAGE).body,
    "result": lambda bench: search.detail(bench, RESULT).body,
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = write_files(tmp_path / "shop")
    assert assay(made, "index").code == 0
    return made


@pytest.fixture(params=[True, False], ids=["watched", "not watched"])
def bench(root: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    with Resident(root, watch=request.param) as resident:
        bench = Bench(resident, root / ".assay" / "runs.db")
        until(lambda: resident.state.name == "fresh" and remembers(bench, followed=request.param))
        yield bench


def remembers(bench: Bench, followed: bool) -> bool:
    """Whether the state of the files can be named: a moment after the last of them was written; by those who follow them, once they do."""
    with bench.using() as repo:
        state = repo.look().state
    return bool(state) and state.startswith("followed") == followed


def steady(answer: object) -> str:
    """Without the time it took."""
    return re.sub(r" in (less than )?[\d,]+ ms", "", str(answer))


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_same_question_is_ranked_once(question: str, bench: Bench, rankings: list[str]) -> None:
    ask = QUESTIONS[question]
    first = ask(bench)
    ranked = [task for task in rankings if task == "apply discounts"]
    assert ranked
    again = [ask(bench) for _ in range(3)]
    assert [task for task in rankings if task == "apply discounts"] == ranked
    assert {steady(one) for one in again} == {steady(first)}


def test_whatever_an_answer_depends_on_makes_it_anew(bench: Bench, root: Path, rankings: list[str]) -> None:
    def changes(change: Callable[[], object]) -> None:
        api.context(bench, CONTEXT)
        before = len(rankings)
        change()
        until(lambda: (api.context(bench, CONTEXT), len(rankings) > before)[1])

    changes(lambda: (root / "shop" / "more.py").write_text("def more_discounts(): ...\n"))
    changes(lambda: (root / "assay.toml").write_text("[context]\nk = 2\n"))
    changes(lambda: assay(root, "feedback", "useful", "apply_discounts"))
    changes(lambda: (root / "docs" / "prices.md").write_text("# Prices\n\nNone.\n"))
    changes(lambda: (root / "shop" / "discounts.py").unlink())


def test_what_was_learned_is_read_without_making_answers_anew(bench: Bench, root: Path, rankings: list[str]) -> None:
    assert assay(root, "feedback", "useful", "apply_discounts").code == 0
    for _ in range(2):  # the first reader leaves SQLite's log beside the file
        api.context(bench, CONTEXT)
    before = len(rankings)
    for _ in range(3):
        api.context(bench, CONTEXT)
    assert len(rankings) == before


def test_an_answer_made_while_a_file_was_another_is_not_given_when_it_is_back(bench: Bench, root: Path) -> None:
    """The generation is the same before and after: only those who watch can tell."""
    file = root / "shop" / "discounts.py"
    assert isinstance(bench.resident, Resident)
    with bench.resident.home.writing():  # nobody indexes what is there for a moment
        first = api.context(bench, CONTEXT)
        text, times = file.read_text(), file.stat()
        file.write_text(text.replace("0.9", "0.5"))
        api.context(bench, CONTEXT)
        until(lambda: not json.loads(str(api.context(bench, CONTEXT)))["fresh"])
        file.write_text(text)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    until(lambda: api.context(bench, CONTEXT) == first)


def test_another_question_is_another_answer(bench: Bench) -> None:
    one = api.context(bench, CONTEXT)
    assert api.context(bench, replace(CONTEXT, k=1)) != one
    assert api.context(bench, replace(CONTEXT, budget=60)) != one
    assert api.context(bench, replace(CONTEXT, task="send an invoice")) != one
    assert api.context(bench, replace(CONTEXT, profile="default")) is not None
    assert api.context(bench, CONTEXT) == one


def test_a_change_that_is_taken_back_is_still_a_change(root: Path) -> None:
    with Resident(root) as resident:
        bench = Bench(resident, root / ".assay" / "runs.db")

        def state() -> str:
            with bench.using() as repo:
                found = repo.look()
                return found.state if "followed" in found.state else ""

        until(lambda: bool(state()))
        before, generation = state(), resident.home.current()
        path = root / "shop" / "discounts.py"
        path.write_bytes(path.read_bytes())
        until(lambda: state() not in ("", before))
        assert resident.home.current() == generation


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 400)), max_size=60), st.integers(800, 4_000))
def test_what_is_remembered_is_right_and_never_more_than_fits(puts: list[tuple[int, int]], most: int) -> None:
    remembered, last = AnswerCache(most), {}
    for number, size in puts:
        key = b"%d" % number
        answer = ("x" * size, str(number))
        remembered.put(key, answer)
        if sum(map(sys.getsizeof, answer)) <= most // 8:
            last[key] = answer
            assert remembered.get(key) == answer
        kept = [found for one in range(10) if (found := remembered.get(b"%d" % one))]
        assert sum(sys.getsizeof(text) for found in kept for text in found) <= most
        assert all(found == last[found[1].encode()] for found in kept)


def test_what_was_not_asked_for_the_longest_goes_first() -> None:
    one = ("x" * 100,)
    remembered = AnswerCache(sys.getsizeof(one[0]) * 10)
    for number in range(10):
        remembered.put(b"%d" % number, one)
    remembered.get(b"0")
    remembered.put(b"new", one)
    assert remembered.get(b"0")
    assert remembered.get(b"1") is None
