"""Forms and spellings of English words, and questions without contractions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.text.terms import stem
from assay.text.variants import without_contractions, word_variants


@pytest.mark.parametrize(
    "pair",
    [
        "licence license", "colour color", "behaviours behavior", "initialise initialize", "initialisation initializations", "organised organizes",
        "centre center", "centred centering", "metres meters", "catalogue catalog", "dialogues dialog", "travelling traveled", "cancelled canceled",
        "cancellation cancelation", "grey gray", "greyscale grayscale", "defence defense", "analyse analyze", "analysing analyzer",
        "artefacts artifact", "modelled modeling", "marshalling marshaling", "fulfil fulfill", "judgement judgment", "programme programs",
        "practise practice", "disc disks", "queueing queuing", "favourite favorite", "unauthorised unauthorized", "customisable customizable",
        "neighbouring neighbor", "ageing aging", "labelled labels", "serialiser serializer",
    ],
)  # fmt: skip
def test_british_and_american_spellings_are_one_word(pair: str) -> None:
    british, american = pair.split()
    assert set(word_variants(british)) & {stem(american)}
    assert set(word_variants(american)) & {stem(british)}


@pytest.mark.parametrize(
    "pair",
    [
        "kept keep", "written write", "wrote write", "chose choose", "sent send", "ran run", "children child", "criteria criterion", "axes axis",
        "analyses analysis", "indices index", "matrices matrix", "hypotheses hypothesis", "phenomena phenomenon", "appendices appendix",
        "aliases alias", "menus menu", "cpus cpu", "canvases canvas", "buses bus", "shelves shelf", "people person", "overridden override",
        "withheld withhold", "undergone undergo", "schemata schema", "corpora corpus", "radii radius", "wrote written",
    ],
)  # fmt: skip
def test_irregular_forms_are_one_word(pair: str) -> None:
    form, base = pair.split()
    assert stem(base) in word_variants(form)
    assert stem(form) in word_variants(base)


@pytest.mark.parametrize("pair", ["left leave", "bound bind", "wound wind", "thought think", "felt feel"])
def test_a_form_that_means_something_else_stands_for_its_verb_only(pair: str) -> None:
    form, base = pair.split()
    assert stem(base) in word_variants(form)
    assert stem(form) not in word_variants(base)


@pytest.mark.parametrize(
    "word",
    ["size", "prize", "wise", "four", "hour", "filing", "filling", "found", "set", "poll", "data", "", "x", "漢字"],
)
def test_other_words_have_only_their_own_stem(word: str) -> None:
    assert word_variants(word) == (stem(word),)


@pytest.mark.parametrize(
    "pair",
    ["prize prise", "four for", "filed filled", "tour tor", "router rotor", "size sise", "disk dish", "meter meet"],
)
def test_words_that_only_look_alike_stay_apart(pair: str) -> None:
    first, second = pair.split()
    assert not set(word_variants(first)) & set(word_variants(second))


@given(st.text(max_size=20))
def test_the_stem_of_the_word_itself_comes_first_and_none_is_repeated(word: str) -> None:
    variants = word_variants(word)
    assert variants[0] == stem(word.lower())
    assert len(set(variants)) == len(variants)


def test_a_huge_word_has_variants_too() -> None:
    assert word_variants("a" * 200_000 + "ise")[0].startswith("aaa")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Why can't I open it?", "Why I open it"),
        ("You needn’t do what's written; I'd say you’ve won't", "You do what written I say you"),
        ("the pump's valve doesnt open and cant close", "the pump valve open and close"),
        ("they're we'll I'm ISN'T", "they we I"),
        ("want constant paint o'clock '-s' it", "want constant paint o clock s it"),
    ],
)  # fmt: skip
def test_contractions_leave_no_remains(text: str, words: str) -> None:
    shown = "".join(letter if letter.isalnum() else " " for letter in without_contractions(text))
    assert shown.split() == words.split()
