"""Golden sets mined from history, doc comments and documents: accepted commits, rejected commits, expectations."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from assay.cli.evaluation.mine import locate, mine_command
from assay.core.golden import GoldenQuery
from assay.core.items import Outline
from assay.errors import AssayError
from assay.evaluate.golden import load
from assay.evaluate.mine import (
    Definition,
    Mined,
    Options,
    cut,
    mine_docstrings,
    mine_documents,
    mine_history,
    sample,
    split,
)
from assay.evaluate.mine import mined as messages
from assay.evaluate.mine.documents import sections
from assay.evaluate.mine.history import Commit
from assay.evaluate.mine.mined import role, tier
from assay.evaluate.mine.rules import reason_against, says_nothing
from assay.git import unquote
from assay.git.diff import Hunk
from support.command import assay
from support.repository import Repository

_CART = """import math


class Cart:
    rate = 1

    def __init__(self, owner):
        self.owner = owner
        self.lines = []

    def total(self):
        amount = sum(self.lines)

        return amount

    def clear(self):
        self.lines = []


def make_cart(owner):
    return Cart(owner)
"""
_WHY = "Round totals the way people expect"


@pytest.fixture
def shop(repository: Repository) -> Repository:
    """A repository with one source file, one test and one document, committed once."""
    repository.write("shop/cart.py", _CART)
    repository.write("tests/test_cart.py", "def test_total():\n    assert True\n")
    repository.write("docs/guide.md", "# Guide\n\nNothing yet.\n")
    repository.commit("Start the shop with one file")
    return repository


def _edit(repository: Repository, old: str, new: str, path: str = "shop/cart.py") -> None:
    text = (repository.root / path).read_text()
    assert old in text
    repository.write(path, text.replace(old, new, 1))


def _mine(repository: Repository, **options: object) -> Mined:
    return mine_history(repository.root, locate, Options(**options))  # type: ignore[arg-type]


def _newest(repository: Repository, **options: object) -> GoldenQuery:
    return _mine(repository, **options).queries[0]


def _names(query: GoldenQuery, level: str = "symbol") -> list[str]:
    return [one.name for one in query.at(level)]


# ---- history: what is expected


def test_a_commit_asks_with_its_message_for_the_symbols_it_touches(shop: Repository) -> None:
    _edit(shop, "sum(self.lines)", "round(sum(self.lines))")
    shop.commit(f"{_WHY}\n\nHalf a cent is nobody's.\n\nSigned-off-by: t <t@example.org>")
    query = _newest(shop)
    sha = shop.git("rev-parse", "HEAD").strip()
    assert query.text == f"{_WHY}\n\nHalf a cent is nobody's."
    assert _names(query) == ["Cart.total"]
    assert _names(query, "file") == ["shop/cart.py"]
    assert (query.id, query.commit, query.category) == (sha[:12], sha, "history")
    assert (query.tags, query.tier) == (("python",), "easy")


def test_symbols_are_named_as_the_parent_names_them(shop: Repository) -> None:
    _edit(shop, "def total(self)", "def amount(self)")
    shop.commit("Call the sum of a cart its amount")
    assert _names(_newest(shop)) == ["Cart.total"]


def test_lines_are_counted_in_the_parent_and_not_in_the_commit(shop: Repository) -> None:
    _edit(shop, "import math\n", "import math\n" + "import os\n" * 12)
    _edit(shop, "return Cart(owner)", "return Cart(owner.strip())")
    shop.commit("Ignore spaces around the name of an owner")
    assert _names(_newest(shop)) == ["make_cart"]


def test_a_line_between_two_lines_of_a_function_touches_it(shop: Repository) -> None:
    _edit(shop, "\n\n        return amount", "\n\n        assert amount\n        return amount")
    shop.commit("A cart without an amount is a mistake")
    assert _names(_newest(shop)) == ["Cart.total"]


def test_a_new_method_touches_the_class_around_it_and_no_neighbour(shop: Repository) -> None:
    _edit(shop, "    def clear(self)", "    def pay(self):\n        pass\n\n    def clear(self)")
    shop.commit("Let people pay for their carts")
    assert _names(_newest(shop)) == ["Cart"]


def test_a_file_touched_outside_of_definitions_is_expected_as_a_file(shop: Repository) -> None:
    shop.write("shop/pay.py", "import os\n\ndef pay():\n    return 1\n")
    shop.commit("Let people pay for their carts")
    _edit(shop, "import os", "import sys", "shop/pay.py")
    _edit(shop, "sum(self.lines)", "round(sum(self.lines))")
    shop.commit(_WHY)
    query = _newest(shop)
    assert _names(query) == ["Cart.total"]
    assert _names(query, "file") == ["shop/cart.py", "shop/pay.py"]


def test_a_renamed_file_has_its_old_path(shop: Repository) -> None:
    shop.git("mv", "shop/cart.py", "shop/basket.py")
    _edit(shop, "sum(self.lines)", "round(sum(self.lines))", "shop/basket.py")
    shop.commit(_WHY)
    query = _newest(shop)
    assert (_names(query), _names(query, "file")) == (["Cart.total"], ["shop/cart.py"])


def test_a_deleted_file_is_expected_with_what_it_held(shop: Repository) -> None:
    shop.write("shop/old.py", "def forgotten():\n    return 1\n")
    shop.commit("Add something to be forgotten soon")
    shop.git("rm", "-q", "shop/old.py")
    shop.commit("Forget what nobody has asked for")
    assert _names(_newest(shop)) == ["forgotten"]


def test_tests_documents_vendored_and_binary_files_are_not_expected(shop: Repository) -> None:
    shop.write("vendor/lib.py", "def lib():\n    return 1\n")
    shop.write("logo.bin", b"\0\1\2")
    shop.commit("Bring in what others have written")
    shop.write("vendor/lib.py", "def lib():\n    return 2\n")
    shop.write("logo.bin", b"\0\1\2\3")
    shop.write("tests/test_cart.py", "def test_total():\n    assert 1\n")
    shop.write("docs/guide.md", "# Guide\n\nSomething.\n")
    _edit(shop, "sum(self.lines)", "round(sum(self.lines))")
    shop.commit(_WHY)
    assert _names(_newest(shop), "file") == ["shop/cart.py"]
    with_tests = _newest(shop, include_tests=True)
    assert _names(with_tests) == ["Cart.total", "test_total"]
    assert _names(with_tests, "file") == ["shop/cart.py", "tests/test_cart.py"]


def test_formatting_beside_a_real_change_is_not_expected(shop: Repository) -> None:
    _edit(shop, "return Cart(owner)", "return Cart( owner )")
    _edit(shop, "sum(self.lines)", "round(sum(self.lines))")
    shop.commit(_WHY)
    assert _names(_newest(shop)) == ["Cart.total"]


@pytest.mark.parametrize("quoting", ["true", "false"])
def test_odd_paths_and_bytes_are_read_as_they_are(shop: Repository, quoting: str) -> None:
    shop.git("config", "core.quotePath", quoting)
    path = 'shop/größe "neu"\\x.py'
    shop.write(path, b"# caf\xe9\ndef measure():\n    return 1\n")
    shop.commit("Add a way to measure things")
    shop.write(path, b"# caf\xe9\ndef measure():\n    return 2\n")
    shop.commit("Measure things twice as well")
    query = _newest(shop)
    assert (_names(query), _names(query, "file")) == (["measure"], [path])


def test_text_that_looks_like_a_patch_does_not_confuse_the_reader(shop: Repository) -> None:
    shop.write(
        "shop/sql.py",
        'def query():\n    return """\n-- a/comment\n@@ -1 +1 @@\ndiff --git a b\n"""\n\n\ndef other():\n    return 1\n',
    )
    shop.commit("Keep a query in a string")
    _edit(shop, "-- a/comment\n@@ -1 +1 @@\ndiff --git a b\n", "++ b/comment\n:100644 odd\n", "shop/sql.py")
    shop.commit("Keep another query in a string")
    assert _names(_newest(shop)) == ["query"]


def test_a_file_that_became_a_link_does_not_shift_the_others(shop: Repository) -> None:
    shop.write("shop/a.py", "def first():\n    return 1\n")
    shop.write("shop/z.py", "def last():\n    return 1\n\n\ndef other():\n    return 1\n")
    shop.commit("Add more files to the shop")
    (shop.root / "shop/a.py").unlink()
    (shop.root / "shop/a.py").symlink_to("cart.py")
    _edit(shop, "sum(self.lines)", "round(sum(self.lines))")
    _edit(shop, "return 1", "return 2", "shop/z.py")
    shop.commit(_WHY)
    assert _names(_newest(shop)) == ["first", "Cart.total", "last"]


def test_the_tier_grows_with_the_number_of_folders() -> None:
    assert [tier([f"f{n}/x.py" for n in range(count)]) for count in (1, 2, 3, 4, 9)] == [
        "easy", "medium", "medium", "hard", "hard",
    ]  # fmt: skip


def test_a_folder_inside_a_repository_is_mined_alone(shop: Repository) -> None:
    shop.write("other/x.py", "def x():\n    return 1\n")
    shop.commit("Add something beside the shop")
    _edit(shop, "return 1", "return 2", "other/x.py")
    shop.commit("Change only what is beside the shop")
    _edit(shop, "sum(self.lines)", "round(sum(self.lines))")
    _edit(shop, "return 2", "return 3", "other/x.py")
    shop.commit(_WHY)
    mined = mine_history(shop.root / "shop", locate)
    assert [(query.text, _names(query), _names(query, "file")) for query in mined.queries] == [
        (_WHY, ["Cart.total"], ["cart.py"])
    ]


# ---- history: what is left out


def _total(repository: Repository, text: str = "round(sum(self.lines))") -> None:
    _edit(repository, "sum(self.lines)", text)


def _with_spaces(repository: Repository) -> None:
    _total(repository, "sum( self.lines )")
    repository.commit(_WHY)


def _merge(repository: Repository) -> None:
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("Nothing at all on a branch")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", "Merge the branch with nothing on it", "side")


def _by_a_bot(repository: Repository) -> None:
    _total(repository)
    repository.git("commit", "-qam", "Round all of the totals", "--author", "dependabot[bot] <d@example.org>")


def _saying(message: str) -> Callable[[Repository], None]:
    def change(repository: Repository) -> None:
        _total(repository)
        repository.commit(message)

    return change


def _writing(files: dict[str, str], message: str = _WHY) -> Callable[[Repository], None]:
    def change(repository: Repository) -> None:
        for path, text in files.items():
            repository.write(path, text)
        repository.commit(message)

    return change


def _bulk(repository: Repository) -> None:
    files = [f"shop/f{number}.py" for number in range(11)]
    _writing(dict.fromkeys(files, "def f():\n    return 1\n"), "Revert to many files")(repository)
    _writing(dict.fromkeys(files, "def f():\n    return 2\n"))(repository)


def _many_symbols(repository: Repository) -> None:
    text = "".join(f"def f{number}():\n    return 1\n" for number in range(21))
    _writing({"shop/many.py": text}, "Revert to many functions")(repository)
    _writing({"shop/many.py": text.replace("1", "2")})(repository)


def _twice(repository: Repository) -> None:
    _saying(_WHY)(repository)
    _edit(repository, "round(sum(self.lines))", "sum(self.lines)")
    repository.commit(_WHY.upper() + ".")


def _renamed(repository: Repository) -> None:
    repository.git("mv", "shop/cart.py", "shop/basket.py")
    repository.commit("Call the file a basket instead")


def _without_a_line_break(repository: Repository) -> None:
    _writing({"shop/end.py": "def end():\n    return 1"}, "Revert to a file without a line break")(repository)
    _writing({"shop/end.py": "def end():\n    return  1"})(repository)


_LEFT_OUT: dict[str, tuple[str, Callable[[Repository], None]]] = {
    "a merge": ("merge", _merge),
    "a bot": ("bot", _by_a_bot),
    "white space": ("formatting", _with_spaces),
    "white space at an end without a line break": ("formatting", _without_a_line_break),
    "a short message": ("short text", _saying("Fix it\n\nSigned-off-by: Somebody With Name <x@example.org>")),
    "an accident": ("says nothing", _saying("Remove print left in by accident")),
    "the same message": ("duplicate text", _twice),
    "many files": ("bulk", _bulk),
    "many symbols": ("bulk", _many_symbols),
    "a new file": ("pure addition", _writing({"shop/new.py": "def new():\n    return 1\n"})),
    "a new function": ("pure addition", lambda repository: _writing({"shop/cart.py": _CART + "\n\ndef new():\n    return 1\n"})(repository)),
    "tests only": ("tests only", _writing({"tests/test_cart.py": "def test_total():\n    assert 1\n"})),
    "documents only": ("no source code", _writing({"docs/guide.md": "# Guide\n\nNow there is.\n"})),
    "generated files": ("vendored or generated", _writing({"shop/a_pb2.py": "x = 1\n", "poetry.lock": "x\n", "web/app.min.js": "x\n"})),
    "a new name": ("renamed only", _renamed),
    "nothing": ("empty", lambda repository: repository.commit("Nothing at all in this one")),
}  # fmt: skip


@pytest.mark.parametrize("case", _LEFT_OUT)
def test_a_commit_is_left_out_and_counted_under_its_reason(shop: Repository, case: str) -> None:
    reason, change = _LEFT_OUT[case]
    before = _mine(shop)
    change(shop)
    after = _mine(shop)
    assert after.counts.get(reason, 0) == before.counts.get(reason, 0) + 1
    assert len(after.queries) == len(before.queries) + (case == "the same message")


# message → reason to skip its commit; empty where it only sounds like housekeeping
_MESSAGES = {
    "Bump the version to 2.0 of the shop": "release",
    "release 2.0.1 for all the people": "release",
    'Revert "Round totals the way people expect"': "revert",
    "Do not round totals\n\nThis reverts commit 1234567.": "revert",
    "chore: run black on everything in sight": "formatting",
    "style(cart): wrap the long lines again": "formatting",
    "[ruff] Enable C400, which finds needless generators": "formatting",
    "Upgrade the Python formatter ruff once more": "formatting",
    "Merge pull request #12 from somebody/rounding": "merge",
    "ci: run everything on two more systems": "housekeeping",
    "docs(cart): say how totals are rounded": "documentation",
    "Fix some small typos in comments and names": "documentation",
    "Slightly improve the docs of carts": "documentation",
    "Slight improvement to the docs (#12)": "documentation",
    "Add changelog entry, fix an admonition": "documentation",
    "test(cart): reach all of the lines": "tests only",
    "Add more tests for carts without lines": "tests only",
    "fixup! Round totals the way people expect": "follow-up",
    "fix: address the remaining review feedback on carts": "follow-up",
    "chore: update esbuild to version 0.27.1 of today": "release",
    "Delete a mistaken old comment of the cart": "documentation",
    "document that the cart uses items as they are": "documentation",
    "Update shop/inner/cart.py": "default message",
    "Update shop/inner/cart.py (#12)\n\nCo-authored-by: A B <a@example.org>": "default message",
    "Release the lock when a write fails": "",
    "fix: format numbers with a comma as separator": "",
    "Use black ink for printed receipts": "",
    "Version the cache so old entries are dropped": "",
    "Update the rounding of totals in carts": "",
    "Abbot: accept names with apostrophes in carts": "",
    "Fix comment parsing in lists of carts": "",
    "Add a warning for carts without lines and fix a small typo": "",
    "Address books of customers are sorted by name": "",
    "Test that a cart is empty before it is sold": "",
    "Merge equal lines of a cart into one": "",
    "Merge branch prices of a chain into one list": "",
    "Fix grammar rules for nested carts": "",
    "Build totals from the lines that are left": "",
}


@pytest.mark.parametrize(("message", "reason"), _MESSAGES.items())
def test_a_message_may_be_a_reason_to_skip_its_commit(message: str, reason: str) -> None:
    commit = Commit("sha", ("parent",), 0, "A <a@example.org>", "A <a@example.org>", message)
    assert reason_against(commit, include_tests=False) == reason
    assert reason or not says_nothing(message)


def test_inline_tests_of_a_source_file_are_not_expected(repository: Repository) -> None:
    rust = "pub fn total() -> u32 {\n    1\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(1, 1);\n    }\n}\n"
    repository.write("src/lib.rs", rust)
    repository.commit("Start with a single function")
    repository.write("src/lib.rs", rust.replace("(1, 1)", "(2, 2)"))
    repository.commit("Check that twos are equal, too")
    assert _mine(repository).counts["tests only"] == 1
    repository.write("src/lib.rs", rust.replace("    1\n", "    2\n"))
    repository.commit("Two is a better total than one")
    assert _names(_newest(repository)) == ["total"]


# ---- history: bounds


@pytest.fixture
def years(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Four commits that make queries, at midnight and just before it, in several years."""
    dates = ["2021-12-31T23:59:59Z", "2022-01-01T00:00:00Z", "2023-06-01T22:00:00-05:00", "2024-01-01T12:00:00Z"]
    for number, date in enumerate(dates, 1):
        monkeypatch.setenv("GIT_COMMITTER_DATE", date)
        _edit(shop, "rate = ", "rate = 1 + ")
        shop.commit(f"Raise the rate of carts, step {'abcd'[number - 1]}")
        shop.git("tag", f"step{number}")
    return shop


