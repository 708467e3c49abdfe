"""Identifier words, nearest names, and chains of names in expressions."""

from __future__ import annotations

import re
import time
from string import ascii_lowercase

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.index.chains import bare, chain, last
from assay.text.display import printable
from assay.text.prose import searchable, tidy
from assay.text.terms import nearest, words

law = settings(deadline=None)
names_of_code = st.text(alphabet="abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8)

# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("parseHTTPHeader_v2", ["parse", "http", "header", "v", "2"]),
        ("before_request", ["before", "request"]),
        ("BeforeRequest", ["before", "request"]),
        ("MAX_BYTES", ["max", "bytes"]),
        ("kebab-case-name", ["kebab", "case", "name"]),
        ("Flask.run", ["flask", "run"]),
        ("Jekyll::Hooks", ["jekyll", "hooks"]),
        ("XMLHttpRequest", ["xml", "http", "request"]),
        ("getX", ["get", "x"]),
        ("utf8", ["utf", "8"]),
        ("__init__", ["init"]),
        ("A", ["a"]),
        ("", []),
        ("_", []),
        ("$1", ["1"]),
    ],
)
def test_identifiers_fall_into_words(identifier: str, expected: list[str]) -> None:
    assert list(words(identifier)) == expected


lower_words = st.lists(st.text(alphabet=ascii_lowercase, min_size=2, max_size=8), min_size=1, max_size=6)


@law
@given(lower_words)
def test_the_words_of_camel_case_join_back(parts: list[str]) -> None:
    camel = parts[0] + "".join(part.capitalize() for part in parts[1:])
    assert list(words(camel)) == parts


@law
@given(lower_words)
def test_every_spelling_of_a_name_has_the_same_words(parts: list[str]) -> None:
    snake, pascal = "_".join(parts), "".join(part.capitalize() for part in parts)
    spellings = [snake, snake.upper(), pascal, "-".join(parts), ".".join(parts)]
    assert {tuple(words(spelling)) for spelling in spellings} == {tuple(parts)}


@law
@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_words_lose_no_letter_and_no_digit(text: str) -> None:
    assert "".join(words(text)) == re.sub(r"[^a-z0-9]", "", text.lower())


# -- nearest -----------------------------------------------------------------------------------------------------------

NAMES = ["before_request", "after_request", "Flask.run", "Flask.route", "send_file", "url_for", "jsonify"]


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("before_requst", "before_request"),
        ("beforeRequest", "before_request"),
        ("Flask.rout", "Flask.route"),
        ("JSONIFY", "jsonify"),
        ("file_send", "send_file"),
        ("urlfor", "url_for"),
    ],
)
def test_the_nearest_name_comes_first(typed: str, first: str) -> None:
    assert nearest(typed, NAMES)[0] == first


def test_what_resembles_nothing_has_no_nearest_name() -> None:
    assert nearest("zzzzqqqq", NAMES) == []
    assert nearest("x", []) == []
    assert nearest("", NAMES) == []


@law
@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=15), st.integers(1, 6))
def test_nearest_returns_only_given_names_each_once_and_no_more_than_asked(
    name: str, names: list[str], limit: int
) -> None:
    found = nearest(name, names, limit)
    assert set(found) <= set(names)
    assert len(found) == len(set(found)) <= limit


@law
@given(st.lists(names_of_code, min_size=1, max_size=10, unique=True), st.data())
def test_a_name_that_exists_is_its_own_nearest(names: list[str], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(names))
    assert nearest(name, names, 1) == [name]


