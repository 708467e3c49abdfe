"""The Python API: return values, equality with the commands, and its guide."""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import assay as package
from assay.api import Repository as Opened
from assay.pack.render import FORMS
from assay.text.tokens import count
from support.command import ENVIRONMENT, assay
from support.paths import ROOT
from support.repository import Repository

GUIDE = ROOT / "docs/guides/python.md"
TASK = "how are discounts applied to the total price"


def _blocks() -> list[str]:
    """The Python of the guide; fences inside an answer that is shown do not end a block."""
    return re.findall(r"^```python\n(.*?\n)```$(?!\n<BLANKLINE>)", GUIDE.read_text("utf-8"), re.S | re.M)


def _files() -> dict[str, str]:
    """The files that the guide shows, by their names."""
    return {block.split("\n")[0][2:]: block for block in _blocks() if block.startswith("# ")}


@pytest.fixture
def shop(repository: Repository) -> Repository:
    for name, text in _files().items():
        repository.write(name, text.partition("\n")[2])
    repository.commit()
    return repository


@pytest.fixture
def repo(shop: Repository) -> Iterator[Opened]:
    with package.open(shop.root, index=True) as opened:
        yield opened


# -- the guide ---------------------------------------------------------------------------------------------------------


def test_the_guide_says_what_happens(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop.root)
    examples = "\n".join(block for block in _blocks() if not block.startswith("# "))
    test = doctest.DocTestParser().get_doctest(examples, {}, "python.md", str(GUIDE), 0)
    assert len(test.examples) > 20
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


# -- importing ---------------------------------------------------------------------------------------------------------


def test_importing_the_package_loads_neither_arrays_nor_parsers(tmp_path: Path) -> None:
    code = "import sys, assay; dir(assay); print([m for m in sys.modules if m.partition('.')[0] in ('numpy', 'tree_sitter', 'click', 'sqlite3')])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_every_name_of_the_package_is_there() -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        package.opne  # noqa: B018


def test_names_for_type_checkers_are_those_at_run_time() -> None:
    """What type checkers are told is imported from where it is found at run time."""
    told = re.findall(r"^    from (\S+) import (\S+) as \2$", Path(package.__file__).read_text("utf-8"), re.M)
    assert {name: home for home, name in told} == package._HOMES


# -- opening -----------------------------------------------------------------------------------------------------------


def test_the_root_is_found_from_a_folder_inside(shop: Repository) -> None:
    inside = shop.root / "deep" / "inside"
    inside.mkdir(parents=True)
    with package.open(inside, index=True) as repo:  # by git
        assert repo.root == shop.root
    with package.open(str(inside)) as repo:  # by its index
        assert repo.root == shop.root


def test_without_an_index_the_error_is_the_line_the_command_prints(shop: Repository) -> None:
    with pytest.raises(package.NoIndex) as raised:
        package.open(shop.root)
    assert assay(shop.root, "symbols", "x", "--no-refresh").err == f"assay: {raised.value}\n"


@pytest.mark.parametrize("path", ["nowhere", "shop.py"])
def test_what_is_no_folder_is_refused(shop: Repository, path: str) -> None:
    with pytest.raises(package.AssayError, match=f"{path}: no such folder"):
        package.open(shop.root / path, index=True)


def test_the_index_may_be_kept_elsewhere(shop: Repository, tmp_path: Path) -> None:
    with package.open(shop.root, index=True, index_dir=tmp_path / "elsewhere") as repo:
        assert repo.symbols("Basket")
    assert not (shop.root / ".assay").exists()


def test_opening_with_index_brings_it_up_to_date(repo: Opened, shop: Repository) -> None:
    shop.write("new.py", "def brand_new(): ...\n")
    with package.open(shop.root) as stale:
        assert stale.symbols("brand_new") == []
    with package.open(shop.root, index=True) as fresh:
        assert [item.id for item in fresh.symbols("brand_new")] == ["new.py::brand_new"]


def test_a_closed_repository_opens_again_when_asked(repo: Opened) -> None:
    repo.close()
    repo.close()
    assert repo.symbols("Basket")


# -- the API and the commands say the same -----------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("budget", [0, 60, 400, 50_000])
def test_context_is_what_the_command_prints_in_every_format(repo: Opened, form: str, budget: int) -> None:
    printed = assay(repo.root, "context", TASK, "--budget", str(budget), "--format", form)
    assert repo.context(TASK, budget=budget, format=form).render() == printed.out
    assert repo.context(TASK, budget=budget).render(form) == printed.out  # packed for another format at first


def test_items_have_what_the_json_has(repo: Opened) -> None:
    answer = repo.context(TASK, format="json")
    printed = json.loads(answer.render())
    assert len(answer.items) == len(printed["items"]) > 2
    for item, row in zip(answer.items, printed["items"], strict=True):
        same = ("id", "symbol", "kind", "path", "start", "end", "rendering", "tokens")
        assert {name: getattr(item, name) for name in same} == {name: row[name] for name in same}
        assert item.text == row.get("text", "")
        assert round(item.score, 6) == row["score"]
    assert (answer.tokens, answer.budget, answer.fresh) == (printed["tokens"], printed["budget"], printed["fresh"])
    assert answer.tokens == count(answer.render())
    assert str(answer) == answer.render()


