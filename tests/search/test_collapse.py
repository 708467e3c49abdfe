"""Editions of a page in a search: one is searched, in the language and of the version that fits; it names the others."""

from __future__ import annotations

import pytest

import assay as package
from assay.search.collapse import Editions, query_language
from support.command import assay
from support.repository import Repository

PATHS = (
    "docs/en/install.md", "docs/ja/install.md", "docs/de/install.md",
    "docs/en/usage.md", "docs/ja/usage.md", "docs/de/usage.md",
    "docs/en/pumps.md", "docs/ja/pumps.md", "docs/de/pumps.md",
)  # fmt: skip
VERSIONS = tuple(
    f"{folder}/{page}.md"
    for folder in ("docs", "versioned_docs/version-1.2", "versioned_docs/version-2.0")
    for page in ("install", "usage")
)
NOTES = tuple(f"docs/{name}.md" for name in ("a", "b", "c"))


def _visible(paths: tuple[str, ...], query: str) -> set[str]:
    return {path for path, shown in zip(paths, Editions(paths).visible(query), strict=True) if shown}


# language


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("install the pump", "en"), ("ポンプの設置", "ja"), ("설치 방법", "ko"), ("安装水泵", "zh"), ("установка насоса", "ru"),
        ("wie kann ich die Pumpe starten", "de"), ("comment je puis les installer", "fr"), ("cómo puedo instalar una", "es"),
        ("die hard", "en"), ("", "en"), ("🙂 \x00 [", "en"),
    ],
)  # fmt: skip
def test_the_language_of_a_query_is_told_by_its_script_or_two_common_words(query: str, language: str) -> None:
    assert query_language(query) == language


def test_a_query_is_answered_from_the_edition_in_its_language() -> None:
    assert _visible(PATHS, "ポンプの設置") == {path for path in PATHS if "/ja/" in path}
    assert _visible(PATHS, "wie kann ich die Pumpe starten") == {path for path in PATHS if "/de/" in path}


def test_english_is_the_default_also_for_languages_without_an_edition() -> None:
    english = {path for path in PATHS if "/en/" in path}
    assert _visible(PATHS, "install the pump") == english
    assert _visible(PATHS, "установка насоса") == english


# version


def test_the_current_version_is_searched_unless_the_query_names_another() -> None:
    assert _visible(VERSIONS, "install the pump") == {"docs/install.md", "docs/usage.md"}
    for query in ("install 1.2", "install v1.2 now", "install version 1"):
        assert _visible(VERSIONS, query) == {path for path in VERSIONS if "version-1.2" in path}, query
    assert _visible(VERSIONS, "install 3.7") == {"docs/install.md", "docs/usage.md"}


def test_every_page_has_exactly_one_edition() -> None:
    for query in ("pump", "ポンプ", "2.0", ""):
        assert len(_visible(VERSIONS, query)) == 2
        assert len(_visible(PATHS, query)) == 3


def test_without_editions_everything_is_searched() -> None:
    assert _visible(NOTES, "ポンプ 1.2") == set(NOTES)
    assert Editions(()).visible("x").tolist() == []


def test_an_edition_names_the_others() -> None:
    assert Editions(PATHS).also("docs/ja/install.md") == ("de", "en")
    assert Editions(VERSIONS).also("docs/install.md") == ("1.2", "2.0")
    assert "current" in Editions(VERSIONS).also("versioned_docs/version-1.2/install.md")
    assert Editions(NOTES).also("docs/a.md") == ()
    assert Editions(PATHS).also("src/no_document.py") == ()


# in a search


@pytest.fixture
def translated(repository: Repository) -> Repository:
    texts = {
        "en": "Install the pump with a wrench.",
        "ja": "Install the pump: ポンプをレンチで取り付けます。",
        "de": "Install the pump: die Pumpe mit dem Schlüssel.",
    }
    for path in PATHS:
        language, name = path.split("/")[1:]
        repository.write(path, f"# {name}\n\n{texts[language] if 'install' in name else 'Something else entirely.'}\n")
    repository.index()
    return repository


def test_a_search_finds_one_edition_and_prints_the_others(translated: Repository) -> None:
    with package.open(translated.root) as repo:
        english = [hit for hit in repo.search("install the pump") if "install" in hit.path]
        japanese = [hit for hit in repo.search("ポンプ install") if "install" in hit.path]
    assert [(hit.path, hit.also) for hit in english] == [("docs/en/install.md", ("de", "ja"))]
    assert [(hit.path, hit.also) for hit in japanese] == [("docs/ja/install.md", ("de", "en"))]
    assert "also in: de, ja" in assay(translated.root, "search", "install the pump").out
    printed = assay(translated.root, "search", "install the pump", "--format", "json").json["results"]
    assert next(one for one in printed if "install" in one["path"])["also"] == ["de", "ja"]


def test_a_path_asks_for_that_very_edition(translated: Repository) -> None:
    with package.open(translated.root) as repo:
        assert {hit.path for hit in repo.search("install", paths=["docs/de/"])} >= {"docs/de/install.md"}
        assert all(hit.path.startswith("docs/de/") for hit in repo.search("install", paths=["docs/de/"]))