def _steps(mined: Mined) -> str:
    return "".join(query.text[-1] for query in mined.queries)


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({}, "dcba"),
        ({"limit": 2}, "dc"),
        ({"max_commits": 3}, "dcb"),
        ({"since": "2022-01-01"}, "dcb"),
        ({"since": "step2"}, "dc"),
        ({"until": "2021-12-31", "since": "2021-01-01"}, "a"),
        ({"until": "2022-01-01T00:00:00"}, "ba"),
        ({"until": "step3", "since": "step1"}, "cb"),
        ({"until": "2023-06-02"}, "cba"),
    ],
)
def test_bounds_are_dates_in_utc_or_revisions(years: Repository, options: dict[str, object], steps: str) -> None:
    assert _steps(_mine(years, **options)) == steps


def test_a_query_notes_when_it_was_committed_in_utc(years: Repository) -> None:
    assert _mine(years).queries[1].notes == "2023-06-02T03:00:00Z"


@pytest.mark.parametrize("since", ["yesterday", "2022-13-45", "--all"])
def test_a_bound_that_is_neither_date_nor_revision_is_refused(years: Repository, since: str) -> None:
    with pytest.raises(AssayError, match=f"--since {since}: neither a date"):
        _mine(years, since=since)


@pytest.mark.parametrize(
    ("at", "older", "newer"), [("2022-01-01", "a", "bcd"), ("0.5", "ab", "cd"), ("2023-06-02T03:00:00Z", "ab", "cd")]
)
def test_a_split_puts_everything_older_before_everything_newer(
    years: Repository, at: str, older: str, newer: str
) -> None:
    sides = split(_mine(years).queries, cut(at))
    assert tuple("".join(query.text[-1] for query in side) for side in sides) == (older, newer)


