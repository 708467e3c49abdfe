"""Terminals and pipes: colour, the pager, and tasks from standard input."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from assay.cli import cli, common
from assay.text.tokens import LONGEST_TASK
from support.command import ENVIRONMENT, assay
from support.repository import Repository
from support.terminal import STYLE, in_terminal, without_progress

SHOP = '''def total_price(goods):
    """Adds the prices of all goods."""
    return sum(goods)


def invoice(goods):
    return total_price(goods)
'''


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("shop.py", SHOP)
    repository.write("guide.md", "# Guide\n\nThe total price of goods is the sum of their prices.\n")
    repository.index()
    assay(repository.root, "search", "price")  # builds the passages, which would show a progress bar
    return repository


# -- colour ------------------------------------------------------------------------------------------------------------

AUTO, ALWAYS, NEVER = None, True, False
CHOICES: list[tuple[str, dict[str, str], bool | None]] = [
    ("auto", {}, AUTO),
    ("auto", {"TERM": "xterm"}, AUTO),
    ("auto", {"TERM": "dumb"}, NEVER),
    ("auto", {"NO_COLOR": "1"}, NEVER),
    ("auto", {"NO_COLOR": ""}, AUTO),
    ("auto", {"FORCE_COLOR": "1"}, ALWAYS),
    ("auto", {"CLICOLOR_FORCE": "1"}, ALWAYS),
    ("auto", {"FORCE_COLOR": "0", "CLICOLOR_FORCE": "0"}, AUTO),
    ("auto", {"FORCE_COLOR": "1", "TERM": "dumb"}, ALWAYS),
    ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, NEVER),
    ("always", {"NO_COLOR": "1", "TERM": "dumb"}, ALWAYS),
    ("never", {"FORCE_COLOR": "1"}, NEVER),
]


@pytest.mark.parametrize(("choice", "environment", "expected"), CHOICES)
def test_the_option_counts_most_then_the_environment(
    choice: str, environment: dict[str, str], expected: bool | None
) -> None:
    assert common.use_color(choice, environment) is expected


COLOURED = [
    ("context", "total price"),
    ("search", "total price"),
    ("ask", "What is the total price?"),
    ("symbols", "invoice"),
]


@pytest.mark.parametrize("command", COLOURED)
def test_a_terminal_gets_colour_unless_it_is_dumb_or_nobody_wants_it(
    shop: Repository, command: tuple[str, ...]
) -> None:
    _, coloured = in_terminal(shop.root, *command)
    assert STYLE.search(coloured)
    for environment, options in (({"NO_COLOR": "1"}, ()), ({"TERM": "dumb"}, ()), ({}, ("--color", "never"))):
        _, shown = in_terminal(shop.root, *command, *options, environment=environment)
        assert "\x1b" not in without_progress(shown)
        assert without_progress(shown) == STYLE.sub("", without_progress(coloured))


@pytest.mark.parametrize("place", ["before", "after"])
def test_the_option_may_stand_before_or_after_a_command(shop: Repository, place: str) -> None:
    option, command = ("--color", "always"), ("search", "total price")
    done = assay(shop.root, *option, *command) if place == "before" else assay(shop.root, *command, *option)
    assert STYLE.search(done.out)
    assert STYLE.sub("", done.out) == assay(shop.root, *command).out


def test_every_command_takes_it(tmp_path: Path) -> None:
    for name in cli.table:
        assert "--color [auto|always|never]" in assay(tmp_path, name, "--help").out, name
    for nested in (("eval", "run"), ("eval", "baseline", "show"), ("feedback", "list")):
        assert "--color [auto|always|never]" in assay(tmp_path, *nested, "--help").out, nested
    refused = assay(tmp_path, "status", "--color", "sometimes")
    assert (refused.code, "'sometimes' is not one of" in refused.err) == (2, True)


def test_a_pipe_gets_no_colour_and_json_never_does(shop: Repository) -> None:
    assert "\x1b" not in assay(shop.root, "search", "total price").out
    assert "\x1b" not in assay(shop.root, "search", "total price", "--format", "json", "--color", "always").out


def test_a_progress_bar_needs_a_terminal_that_can_erase(repository: Repository) -> None:
    repository.write("shop.py", SHOP)
    assert "parsing" in in_terminal(repository.root, "index")[1]
    code, shown = in_terminal(repository.root, "index", "--rebuild")
    assert without_progress(shown).startswith("rebuilt from scratch"), "the bar is erased before anything is printed"
    code, shown = in_terminal(repository.root, "index", "--rebuild", environment={"TERM": "dumb"})
    assert (code, "parsing" in shown, "\x1b" in shown) == (0, False, False)


# -- the pager ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def pager(tmp_path: Path) -> Path:
    """A pager that marks each line it gets."""
    program = tmp_path / "bin" / "mark"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nimport sys\nfor line in sys.stdin:\n    print('paged:', line, end='')\n")
    program.chmod(0o755)
    return program


def long_shop(shop: Repository) -> None:
    shop.write("many.py", "".join(f"def price_{number}():\n    return {number}\n\n\n" for number in range(60)))
    shop.index()


def test_a_long_answer_goes_through_the_pager_of_the_user(shop: Repository, pager: Path) -> None:
    long_shop(shop)
    whole = assay(shop.root, "context", "price").out
    command = ("context", "price", "--full")
    code, shown = in_terminal(shop.root, *command, environment={"PAGER": f"{pager} -x"})
    assert (code, shown) == (0, "".join(f"paged: {line}\n" for line in whole.splitlines()))
    for environment, options in (
        ({"PAGER": str(pager)}, ("--no-pager",)),
        ({"PAGER": str(pager), "TERM": "dumb"}, ()),
        ({"PAGER": "cat"}, ()),
        ({"PAGER": ""}, ()),
        ({"PAGER": "'"}, ()),
        ({"PAGER": "no-such-program"}, ()),
        ({"PATH": "/nonexistent"}, ()),
    ):
        assert in_terminal(shop.root, *command, *options, environment=environment) == (0, whole), environment


def test_more_results_than_fit_go_through_the_pager_but_a_screen_does_not(shop: Repository, pager: Path) -> None:
    long_shop(shop)
    environment = {"PAGER": str(pager)}
    assert "paged" not in in_terminal(shop.root, "context", "price", environment=environment)[1]
    many = in_terminal(shop.root, "context", "price", "-n", "30", environment=environment)[1]
    assert len(re.findall(r"^paged: \S+\.py:\d+  ", STYLE.sub("", many), re.MULTILINE)) == 30
    assert all(line.startswith("paged: ") for line in many.splitlines())
    assert "paged" not in in_terminal(shop.root, "context", "price", "-n", "3", environment=environment)[1]
    assert "paged" not in assay(shop.root, "context", "price", "--full", env={**ENVIRONMENT, **environment}).out


def test_a_pager_that_ends_early_is_no_error(shop: Repository, tmp_path: Path) -> None:
    long_shop(shop)
    quits = tmp_path / "quits"
    quits.write_text("#!/bin/sh\nexit 0\n")
    quits.chmod(0o755)
    assert in_terminal(shop.root, "context", "price", "--full", environment={"PAGER": str(quits)}) == (0, "")


def test_the_pager_is_less_unless_the_user_says_otherwise(pager: Path) -> None:
    folder = pager.parent
    less = folder / "less"
    less.symlink_to(pager)
    path = {"PATH": str(folder)}
    assert common.pager(path) == [str(less), "-FRX"]
    assert common.pager({**path, "PAGER": "mark -a 'b c'"}) == [str(pager), "-a", "b c"]
    assert common.pager({"PATH": ""}) == []


@pytest.mark.parametrize("path", [".", "", ":", "bin"])
def test_a_program_in_the_repository_is_never_the_pager(
    pager: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (pager.parents[1], pager.parent):
        (folder / "less").write_bytes(pager.read_bytes())
        (folder / "less").chmod(0o755)
    monkeypatch.chdir(pager.parents[1])
    assert common.pager({"PATH": path}) == []


def test_settings_of_a_repository_name_no_pager(shop: Repository, pager: Path) -> None:
    long_shop(shop)
    shop.write("assay.toml", f'pager = "{pager}"\n')
    assert "paged" not in in_terminal(shop.root, "context", "price", "--full", "--no-pager")[1]
    shop.git("config", "core.pager", str(pager))
    (shop.root / "assay.toml").unlink()
    assert "paged" not in in_terminal(shop.root, "context", "price", "--full", environment={"PAGER": "cat"})[1]


# -- standard input ----------------------------------------------------------------------------------------------------

READERS = {
    "context": ("context", "-", "--format", "json"),
    "search": ("search", "-", "--format", "json"),
    "ask": ("ask", "-", "--format", "json"),
    "why": ("why", "-", "invoice", "--format", "json"),
}


@pytest.mark.parametrize("command", READERS)
def test_a_dash_reads_the_task_from_standard_input(shop: Repository, command: str) -> None:
    task = "What is the total price of goods?"
    typed = [task if argument == "-" else argument for argument in READERS[command]]
    done = assay(shop.root, *READERS[command], input=f"{task}\n")
    assert done == assay(shop.root, *typed)
    assert done.code == 0


@pytest.mark.parametrize("command", READERS)
def test_empty_input_and_a_terminal_are_refused_in_a_line_with_an_example(shop: Repository, command: str) -> None:
    noun = {"context": "task", "search": "query", "ask": "question", "why": "task"}[command]
    for empty in ("", " \n\t\n"):
        done = assay(shop.root, *READERS[command], input=empty)
        assert (done.code, done.out) == (2, "")
        assert done.err == f"assay: standard input is empty, so there is no {noun}: cat FILE | assay {command} -\n"
    code, shown = in_terminal(shop.root, *READERS[command])
    assert code == 2
    assert shown == (
        f"assay: - reads the {noun} from standard input, which is a terminal: cat FILE | assay {command} -\n"
    )


HOSTILE = {
    "bytes that are no text": b"total price \xff\xfe\x80 of goods",
    "NUL": b"total\0price\0of goods",
    "control characters": b"total price \x1b[2J\x1b]0;owned\x07 of goods",
    "a huge line": b"price " * 200_000,
    "a huge word": b"x" * 1_000_000 + b" price",
    "characters of four bytes": "𝕏".encode() * (LONGEST_TASK * 2),
    "direction marks": "total \u202eecirp\u202c of goods".encode(),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_any_input_is_read_up_to_a_limit(shop: Repository, kind: str, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.write_bytes(HOSTILE[kind])
    for arguments in READERS.values():
        with given.open("rb") as file:
            done = assay(shop.root, *arguments, stdin=file, stdout=-1, stderr=-1)
        assert done.code in (0, 1)
        assert not any(character in done.out + done.err for character in "\x1b\x07\x9b\u202e")
        is_long = len(HOSTILE[kind].decode("utf-8", "replace")) > LONGEST_TASK
        assert ("only the first 20,000 characters of standard input are read" in done.err) == is_long


def test_standard_input_that_never_ends_is_read_up_to_the_limit(shop: Repository) -> None:
    with open("/dev/urandom", "rb") as endless:
        done = assay(shop.root, "context", "-", "--budget", "300", stdin=endless, stdout=-1, stderr=-1)
    assert done.code in (0, 1)
