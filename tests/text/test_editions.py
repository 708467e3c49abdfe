"""Editions: which documents are translations or older copies of one page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.text.editions import Edition, editions


def _by_path(*paths: str) -> dict[str, Edition]:
    return dict(zip(paths, editions(paths), strict=True))


@pytest.mark.parametrize(
    ("paths", "page", "languages"),
    [
        (["docs/en/guide.md", "docs/ja/guide.md", "docs/zh-CN/guide.md"], "docs/guide.md", ["en", "ja", "zh-CN"]),
        (["docs/guide.md", "docs/ja/guide.md", "docs/it/guide.md"], "docs/guide.md", ["", "ja", "it"]),
        (["docs/guide.md", "i18n/zh-CN/docusaurus-plugin-content-docs/current/guide.md"], "docs/guide.md", ["", "zh-CN"]),
        (["docs/guide.md", "website/i18n/ko/docusaurus-plugin-content-docs/current/guide.mdx"], "docs/guide.md", ["", "ko"]),
        (["website/docs/a.mdx", "website/i18n/fr/docusaurus-plugin-content-docs/current/a.md"], "website/docs/a.md", ["", "fr"]),
        (["README.md", "README.zh-CN.md", "README-ja.md", "README_de.md", "README_CN.md"], "README.md", ["", "zh-CN", "ja", "de", "zh"]),
        (["README.md", "docs/README.pt_BR.md", "docs/i18n/README-es.md"], "README.md", ["", "pt-BR", "es"]),
        (["docs/guide.md", "docs/guide.fr.md", "docs/guide.it.md"], "docs/guide.md", ["", "fr", "it"]),
        (["how-to.md", "how-to-de.md", "how-to-zh-cn.md"], "how-to.md", ["", "de", "zh-CN"]),
        (["content/en/docs/run.md", "content/pt-br/docs/run.md"], "content/docs/run.md", ["en", "pt-BR"]),
        (["docs/setup.rst", "docs/locale/ja/LC_MESSAGES/setup.rst"], "docs/setup.rst", ["", "ja"]),
        (["docs/setup.md", "docs/translations/is/setup.md"], "docs/setup.md", ["", "is"]),
        (["README.md", "README.中文.md", "README_日本語.md", "README-German.md"], "README.md", ["", "zh", "ja", "de"]),
        (["docs/use.md", "docs/한국어/use.md", "docs/Chinese/use.md"], "docs/use.md", ["", "ko", "zh"]),
        (["docs/modules/ROOT/pages/a.adoc", "docs/ja/modules/ROOT/pages/a.adoc"], "docs/modules/ROOT/pages/a.adoc", ["", "ja"]),
    ],
)  # fmt: skip
def test_translations_of_a_page_share_it(paths: list[str], page: str, languages: list[str]) -> None:
    assert editions(paths) == [Edition(page, language) for language in languages]


@pytest.mark.parametrize(
    "paths",
    [
        ["docs/go/README.md", "docs/README.md"],  # no language
        ["src/io/README.md", "src/os/README.md", "src/README.md", "src/net/README.md"],  # code names, alone
        ["docs/it/start.md", "docs/no/stop.md"],  # nothing has a counterpart
        ["docs/ts/README.md", "docs/README.md", "docs/js/README.md"],  # only a name that every folder has
        ["docs/id/a.md", "docs/id/b.md", "docs/id/c.md", "docs/a.md"],  # most have none
        ["src/io/a.md", "src/os/b.md", "src/id/c.md", "src/ml/d.md"],  # many, but none that is surely a language
        ["docs/en/guide.md", "docs/en/setup.md"],  # one language, without another
        ["sign-in.md", "sign.md", "how-to.md", "how.md", "config-es.md", "config.md"],
        ["learn-french.md", "polski-index.md"],  # a name without a counterpart
        ["examples/ca/README.md", "examples/lb/README.md", "examples/README.md"],
        ["a.b.c", "noending", ".md", "x/.md", "/", "//", "ja/", "i18n/ja", "docs/../ja/x.md"],
    ],
)
def test_folders_and_names_that_only_look_like_languages_are_none(paths: list[str]) -> None:
    assert [edition.language for edition in editions(paths)] == [""] * len(paths)


def test_many_language_folders_need_no_counterparts() -> None:
    found = _by_path("docs/ja/a.md", "docs/fr/b.md", "docs/ko/c.md", "docs/images/d.md")
    assert [edition.language for edition in found.values()] == ["ja", "fr", "ko", ""]


def test_a_language_folder_may_have_pages_of_its_own() -> None:
    found = _by_path("docs/guide.md", "docs/ja/guide.md", "docs/ja/only.md")
    assert found["docs/ja/only.md"] == Edition("docs/only.md", "ja")


def test_unversioned_pages_are_current_and_numbered_copies_are_older() -> None:
    found = _by_path(
        "docs/guide.md", "website/versioned_docs/version-2.1/guide.md", "website/versioned_docs/version-2.0/gone.md"
    )
    assert found["docs/guide.md"] == Edition("docs/guide.md")
    assert found["website/versioned_docs/version-2.1/guide.md"] == Edition("docs/guide.md", "", "2.1", False)
    assert found["website/versioned_docs/version-2.0/gone.md"].current is False


def test_of_copies_without_numbers_the_released_one_is_current() -> None:
    found = _by_path("site/next/docs/use.md", "site/latest/docs/use.md", "site/next/docs/new.md", "site/index.md")
    assert found["site/latest/docs/use.md"] == Edition("site/docs/use.md", "", "latest")
    assert found["site/next/docs/use.md"] == Edition("site/docs/use.md", "", "next", False)
    assert found["site/next/docs/new.md"].page == "site/docs/new.md"
    assert found["site/index.md"] == Edition("site/index.md")


@pytest.mark.parametrize(
    "paths",
    [
        ["docs/dev/setup.md", "docs/setup.md"],  # one folder: it may be for developers
        ["docs/dev/README.md", "docs/main/README.md"],  # a name that every folder has
        ["docs/dev/a.md", "docs/dev/b.md", "docs/dev/c.md", "docs/main/a.md", "docs/main/d.md", "docs/main/e.md"],
    ],
)
def test_folders_that_only_look_like_versions_are_none(paths: list[str]) -> None:
    assert [edition.version for edition in editions(paths)] == [""] * len(paths)


def test_without_an_unversioned_page_the_highest_version_is_current() -> None:
    found = _by_path(
        "docs/app-1.x/use.md", "docs/app-3.x/use.md", "docs/app-3.10.x/use.md", "docs/app-3.x/new.md", "docs/README.md",
        "docs/app-1.x/README.md", "docs/app-3.x/README.md",
    )  # fmt: skip
    assert found["docs/app-1.x/use.md"] == Edition("docs/use.md", "", "1.x", False)
    assert found["docs/app-3.x/use.md"] == Edition("docs/use.md", "", "3.x", True)
    assert found["docs/app-3.10.x/use.md"].current is False
    assert found["docs/README.md"] == Edition("docs/README.md")  # introduces the versions
    assert found["docs/app-3.x/README.md"].current is True


@pytest.mark.parametrize("name", ["next", "current", "main", "latest"])
def test_a_named_version_is_current(name: str) -> None:
    found = _by_path(f"docs/{name}/use.md", "docs/v1/use.md", "docs/v2/use.md")
    assert found[f"docs/{name}/use.md"] == Edition("docs/use.md")
    assert {found["docs/v1/use.md"].current, found["docs/v2/use.md"].current} == {False}


def test_translations_of_old_versions_have_both() -> None:
    path = "website/i18n/fr/docusaurus-plugin-content-docs/version-1.4/a.md"
    assert _by_path("website/docs/a.md", path)[path] == Edition("website/docs/a.md", "fr", "1.4", False)
    found = _by_path("docs/en/v1/a.md", "docs/en/v2/a.md", "docs/ja/v1/a.md", "docs/ja/v2/a.md")
    assert found["docs/ja/v1/a.md"] == Edition("docs/a.md", "ja", "1", False)
    assert found["docs/ja/v2/a.md"] == Edition("docs/a.md", "ja", "2", True)


@pytest.mark.parametrize(
    "paths",
    [
        ["book/chapter-1/README.md", "book/chapter-2/README.md", "book/chapter-1/notes.md", "book/chapter-2/notes.md"],
        ["posts/2023/news.md", "posts/2024/news.md"],
        ["releases/1.2/README.md", "releases/1.3/README.md"],  # only names that every folder has
        ["whatsnew-5.3.rst", "whatsnew-5.4.rst", "changes/v1.0.md", "changes/v1.1.md"],
        ["src/v1/a.md", "src/v2/b.md"],
        ["docs/main/a.md", "docs/a.md"],
    ],
)
def test_numbered_folders_that_hold_different_pages_are_no_versions(paths: list[str]) -> None:
    assert editions(paths) == [Edition(path) for path in paths]


def test_two_products_in_one_folder_stay_apart() -> None:
    found = _by_path("docs/app-1.0/use.md", "docs/app-2.0/use.md", "docs/lib-1.0/use.md", "docs/lib-3.0/use.md")
    assert found["docs/app-1.0/use.md"].page != found["docs/lib-1.0/use.md"].page
    assert found["docs/app-2.0/use.md"].current
    assert found["docs/lib-3.0/use.md"].current


_PART = st.sampled_from(
    ["docs", "ja", "en", "zh-CN", "v1", "2.x", "next", "i18n", "README", "a", "versioned_docs", "version-1.0", "it", ""]
)
_PATHS = st.lists(
    st.lists(_PART, max_size=6).map("/".join).flatmap(lambda p: st.sampled_from([p, p + ".md", p + ".fr.md"])),
    max_size=12,
)


@given(_PATHS)
def test_every_path_has_one_edition_whatever_the_order(paths: list[str]) -> None:
    found = editions(paths)
    assert len(found) == len(paths)
    assert sorted(zip(paths, found, strict=True)) == sorted(zip(paths[::-1], editions(paths[::-1]), strict=True))


def test_deep_paths_cost_only_themselves() -> None:
    deep = "/".join(["ja"] * 1_300)
    assert len(editions([f"{deep}/{number}.md" for number in range(500)])) == 500
