"""Documents: sections by heading, and the names they mention."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.index.documents import opened as splitting
from assay.index.documents.facts import decode_document, extract_sections, is_prose, read
from assay.index.documents.formats import FORMATS, format_of
from assay.index.documents.opened import lines_of, split
from assay.text.terms import terms

TEXTS = ("markdown", "rst", "asciidoc", "text")  # formats that are read as they are


def _sections(form: str, text: str) -> list[tuple[str, int, int]]:
    """Headings joined, first and last line of every section."""
    return [(" > ".join(span.headings), span.first, span.last) for span in split(FORMATS[form].open(text.encode()))]


def _headings(form: str, text: str) -> list[str]:
    return [headings for headings, _, _ in _sections(form, text)]


# which files


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("README.md", "markdown"), ("a/B.MARKDOWN", "markdown"), ("x.mdx", "mdx"), ("docs/index.rst", "rst"), ("x.adoc", "asciidoc"),
        ("x.asciidoc", "asciidoc"), ("notes.txt", "text"), ("README", None), ("md", None), ("docs/.md", None), ("a.md/x.py", None),
        ("x.html", "html"),
        ("x.css", None), ("doc/tool.1", "man"), ("tool.8", "man"), ("tool.man", "man"), ("tool.9", None), ("lib.so.1", "man"),
    ],
)  # fmt: skip
def test_documents_are_known_by_the_ending_of_their_name(path: str, form: str | None) -> None:
    found = format_of(path)
    assert (found.name if found else None) == form


# splitting


def test_markdown_is_split_at_its_headings() -> None:
    text = "intro\n\n# One #\ntext\n## Two {#two}\n[a link](x.md) here\n### [Linked](y)\n\n# Last\n"
    assert _sections("markdown", text) == [
        ("", 1, 2), ("One", 3, 4), ("One > Two", 5, 6), ("One > Two > Linked", 7, 8), ("Last", 9, 9),
    ]  # fmt: skip


def test_titles_underlined_in_markdown_are_headings() -> None:
    assert _sections("markdown", "One\n===\ntext\n\nTwo\n---\nmore\n") == [("One", 1, 4), ("One > Two", 5, 7)]


@pytest.mark.parametrize(
    "text",
    [
        "# A\n```python\n# no\n## no\n```\n", "# A\n~~~~\n# no\n~~~\n# no\n~~~~\n", "# A\n\n    # indented\n",
        "# A\n#no\n#\n", "# A\n```\n# never closed\n",
        "# A\ntext\n\n---\n\ntext\n", "# A\n| a | b |\n---\n", "# A\n- item\n---\n", "# A\n> quoted\n---\n",
        "# A\ntwo lines\nof text\n---\n", "# A\n``` # no ```\n",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_markdown_heading_is_none(text: str) -> None:
    assert _headings("markdown", text) == ["A"]


def test_a_heading_follows_a_code_block_at_once() -> None:
    assert _headings("markdown", "# A\n```\nx\n```\n# B\n```\ny\n```\nC\n---\n") == ["A", "B", "B > C"]


@pytest.mark.parametrize("mark", ["---", "+++"])
def test_front_matter_is_no_heading_but_may_have_the_title(mark: str) -> None:
    text = f"{mark}\nlayout: x\ntitle: 'The Title'\n{mark}\n\nintro\n\n# Part\n"
    assert _sections("markdown", text) == [("The Title", 1, 7), ("The Title > Part", 8, 8)]
    assert _sections("markdown", f"{mark}\nx: 1\n{mark}\n\n# Part\n") == [("Part", 1, 5)]


def test_a_rule_that_is_never_closed_is_no_front_matter() -> None:
    assert _headings("markdown", "---\ntitle: x\n\n# Part\n") == ["", "Part"]


def test_the_first_style_of_underlining_is_the_highest_in_rst() -> None:
    text = "=====\nTitle\n=====\n\nOne\n---\ntext\n\nDeep\n~~~~\n\nTwo\n---\n"
    assert _sections("rst", text) == [
        ("Title", 1, 4), ("Title > One", 5, 8), ("Title > One > Deep", 9, 11), ("Title > Two", 12, 13),
    ]  # fmt: skip


def test_an_rst_heading_is_read_without_its_markup() -> None:
    titles = [
        ":mod:`csv` --- files",
        "The :keyword:`!async for` loop",
        "``__main__``",
        "See `more`_ of :ref:`it <there>`",
    ]
    text = "".join(f"{title}\n{'=' * len(title)}\n\ntext\n\n" for title in titles)
    assert _headings("rst", text) == ["csv --- files", "The async for loop", "__main__", "See more of it"]


@pytest.mark.parametrize(
    "text",
    [
        "A\n==\n\ntext::\n\n    Not this\n    --------\n", "A\n==\n\n===== =====\na     b\n===== =====\n", "A\n==\ntext\n\n----\n\ntext\n",
        "A\n==\n.. note:: x\n   ----\n",
        "A\n==\n\na long line of text\n--\n", "A\n==\n\nin the midst\nof text\n-------\n",
    ],
)  # fmt: skip
def test_what_only_looks_like_an_rst_heading_is_none(text: str) -> None:
    assert _headings("rst", text) == ["A"]


def test_asciidoc_is_split_at_its_headings() -> None:
    text = "= Title\nAuthor\n\n== One\n----\n== no\n----\n=== Deep ===\n\nOld Style\n---------\ntext\n"
    assert _sections("asciidoc", text) == [
        ("Title", 1, 3), ("Title > One", 4, 7), ("Title > One > Deep", 8, 9), ("Title > Old Style", 10, 12),
    ]  # fmt: skip


def test_a_document_without_headings_is_one_section() -> None:
    assert [_sections(form, "some\n\ntext\n") for form in TEXTS] == [[("", 1, 3)]] * len(TEXTS)


def test_an_empty_document_has_no_sections() -> None:
    assert [_sections(form, "") for form in TEXTS] == [[]] * len(TEXTS)


def test_a_long_section_is_split_where_a_paragraph_begins() -> None:
    paragraph = "word " * 300 + "\n\n"
    fence = "```\n" + "code\n\n" * 2000 + "```\n"
    text = "# A\n" + paragraph * 10 + fence + "\n" + paragraph
    found = _sections("markdown", text)
    lines = lines_of(text)
    assert {headings for headings, _, _ in found} == {"A"}
    assert len(found) == 4
    for _, first, _ in found[1:]:
        assert lines[first - 2] == ""
        assert lines[first - 1].startswith(("word", "```"))
    pieces = ["\n".join(lines[first - 1 : last]) for _, first, last in found]
    assert [piece.count("```") % 2 for piece in pieces] == [0] * 4


@pytest.mark.parametrize("form", TEXTS)
@given(
    lines=st.lists(
        st.sampled_from(
            ["", "---", "===", "text", "Title", "# A", "## B", "= A", "== B",
             "```", "----", "  indented", "+++", "title: x", "~~~", "....", "long " * 700]
        )
        | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=6),
        max_size=40,
    )
)  # fmt: skip
def test_every_line_belongs_to_exactly_one_section(form: str, lines: list[str]) -> None:
    counted = lines_of("\n".join(lines))
    spans = split(FORMATS[form].open("\n".join(lines).encode()))
    assert [line for span in spans for line in range(span.first, span.last + 1)] == list(range(1, len(counted) + 1))
    assert all(span.first <= span.last for span in spans)
    assert all("\n" not in heading for span in spans for heading in span.headings)


@pytest.mark.parametrize("form", TEXTS)
def test_a_huge_line_and_many_lines_are_read_in_no_time(form: str) -> None:
    for text in (
        "=" * 500_000,
        "`" * 500_000,
        "a." * 200_000,
        "x\n-\n" * 50_000,
        "[" * 200_000,
        "# [" * 50_000,
        "title: " * 50_000,
    ):
        assert extract_sections(text.encode(), FORMATS[form]).lines == len(lines_of(text))


# words


def test_the_words_of_headings_count_more_and_for_all_below_them() -> None:
    text = b"# Routing\n\n## Rules\n\nEvery rule has an endpoint.\n"
    sections = decode_document(extract_sections(text, FORMATS["markdown"])).sections
    (routing,), (rule,), (endpoint,) = terms("routing"), terms("rules"), terms("endpoint")
    assert sections[1].terms[rule] > sections[1].terms[routing] > sections[1].terms[endpoint] == 1


@given(st.text(max_size=200))
def test_a_section_has_the_terms_of_its_text(text: str) -> None:
    counts, _, _ = read(text, ())
    expected = terms(text)
    assert counts == {term: expected.count(term) for term in expected}


# names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("call `run` now", {"run"}), ("call run now", set()), ("call run() now", {"run"}), ("the Flask object", {"Flask"}),
        ("a url_for here", {"url_for"}),
        ("see `Flask.run()`.", {"Flask.run"}), ("see :meth:`~flask.app.Flask.run`", {"app.Flask.run"}),
        ("see Array#each and Vec::push", {"Array.each", "Vec.push"}),
        (":class:`Flask`", {"Flask"}), (".. autofunction:: abort", {"abort"}), ("$this->save", {"this.save"}),
        ("x = make(y)", {"make"}), ("a `do` b", set()),
        ("in src/flask/app.py and app.py", {"src/flask/app.py", "app.py"}), ("and/or", set()),
        ("version 1.25 or 3.x", set()), ("", set()), ("_ __ ___", set()),
    ],
)  # fmt: skip
def test_a_section_mentions_what_is_written_like_code(text: str, names: set[str]) -> None:
    assert set(read(text, ())[1]) - {"The", "See", "Call"} == names


# prose


def test_translations_and_data_are_not_prose() -> None:
    english = "The route that you register can be called when it is needed by your application. " * 10
    spanish = "La ruta que registras se puede llamar cuando la necesita tu aplicación web. " * 10
    versions = "werkzeug==3.0.1 jinja2==3.1.2 click==8.1.7 " * 50
    assert [is_prose(text) for text in (english, spanish, versions, "ruta corta", "")] == [
        True,
        False,
        False,
        True,
        True,
    ]
    assert decode_document(extract_sections(spanish.encode(), FORMATS["markdown"])).sections == []


def test_code_does_not_make_a_guide_foreign() -> None:
    text = "You can run it.\n\n" + "```\nfrom flask import Flask\napp = Flask(name)\n```\n" * 8
    assert is_prose(text)


def test_long_sections_are_not_longer_than_they_have_to_be() -> None:
    text = "line of text\n\n" * 2000
    longest = max(last - first for _, first, last in _sections("text", text))
    assert longest * 7 < splitting.LONG + 100


def test_names_are_told_apart_by_whether_they_are_marked_as_code() -> None:
    _, names, marked = read("Use `url_for`, call run_app() and read about ScyllaDB and other_name.", ())
    assert {"url_for", "run_app", "ScyllaDB", "other_name"} <= {*names}
    assert {"url_for", "run_app"} <= marked
    assert not {"ScyllaDB", "other_name"} & marked
