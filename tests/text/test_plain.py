"""Documents as plain text: what a reader sees of Markdown, reStructuredText and AsciiDoc."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.text.plain import plain_text

MARKUPS = ("markdown", "rst", "asciidoc", "text", "html", "notebook")


def lines(text: str) -> str:
    """Return an indented literal without its indentation."""
    return textwrap.dedent(text).strip("\n")


@pytest.mark.parametrize(
    ("markup", "text", "shown"),
    [
        ("rst", ":exc:`~werkzeug.exceptions.NotFound` is raised.", "NotFound is raised."),
        ("rst", "See :ref:`the title <target>` and `docs <https://x.org>`_.", "See the title and docs."),
        ("rst", "Call :py:meth:`flask.Flask.run` or ``app.run(*args)``.", "Call flask.Flask.run or app.run(*args)."),
        ("rst", "By :pep:`8` and :issue:`12`, *not* **ever**.", "By PEP 8 and #12, not ever."),
        ("rst", "Read Celery_ and `the guide`_ [1]_ [Knuth]_.", "Read Celery and the guide [Knuth]."),
        ("rst", "Version |release| of ``a_b_`` and my_name_x.", "Version release of a_b_ and my_name_x."),
        ("rst", r"A \*star\* and re\ ``st``", "A *star* and rest"),
        ("rst", "A `title that\nbreaks <x>`_ here", "A title that\nbreaks here"),
        ("markdown", "See [the **guide**](x.md#a 'T'), [b][ref] and ![alt](p.png).", "See the guide, b and alt."),
        ("markdown", "Set `a*b*` to ``x`y`` and \\*stay\\*.", "Set a*b* to x`y and *stay*."),
        ("markdown", "**Bold**, *it*, ***both***, __too__ and ~~gone~~", "Bold, it, both, __too__ and gone"),
        ("markdown", "__Not a name:__ snake_case_name, __init__, 2 * 3 * 4", "Not a name: snake_case_name, __init__, 2 * 3 * 4"),
        ("markdown", "globs src/**/*.ts and test/**/*.ts stay", "globs src/**/*.ts and test/**/*.ts stay"),
        ("markdown", "A<br>b <kbd>Ctrl</kbd> <!-- c --> &lt;T&gt; Map<String> <name>", "A b Ctrl <T> Map<String> <name>"),
        ("markdown", "note[^1] ends\n\n[^1]: The text.", "note ends\n\nThe text."),
        ("markdown", "<Tabs items={['a > b']}>\nText in a <Badge type=\"x\"/> tab\n</Tabs>", "Text in a tab"),
        ("markdown", "Go to <https://x.org> or [`run`].", "Go to https://x.org or run."),
        ("markdown", "[![Build](https://b.svg)](https://ci)\nText", "Text"),
        ("markdown", "See the [guide].\n\n[guide]: guide.md", "See the guide."),
        ("markdown", "## Title {#id}\nText ##", "Title\n\nText ##"),
        ("markdown", "Title\n=====\nText", "Title\n\nText"),
        ("markdown", "import X from './x'\nexport const a = {\n  b: 1\n}\n\nText {/* c */}", "Text"),
        ("markdown", "{{#include a.rs}}\n{{< note >}}Text{{< /note >}}\n{: .cls}", "Text"),
        ("asciidoc", "See link:http://x[the *text*] and xref:page.adoc#id[there].", "See the text and there."),
        ("asciidoc", "See https://x.org[site^], <<id,this>> and https://y.org.", "See site, this and https://y.org."),
        ("asciidoc", "Use `+a*b*+`, `c` and *bold* _em_ #mark# {version}{nbsp}x", "Use a*b*, c and bold em mark {version} x"),
        ("asciidoc", "kbd:[Ctrl+C] menu:File[Save] footnote:[Why] x", "Ctrl+C File > Save (Why) x"),
        ("asciidoc", ":attr: v\ninclude::a.adoc[]\nifdef::x[]\n// comment\nText\nendif::[]", "Text"),
        ("asciidoc", "NOTE: Stay calm.", "NOTE: Stay calm."),
        ("asciidoc", "term:: what it means\nother::\n  More", "term: what it means\nother:\n  More"),
        ("asciidoc", "useless ``rescue``s and `a`b", "useless rescues and `a`b"),
        ("rst", "|logo| |name|\n\n.. |logo| image:: x.png\n.. |name| replace:: Celery", " Celery"),
        ("markdown", "See [f(a, [b])](#f).\n<p>\n    <b>Hello</b>\n</p>", "See f(a, [b]).\nHello"),
        ("html", "a | b\n\n\n\n<x> *y*  ", "a | b\n\n<x> *y*"),
        ("text", "Plain * text * with `ticks`", "Plain * text * with `ticks`"),
        ("text", "Guide\n=====\n\n.. note:: Mind :ref:`this <x>`.", "Guide\n\nNote: Mind this."),
    ],
)  # fmt: skip
def test_inline_markup_is_shown_as_its_text(markup: str, text: str, shown: str) -> None:
    assert plain_text(text, markup) == shown


def test_rst_directives_become_what_sphinx_shows() -> None:
    source = """
    .. _anchor:
    .. index:: single: x

    =======
     Title
    =======

    .. note::

       Mind the
       :term:`gap`.

       Second paragraph::

           literal *code*

    .. versionadded:: 2.0
    .. versionchanged:: 3.1 It is fast.
    .. deprecated:: 4
       Use another.

    .. toctree::
       :maxdepth: 2

       a
       b

    .. option:: --force

       Overwrites.

    .. code-block:: python
       :caption: x

       def f():

           return *args

    .. tabs::

       .. tab:: Linux

          Install it.

    .. a comment
       of two lines

    .. image:: x.png
       :alt: no

    End.
    """
    assert plain_text(lines(source), "rst") == lines("""
    Title

    Note: Mind the
    gap.

    Second paragraph:

        literal *code*

    Added in version 2.0

    Changed in version 3.1: It is fast.

    Deprecated since version 4: Use another.

    --force

       Overwrites.

        def f():

            return *args

    Linux: Install it.

    End.
    """)


def test_markdown_admonitions_are_labelled() -> None:
    source = """
    !!! note "Mind this"
        Text with `code`.

        ```sh
        run *x*
        ```

    ??? tip
        - one

    :::warning
    Hot.
    :::

    ::: details A title
    More.
    :::

    > [!IMPORTANT]
    > Read **it**.
    > ```js
    > f()
    > ```

    > A quotation.

    === "Linux"

        apt
    """
    assert plain_text(lines(source), "markdown") == lines("""
    Mind this: Text with code.

        run *x*

    Tip:
    - one

    Warning: Hot.

    A title: More.

    Important: Read it.

        f()

    A quotation.

    Linux: apt
    """)


def test_asciidoc_blocks_keep_code_and_lose_delimiters() -> None:
    source = """
    = Title
    :toc:

    [NOTE]
    ====
    Be *kind*.
    ====

    .Example
    [source,java]
    ----
    List<*> x; // <1>
    ----
    <1> callout

    * one
    ** two
    . first

    |===
    |a |b

    |1    |2
    |===

    ////
    hidden
    ////
    """
    assert plain_text(lines(source), "asciidoc") == lines("""
    Title

    Note: Be kind.

    Example

        List<*> x; // <1>

    (1) callout

    - one
      - two
    - first

    |a |b

    |1 |2
    """)


def test_tables_lists_and_paragraphs_keep_their_lines() -> None:
    source = (
        "| Name   | Use |\n|:-------|----:|\n| **a**  | `b` |\n\n* one\n  more\n+ two\n\n    - deep\n1. x\n\nline\nline"
    )
    shown = "| Name | Use |\n| a | b |\n\n- one\n  more\n- two\n\n    - deep\n1. x\n\nline\nline"
    assert plain_text(source, "markdown") == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a = *b*\n```\n\nText *it*", "    a = *b*\n\nText it"),  # starts inside code
        ("Text *it*\n\n```python\na = *b*", "Text it\n\n    a = *b*"),  # ends inside code
        ("Text\n```\na = *b*", "Text\n\n    a = *b*"),
        ("```\nx\n```\n*it*\n~~~\ny\n~~~", "    x\n\nit\n\n    y"),
    ],
)
def test_a_span_may_start_or_end_inside_code(text: str, shown: str) -> None:
    assert plain_text(text, "markdown") == shown


@pytest.mark.parametrize("markup", MARKUPS)
def test_a_block_of_code_stays_whole_and_verbatim(markup: str) -> None:
    code = "def f(*args):\n    return `x` <b> [a](b)\n\n\nf(**x)  # _y_"
    blocks = {
        "rst": ".. code:: python\n\n" + "\n".join(f"   {line}" for line in code.split("\n")),
        "asciidoc": f"----\n{code}\n----",
    }
    shown = plain_text(blocks.get(markup, f"```python\n{code}\n```"), markup)
    if markup in ("text", "html"):
        assert "def f(*args):\n    return `x` <b> [a](b)" in shown
    else:
        assert shown == "\n".join(f"    {line}" if line else "" for line in code.split("\n"))


# Laws

_WORD = st.from_regex(
    r"[A-Za-z][a-z]{0,9}|[0-9]{1,4}|[a-z]+_[a-z]+|[a-z]{2,5}\(\)|\"[a-z]+\"|[éüж漢]{1,4}", fullmatch=True
)
_SENTENCE = st.lists(_WORD, min_size=1, max_size=12).map(lambda words: " ".join(words) + ".")
_PARAGRAPH = st.lists(_SENTENCE, min_size=1, max_size=4).map("\n".join)
_PROSE = st.lists(_PARAGRAPH, min_size=1, max_size=4).map("\n\n".join)
_SIGNS = [
    *"`*_[]()<>\"'{}|\\&#~^+:!=-./@\n\t \0", "``", "```", "**", "__", "\n\n", "    ", "word", "::", ":ref:`", "`_", ".. note::", ".. code::", "..",
    "> [!NOTE]", '!!! note "x"', '=== "T"', "::: tip", "| a | b |", "---", "===", "----", "....", "<!--", "-->", "<pre>", "</pre>", "<script>",
    "</script>", "&lt;", "[^1]: ", "[a]: b", "![x](y)", "link:x[", "xref:a[b]", "<<a,b>>", "import a from 'b'", "////", "|===", "[NOTE]", "\r\n",
]  # fmt: skip


@given(_PROSE, st.sampled_from(MARKUPS))
def test_plain_prose_is_shown_as_it_is(text: str, markup: str) -> None:
    assert plain_text(text, markup) == text


@given(st.lists(st.sampled_from(_SIGNS), max_size=40).map("".join), st.sampled_from(MARKUPS))
def test_no_text_is_too_broken_to_show(text: str, markup: str) -> None:
    shown = plain_text(text, markup)
    assert "\0" not in shown
    assert shown == shown.rstrip()


@pytest.mark.parametrize("markup", MARKUPS)
@pytest.mark.parametrize(
    "sign",
    ["[", "[a](", "[[", "`", "``a ", "*a ", "_a ", "<a ", "<!--", "&", ":a", ":a:`", "|a", "http://", "link:", "xref:a[", "image:a[",
     "{{<", "```\n", "~~~a\n", "> ", "- ", "!!! note\n", ":::a\n", "<pre>\n", "<script>\n", ".. note::\n", "a::\n\n  b\n", "----\n", "((("],
)  # fmt: skip
def test_a_million_signs_take_linear_time(markup: str, sign: str) -> None:
    plain_text(sign * (300_000 // len(sign)), markup)  # quadratic time would take hours


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Call {func}`~app.open` or {py:class}`app.File`.", "Call open or app.File."),
        ("See {ref}`the guide <guide>`.", "See the guide."),
        ("Since {pep}`8`.", "Since PEP 8."),
        ("A set {x} and `{func}` stay.", "A set {x} and {func} stay."),
        ("Open {`x`", "Open {x"),
    ],
)
def test_roles_of_myst_are_shown_as_their_text(written: str, shown: str) -> None:
    assert plain_text(written, "markdown") == shown
