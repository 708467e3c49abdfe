"""Symbols and edges of every language's fixture project equal its hand-written tables."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assay.index.extract.collect import role_of
from assay.languages import HERE, Language
from assay.languages import LANGUAGES as TABLE
from assay.languages.language import captures_of, query_patterns
from support.repository import Repository
from support.tables import LANGUAGES, edges_of, expected, symbols_of


@pytest.mark.parametrize("language", LANGUAGES)
def test_symbols_are_those_of_the_hand_written_table(language: str, project: Callable[[str], Repository]) -> None:
    repository = project(language)
    repository.index()
    assert symbols_of(repository.open()) == expected(language, "symbols.txt", 4)


@pytest.mark.parametrize("language", LANGUAGES)
def test_edges_are_those_of_the_hand_written_table(language: str, project: Callable[[str], Repository]) -> None:
    repository = project(language)
    repository.index()
    assert edges_of(repository.open()) == expected(language, "edges.txt", 3)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_item_is_contained_by_the_item_its_id_names(language: str, project: Callable[[str], Repository]) -> None:
    repository = project(language)
    repository.index()
    index = repository.open()
    symbols, edges = index.export()
    kinds = {str(row[0]): str(row[1]) for row in symbols}
    containers = {e.target: e.source for e in edges if e.type == "contains"}
    assert set(containers) == {i for i, kind in kinds.items() if kind != "file"}
    for item, container in containers.items():
        if kinds[container] != "file":
            inner = item.partition("::")[2].partition("~")[0]
            outer = container.partition("::")[2].partition("~")[0]
            assert inner.startswith(outer), f"{item} in {container}"


def test_every_language_has_a_query_and_a_fixture() -> None:
    for language in TABLE:
        assert language.reader or (HERE / (language.query or f"{language.name}.scm")).exists() or language.query_objects
    families = {language.name for language in TABLE} - {"tsx"}
    assert families <= set(LANGUAGES)


@pytest.mark.parametrize("language", [row for row in TABLE if row.grammar], ids=lambda language: language.name)
def test_every_pattern_of_a_query_says_what_it_is(language: Language) -> None:
    files = language.query.split() or [f"{language.name}.scm"]
    patterns = query_patterns("\n".join((HERE / file).read_text() for file in files))
    assert patterns
    for pattern in patterns:
        assert role_of(captures_of(pattern)), pattern
