"""Blocks of a text: kinds, labels, directives, headings and fences in each markup language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.text.blocks import CODE, DIRECTIVE, HEADING, ITEM, MARK, PARAGRAPH, TABLE, TERM, blocks
from assay.text.markup import MARKUPS, outline, paragraphs, ticks_around, without_links, without_roles


def _kinds(text: str, markup: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in blocks(text.split("\n"), markup)]


def test_markdown_has_headings_paragraphs_quotes_items_tables_and_code() -> None:
    text = "# Title\n\nWords\nhere.\n\n> quoted\n\n- one\n- two\n\n| a | b |\n|---|---|\n| c | d |\n\n```py\nx\n```\n\n---\n"
    assert _kinds(text, "markdown") == [
        (HEADING, "# Title"), (PARAGRAPH, "Words here."), (PARAGRAPH, "quoted"), (ITEM, "- one"), (ITEM, "- two"),
        (TABLE, "| a | b | |---|---| | c | d |"), (CODE, "x"), (MARK, "---"),
    ]  # fmt: skip


def test_restructured_text_has_directives_with_name_and_argument() -> None:
    text = ".. note:: Take care.\n\n.. py:data:: SIZE\n\n    Bytes.\n\n.. code-block:: python\n    :linenos:\n\n    run()\n\n.. _anchor:\n"
    found = [(block.kind, block.name, block.argument, block.label.text) for block in blocks(text.split("\n"), "rst")]
    assert found == [
        (DIRECTIVE, "note", "Take care.", ""), (DIRECTIVE, "data", "SIZE", "SIZE"), (PARAGRAPH, "", "", "SIZE"),
        (CODE, "code-block", "python", ""), (DIRECTIVE, "", "", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("markdown", "One\n===\n\ntext\n\n## Two\n"),
        ("rst", "===\nOne\n===\n\ntext\n\nTwo\n---\n"),
        ("asciidoc", "= One\n\ntext\n\n== Two\n"),
    ],
)
def test_a_heading_has_its_level_and_title_and_takes_its_underline_along(markup: str, text: str) -> None:
    found = [(block.kind, block.level, block.argument) for block in blocks(text.split("\n"), markup)]
    assert found == [(HEADING, 1, "One"), (PARAGRAPH, 0, ""), (HEADING, 2, "Two")]


@pytest.mark.parametrize("sign", ["-", "~"])
def test_text_between_two_underlined_titles_of_restructured_text_is_no_code(sign: str) -> None:
    text = f"One\n{sign * 4}\n\nFirst.\n\nTwo\n{sign * 4}\n\nSecond."
    kinds = [kind for kind, _ in _kinds(text, "rst")]
    assert kinds == [HEADING, PARAGRAPH, HEADING, PARAGRAPH]


def test_rules_of_markdown_fence_nothing_but_delimiters_of_asciidoc_do() -> None:
    text = "----\n\nwords\n\n----"
    assert (PARAGRAPH, "words") in _kinds(text, "markdown")
    assert [kind for kind, _ in _kinds(text, "asciidoc")] == [CODE]


def test_a_passage_that_starts_inside_code_is_read_from_the_end_of_that_code() -> None:
    text = "x = 1\n```\n\nProse here.\n\n```python\ny = 2\n```"
    assert _kinds(text, "markdown")[1:] == [(MARK, "```"), (PARAGRAPH, "Prose here."), (CODE, "y = 2")]


def test_inline_code_in_three_backticks_is_no_fence() -> None:
    assert _kinds("```run``` starts it.\n\nMore.", "markdown") == [
        (PARAGRAPH, "```run``` starts it."),
        (PARAGRAPH, "More."),
    ]


def test_a_term_labels_its_definition() -> None:
    found = [(block.kind, block.label.text) for block in blocks(["size", "    Bytes.", "", "Other."])]
    assert found == [(TERM, "size"), (PARAGRAPH, "size"), (PARAGRAPH, "")]


@given(
    st.lists(
        st.sampled_from(["a b. ", "\n", "\n\n", "    ", "- ", "```", "::", ".. note:: ", "| a |", "===", "#", "\t"])
    ),
    st.sampled_from(["", *MARKUPS]),
)
def test_every_block_has_ascending_lines_of_the_text(parts: list[str], markup: str) -> None:
    lines = "".join(parts).split("\n")
    numbers = [line.number for block in blocks(lines, markup) for line in block.lines]
    assert numbers == sorted(set(numbers))
    assert all(0 <= number < len(lines) for number in numbers)


def test_a_format_without_markup_has_no_outline() -> None:
    assert outline(["# One"], "html").headings == []


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a\nb\n\nc", [("a\nb", False), ("c", False)]),
        ("a\n```py\nx\n\ny\n```\nb", [("a", False), ("x\n\ny", True), ("b", False)]),
        ("````\n```\n````", [("```", True)]),
        ("~~~\nnever closed", [("never closed", True)]),
        ("1. a\n\n    ```\n    x\n    ```", [("1. a", False), ("    x", True)]),
        ("", []),
    ],
)
def test_an_answer_is_split_into_paragraphs_and_code(text: str, parts: list[tuple[str, bool]]) -> None:
    assert list(paragraphs(text)) == parts


def test_roles_and_links_are_replaced_by_their_text() -> None:
    assert without_roles("Use :func:`~flask.url_for` or :ref:`this <x>`.") == "Use flask.url_for or this."
    assert without_links("See [the guide](x.md) and ![it][pic].") == "See the guide and it."


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert [ticks_around(text) for text in ("", "`", "```", "a ````` b")] == ["```", "```", "````", "``````"]
    assert ticks_around("a`b", 1) == "``"


def test_embedded_restructuredtext_is_read_as_such() -> None:
    text = "Intro.\n\n```{eval-rst}\n.. tool:example::\n\n    run()\n\nAnd so on.\n```\n\nAfter.\n"
    found = [(block.kind, block.text.strip()) for block in blocks(text.split("\n"), "markdown")]
    assert (CODE, "run()") in found
    assert (PARAGRAPH, "And so on.") in found
    assert (PARAGRAPH, "After.") in found
    assert not any("```" in text or "tool:example" in text for kind, text in found if kind != MARK)


def test_targets_and_directives_of_myst_without_text_are_none() -> None:
    text = "(set-up)=\n\n```{contents}\n---\ndepth: 2\n---\n```\n\nInstall it.\n"
    found = list(blocks(text.split("\n"), "markdown"))
    assert [(block.kind, block.text.strip()) for block in found if block.kind in (PARAGRAPH, CODE)] == [
        (PARAGRAPH, "Install it.")
    ]


def test_options_of_a_directive_of_myst_are_no_code() -> None:
    text = "```{code-block} python\n:caption: a.py\n:linenos:\n\nrun()\n```\n"
    (block,) = blocks(text.split("\n"), "markdown")
    assert (block.kind, block.text) == (CODE, "run()")
