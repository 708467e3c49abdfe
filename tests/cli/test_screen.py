"""Answers on one screen: sizes, the lines that are chosen, text that cannot pass for a result, and recorded screens.

The recordings, of a terminal of 80 × 24 and of a pipe, are in `tests/fixtures/screens` with their project. Record them
again, and read the difference, with

    PYTHONPATH=src:tests python tests/cli/test_screen.py
"""

from __future__ import annotations

import shutil
import tempfile
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.cli import screen
from assay.cli.common import Size, styled
from assay.cli.screen import Detail, Result, Words
from assay.core.items import Item
from assay.core.packs import Heading, Ranked, Section
from assay.text.display import columns, shortened, wrapped
from assay.text.terms import telling_terms
from support.command import assay
from support.environment import isolate
from support.paths import FIXTURES
from support.terminal import STYLE, in_terminal, without_progress


def plain(lines: list[screen.Line]) -> list[str]:
    return [STYLE.sub("", styled(*line)) for line in lines]


def item(number: int, path: str = "src/shop.py", doc: str = "", signature: str = "", kind: str = "function") -> Item:
    name = f"part_{number}"
    return Item(number, f"{path}::{name}", kind, name, name, path, number * 10, number * 10 + 3, signature, doc, False)


class Texts:
    """Source texts by item number."""

    def __init__(self, texts: dict[int, str], note: str = "") -> None:
        self._texts, self._note = texts, note

    def note(self, item: Item) -> str:
        return self._note

    def text(self, item: Item) -> str:
        return self._texts.get(item.number, "")


def results(count: int, place: int = 20, details: int = 3) -> list[Result]:
    lines = tuple(Detail(number, f"line {number} of the text", number) for number in range(1, details + 1))
    return [Result(f"{'p' * place}.py:{number}", f"function f{number}", "(a, b)", "", lines) for number in range(count)]


def arranged(found: list[Result], size: Size, wanted: int | None = None) -> list[str]:
    return plain(screen.arrange(found, Words(), size, wanted, [], lambda shown: f"{shown} results"))


# -- sizes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "height"), list(product([20, 40, 80, 200], [5, 8, 10, 24, 25, 50, 100])))
def test_a_screen_is_never_higher_or_wider_than_the_terminal(width: int, height: int) -> None:
    for place, details in product([5, 30, 90], [0, 1, 3]):
        lines = arranged(results(50, place, details), Size(width, height))
        assert len(lines) < max(height, 2 * screen.LEAST_RESULTS + 1)
        assert max(map(columns, lines)) <= width


@given(
    st.lists(
        st.builds(
            Result,
            st.text(max_size=60),
            st.text(max_size=60),
            st.text(max_size=60),
            st.text(max_size=40),
            st.lists(st.builds(Detail, st.integers(0, 9), st.text(max_size=120), st.integers(0, 9999))).map(tuple),
        ),
        max_size=12,
    ),
    st.integers(20, 120),
    st.integers(8, 40),
)
def test_any_text_fits(found: list[Result], width: int, height: int) -> None:
    lines = arranged(found, Size(width, height))
    assert len(lines) <= height - 1
    assert all(columns(line) <= width for line in lines)
    assert not any(character in line for line in lines for character in "\n\r\x1b\x9b\u202e")


def test_a_usual_terminal_shows_eight_results_and_the_best_with_more_lines() -> None:
    lines = arranged(results(50), Size(80, 24))
    assert len(lines) == 22, "the command and the prompt have a line each"
    numbers = [line.startswith("pp") for line in lines[:-2]]
    assert numbers == [True, False, False] * 4 + [True, False] * 4
    assert lines[1:3] == ["     1  line 1 of the text", "     2  line 2 of the text"]
    assert lines[-2:] == ["", "8 results"]


@pytest.mark.parametrize("height", [1, 2, 4, 5])
def test_a_tiny_terminal_still_shows_three_results_and_nothing_else(height: int) -> None:
    assert [line.partition(":")[2] for line in arranged(results(50, details=0), Size(60, height))] == [
        "0  function f0(a, b)",
        "1  function f1(a, b)",
        "2  function f2(a, b)",
    ]


def test_as_many_results_as_were_asked_for_are_shown_whatever_the_height() -> None:
    lines = arranged(results(50), Size(80, 24), wanted=30)
    assert sum(line.startswith("pp") for line in lines) == 30
    assert lines[-1] == "30 results"


# -- headers -----------------------------------------------------------------------------------------------------------


