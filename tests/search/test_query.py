"""The query language: operators, and everything that merely looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.search.query import Exact, Query, Restriction, parse


def _exact(query: str) -> list[tuple[str, bool, bool, bool]]:
    return [(part.text, part.regex, part.ignore_case, part.excluded) for part in parse(query).exact]


# plain words


@pytest.mark.parametrize(
    "query",
    [
        "how are cookies signed?",
        "src/app.py and/or a/b/c", "the /api/users endpoint", "/etc/hosts/", "/usr/bin /usr/lib", "either / or / both",
        "mounts under /dev and /", "// TODO later", "/* a comment */", "/** javadoc */", "/foo/, then", "/foo/x", "//", "/ a/", "/a /",
        "std::vector path::PathBuf http://example.org:80/ error: no such file", "kind: of", "lang: python", "Path:src", "xpath:src",
        "--flag -p -3 well-known a-b - -- -_x", "tar -x file",
        '5" pipe and 6" pipe', '"unclosed phrase', 'print("hello") f"x"', "it's 'quoted'", '""', '" "', "“”", 'path:"" kind:""', '"C:\\"',
        "", " ",
    ],
)  # fmt: skip
def test_what_merely_looks_like_an_operator_is_words(query: str) -> None:
    assert parse(query) == Query(query)


@given(st.text(max_size=200))
def test_parsing_never_fails_and_loses_no_word_of_a_plain_query(text: str) -> None:
    query = parse(text)
    assert query.is_plain == (query == Query(text))
    assert all(part.text.strip() for part in query.exact)
    assert all(row.value and row.field in ("path", "lang", "kind") for row in query.restrictions)


@given(st.text(alphabet='ab /\\"“”-:ipathlngkd\n', max_size=60))
def test_parsing_never_fails_on_mixed_operators(text: str) -> None:
    query = parse(text)
    assert not query.is_plain or query.words == text


_WORD = st.text(alphabet="abcdefgXYZ0123456789_./:'éß-", min_size=1, max_size=12).filter(
    lambda word: word[0] not in "-/" and not word.startswith(("path:", "lang:", "kind:"))
)
_MARK = st.sampled_from(["", ",", ".", "?", "!", ")", "…"])


@given(st.lists(st.tuples(_WORD, _MARK).map("".join), max_size=12).map(" ".join))
def test_a_plain_sentence_has_no_operators(sentence: str) -> None:
    assert parse(sentence) == Query(sentence)


# exact phrases and regular expressions


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"open the valve"', ("open the valve", False, True, False)),
        ('"Open the valve"', ("Open the valve", False, False, False)),
        ("“open  it”", ("open  it", False, True, False)),
        ("„Ventil auf“", ("Ventil auf", False, False, False)),
        (r'"say \"hi\" \d"', (r'say "hi" \d', False, True, False)),
        ('"a “curly” b"', ("a “curly” b", False, True, False)),
        ("/ab+c/", ("ab+c", True, True, False)),
        ("/Ab+c/", ("Ab+c", True, False, False)),
        ("/Ab+c/i", ("Ab+c", True, True, False)),
        (r"/\W\pL\p{Lu}\x4F(?P<Name>x)/", (r"\W\pL\p{Lu}\x4F(?P<Name>x)", True, True, False)),
        (r"/a\/b c\\/", (r"a/b c\\", True, True, False)),
        ("/etc/", ("etc", True, True, False)),
        ("-draft", ("draft", False, True, True)),
        ("-well-known", ("well-known", False, True, True)),
        ('-"old Name"', ("old Name", False, False, True)),
        ("-/x.y/", ("x.y", True, True, True)),
    ],
)
def test_phrases_and_expressions_with_smart_case(query: str, expected: tuple[str, bool, bool, bool]) -> None:
    assert _exact(query) == [expected]
    assert _exact(f"words {query} more") == [expected]
    assert parse(f"words {query} more").words == "words more"


def test_punctuation_after_a_phrase_is_a_word_of_its_own() -> None:
    assert parse('what is "foo"?') == Query("what is ?", (Exact("foo"),))
    assert parse('"foo"/bar/') == Query("/bar/", (Exact("foo"),))
    assert parse('"foo"-bar') == Query("-bar", (Exact("foo"),))


def test_operators_do_not_cross_a_line() -> None:
    assert parse('"one\ntwo" /three\nfour/').is_plain


# filters


@pytest.mark.parametrize(
    ("query", "field", "value", "excluded"),
    [
        ("path:src/", "path", "src/", False),
        ('path:"my docs/*.md"', "path", "my docs/*.md", False),
        ("path:“my docs”", "path", "my docs", False),
        ("-path:tests", "path", "tests", True),
        ("lang:python", "lang", "python", False),
        ("language:C++", "lang", "C++", False),
        ("-lang:go", "lang", "go", True),
        ("kind:docs", "kind", "docs", False),
        ("-kind:function", "kind", "function", True),
    ],
)
def test_filters_of_three_fields_and_their_opposites(query: str, field: str, value: str, excluded: bool) -> None:
    assert parse(query) == Query("", (), (Restriction(field, value, excluded),))
    assert parse(f"a {query} b").words == "a b"


def test_the_parts_of_a_query_print_as_they_are_written() -> None:
    parts = [r'"say \"hi\""', r"/a\/b/", '-"x"', "path:src", '-path:"a b"', "lang:go", "kind:docs"]
    query = parse(" ".join(parts))
    assert [str(part) for part in (*query.exact, *query.restrictions)] == parts
    assert [part.text for part in query.required] == ['say "hi"', "a/b"]
    assert [part.text for part in query.excluded] == ["x"]