@pytest.mark.parametrize("at", ["0", "1", "1.5", "-0.2", "nan", "soon", "2022"])
def test_a_split_at_neither_a_date_nor_a_share_is_refused(at: str) -> None:
    with pytest.raises(AssayError, match="--split"):
        cut(at)


def test_queries_without_a_date_cannot_be_split() -> None:
    with pytest.raises(AssayError, match="'x' has no date"):
        split([GoldenQuery("x", "text", notes="src/app.py:1")], 0.5)


@given(st.lists(st.integers(), unique=True, max_size=40), st.integers(1, 40), st.integers())
def test_a_sample_keeps_the_order_and_new_queries_displace_at_most_as_many(
    ids: list[int], size: int, seed: int
) -> None:
    queries = [GoldenQuery(str(number), "text") for number in ids]
    drawn = sample(queries, size, seed)
    assert len(drawn) == min(size, len(queries))
    assert [query for query in queries if query in drawn] == drawn
    assert drawn == sample(queries, size, seed)
    before = sample(queries[:-1], size, seed)
    assert len(set(before) - set(drawn)) <= 1


# ---- history: repositories that are not as they should be


def test_a_folder_outside_of_git_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="not a git repository"):
        mine_history(tmp_path, locate)


def test_a_repository_without_commits_is_refused(repository: Repository) -> None:
    with pytest.raises(AssayError, match="no commits yet"):
        _mine(repository)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="not a folder"):
        mine_history(tmp_path / "nowhere", locate)


