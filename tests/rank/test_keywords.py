"""Query understanding: worked examples of the specification, typed pieces, and arbitrary text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.rank.pieces import PIECES, Piece
from assay.rank.query import LONGEST, MAX_KEYWORDS, Keywords, code_patterns, extract
from assay.rank.vocabulary import ABBREVIATIONS, FILLERS, NAMING_VERBS, STOP_WORDS, TASK_VERBS


def pieces(task: str, kind: str) -> list[Piece]:
    return [piece for piece in extract(task).pieces if piece.kind == kind]


def test_the_worked_example_of_the_seed() -> None:
    found = extract("add a new MCP tool for snapshot diffing")
    assert found == Keywords(
        (), ("SnapshotDiffing", "snapshot_diffing"), ("snapshot", "Snapshot", "diffing", "tool", "mcp")
    )


def test_backticks_make_exact_keywords_in_both_cases() -> None:
    assert extract("why is `before_request` skipped").exact == ("before_request",)
    assert extract("see `QuerySet` and `run()`").exact == ("QuerySet", "queryset", "run")


def test_backticks_around_prose_or_very_long_text_are_not_identifiers() -> None:
    assert extract("`not an identifier` " + "`" + "x" * (LONGEST + 1) + "`").exact == ()
    assert extract(f"`{'x' * LONGEST}`").exact == ("x" * LONGEST,)


def test_a_quoted_compound_is_split_but_not_repeated() -> None:
    found = extract("look at `before_request`")
    assert found.compounds == ()
    assert {"before", "request"} <= set(found.components)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("call .delete() twice", ["delete"]),
        ("override get_inlines() here", ["get_inlines"]),
        ("QuerySet.annotate() is slow", ["QuerySet.annotate", "annotate"]),
        ("open(path) fails", ["open"]),
        ("in ModelAdmin.get_inlines we", ["ModelAdmin.get_inlines", "get_inlines"]),
        ("django.utils.html.escape escapes", ["django.utils.html.escape", "escape"]),
        ("in Cart.total we", ["Cart.total", "total"]),
        ("shop.html.escape it", ["shop.html.escape", "escape"]),
        ("shop.order_lines is empty", ["shop.order_lines", "order_lines"]),
        ("std::fs::read panics", ["std::fs::read", "read"]),
        ("Base#find_all loops", ["Base#find_all", "find_all"]),
    ],
)
def test_code_patterns_fire(text: str, expected: list[str]) -> None:
    assert code_patterns(text) == expected
    compounds = extract(text).compounds
    assert set(expected) <= set(compounds)
    assert {name.lower() for name in expected} <= set(compounds)


@pytest.mark.parametrize(
    "text",
    ["e.g. this", "i.e. that", "and so on, etc.", "on 3.9", "since 2.0", "foo.bar", "end.Then on", "see my_notes.md"],
)
def test_code_patterns_do_not_fire_on_prose(text: str) -> None:
    assert code_patterns(text) == []


def test_versions_and_abbreviations_of_prose_are_not_compounds() -> None:
    assert extract("fails on 3.9, e.g. in 2.0 i.e. the old").compounds == ()


def test_the_noun_after_the_opening_verb_comes_first() -> None:
    assert extract("implement the session cookie").components[:2] == ("session", "Session")
    assert extract("the session cookie").components == ("session", "cookie")


def test_a_compound_after_the_opening_verb_is_a_compound_not_a_component() -> None:
    found = extract("refactor the big CookieJar")
    assert found.components[:2] == ("big", "Big")
    found = extract("refactor CookieJar parts")
    assert found.compounds[:2] == ("CookieJar", "cookiejar")
    assert found.components == ("cookie", "parts", "jar")


def test_an_acronym_gives_way_to_the_noun_after_it_and_stands_alone_otherwise() -> None:
    assert extract("add HTTP headers").components[:2] == ("headers", "Headers")
    assert extract("add CORS support").components == ("cors", "Cors")


def test_identifiers_are_kept_whole_and_split() -> None:
    found = extract("where does parseHTTPHeader use max_retries")
    assert {"parseHTTPHeader", "parsehttpheader", "max_retries"} <= set(found.compounds)
    assert {"parse", "http", "header", "max", "retries"} <= set(found.components)


def test_stop_words_and_task_verbs_and_single_letters_are_dropped() -> None:
    assert extract("the func should update x of this type").components == ()


def test_abbreviations_bring_what_they_stand_for() -> None:
    found = extract("pass ctx, cfg, svc")
    assert {"ctx", "context", "cfg", "config", "svc", "service"} <= set(found.components)


def test_neighbouring_words_become_compounds() -> None:
    assert extract("blast radius").compounds == ("BlastRadius", "blast_radius")
    assert {"TransitiveCallers", "transitive_callers"} <= set(extract("the transitive callers").compounds)
    assert extract("read-only").compounds == ()  # "only" is a stop word
    assert "thread_pool" in extract("a thread-pool").compounds


@pytest.mark.parametrize(
    "text",
    [
        "radius, blast",
        "radius. blast",
        "radius of blast",
        "ab radius",
        "delete radius",
        "foo bar",
        "radius 404",
        "radius (blast)",
    ],
)
def test_words_that_do_not_stand_together_make_no_compound(text: str) -> None:
    assert extract(text).compounds == ()


def test_longer_components_come_first_and_equal_ones_in_order() -> None:
    assert extract("pear apple fig melon").components == ("apple", "melon", "pear", "fig")


def test_contractions_leave_the_word() -> None:
    assert extract("the user's cookie isn't there").components == ("cookie", "user")


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("broken in src/app/main.py:42 today", "src/app/main.py", 42),
        ("see src/app/main.py:42:7.", "src/app/main.py", 42),
        ("`lib/x.rb#L10-L20`", "lib/x.rb", 10),
        ("open main.go, please", "main.go", 0),
        (r"in C:\code\App.cs:9", "C:/code/App.cs", 9),
        ("under ./scripts/run", "./scripts/run", 0),
        ("the folder app/models/", "app/models/", 0),
        ("(packages/core/src)", "packages/core/src", 0),
    ],
)
def test_paths_with_their_lines(text: str, path: str, line: int) -> None:
    assert [(piece.path, piece.line) for piece in pieces(text, "path")] == [(path, line)]


@pytest.mark.parametrize(
    "text", ["and/or", "client/server", "foo.bar", "https://example.org/a/b.py", "3.9", "e.g.", "1/2", "the py file"]
)
def test_what_is_no_path(text: str) -> None:
    assert pieces(text, "path") == []


@pytest.mark.parametrize(
    ("trace", "path", "line", "function"),
    [
        ('  File "/srv/app/views.py", line 31, in show_cart\n    cart = load()', "/srv/app/views.py", 31, "show_cart"),
        ("\tat com.shop.Cart.total(Cart.java:88)", "Cart.java", 88, "com.shop.Cart.total"),
        ("\tat java.base/java.util.List.copyOf(List.java:5)", "List.java", 5, "java.util.List.copyOf"),
        ("main.(*Cart).Total(0xc000010, 0x2)\n\t/srv/cart.go:12 +0x1d", "/srv/cart.go", 12, "main.Cart.Total"),
        ("    at Cart.total (/srv/cart.js:7:11)", "/srv/cart.js", 7, "Cart.total"),
        ("    at async loadCart (src/cart.ts:9:1)", "src/cart.ts", 9, "loadCart"),
        ("    at /srv/index.mjs:3:1", "/srv/index.mjs", 3, ""),
        ("   4: shop::cart::total\n             at ./src/cart.rs:21:9", "./src/cart.rs", 21, "shop::cart::total"),
        ("thread 'main' panicked at src/main.rs:4:5:\nboom", "src/main.rs", 4, ""),
        (r"   at Shop.Cart.Total(Int32 tax) in C:\src\Cart.cs:line 55", "C:/src/Cart.cs", 55, "Shop.Cart.Total"),
        ("app/cart.rb:17:in `total'", "app/cart.rb", 17, "total"),
        ("\tfrom app/cart.rb:18:in 'Cart#sum'", "app/cart.rb", 18, "Cart#sum"),
    ],
)
def test_stack_frames_of_each_language(trace: str, path: str, line: int, function: str) -> None:
    found = extract(f"it crashes:\n{trace}\n")
    assert [p for p in found.pieces if p.kind == "frame"] == [Piece("frame", f"{path}:{line}", path, line, function)]
    last = function.replace("::", ".").replace("#", ".").rpartition(".")[2]
    assert not last or last in found.compounds


def test_frames_come_in_order_and_their_words_do_not_flood_the_components() -> None:
    trace = 'Traceback:\n  File "zebra/one.py", line 1, in first\n  File "zebra/two.py", line 2, in second\nValueError: no such cart'
    assert [piece.line for piece in pieces(trace, "frame")] == [1, 2]
    assert "zebra" not in extract(trace).components
    mixed = '    at total (cart.js:7:11)\n  File "cart.py", line 8, in total\n'
    assert [piece.line for piece in pieces(mixed, "frame")] == [7, 8]


def test_words_of_other_scripts_are_kept() -> None:
    assert set(extract("修复登录 שגיאה 😀 größe").components) == {"修复登录", "שגיאה", "größe"}


def test_the_tables_do_not_contradict_each_other() -> None:
    assert not NAMING_VERBS & STOP_WORDS
    assert TASK_VERBS <= STOP_WORDS
    assert not FILLERS & TASK_VERBS
    assert all(short != full and short.islower() for short, full in ABBREVIATIONS.items())
    assert not {"before", "after", "request", "error", "test"} & STOP_WORDS


@pytest.mark.parametrize(
    "text", ["", " \n\t", "the of and a", "`", "``", "...", "\x00\x01", "'; DROP TABLE symbols; --"]
)
def test_texts_with_little_in_them(text: str) -> None:
    assert len(extract(text).all) <= 6


@pytest.mark.parametrize(
    "unit", ["a", "a/", "(", "`", "a.b.", "a::", "a_b.", "A_", "at (a", "1: a\n", "x://", '"a', "é́", "foo(", "-", "\n "]
)
def test_a_hundred_kilobytes_of_anything_are_answered_and_bounded(unit: str) -> None:
    assert_bounded(extract((unit * 100_000)[:100_000]))


fragments = st.sampled_from(
    [
        "`",
        "a.b",
        "::",
        "()",
        "--x",
        "$A",
        "at ",
        'File "',
        ":3",
        "\n",
        " ",
        "CamelCase",
        "snake_case",
        "fix",
        "the",
        "/",
        "'",
        "修",
        "😀",
    ]
)
texts = st.one_of(st.text(max_size=300), st.lists(fragments, max_size=60).map("".join))


@given(texts)
@settings(deadline=None)
def test_any_text_gives_the_same_bounded_answer_twice(text: str) -> None:
    found = extract(text)
    assert found == extract(text)
    assert_bounded(found)
    assert not set(found.components) & STOP_WORDS
    assert len(set(found.all)) == len(found.all)


def assert_bounded(found: Keywords) -> None:
    assert all(len(tier) <= MAX_KEYWORDS for tier in (found.exact, found.compounds, found.components))
    assert len(found.pieces) <= 6 * PIECES
    assert all(keyword and len(keyword) <= 2 * LONGEST + 1 for keyword in found.all)


def test_what_can_be_nothing_but_code_is_literal() -> None:
    found = extract(
        "Make `Router` call handle_error() in OpenAPI docs, see parseBody and Response.json for the request body"
    )
    assert set(found.literal) >= {"Router", "handle_error", "parseBody", "Response.json"}
    assert "OpenAPI" not in found.literal
    assert "RequestBody" not in found.literal  # made of two words, not written
    assert "RequestBody" in found.compounds
