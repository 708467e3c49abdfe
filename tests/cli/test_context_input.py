"""`assay context` with any input and any index state: an answer or a one-line error, and the right exit code."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import assay as package
from assay.errors import AssayError
from assay.text.tokens import count
from support.command import COMMAND, ENVIRONMENT, Done, assay
from support.repository import Repository
from support.terminal import in_terminal

SHOP = '''class Cart:
    """The lines a customer wants to buy."""

    def total_price(self):
        return sum(self.lines)


def send_invoice(cart):
    """Mails what a customer has to pay."""
    return cart.total_price()
'''
TASK = "total price of the cart"
FOUND, NOTHING, REFUSED = 0, 1, 2


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """An indexed repository that no test changes."""
    return _shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def own(tmp_path: Path) -> Repository:
    """An indexed repository of the test's own."""
    return _shop(tmp_path / "own")


def _shop(root: Path) -> Repository:
    made = Repository(root)
    root.mkdir(exist_ok=True)
    made.git("init", "-q", "-b", "main")
    made.write("shop.py", SHOP)
    made.write("other.py", "def other():\n    pass\n")
    made.commit()
    made.index()
    return made


def context(repository: Repository, *arguments: str | Path) -> Done:
    return assay(repository.root, "context", *arguments)


def refused(done: Done) -> str:
    """The one line of a refusal."""
    assert (done.code, done.out) == (REFUSED, "")
    assert len(done.err.splitlines()) == 1, done.err
    return done.err


def best(done: Done) -> str:
    assert done.code == FOUND, done
    return str(done.json["items"][0]["symbol"])


# -- tasks -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["", " ", "\t\n  \r", "\u00a0\u2003"])
def test_a_task_that_says_nothing_is_refused(shop: Repository, task: str) -> None:
    assert "what is the task?" in refused(context(shop, task))
    with package.open(shop.root) as repo, pytest.raises(AssayError, match="what is the task"):
        repo.context(task)


WORDLESS = {
    "stop words": "how do I do that with this, and what should it be?",
    "punctuation": "?!…—()[]{}<>|&;'\"\\/*%_$#@~^=+-.,:",
    "emoji": "🚀🔥 👩‍👩‍👧‍👦 🇩🇪",
    "zero width": "\u200b\u200d\ufeff\u2060",
    "CJK": "购物车总价是如何计算的？カートの合計",
    "RTL": "كيف يتم حساب السعر \u202e\u2067הסל",
    "combining": "Z̴̡̛͔a̸l̶g̷o̵",
    "digits": "42 007 3.14",
    "control characters": "\x01\x07\x1b[31m\x7f",
}


@pytest.mark.parametrize("task", WORDLESS.values(), ids=WORDLESS)
def test_a_task_without_a_word_of_the_repository_finds_nothing_and_says_what_was_searched(
    shop: Repository, task: str
) -> None:
    done = context(shop, task, "--format", "json")
    assert (done.code, done.err, done.json["items"]) == (NOTHING, "", [])
    assert done.json["searched"] == "4 symbols of 2 files"
    text = context(shop, task)
    assert text.code == NOTHING
    assert "\x1b" not in text.out, "what a terminal would obey is not printed"


@pytest.mark.parametrize("task", WORDLESS.values(), ids=WORDLESS)
def test_strange_characters_around_words_do_not_hide_them(shop: Repository, task: str) -> None:
    assert best(context(shop, f"{task} total price {task}", "--format", "json")) == "Cart.total_price"


HOSTILE = [
    "total' OR 1=1; DROP TABLE symbols; -- price",
    'total" NEAR(price) AND NOT {col}: ^price* OR',
    "total* price* (((",
    "total price $(touch hacked) `touch hacked` ; touch hacked | tee hacked > hacked && exit 3",
    "total price %s %d {0} {task} \\x00 \\u0000 [^a](?:b)*+ ((((a+)+)+)+$",
    "--total-price",
    "../../../etc/passwd total price",
    "file:///etc/passwd?mode=ro#total price",
]


@pytest.mark.parametrize("task", HOSTILE)
def test_what_other_programs_would_obey_are_only_words(shop: Repository, task: str) -> None:
    assert best(context(shop, "--format", "json", "--", task)) == "Cart.total_price"
    assert not (shop.root / "hacked").exists()
    assert len(assay(shop.root, "symbols", "*").lines) == 4