def test_a_machine_without_git_is_refused(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(AssayError, match="git was not found"):
        _mine(shop)


def test_a_shallow_clone_is_mined_with_a_warning(years: Repository, tmp_path: Path) -> None:
    subprocess.run(
        ["git", "clone", "-q", "--depth", "2", f"file://{years.root}", str(tmp_path / "clone")],
        check=True,
        capture_output=True,
    )
    mined = mine_history(tmp_path / "clone", locate)
    assert _steps(mined) == "d"
    assert mined.warnings[0].code == "shallow-clone"


def test_the_configuration_of_the_user_changes_nothing(years: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    _edit(years, "sum(self.lines)", "round(sum(self.lines))")
    _edit(years, "self.owner = owner", "self.owner = owner.strip()")
    years.git("mv", "shop/cart.py", "shop/basket.py")
    years.commit("Round totals and strip the names of owners")
    plain = _mine(years)
    assert _names(plain.queries[0]) == ["Cart.__init__", "Cart.total"]
    for name, value in {
        "diff.noprefix": "true", "diff.context": "7", "diff.interHunkContext": "9", "diff.algorithm": "patience", "color.ui": "always",
        "log.showSignature": "true", "diff.renames": "false", "core.quotePath": "false", "core.abbrev": "5", "log.date": "relative",
        "i18n.logOutputEncoding": "latin1", "diff.relative": "false", "log.diffMerges": "first-parent", "format.notes": "true",
    }.items():  # fmt: skip
        years.git("config", name, value)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert _mine(years) == plain


# ---- lines and definitions


@st.composite
def _nested(draw: st.DrawFn, first: int = 1, last: int = 30, depth: int = 0) -> list[Definition]:
    """Definitions in a text of 30 lines, each inside another or beside it."""
    out: list[Definition] = []
    at = first
    while at <= last and draw(st.booleans()):
        start = draw(st.integers(at, last))
        end = draw(st.integers(start, last))
        out.append(Definition(f"s{start}-{end}-{depth}", "class", start, end))
        if depth < 3 and start + 1 < end:
            out += draw(_nested(start + 1, end, depth + 1))
        at = end + 1
    return out


@given(_nested(), st.integers(1, 31), st.integers(0, 5))
def test_a_changed_line_touches_the_smallest_definition_around_it(
    definitions: list[Definition], start: int, count: int
) -> None:
    hunk = Hunk(start, (b"x",) * count, (b"y",))
    expected = set()
    for first, last in [(line, line) for line in range(start, start + count)] or [(start, start + 1)]:
        around = [one for one in definitions if one.start <= first and last <= one.end]
        if around:
            expected.add(min(around, key=lambda one: (one.end - one.start, -int(one.symbol[-1]))))
    assert set(Outline(definitions).touched(hunk.places())) == expected


def test_a_namespace_around_everything_is_not_touched() -> None:
    outline = Outline([Definition("shop", "namespace", 1, 9), Definition("shop::pay", "function", 3, 4)])
    assert [one.symbol for one in outline.touched([(1, 1), (3, 3)])] == ["shop::pay"]


@given(st.text("ab \t", max_size=20), st.text("ab \t", max_size=20))
def test_a_hunk_is_formatting_when_the_texts_are_equal_without_white_space(old: str, new: str) -> None:
    hunk = Hunk(1, (old.encode(),), (new.encode(),))
    assert hunk.formatting == ("".join(old.split()) == "".join(new.split()))


@pytest.mark.parametrize(
    ("printed", "path"), [(b"a b.py", "a b.py"), (rb'"a\303\266\"\\\t.py"', 'aö"\\\t.py'), (b'"', '"')]
)
def test_a_quoted_path_is_read(printed: bytes, path: str) -> None:
    assert unquote(printed) == path


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("src/app.py", "source"),
        ("src/contest.py", "source"),
        ("src/doc/parser.go", "source"),
        ("docs/conf.py", "document"),
        ("README.md", "document"),
        ("pyproject.toml", "document"),
        (".gitignore", "document"),
        ("pkg/app_test.go", "test"),
        ("tests/helper.py", "test"),
        ("web/cart.spec.ts", "test"),
        ("vendor/x/y.go", "vendored"),
        ("web/node_modules/a.js", "vendored"),
        ("Cargo.lock", "vendored"),
        ("go.sum", "vendored"),
        ("api/v1_pb2.py", "vendored"),
        ("web/app.min.js", "vendored"),
    ],
)
def test_a_path_has_a_role(path: str, what: str) -> None:
    assert role(path) == what


