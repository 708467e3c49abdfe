"""Phrases that stand for concepts, and limits on their expansion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.rank.signals.classes import (
    CURATED_WEIGHT,
    GRAPH_WEIGHT,
    USER_WEIGHT,
    EquivalenceClass,
    Match,
    aliases,
    curated,
    is_specific,
    matches,
    resolve,
    user_classes,
)
from assay.rank.symbols import NameTable
from assay.store.catalogue import Catalogue, FileRow, SymbolRow

IMPACT = EquivalenceClass(
    "IMPACT", ("blast radius", "impact", "ripple effect"), ("transitive_callers", "run", "BlastRadius")
)


def table(*names: str) -> NameTable:
    catalogue = Catalogue.create(Path(":memory:"))
    catalogue.add_files([FileRow(1, "a.py", "python", 0, 0, b"", 0, 0, 0, "", 0, 0, 0, 0, 0)])
    catalogue.add_symbols(
        SymbolRow(n, 1, n, f"a.py::{name}~{n}", name, "function", name, 1, "", "", 1, 1, 0)
        for n, name in enumerate(names)
    )
    return NameTable(catalogue.connection)


def concepts(task: str, *languages: str) -> list[str]:
    return [match.equivalence.concept for match in matches(task, curated(), languages)]


@pytest.mark.parametrize(
    "task", ["the Blast  Radius of it", "blast-radius", "show `impact`s", "BLAST\nRADIUS", "blast radius."]
)
def test_phrases_match_whole_words_whatever_the_case(task: str) -> None:
    assert [match.equivalence.concept for match in matches(task, [IMPACT], ())] == ["IMPACT"]


@pytest.mark.parametrize(
    "task", ["impactful", "the blast of a radius", "radius blast", "sandblast radius", "blast radius_of", ""]
)
def test_parts_of_words_do_not_match(task: str) -> None:
    assert matches(task, [IMPACT], ()) == []


def test_a_match_is_strong_with_two_phrases_or_a_phrase_of_two_words() -> None:
    (weak,) = matches("its impact", [IMPACT], ())
    (long,) = matches("its blast radius", [IMPACT], ())
    other = EquivalenceClass("X", ("impact", "fallout"), ("x_target",))
    (double,) = matches("impact and fallout", [other], ())
    assert [weak.is_strong, long.is_strong, double.is_strong] == [False, True, True]
    assert double.phrases == ("impact", "fallout")


def test_classes_of_a_language_hold_only_where_the_language_is() -> None:
    assert "PYTHON_CONTEXT_MANAGER" in concepts("a context manager leaks", "python")
    assert "PYTHON_CONTEXT_MANAGER" not in concepts("a context manager leaks", "go")
    assert "TYPESCRIPT_PROMISE" in concepts("the promise never settles", "javascript")


def test_strong_matches_come_before_weak_ones_then_heavier_classes() -> None:
    heavy = EquivalenceClass("HEAVY", ("thing",), ("heavy_target",), 1.0)
    found = matches("the thing has a ripple effect", [heavy, IMPACT], ())
    assert [match.equivalence.concept for match in found] == ["IMPACT", "HEAVY"]
    light = EquivalenceClass("LIGHT", ("thing",), ("light_target",), 0.5)
    assert [m.equivalence.concept for m in matches("thing", [light, heavy], ())] == ["HEAVY", "LIGHT"]


def test_targets_are_found_in_any_style_and_generic_ones_are_left_out() -> None:
    names = table("TransitiveCallers", "run", "blast_radius", "other", "transitive_callers")
    hits = resolve(names, [Match(IMPACT, ("blast radius",))], primary=10)
    assert [(hit.number, hit.target) for hit in hits[2:]] == [(2, "BlastRadius")]
    assert {hit.number for hit in hits[:2]} == {0, 4}
    assert {
        (hit.match.equivalence.concept, hit.match.phrases, hit.match.equivalence.weight, hit.match.is_strong)
        for hit in hits
    } == {("IMPACT", ("blast radius",), CURATED_WEIGHT, True)}


@pytest.mark.parametrize("primary", [0, 1, 3])
def test_there_are_at_most_twice_as_many_results_as_primary_ones(primary: int) -> None:
    names = table(*["blast_radius"] * 20)
    assert len(resolve(names, [Match(IMPACT, ("impact",))], primary)) == 2 * primary


def test_an_item_is_kept_by_the_first_class_that_finds_it() -> None:
    again = EquivalenceClass("AGAIN", ("again",), ("blast_radius",))
    hits = resolve(table("blast_radius"), [Match(IMPACT, ("impact",)), Match(again, ("again",))], 5)
    assert [hit.match.equivalence.concept for hit in hits] == ["IMPACT"]


def test_short_and_everyday_targets_are_not_specific() -> None:
    everyday = ["get", "set", "do", "new", "run", "put", "post", "call", "add", "pop", "Post", "CALL", "abc", "x"]
    assert not any(map(is_specific, everyday))
    assert all(map(is_specific, ["main", "router", "callee", "poster"]))


def test_the_curated_classes_are_well_formed() -> None:
    classes = curated()
    assert len({one.concept for one in classes}) == len(classes)
    assert {one.language for one in classes} == {"", "python", "typescript", "rust", "java", "csharp", "go", "ruby"}
    assert sum(not one.language for one in classes) >= 60
    for one in classes:
        assert one.weight == CURATED_WEIGHT
        assert len(set(one.phrases)) == len(one.phrases) > 0
        assert len(set(one.targets)) == len(one.targets) > 0
        assert any(map(is_specific, one.targets)), one.concept
        assert all(phrase == phrase.lower() and matches(phrase, [one], [one.language]) for phrase in one.phrases)


def test_the_concepts_of_the_specification_are_there() -> None:
    wanted = "ENTRY_POINT CONFIGURATION ERROR_HANDLING DATABASE HTTP_SERVER AUTHENTICATION TESTING CONCURRENCY CLI CACHE LOGGING ROUTING"
    assert set(wanted.split()) <= {one.concept for one in curated()}


def test_project_classes_weigh_more_and_are_checked() -> None:
    (made,) = user_classes({"CART": {"phrases": ["shopping cart"], "targets": ["Basket"]}}, "assay.toml")
    assert made == EquivalenceClass("CART", ("shopping cart",), ("Basket",), USER_WEIGHT)
    (made,) = user_classes({"CART": {"phrases": ["c"], "targets": ["b"], "weight": 0, "language": "go"}}, "assay.toml")
    assert (made.weight, made.language) == (0.0, "go")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("x", "must have phrases and targets"),
        ({"phrases": ["a"]}, "targets must be a list"),
        ({"phrases": "a", "targets": ["b"]}, "phrases must be a list"),
        ({"phrases": [], "targets": ["b"]}, "phrases must be a list"),
        ({"phrases": [1], "targets": ["b"]}, "phrases must be a list"),
        ({"phrases": ["!"], "targets": ["b"]}, "phrases must be a list"),
        ({"phrases": ["a"], "targets": ["b"], "weight": 2}, "weight must be a number from 0 to 1"),
        ({"phrases": ["a"], "targets": ["b"], "weight": True}, "weight must be a number from 0 to 1"),
        ({"phrases": ["a"], "targets": ["b"], "language": 1}, "language must be a name"),
        ({"phrases": ["a"], "targets": ["b"], "wieght": 1}, "unknown key 'wieght'"),
    ],
)
def test_a_bad_project_class_is_explained(row: Any, said: str) -> None:
    with pytest.raises(AssayError, match=said) as caught:
        user_classes({"CART": row}, "assay.toml")
    assert str(caught.value).startswith("assay.toml: class CART")


def test_the_names_of_callers_become_phrases_for_a_symbol() -> None:
    (made,) = aliases({"TransitiveCallers": ["handleBlastRadius", "get_x", "CallersOf"]})
    assert made == EquivalenceClass(
        "GRAPH_TransitiveCallers", ("blast", "radius", "blast radius"), ("TransitiveCallers",), GRAPH_WEIGHT
    )
    (match,) = matches("what is the blast radius", [made], ())
    assert match.is_strong


def test_neighbours_that_say_nothing_make_no_class() -> None:
    assert aliases({"walk": ["handle", "get", "new_test", "walk_it", "x1"], "alone": []}) == []


@given(st.text(max_size=200))
@settings(deadline=None)
def test_any_text_can_be_matched(text: str) -> None:
    for match in matches(text, curated(), ["python", "go"]):
        assert match.phrases
        assert set(match.phrases) <= set(match.equivalence.phrases)