def test_names_callers_and_tests_are_those_of_the_commands(repo: Opened) -> None:
    symbols = assay(repo.root, "symbols", "*discounts", "--kind", "function", "--format", "json").json["symbols"]
    assert [item.id for item in repo.symbols("*discounts", kind="function")] == [row["id"] for row in symbols]
    assert repo.symbols("*discounts", kind="class") == []
    impact = assay(repo.root, "impact", "apply_discounts", "--depth", "1", "--format", "json").json["affected"]
    found = repo.impact("apply_discounts", depth=1)
    assert [(a.item.id, a.confidence) for a in found] == [(row["id"], row["confidence"]) for row in impact]
    assert len(repo.impact("apply_discounts")) > len(found) > 0
    tests = assay(repo.root, "tests", "shop.py", "--format", "json").json["tests"]
    assert [a.item.id for a in repo.affected_tests(["shop.py"])] == [row["id"] for row in tests]
    assert tests


def test_why_and_status_are_those_of_the_commands(repo: Opened) -> None:
    rows = assay(repo.root, "why", TASK, "Basket", "--format", "json").json["explanations"]
    assert [(one.item.id, one.rank, one.lost) for one in repo.why(TASK, "Basket")] == [
        (row["id"], row["rank"], row["lost"]) for row in rows
    ]
    printed = assay(repo.root, "status", "--format", "json").json
    assert (repo.status().symbols, repo.freshness().fresh) == (printed["symbols"], printed["fresh"])


def test_the_ranking_is_the_order_of_the_context(repo: Opened) -> None:
    ranked = [found.item.id for found in repo.rank(TASK, 3)]
    assert [item.id for item in repo.context(TASK, k=3).items] == ranked
    assert len(ranked) == 3
    assert repo.rank(TASK, 1, profile="lexical")[0].score > 0


# -- life of a repository ----------------------------------------------------------------------------------------------


def test_an_answer_outlives_its_repository(repo: Opened) -> None:
    """Also one too small for its frame, of which no item was looked at yet."""
    wanted = {form: repo.context(TASK, format=form).render() for form in FORMS}
    answer, tiny = repo.context(TASK), repo.context(TASK, budget=1)
    repo.close()
    assert {form: answer.render(form) for form in FORMS} == wanted
    assert json.loads(tiny.render("json"))["items"] == []


def test_a_refreshed_repository_answers_from_the_new_code(repo: Opened, shop: Repository) -> None:
    assert repo.rank("reserve a good", 1) == [] or repo.rank("reserve a good", 1)[0].item.path != "stock.py"
    shop.write("stock.py", "def reserve(good):\n    good.reserved = True\n")
    before = repo.context("reserve a good")
    assert not before.fresh
    assert "stock.py" in before.freshness
    assert repo.refresh().mode == "update"
    after = repo.context("reserve a good")
    assert after.fresh
    assert after.items[0].id == "stock.py::reserve"


def test_refreshing_reads_the_configuration_again(repo: Opened, shop: Repository) -> None:
    assert len(repo.context(TASK).items) > 1
    shop.write("assay.toml", "[context]\nk = 1\n")
    repo.refresh()
    assert len(repo.context(TASK).items) == 1


def test_rebuilding_starts_afresh(repo: Opened) -> None:
    assert repo.refresh().mode == "fresh"
    assert repo.refresh(rebuild=True).mode == "full"


# -- mistakes ----------------------------------------------------------------------------------------------------------


def test_mistakes_are_errors_for_people(repo: Opened) -> None:
    mistakes: dict[Callable[[], object], str] = {
        lambda: repo.context(" \n"): "what is the task?",
        lambda: repo.rank(""): "what is the task?",
        lambda: repo.rank("x", 0): "k must be at least 1",
        lambda: repo.context("x", profile="lexcial"): "unknown profile 'lexcial'. Did you mean 'lexical'?",
        lambda: repo.context("x", format="markdwon"): "unknown format 'markdwon'. Did you mean 'markdown'?",
        lambda: repo.context("x").render("htlm"): "unknown format 'htlm'",
        lambda: repo.affected_tests(["shpo.py"]): "shpo.py: not in the index. Nearest: shop.py",
        lambda: repo.why("x", "Baskett"): "no symbol called 'Baskett'. Nearest: Basket",
    }
    for mistake, said in mistakes.items():
        with pytest.raises(package.AssayError) as raised:
            mistake()
        assert str(raised.value).startswith(said)


def test_a_task_that_finds_nothing_has_the_nearest_names(repo: Opened) -> None:
    answer = repo.context("baskett")
    assert answer.items == ()
    assert "Basket" in answer.nearest
    assert answer.left_out == 0
