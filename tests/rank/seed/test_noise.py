"""Noise filtering: removed candidates, the reasons, and the cases in which test code is kept."""

from __future__ import annotations

import pytest

from assay.core.items import Item
from assay.rank.query import is_about_tests
from assay.rank.seed.noise import noise_reason


def item(path: str = "src/store.py", symbol: str = "Store.put_edge", kind: str = "method") -> Item:
    name = symbol.rpartition(".")[2]
    return Item(1, f"{path}::{symbol}", kind, name, symbol, path, 1, 2, "", "", False)


@pytest.mark.parametrize(
    "path", ["web/dist/app.js", "build/lib/x.py", "go/vendor/a/b.go", "node_modules/x/i.js", "a/Dist/x.js"]
)
def test_build_output_is_noise(path: str) -> None:
    assert noise_reason(item(path)) == "build output"


@pytest.mark.parametrize(
    "path",
    [
        "src/build.py",
        "tools/build",
        "src/builder/x.py",
        "src/distribution/x.py",
        "features/x.rb",
        "docs/x.py",
        "examples/x.py",
    ],
)
def test_similar_paths_are_not_noise(path: str) -> None:
    assert noise_reason(item(path)) == ""


@pytest.mark.parametrize("path", ["static/jquery.min.js", "static/app.bundle.js"])
def test_minified_code_is_noise(path: str) -> None:
    assert noise_reason(item(path)) == "minified code"


@pytest.mark.parametrize(
    "path",
    [
        "conftest.py",
        "tests/fixtures.py",
        "internal/testutil/x.go",
        "pkg/testhelpers/x.go",
        "test/test_helper.rb",
        "a/my_test_helper.py",
    ],
)
def test_helpers_of_tests_are_noise_unless_the_task_is_about_tests(path: str) -> None:
    assert noise_reason(item(path)) == "test helper"
    assert noise_reason(item(path), about_tests=True) == ""


@pytest.mark.parametrize(
    "symbol",
    ["mockStore.PutEdge", "fakeClient.Do", "WalkMockStore.edges_from", "StubServer.serve", "outer.FakeStore.put"],
)
def test_members_of_stand_ins_are_noise_unless_the_task_is_about_tests(symbol: str) -> None:
    assert noise_reason(item(symbol=symbol)) == "test double"
    assert noise_reason(item(symbol=symbol), about_tests=True) == ""


def test_a_stand_in_type_is_noise_but_a_function_about_mocks_is_not() -> None:
    assert noise_reason(item(symbol="FakeStore", kind="class")) == "test double"
    assert noise_reason(item(symbol="mock_store", kind="function")) == ""
    assert noise_reason(item(symbol="Store.mock", kind="method")) == ""


@pytest.mark.parametrize("symbol", ["nR", "v4", "a", "Box.q"])
def test_names_that_look_minified_are_noise(symbol: str) -> None:
    assert noise_reason(item(symbol=symbol)) == "minified name"
    assert noise_reason(item(symbol=symbol), about_tests=True) == "minified name"


@pytest.mark.parametrize("symbol", ["ID", "OK", "DB", "IP", "IO", "Go", "Do", "User.id", "run", "<<", "==", "登录"])
def test_common_short_names_operators_and_other_scripts_are_not(symbol: str) -> None:
    assert noise_reason(item(symbol=symbol)) == ""


@pytest.mark.parametrize(
    "task",
    ["add a test for the cart", "fix the test that hangs", "Testing the parser", "missing fixtures", "the spec fails"],
)
def test_tasks_about_tests(task: str) -> None:
    assert is_about_tests(task)


@pytest.mark.parametrize(
    "task",
    [
        "use the latest version",
        "a specific contest",
        "mock final classes",
        "attest the token",
        "why does `test_client` leak",
        "",
    ],
)
def test_tasks_that_only_look_so(task: str) -> None:
    assert not is_about_tests(task)