@pytest.mark.parametrize(
    "task", ["total\0price", "total price \ud800\udfff", "\udc80 total price", "total\r\nprice\x85"]
)
def test_text_that_no_command_line_can_carry_is_taken_by_the_interface(shop: Repository, task: str) -> None:
    with package.open(shop.root) as repo:
        for form in ("text", "markdown", "xml", "json"):
            answer = repo.context(task, format=form)
            assert answer.items[0].item.symbol == "Cart.total_price"
            assert "\0" not in answer.render()
            answer.render().encode()


def test_bytes_that_are_no_text_are_taken_by_the_command(shop: Repository) -> None:
    command: list[str | bytes] = [*COMMAND, "context", "--format", "json", b"total price \xff\xfe"]
    done = subprocess.run(command, cwd=shop.root, env=ENVIRONMENT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (FOUND, b"")
    assert b"Cart.total_price" in done.stdout


LONG = {
    "many words": "total price of the cart " * 4_500,
    "one word": "x" * 100_000 + " total price",
    "new words": " ".join(f"word{number}" for number in range(11_000)) + " total price",
    "names": "total price " + "a.b_c::D#e " * 9_000,
    "brackets": "total price " + "(" * 100_000,
    "backticks": "total price " + "`" * 99_999,
    "slashes": "total price " + "a/" * 50_000,
    "frames": "total price\n" + '  File "shop.py", line 4, in total_price\n' * 2_500,
    "lines": "total price" + "\n" * 100_000,
    "quotes": "total price " + "'\" " * 33_000,
}


@pytest.mark.parametrize("task", LONG.values(), ids=LONG)
def test_a_task_of_a_hundred_thousand_characters_is_answered(shop: Repository, task: str) -> None:
    assert len(task) > 95_000
    done = context(shop, task, "--format", "json")
    assert done.code in (FOUND, NOTHING), "words behind the part that is read do not count"
    assert len(done.json["task"]) <= 201, "only its beginning is repeated"
    if task.startswith("total"):
        assert best(done) in ("Cart.total_price", "Cart")


def test_names_like_a_long_task_are_sought_by_its_beginning(shop: Repository) -> None:
    """Every name is compared with the task: what follows in a pasted log would cost minutes and say nothing."""
    with package.open(shop.root) as repo:
        assert repo.context("x" * 100_000 + " total_price").nearest == ()


def test_a_name_that_does_not_exist_is_answered_with_the_nearest(shop: Repository) -> None:
    done = context(shop, "`totl_prise`", "--format", "json")
    assert (done.code, done.json["items"]) == (NOTHING, [])
    assert "Cart.total_price" in done.json["nearest"]
    assert "Cart.total_price" in context(shop, "`totl_prise`").out


# -- numbers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_budget_of_nothing_gives_nothing(shop: Repository, form: str) -> None:
    done = context(shop, TASK, "--budget", "0", "--format", form)
    assert (done.code, done.out, done.err) == (FOUND, "", "")


@pytest.mark.parametrize("budget", [50, 10**9, 10**30])
def test_a_budget_holds_however_small_or_large(shop: Repository, budget: int) -> None:
    done = context(shop, TASK, "--budget", str(budget))
    assert (done.code, done.err) == (FOUND, "")
    assert 0 < count(done.out) <= budget


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--budget", "-1"),
        ("--budget", "lots"),
        ("--budget", "1.5"),
        ("--budget", ""),
        ("-k", "0"),
        ("-k", "-3"),
        ("-k", "x"),
    ],
)
def test_a_number_that_makes_no_sense_is_refused(shop: Repository, option: str, value: str) -> None:
    done = context(shop, TASK, option, value)
    assert (done.code, done.out) == (REFUSED, "")
    assert f"Invalid value for '{option}'" in done.err


def test_the_interface_refuses_the_same_numbers(shop: Repository) -> None:
    with package.open(shop.root) as repo:
        with pytest.raises(AssayError, match="k must be at least 1"):
            repo.context(TASK, k=0)
        with pytest.raises(AssayError, match="the budget must be 0 or more"):
            repo.context(TASK, budget=-1)
        assert repo.context(TASK, budget=0).tokens == 0
        assert repo.context(TASK, budget=10**9).left_out == 0


