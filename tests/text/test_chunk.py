"""Chunkers: passages cover the text, fit the size, respect structure and carry their positions."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.items import passage_id
from assay.errors import AssayError
from assay.index.documents.formats import FORMATS
from assay.index.documents.opened import as_text
from assay.text import tokens
from assay.text.chunk import CHUNKERS, DEFAULT, Chunker, Part, Text, by_structure, by_symbols, by_tokens, parse, windows
from support.property_tests import examples

WORDS = st.sampled_from(
    ["word", "HTTPServer", "snake_case", "x", "1234", "— €", "日本語", "🙂", "::", "", "   ", "a" * 90]
)
LINES = st.lists(
    st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=30).map(lambda t: t.replace("\n", " ")), max_size=40
)
SIZES = st.integers(16, 120)
SPECS = [f"{name}:{size}" for name in CHUNKERS for size in (16, 64, 512)] + ["tokens:64:16"]


def _text(lines: list[str], every: int = 7) -> Text:
    parts = tuple(Part(line, (f"H{line}",)) for line in range(0, max(len(lines), 1), every))
    return Text(lines, parts)


@given(LINES, SIZES, st.sampled_from([by_tokens, by_structure, by_symbols]))
def test_passages_cover_everything_once_in_order_and_fit_their_size(lines: list[str], size: int, spans: object) -> None:
    text = _text(lines)
    found = spans(text, size, 0)  # type: ignore[operator]
    assert "".join(text.whole[start:end] for start, end in found) == text.whole
    assert all(tokens.count(text.whole[start:end]) <= size for start, end in found)


@given(st.text(max_size=400), SIZES)
def test_tokens_can_be_cut_apart_and_counted_by_themselves(text: str, size: int) -> None:
    pieces = list(windows(text, size, 0))
    assert sum(cost for _, _, cost in pieces) == tokens.count(text)
    assert all(tokens.count(text[start:end]) == cost <= size for start, end, cost in pieces)


@given(LINES, SIZES, st.data())
def test_windows_overlap_by_as_many_tokens_as_asked(lines: list[str], size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size // 2))
    text = _text(lines)
    found = by_tokens(text, size, overlap)
    for (_, end), (start, _) in pairwise(found):
        shared = tokens.count(text.whole[start:end])
        assert shared <= overlap  # a token may cost four: what does not fit whole is not shared
        assert overlap - shared < 4
    assert all(tokens.count(text.whole[start:end]) <= size for start, end in found)


BLOCK = st.lists(st.sampled_from(["a = 1", "", "    return a", "# no heading"]), min_size=1, max_size=12)
PROSE = st.sampled_from(["Some words of prose.", "A longer paragraph that says a little more than the others do."])


@given(st.lists(st.tuples(PROSE, BLOCK), max_size=8), st.sampled_from([48, 96, 200]))
def test_a_code_block_that_fits_is_never_split(pieces: list[tuple[str, list[str]]], size: int) -> None:
    source = "# Title\n\n" + "".join(f"{prose}\n\n```\n" + "\n".join(code) + "\n```\n\n" for prose, code in pieces)
    text = as_text(FORMATS["markdown"].open(source.encode()))
    said = [text.whole[start:end] for start, end in by_structure(text, size, 0)]
    for _, code in pieces:
        block = "```\n" + "\n".join(code) + "\n```\n"
        if tokens.count(block) <= size:
            assert any(block in one for one in said)


def test_a_literal_block_of_restructured_text_is_kept_whole() -> None:
    block = "    first = 1\n\n    second = 2\n\n    third = 3\n"
    source = f"Title\n=====\n\n{'Much prose here. ' * 8}\n\nLike this::\n\n{block}\n{'More prose after it. ' * 8}\n"
    chunks = Chunker("structure", 60).chunks(as_text(FORMATS["rst"].open(source.encode())))
    assert any(block.strip() in chunk.text for chunk in chunks)


@pytest.mark.parametrize(
    "entry",
    [
        "--option-{0}=VALUE\n    What option {0} does, said in so many words.\n    And a second line.\n",
        "term {0}\n\n    What term {0} means.\n\n    And a second paragraph about {0}.\n\n",
        "    term {0}\n\n        What an indented term {0} means.\n\n",
        "-{0} FILE      first line about {0}\n               second line about {0}\n               third line\n",
    ],
)
@pytest.mark.parametrize("size", range(48, 100, 7))
def test_a_term_or_option_stays_with_its_text(entry: str, size: int) -> None:
    entries = [entry.format(letter) for letter in "abcdefghijklmnop"]
    source = "Options\n=======\n\nThere are these:\n\n" + "".join(entries)
    chunks = Chunker("structure", size).chunks(as_text(FORMATS["rst"].open(source.encode())))
    assert len(chunks) > 2
    assert all(any(entry.strip() in chunk.text for chunk in chunks) for entry in entries)


def test_text_in_a_directive_belongs_to_the_section_around_it() -> None:
    tabs = ".. tabs::\n\n   .. tab:: Linux\n\n      Use apt.\n\n      .. note::\n\n         Title\n         -----\n"
    source = f"Guide\n=====\n\nStart.\n\n{tabs}\nEnd.\n"
    chunks = DEFAULT.chunks(as_text(FORMATS["rst"].open(source.encode())))
    assert [(chunk.headings, chunk.first, chunk.last) for chunk in chunks] == [(("Guide",), 1, 17)]


def test_sections_are_passages_and_an_empty_one_goes_with_the_next() -> None:
    prose = "Something worth reading, said in more than just a few words so that it can stand by itself. " * 2
    source = f"# Guide\n\n## Install\n\n{prose}\n\n## Use\n\n{prose}\n"
    chunks = DEFAULT.chunks(as_text(FORMATS["markdown"].open(source.encode())))
    assert [(chunk.headings, chunk.first, chunk.last) for chunk in chunks] == [
        (("Guide", "Install"), 1, 5),
        (("Guide", "Use"), 7, 9),
    ]
    assert chunks[0].text.startswith("# Guide")
    assert source[chunks[1].start : chunks[1].end] == chunks[1].text


def test_a_long_section_is_divided_evenly_and_leaves_no_scrap_at_its_end() -> None:
    source = "# Guide\n\n" + "A paragraph of some words that fill a line.\n\n" * 12 + "The end.\n"
    text = as_text(FORMATS["markdown"].open(source.encode()))
    whole = tokens.count(text.whole)
    costs = [tokens.count(text.whole[start:end]) for start, end in by_structure(text, whole - 4, 0)]
    assert len(costs) == 2
    assert max(costs) < 1.3 * min(costs)


def test_a_definition_is_a_passage_and_a_long_one_is_cut_where_another_begins() -> None:
    method = ["    def method(self):", "        return compute(self.value, self.other, self.third)", ""]
    lines = ["class Long:", '    """Says what it is."""', "", *method * 6, "def short():", "    return 1"]
    starts = [3 + 3 * n for n in range(6)]
    parts = (Part(0, ("Long",)), *(Part(at, ("Long", "method")) for at in starts), Part(21, ("short",)))
    chunks = Chunker("symbols", 60).chunks(Text(lines, parts))
    assert chunks[-1].text == "def short():\n    return 1"
    assert len(chunks) > 2
    assert all(chunk.text.lstrip().startswith(("class", "def")) for chunk in chunks)


def test_nothing_crosses_a_page_and_every_passage_knows_its_own() -> None:
    text = Text(["one", "", "two", "", "three"], pages=(0, 2, 4))
    assert [(chunk.text, chunk.page) for chunk in DEFAULT.chunks(text)] == [("one", 1), ("two", 2), ("three", 3)]


@pytest.mark.parametrize("spec", SPECS)
def test_a_text_without_words_has_no_passages(spec: str) -> None:
    assert [parse(spec).chunks(Text(lines)) for lines in ([], [""], ["  ", "", "\t"])] == [[], [], []]


# identity


@settings(max_examples=examples(50))
@given(
    st.lists(st.sampled_from(["Alpha beta.", "Gamma delta.", "Epsilon.", "Zeta eta theta."]), min_size=1, max_size=6),
    st.data(),
)
def test_ids_stay_when_other_parts_of_the_file_change(paragraphs: list[str], data: st.DataObject) -> None:
    def ids(said: list[str]) -> list[str]:
        filler = "Enough words that this section can stand by itself as a passage and is not joined. " * 2
        source = "".join(f"# Part {n}\n\n{one} {filler}\n\n" for n, one in enumerate(said))
        chunks = DEFAULT.chunks(as_text(FORMATS["markdown"].open(source.encode())))
        return [passage_id("a.md", chunk.headings, chunk.text, DEFAULT.identity) for chunk in chunks]

    at = data.draw(st.integers(0, len(paragraphs) - 1))
    changed = [*paragraphs[:at], "Something else entirely.\n\nAnd more lines.", *paragraphs[at + 1 :]]
    before, after = ids(paragraphs), ids(changed)
    assert len(before) == len(after) == len(paragraphs)
    assert [n for n, (old, new) in enumerate(zip(before, after, strict=True)) if old != new] == [at]


def test_an_id_tells_place_content_and_chunker() -> None:
    same = passage_id("docs/a.md", ("Setup", "From a file!"), "text", "structure:512@1")
    assert same.startswith("docs/a.md#setup/from-a-file:")
    others = [
        passage_id("docs/b.md", ("Setup", "From a file!"), "text", "structure:512@1"),
        passage_id("docs/a.md", ("Setup",), "text", "structure:512@1"),
        passage_id("docs/a.md", ("Setup", "From a file!"), "texts", "structure:512@1"),
        passage_id("docs/a.md", ("Setup", "From a file!"), "text", "structure:512@2"),
        passage_id("docs/a.md", ("Setup", "From a file!"), "text", "structure:512@1", 2),
    ]
    assert len({same, *others}) == 6


# names


@pytest.mark.parametrize(
    ("spec", "chunker"),
    [
        ("structure", Chunker("structure", 512)), ("structure:1024", Chunker("structure", 1024)), ("tokens:512:64", Chunker("tokens", 512, 64)),
        (" tokens:8000 ", Chunker("tokens", 8000)),
    ],
)  # fmt: skip
def test_a_chunker_prints_as_it_parses(spec: str, chunker: Chunker) -> None:
    assert parse(spec) == chunker == parse(str(chunker))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("strukture:512", "Did you mean 'structure'?"), ("", "no chunker"), ("tokens:x", "no chunker"), ("tokens:5", "16 to"),
        ("tokens:512:300", "half the size"), ("structure:512:20", "do not overlap"), ("tokens:512:", "no chunker"),
    ],
)  # fmt: skip
def test_a_chunker_that_makes_no_sense_is_refused_with_the_reason(spec: str, said: str) -> None:
    with pytest.raises(AssayError, match=said):
        parse(spec)
