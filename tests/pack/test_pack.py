"""Packs: no format exceeds the token budget, and the budget goes to the best items."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field, replace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.items import Item
from assay.core.packs import NAME, RENDERINGS, Heading, Pack, PackedItem, Ranked, Section
from assay.pack.context import pack
from assay.pack.render import FORMS, render
from assay.pack.render.form import printable
from assay.store.source import CHANGED, MISSING, OUTSIDE, WorkingTree
from assay.text.tokens import count
from support.comments import Comment
from support.property_tests import examples
from support.repository import Repository

FORMATS = sorted(FORMS)
LEAST = {"json": 30, "xml": 10, "text": 0, "markdown": 0, "comment": 0}  # below it, JSON and XML still are JSON and XML


@dataclass
class Texts:
    """A source of given texts; remembers which were asked for."""

    bodies: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    read: list[str] = field(default_factory=list)

    def note(self, item: Item) -> str:
        return self.notes.get(item.path, "")

    def text(self, item: Item) -> str:
        self.read.append(item.id)
        return self.bodies.get(item.id, "")


def item(symbol: str, path: str = "src/app.py", start: int = 1, lines: int = 10, **known: str) -> Item:
    texts = {"kind": "function", "signature": f"def {symbol}()", "doc": ""} | known
    kind, signature, doc = texts.values()
    return Item(0, f"{path}::{symbol}", kind, symbol, symbol, path, start, start + lines - 1, signature, doc, False)


def body(lines: int, word: str = "value") -> str:
    return "\n".join(f"    {word} = compute({number})" for number in range(lines))


def renderings(packed: Pack) -> dict[str, str]:
    return {one.item.symbol: one.rendering for one in packed.items}


# counting

NASTY = st.text(
    st.sampled_from("aZ_09 \t\n\r`]>&<\"'}{@#$~!*-(|漢字🧪👩‍👧é\x00\x1b\x85\u2028\ud800/.:-"), max_size=60
) | st.text(max_size=40)


@given(NASTY, NASTY)
def test_tokens_of_lines_add_up(first: str, second: str) -> None:
    assert count(first + "\n" + second) == count(first + "\n") + count(second)


@given(NASTY)
def test_a_text_costs_at_least_one_token_and_at_most_its_bytes(text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    assert min(len(text), 1) <= count(text) <= size


@pytest.mark.parametrize(
    ("text", "highest"),  # the most that cl100k, o200k, qwen, tekken and claude spend on it: benchmarks/tokens.py
    [
        ("def before_request(self, f: T_before_request) -> T_before_request:\n", 20),
        ("deadbeef0123456789abcdef" * 10, 150),
        ("漢字龘靐齉爩龗" * 20, 280),
        ("👩‍👩‍👧‍👦🏳️‍🌈😀🎉🧪🔥" * 10, 470),
        ("العربية لغة جميلة " * 10, 171),
        ("\x00\x01\x02\x1b[0m" * 20, 140),
        ("0123456789" * 20, 200),
    ],
)
def test_the_estimate_stays_above_three_quarters_of_the_hungriest_tokenizer(text: str, highest: int) -> None:
    assert count(text) >= 0.75 * highest


# the budget

ITEMS = st.builds(
    lambda symbol, path, start, lines, doc, signature, score, proximity, why, section, most: Ranked(
        item(symbol, path, start, lines, doc=doc, signature=signature), score, proximity, why, section, most
    ),
    NASTY,
    st.sampled_from(["src/a.py", "b`c.rs", "no\nline.go", "文/件.ts", "x"]),
    st.integers(1, 30),
    st.integers(1, 30),
    NASTY,
    NASTY,
    st.floats(-1, 5),
    st.floats(0, 1),
    NASTY,
    st.sampled_from(["near", "far"]),
    st.sampled_from(RENDERINGS),
)
SECTIONS = st.tuples(*(st.builds(Section, st.just(name), NASTY, NASTY, st.just(False)) for name in ("near", "far")))
HEADINGS = st.builds(
    Heading,
    NASTY,
    st.booleans(),
    NASTY,
    NASTY,
    st.lists(NASTY, max_size=4).map(tuple),
    NASTY,
    st.just(()) | SECTIONS,
    st.none() | st.floats(0, 1),
    st.booleans(),
    st.lists(NASTY, max_size=4).map(tuple),
)
BUDGETS = st.integers(0, 120) | st.integers(0, 3_000) | st.just(10**9)


@settings(max_examples=examples(400), deadline=None)
@given(
    st.lists(ITEMS, max_size=12), BUDGETS, HEADINGS, st.lists(NASTY, min_size=1, max_size=4), st.sampled_from(FORMATS)
)
def test_no_format_ever_exceeds_the_budget_and_the_pack_knows_its_tokens(
    ranked: list[Ranked], budget: int, heading: Heading, bodies: list[str], format: str
) -> None:
    if heading.sections:
        ranked = sorted(ranked, key=lambda one: one.section, reverse=True)  # near before far
    ranked = [replace(one, item=replace(one.item, number=rank)) for rank, one in enumerate(ranked)]
    source = Texts({one.item.id: bodies[rank % len(bodies)] * 3 for rank, one in enumerate(ranked)}, {"x": CHANGED})
    made = pack(ranked, budget, source, heading, format)
    written = render(made)
    assert count(written) <= max(budget, LEAST[format])
    if made.framed:
        assert made.tokens == count(written) <= budget
    assert len(made.items) + made.left_out == len(ranked)
    assert sum(one.tokens for one in made.items) <= made.tokens
    numbers = [one.item.number for one in made.items]
    assert numbers == sorted(set(numbers)), "in rank order, each once"
    fullest = [RENDERINGS.index(ranked[one.item.number].most) for one in made.items]
    assert all(RENDERINGS.index(one.rendering) <= most for one, most in zip(made.items, fullest, strict=True))
    _READERS[format](made, written)


def _reads_json(made: Pack, written: str) -> None:
    read = json.loads(written)
    assert written.encode()
    assert [(one["start"], one["rendering"]) for one in read["items"]] == [
        (p.item.start, p.rendering) for p in made.items
    ]
    assert read["tokens"] == made.tokens
    assert read["fresh"] == made.heading.fresh


def _reads_xml(made: Pack, written: str) -> None:
    read = list(ElementTree.fromstring(written.encode()).iter("item"))
    assert [one.get("end") for one in read] == [str(one.item.end) for one in made.items]
    assert [one.text is not None for one in read] == [bool(one.text) for one in made.items]


def _reads_markdown(made: Pack, written: str) -> None:
    """Read as CommonMark reads fences: each opens and closes on lines of its own, and the items stand outside of them."""
    fence, entries = "", 0
    for line in written.split("\n"):
        run = re.match("`{3,}", line)
        if fence and line == fence:
            fence = ""
        elif not fence and run:
            fence = run[0]
        elif not fence and line.startswith("- "):
            entries += 1
    assert not fence
    assert entries == len(made.items)


def _reads_text(made: Pack, written: str) -> None:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", written)
    headers = re.findall(r"^\S.*:\d+ (?:function|class|method|file)\b", written, re.MULTILINE)
    assert len(headers) == len(made.items), "no quoted line passes for an item"


def _reads_comment(made: Pack, written: str) -> None:
    """Read as a forge reads it: every item is there once, its lines unchanged, and nothing in it is markup or mentions anybody."""
    read = Comment(written, sections=bool(made.heading.sections))
    assert read.entries == len(made.items)
    shown = "".join(read.code)
    assert all(printable(one.text) in shown for one in made.items)


_READERS = {
    "json": _reads_json,
    "xml": _reads_xml,
    "markdown": _reads_markdown,
    "comment": _reads_comment,
    "text": _reads_text,
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("budget", [-1, 0, 50, 10**9])
def test_every_budget_gives_an_answer(format: str, budget: int) -> None:
    ranked = [Ranked(item(f"step_{number}", start=20 * number + 1), 1 / (number + 1)) for number in range(30)]
    source = Texts({one.item.id: body(10) for one in ranked})
    made = pack(ranked, budget, source, Heading("add a step", True, "fresh"), format)
    assert count(render(made)) <= max(budget, LEAST[format])
    assert (made.left_out == 0) == (budget == 10**9)
    if budget == 10**9:
        assert set(renderings(made).values()) == {"body"}


@pytest.mark.parametrize("format", FORMATS)
def test_the_budget_holds_to_the_token(format: str) -> None:
    ranked = [Ranked(item(f"step_{number}", start=20 * number + 1, lines=3), 1 / (number + 1)) for number in range(5)]
    source = Texts({one.item.id: body(3) for one in ranked})
    packs = [
        pack(ranked, budget, source, Heading("steps", True, "fresh"), format) for budget in range(LEAST[format], 700)
    ]
    assert all(count(render(made)) <= made.budget for made in packs)
    assert set(renderings(packs[-1]).values()) == {"body"}
    assert any(made.tokens == made.budget for made in packs), "and can be spent to the last token"


def test_the_same_ranking_packs_to_the_same_bytes() -> None:
    ranked = [Ranked(item(f"f{number}", start=20 * number + 1), 0.5) for number in range(40)]
    bodies = {one.item.id: body(10) for one in ranked}
    assert len({render(pack(ranked, 900, Texts(bodies))) for _ in range(5)}) == 1


# what the budget is spent on


def test_everything_has_its_name_before_anything_has_its_body() -> None:
    ranked = [Ranked(item(f"step_{number}", start=20 * number + 1), 1 / (number + 1)) for number in range(20)]
    source = Texts({one.item.id: body(10) for one in ranked})
    outline = pack(ranked, 10**9, Texts()).tokens
    made = pack(ranked, outline + 300, source)
    assert len(made.items) == 20
    assert renderings(made)["step_0"] == "body"
    assert renderings(made)["step_19"] != "body"


def test_several_small_bodies_come_before_a_large_one_of_slightly_more_score() -> None:
    large = item("large", "src/large.py", lines=18, signature="")
    small = [item(f"small{number}", f"src/{number}.py", lines=6, signature="") for number in range(3)]
    ranked = [Ranked(large, 1.0), *(Ranked(one, 0.9) for one in small)]
    source = Texts({large.id: body(18)} | {one.id: body(6) for one in small})
    made = pack(ranked, pack(ranked, 10**9, Texts()).tokens + count(body(18)) + 10, source)
    assert renderings(made) == {"large": "name", "small0": "body", "small1": "body", "small2": "body"}


def test_a_near_body_comes_before_a_distant_one_of_slightly_more_score() -> None:
    near, far = item("near", "src/c.py", lines=8, signature=""), item("far", "src/d.py", lines=8, signature="")
    both = [Ranked(far, 1.0, 0.01), Ranked(near, 0.9, 1.0)]
    room = pack(both, 10**9, Texts()).tokens + count(body(8)) + 10
    made = pack(both, room, Texts({near.id: body(8), far.id: body(8)}))
    assert renderings(made) == {"far": "name", "near": "body"}


def test_several_short_names_come_before_a_long_one_of_slightly_more_score() -> None:
    ranked = [Ranked(item("long_" * 12), 1.0), *(Ranked(item(name, "b.py"), 0.9) for name in "abc")]
    made = pack(ranked, 52, Texts())
    assert [one.item.symbol for one in made.items] == ["a", "b", "c"]
    assert len(pack(ranked[:1], 52, Texts()).items) == 1, "it would have fitted alone"


def test_what_does_not_fit_is_passed_over_for_what_does() -> None:
    huge, tiny = item("huge", lines=500), item("tiny", "src/b.py", lines=3, signature="")
    source = Texts({huge.id: body(500), tiny.id: body(3)})
    made = pack([Ranked(huge, 1000.0), Ranked(tiny, 0.001)], 150, source)
    assert renderings(made) == {"huge": "signature", "tiny": "body"}
    assert source.read == [tiny.id], "a body that cannot fit is not even read"


def test_a_name_that_does_not_fit_is_passed_over_and_counted_as_left_out() -> None:
    long, short = item("long_" * 60), item("short", "b.py")
    made = pack([Ranked(long, 1.0), Ranked(short, 0.5)], 60, Texts())
    assert [one.item.symbol for one in made.items] == ["short"]
    assert made.left_out == 1
    assert "left out: 1 more" in render(made)


def test_what_was_left_out_is_named_best_first() -> None:
    ranked = [Ranked(item(f"f{number:02}", start=20 * number + 1), 1 - number / 100) for number in range(60)]
    made = pack(ranked, 500, Texts())
    first = len(made.items)
    assert made.best_left_out == tuple(f"f{number:02}" for number in range(first, first + 3))
    assert f"left out: {60 - first} more, best: f{first:02}, " in render(made)


@pytest.mark.parametrize("score", [1.0, 0.001])  # its lines were chosen before those of the class, or would be after
def test_a_member_is_not_shown_again_below_its_class(score: float) -> None:
    owner, member = item("Cart", start=1, lines=6, kind="class"), item("Cart.add", start=3, lines=2, kind="method")
    other = item("other", "src/other.py", start=3, lines=2)
    source = Texts({owner.id: body(6), member.id: body(2), other.id: body(2)})
    made = pack([Ranked(member, score), Ranked(owner, 0.9), Ranked(other, 0.5)], 10**6, source)
    assert renderings(made) == {"Cart.add": "name", "Cart": "body", "other": "body"}
    assert made.items[0].within == owner.id
    assert "src/app.py:3 method Cart.add [shown in Cart]" in render(made)


def test_a_member_that_begins_or_ends_with_its_class_is_not_shown_again() -> None:
    owner = item("Cart", start=1, lines=6, kind="class")
    first, last = item("Cart.first", start=1, lines=2), item("Cart.last", start=5, lines=2)
    source = Texts({owner.id: body(6), first.id: body(2), last.id: body(2)})
    made = pack([Ranked(owner, 1.0), Ranked(first, 0.9), Ranked(last, 0.8)], 10**6, source)
    assert [packed.within for packed in made.items] == ["", owner.id, owner.id]


@pytest.mark.parametrize("most", ["name", "body"])
def test_what_fits_exactly_is_packed(most: str) -> None:
    ranked = [Ranked(item(f"step_{n}", start=20 * n + 1, lines=3, signature=""), 1.0, most=most) for n in range(4)]
    source = Texts({one.item.id: body(3) for one in ranked})
    least = next(
        made
        for made in (pack(ranked, budget, source) for budget in range(30, 300))
        if made.left_out == 0 and set(renderings(made).values()) == {most}
    )
    assert least.tokens == least.budget
    frame = next(made for made in (pack([], budget, source) for budget in range(1, 60)) if made.framed)
    assert frame.tokens == frame.budget


def test_a_member_keeps_its_body_when_the_class_does_not_fit() -> None:
    owner = item("Cart", start=1, lines=400, kind="class", signature="")
    member = item("Cart.add", start=3, lines=4, kind="method", signature="")
    source = Texts({owner.id: body(400), member.id: body(4)})
    assert renderings(pack([Ranked(owner, 1.0), Ranked(member, 0.9)], 200, source)) == {
        "Cart": "name",
        "Cart.add": "body",
    }


def test_a_signature_comes_with_the_first_paragraph_of_its_documentation() -> None:
    one = item("run", lines=500, doc="Starts it.\nSoon.\n\nLong story.")
    made = pack([Ranked(one, 1.0)], 100, Texts())
    assert (made.items[0].rendering, made.items[0].text) == ("signature", "def run()\nStarts it.\nSoon.")
    assert (
        made.items[0].tokens
        == made.tokens - pack([Ranked(replace(one, signature="", doc=""), 1.0)], 100, Texts()).tokens
    )


def test_lines_that_may_be_others_are_not_even_asked_for() -> None:
    one = item("f")
    source = Texts({one.id: body(10)}, {one.path: CHANGED})
    made = pack([Ranked(one, 1.0)], 1000, source)
    assert (made.items[0].rendering, made.items[0].note, source.read) == ("signature", CHANGED, [])


# what people and scripts read


def test_text_has_places_that_an_editor_opens() -> None:
    one = item("Flask.run", "src/flask/app.py", start=120, lines=2, kind="method", signature="")
    written = render(
        pack([Ranked(one, 1.0)], 1000, Texts({one.id: "def run(self):\n    pass"}), Heading("run it", True, "fresh"))
    )
    assert re.fullmatch(
        r"task: run it\nindex: fresh\ntokens: \d+ of 1000\n\nsrc/flask/app.py:120 method Flask.run\n def run\(self\):\n     pass\n\n",
        written,
    )


def test_json_has_the_keys_that_scripts_rely_on() -> None:
    one = item("Flask.run", "src/flask/app.py", start=120, lines=2, kind="method")
    made = pack(
        [Ranked(one, 0.123456789)], 1000, Texts({one.id: "a\nb"}), Heading("run", False, "2 files changed"), "json"
    )
    read = json.loads(render(made))
    assert read["items"][0] == {
        "id": "src/flask/app.py::Flask.run", "symbol": "Flask.run", "kind": "method", "path": "src/flask/app.py", "start": 120,
        "end": 121, "score": 0.123457, "rendering": "body", "tokens": made.items[0].tokens, "text": "a\nb",
    }  # fmt: skip
    assert (read["fresh"], read["freshness"], read["tokens"], read["budget"]) == (
        False,
        "2 files changed",
        made.tokens,
        1000,
    )
    assert read["left_out"] == {"count": 0, "best": []}


@pytest.mark.parametrize("format", FORMATS)
def test_an_empty_answer_says_what_was_searched_and_offers_the_nearest_names(format: str) -> None:
    heading = Heading("frobnicate", True, "fresh", "120 symbols in 9 files", ("front", "frob"))
    written = render(pack([], 1000, Texts(), heading, format))
    assert "120 symbols in 9 files" in written
    assert re.search(r'front"?, ?"?frob', written)
    found = render(pack([Ranked(item("frob"), 1.0)], 1000, Texts(), heading, format))
    assert "120 symbols" not in found, "only an empty answer says where it looked"


@pytest.mark.parametrize("format", FORMATS)
def test_a_long_task_is_not_repeated_whole(format: str) -> None:
    made = pack([Ranked(item("f"), 1.0)], 400, Texts(), Heading("word " * 20_000), format)
    assert len(made.items) == 1
    assert len(render(made)) < 2_000


def test_a_heading_that_would_take_most_of_the_budget_is_shortened() -> None:
    made = pack(
        [Ranked(item("f"), 1.0)],
        60,
        Texts(),
        Heading("rename every step of the way and tell me why it was so", True, "fresh"),
    )
    assert (made.heading.task, made.heading.freshness, len(made.items)) == ("", "fresh", 1)


def test_xml_text_comes_back_as_it_was() -> None:
    one = item("a<b>", signature="")
    text = "if a < b && c > d: \"]]>\" 'quoted'\n\tpass"
    read = ElementTree.fromstring(render(pack([Ranked(one, 1.0)], 1000, Texts({one.id: text}), format="xml")))
    assert read[0].text == f"\n{text}\n"
    assert read[0].get("id") == "src/app.py::a<b>"


def test_a_markdown_fence_is_longer_than_any_inside_and_names_the_language() -> None:
    packed = PackedItem(item("f`g", "docs/a.md"), 1.0, "body", "text\n````\ncode\n````")
    assert (
        FORMS["markdown"].item(packed)
        == "- `docs/a.md:1` function ``f`g``\n\n`````md\ntext\n````\ncode\n````\n`````\n\n"
    )


def test_a_symbol_that_ends_with_a_backtick_is_still_a_code_span() -> None:
    assert FORMS["markdown"].item(PackedItem(item("`"), 1.0)) == "- `src/app.py:1` function `` ` ``\n"


# sections


def _sectioned() -> tuple[list[Ranked], Heading]:
    touched, caller = item("Cart.add", "cart.py"), item("checkout", "shop.py")
    ranked = [
        Ranked(touched, 1.0, why="changed at 3", section="touched"),
        Ranked(caller, 0.5, why="calls Cart.add", section="callers"),
    ]
    sections = (
        Section("touched", "Touched", "1"),
        Section("callers", "Callers", "1"),
        Section("tests", "Tests", "none"),
    )
    return ranked, Heading("", True, "fresh", sections=sections)


def test_sections_stand_before_their_items_and_are_named_also_when_empty() -> None:
    ranked, heading = _sectioned()
    lines = render(pack(ranked, 1000, Texts(), heading)).splitlines()
    order = ["== Touched: 1", "cart.py:1 function Cart.add [changed at 3]", "== Callers: 1"]
    order += ["shop.py:1 function checkout [calls Cart.add]", "== Tests: none"]
    assert [line for line in lines if line in order] == order


def test_json_says_the_section_and_the_reason_of_every_item() -> None:
    ranked, heading = _sectioned()
    read = json.loads(render(pack(ranked, 1000, Texts(), heading, "json")))
    assert read["sections"] == {"touched": "1", "callers": "1", "tests": "none"}
    assert [(one["section"], one["why"]) for one in read["items"]] == [
        ("touched", "changed at 3"),
        ("callers", "calls Cart.add"),
    ]


def test_titles_give_way_to_items_when_the_budget_is_small() -> None:
    ranked, heading = _sectioned()
    made = pack(ranked, 62, Texts(), heading)
    assert made.heading.sections == ()
    assert len(made.items) == 2
    assert "calls Cart.add" in render(made)


def test_what_is_of_use_only_by_name_is_never_shown_more_fully() -> None:
    file, inner = item("", "src/a.py", lines=20, kind="file"), item("f", "src/a.py", start=3, lines=2)
    made = pack(
        [Ranked(file, 1.0, most=NAME), Ranked(inner, 0.5)], 10**6, Texts({file.id: body(20), inner.id: body(2)})
    )
    assert [one.rendering for one in made.items] == ["name", "body"]
    other = pack([Ranked(file, 1.0), Ranked(inner, 0.5, most=NAME)], 10**6, Texts({file.id: body(20)}))
    assert [one.within for one in other.items] == ["", ""], "a deleted symbol is not in the lines that are there"


# lines of the working tree

CODE = "import os\n\n\ndef first():\n    return 1\n\n\ndef second():\n    return 2\n"


def _opened(repository: Repository, files: dict[str, str | bytes]) -> tuple[WorkingTree, dict[str, Item]]:
    for path, text in files.items():
        repository.write(path, text)
    repository.index()
    opened = repository.open()
    return WorkingTree(opened), {one.symbol: one for one in opened.items("s.ordinal >= 0")}


def test_an_item_has_its_lines(repository: Repository) -> None:
    tree, items = _opened(repository, {"a.py": CODE, "b.py": b"\xef\xbb\xbf# \xe9\r\ndef third():\r\n    return 3\r\n"})
    assert tree.text(items["second"]) == "def second():\n    return 2"
    assert tree.text(items["third"]) == "def third():\n    return 3"
    assert tree.note(items["second"]) == ""


def test_a_file_that_only_grew_has_changed(repository: Repository) -> None:
    tree, items = _opened(repository, {"a.py": CODE})
    repository.write("a.py", CODE + "    # more\n")
    assert tree.note(items["second"]) == CHANGED


def test_a_changed_file_shows_no_lines_and_says_so(repository: Repository) -> None:
    tree, items = _opened(repository, {"a.py": CODE})
    repository.write("a.py", "# new first line\n" + CODE)
    assert (tree.text(items["second"]), tree.note(items["second"])) == ("", CHANGED)
    made = pack([Ranked(items["second"], 1.0)], 1000, tree)
    assert made.items[0].rendering == "signature"
    assert f"a.py:8 function second [{CHANGED}]" in render(made)


def test_a_file_that_was_only_touched_still_shows_its_lines(repository: Repository) -> None:
    tree, items = _opened(repository, {"a.py": CODE})
    repository.write("a.py", CODE).touch()
    assert tree.text(items["second"]) == "def second():\n    return 2"


def test_lines_once_read_are_not_read_again_until_the_file_changes(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(repository.write("a.py", CODE), (10**9, 10**9))  # so old that its stat proves it to be as it was
    tree, items = _opened(repository, {})
    shown = tree.text(items["second"])
    with monkeypatch.context() as patched:
        patched.setattr("assay.store.source.read_bytes", lambda *_: pytest.fail("read again"))
        assert WorkingTree(repository.open()).text(items["second"]) == shown == "def second():\n    return 2"
    repository.write("a.py", CODE.replace("2", "3"))
    assert WorkingTree(repository.open()).text(items["second"]) == ""


def test_a_missing_or_binary_file_is_said_to_be_so(repository: Repository) -> None:
    tree, items = _opened(repository, {"a.py": CODE, "b.py": "def third():\n    pass\n"})
    (repository.root / "a.py").unlink()
    repository.write("b.py", b"\x00\x01\x02" * 10)
    assert tree.note(items["first"]) == MISSING
    assert tree.note(items["third"]) == CHANGED


def test_nothing_outside_the_root_is_read(repository: Repository) -> None:
    tree, items = _opened(repository, {"inner/a.py": CODE})
    outside = repository.root.parent / "outside"
    (repository.root / "inner").rename(outside)
    (repository.root / "inner").symlink_to(outside)
    assert (tree.note(items["first"]), tree.text(items["first"])) == (OUTSIDE, "")