def test_parameters_give_way_first_then_the_title_goes_to_a_line_of_its_own() -> None:
    found = Result("src/shop.py:12", "method Cart.total", "(self, tax, discount)")
    assert arranged([found], Size(60, 24))[0] == "src/shop.py:12  method Cart.total(self, tax, discount)"
    assert arranged([found], Size(40, 24))[0] == "src/shop.py:12  method Cart.total(self,…"
    assert arranged([found], Size(34, 24))[0] == "src/shop.py:12  method Cart.total"
    assert arranged([found], Size(30, 24))[:2] == ["src/shop.py:12", "    method Cart.total(self, t…"]


def test_of_a_long_location_the_end_is_shown() -> None:
    found = Result("a/very/long/path/to/some/file.py:1234", "function f")
    assert arranged([found], Size(20, 24))[:2] == ["…o/some/file.py:1234", "    function f"]


def test_a_note_is_shown_and_parameters_give_way_to_it() -> None:
    found = Result("a.py:1", "function f", "(first, second)", "calls g")
    assert arranged([found], Size(50, 24))[0] == "a.py:1  function f(first, second)  [calls g]"
    assert arranged([found], Size(32, 24))[0] == "a.py:1  function f  [calls g]"
    assert arranged([found], Size(28, 24))[0] == "a.py:1  function f  [calls …"


@pytest.mark.parametrize(
    ("signature", "shown"),
    [
        ("def part_1(self, tax=None)", "function part_1(self, tax=None)"),
        ("func (c *Cart) part_1(ctx context.Context) error", "function part_1(ctx context.Context) error"),
        ("export const part_1 = 5;", "function part_1 = 5"),
        ("fn part_1<T>(\n    a: T,\n) -> T {", "function part_1<T>(a: T, ) -> T"),
        ("", "function part_1"),
        ("something else", "function part_1"),
    ],
)
def test_a_definition_has_its_location_kind_name_and_parameters(signature: str, shown: str) -> None:
    (line,) = plain(screen.definition_lines(item(1, signature=signature), 100))
    assert line == f"src/shop.py:10  {shown}"


# -- the lines that matter ---------------------------------------------------------------------------------------------


def details(text: str, words: str, doc: str = "") -> list[str]:
    found = screen._details_of(item(1, doc=doc), text, frozenset(telling_terms(words)))
    return [f"{detail.number} {detail.text}" for detail in found]


SOURCE = """def part_1(cart):
    prices = cart.prices
    total = sum(prices)
    log(prices)
    tax = total * RATE
    return total + tax"""


def test_lines_with_most_words_of_the_task_come_first() -> None:
    assert details(SOURCE, "rate of the tax and the total") == ["14 tax = total * RATE"]
    assert details(SOURCE, "sum of prices, rate") == ["12 total = sum(prices)", "14 tax = total * RATE"]


def test_the_first_sentence_of_the_documentation_precedes_them_if_it_matches() -> None:
    doc = "Add the tax\nto a total. More of it.\n\nAnd more."
    assert details(SOURCE, "tax rate", doc) == ["0 Add the tax to a total.", "14 tax = total * RATE"]
    assert details(SOURCE, "log prices", "Does\nthings.") == ["13 log(prices)", "0 Does things."]


def test_without_a_match_or_documentation_the_first_line_of_the_body_is_shown() -> None:
    assert details(SOURCE, "zebra") == ["11 prices = cart.prices"]
    assert details("def part_1(): ...", "zebra") == []


@pytest.mark.parametrize(
    ("doc", "shown"),
    [
        ('<summary> What an <see cref="T:Shop.Cart" /> does. </summary>', "What an Shop.Cart does."),
        (
            "Returns {@link Cart} of :class:`~shop.Member`, e.g. the last.",
            "Returns Cart of shop.Member, e.g. the last.",
        ),
        ("", None),
    ],
)
def test_documentation_is_shown_without_its_markup(doc: str, shown: str | None) -> None:
    assert details("", "zebra", doc) == ([f"0 {shown}"] if shown else [])


def test_lines_of_the_documentation_are_not_shown_twice() -> None:
    source = 'def part_1():\n    """Adds the tax.\n\n    The tax of a cart.\n    """\n    return tax'
    assert details(source, "tax", "Adds the tax.\n\nThe tax of a cart.") == ["0 Adds the tax.", "15 return tax"]


# -- context -----------------------------------------------------------------------------------------------------------


