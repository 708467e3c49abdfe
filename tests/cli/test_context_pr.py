"""`assay context --pr`: the context of a diff, in real repositories."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.git import Git
from assay.git.diff import (
    ADDED,
    CHANGED,
    DELETED,
    MOVED,
    Change,
    Hunk,
    choose_base,
    parse_diff,
    read_changes,
    read_hunk,
)
from assay.text.tokens import count
from support.command import Done, assay
from support.repository import Repository

PRICES = """\
def rounded(amount):
    return round(amount, 2)


def with_tax(amount):
    return rounded(amount * 1.2)


def discounted(amount):
    return amount * 0.9
"""
SHOP = """\
from prices import discounted, with_tax


class Basket:
    def total(self):
        return with_tax(sum(self.goods))

    def cheap(self):
        return discounted(self.total())
"""
TESTS = """\
from prices import with_tax


def test_with_tax():
    assert with_tax(1) == 1.2
"""
FORMATS = ["text", "markdown", "comment", "xml", "json"]


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("prices.py", PRICES)
    repository.write("shop.py", SHOP)
    repository.write("tests/test_prices.py", TESTS)
    repository.write("README.md", "Shop\n")
    repository.commit()
    repository.git("checkout", "-q", "-b", "feature")
    return repository


def review(shop: Repository, *arguments: str) -> dict[str, list[tuple[str, str]]]:
    """The sections of a review with the index as it is: the id and the reason of each item."""
    told = assay(shop.root, "context", "--pr", *arguments, "--no-refresh", "--format", "json").json
    out: dict[str, list[tuple[str, str]]] = {name: [] for name in told.get("sections", {})}
    for item in told["items"]:
        out[item["section"]].append((item["id"], item["why"]))
    return out


def edit(shop: Repository, path: str, old: str, new: str) -> None:
    text = (shop.root / path).read_text()
    assert old in text
    shop.write(path, text.replace(old, new))


# -- what is in a review ------------------------------------------------------------------------------------------------


def test_a_review_has_what_was_touched_its_callers_and_its_tests(shop: Repository) -> None:
    edit(shop, "prices.py", "amount * 1.2", "amount * 1.3")
    shop.commit()
    shop.index()
    found = review(shop)
    assert list(found) == ["touched", "callers", "tests", "missing", "neighbourhood"]
    assert found["touched"] == [("prices.py::with_tax", "changed at 6")]
    assert found["callers"] == [("shop.py::Basket.total", "calls with_tax")]
    assert found["tests"] == [("tests/test_prices.py::test_with_tax", "calls with_tax")]
    assert ("prices.py::rounded", "called by with_tax") in found["neighbourhood"]
    everything = [one for items in found.values() for one, _ in items]
    assert len(everything) == len(set(everything)), "nothing is named twice"


@pytest.mark.parametrize("stage", ["committed", "staged", "not staged"])
def test_it_does_not_matter_how_far_a_change_has_come(shop: Repository, stage: str) -> None:
    edit(shop, "prices.py", "amount * 1.2", "amount * 1.3")
    if stage == "committed":
        shop.commit()
    elif stage == "staged":
        shop.git("add", "-A")
    shop.index()
    assert review(shop, "main")["touched"] == [("prices.py::with_tax", "changed at 6")]


def test_changes_of_the_base_since_the_branch_left_it_are_not_those_of_the_branch(shop: Repository) -> None:
    edit(shop, "prices.py", "amount * 1.2", "amount * 1.3")
    shop.commit()
    shop.git("checkout", "-q", "main")
    edit(shop, "shop.py", "sum(self.goods)", "sum(self.goods, 0)")
    shop.commit()
    shop.git("checkout", "-q", "feature")
    shop.index()
    assert [one for one, _ in review(shop)["touched"]] == ["prices.py::with_tax"]


def test_lines_outside_of_symbols_touch_the_file(shop: Repository) -> None:
    edit(
        shop,
        "shop.py",
        "from prices import discounted, with_tax\n",
        "import os\nfrom prices import discounted, with_tax\n",
    )
    shop.index()
    assert review(shop)["touched"] == [("shop.py", "changed at 1, outside its symbols")]


def test_a_removed_line_touches_what_it_was_in(shop: Repository) -> None:
    edit(shop, "prices.py", "def rounded(amount):\n", "def rounded(amount):\n    print(amount)\n    print(amount)\n")
    shop.commit()
    shop.git("branch", "-f", "main")
    edit(shop, "prices.py", "    print(amount)\n    print(amount)\n", "    print(amount)\n")
    shop.index()
    assert [one for one, _ in review(shop, "main")["touched"]] == ["prices.py::rounded"]


def test_new_files_are_touched_whole_whether_git_knows_them_or_not(shop: Repository) -> None:
    shop.write("fees.py", "def fee():\n    return 1\n\n\ndef late_fee():\n    return fee()\n")
    shop.index()
    expected = [("fees.py::fee", "new"), ("fees.py::late_fee", "new")]
    assert review(shop)["touched"] == expected
    shop.commit()
    assert review(shop)["touched"] == expected


def test_what_is_not_indexed_is_named_after_the_code(shop: Repository) -> None:
    shop.write("README.md", "Shop!\n")
    shop.write("zebra.py", "def z():\n    pass\n")
    shop.index()
    shop.write("later.py", "def later():\n    pass\n")
    found = review(shop)["touched"]
    assert found == [
        ("zebra.py::z", "new"),
        ("README.md", "changed; no symbols in the index"),
        ("later.py", "new; no symbols in the index"),
    ]


def test_a_moved_file_says_where_it_was(shop: Repository) -> None:
    shop.git("mv", "prices.py", "money.py")
    edit(shop, "money.py", "amount * 1.2", "amount * 1.3")
    shop.index()
    assert review(shop)["touched"] == [("money.py::with_tax", "moved from prices.py at 6")]


def test_a_moved_file_is_named_where_it_is_now_also_before_it_is_indexed(shop: Repository) -> None:
    shop.index()
    shop.git("mv", "prices.py", "money.py")
    assert review(shop)["touched"] == [("money.py", "moved from prices.py")]
    edit(shop, "money.py", "amount * 1.2", "amount * 1.3")
    told = review(shop)
    assert told["touched"] == [("money.py::with_tax", "moved from prices.py")]
    assert ("shop.py::Basket.total", "calls with_tax") in told["callers"]


@pytest.mark.parametrize("indexed", ["before", "after"])
def test_a_deleted_symbol_is_named_with_those_who_still_use_it(shop: Repository, indexed: str) -> None:
    shop.index()
    edit(shop, "prices.py", "\n\ndef discounted(amount):\n    return amount * 0.9\n", "")
    if indexed == "after":
        shop.index()
    found = review(shop)
    assert found["touched"] == [("prices.py::discounted", "deleted")]
    verb = {"before": "calls", "after": "names"}[indexed]
    assert ("shop.py::Basket.cheap", f"{verb} discounted, which is deleted") in found["callers"]


@pytest.mark.parametrize("indexed", ["before", "after"])
def test_a_deleted_file_is_named_with_its_symbols(shop: Repository, indexed: str) -> None:
    shop.index()
    (shop.root / "prices.py").unlink()
    if indexed == "after":
        shop.index()
    found = review(shop)
    if indexed == "before":
        assert ("prices.py", "deleted") in found["touched"]
        assert ("prices.py::rounded", "deleted with its file") in found["touched"]
    else:
        assert found["touched"] == [("prices.py", "deleted, with rounded, with_tax, discounted")]
    assert "shop.py::Basket.total" in [one for one, _ in found["callers"]]


def test_a_deleted_method_is_named_although_another_class_has_one_of_that_name(shop: Repository) -> None:
    both = "class A:\n    def run(self):\n        pass\n\n    def stop(self):\n        pass\n\n\nclass B:\n    def run(self):\n        pass\n"
    shop.write("both.py", both)
    shop.commit()
    shop.git("branch", "-f", "main")
    shop.write("both.py", both.replace("    def run(self):\n        pass\n\n    def stop", "    def stop"))
    shop.index()
    assert review(shop, "main")["touched"] == [("both.py::A.run", "deleted")]


def test_files_that_usually_change_together_and_did_not_are_named_with_how_often(shop: Repository) -> None:
    for number in range(4):
        edit(shop, "prices.py", "amount * 1.", "amount * 1.1")
        if number:
            shop.write("tests/test_prices.py", TESTS + f"# {number}\n")
        shop.commit(f"tax {number}")
    shop.git("branch", "-f", "main")
    edit(shop, "prices.py", "amount * 0.9", "amount * 0.8")
    shop.index()
    assert review(shop, "main")["missing"] == [("tests/test_prices.py", "changed in 3 of 4 commits with prices.py")]
    shop.write("tests/test_prices.py", TESTS + "# now too\n")
    shop.index()
    assert review(shop, "main")["missing"] == []


# -- an index that is not of now ----------------------------------------------------------------------------------------


def test_an_index_from_before_the_change_is_mapped_by_the_old_lines(shop: Repository) -> None:
    shop.index()
    edit(shop, "prices.py", "def rounded", "# one\n# two\n# three\n# four\n\n\ndef rounded")
    edit(shop, "prices.py", "amount * 0.9", "amount * 0.8")
    found = review(shop)
    assert ("prices.py::discounted", "changed") in found["touched"]
    assert "prices.py::with_tax" not in [one for one, _ in found["touched"]], (
        "where the new line stands in the old text"
    )
    said = assay(shop.root, "context", "--pr", "--no-refresh").out
    assert "1 file changed since it was made (prices.py); run: assay index" in said
    assert "may be off" not in said


def test_an_index_from_in_between_says_that_lines_may_be_off(shop: Repository) -> None:
    edit(shop, "prices.py", "amount * 0.9", "amount * 0.8")
    shop.index()
    edit(shop, "prices.py", "amount * 0.8", "amount * 0.7")
    assert "lines of prices.py may be off" in assay(shop.root, "context", "--pr", "--no-refresh").out
    assert "may be off" not in assay(shop.root, "context", "--pr").out, "brought up to date"


# -- the base -----------------------------------------------------------------------------------------------------------


def scope(shop: Repository, *arguments: str) -> str:
    return str(assay(shop.root, "context", "--pr", *arguments, "--format", "json").json["scope"])


def test_the_base_is_the_remote_s_default_branch_if_there_is_one(shop: Repository, tmp_path: Path) -> None:
    edit(shop, "prices.py", "1.2", "1.3")
    shop.commit()
    shop.index()
    assert scope(shop).startswith("1 file changed since main (merge base ")
    subprocess.run(["git", "clone", "-q", "--bare", "-b", "main", shop.root, tmp_path / "remote"], check=True)
    shop.git("remote", "add", "upstream", str(tmp_path / "remote"))
    shop.git("fetch", "-q", "upstream")
    assert " since upstream/main (merge base " in scope(shop)
    shop.git("branch", "trunk", "main")
    shop.git("push", "-q", "upstream", "trunk")
    shop.git("remote", "set-head", "upstream", "trunk")
    assert " since upstream/trunk (merge base " in scope(shop)


def test_without_any_such_branch_the_base_is_the_commit_before(shop: Repository) -> None:
    shop.git("branch", "-D", "main")
    shop.index()
    assert choose_base(Git(shop.root)).name == "HEAD", "there is only one commit"
    edit(shop, "prices.py", "1.2", "1.3")
    shop.commit()
    shop.index()
    assert " since HEAD~1 (merge base " in scope(shop)


def test_any_revision_can_be_the_base(shop: Repository) -> None:
    edit(shop, "prices.py", "1.2", "1.3")
    shop.commit()
    edit(shop, "prices.py", "0.9", "0.8")
    shop.commit()
    shop.git("tag", "v1", "HEAD~1")
    shop.index()
    for base in ("HEAD~1", "v1", shop.git("rev-parse", "HEAD~1").strip()):
        assert [one for one, _ in review(shop, base)["touched"]] == ["prices.py::discounted"]


def refused(done: Done) -> str:
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    return done.err


def test_a_base_that_does_not_exist_offers_the_nearest(shop: Repository) -> None:
    shop.index()
    assert "--pr mian: no branch, tag or commit of" in (said := refused(assay(shop.root, "context", "--pr", "mian")))
    assert "Nearest: main" in said
    with pytest.raises(AssayError, match="no branch, tag or commit"):
        choose_base(Git(shop.root), "--all")


def test_where_there_is_nothing_to_compare_with_it_says_so(repository: Repository, tmp_path: Path) -> None:
    repository.write("a.py", "x = 1\n")
    repository.index()
    assert "no commit yet" in refused(assay(repository.root, "context", "--pr"))
    plain = Repository(tmp_path / "plain")
    plain.write("a.py", "x = 1\n")
    plain.index()
    assert "not a git repository" in refused(assay(plain.root, "context", "--pr"))


def test_histories_that_share_nothing_are_refused(shop: Repository) -> None:
    shop.git("checkout", "-q", "--orphan", "other")
    shop.commit("a beginning of its own")
    shop.index()
    assert "they share no history" in refused(assay(shop.root, "context", "--pr", "main"))


def test_a_shallow_clone_says_how_to_deepen_it(shop: Repository, tmp_path: Path) -> None:
    shop.commit("second")
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{shop.root}", tmp_path / "clone"], check=True)
    clone = Repository(tmp_path / "clone")
    clone.index()
    done = assay(clone.root, "context", "--pr")
    assert done.code == 1
    assert "git fetch --unshallow" in done.out
    assert "git fetch --unshallow" in refused(assay(clone.root, "context", "--pr", "main"))


@pytest.mark.parametrize("form", FORMATS)
def test_no_difference_is_said_in_every_format_with_exit_code_1(shop: Repository, form: str) -> None:
    shop.index()
    done = assay(shop.root, "context", "--pr", "--format", form)
    assert done.code == 1
    assert "nothing changed since main (merge base " in done.out
    if form == "json":
        assert json.loads(done.out)["items"] == []


# -- formats and budgets ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("budget", [0, 40, 150, 400, 8000])
def test_no_review_is_longer_than_its_budget(shop: Repository, form: str, budget: int) -> None:
    for number in range(20):
        shop.write(
            f"module{number}.py", f"from prices import with_tax\n\n\ndef use{number}():\n    return with_tax(1)\n"
        )
    edit(shop, "prices.py", "1.2", "1.3")
    shop.index()
    done = assay(shop.root, "context", "--pr", "--format", form, "--budget", str(budget), "--no-cache")
    assert done.code == 0
    assert count(done.out) <= max(budget, {"json": 30, "xml": 10}.get(form, 0))
    if form == "xml":
        read_xml = ElementTree.fromstring(done.out)
        if budget == 8000:
            assert [one.get("name") for one in read_xml] == ["touched", "callers", "tests", "missing", "neighbourhood"]
            assert read_xml[0][0].tag == "item"


def test_a_review_in_markdown_reads_as_a_comment(shop: Repository) -> None:
    edit(shop, "prices.py", "amount * 1.2", "amount * 1.3")
    shop.index()
    written = assay(shop.root, "context", "--pr", "--format", "markdown").out
    for line in (
        "### Touched: 1 in 1 file",
        "- `prices.py:5` function `with_tax` (changed at 6)",
        "### Callers: 1",
        "- `shop.py:5` method `Basket.total` (calls with\\_tax)",
        "### Tests that reach it: 1",
        "### Usually changed together, missing here: nothing",
        "### Neighbourhood: 4",
    ):
        assert line in written.splitlines(), written


# -- reading diffs ------------------------------------------------------------------------------------------------------


def test_every_kind_of_change_is_read_whatever_the_user_has_configured(shop: Repository) -> None:
    for name, value in {
        "diff.noprefix": "true", "diff.mnemonicPrefix": "true", "diff.context": "7", "color.ui": "always", "diff.renames": "false",
        "core.quotePath": "false", "diff.external": "false", "status.relativePaths": "false",
    }.items():  # fmt: skip
        shop.git("config", name, value)
    shop.write("ä b.py", "def ä():\n    pass\n")
    shop.write("gone.py", "x = 1\n")
    shop.commit()
    base = shop.git("rev-parse", "HEAD").strip()
    shop.write("ä b.py", "def ä():\n    return 1\n")
    shop.git("mv", "prices.py", "money.py")
    (shop.root / "gone.py").unlink()
    shop.write("staged.py", "y = 1\n")
    shop.git("add", "staged.py")
    shop.write("new file.py", "z = 1\n")
    (shop.root / "link.py").symlink_to("shop.py")
    found = read_changes(Git(shop.root), base)
    assert [(one.path, one.status, one.before) for one in found] == [
        ("gone.py", DELETED, ""),
        ("link.py", ADDED, ""),
        ("money.py", MOVED, "prices.py"),
        ("new file.py", ADDED, ""),
        ("staged.py", ADDED, ""),
        ("ä b.py", CHANGED, ""),
    ]
    assert found[-1].hunks == [Hunk(2, (b"    pass",), (b"    return 1",), 2, "def ä():")]
    assert found[0].hunks == [Hunk(1, (b"x = 1",), (), 0)]


def test_paths_are_those_below_the_folder_that_was_asked_about(shop: Repository) -> None:
    shop.write("part/a.py", "x = 1\n")
    shop.commit()
    shop.write("part/a.py", "x = 2\n")
    shop.write("part/b.py", "x = 2\n")
    shop.write("shop.py", "x = 2\n")
    assert [one.path for one in read_changes(Git(shop.root / "part"), "HEAD")] == ["a.py", "b.py"]


def test_a_conflict_is_a_change_like_any_other(shop: Repository) -> None:
    edit(shop, "prices.py", "1.2", "1.3")
    shop.commit()
    shop.git("checkout", "-q", "main")
    edit(shop, "prices.py", "1.2", "1.4")
    shop.commit()
    with pytest.raises(subprocess.CalledProcessError):
        shop.git("merge", "feature")
    found = read_changes(Git(shop.root), "HEAD")
    assert [one.path for one in found] == ["prices.py"]
    assert found[0].hunks


def test_lines_that_look_like_a_diff_are_taken_as_lines() -> None:
    lines = iter([b"--- a/x\n", b"+++ b/x\n", b"\\ No newline at end of file\n", b"@@ -9 +9 @@\n"])
    assert read_hunk(b"@@ -1 +1 @@ def f():\n", lines) == Hunk(1, (b"-- a/x",), (b"++ b/x",), 1, "def f():")


LINES = st.lists(st.binary(max_size=8).map(lambda raw: raw.replace(b"\n", b"").replace(b"\0", b"")), max_size=5)


@given(st.lists(st.tuples(st.integers(0, 99), LINES, st.integers(0, 99), LINES), max_size=4))
def test_hunks_come_back_as_they_were_written(hunks: list[tuple[int, list[bytes], int, list[bytes]]]) -> None:
    patch = [b":100644 100644 %s %s M\tf.py\n" % (b"1" * 40, b"0" * 40), b"\n", b"diff --git a/f.py b/f.py\n"]
    patch += [b"--- a/f.py\n", b"+++ b/f.py\n"]
    for start, removed, new_start, added in hunks:
        patch.append(b"@@ -%d,%d +%d,%d @@\n" % (start, len(removed), new_start, len(added)))
        patch += [b"-%s\n" % line for line in removed] + [b"+%s\n" % line for line in added]
    expected = [Hunk(start, tuple(old), tuple(new), new_start) for start, old, new_start, new in hunks]
    assert list(parse_diff(iter(patch))) == [Change("f.py", CHANGED, "", "1" * 40, expected)]


def test_a_repository_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="not a git repository"):
        choose_base(Git(tmp_path))


def test_a_repository_with_lost_objects_says_which_command_of_git_failed(shop: Repository) -> None:
    shop.index()
    lost = shop.git("rev-parse", "main:prices.py").strip()
    edit(shop, "prices.py", "amount * 1.2", "amount * 1.3")
    (shop.root / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    done = assay(shop.root, "context", "--pr")
    assert done.code == 2
    assert "git diff failed: fatal: unable to read" in done.err
