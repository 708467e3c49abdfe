"""The history next to an index, read from real git repositories."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.git import Git
from assay.index import history as log
from assay.store import arrays, history
from assay.store.history import Commit, CommitLog, History, Touch
from assay.store.index import UnusableIndex
from assay.text.terms import terms
from support.property_tests import examples
from support.repository import Repository

CART = """\
class Cart:
    limit = 10

    def total(self):
        amount = 0
        return amount

    @property
    def owner(self):
        return None


def make_cart():
    return Cart()
"""


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("shop/cart.py", CART)
    repository.write("shop/pay.py", "def pay():\n    return 1\n")
    repository.commit("Initial commit")
    return repository


def _edit(repository: Repository, path: str, old: str, new: str, message: str) -> None:
    text = (repository.root / path).read_text()
    assert old in text
    repository.write(path, text.replace(old, new, 1))
    repository.commit(message)


def _history(repository: Repository) -> History:
    repository.index()
    return History.open(repository.open())


def _subjects(found: History, word: str) -> list[str]:
    return [found.subject(int(commit)) for commit in found.commits(terms(word)[0])[0]]


def _all_subjects(found: History) -> list[str]:
    return [found.subject(commit) for commit in range(len(found))]


def _files(found: History, commit: int) -> set[str]:
    paths = {row.number: path for path, row in found.index.files.items()}
    return {paths[number] for number in found.touched(commit)}


def _symbols(found: History, commit: int = 0) -> set[str]:
    return {found.index.item(int(number)).symbol for number in found.symbols(commit)}


# from words to commits to files and symbols


def test_words_lead_to_commits_and_commits_to_files_and_symbols(shop: Repository) -> None:
    _edit(shop, "shop/cart.py", "amount = 0", "amount = 1", "Round totals\n\nRounding was wrong; rounded twice.")
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Pay in rounded coins")
    found = _history(shop)
    commits, counts = found.commits(terms("rounding")[0])
    assert commits.tolist() == [0, 1]
    assert counts.tolist() == [1, 3]
    assert [_files(found, commit) for commit in (0, 1)] == [{"shop/pay.py"}, {"shop/cart.py"}]
    assert [_symbols(found, commit) for commit in (0, 1)] == [{"pay"}, {"Cart.total"}]
    assert found.lengths.tolist() == [4, 7]
    assert found.id(0) == shop.git("rev-parse", "HEAD").strip()


def test_a_word_no_message_has_leads_nowhere(shop: Repository) -> None:
    commits, counts = _history(shop).commits("zebra")
    assert len(commits) == len(counts) == 0


def test_trailers_and_ticket_numbers_are_no_words(shop: Repository) -> None:
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Pay twice (#4711)\n\nSigned-off-by: Zoe <zoe@example.org>\n")
    found = _history(shop)
    assert [_subjects(found, word) for word in ("zoe", "4711")] == [[], []]
    assert _subjects(found, "twice") == ["Pay twice (#4711)"]


def test_bulk_changes_bots_merges_and_first_commits_are_left_out(shop: Repository) -> None:
    for number in range(log.MOST_FILES + 1):
        shop.write(f"many/m{number}.py", "x = 1\n")
    shop.commit("Reformat everything")
    shop.git("checkout", "-q", "-b", "side")
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Work on the side")
    shop.git("checkout", "-q", "main")
    _edit(shop, "shop/cart.py", "limit = 10", "limit = 11", "Raise the limit")
    shop.git("merge", "-q", "--no-ff", "-m", "Merge the side", "side")
    shop.write("shop/pay.py", "def pay():\n    return 3\n")
    shop.git("add", "-A")
    shop.git("commit", "-q", "-m", "Bump things", "--author", "dependabot[bot] <bot@example.org>")
    assert sorted(_all_subjects(_history(shop))) == ["Raise the limit", "Work on the side"]


def test_as_many_files_as_allowed_are_no_bulk_change(shop: Repository) -> None:
    for number in range(log.MOST_FILES):
        shop.write(f"many/m{number}.py", "x = 1\n")
    shop.commit("Add many")
    found = _history(shop)
    assert _all_subjects(found) == ["Add many"]
    assert len(found.touched(0)) == found.sizes[0] == log.MOST_FILES


def test_a_file_is_found_where_it_is_now(shop: Repository) -> None:
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Pay more")
    shop.git("mv", "shop/pay.py", "shop/money.py")
    shop.commit("Rename")
    shop.git("mv", "shop/money.py", "shop/coins.py")
    shop.commit("Rename again")
    found = _history(shop)
    assert [_files(found, commit) for commit in range(3)] == [{"shop/coins.py"}] * 3
    assert _symbols(found, 2) == {"pay"}


def test_a_path_that_exists_is_not_the_file_that_left_it(shop: Repository) -> None:
    shop.git("mv", "shop/pay.py", "shop/money.py")
    shop.commit("Rename")
    shop.write("shop/pay.py", "class Other:\n    pass\n")
    shop.commit("A new one takes its place")
    _edit(shop, "shop/pay.py", "pass", "x = 1", "Other things")
    found = _history(shop)
    assert [_files(found, commit) for commit in range(3)] == [{"shop/pay.py"}, {"shop/pay.py"}, {"shop/money.py"}]


def test_a_path_that_was_left_twice_is_the_file_that_left_it_last(shop: Repository) -> None:
    shop.git("mv", "shop/pay.py", "shop/money.py")
    shop.commit("Rename")
    shop.write("shop/pay.py", "class Other:\n    limit = 1\n\n    def other(self):\n        return self.limit\n")
    shop.commit("A new one takes its place")
    shop.git("mv", "shop/pay.py", "shop/other.py")
    shop.commit("Rename that, too")
    assert _files(_history(shop), 1) == {"shop/other.py"}


def test_files_that_are_gone_or_not_indexed_count_but_are_not_touched(shop: Repository) -> None:
    shop.write("shop/old.py", "x = 1\n")
    shop.write("notes.bin", b"\0\1")
    shop.write("shop/pay.py", "def pay():\n    return 5\n")
    shop.commit("Three files")
    (shop.root / "shop/old.py").unlink()
    shop.commit("One goes")
    found = _history(shop)
    assert _files(found, 1) == {"shop/pay.py"}
    assert found.sizes.tolist() == [1, 3]
    assert len(found.touched(0)) == 0


# which symbols


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("amount = 0", "amount = 1", {"Cart.total"}),
        ("limit = 10", "limit = 11", {"Cart"}),
        ("def owner(self)", "def owner(self, x)", {"Cart.owner"}),
        ("    def total(self)", "    # sums up\n    def total(self, x)", {"Cart.total"}),
        ("    @property\n", "    # who has it\n    @property\n", set()),
        ("    @property\n    def owner", "    @cached\n    def owner", set()),
        ("\n\ndef make_cart", "\n\ndef other():\n    return 1\n\n\ndef make_cart", {"other"}),
        ("class Cart:", "import os\n\n\nclass Cart:", set()),
        ("        return None\n", "        return None\n\n    size = 3\n", set()),
    ],
)
def test_a_change_touches_the_definition_it_stands_in(shop: Repository, old: str, new: str, names: set[str]) -> None:
    _edit(shop, "shop/cart.py", old, new, "Change it")
    assert _symbols(_history(shop)) == names


@pytest.mark.parametrize(
    ("path", "before", "old", "new", "symbol"),
    [
        ("a.rb", "class A\n  def self.b?(x)\n    1\n  end\nend\n", "1", "2", "A.b?"),
        ("a.go", "package a\n\nfunc (c *Cart) Total(x int) int {\n\treturn 1\n}\n", "1", "2", "Cart.Total"),
        ("a.rs", "impl A {\n    pub(crate) fn total(&self) -> u8 {\n        1\n    }\n}\n", "1", "2", "A.total"),
        ("a.ts", "export class A {\n  async total(x: string): Promise<number> {\n    if (x) {\n      return 1;\n    }\n  }\n}\n",
         "1", "2", "A.total"),
        ("a.js", "export const total = (x) => {\n  return 1;\n};\n", "1", "2", "total"),
        ("A.java", "class A {\n  @Nullable\n  public static <T> int total(T x) {\n    return 1;\n  }\n}\n", "1", "2", "A.total"),
        ("A.cs", "class A\n{\n    public int Total(int x)\n    {\n        return 1;\n    }\n}\n", "1", "2", "A.Total"),
        ("a.c", "static int *total(int x)\n{\n\treturn 1;\n}\n", "1", "2", "total"),
        ("a.py", "LIMITS = {\n    'a': 1,\n}\n", "1", "2", "LIMITS"),
        ("a.py", "def total():\r\n    return 1\r\n", "1", "2", "total"),
    ],
)  # fmt: skip
def test_definitions_are_known_in_many_languages(
    repository: Repository, path: str, before: str, old: str, new: str, symbol: str
) -> None:
    repository.write("other.py", "x = 1\n")
    repository.commit("first")
    repository.write(path, before)
    repository.commit("second")
    repository.write(path, before.replace(old, new))
    repository.commit("third")
    assert _symbols(_history(repository)) == {symbol}


def _lose(repository: Repository, object_name: str) -> None:
    """Removes an object, as a clone that left out large files never had it."""
    name = repository.git("rev-parse", object_name).strip()
    (repository.root / ".git" / "objects" / name[:2] / name[2:]).unlink()


def test_what_cannot_be_read_of_a_commit_costs_no_other(shop: Repository) -> None:
    _edit(shop, "shop/cart.py", "amount = 0", "amount = 1", "Count pears")
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Round prices")
    _edit(shop, "shop/cart.py", "return None", "return self", "Own carts")
    shop.git("mv", "shop/pay.py", "shop/till.py")
    _edit(shop, "shop/till.py", "return 2", "return 2 + 3", "Move tills")
    _edit(shop, "shop/cart.py", "amount = 1", "amount = 2", "Count plums")
    _lose(shop, "HEAD~1:shop/till.py")
    found = _history(shop)
    assert _all_subjects(found) == ["Count plums", "Own carts", "Round prices", "Count pears"]
    touched = {found.subject(commit): _symbols(found, commit) for commit in range(len(found))}
    assert touched["Count plums"] == touched["Count pears"] == {"Cart.total"}
    assert touched["Own carts"] == {"Cart.owner"}


def test_a_missing_last_newline_is_no_line(shop: Repository) -> None:
    shop.write("shop/end.py", "x = 1")
    shop.commit("first")
    _edit(shop, "shop/end.py", "x = 1", "def tail(): return 1", "second")
    assert _symbols(_history(shop)) == {"tail"}


def test_the_attributes_of_a_repository_change_nothing(shop: Repository) -> None:
    shop.write(".gitattributes", "*.py diff=python\n")
    _edit(shop, "shop/cart.py", "amount = 0", "amount = 1", "Change it")
    assert _symbols(_history(shop)) == {"Cart.total"}


def test_of_namesakes_the_nearest_is_touched(repository: Repository) -> None:
    methods = [f"class C{n}:\n    def run(self):\n        return {n}\n\n\n" for n in range(4)]
    repository.write("a.py", "".join(methods))
    repository.commit("first")
    _edit(repository, "a.py", "return 2", "return 7", "second")
    assert _symbols(_history(repository)) == {"C2.run"}
    repository.write("a.py", "import os\n" + (repository.root / "a.py").read_text())
    assert _symbols(_history(repository)) == {"C2.run"}


def test_odd_paths_and_texts_are_read_as_they_are(repository: Repository) -> None:
    repository.write("x.py", "x = 1\n")
    repository.commit("first")
    path = 'größe "1".py'
    repository.write(path, 'def query():\n    return """\n-- a/comment\n"""\n')
    repository.commit("Ein Maß\n\n:100644 100644 a b M\tx.py\ndiff --git a/x.py b/x.py\n@@ -1 +1 @@ def no():")
    repository.write(path, 'def query():\n    return r"""\n++ b/x.py\n@@ -1 +1 @@ def x\n"""\n')
    repository.commit("Second")
    found = _history(repository)
    assert [_files(found, commit) for commit in (0, 1)] == [{path}, {path}]
    assert [_symbols(found, commit) for commit in (0, 1)] == [{"query"}, {"query"}]


# what leads up to HEAD, and only that


def test_only_what_leads_up_to_head_is_seen(shop: Repository) -> None:
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Pay more")
    _edit(shop, "shop/pay.py", "return 2", "return 3", "Pay even more")
    assert _all_subjects(_history(shop)) == ["Pay even more", "Pay more"]
    shop.git("checkout", "-q", "-b", "older", "HEAD~1")
    assert _all_subjects(_history(shop)) == ["Pay more"]
    _edit(shop, "shop/pay.py", "return 2", "return 4", "Pay otherwise")
    assert _all_subjects(_history(shop)) == ["Pay otherwise", "Pay more"]


def test_editing_without_committing_leaves_the_history_alone(shop: Repository) -> None:
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Pay more")
    shop.index()
    path = shop.home.folder / history.NAME
    before = path.stat().st_mtime_ns
    shop.write("shop/pay.py", "def first():\n    return 0\n\n\ndef pay():\n    return 3\n")
    found = _history(shop)
    assert path.stat().st_mtime_ns == before
    assert _symbols(found) == {"pay"}


def test_a_commit_is_read_once_for_all_worktrees(
    shop: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def recording(read: Callable[[Any, Any], Any]) -> Callable[[Any, Sequence[str]], Any]:
        def record(git: Any, ids: Sequence[str]) -> Any:
            asked.extend(ids)
            return read(git, ids)

        return record

    monkeypatch.setattr(log, "read_commits", recording(log.read_commits))
    monkeypatch.setattr(log, "read_names", recording(log.read_names))
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Pay more")
    shop.index()
    assert len(asked) == 2
    shop.git("worktree", "add", "-q", str(tmp_path / "second"), "-b", "second")
    second = Repository(tmp_path / "second")
    assert _symbols(_history(second)) == {"pay"}
    assert len(asked) == 2
    _edit(second, "shop/pay.py", "return 2", "return 3", "Pay even more")
    assert len(_history(second)) == 2
    assert len(asked) == 4


def test_patches_are_read_of_the_newest_commits_only(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.index.history.MOST_PATCHES", 1)
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Pay more")
    assert _symbols(_history(shop)) == {"pay"}
    _edit(shop, "shop/pay.py", "return 2", "return 3", "Pay even more")
    found = _history(shop)
    assert [_symbols(found, commit) for commit in (0, 1)] == [{"pay"}, set()]
    shop.git("checkout", "-q", "HEAD~1")
    assert _symbols(_history(shop)) == {"pay"}


@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["edit", "move", "back"])), min_size=1, max_size=6)
)
def test_a_history_kept_up_to_date_equals_one_made_afresh(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    repository = Repository(tmp_path_factory.mktemp("law"))
    repository.git("init", "-q", "-b", "main")
    for name in "abc":
        repository.write(f"{name}.py", f"def {name}():\n    return 0\n")
    repository.commit("first")
    for number, (name, step) in enumerate(steps):
        path = next(iter(sorted(repository.root.glob(f"{name}*.py"))))
        if step == "move":
            path.rename(path.with_name(f"{name}{number}.py"))
        elif step == "back" and number:
            repository.git("checkout", "-q", "HEAD~1") if int(
                repository.git("rev-list", "--count", "HEAD")
            ) > 1 else None
        else:
            path.write_text(f"def {name}():\n    return {number + 1}\n")
        repository.commit(f"{step} {name}")
        repository.index()
    kept = History.open(repository.open()).logs[0].arrays
    shutil.rmtree(repository.root / ".git" / "assay")
    shutil.rmtree(repository.home.folder)
    made = _history(repository).logs[0].arrays
    assert made.keys() == kept.keys()
    assert all(np.array_equal(made[name], kept[name]) for name in kept)


# where there is none


def test_without_git_there_is_no_history(tmp_path: Path) -> None:
    plain = Repository(tmp_path / "plain")
    plain.write("a.py", "def a():\n    return 1\n")
    found = _history(plain)
    assert len(found) == 0
    assert found.co_changed(1) == []


def test_a_machine_without_git_has_no_history(
    shop: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert len(_history(shop)) == 0


def test_a_repository_without_commits_has_no_history(repository: Repository) -> None:
    repository.write("a.py", "x = 1\n")
    assert len(_history(repository)) == 0


def test_a_repository_that_is_one_no_more_has_no_history(shop: Repository) -> None:
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Pay more")
    assert len(_history(shop)) == 1
    shutil.rmtree(shop.root / ".git")
    assert len(_history(shop)) == 0


@pytest.mark.parametrize(("depth", "subjects"), [(1, []), (2, ["Pay even more"])])
def test_a_shallow_clone_knows_what_it_can_compare(
    shop: Repository, tmp_path: Path, depth: int, subjects: list[str]
) -> None:
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Pay more")
    _edit(shop, "shop/pay.py", "return 2", "return 3", "Pay even more")
    target = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth", str(depth), shop.root.as_uri(), target], check=True)
    assert _all_subjects(_history(Repository(target))) == subjects


def test_a_partial_clone_is_not_made_to_fetch(shop: Repository, tmp_path: Path) -> None:
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Pay more")
    shop.git("config", "uploadpack.allowFilter", "true")
    target = tmp_path / "partial"
    subprocess.run(["git", "clone", "-q", "--filter=blob:none", shop.root.as_uri(), target], check=True)
    assert len(_history(Repository(target))) == 0


def test_a_folder_inside_a_repository_has_its_own_history(shop: Repository) -> None:
    shop.write("cart.py", "x = 1\n")
    shop.commit("Outside")
    shop.write("cart.py", "x = 2\n")
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Inside and outside")
    found = _history(Repository(shop.root / "shop"))
    assert _all_subjects(found) == ["Inside and outside"]
    assert _files(found, 0) == {"pay.py"}
    assert found.sizes.tolist() == [2]


# damage


@pytest.mark.parametrize("place", [0, 0.1, 0.5, 0.9])
def test_a_damaged_history_is_noticed_and_written_again(shop: Repository, place: float) -> None:
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Pay more")
    shop.index()
    path = shop.home.folder / history.NAME
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * place)])
    with pytest.raises(UnusableIndex, match="assay index"):
        History.open(shop.open())
    assert _all_subjects(_history(shop)) == ["Pay more"]


def test_a_damaged_cache_is_read_again(shop: Repository) -> None:
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Pay more")
    shop.index()
    with sqlite3.connect(shop.root / ".git" / "assay" / "commits.db") as cache:
        assert cache.execute("UPDATE commits SET value = x'00'").rowcount
        cache.execute("UPDATE names SET value = x'00'")
    (shop.home.folder / history.NAME).unlink()
    assert _symbols(_history(shop)) == {"pay"}


def test_git_that_cannot_read_its_repository_leaves_no_trace(shop: Repository) -> None:
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Pay more")
    tree = shop.git("rev-parse", "HEAD~1^{tree}").strip()
    (shop.root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert len(_history(shop)) == 0


# changing together


def _together(shop: Repository, *commits: tuple[int, list[str]]) -> dict[str, dict[str, float]]:
    """The shares by path, after commits (days ago, names) of files a, b, c, d."""
    for name in "abcd":
        shop.write(f"{name}.py", "x = 0\n")
    shop.commit("first")
    for number, (days, names) in enumerate(commits):
        for name in names:
            shop.write(f"{name}.py", f"x = {number + 1}\n")
        shop.git("add", "-A")
        when = f"{1_700_000_000 - days * 86400} +0000"
        os.environ["GIT_COMMITTER_DATE"] = when
        try:
            shop.git("commit", "-q", "-m", f"change {number}", "--date", when)
        finally:
            del os.environ["GIT_COMMITTER_DATE"]
    found = _history(shop)
    paths = {row.number: path.removesuffix(".py") for path, row in found.index.files.items()}
    return {path: {paths[other]: share for other, share in found.co_changed(n)} for n, path in paths.items()}


def test_files_that_change_together_are_told_with_their_share(repository: Repository) -> None:
    shares = _together(repository, (0, ["a", "b"]), (0, ["a", "b"]), (0, ["a", "c"]), (0, ["d"]))
    assert shares["a"] == pytest.approx({"b": 2 / 4, "c": 1 / 4})
    assert shares["b"] == pytest.approx({"a": 2 / 3})
    assert shares["d"] == {}


def test_a_small_commit_says_more_than_a_large_one(repository: Repository) -> None:
    shares = _together(repository, (0, ["a", "b"]), (0, ["a", "c", "d"]))
    assert shares["a"] == pytest.approx({"b": 1 / 3, "c": 0.5 / 3, "d": 0.5 / 3})
    assert next(iter(shares["a"])) == "b"


def test_a_recent_commit_says_more_than_an_old_one(repository: Repository) -> None:
    shares = _together(repository, (365, ["a", "c"]), (0, ["a", "b"]))
    assert shares["a"] == pytest.approx({"b": 1 / 2.5, "c": 0.5 / 2.5})


# how it is kept


@given(st.sets(st.text(max_size=5), max_size=20), st.text(max_size=5))
def test_a_string_is_found_where_it_is(strings: set[str], other: str) -> None:
    ordered = sorted(strings)
    kept = arrays.strings_of(arrays.strings("x", ordered), "x")
    assert [kept[n] for n in range(len(kept))] == ordered
    assert [kept.find(one) for one in ordered] == list(range(len(ordered)))
    assert (kept.find(other) >= 0) == (other in strings)


_commits = st.lists(
    st.builds(
        Commit, st.just("ab" * 20), st.integers(0, 2**40), st.text(max_size=8),
        st.dictionaries(st.sampled_from("uvwxyz"), st.integers(1, 300), max_size=4),
        st.lists(st.builds(Touch, st.sampled_from("abc"), st.sampled_from(["", "d"]), st.just((("n", 1),))), max_size=3),
        st.integers(1, 25),
    ), max_size=6,
)  # fmt: skip


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(commits=_commits)
def test_every_term_of_every_commit_is_kept(tmp_path: Path, commits: list[Commit]) -> None:
    path = tmp_path / history.NAME
    history.write(path, "key", commits)
    assert history.key_of(path) == "key"
    found = CommitLog(None, history._load(path))  # type: ignore[arg-type]
    for term in "uvwxyz":
        numbers, counts = found.commits(term)
        wanted = [(n, min(c.terms[term], 255)) for n, c in enumerate(commits) if term in c.terms]
        assert list(zip(numbers.tolist(), counts.tolist(), strict=True)) == wanted
    assert list(found.subjects) == [c.subject for c in commits]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(commits=_commits, new=st.integers(0, 6), most=st.integers(1, 6), named=st.integers(1, 6))
def test_new_commits_before_stored_ones_are_as_if_all_were_read_at_once(
    tmp_path: Path, commits: list[Commit], new: int, most: int, named: int
) -> None:
    commits = [replace(commit, place=place) for place, commit in enumerate(commits)]
    path = tmp_path / history.NAME
    history.write(path, "old", [replace(commit, place=commit.place - new) for commit in commits[new:]])
    stored = history.read(path)
    assert stored is not None
    history.write(path, "key", commits[:new], history.shifted(stored, new, max(most, new), max(named, new)))
    updated = history.read(path)
    expected = [
        commit
        if commit.place < max(named, new)
        else replace(commit, touched=[replace(touch, names=()) for touch in commit.touched])
        for commit in commits[: max(most, new)]
    ]
    history.write(path, "key", expected)
    complete = history.read(path)
    assert updated is not None
    assert complete is not None
    assert {name: array.tolist() for name, array in updated.items()} == {
        name: array.tolist() for name, array in complete.items()
    }


@pytest.mark.parametrize("year", [2030, 2001], ids=["newer", "older than its parent"])
def test_a_commit_after_the_stored_ones_gives_the_same_history_as_starting_afresh(
    shop: Repository, monkeypatch: pytest.MonkeyPatch, year: int
) -> None:
    _edit(shop, "shop/pay.py", "return 1", "return 2", "Pay more")
    shop.index()
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"{year}-01-01T00:00:00Z")
    _edit(shop, "shop/pay.py", "return 2", "return 3", "Pay otherwise")
    walks: list[object] = []
    newest = log.newest_commits

    def walked(git: Git, place: log.Place) -> list[str]:
        walks.append(place)
        return newest(git, place)

    monkeypatch.setattr(log, "newest_commits", walked)
    shop.index()
    path = shop.home.folder / history.NAME
    updated = path.read_bytes()
    assert len(walks) == (year == 2001)
    path.unlink()
    shop.index()
    assert path.read_bytes() == updated


def test_a_place_tells_head_and_prefix(shop: Repository, tmp_path: Path) -> None:
    shop.git("worktree", "add", "-q", str(tmp_path / "second"), "-b", "second")
    place = log.history_place(Git(tmp_path / "second" / "shop"))
    assert place is not None
    assert place == log.Place(shop.git("rev-parse", "HEAD").strip(), "shop/")
