"""Tables of each markup language as rows of cells, and answers that quote them as text."""

from __future__ import annotations

import pytest

from assay.answer.excerpts import Excerpt
from assay.answer.reply import render_excerpts
from assay.answer.units import units
from assay.search.hits import SearchHit
from assay.text.tables import read_table

OPTIONS = [("timeout", "Seconds to wait"), ("retries", "How often")]

MARKDOWN = r"""| Name | Meaning |
|------|:-------:|
| timeout | Seconds to wait |
| retries | How often |
"""
LIST_TABLE = """.. list-table::
   :header-rows: 1

   * - Name
     - Meaning
   * - timeout
     - Seconds
       to wait
   * - retries
     - How often

After it.
"""
SIMPLE = """=======  ===============
Name     Meaning
=======  ===============
timeout  Seconds
         to wait
retries  How often
=======  ===============
"""
GRID = """+---------+-----------+
| Name    | Meaning   |
+=========+===========+
| timeout | Seconds   |
|         | to wait   |
+---------+-----------+
| retries | How often |
+---------+-----------+
"""
ASCIIDOC = """|===
| Name | Meaning

| timeout
| Seconds to wait

|retries |How often
|===
"""


@pytest.mark.parametrize(
    ("markup", "text"),
    [("markdown", MARKDOWN), ("rst", LIST_TABLE), ("rst", SIMPLE), ("rst", GRID), ("asciidoc", ASCIIDOC)],
    ids=["markdown", "list-table", "simple", "grid", "asciidoc"],
)
def test_a_table_has_a_header_and_rows(markup: str, text: str) -> None:
    table = read_table(text.split("\n"), 0, markup)
    assert table is not None
    rows, end = table
    assert [(row.cells, row.is_header) for row in rows] == [
        (("Name", "Meaning"), True),
        *((cells, False) for cells in OPTIONS),
    ]
    assert "".join(text.split("\n")[end:]) in ("", "After it.")
    assert _answer(text, markup).startswith("Name | Meaning\n- timeout | Seconds to wait\n- retries | How often")


def test_what_is_no_table_is_left_alone() -> None:
    for text in ("a | b", "====", "Title\n=====", "-----", "| a line block", ">>> a | b"):
        assert read_table(text.split("\n"), 0, "rst") is None
    assert read_table(["====  ====", "never", "closed"], 0, "rst") is None


def _answer(text: str, markup: str) -> str:
    lines = text.count("\n") + 1
    hit = SearchHit("a", "passage", "a", markup, 1, lines, 0, (), "", 1.0, 1.0, 1.0, text, "a:1", frozenset())
    return render_excerpts([Excerpt(hit, tuple(units(text, (), markup)))])[0].removesuffix(" [#1]")


NESTED = "- one\n  - inner\n    goes on\n- two"


@pytest.mark.parametrize(
    ("markup", "text", "shown"),
    [
        ("markdown", NESTED + "\n", "- one\n  - inner goes on\n- two"),
        ("rst", "* one\n\n  * inner\n    goes on\n\n* two\n", "- one\n  - inner goes on\n- two"),
        ("asciidoc", "* one\n** inner\ngoes on\n* two\n", "- one\n  - inner goes on\n- two"),
        ("html", NESTED, "- one\n  - inner goes on\n- two"),
        ("markdown", "> Quoted **words**\n> go on.\n", "Quoted words go on."),
        ("markdown", "> [!WARNING]\n> Take care.\n", "Take care."),
        ("markdown", "> - one\n> - two\n", "- one\n- two"),
        ("markdown", "::: tip\nTake care.\n:::\n", "Take care."),
        ("asciidoc", "[quote]\n____\nQuoted words.\n____\n", "Quoted words."),
        (
            "markdown",
            '!!! important "Experimental"\n    Not guaranteed.\n',
            'important "Experimental": Not guaranteed.',
        ),
        ("html", "Name | Meaning\ntimeout | 5\n", "- Name | Meaning\n- timeout | 5"),
        ("rst", ">>> 1 > 0\nTrue\n", ">>> 1 > 0 True"),
    ],
)
def test_lists_and_quotations_are_shown_as_text(markup: str, text: str, shown: str) -> None:
    assert _answer(text, markup) == shown
