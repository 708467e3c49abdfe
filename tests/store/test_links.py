"""Links that are found when asked for: owners, authors, and sections that document an item."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.rank.recency import UNKNOWN, recency, score
from assay.store.index import Index
from support.repository import Repository

APP = """\
class App:
    def add_route(self, path):
        return path

    def run(self):
        return None


class Child(App):
    pass


def make_app():
    return App()


def run_twice():
    return None
"""
GUIDE = """\
# Guide

The words run and Child are no mentions that say enough; run_missing is defined nowhere.

## Routing

Use `App.add_route` to add a route. `other.run()` belongs to something else.

## Starting with make_app

Start it, then call `child.run`.
"""


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("src/shop/app.py", APP)
    repository.write("examples/blog/main.py", "def show_page():\n    pass\n")
    repository.write("docs/guide.md", GUIDE)
    repository.write("docs/blog.md", "# Blog\n\nCalls `show_page`.\n")
    repository.write("docs/other.md", "# Other\n\nHas a `show_page` of its own.\n")
    repository.write("CHANGELOG.md", "# Changes\n\n- `App.add_route` is new.\n")
    repository.commit("Initial commit")
    return repository


def _edit(repository: Repository, old: str, new: str, author: str, date: str) -> None:
    path = repository.root / "src/shop/app.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    repository.git("add", "-A")
    repository.git(
        "-c", "user.name=" + author, "-c", "user.email=secret@example.org", "commit", "-q", "-m", f"Change by {author}",
        "--date", date,
    )  # fmt: skip


@pytest.fixture
def index(shop: Repository) -> Iterator[Index]:
    _edit(shop, "return path", "return path + '/'", "Ann", "2024-01-01T12:00:00+00:00")
    _edit(shop, "return None", "return 1", "Bob", "2024-01-02T12:00:00+00:00")
    _edit(shop, "path + '/'", "path + '//'", "Ann", "2024-01-03T12:00:00+00:00")
    shop.index()
    opened = shop.open()
    yield opened
    opened.close()


def _about(index: Index, id: str, kind: str) -> list[tuple[str, str, str]]:
    return [(link.source, link.target, link.detail) for link in index.links.about(id, (kind,))]


def test_a_symbol_has_the_authors_of_the_commits_that_touched_it(index: Index) -> None:
    ((_, person, detail),) = _about(index, "src/shop/app.py::App.add_route", "authored_by")
    assert person == "person:Ann"
    assert detail.startswith("2 of 2 commits, last ")
    ((_, person, _),) = _about(index, "src/shop/app.py::App.run", "authored_by")
    assert person == "person:Bob"
    assert _about(index, "src/shop/app.py::make_app", "authored_by") == []


def test_a_class_and_a_file_have_the_authors_of_what_they_contain(index: Index) -> None:
    for id in ("src/shop/app.py::App", "src/shop/app.py"):
        authors = {person: detail[:6] for _, person, detail in _about(index, id, "authored_by")}
        assert authors == {"person:Ann": "2 of 3", "person:Bob": "1 of 3"}


def test_addresses_are_kept_only_where_there_is_no_name(shop: Repository) -> None:
    _edit(shop, "return path", "return 2", "Ann", "2024-01-01T12:00:00+00:00")
    shop.index()
    stored = (shop.home.folder / "history.npz").read_bytes()
    assert b"Ann" in stored
    assert b"secret@example.org" not in stored


def test_sections_document_what_they_name_clearly(index: Index) -> None:
    assert _about(index, "src/shop/app.py::App.add_route", "documents") == [
        ("docs/guide.md#guide/routing", "src/shop/app.py::App.add_route", "Guide › Routing")
    ]
    assert _about(index, "src/shop/app.py::make_app", "documents") == [
        ("docs/guide.md#guide/starting-with-make_app", "src/shop/app.py::make_app", "Guide › Starting with make_app")
    ]
    assert _about(index, "src/shop/app.py::Child", "documents") == []
    assert _about(index, "src/shop/app.py::run_twice", "documents") == []


def test_an_inherited_method_is_documented_under_the_name_of_an_heir(index: Index) -> None:
    ((section, _, _),) = _about(index, "src/shop/app.py::App.run", "documents")
    assert section == "docs/guide.md#guide/starting-with-make_app"


def test_an_example_is_documented_only_where_the_document_is_about_it(index: Index) -> None:
    assert [source for source, _, _ in _about(index, "examples/blog/main.py::show_page", "documents")] == [
        "docs/blog.md#blog"
    ]


def test_types_restrict_what_is_looked_up(index: Index) -> None:
    id = "src/shop/app.py::App.add_route"
    assert {link.type for link in index.links.about(id)} == {"authored_by", "documents"}
    assert {link.type for link in index.links.about(id, ("documents",))} == {"documents"}


def test_recency_falls_with_the_age_of_the_last_commit(index: Index) -> None:
    items = {item.symbol: item for item in index.in_file("src/shop/app.py")}
    assert recency(index, items["App.add_route"]) == 1.0
    assert recency(index, items["make_app"]) == UNKNOWN
    day = 86400
    assert [score(age * day) for age in (0, 1, 2, 7, 8, 30, 31)] == [1.0, 1.0, 0.8, 0.8, 0.5, 0.5, 0.2]
