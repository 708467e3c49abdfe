"""File selection, and the reasons for skipped files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.config.roots import root_around
from assay.errors import AssayError
from assay.index.scan import MAX_BYTES, Scan, read_configs, read_source, scan
from assay.languages.conventions import is_test_path
from support.repository import Repository

CODE = "def f():\n    return 1\n"
Tree = Callable[..., Repository]


@pytest.fixture(params=["git", "plain"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Tree:
    """Makes a folder of files that are committed to git, or not under git at all."""

    def make(*paths: str, **ignore: str) -> Repository:
        made = Repository(tmp_path / "tree")
        made.root.mkdir()
        for path in paths:
            made.write(path, CODE)
        for name, text in ignore.items():
            made.write({"gitignore": ".gitignore", "assayignore": ".assayignore"}[name], text)
        if request.param == "git":
            made.git("init", "-q", "-b", "main")
        return made

    return make


def _files(repository: Repository) -> set[str]:
    return set(scan(repository.root).files)


def _passed(found: Scan, folder: Path) -> dict[str, str]:
    """What was passed over, at the walk or after a look inside."""
    looked = {path: read_source(folder, path) for path in found.files}
    return found.skipped | {path: source.skip for path, source in looked.items() if source.skip}


# -- ignore files ------------------------------------------------------------------------------------------------------


def test_files_that_gitignore_names_are_left_out(tree: Tree) -> None:
    made = tree("kept.py", "dropped.py", "build/out.py", "src/build/out.py", gitignore="dropped.py\nbuild/\n")
    assert _files(made) == {"kept.py"}


def test_a_gitignore_applies_only_below_its_own_folder(tree: Tree) -> None:
    made = tree("a/local.py", "a/deep/local.py", "b/local.py", "local.py")
    made.write("a/.gitignore", "local.py\n")
    assert _files(made) == {"b/local.py", "local.py"}


def test_an_anchored_pattern_matches_only_beside_its_gitignore(tree: Tree) -> None:
    made = tree("out/x.py", "src/out/x.py", gitignore="/out/\n")
    assert _files(made) == {"src/out/x.py"}


def test_a_negated_pattern_brings_a_file_back(tree: Tree) -> None:
    made = tree("gen/a.py", "gen/keep.py", "b.py", gitignore="gen/*\n!gen/keep.py\n")
    assert _files(made) == {"b.py", "gen/keep.py"}


def test_a_deeper_gitignore_overrules_the_one_above(tree: Tree) -> None:
    made = tree("a_tmp.py", "sub/b_tmp.py", "sub/deep/c_tmp.py", gitignore="*_tmp.py\n")
    made.write("sub/.gitignore", "!*_tmp.py\n")
    made.write("sub/deep/.gitignore", "c*\n")
    assert _files(made) == {"sub/b_tmp.py"}


def test_nothing_comes_back_from_below_an_ignored_folder(tree: Tree) -> None:
    made = tree("out/keep.py", "a.py", gitignore="out/\n!out/keep.py\n")
    assert _files(made) == {"a.py"}


def test_assayignore_leaves_out_what_git_would_keep(tree: Tree) -> None:
    made = tree("a.py", "legacy/b.py", "legacy/keep.py", "gone.py", assayignore="legacy/*\n!legacy/keep.py\ngone.py\n")
    made.write("c.py", CODE)
    assert _files(made) == {"a.py", "c.py", "legacy/keep.py"}


def test_assayignore_cannot_bring_back_what_gitignore_left_out(tree: Tree) -> None:
    made = tree("a.py", "b.py", gitignore="b.py\n", assayignore="!b.py\n")
    assert _files(made) == {"a.py"}


def test_assayignore_leaves_out_tracked_files_too(repository: Repository) -> None:
    repository.write("a.py", CODE)
    repository.write("b.py", CODE)
    repository.write(".assayignore", "b.py\n")
    repository.commit()
    assert _files(repository) == {"a.py"}


@pytest.mark.parametrize("name", [".gitignore", ".assayignore"])
def test_an_ignore_file_that_leads_nowhere_ignores_nothing(tree: Tree, name: str) -> None:
    made = tree("a.py")
    (made.root / name).symlink_to("nowhere")
    assert _files(made) == {"a.py"}


def test_an_ignored_file_that_git_tracks_is_kept(repository: Repository) -> None:
    repository.write("forced.py", CODE)
    repository.commit()
    repository.write(".gitignore", "forced.py\n")
    assert _files(repository) == {"forced.py"}


def test_files_that_git_neither_tracks_nor_ignores_are_included(repository: Repository) -> None:
    repository.write("tracked.py", CODE)
    repository.write(".gitignore", "ignored.py\n")
    repository.commit()
    repository.write("new.py", CODE)
    repository.write("ignored.py", CODE)
    assert _files(repository) == {"tracked.py", "new.py"}


def test_a_tracked_file_that_was_deleted_is_not_there(repository: Repository) -> None:
    repository.write("gone.py", CODE)
    repository.write("folder/gone.py", CODE)
    repository.write("stays.py", CODE)
    repository.commit()
    (repository.root / "gone.py").unlink()
    (repository.root / "folder/gone.py").unlink()
    (repository.root / "folder").rmdir()
    repository.write("folder", "now a file\n")
    found = scan(repository.root)
    assert set(found.files) == {"stays.py"}
    assert not found.problems
    assert not found.skipped


def test_the_index_itself_is_never_indexed(tree: Tree) -> None:
    made = tree("a.py", ".assay/inside.py", "sub/.assay/generations/x.py")
    made.write("sub/.assay/.gitignore", "*\n")
    assert _files(made) == {"a.py"}


def test_an_index_kept_elsewhere_inside_the_tree_is_never_indexed(tree: Tree) -> None:
    from assay.index.pipeline import index
    from assay.store.layout import Home

    made = tree("a.py")
    index(made.root, Home(made.root / "own"))
    made.write("own/generations/x.py", CODE)
    assert _files(made) == {"a.py"}


# -- reasons -----------------------------------------------------------------------------------------------------------

_GENERATED = "# Code generated by protoc. DO NOT EDIT.\nX = 1\n"

REASONS = [
    ("node_modules/left-pad/index.js", CODE, "vendored"),
    ("vendor/github.com/x/y.go", CODE, "vendored"),
    ("lib/third_party/z.c", CODE, "vendored"),
    (".venv/lib/site.py", CODE, "vendored"),
    ("static/jquery.min.js", CODE, "minified"),
    ("dist/app.bundle.js", CODE, "minified"),
    ("one_line.js", "var a=1;" * 1000, "minified"),
    ("api_pb2.py", CODE, "generated"),
    ("api_pb2_grpc.py", CODE, "generated"),
    ("api.pb.go", CODE, "generated"),
    ("Form.Designer.cs", CODE, "generated"),
    ("schema.generated.ts", CODE, "generated"),
    ("by_marker.py", _GENERATED, "generated"),
    ("by_marker.go", "// Code generated by stringer; DO NOT EDIT.\npackage x\n", "generated"),
    ("by_marker.ts", "/**\n * @generated by a tool\n */\nexport const x = 1;\n", "generated"),
    (".env", "TOKEN=x\n", "secret"),
    (".env.production", "TOKEN=x\n", "secret"),
    ("deploy/server.key", "x\n", "secret"),
    ("certificates/site.pem", "x\n", "secret"),
    ("home/id_rsa", "x\n", "secret"),
    ("credentials.json", "{}\n", "secret"),
    ("config/secrets.yml", "x: 1\n", "secret"),
    ("large.py", "x = 1\n" * (MAX_BYTES // 6 + 1), "large (2.0 MB)"),
]


@pytest.mark.parametrize(("path", "text", "reason"), REASONS, ids=[row[0] for row in REASONS])
def test_each_kind_of_file_is_passed_over_for_its_own_reason(tree: Tree, path: str, text: str, reason: str) -> None:
    made = tree("kept.py")
    made.write(path, text)
    found = scan(made.root)
    assert _passed(found, made.root) == {path: reason}
    assert "kept.py" in found.files


ORDINARY = [
    ("vendors/x.py", CODE),
    ("src/vendor.py", CODE),
    ("src/credentials.py", CODE),
    ("src/secrets.py", CODE),
    ("src/environment.py", CODE),
    ("src/keys.go", "package keys\n"),
    ("src/minify.js", "var a = 1;\n"),
    ("src/generator.py", CODE),
    ("large_lines.py", "x = '" + "a" * 900 + "'\n"),
    ("edge.py", ("#" * 79 + "\n") * (MAX_BYTES // 80)),
    ("mentions.py", 'MARK = "do not edit"\n\ndef find_marker(text):\n    return MARK in text\n'),
    ("late.py", "x = 1\n" * 1000 + "# do not edit\n"),
]


@pytest.mark.parametrize(("path", "text"), ORDINARY, ids=[row[0] for row in ORDINARY])
def test_a_file_that_only_resembles_those_is_kept(tree: Tree, path: str, text: str) -> None:
    made = tree()
    made.write(path, text)
    found = scan(made.root)
    assert set(found.files) == {path}
    assert not _passed(found, made.root)


def test_files_in_no_known_language_are_counted_and_not_listed(tree: Tree) -> None:
    made = tree("a.py")
    made.write("README", "text\n")
    made.write("data.bin", b"\0\1\2")
    found = scan(made.root)
    assert found.others == 2
    assert not found.skipped


def test_a_manifest_is_read_even_when_it_looks_minified(repository: Repository) -> None:
    repository.write("package.json", '{"name": "shop", "x": "' + "y" * 6000 + '"}')
    found = scan(repository.root)
    assert set(found.configs) == {"package.json"}
    assert read_configs(repository.root, found)["package.json"].startswith('{"name": "shop"')


def test_a_name_that_is_not_utf_8_is_reported_and_the_rest_is_found(tree: Tree) -> None:
    made = tree("a.py")
    try:
        with open(os.fsencode(made.root) + b"/caf\xe9.py", "wb") as handle:
            handle.write(CODE.encode())
    except OSError:
        pytest.skip("this file system has no such names")
    found = scan(made.root)
    assert set(found.files) == {"a.py"}
    assert found.problems == {"caf�.py": "its name is not valid UTF-8"}
    assert made.index().files == 1


def test_unusual_names_are_kept_as_they_are(tree: Tree) -> None:
    names = ["with space.py", "quote'\".py", "naïve.py", "-dash.py", "日本.py"]
    made = tree(*names)
    assert _files(made) == set(names)
    assert made.index().files == len(names)


# -- symlinks and other things that are not files ----------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "private.py").write_text("def private_thing():\n    return 1\n")
    return folder


def test_a_symlink_to_a_file_outside_the_root_is_never_read(tree: Tree, outside: Path) -> None:
    made = tree("a.py")
    (made.root / "link.py").symlink_to(outside / "private.py")
    found = scan(made.root)
    assert found.skipped == {"link.py": "symlink"}
    made.index()
    assert made.symbols() == {"a.py", "a.py::f"}


def test_a_symlink_that_takes_the_place_of_a_file_after_the_walk_is_not_read(tree: Tree, outside: Path) -> None:
    made = tree("a.py")
    assert _files(made) == {"a.py"}
    (made.root / "a.py").unlink()
    (made.root / "a.py").symlink_to(outside / "private.py")
    source = read_source(made.root, "a.py")
    assert source.data == b""
    assert source.problem.startswith("cannot be read")


def test_a_symlinked_folder_is_never_entered(tree: Tree, outside: Path) -> None:
    made = tree("a.py")
    (made.root / "linked").symlink_to(outside, target_is_directory=True)
    assert _files(made) == {"a.py"}


def test_a_tracked_folder_that_became_a_symlink_is_never_entered(repository: Repository, outside: Path) -> None:
    repository.write("a.py", CODE)
    repository.write("deep/folder/private.py", CODE)
    repository.commit()
    (repository.root / "deep/folder/private.py").unlink()
    (repository.root / "deep/folder").rmdir()
    (repository.root / "deep").rmdir()
    (outside / "folder").mkdir()
    (outside / "private.py").rename(outside / "folder/private.py")
    (repository.root / "deep").symlink_to(outside, target_is_directory=True)
    found = scan(repository.root)
    assert set(found.files) == {"a.py"}
    assert found.skipped == {"deep/folder/private.py": "symlink"}


def test_a_path_that_git_lists_may_be_very_deep(repository: Repository) -> None:
    repository.write("a.py", CODE)
    repository.commit()
    blob = repository.git("rev-parse", "HEAD:a.py").strip()
    repository.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{'a/' * 1_500}x.py")
    assert _files(repository) == {"a.py"}


def test_a_loop_of_symlinks_ends(tree: Tree) -> None:
    made = tree("sub/a.py")
    (made.root / "sub/up").symlink_to(made.root, target_is_directory=True)
    (made.root / "x.py").symlink_to("y.py")
    (made.root / "y.py").symlink_to("x.py")
    found = scan(made.root)
    assert set(found.files) == {"sub/a.py"}
    assert found.skipped == {"x.py": "symlink", "y.py": "symlink"}


def test_what_is_not_a_regular_file_is_not_opened(tree: Tree) -> None:
    made = tree("a.py")
    os.mkfifo(made.root / "pipe.py")
    (made.root / "folder.py").mkdir()
    (made.root / "folder.py" / "inside.py").write_text(CODE)
    found = scan(made.root)
    assert set(found.files) == {"a.py", "folder.py/inside.py"}
    assert found.skipped.get("pipe.py", "not a regular file") == "not a regular file"  # git does not even list it
    assert read_source(made.root, "pipe.py").problem == "cannot be read: not a regular file"
    assert read_source(made.root, "folder.py").problem == "cannot be read: not a regular file"


def test_a_file_that_vanished_after_the_walk_is_said_to_have_vanished(tree: Tree) -> None:
    made = tree("a.py", "sub/b.py")
    assert _files(made) == {"a.py", "sub/b.py"}
    (made.root / "a.py").unlink()
    (made.root / "sub/b.py").unlink()
    (made.root / "sub").rmdir()
    (made.root / "sub").write_text("")
    assert read_source(made.root, "a.py").skip == "vanished"
    assert read_source(made.root, "sub/b.py").skip == "vanished"


# -- roots -------------------------------------------------------------------------------------------------------------


def test_a_subfolder_of_a_repository_is_a_root_of_its_own(repository: Repository) -> None:
    repository.write("a.py", CODE)
    repository.write("sub/b.py", CODE)
    repository.write("sub/deep/c.py", CODE)
    repository.write("sub/skipped.py", CODE)
    repository.write(".gitignore", "skipped.py\n")
    repository.commit()
    repository.write("sub/new.py", CODE)
    assert set(scan(repository.root / "sub").files) == {"b.py", "deep/c.py", "new.py"}


def test_a_root_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="no such folder"):
        scan(tmp_path / "nowhere")


def test_a_root_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE)
    with pytest.raises(AssayError, match="not a folder"):
        scan(tmp_path / "a.py")


# -- test files --------------------------------------------------------------------------------------------------------

TESTS = [
    "tests/helper.py", "pkg/tests/data.py", "test/a.rb", "spec/models/cart_spec.rb", "lib/cart_spec.rb", "test_cart.py",
    "src/cart_test.go", "src/cart.test.ts", "src/cart.spec.tsx", "src/__tests__/cart.js", "src/test/java/CartTest.java",
    "CartTests.cs", "Shop.Tests/Cart.cs", "Shop.UnitTests/Cart.cs", "conftest.py", "src/CartTestCase.php", "testdata/x.go",
    "cart_tests.rs", "__mocks__/fs.js", "UnitTests/CartSpec.swift",
]  # fmt: skip
NOT_TESTS = [
    "features/x.rb", "src/contest.py", "latest/x.go", "src/testimony.py", "attest/a.go", "src/inspect.py", "specials/menu.rb",
    "protest.js", "src/fastest.ts", "greatest_hits.py", "src/Contest.java", "specification.md", "testament/x.rs", "src/detest.c",
    "src/latest.ts", "respect/spec_helpers_not.rb", "manifest.py", "contests/entry.py",
]  # fmt: skip


@pytest.mark.parametrize("path", TESTS)
def test_paths_of_tests_are_recognised(path: str) -> None:
    assert is_test_path(path)


@pytest.mark.parametrize("path", NOT_TESTS)
def test_paths_that_only_contain_the_word_are_not_tests(path: str) -> None:
    assert not is_test_path(path)


@pytest.mark.parametrize("make", [["init", "-q"], ["worktree", "add", "-q"]])
def test_in_a_repository_inside_an_indexed_one_the_inner_one_is_meant(repository: Repository, make: list[str]) -> None:
    repository.write("shop.py", "def checkout(): pass\n")
    repository.commit()
    repository.index()
    repository.git(*make, "inner/one")
    inner = repository.root / "inner" / "one"
    (inner / "src").mkdir()
    assert root_around(inner / "src") == inner
    assert root_around(repository.root / "inner") == repository.root


def test_in_a_repository_inside_an_indexed_plain_folder_the_folder_is_meant(tmp_path: Path) -> None:
    workspace = Repository(tmp_path)
    workspace.write("one/shop.py", "def checkout(): pass\n")
    workspace.git("init", "-q", "one")
    workspace.index()
    assert root_around(tmp_path / "one") == tmp_path