# ---- messages


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "fix(router): a\n\nbody: stays\n\nSigned-off-by: A <a@b>\nCo-authored-by: B <b@c>",
            "fix(router): a\n\nbody: stays",
        ),
        ("a\r\n\r\n---------\r\n\r\nCo-authored-by: B <b@c>", "a"),
        ("a\n\nChange-Id: I123\nReviewed-on: https://x/y\n", "a"),
        ("a\n\n(cherry picked from commit 1234)", "a"),
        ("Note: this is a sentence", "Note: this is a sentence"),
        ("Let run() take items[] as they are", "Let run() take items[] as they are"),
    ],
)
def test_trailers_are_stripped_and_nothing_else(text: str, kept: str) -> None:
    assert messages.without_trailers(text) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Fix retries (#5841)", "Fix retries"),
        ("Fix retries (closes #12 and #13).", "Fix retries."),
        ("Fix retries\n\nFixes: GH-12", "Fix retries"),
        ("Fix retries\n\nFixes #1710, PR #1711\nRef #3", "Fix retries"),
        ("SHOP-123: round totals in UTF-8 and SHA-256", "round totals in UTF-8 and SHA-256"),
        ("See https://github.com/a/b/issues/12 for more", "for more"),
        ("Same as owner/repo#7 did", "Same as did"),
        ("Colour #fff stays", "Colour #fff stays"),
        ("Take step-1 of python-3", "Take step-1 of python-3"),
        ("Round totals, Closes gh-7", "Round totals,"),
    ],
)
def test_ids_are_stripped_on_request(text: str, kept: str) -> None:
    assert messages.without_ids(text) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Make `Cart.total()` round, total() was not, totals are", "Make round, was not, totals are"),
        ("In shop/cart.py (cart.py) the cart is", "In the cart is"),
        ("make_cart and make_carts", "and make_carts"),
    ],
)
def test_names_that_are_expected_are_stripped_on_request(text: str, kept: str) -> None:
    assert messages.without_names(text, ["Cart.total", "make_cart"], ["shop/cart.py"]) == kept


