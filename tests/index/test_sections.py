"""Document sections next to an index, and the symbols they contribute to a task."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.index.documents.formats import Format
from assay.index.freshness import check_tree
from assay.index.scan import Source, read_document
from assay.rank.engine import Engine
from assay.rank.profile import Profile
from assay.rank.signals.documents import section_scores, symbol_shares
from assay.store import sections
from assay.store.index import UnusableIndex
from assay.store.sections import MOST_NAMESAKES, Section, Sections
from assay.text.terms import terms
from support.command import COMMAND, ENVIRONMENT, assay
from support.property_tests import examples
from support.repository import Repository

CART = """\
class Cart:
    def total(self):
        return sum(self.rows)

    def clear(self):
        self.rows = []


class Shelf:
    def clear(self):
        return None
"""
GUIDE = """\
# Shopping

Welcome.

## Prices

What you owe is worked out by `Cart.total`, see shop/cart.py.

## Emptying

Throw everything away with `Cart.clear`.
"""


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("shop/cart.py", CART)
    repository.write("docs/guide.md", GUIDE)
    return repository


def _sections(repository: Repository) -> Sections:
    repository.index()
    return Sections.open(repository.open())


def _paths(found: Sections) -> list[str]:
    return [found[number].path for number in range(len(found))]


def _symbols(found: Sections, section: int) -> dict[str, float]:
    return {found.index.item(number).symbol: share for number, share in found.symbols(section).items()}


def _files(found: Sections, section: int) -> set[int]:
    """Return the files that a section mentions."""
    return {found.tables[0].file(name) for name in found.names(section)} - {0}


def _shares(repository: Repository, task: str) -> dict[str, float]:
    found = _sections(repository)
    shares = symbol_shares(found, dict.fromkeys(terms(task), 1))
    return {found.index.item(number).symbol: share for number, share in shares.items()}


# from words to sections to symbols and files


def test_sections_know_their_place_and_what_they_name(shop: Repository) -> None:
    found = _sections(shop)
    assert [found[number] for number in range(3)] == [
        Section("docs/guide.md", ("Shopping",), 1, 4),
        Section("docs/guide.md", ("Shopping", "Prices"), 5, 8),
        Section("docs/guide.md", ("Shopping", "Emptying"), 9, 11),
    ]
    assert [_symbols(found, number) for number in range(3)] == [{}, {"Cart.total": 1.0}, {"Cart.clear": 1.0}]
    assert [len(_files(found, number)) for number in range(3)] == [0, 1, 0]
    assert _files(found, 1) == {found.index.files["shop/cart.py"].number}


def test_words_lead_to_the_sections_that_have_them(shop: Repository) -> None:
    found = _sections(shop)
    (owe,), (shopping,) = terms("owe"), terms("shopping")
    assert [values.tolist() for values in found.having(owe)] == [[1], [1]]
    assert found.having(shopping)[0].tolist() == [0, 1, 2]
    assert [len(values) for values in found.having("zebra")] == [0, 0]
    assert int(np.argmax(section_scores(found, {owe: 1}))) == 1


def test_a_task_is_led_to_what_documents_name_in_its_words(shop: Repository) -> None:
    assert _shares(shop, "what do customers owe") == {"Cart.total": 1.0}
    assert _shares(shop, "throw away") == {"Cart.clear": 1.0}
    assert _shares(shop, "nothing of this") == {}


def test_a_section_that_speaks_more_of_the_task_lends_more(shop: Repository) -> None:
    shop.write("docs/more.md", "# Other\n\nYou owe us thanks for `Cart.clear`.\n")
    shares = _shares(shop, "owe prices worked out")
    assert shares["Cart.total"] == 1.0
    assert 0 < shares["Cart.clear"] < 0.5


def test_a_section_that_names_many_lends_each_less(shop: Repository) -> None:
    shop.write(
        "docs/guide.md", "# One\n\nFrobnicate with `Cart.total`.\n\n# Two\n\nFrobnicate `Cart.clear` `Cart` `Shelf`.\n"
    )
    shares = _shares(shop, "frobnicate")
    assert shares["Cart.total"] == 1.0
    assert len(shares) == 4
    assert max(share for symbol, share in shares.items() if symbol != "Cart.total") < 1.0


def test_documents_raise_what_they_name_in_the_ranking(shop: Repository) -> None:
    shop.write(
        "docs/guide.md", "# Rows\n\nTo discard rows of a Shelf use `Shelf.clear`, to discard them use `Shelf.clear`.\n"
    )
    index = (_sections(shop)).index
    without, with_documents = (Engine(index, Profile(documents=weight)).rank("clear discard") for weight in (0, 1))
    number = next(item.number for item in index.items("s.symbol = 'Shelf.clear'"))
    other = next(item.number for item in index.items("s.symbol = 'Cart.clear'"))
    assert with_documents.factors["documents"][[number, other]].tolist() == [2.0, 1.0]
    assert "documents" not in without.factors
    assert with_documents.best(1) == [number]


# which symbols a name means


def test_of_namesakes_a_qualified_name_means_the_one_it_qualifies(shop: Repository) -> None:
    shop.write("docs/guide.md", "Use `clear`, `Shelf.clear`, `shop.cart.Shelf.clear`, `unknown.clear` or `gone`.\n")
    found = _sections(shop)
    named = {
        name: {found.index.item(number).symbol for number in found.tables[0].named(name)} for name in found.names(0)
    }
    assert named["Shelf.clear"] == named["cart.Shelf.clear"] == {"Shelf.clear"}
    assert named["clear"] == named["unknown.clear"] == {"Shelf.clear", "Cart.clear"}
    assert named["gone"] == set()


def test_namesakes_share_what_is_said_of_them(shop: Repository) -> None:
    shop.write("docs/guide.md", "Use `clear`.\n")
    assert _symbols(_sections(shop), 0) == {"Cart.clear": 0.5, "Shelf.clear": 0.5}


@pytest.mark.parametrize(("definitions", "named"), [(MOST_NAMESAKES, MOST_NAMESAKES), (MOST_NAMESAKES + 1, 0)])
def test_a_name_that_too_many_have_names_none_of_them(repository: Repository, definitions: int, named: int) -> None:
    for number in range(definitions):
        repository.write(f"m{number}.py", "def run():\n    return 1\n")
    repository.write("guide.txt", "Call `run` or `m1.run`.\n")
    found = _sections(repository)
    assert len(found.tables[0].named("run")) == named
    assert len(found.tables[0].named("m1.run")) == 1


def test_a_file_is_named_by_the_end_of_its_path_if_no_other_ends_so(repository: Repository) -> None:
    for path in ("a/app.py", "b/app.py", "b/main.py"):
        repository.write(path, "x = 1\n")
    repository.write("guide.md", "See app.py, b/app.py, main.py and ain.py.\n")
    found = _sections(repository)
    paths = {row.number: path for path, row in found.index.files.items()}
    assert {paths[number] for number in _files(found, 0)} == {"b/app.py", "b/main.py"}


# kept up to date


def test_what_documents_name_follows_the_code_without_being_written_again(shop: Repository) -> None:
    shop.write("docs/guide.md", "Later there will be `later_on`.\n")
    assert _symbols(_sections(shop), 0) == {}
    path = shop.home.folder / sections.NAME
    before = path.stat().st_mtime_ns
    shop.write("shop/later.py", "def later_on():\n    return 1\n")
    assert _symbols(_sections(shop), 0) == {"later_on": 1.0}
    assert path.stat().st_mtime_ns == before


def test_a_changed_document_is_read_again_and_a_deleted_one_goes(shop: Repository) -> None:
    shop.write("docs/other.md", "Use `Shelf.clear`.\n")
    assert _paths(_sections(shop)) == ["docs/guide.md"] * 3 + ["docs/other.md"]
    shop.write("docs/guide.md", "Use `Cart.total`!\n")
    (shop.root / "docs/other.md").unlink()
    found = _sections(shop)
    assert _paths(found) == ["docs/guide.md"]
    assert _symbols(found, 0) == {"Cart.total": 1.0}
    (shop.root / "docs/guide.md").unlink()
    assert len(_sections(shop)) == 0
    assert not (shop.home.folder / sections.NAME).exists()


def test_a_change_within_the_same_tick_of_the_clock_is_seen(shop: Repository) -> None:
    shop.write("docs/guide.md", "Use `Cart.total`.\n")
    shop.index()
    stat = (shop.root / "docs/guide.md").stat()
    path = shop.write("docs/guide.md", "Use `Cart.clear`.\n")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert _symbols(_sections(shop), 0) == {"Cart.clear": 1.0}


def test_an_unchanged_document_is_not_read_again(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.write("docs/other.md", "Use `Shelf.clear`.\n")
    for path in ("docs/guide.md", "docs/other.md"):
        os.utime(shop.root / path, (1, 1))  # long before it is indexed: its time tells that it did not change
    shop.index()
    asked: list[str] = []

    def noted(root: Path, path: str, form: Format) -> Source:
        asked.append(path)
        return read_document(root, path, form)

    monkeypatch.setattr("assay.index.parse.read_document", noted)
    monkeypatch.setattr("assay.index.contents.read_document", noted)
    shop.index()
    assert asked == []
    shop.write("docs/other.md", "Use `Cart.clear`.\n")
    assert _symbols(_sections(shop), 3) == {"Cart.clear": 1.0}
    assert set(asked) == {"docs/other.md"}


def test_the_status_counts_documents_and_says_when_they_are_stale(shop: Repository) -> None:
    shop.write("broken.txt", b"\0\1\2")
    shop.index()
    counted = json.loads(assay(shop.root, "status", "--format", "json").out)
    assert (counted["documents"], counted["sections"], counted["unread_documents"]) == (2, 3, 1)
    assert "documents: 2 with 3 sections, 1 could not be read" in assay(shop.root, "status").out
    index = shop.open()
    assert check_tree(shop.root, index).freshness.fresh
    shop.write("docs/guide.md", "# Changed\n")
    (shop.root / "broken.txt").unlink()
    assert check_tree(shop.root, index).freshness.stale == ["broken.txt", "docs/guide.md"]


def test_documents_obey_the_same_rules_as_code(shop: Repository) -> None:
    shop.write(".gitignore", "ignored/\n")
    shop.write(".assayignore", "private.md\n")
    for path in ("ignored/a.md", "private.md", "node_modules/x/README.md", ".assay/notes.md", "credentials.txt"):
        shop.write(path, "Use `Cart.total`.\n")
    (shop.root / "link.md").symlink_to("docs/guide.md")
    assert set(_paths(_sections(shop))) == {"docs/guide.md"}


def test_a_folder_of_documents_alone_has_sections(repository: Repository) -> None:
    repository.write("a.md", "# Title\n\ntext\n")
    assert _paths(_sections(repository)) == ["a.md"]


def test_without_documents_there_are_no_sections(repository: Repository) -> None:
    repository.write("a.py", "x = 1\n")
    found = _sections(repository)
    assert (len(found), found.documents, found.unread) == (0, 0, 0)
    assert symbol_shares(found, {"x": 1}) == {}


_TEXTS = ["", "# A\n\nUse `alpha`.\n", "# B\n\n`beta`\n\n## C\n\n`alpha`\n", "plain words", "\0"]


@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([*_TEXTS, None])), min_size=1, max_size=6))
def test_sections_kept_up_to_date_equal_those_made_afresh(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str | None]]
) -> None:
    repository = Repository(tmp_path_factory.mktemp("law"))
    for name, text in steps:
        path = repository.root / f"{name}.md"
        path.unlink(missing_ok=True)
        if text is not None:
            repository.write(f"{name}.md", text)
        repository.index()
    kept = dict(Sections.open(repository.open()).tables[0].arrays)
    shutil.rmtree(repository.home.folder)
    made = dict(_sections(repository).tables[0].arrays)
    for values in (kept, made):
        for name in (
            "indexed_at",
            "mtimes",
            "key",
        ):  # a file that was only touched is not read; there is no key without documents
            values.pop(name)
    assert made.keys() == kept.keys()
    assert all(np.array_equal(made[name], kept[name]) for name in kept)


def test_worktrees_share_what_was_read(shop: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.commit()
    shop.index()
    shop.git("worktree", "add", "-q", str(tmp_path / "second"))
    monkeypatch.setattr("assay.index.parse.extract_sections", lambda *_: pytest.fail("read twice"))
    assert len(_sections(Repository(tmp_path / "second"))) == 3


# damage


@pytest.mark.parametrize("place", [0, 0.1, 0.5, 0.9])
def test_damaged_sections_are_noticed_and_written_again(shop: Repository, place: float) -> None:
    shop.index()
    path = shop.home.folder / sections.NAME
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * place)])
    with pytest.raises(UnusableIndex, match="assay index"):
        Sections.open(shop.open())
    assert len(_sections(shop)) == 3


def test_a_write_that_fails_leaves_what_was_there(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.index()
    path = shop.home.folder / sections.NAME
    before = path.read_bytes()
    shop.write("docs/guide.md", "# Changed\n")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("assay.store.arrays.np.savez", full)
        with pytest.raises(Exception, match="No space left"):
            shop.index()
    assert path.read_bytes() == before
    assert [one.name for one in shop.home.folder.glob("*.new")] == []
    assert _sections(shop)[0].headings == ("Changed",)


def test_two_indexers_at_once_leave_whole_sections(shop: Repository) -> None:
    running = [
        subprocess.Popen([*COMMAND, "index", "."], cwd=shop.root, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
        for _ in range(3)
    ]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert len(Sections.open(shop.open())) == 3
