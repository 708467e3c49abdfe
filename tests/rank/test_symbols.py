"""Names of symbols: qualified names, names in files and modules, and places such as `src/app.py:12`."""

from __future__ import annotations

import pytest

from assay.errors import AssayError
from assay.rank.symbols import NoSuchSymbol, match, require, require_one, resolve
from assay.store.index import Index
from assay.text.tokens import LONGEST_NAME
from support.command import assay
from support.repository import Repository

APP = """\
\"\"\"The application.\"\"\"


class Server:
    port = 80

    def run(self):
        def loop():
            return self.port

        return loop()


def main():
    Server().run()
"""


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("src/shop/app.py", APP)
    repository.write("src/shop/__init__.py", "from shop.app import Server\n\n\ndef version():\n    return 1\n")
    repository.write("tools/app.py", "def main():\n    return 0\n")
    repository.write("tests/test_app.py", "from shop.app import Server\n\n\ndef test_run():\n    Server().run()\n")
    repository.write("web/widgets/index.ts", "export function draw(): number { return 1 }\n")
    repository.index()
    return repository


@pytest.fixture
def index(shop: Repository) -> Index:
    return shop.open()


MEANT = {
    "src/shop/app.py:5": ["src/shop/app.py::Server.port"],
    "src/shop/app.py:7": ["src/shop/app.py::Server.run"],
    "src/shop/app.py:9": ["src/shop/app.py::Server.run.loop"],
    "src/shop/app.py:12": ["src/shop/app.py"],
    "src/shop/app.py:1": ["src/shop/app.py"],
    "src/shop/app.py:14": ["src/shop/app.py::main"],
    "src/shop/app.py:9:17": ["src/shop/app.py::Server.run.loop"],
    "src/shop/app.py:9:": ["src/shop/app.py::Server.run.loop"],
    "src/shop/app.py:7-11": ["src/shop/app.py::Server.run"],
    "src/shop/app.py:5-9": ["src/shop/app.py::Server"],
    "./src/shop/app.py:7": ["src/shop/app.py::Server.run"],
    "shop/app.py:7": ["src/shop/app.py::Server.run"],
    "/home/me/code/src/shop/app.py:7": ["src/shop/app.py::Server.run"],
    "app.py:2": ["src/shop/app.py", "tools/app.py::main"],
    "app.py": ["src/shop/app.py", "tools/app.py"],
    "shop/app.py::Server.run": ["src/shop/app.py::Server.run"],
    "shop.app.Server.run": ["src/shop/app.py::Server.run"],
    "src.shop.app.Server": ["src/shop/app.py::Server"],
    "shop/app.Server": ["src/shop/app.py::Server"],
    "shop/app.main": ["src/shop/app.py::main"],
    "shop.app": ["src/shop/app.py"],
    "shop.version": ["src/shop/__init__.py::version"],
    "shop.Server": ["src/shop/app.py::Server"],
    "widgets.draw": ["web/widgets/index.ts::draw"],
    "app.main": ["src/shop/app.py::main", "tools/app.py::main"],
}


@pytest.mark.parametrize("name", MEANT)
def test_a_place_or_a_name_in_a_module_means_the_definition_there(index: Index, name: str) -> None:
    assert sorted(item.id for item in resolve(index, name)) == MEANT[name]


@pytest.mark.parametrize("name", ["shop.app.nobody", "app.Server.main", "run.shop", "nobody.Server", "Server.", ".run"])
def test_a_name_whose_parts_are_elsewhere_or_in_another_order_means_nothing(index: Index, name: str) -> None:
    assert resolve(index, name) == []


MISSING = {
    "src/shop/app.py:99": "src/shop/app.py:99: the file has no such line.",
    "src/shop/app.py:0": "src/shop/app.py:0: the file has no such line.",
    "src/shop/app.py:9-5": "src/shop/app.py:9-5: the file has no such line.",
    "src/shop/apps.py:3": "src/shop/apps.py: not in the index. Nearest: src/shop/app.py",
    "shop.app.Server.rnu": "no symbol called 'shop.app.Server.rnu'. Nearest: Server.run",
    "src/shop/app.py::Server.rnu": "no symbol called 'src/shop/app.py::Server.rnu'. Nearest: Server.run",
}


@pytest.mark.parametrize("name", MISSING)
def test_where_nothing_is_the_message_says_what_is_near(index: Index, name: str) -> None:
    with pytest.raises(NoSuchSymbol) as raised:
        require(index, name)
    assert str(raised.value).startswith(MISSING[name])


def test_a_place_in_several_files_is_ambiguous_where_one_is_needed(index: Index) -> None:
    with pytest.raises(AssayError, match="could be any of 2 symbols"):
        require_one(index, "app.py:2")
    assert require_one(index, "tools/app.py:2").id == "tools/app.py::main"


@pytest.mark.parametrize(
    "name",
    [
        ":",
        ":1",
        "::",
        "a:999999999999999999999",
        "src/shop/app.py:99999999999999",
        "src/shop/app.py:-1",
        "src/shop/app.py:٣",
        "\n:1",
        "x\0y:1",
        "'; DROP TABLE symbols:1",
        ".".join("a" * (LONGEST_NAME // 2)),
        "::".join("a" * (LONGEST_NAME // 3)),
        "/".join("." * (LONGEST_NAME // 2)) + ":1",
        "a" * LONGEST_NAME + ".b:1",
    ],
)
def test_strange_names_mean_nothing(index: Index, name: str) -> None:
    assert match(index, name) == []
    with pytest.raises(NoSuchSymbol):
        require(index, name)


def test_every_command_that_takes_a_symbol_takes_a_place_and_a_name_in_a_module(shop: Repository) -> None:
    for name in ("src/shop/app.py:9", "shop.app.Server.run.loop"):
        assert "Server.run.loop" in assay(shop.root, "symbols", name).out
        assert "Server.run.loop" in assay(shop.root, "impact", name).lines[0]
        assert "Server.run.loop" in assay(shop.root, "why", "run the server", name).out
        assert "Server.run.loop" in assay(shop.root, "feedback", "useful", name).out
        assert "test_run" in assay(shop.root, "tests", name).out
    typo = assay(shop.root, "tests", "src/shop/apps.py")
    assert (typo.code, typo.out) == (2, "")
    assert "Nearest: src/shop/app.py" in typo.err
    assert assay(shop.root, "tests", "Server.run", "--format", "json").json["files"] == ["src/shop/app.py::Server.run"]