def test_stripping_reaches_the_query_and_may_leave_too_little_of_it(shop: Repository) -> None:
    _total(shop)
    shop.commit("Let Cart.total round as people would (#7)")
    assert _newest(shop, strip_names=True, strip_ids=True).text == "Let round as people would"
    _edit(shop, "return Cart(owner)", "return Cart(owner.strip())")
    shop.commit("Fix make_cart for owner spaces (#8)")
    assert _newest(shop).text == "Fix make_cart for owner spaces (#8)"
    assert _mine(shop, strip_names=True, min_words=5).counts["short text"] == 1
    assert _newest(shop, keep_trailers=True).commit


def test_a_script_without_spaces_is_not_taken_for_a_short_message() -> None:
    assert messages.word_count("修复路由匹配错误") == 8


@given(st.text(st.sampled_from("ab #1-\n()GH.`"), max_size=60))
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = messages.without_ids(messages.without_trailers(text))
    assert messages.tidy(once) == once


# ---- doc comments and documents


def test_a_doc_comment_asks_for_its_symbol(repository: Repository) -> None:
    repository.write(
        "shop/cart.py",
        'def total():\n    """The sum of all lines,\n    rounded to cents.\n\n    More of it."""\n\n\n'
        'def short():\n    """Too short."""\n\n\n'
        'def tagged():\n    """:param a: what is asked for here"""\n\n\n'
        'def one():\n    """Does the same as others do."""\n\n\n'
        'def two():\n    """Does the same as others do."""\n\n\n'
        "#: How many lines a cart\n#: may have at most.\nLIMIT = 3\n",
    )
    repository.write("tests/test_cart.py", 'def test_total():\n    """The sum is what was added up."""\n')
    repository.commit()
    mined = mine_docstrings(repository.root, locate)
    assert [(query.text, _names(query)) for query in mined.queries] == [
        ("The sum of all lines, rounded to cents.", ["total"]),
        ("How many lines a cart may have at most.", ["LIMIT"]),
    ]
    assert mined.counts == {"duplicate text": 2, "short text": 1, "starts with a tag": 1}
    query = mined.queries[0]
    assert (query.id, query.category, query.tags, query.notes) == (
        "shop/cart.py::total", "docstring", ("python",), "shop/cart.py:1",
    )  # fmt: skip