@law
@given(st.lists(names_of_code, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_the_names_does_not_matter(names: list[str], choose: object) -> None:
    shuffled = names[:]
    choose.shuffle(shuffled)  # type: ignore[attr-defined]
    assert nearest("before_request", names) == nearest("before_request", shuffled)


# -- chains ------------------------------------------------------------------------------------------------------------

CHAINS = [
    # any language
    ("name", "name"),
    ("a.b.c", "a.b.c"),
    ("f()", "f()"),
    ("f(1, g(2))", "f()"),
    ("a.b(c).d", "a.b().d"),
    ("a[0].b", "a[].b"),
    ("a [ 0 ] . b", "a[].b"),
    ("f(x)(y)", "f()()"),
    ("f(\n    x,\n    y,\n).name", "f().name"),
    ("f('a)b', \"(\").g", "f().g"),
    ("42", ""),
    ("", ""),
    ("   ", ""),
    ("x" * 4000 + "+1", ""),
    # Python
    ("self.apps['x'].find(a, b).name", "self.apps[].find().name"),
    ("'-'.join", "''.join"),
    ("await fetch(url)", "fetch()"),
    ("not done", "done"),
    ("(yield x).y", "x.y"),
    # JavaScript and TypeScript
    ("this.items?.map(f)", "this.items.map()"),
    ("items!.length", "items.length"),
    ("this.items?\n    .map(f)", "this.items.map()"),
    ("new Cart(owner).total()", "Cart{}.total()"),
    ("`a ${b}`.trim()", "''.trim()"),
    ("get<Cart>(key).total", "get().total"),
    ("value as Cart", "value"),
    ("...items", "items"),
    # Go
    ("&Cart{owner: o}", "Cart{}"),
    ("*cart.Items", "cart.Items"),
    ("x.(Cart).Total", "Cart{}.Total"),
    # Rust
    ("Cart::new(owner)", "Cart.new()"),
    ("Vec::<Cart>::new()", "Vec.new()"),
    ("&mut self.items", "self.items"),
    # Java and C#
    ("((Cart) item).total()", "Cart{}.total()"),
    ("new ArrayList<Cart>()", "ArrayList{}"),
    # PHP
    ("$this->items", "$this.items"),
    ("$cart?->total()", "$cart.total()"),
    ("Cart::make()", "Cart.make()"),
    ("\\Shop\\Cart", "Shop.Cart"),
    # C++
    ("cart->total()", "cart.total()"),
    ("shop::Cart", "shop.Cart"),
]
LOOSE = [
    ("cart.empty?", "cart.empty?"),
    ("save!", "save!"),
    ("Cart.new owner", "Cart.new()"),
    ("items.each do |item| item.x end", "items.each()"),
    ("Shop::Cart.new(1).total", "Shop.Cart.new().total"),
    ("cart&.total", "cart.total"),
    ("@items", "@items"),
    ("puts 'x'", "puts()"),
]


@pytest.mark.parametrize(("text", "expected"), CHAINS, ids=[text[:30] for text, _ in CHAINS])
def test_an_expression_is_reduced_to_its_names(text: str, expected: str) -> None:
    assert chain(text) == expected


@pytest.mark.parametrize(("text", "expected"), LOOSE, ids=[text[:30] for text, _ in LOOSE])
def test_arguments_may_stand_without_parentheses(text: str, expected: str) -> None:
    assert chain(text, True) == expected


def test_a_receiver_that_cannot_be_told_is_a_question_mark() -> None:
    assert chain("(a + b).total()") == "?.total()"
    assert chain("(x if y else z).name") == "?.name"


expressions = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="ab_.()[]{}<>:?!&*->'\"`\\ \n,;=+$@#0", max_size=60),
    st.recursive(
        names_of_code,
        lambda inner: st.one_of(
            st.builds("{}.{}".format, inner, inner),
            st.builds("{}({})".format, inner, inner),
            st.builds("{}[{}]".format, inner, inner),
            st.builds("({})".format, inner),
            st.builds("{} + {}".format, inner, inner),
            st.builds("new {}({})".format, inner, inner),
        ),
        max_leaves=8,
    ),
)
_SHAPE = re.compile(r"(?:\?|''|[\w$@#]+[?!]?)(?:\(\)|\[\]|\{\})*(?:\.[\w$#]+[?!]?(?:\(\)|\[\]|\{\})*)*|")


@law
@given(expressions, st.booleans())
def test_any_text_becomes_a_well_formed_chain_or_nothing(text: str, loose: bool) -> None:
    assert _SHAPE.fullmatch(chain(text, loose))


@law
@given(expressions, st.booleans())
@example("@\x05", False)
@example("a?\\b", False)
@example("a? .b", False)
def test_a_chain_is_its_own_chain(text: str, loose: bool) -> None:
    once = chain(text, loose)
    assert chain(once, loose) == once


def test_characters_that_mark_brackets_inside_are_nothing_in_source_text() -> None:
    assert chain("a\x01.b\x03") == chain("a .b ") == "a.b"


@law
@given(st.lists(names_of_code, min_size=1, max_size=5))
def test_the_last_name_of_a_chain_is_its_last_segment_without_marks(names: list[str]) -> None:
    text = ".".join(f"{name}()" for name in names)
    assert chain(text) == text
    assert last(text) == names[-1]
    assert [bare(segment) for segment in text.split(".")] == names


@pytest.mark.parametrize(
    "opening", ["(", "[", "{", "<", "f(", "(a", "a.", "-> ", "new ", "not ", "&", "\\", "'", "?.", " as "]
)
def test_long_repetitions_end(opening: str) -> None:
    for text in (opening * 1000, opening * 400 + ")" * 400):
        assert _SHAPE.fullmatch(chain(text[:2999]))


def test_what_could_steer_a_terminal_is_replaced_and_what_nobody_sees_goes() -> None:
    assert printable("a\x1b[31mb\x07\u202ec\x9b") == "a\ufffd[31mb\ufffd\ufffdc\ufffd"
    assert printable("soft\u00adhyphen\r\n\ttab\u200b\ufeff") == "softhyphen\n\ttab"
    assert printable("é\u00a0語 \U0001f468\u200d\U0001f469") == "é\u00a0語 \U0001f468\u200d\U0001f469"


@pytest.mark.parametrize("run", ["a", "https://", "(", " ", "fix ", "a/", "A1-"])
def test_long_runs_in_a_commit_message_take_linear_time(run: str) -> None:
    text = f"({run * (400_000 // len(run))}x"
    began = time.process_time()
    searchable(text)
    tidy(text)
    assert time.process_time() - began < 10  # of less than one; retries take minutes


def test_ids_of_a_commit_message_are_left_out() -> None:
    text = "Fix #12 and acme/shop#3, https://x.org/acme/shop/issues/4 in a/b/c#5 ( , )"
    assert searchable(text).split() == ["in", "a/", "(", ",", ")"]
