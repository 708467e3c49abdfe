"""Questions bring the index up to date first, if that is quick; otherwise one line says what is stale."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from assay.api import Repository as Opened
from assay.api import Workspace
from assay.config.roots import Root
from assay.index import quick
from assay.store import history
from assay.store.catalogue import NAME as CATALOGUE
from support.command import assay
from support.repository import Repository

SHOP = '''def total_price(goods):
    """Adds the prices of all goods."""
    return sum(goods)


def invoice(goods):
    return total_price(goods)
'''
GUIDE = "# Guide\n\nThe total price of goods is the sum of their prices, without the tax.\n"
REFUND = '''

def refund_customer(goods):
    """Gives the money of a customer back."""
    return -total_price(goods)


def test_refund_customer():
    assert refund_customer([]) == 0
'''
STALE = "1 file changed since it was indexed; run: assay index\n"


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("shop.py", SHOP)
    repository.write("guide.md", GUIDE)
    repository.commit()
    repository.index()
    return repository


def generation(repository: Repository) -> str | None:
    return repository.home.named()


QUESTIONS = {
    "context": ("context", "give money back to a customer", "-k", "5"),
    "search": ("search", "give the money of a customer back"),
    "ask": ("ask", "Who gives the money of a customer back?", "--threshold", "0", "--kind", "code"),
    "why": ("why", "give money back", "refund_customer"),
    "symbols": ("symbols", "refund_customer"),
    "impact": ("impact", "total_price"),
    "tests": ("tests", "refund_customer"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_from_the_files_as_they_are(shop: Repository, question: str) -> None:
    shop.write("shop.py", SHOP + REFUND)
    as_it_is = assay(shop.root, *QUESTIONS[question], "--no-refresh")
    assert "refund_customer" not in as_it_is.out
    assert generation(shop) == "000001"
    done = assay(shop.root, *QUESTIONS[question])
    assert (done.code, done.err) == (0, "")
    assert "refund_customer" in done.out
    assert generation(shop) == "000002"
    assert assay(shop.root, *QUESTIONS[question]) == done
    assert generation(shop) == "000002", "nothing changed since"


@pytest.mark.parametrize("question", [name for name in QUESTIONS if name != "context"])
def test_without_an_update_one_line_says_that_the_index_is_stale(shop: Repository, question: str) -> None:
    shop.write("new.py", "x = 1\n")
    assert STALE in assay(shop.root, *QUESTIONS[question], "--no-refresh").err


def test_a_changed_document_is_found(shop: Repository) -> None:
    shop.write("guide.md", GUIDE + "\n## Zebras\n\nZebras are delivered on Fridays.\n")
    done = assay(shop.root, "search", "when are zebras delivered", "--format", "json")
    assert done.json["fresh"] is True
    assert "Zebras are delivered" in done.json["results"][0]["text"]


def test_status_compares_and_changes_nothing(shop: Repository) -> None:
    shop.write("shop.py", SHOP + REFUND)
    assert assay(shop.root, "status").code == 1
    assert generation(shop) == "000001"


def test_measuring_changes_no_index(shop: Repository) -> None:
    golden = shop.write(
        "golden.jsonl", '{"id": "q", "question": "total price", "expected_symbols": ["shop.py::total_price"]}\n'
    )
    shop.write("shop.py", SHOP + REFUND)
    done = assay(shop.root, "eval", "run", "--golden", golden, "--system", "assay")
    assert done.code == 0, done.err
    assert generation(shop) == "000001"


# -- what is not quick -------------------------------------------------------------------------------------------------


def many_new_files(shop: Repository) -> None:
    for number in range(quick._MOST_FILES * 4):
        shop.write(f"part_{number}.py", f"def part_{number}():\n    return {number}\n")


def new_manifest(shop: Repository) -> None:
    shop.write("package.json", '{"name": "shop"}\n')


def other_version(shop: Repository) -> None:
    current = shop.home.current()
    assert current is not None
    with sqlite3.connect(current / CATALOGUE) as connection:
        connection.execute("UPDATE meta SET value = 'another' WHERE key = 'version'")


SLOW = {"many files": many_new_files, "a manifest": new_manifest, "another version of assay": other_version}


@pytest.mark.parametrize("change", SLOW)
def test_what_takes_long_is_left_to_the_user(shop: Repository, change: str) -> None:
    SLOW[change](shop)
    done = assay(shop.root, "symbols", "invoice")
    assert done.lines == ["shop.py:6  function invoice  def invoice(goods)"]
    assert done.err.endswith("indexed; run: assay index\n")
    assert generation(shop) == "000001"
    told = assay(shop.root, "context", "total price", "--format", "json")
    assert (told.json["fresh"], generation(shop)) == (False, "000001")
    assert assay(shop.root, "symbols", "invoice", "--index").err.startswith("indexed ")
    assert assay(shop.root, "symbols", "invoice").err == ""


def test_a_change_that_many_files_depend_on_is_given_up_before_anything_is_written(repository: Repository) -> None:
    repository.write("core.py", "def helper():\n    return 1\n")
    for number in range(quick._MOST_FILES * 5):  # few enough of all files that an update would do
        used = "from core import helper\n\n\n" if number <= quick._MOST_FILES else ""
        call = "helper()" if used else "0"
        repository.write(f"part_{number}.py", f"{used}def part_{number}():\n    return {call}\n")
    repository.index()
    before = generation(repository)
    repository.write("core.py", "def renamed():\n    return 1\n")
    done = assay(repository.root, "symbols", "helper")
    assert (done.lines[0], done.err) == ("core.py:1  function helper  def helper()", STALE)
    assert generation(repository) == before
    assert sorted(os.listdir(repository.home.generations)) == ["000001", before]


# -- who may not write -------------------------------------------------------------------------------------------------


def test_while_another_process_writes_the_old_index_answers_at_once(shop: Repository) -> None:
    shop.write("shop.py", SHOP + REFUND)
    with shop.home.writing():
        done = assay(shop.root, "symbols", "invoice")
        told = assay(shop.root, "context", "total price of goods", "--format", "json")
    line = "1 file changed since it was indexed; not updated: another assay process is indexing\n"
    assert (done.lines, done.err) == (["shop.py:6  function invoice  def invoice(goods)"], line)
    assert (told.json["fresh"], told.err) == (False, line)
    assert assay(shop.root, "symbols", "refund_customer").err == ""


def test_an_index_in_a_read_only_folder_is_used_as_it_is(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.write("shop.py", SHOP + REFUND)
    monkeypatch.setattr(os, "access", lambda path, mode: not (mode & os.W_OK and Path(path) == shop.home.folder))
    with Opened(shop.root) as repo:
        stale = repo.update_if_quick()
        assert str(stale) == f"1 file changed since it was indexed; not updated: {shop.home.folder} is read-only"
        assert [item.symbol for item in repo.symbol("invoice")] == ["invoice"]
    assert generation(shop) == "000001"


def test_an_index_that_git_tracks_is_not_written(shop: Repository) -> None:
    shop.git("add", "-f", ".assay")
    shop.git("commit", "-q", "-m", "an index in a repository")
    shop.write("shop.py", SHOP + REFUND)
    before = generation(shop)
    done = assay(shop.root, "symbols", "invoice")
    assert "not updated: " in done.err or done.code == 2
    assert generation(shop) == before


def test_a_file_that_no_parser_can_read_does_not_keep_the_others_stale(shop: Repository) -> None:
    shop.write("odd.py", b"\0" * 400)
    shop.write("shop.py", SHOP + REFUND)
    assert "refund_customer" in assay(shop.root, "symbols", "refund_customer").out
    assert generation(shop) == "000002"
    assert assay(shop.root, "symbols", "refund_customer").err == ""
    assert generation(shop) == "000002"


def test_an_index_whose_folder_is_gone_still_answers(repository: Repository, tmp_path: Path) -> None:
    repository.write("shop.py", SHOP)
    elsewhere = tmp_path / "index"
    options = ("--root", repository.root, "--index-dir", elsewhere)
    assert assay(tmp_path, "index", *options).code == 0
    shutil.rmtree(repository.root)
    done = assay(tmp_path, "symbols", "invoice", *options)
    assert done.lines == ["shop.py:6  function invoice  def invoice(goods)"]
    assert done.err.startswith("assay: warning: cannot compare the index with the files: ")


# -- what an update does -----------------------------------------------------------------------------------------------


def test_an_update_before_a_question_leaves_the_history_of_commits_to_the_next_index(shop: Repository) -> None:
    before = (shop.home.folder / history.NAME).read_bytes()
    shop.write("shop.py", SHOP + REFUND)
    shop.commit("refund customers")
    assert "refund_customer" in assay(shop.root, "symbols", "refund_customer").out
    assert (shop.home.folder / history.NAME).read_bytes() == before
    shop.index()
    assert (shop.home.folder / history.NAME).read_bytes() != before


def test_in_a_workspace_only_the_index_that_is_stale_is_updated(shop: Repository, tmp_path: Path) -> None:
    web = Repository(tmp_path / "web")
    web.write("cookies.py", "def cookie():\n    return 1\n")
    web.index()
    shop.write("shop.py", SHOP + REFUND)
    with Workspace([Root("shop", shop.root), Root("web", web.root)]) as workspace:
        assert workspace.update_if_quick() is None
        assert [item.id for item in workspace.symbol("refund_customer")] == ["shop/shop.py::refund_customer"]
    assert (generation(shop), generation(web)) == ("000002", "000001")