def ranked(count: int, **options: str) -> list[Ranked]:
    return [Ranked(item(number, **options), 1.0) for number in range(1, count + 1)]


def shown(found: list[Ranked], heading: Heading, height: int = 24, note: str = "") -> list[str]:
    return plain(screen.context_screen(found, heading, Texts({}, note), Words({"part"}), Size(80, height), None))


def test_a_screen_ends_with_how_to_see_more() -> None:
    assert shown(ranked(50), Heading("task"))[-1] == (
        "8 of 50 results; more: -n 20; source: --full; ranking: assay why TASK SYMBOL"
    )
    assert shown(ranked(2), Heading("task"))[-1] == "2 results; source: --full; ranking: assay why TASK SYMBOL"
    assert shown(ranked(2), Heading(scope="files a.py"))[-1] == "2 results; source: --full"


def test_a_stale_unsure_or_empty_answer_says_so_above_the_results() -> None:
    unsure = Heading(
        "x", False, "1 file changed since it was made", "9 symbols", ("pump",), "", (), 0.1, False, ("pmp",)
    )
    lines = shown(ranked(3), unsure)
    assert lines[0] == "confidence: 10 % that one of the first five is right: probably not in this"
    assert lines.index("index: 1 file changed since it was made") < lines.index("src/shop.py:10  function part_1")
    assert "nearest names: pump" in lines
    assert "src/shop.py:10  function part_1" in lines
    assert shown([], Heading("x", searched="9 symbols of 1 file", sure=False, unseen=("pmp",)))[:2] == [
        "unmatched words: pmp",
        "found: nothing in 9 symbols of 1 file",
    ]


def test_a_file_that_changed_since_is_marked() -> None:
    assert shown(ranked(1), Heading("x"), note="changed since it was indexed")[0] == (
        "src/shop.py:10  function part_1  [changed since it was indexed]"
    )


def test_the_sections_of_a_review_share_the_screen() -> None:
    sections = tuple(Section(name, name.title(), f"{count}") for name, count in (("touched", 30), ("callers", 30)))
    found = [
        Ranked(item(number, kind="method"), 1.0, section=name, why="changed")
        for name in ("touched", "callers")
        for number in range(1, 31)
    ]
    lines = shown(found, Heading(scope="2 files changed", sections=(*sections, Section("tests", "Tests", "none"))))
    assert len(lines) <= 22
    assert [line for line in lines if not line.startswith("  ")] == [
        "scope: 2 files changed",
        "Touched: 30",
        "Callers: 30",
        "Tests: none",
        "",
        "all, with their source: --full",
    ]
    rows = [line for line in lines if line.startswith("  ")]
    assert rows.count("  src/shop.py:10  method part_1  [changed]") == 2
    assert len(rows) == 16


# -- ask ---------------------------------------------------------------------------------------------------------------


def test_an_answer_is_wrapped_code_is_cut_and_sources_keep_their_last_headings() -> None:
    answer = f"{'word ' * 12}[#1]\n\n```\n{'code ' * 12}\n```"
    sources = "[#1] docs/guide.md:9-12  Guide > Of the desk > Fines and reminders"
    assert plain(screen.answer_screen("", answer, sources, Size(50, 24))) == [
        "  word word word word word word word word word",
        "  word word word [#1]",
        "",
        "      code code code code code code code code cod…",
        "",
        "[#1] docs/guide.md:9-12  Fines and reminders",
    ]


@pytest.mark.parametrize(("height", "last"), [(5, 1), (8, 2), (10, 2), (24, 5)])
def test_a_long_answer_shows_its_beginning_and_the_first_sources(height: int, last: int) -> None:
    answer = "\n".join(map(str, range(50)))
    sources = "\n".join(f"[#{number}] docs/guide.md:{number}" for number in range(1, 10))
    lines = plain(screen.answer_screen("", answer, sources, Size(80, height)))
    assert len(lines) == height - 2
    numbers = [line for line in lines if line.strip().isdecimal()]
    assert numbers == [f"  {number}" for number in range(len(numbers))]
    assert f"… {50 - len(numbers)} more lines: --full" in lines
    assert lines[-last - 1 :] == ["", *(f"[#{number}] docs/guide.md:{number}" for number in range(1, last + 1))]
    assert plain(screen.answer_screen("", answer, "", Size(80, 24)))[-1] == "… 29 more lines: --full"


# -- text --------------------------------------------------------------------------------------------------------------