def test_more_items_than_there_are_is_all_of_them(shop: Repository) -> None:
    assert context(shop, TASK, "-k", str(10**9)).code == FOUND


# -- the state of the index --------------------------------------------------------------------------------------------


def test_without_an_index_a_question_builds_it_unless_told_not_to(repository: Repository) -> None:
    repository.write("shop.py", SHOP)
    assert refused(context(repository, TASK, "--no-refresh")).endswith(
        f"no index yet. Make one with: assay index {repository.root}\n"
    )
    assert not (repository.root / ".assay").exists()
    with pytest.raises(AssayError, match="no index yet"):
        package.open(repository.root)
    assert best(context(repository, TASK, "--format", "json")) == "Cart.total_price"


def test_a_person_at_a_terminal_is_asked_about_a_folder_that_is_no_repository(repository: Repository) -> None:
    repository.write("shop.py", SHOP)
    shutil.rmtree(repository.root / ".git")
    code, shown = in_terminal(repository.root, "context", TASK, typed=b"y\n")
    assert "no index yet. Build it now? [Y/n]" in shown
    assert code == FOUND
    assert "Cart.total_price" in shown


def test_a_person_may_decline(repository: Repository) -> None:
    repository.write("shop.py", SHOP)
    shutil.rmtree(repository.root / ".git")
    code, shown = in_terminal(repository.root, "context", TASK, typed=b"n\n")
    assert code == REFUSED
    assert "Make one with: assay index" in shown
    assert not (repository.root / ".assay").exists()


def test_an_empty_repository_has_no_answer(repository: Repository) -> None:
    repository.index()
    done = context(repository, TASK)
    assert (done.code, done.err) == (NOTHING, "")
    assert "0 symbols of 0 files" in done.out


def _replace(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


CHANGES: dict[str, Callable[[Path], object]] = {
    "edited": lambda root: (root / "shop.py").write_text(SHOP + "\n\nx = 1\n"),
    "deleted": lambda root: (root / "shop.py").unlink(),
    "replaced by a folder": lambda root: _replace(root / "shop.py", Path.mkdir),
    "replaced by a link": lambda root: _replace(root / "shop.py", lambda path: path.symlink_to("/etc/passwd")),
    "replaced by a pipe": lambda root: _replace(root / "shop.py", os.mkfifo),
    "emptied": lambda root: (root / "shop.py").write_text(""),
    "made binary": lambda root: (root / "shop.py").write_bytes(b"\0" * 400),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_is_no_longer_as_indexed_is_named_and_its_lines_are_not_shown(own: Repository, change: str) -> None:
    CHANGES[change](own.root)
    done = context(own, TASK, "--format", "json", "--no-refresh")
    assert best(done) in ("Cart", "Cart.total_price")
    assert not done.json["fresh"]
    assert "shop.py" in done.json["freshness"]
    assert "run: assay index" in done.json["freshness"]
    notes = {item["note"] for item in done.json["items"] if item["path"] == "shop.py"}
    assert len(notes) == 1
    assert "return sum" not in done.out
    assert "root:" not in done.out
    assert context(own, TASK, "--format", "json").json["fresh"], "brought up to date"


def test_a_new_file_makes_an_index_stale(own: Repository) -> None:
    own.write("deep/er/new.py", "x = 1\n")
    assert "1 files changed since it was made (deep/er/new.py)" in context(own, TASK, "--no-refresh").out.replace(
        "file ", "files "
    )


def test_damage_and_other_versions_are_refused_in_a_line_that_says_what_to_do(own: Repository) -> None:
    folder = own.home.current()
    assert folder is not None
    with sqlite3.connect(folder / "catalogue.db") as connection:
        connection.execute("UPDATE meta SET value = '1' WHERE key = 'schema'")
    assert f"Rebuild it with: assay index --rebuild {own.root}" in refused(context(own, TASK))
    os.truncate(folder / "catalogue.db", 5_000)
    assert f"Rebuild it with: assay index --rebuild {own.root}" in refused(context(own, TASK))
    with pytest.raises(AssayError, match="Rebuild it with"):
        package.open(own.root)
    assert best(context(own, TASK, "--index", "--format", "json")) == "Cart.total_price"


@pytest.mark.parametrize("name", ["history.npz", "sections.npz"])
def test_damage_beside_the_index_is_refused_in_a_line_that_says_what_to_do(own: Repository, name: str) -> None:
    own.write("README.md", "# Shop\n\nThe `Cart` has a total price.\n")
    own.commit("the total price of a cart")
    own.index()
    (own.home.folder / name).write_bytes(b"no archive")
    assert "assay index" in refused(context(own, TASK, "--no-refresh"))
    assert best(context(own, TASK, "--index", "--format", "json")).startswith("Cart")


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("history.npz", ("context", TASK, "--no-refresh", "--no-cache")),
        ("sections.npz", ("context", TASK, "--no-refresh", "--no-cache")),
        ("statements.npz", ("owners", "shop.py")),
    ],
)
def test_a_file_of_another_version_beside_the_index_is_left_out(
    own: Repository, name: str, command: tuple[str, ...]
) -> None:
    own.write("README.md", "# Shop\n\nThe `Cart` has a total price.\n")
    own.write("CODEOWNERS", "* @keepers\n")
    own.commit("the total price of a cart")
    own.index()
    before = context(own, TASK).out
    path = own.home.folder / name
    with np.load(path) as stored:
        of_another = {**stored, "key": np.frombuffer(b"99 key", "u1"), "more": np.zeros(1)}
    np.savez(path, allow_pickle=False, **of_another)
    done = assay(own.root, *command)
    assert done.code in (FOUND, NOTHING)
    assert len(done.err.splitlines()) == 1
    assert f"{name}: " in done.err
    assert "another version of assay" in done.err
    assert "assay index" in done.err
    for other in (("search", "total price"), ("ask", "what has a total price?"), ("why", TASK, "Cart.total_price")):
        assert assay(own.root, *other).code in (FOUND, NOTHING)
    assert assay(own.root, "index").code == 0
    after = context(own, TASK)
    assert (after.out, after.err) == (before, "")