def test_a_getter_and_its_setter_are_asked_for_once(repository: Repository) -> None:
    repository.write(
        "a.py",
        'class A:\n    @property\n    def x(self):\n        """The place of the thing."""\n\n'
        '    @x.setter\n    def x(self, value):\n        """Moves the thing over there."""\n',
    )
    repository.commit()
    assert [query.id for query in mine_docstrings(repository.root, locate).queries] == ["a.py::A.x"]


def test_a_doc_comment_may_be_stripped_of_its_name_and_marked_as_held_out(repository: Repository) -> None:
    repository.write("a.go", "package a\n\n// Total adds up the lines of a cart.\nfunc Total() int { return 1 }\n")
    repository.commit()
    query = mine_docstrings(repository.root, locate, Options(strip_names=True, held_out=True)).queries[0]
    assert query.text == "adds up the lines of a cart."
    assert query.tags == ("go", "held-out")
    assert "a.go::Total" in query.notes


_GUIDE = """---
title: not a heading
---
# Shop

Carts hold what people want to buy.

## Rounding

Totals are rounded by `Cart.total()`, to cents.

```python
`Cart.rate`
```

Clearing a ``make_cart`` result is up to :meth:`~shop.cart.Cart.clear`.

Ambiguous
---------

Both files have a function `run_all` of their own, and `clear` is a word.

Foreign
-------

Something like `os.path.make_cart` is not ours at all.

## Bare

**Short**: `make_cart`
"""


def test_a_section_asks_for_the_symbols_it_names(shop: Repository) -> None:
    shop.write("a.py", "def run_all():\n    return 1\n")
    shop.write("b.py", "def run_all():\n    return 2\n")
    shop.write("docs/guide.md", _GUIDE)
    shop.write("CHANGES.md", "# Version 2\n\nPeople may now call `make_cart` without an owner.\n")
    shop.commit()
    mined = mine_documents(shop.root, locate)
    query = mined.queries[0]
    assert [query.id for query in mined.queries] == ["docs/guide.md:8"]
    assert query.text == "Rounding\n\nTotals are rounded by `Cart.total()`, to cents."
    assert _names(query) == ["Cart.total", "make_cart", "Cart.clear"]
    assert _names(query, "file") == ["shop/cart.py"]
    assert (query.category, query.tags, query.notes) == ("document", ("python",), "docs/guide.md:8")
    assert mined.counts == {"names no symbol": 3, "short text": 1}
    stripped = mine_documents(shop.root, locate, Options(strip_names=True)).queries[0]
    assert stripped.text == "Rounding\n\nTotals are rounded by, to cents."


def test_a_section_that_names_too_many_symbols_is_left_out(shop: Repository) -> None:
    shop.write("many.py", "".join(f"def do_{letter}():\n    return 1\n" for letter in "abcdefghi"))
    shop.write(
        "docs/guide.md", "# All\n\nThis is all there is: " + ", ".join(f"`do_{letter}`" for letter in "abcdefghi")
    )
    shop.commit()
    assert mine_documents(shop.root, locate).counts == {"names more than 8 symbols": 1}


def test_headings_of_markdown_and_of_restructured_text_are_found() -> None:
    text = "=====\nTitle\n=====\n\n.. note:: no\n\nFirst words\nof it.\n"
    assert [(one.heading, one.line, one.opening) for one in sections(text, "rst")] == [
        ("Title", 2, "First words of it.")
    ]
    text = "intro\n\n# Other #\n\ntext\n\n~~~\n# code\n~~~\n"
    assert [(one.heading, one.line, one.opening) for one in sections(text, "markdown")] == [("Other", 3, "text")]
    assert list(sections("no heading\n", "markdown")) == []


# ---- the command


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(mine_command, [str(one) for one in arguments])


def test_the_command_prints_why_commits_were_left_out(years: Repository) -> None:
    done = _run("--root", years.root)
    assert done.exit_code == 0
    assert done.output.splitlines() == ["history: 4 queries, 1 left out", "       1  pure addition"]
    found = json.loads(
        _run("--root", years.root, "--from", "history", "--from", "documents", "--format", "json").output
    )
    assert found == {
        "queries": 4,
        "sources": {
            "history": {"queries": 4, "left_out": {"pure addition": 1}},
            "documents": {"queries": 0, "left_out": {"names no symbol": 1}},
        },
        "written": {},
        "warnings": [],
    }


