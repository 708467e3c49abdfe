"""The BM25 channel of seed 003: related words, phrases and the column of concepts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rank.profile import Profile
from assay.rank.query import parse_task
from assay.rank.seed.bm25 import Columns, clusters, expand, expansions
from assay.rank.seed.replay import SeedEngine
from assay.rank.seed.specification import COLUMNS, EXPANSIONS
from support.repository import Repository

# -- thesaurus ---------------------------------------------------------------------------------------------------------


def test_a_word_brings_its_relatives() -> None:
    assert {"subscriber", "listener", "handler"} <= set(expand(["consumer"])["consumer"])
    assert expand(["Routes"])["routes"] == expand(["route"])["route"]
    assert expand(["zebra", ""]) == {}


def test_words_of_the_task_are_not_brought_again() -> None:
    assert "listener" not in expand(["consumer", "listener"])["consumer"]


def test_the_thesaurus_is_well_formed() -> None:
    assert len(clusters()) >= 80
    for cluster in clusters():
        assert len(set(cluster)) == len(cluster) >= 2
        assert all(word.isalpha() and word.islower() for word in cluster)


@given(st.lists(st.sampled_from([word for cluster in clusters() for word in cluster]), max_size=8))
def test_expansion_is_bounded_and_adds_only_new_words(words: list[str]) -> None:
    for word, others in expand(words).items():
        assert word in words
        assert 0 < len(others) <= EXPANSIONS
        assert not set(others) & set(words)


def test_related_words_are_none_of_the_task() -> None:
    related = expansions(parse_task("a consumer of messages", Profile()))
    assert "subscrib" in related
    assert "consum" not in related


# -- columns -----------------------------------------------------------------------------------------------------------


def test_words_of_file_and_folder_are_a_column_of_their_own(repository: Repository) -> None:
    repository.write("app/money/commandLineParser.py", "def read(row):\n    return row\n")
    repository.write("app/money/store.py", "def parser(row):\n    return row\n")
    repository.index()
    index = repository.open()
    resources = SeedEngine(index).resources
    columns = Columns(index.postings, resources.items)
    concepts = {}
    for term in ("parser", "money", "app"):
        items, counts = columns.get(term)
        concepts[term] = {index.item(number).id for number in items[counts[:, -1] > 0].tolist()}
    in_folder = {"app/money/commandLineParser.py::read", "app/money/store.py::parser"}
    paths = {id.partition("::")[0] for id in in_folder}
    index.close()
    assert list(COLUMNS)[-1] == "concepts"
    assert concepts["parser"] == {"app/money/commandLineParser.py::read", "app/money/commandLineParser.py"}
    assert concepts["money"] == in_folder | paths
    assert concepts["app"] == set()  # a folder further up is a word of the path only


def test_a_name_with_two_adjacent_words_of_the_task_gains(repository: Repository) -> None:
    repository.write("app.py", "def tax_rate(row):\n    return row\n\n\ndef rate_tax(row):\n    return row\n")
    repository.write("more.py", "def tax(row):\n    return row\n\n\ndef rate(row):\n    return row\n")
    repository.index()
    index = repository.open()
    ranking = SeedEngine(index).rank("the tax rate")
    named = {index.item(number).symbol for number in (ranking.factors["phrase"] > 1).nonzero()[0].tolist()}
    index.close()
    assert named == {"tax_rate", "rate_tax"}


def test_a_related_word_scores_half_of_the_word_itself(repository: Repository) -> None:
    repository.write("app.py", "def subscriber(row):\n    return row\n")
    repository.write("more.py", "def other(row):\n    return row\n")
    repository.index()
    index = repository.open()
    [item] = index.items("s.symbol = 'subscriber'")
    engine = SeedEngine(index)
    related, own = (engine.read(task).lexical.score[item.number] for task in ("the consumer", "the subscriber"))
    index.close()
    assert related == pytest.approx(0.5 * own)