def test_damaged_caches_cost_nothing_but_time(own: Repository) -> None:
    before = context(own, TASK)
    (own.home.folder / "packs.db").write_bytes(b"no database" * 1_000)
    assert context(own, TASK) == before
    assert context(own, TASK) == before


def test_a_folder_that_nobody_may_write_to_is_read(own: Repository, tmp_path: Path) -> None:
    expected = context(own, TASK, "--no-cache").out
    if os.getuid() == 0:  # whom no mode keeps from writing: the folder is mounted read-only, where that is allowed
        folder = str(own.home.folder)
        steps = (["mount", "--bind", folder, folder], ["mount", "-o", "remount,bind,ro", folder])
        if any(subprocess.run(step, capture_output=True, check=False).returncode for step in steps):
            subprocess.run(["umount", "-l", folder], capture_output=True, check=False)
            pytest.skip("root may write everywhere, and nothing may be mounted here")
        try:
            done = [context(own, TASK) for _ in range(2)]
        finally:
            subprocess.run(["umount", "-l", folder], check=True)
    else:
        own.home.folder.chmod(0o555)
        try:
            done = [context(own, TASK) for _ in range(2)]
        finally:
            own.home.folder.chmod(0o755)
    assert [(one.code, one.out, one.err) for one in done] == [(FOUND, expected, "")] * 2


def test_a_copy_of_an_index_without_its_caches_answers_the_same(own: Repository, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(own.home.folder, copy)
    assert context(own, TASK, "--index-dir", copy).out == context(own, TASK).out


# -- several at once ---------------------------------------------------------------------------------------------------


def test_several_questions_at_once_are_answered_alike(own: Repository) -> None:
    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(lambda number: context(own, TASK if number % 2 else "send an invoice"), range(6)))
    assert {(one.code, one.err) for one in done} == {(FOUND, "")}
    assert len({one.out for one in done}) == 2


def test_questions_while_an_index_is_written_are_answered(own: Repository) -> None:
    for number in range(30):
        own.write(f"part_{number}.py", f"def part_{number}():\n    return {number}\n")
    with ThreadPoolExecutor(4) as pool:
        writer = pool.submit(lambda: [assay(own.root, "index", "--rebuild") for _ in range(3)])
        done = []
        while not writer.done():
            done.append(context(own, TASK, "--format", "json"))
    assert {one.code for one in writer.result()} == {FOUND}
    assert done
    assert {best(one) for one in done} == {"Cart.total_price"}
    assert best(context(own, TASK, "--format", "json")) == "Cart.total_price"
