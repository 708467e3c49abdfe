"""The command line: output of every command as text and JSON, and exit codes."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import click
import pytest

from assay.cli import COMMANDS
from assay.cli.evaluation import COMMANDS as EVAL_COMMANDS
from assay.errors import EXTRAS
from support.command import COMMAND, ENVIRONMENT, assay
from support.paths import ROOT
from support.repository import Repository

ITEM_KEYS = {"id", "symbol", "kind", "path", "start", "end"}

SHOP = """\
from tax import Rate, rate


class Cart:
    def __init__(self, owner):
        self.owner = owner
        self.items = prepare(owner)

    def total(self):
        return sum(self.items) * rate(self.owner)


def prepare(owner):
    return [owner]


def make_cart(owner):
    return Cart(owner)


def checkout(owner):
    cart = make_cart(owner)
    return cart.total()
"""
TAX = """\
class Rate:
    value = 1


def rate(owner):
    return even(3)


def even(number):
    return number == 0 or odd(number - 1)


def odd(number):
    return number != 0 and even(number - 1)
"""
TESTS = """\
from shop import checkout


def test_checkout():
    assert checkout("me")
"""
PLAIN = "export function greet(name) {\n  return shout(name);\n}\n\nexport function shout(name) {\n  return name;\n}\n"


@pytest.fixture
def shop(repository: Repository) -> Repository:
    """A small repository, committed and indexed."""
    repository.write("shop.py", SHOP)
    repository.write("tax.py", TAX)
    repository.write("tests/test_shop.py", TESTS)
    repository.write("web/greet.js", PLAIN)
    repository.commit()
    repository.index()
    return repository


# -- help and documentation --------------------------------------------------------------------------------------------


def _reference() -> ModuleType:
    specification = importlib.util.spec_from_file_location("cli_reference", ROOT / "scripts/cli_reference.py")
    assert specification is not None
    assert specification.loader is not None
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)
    return script


def _commands() -> list[tuple[str, click.Command]]:
    """Every command of every group, by its whole name."""
    found: list[tuple[str, click.Command]] = _reference().commands()
    return found


def test_every_command_and_every_option_says_what_it_is_for() -> None:
    assert [name for name, _ in _commands() if " " not in name] == list(COMMANDS)
    assert [name for name, _ in _commands() if name.startswith("eval ") and name.count(" ") == 1] == [
        f"eval {name}" for name in EVAL_COMMANDS
    ]
    assert all(text for table in (COMMANDS, EVAL_COMMANDS) for _, text in table.values())
    for name, command in _commands():
        assert command.name == name.rpartition(" ")[2]
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.opts}"
            else:
                assert parameter.name
                assert parameter.name.upper() in command.help, f"{name}: its help does not speak of {parameter.name}"


def test_the_reference_is_what_the_commands_say() -> None:
    """`make docs` writes it."""
    written = (ROOT / "docs/cli.md").read_text("utf-8")
    assert written == _reference().reference()
    for name, command in _commands():
        assert f"## assay {name}\n" in written
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert all(option in written for option in parameter.opts)


def test_help_needs_neither_arrays_nor_parsers(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom assay.cli import cli\n"
        "try:\n    cli.main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in sys.modules if name.partition('.')[0] in ('numpy', 'tree_sitter', 'pathspec', 'sqlite3')])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[-1] == "[]"
    printed = " ".join(done.stdout.split())
    for name, (_, text) in COMMANDS.items():
        assert f" {name} {text} " in printed


# what a question on an index that is up to date does without: servers, parsers, workers, evaluation
_NOT_FOR_QUESTIONS = {
    "asyncio", "concurrent", "difflib", "email", "http", "multiprocessing", "pathspec", "socket", "ssl", "tempfile",
    "tree_sitter", "assay.answer.answering", "assay.database.postgres", "assay.evaluate", "assay.html",
    "assay.index.extract", "assay.index.parse", "assay.serve", "assay.system.cluster", "assay.text.plain",
}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        (["context", "cart"], {"numpy", "msgspec"}),
        (["context", "cart", "--no-cache"], {"msgspec"}),
        (["search", "cart"], set()),
    ],
)
def test_a_question_imports_only_what_it_needs(repository: Repository, arguments: list[str], more: set[str]) -> None:
    repository.write("cart.py", "def store_cart(cart):\n    pass\n")
    repository.write("README.md", "# Shop\n\nA cart is stored.\n")
    for path in repository.root.iterdir():
        if path.is_file():
            os.utime(path, (1, 1))  # a file that has just changed is compared by content, and not cached
    repository.index()
    code = "import sys\nfrom assay.cli import main\ntry:\n    main()\nexcept SystemExit:\n    print(*sys.modules, file=sys.stderr)"
    assay(repository.root, *arguments)  # makes passages, fills caches
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=repository.root, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert "store_cart" in done.stdout
    assert sorted({*done.stderr.split()} & (_NOT_FOR_QUESTIONS | more)) == []


@pytest.mark.parametrize(
    ("typed", "meant"), [("stats", "status"), ("symbol", "symbols"), ("idnex", "index"), ("scip", "ingest-scip")]
)
def test_an_unknown_command_suggests_the_nearest(tmp_path: Path, typed: str, meant: str) -> None:
    done = assay(tmp_path, typed)
    assert done.code == 2
    assert f"No such command '{typed}'. Did you mean '{meant}'?" in done.err


@pytest.mark.parametrize(
    "arguments", [["symbols"], ["status", "--nonsense"], ["impact", "x", "--depth", "0"], ["status", "--format", "xml"]]
)
def test_a_command_that_makes_no_sense_is_refused(tmp_path: Path, arguments: list[str]) -> None:
    done = assay(tmp_path, *arguments)
    assert done.code == 2
    assert done.err


# -- finding the index -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["status"], ["symbols", "x", "--no-refresh"], ["tests", "--no-refresh"]])
def test_without_an_index_the_command_to_make_one_is_named(repository: Repository, arguments: list[str]) -> None:
    done = assay(repository.root, *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"assay: {repository.root}: no index yet. Make one with: assay index {repository.root}\n"
    assert not (repository.root / ".assay").exists()


def test_the_root_is_found_from_a_subfolder(shop: Repository) -> None:
    below = shop.root / "web" / "deep"
    below.mkdir()
    assert assay(below, "symbols", "checkout").lines == ["shop.py:21  function checkout  def checkout(owner)"]
    done = assay(below, "index")
    assert done.out == f"up to date: 4 files in {shop.root}\n"
    assert not (below / ".assay").exists()


def test_the_root_and_the_index_may_be_anywhere(shop: Repository, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    done = assay(tmp_path, "index", "--root", shop.root, "--index-dir", elsewhere)
    assert done.code == 0
    assert done.lines[0].startswith("indexed 4 files")
    found = assay(tmp_path, "symbols", "checkout", "--root", shop.root, "--index-dir", elsewhere)
    assert (found.code, len(found.lines)) == (0, 1)
    assert (elsewhere / "current").exists()


# -- index -------------------------------------------------------------------------------------------------------------


def test_index_says_what_it_did(repository: Repository) -> None:
    for number in range(20):
        repository.write(f"m{number}.py", f"def f{number}(): pass\n")
    assert assay(repository.root, "index").lines[0].startswith("indexed 20 files in ")
    repository.write("m1.py", "def changed(): pass\n")
    (repository.root / "m2.py").unlink()
    assert assay(repository.root, "index").lines[0].endswith(" s (1 changed, 1 removed, 1 resolved again)")
    report = assay(repository.root, "index", "--format", "json").json
    assert (report["mode"], report["files"], report["problems"]) == ("fresh", 19, {})
    rebuilt = assay(repository.root, "index", "--rebuild", "--format", "json").json
    assert (rebuilt["mode"], rebuilt["reason"]) == ("full", "rebuild requested")


# -- status ------------------------------------------------------------------------------------------------------------


def test_status_in_json_has_the_figures(shop: Repository) -> None:
    done = assay(shop.root, "status", "--format", "json")
    assert done.code == 0
    found = done.json
    assert found["root"] == str(shop.root)
    assert found["files"] == 4
    assert {name: row["files"] for name, row in found["languages"].items()} == {"python": 3, "javascript": 1}
    assert found["languages"]["javascript"]["symbols"] == 2
    assert found["symbols"] == sum(row["symbols"] for row in found["languages"].values())
    assert found["edges"] == sum(found["edge_types"].values())
    assert found["edge_types"]["tests"] == 1
    assert found["calls_resolved"] == 1.0
    assert [row["calls_resolved"] for row in found["languages"].values()] == [1.0, 1.0]
    assert found["fresh"] is True
    assert found["stale"] == []


def test_status_in_text_has_a_line_per_language(shop: Repository) -> None:
    done = assay(shop.root, "status")
    assert done.code == 0
    assert done.lines[0].startswith(f"{shop.root}: 4 files, ")
    rows = {line.split()[0]: line.split() for line in done.lines if line.startswith(("python", "javascript"))}
    assert rows["python"][1] == "3"
    assert rows["javascript"] == ["javascript", "1", "2", "1", "100.0%"]
    assert any(line.startswith("calls resolved: 100.0% of calls to names defined in") for line in done.lines)
    assert done.lines[-1] == "fresh: nothing changed since"


def test_status_of_a_stale_index_names_the_files(shop: Repository) -> None:
    shop.write("tax.py", TAX + "\nEXTRA = 1\n")
    shop.write("new.py", "x = 1\n")
    (shop.root / "web/greet.js").unlink()
    done = assay(shop.root, "status")
    assert done.code == 1
    assert done.lines[-1] == "stale: 3 files changed since (new.py, tax.py, web/greet.js); run: assay index"
    found = assay(shop.root, "status", "--format", "json")
    assert found.code == 1
    assert found.json["fresh"] is False
    assert found.json["stale"] == ["new.py", "tax.py", "web/greet.js"]
    assert assay(shop.root, "index").code == 0
    assert assay(shop.root, "status").code == 0


# -- symbols -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("checkout", ["checkout"]),
        ("Cart.total", ["Cart.total"]),
        ("total", ["Cart.total"]),
        ("shop.py::Cart.total", ["Cart.total"]),
        ("Cart::total", ["Cart.total"]),
        ("Cart.*", ["Cart.__init__", "Cart.items", "Cart.owner", "Cart.total"]),
        ("*art", ["Cart", "make_cart"]),
        ("?dd", ["odd"]),
        ("cart", ["Cart", "Cart.__init__", "Cart.items", "Cart.owner", "Cart.total", "make_cart"]),
        ("ake_c", ["make_cart"]),
        ("shop.py", [""]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_symbols_finds_names_suffixes_patterns_and_parts(shop: Repository, pattern: str, found: list[str]) -> None:
    done = assay(shop.root, "symbols", pattern, "--format", "json")
    assert done.code == 0
    assert [item["symbol"] for item in done.json["symbols"]] == found
    assert done.json["total"] == len(found)
    assert all(item.keys() >= ITEM_KEYS for item in done.json["symbols"])


def test_symbols_in_json_say_where_the_definition_is(shop: Repository) -> None:
    (item,) = assay(shop.root, "symbols", "Cart.total", "--format", "json").json["symbols"]
    assert {key: item[key] for key in ITEM_KEYS} == {
        "id": "shop.py::Cart.total", "symbol": "Cart.total", "kind": "method", "path": "shop.py", "start": 9, "end": 10,
    }  # fmt: skip


def test_symbols_can_be_limited_in_number_and_kind(shop: Repository) -> None:
    done = assay(shop.root, "symbols", "Cart.*", "-n", "1")
    assert len(done.lines) == 1
    assert done.err == "… and 3 more; -n shows more\n"
    assert assay(shop.root, "symbols", "Cart*", "--kind", "class").lines == ["shop.py:4  class Cart  class Cart"]


@pytest.mark.parametrize(
    ("typed", "near"), [("chekout", "checkout"), ("Cart.totla", "Cart.total"), ("cart_make", "make_cart")]
)
def test_a_symbol_that_does_not_exist_offers_the_nearest_names(shop: Repository, typed: str, near: str) -> None:
    for command in ("symbols", "impact"):
        done = assay(shop.root, command, typed)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith(f"assay: no symbol called '{typed}'. Nearest: {near}")


def test_symbols_in_json_that_match_nothing_are_an_empty_list(shop: Repository) -> None:
    done = assay(shop.root, "symbols", "nothing_like_it", "--format", "json")
    assert done.code == 1
    assert done.json == {"pattern": "nothing_like_it", "total": 0, "symbols": []}


# -- impact ------------------------------------------------------------------------------------------------------------


def _impact(repository: Repository, *arguments: str) -> dict[str, tuple[int, float]]:
    done = assay(repository.root, "impact", *arguments, "--format", "json")
    assert done.code == 0
    assert all(item.keys() >= {*ITEM_KEYS, "depth", "confidence", "edge", "through"} for item in done.json["affected"])
    return {item["symbol"]: (item["depth"], item["confidence"]) for item in done.json["affected"]}


def test_impact_follows_callers_with_their_depth_and_a_confidence_that_never_grows(shop: Repository) -> None:
    found = _impact(shop, "rate")
    assert {name: depth for name, (depth, _) in found.items()} == {"Cart.total": 1, "checkout": 2, "test_checkout": 3}
    sure = [found[name][1] for name in ("Cart.total", "checkout", "test_checkout")]
    assert 1 >= sure[0] >= sure[1] >= sure[2] > 0.1
    assert sure[0] > sure[2]


def test_callers_of_a_type_are_callers_of_its_constructor_and_the_other_way_round(shop: Repository) -> None:
    by_class, by_constructor = _impact(shop, "Cart"), _impact(shop, "Cart.__init__")
    assert by_class == by_constructor
    assert {name: depth for name, (depth, _) in by_class.items()} == {"make_cart": 1, "checkout": 2, "test_checkout": 3}


def test_what_a_constructor_calls_is_felt_by_whoever_makes_the_object(shop: Repository) -> None:
    found = {name: depth for name, (depth, _) in _impact(shop, "prepare").items()}
    assert found == {"Cart.__init__": 1, "make_cart": 2, "checkout": 3, "test_checkout": 4}


def test_cycles_end_and_do_not_name_the_symbol_itself(shop: Repository) -> None:
    found = {name: depth for name, (depth, _) in _impact(shop, "odd", "--min-confidence", "0").items()}
    assert found == {"even": 1, "rate": 2, "Cart.total": 3, "checkout": 4, "test_checkout": 5}


def test_depth_limits_the_steps(shop: Repository) -> None:
    assert set(_impact(shop, "odd", "--depth", "2", "--min-confidence", "0")) == {"even", "rate"}


def test_a_longer_but_surer_way_does_not_hide_a_shorter_one(repository: Repository) -> None:
    """`far` mentions `target`, and calls it by way of two others: its callers are as near as the shorter way says."""
    repository.write(
        "a.py",
        "def target(): pass\n\ndef one(): target()\n\ndef two(): one()\n\n"
        "def far():\n    held = [target]\n    two()\n    return held\n\ndef last(): far()\n",
    )
    repository.index()
    found = _impact(repository, "target", "--depth", "3", "--min-confidence", "0")
    assert {name: depth for name, (depth, _) in found.items()} == {"one": 1, "two": 2, "far": 1, "last": 2}


def test_impact_in_text_groups_by_steps(shop: Repository) -> None:
    done = assay(shop.root, "impact", "rate", "--depth", "2")
    assert done.code == 0
    assert done.lines[0] == "function rate  tax.py:5"
    assert [line for line in done.lines if line.endswith(" away:")] == ["1 step away:", "2 steps away:"]
    assert any(line.endswith("shop.py:10  Cart.total  calls rate") for line in done.lines)


def test_impact_of_something_nobody_calls_says_so(shop: Repository) -> None:
    assert assay(shop.root, "impact", "Rate").lines == ["class Rate  tax.py:1", "nothing in this repository calls it"]


# -- tests -------------------------------------------------------------------------------------------------------------


def test_the_tests_that_reach_a_file_are_found(shop: Repository) -> None:
    done = assay(shop.root, "tests", "tax.py")
    assert done.code == 0
    assert [line.split("  ")[1:] for line in done.lines] == [["tests/test_shop.py:4", "test_checkout"]]
    found = assay(shop.root, "tests", "tax.py", "--format", "json").json
    assert found["files"] == ["tax.py"]
    assert found["test_files"] == ["tests/test_shop.py"]
    assert [item["id"] for item in found["tests"]] == ["tests/test_shop.py::test_checkout"]
    assert found["tests"][0].keys() >= ITEM_KEYS


def test_a_file_can_be_named_from_where_one_stands(shop: Repository) -> None:
    for folder, name in (
        (shop.root / "web", "../tax.py"),
        (shop.root / "web", str(shop.root / "tax.py")),
        (shop.root, "./tax.py"),
    ):
        assert assay(folder, "tests", "--paths", name).lines == ["tests/test_shop.py"]


def test_a_file_that_no_test_reaches_says_so(shop: Repository) -> None:
    assert assay(shop.root, "tests", "web/greet.js").lines == ["no test reaches web/greet.js"]


def test_without_files_the_tests_of_what_git_says_changed_are_found(shop: Repository) -> None:
    shop.write(".gitignore", ".assay\n")
    shop.commit()
    assert assay(shop.root, "tests").lines == ["nothing changed since the last commit; name files to ask about them"]
    shop.write("tax.py", TAX + "\nEXTRA = 1\n")
    assert assay(shop.root, "tests", "--paths").lines == ["tests/test_shop.py"]
    shop.commit()
    shop.write("tests/test_new.py", "from web import nothing\n\n\ndef test_new():\n    assert True\n")
    shop.index()
    found = assay(shop.root, "tests", "--format", "json").json
    assert found["files"] == ["tests/test_new.py"]
    assert "tests/test_new.py::test_new" in [item["id"] for item in found["tests"]]


def test_before_the_first_commit_everything_is_new(repository: Repository) -> None:
    repository.write("shop.py", SHOP)
    repository.write("tests/test_shop.py", TESTS)
    repository.index()
    done = assay(repository.root, "tests", "--paths")
    assert (done.code, done.lines) == (0, ["tests/test_shop.py"])


def test_without_git_the_files_must_be_named(tmp_path: Path) -> None:
    made = Repository(tmp_path / "plain")
    made.write("shop.py", SHOP)
    made.index()
    done = assay(made.root, "tests")
    assert done.code == 2
    assert done.err.endswith("name the files to find tests for\n")
    assert "not a git repository" in done.err


def test_a_file_outside_the_root_is_refused(shop: Repository, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("x = 1\n")
    for name in ("../other.py", str(tmp_path / "other.py")):
        done = assay(shop.root, "tests", name)
        assert (done.code, done.err) == (2, f"assay: {name}: outside {shop.root}\n")


def test_a_file_that_is_not_indexed_is_refused_with_a_hint(shop: Repository) -> None:
    done = assay(shop.root, "tests", "shoop.py")
    assert (done.code, done.err.partition(" Nearest: ")[0]) == (2, "assay: shoop.py: not in the index.")
    assert "shop.py" in done.err.partition(" Nearest: ")[2]
    shop.write("new.py", "x = 1\n")
    done = assay(shop.root, "tests", "new.py", "--no-refresh")
    assert (done.code, done.err) == (
        2,
        "1 file changed since it was indexed; run: assay index\n"
        f"assay: new.py: not in the index. If it is new, run: assay index {shop.root}\n",
    )


# -- pipes -------------------------------------------------------------------------------------------------------------


def test_a_reader_that_stops_reading_is_no_error(repository: Repository) -> None:
    repository.write("a.py", "".join(f"def function_{number}(): pass\n\n" for number in range(3_000)))
    repository.index()
    command = [*COMMAND, "symbols", "function_*", "-n", "3000"]
    process = subprocess.Popen(
        command, cwd=repository.root, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b"a.py:")
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


def test_what_messages_say_to_install_is_what_the_extras_are() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {name: tuple(re.findall(r"^[\w-]+(?:\[\w+\])?", "\n".join(needs), re.M)) for name, needs in extras.items()}
    assert {name: needs for name, needs in named.items() if name != "dev"} == EXTRAS


_WITHOUT_EXTRAS = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {
            "mcp", "starlette", "uvicorn", "h11", "watchfiles", "pypdfium2", "wordllama", "onnxruntime", "tokenizers", "fsspec"
        }:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from assay.cli import main
main()
"""


@pytest.mark.parametrize("name", [name for name, _ in _commands()])
def test_every_command_can_be_read_about_without_any_extra(name: str) -> None:
    """A default install has none of them; CI has all, so that it would not notice."""
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_EXTRAS, *name.split(), "--help"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_index_is_made_and_asked_without_any_extra(repository: Repository) -> None:
    repository.write("shop.py", "def checkout():\n    return 1\n")
    for arguments in (["index"], ["status"], ["symbols", "checkout"], ["context", "checkout"], ["search", "checkout"]):
        done = subprocess.run(
            [sys.executable, "-c", _WITHOUT_EXTRAS, *arguments],
            cwd=repository.root,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