def test_text_is_measured_in_columns() -> None:
    assert [columns(text) for text in ("abc", "日本", "e\u0301", "")] == [3, 4, 1, 0]
    assert shortened("日本語の文字", 7) == "日本語…"
    assert shortened("a\tb", 80) == "a   b"


def test_wrapped_lines_are_indented_and_lose_no_word() -> None:
    assert list(wrapped("- one two three four\n  five", 12)) == ["- one two", "  three four", "  five"]
    assert list(wrapped("unbreakable", 5)) == ["unbre", "  aka", "  ble"]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300), st.integers(8, 60))
def test_any_text_is_wrapped_within_the_width(text: str, width: int) -> None:
    assert all(columns(line) <= width for line in wrapped(text, width))


# -- recorded screens --------------------------------------------------------------------------------------------------

RECORDED = FIXTURES / "screens"
TASK = "how is the fine for an overdue loan computed"
QUERY = "how many days of grace before a fine"
QUESTION = "How much does a late book cost per day?"
PIPED = ("context", "context-n", "context-files", "search", "ask")
ANSWERS = {
    "context": ("context", TASK),
    "context-nothing": ("context", "rotate encryption keys"),
    "context-n": ("context", TASK, "-n", "3"),
    "context-files": ("context", "--files", "loans/mail.py"),
    "search": ("search", QUERY),
    "search-nothing": ("search", "blockchain"),
    "ask": ("ask", QUESTION),
    "ask-closest": ("ask", "How do I renew a passport?"),
    "ask-refused": ("ask", "Which Kubernetes cluster runs the billing?"),
    "symbols": ("symbols", "*fine*"),
    "impact": ("impact", "compute_fine"),
}


def _project(folder: Path) -> Path:
    root = folder / "loans"
    shutil.copytree(RECORDED / "project", root)
    assert assay(root, "index").code == 0
    assert assay(root, "search", "fine").code == 0  # builds the passages, which would show a progress bar
    return root


def _screen(root: Path, arguments: tuple[str, ...]) -> str:
    code, shown = in_terminal(root, *arguments)
    return f"{STYLE.sub('', without_progress(shown))}[exit code {code}]\n"


def _piped(root: Path, arguments: tuple[str, ...]) -> str:
    done = assay(root, *arguments)
    return f"{done.out}[exit code {done.code}]\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _project(tmp_path_factory.mktemp("screens"))


@pytest.mark.parametrize("name", ANSWERS)
def test_a_terminal_shows_the_recorded_screen(project: Path, name: str) -> None:
    screen = _screen(project, ANSWERS[name])
    assert screen == (RECORDED / f"{name}.screen").read_text("utf-8")
    assert max(map(len, screen.splitlines())) <= 80


@pytest.mark.parametrize("name", PIPED)
def test_a_pipe_gets_the_recorded_text(project: Path, name: str) -> None:
    assert _piped(project, ANSWERS[name]) == (RECORDED / f"{name}.piped").read_text("utf-8")


@pytest.mark.parametrize("name", ["context", "search", "ask"])
def test_one_screen_holds_the_command_and_the_prompt_too(project: Path, name: str) -> None:
    for height in (10, 24, 40):
        code, shown = in_terminal(project, *ANSWERS[name], size=(80, height))
        assert (code, shown.count("\n") <= height - 2) == (0, True)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("context", ("--format", "text")),
        ("context", ("--full", "--no-pager")),
        ("context", ("--budget", "50000", "--no-pager")),
        ("context-n", ("--full", "--no-pager")),
        ("search", ("--format", "text")),
        ("search", ("--full", "--no-pager")),
        ("ask", ("--format", "text")),
        ("ask", ("--full", "--no-pager")),
    ],
)
def test_a_terminal_shows_the_whole_answer_if_that_is_asked_for(
    project: Path, name: str, options: tuple[str, ...]
) -> None:
    code, shown = in_terminal(project, *ANSWERS[name], *options)
    whole = f"{STYLE.sub('', without_progress(shown))}[exit code {code}]\n"
    assert whole == (RECORDED / f"{name}.piped").read_text("utf-8")


def _record() -> None:
    isolate()
    with tempfile.TemporaryDirectory() as folder:
        root = _project(Path(folder))
        for name, arguments in ANSWERS.items():
            (RECORDED / f"{name}.screen").write_text(_screen(root, arguments), "utf-8")
            if name in PIPED:
                (RECORDED / f"{name}.piped").write_text(_piped(root, arguments), "utf-8")


if __name__ == "__main__":
    _record()