def test_the_same_command_writes_the_same_bytes_and_they_can_be_read_again(years: Repository, tmp_path: Path) -> None:
    written = []
    for name, zone in (("a.jsonl", "UTC"), ("b.jsonl", "Asia/Tokyo")):
        arguments = ["--root", str(years.root), "--output", str(tmp_path / name), "--sample", "3", "--seed", "7"]
        done = CliRunner(env={"TZ": zone, "LC_ALL": "C"}).invoke(mine_command, arguments)
        assert done.exit_code == 0, done.output
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]
    read = load(tmp_path / "a.jsonl").queries
    assert {(query.id, query.text, query.expected, query.tier, query.commit) for query in read} <= {
        (query.id, query.text, query.expected, query.tier, query.commit) for query in _mine(years).queries
    }
    assert len(read) == 3


def test_a_split_writes_two_files(years: Repository, tmp_path: Path) -> None:
    done = _run("--root", years.root, "--output", tmp_path / "set.jsonl", "--split", "2022-01-01")
    assert done.exit_code == 0, done.output
    assert len((tmp_path / "set.train.jsonl").read_text().splitlines()) == 1
    assert len((tmp_path / "set.test.jsonl").read_text().splitlines()) == 3
    assert not (tmp_path / "set.jsonl").exists()


def test_held_out_symbols_are_listed(repository: Repository, tmp_path: Path) -> None:
    repository.write("a.py", 'def total():\n    """The sum of all the lines."""\n')
    repository.commit()
    done = _run("--root", repository.root, "--from", "docstrings", "--held-out", tmp_path / "hidden.txt")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "hidden.txt").read_text() == "a.py::total\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--output", "set.yaml"], "ends in .jsonl"),
        (["--split", "0.5"], "give --output"),
        (["--split", "soon", "--output", "set.jsonl"], "give a date"),
        (["--split", "0.5", "--output", "set.jsonl", "--from", "docstrings"], "only commits have a date"),
        (["--split", "1999-01-01", "--output", "set.jsonl"], "set.train.jsonl: no queries"),
        (["--held-out", "x.txt"], "add --from docstrings"),
        (["--since", "2100-01-01", "--output", "set.jsonl"], "no queries to write"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(
    years: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    done = _run("--root", years.root, *arguments)
    assert isinstance(done.exception, AssayError)
    assert said in str(done.exception)
    assert "\n" not in str(done.exception)
    assert not os.listdir()


# --- messages that say nothing, comments, several processes


@pytest.mark.parametrize(
    "message",
    [
        "Remove print left in by accident",
        "fix pyright type errors",
        "clean up outdated code",
        "run latest black format",
        "Fix style issues on master using Black",
        "fix string concats left over by black",
        "Merge commit from fork",
        "chore: fix dead code warnings (#6423)",
        "WIP: more changes, still debugging",
    ],
)
def test_a_message_that_names_nothing_of_the_code_says_nothing(message: str) -> None:
    assert says_nothing(message)


@pytest.mark.parametrize(
    "message",
    [
        "remove deprecated config.from_json",
        "clean up open_resource and tests",
        "fix(cache): skip responses with vary header",
        "fix typing of send_file",
        "Fix crash on empty carts",
        "Merge commit from fork\n\n* fix(cors): use `split` for headers",
        "perf(router): use concat",
    ],
)
def test_a_message_with_one_telling_word_is_a_query(message: str) -> None:
    assert not says_nothing(message)


def test_a_change_of_comments_alone_is_documentation(shop: Repository) -> None:
    before = _mine(shop).counts.get("documentation", 0)
    path = shop.root / "shop" / "cart.py"
    path.write_text(path.read_text() + "\n\ndef refund(order):\n    # give it back\n    return order\n")
    shop.commit("Refund whole orders to the customer at once")
    path.write_text(path.read_text().replace("# give it back", "# give all of it back, at once"))
    shop.commit("Refunds are explained where the customer gets them")
    assert _mine(shop).counts["documentation"] == before + 1
    path.write_text(
        path.read_text().replace(
            "    # give all of it back, at once\n    return order", "    # now\n    return [order]"
        )
    )
    shop.commit("Refunds are listed where the customer gets them")
    mined = _mine(shop)
    assert mined.counts["documentation"] == before + 1
    assert mined.queries[0].text == "Refunds are listed where the customer gets them"


def test_several_processes_mine_the_same_set(years: Repository, tmp_path: Path) -> None:
    outputs = []
    for jobs in ("1", "2", "3"):
        target = tmp_path / f"jobs{jobs}.jsonl"
        done = assay(years.root, "eval", "mine", "--jobs", jobs, "-o", target, "--format", "json")
        assert done.code == 0, done.err
        report = {name: value for name, value in done.json.items() if name != "written"}
        outputs.append((target.read_bytes(), report))
    assert outputs[0] == outputs[1] == outputs[2]
    limited = [_mine(years, limit=2, jobs=jobs) for jobs in (1, 2)]
    assert limited[0] == limited[1]
