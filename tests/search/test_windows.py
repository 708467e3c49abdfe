"""Windows: hits show their passage with the neighbours of its section, without repeating each other."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import assay
from assay.search.hits import PASSAGE, SearchHit
from assay.text import tokens
from support.repository import Repository

FLAGS = """\
# Manual

Everything about the tool.

## Flags

### Persistent flags

A persistent flag is also available to every command under the command it is assigned to.

### Local flags

A local flag applies to one command only.

## Unrelated

Wholly different matter: colours of the terminal.
"""


def _hits(root: Path, query: str, k: int = 10, widen: bool = False) -> list[SearchHit]:
    with assay.open(root, index=True) as opened:
        return opened.searcher().ranked(query, k, widen=widen)


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    made = Repository(tmp_path / "manual")
    made.root.mkdir()
    made.write("docs/manual.md", FLAGS)
    return made.root


def test_a_short_passage_is_shown_with_its_neighbours_in_the_section(manual: Path) -> None:
    (hit,) = _hits(manual, "local flag one command", 1, widen=True)
    assert hit.headings == ("Manual", "Flags", "Local flags")
    assert "every command under" in hit.text, "the section beside it"
    assert "Wholly different" not in hit.text, "another section of the manual"
    assert hit.matched_text == "### Local flags\n\nA local flag applies to one command only."


def test_the_text_of_a_window_is_that_of_its_lines(manual: Path) -> None:
    lines = FLAGS.split("\n")
    for hit in _hits(manual, "local flag one command", 1, widen=True):
        assert hit.text == "\n".join(lines[hit.start - 1 : hit.end])


def test_the_place_is_that_of_the_passage_that_matched(manual: Path) -> None:
    (narrow,) = _hits(manual, "local flag one command", 1)
    (wide,) = _hits(manual, "local flag one command", 1, widen=True)
    assert (wide.place, wide.id, wide.snippet()) == (narrow.place, narrow.id, narrow.snippet())
    assert wide.end - wide.start > narrow.end - narrow.start


def test_hits_do_not_repeat_each_other(manual: Path) -> None:
    hits = [hit for hit in _hits(manual, "flag command colours terminal", widen=True) if hit.kind == PASSAGE]
    spans = sorted((hit.start, hit.end) for hit in hits)
    assert len(hits) > 1
    assert all(above[1] < below[0] for above, below in pairwise(spans))


def test_a_window_is_no_larger_than_a_passage_may_be(tmp_path: Path) -> None:
    made = Repository(tmp_path / "long")
    made.root.mkdir()
    sections = [
        f"## Part {n}\n\n" + f"The sluice number {n} is opened by hand, slowly and with care. " * 9 for n in range(30)
    ]
    made.write("docs/long.md", "# Long\n\n" + "\n\n".join(sections))
    hits = _hits(made.root, "sluice number 7", 3, widen=True)
    assert hits
    assert all(tokens.count(hit.text) <= 512 + 8 for hit in hits)
    assert any(hit.passage for hit in hits)


def test_neighbours_of_other_documents_are_left_alone(tmp_path: Path) -> None:
    made = Repository(tmp_path / "two")
    made.root.mkdir()
    made.write("docs/a.md", "# Sluice\n\nThe sluice is opened by hand.\n")
    made.write("docs/b.md", "# Valve\n\nThe valve is closed by a motor.\n")
    (hit,) = _hits(made.root, "sluice opened by hand", 1, widen=True)
    assert "motor" not in hit.text


def test_an_exact_search_shows_what_contains_the_phrase(manual: Path) -> None:
    with assay.open(manual, index=True) as opened:
        (hit,) = opened.search('"applies to one command"')
        assert not hit.passage


def test_a_million_blank_lines_are_not_shown(tmp_path: Path) -> None:
    made = Repository(tmp_path / "blank")
    made.root.mkdir()
    sluice, valve = "## Sluice\n\nThe sluice is opened by hand, slowly.", "## Valve\n\nThe valve is closed by a motor."
    made.write("docs/a.md", f"# Works\n\n{sluice * 3}" + "\n" * 1_000_000 + valve * 3)
    hits = _hits(made.root, "sluice opened by hand", 3, widen=True)
    assert hits
    assert all(len(hit.text) < 3_000 for hit in hits)
