"""Output contains no terminal escape sequences from file names, symbols or contents."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

import assay as package
from assay.pack.render import FORMS
from assay.text.display import escaped_in_json, printable
from support.command import COMMAND, ENVIRONMENT, assay
from support.repository import Repository
from support.terminal import STYLE, in_terminal, without_progress
from support.waiting import PATIENCE

CLI = Path(package.__file__).parent / "cli"
# what moves a cursor, ends a line, sets a title or turns the direction of writing
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
ESCAPES = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m"
HOSTILE = f"src/pump{ESCAPES}.py"
SOURCE = f'''
def close_sluice(gate="{ESCAPES}"):
    """Closes the sluice. {ESCAPES} [#1]"""
    return open_sluice(gate)


def open_sluice(gate):
    """Opens it."""
    return gate


def test_sluice():
    assert close_sluice()
'''
COMMANDS = [
    ("symbols", "*sluice*"),
    ("impact", "open_sluice"),
    ("why", "close the sluice", "close_sluice"),
    ("search", "close sluice"),
    ("ask", "how is the sluice closed?"),
    ("status",),
    ("index", ".", "--verbose"),
    ("tests", "src/pump.py"),
    ("feedback", "useful", "close_sluice", "--task", f"close {ESCAPES}"),
    ("feedback", "show"),
    *(("context", f"close the sluice {ESCAPES}", "--format", form) for form in FORMS),
    ("symbols", "*sluice*", "--format", "json"),
    ("search", "close sluice", "--format", "json"),
    ("symbols", f"no{ESCAPES}"),
    ("context", "--files", f"no{ESCAPES}.py"),
    (f"no{ESCAPES}",),
    ("index", "--no\x1b[2J"),
    ("eval", "verify", f"no{ESCAPES}.yaml"),
    ("eval", "show", f"no{ESCAPES}"),
]


@pytest.fixture(scope="module")
def station(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    made = Repository(tmp_path_factory.mktemp("station") / "repository")
    made.root.mkdir()
    made.git("init", "-q", "-b", "main")
    made.write(HOSTILE, SOURCE)
    made.write("src/pump.py", SOURCE)
    made.write("docs/sluice.md", f"# Sluice {ESCAPES}\n\nThe sluice is closed by hand. {ESCAPES}\n")
    made.commit()
    assert assay(made.root, "index", ".").code == 1, "a file with such a name is a problem, and it is said"
    return made


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda one: " ".join(one).encode("ascii", "replace").decode()[:40])
def test_no_command_prints_what_a_terminal_obeys(station: Repository, arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=station.root, env=ENVIRONMENT, capture_output=True, timeout=PATIENCE, check=False
    )
    for stream in (done.stdout, done.stderr):
        text = stream.decode()
        assert not OBEYED.search(text), text
        assert "Traceback" not in text


IN_TERMINAL = [
    ("context", f"close the sluice {ESCAPES}"),
    ("context", f"close the sluice {ESCAPES}", "--full"),
    ("context", "--files", "src/pump.py"),
    ("context", "--pr", "HEAD"),
    ("search", "close sluice"),
    ("ask", "how is the sluice closed?"),
    ("why", "close the sluice", "close_sluice"),
    ("symbols", "*sluice*"),
    ("impact", "open_sluice"),
    ("tests", "src/pump.py"),
    ("status",),
]


@pytest.mark.parametrize("arguments", IN_TERMINAL, ids=" ".join)
def test_a_screen_has_no_sequences_but_our_styles(station: Repository, arguments: tuple[str, ...]) -> None:
    _, shown = in_terminal(station.root, *arguments)
    text = STYLE.sub("", without_progress(shown))
    assert not OBEYED.search(text.replace("\n", "")), text
    assert "owned" not in text or "\ufffd" in text
    assert "Traceback" not in text


def test_a_line_of_a_repository_cannot_pass_for_a_result_of_a_screen(repository: Repository) -> None:
    forged = "evil.py:1  function trusted_by_assay(sluice)"
    repository.write(
        "pump.py", f'def close_sluice():\n    """Close.\n\n{forged}\n    """\n    x = """\n{forged}\n"""\n'
    )
    repository.write("notes.md", f"# Sluice\n\n{forged}\n\n{forged} sluice\n")
    repository.index()
    for command in ("context", "search"):
        _, shown = in_terminal(repository.root, command, "function trusted by assay sluice")
        lines = STYLE.sub("", without_progress(shown)).splitlines()
        assert any(line.startswith("pump.py:") for line in lines)
        assert not any(line.startswith("evil.py") for line in lines)


def test_a_file_with_control_characters_in_its_name_costs_only_itself(repository: Repository) -> None:
    repository.write("good.py", "def good():\n    return 1\n")
    for name in ("new\nline.py", "tab\t.py", "esc\x1b[31m.py", "turned\u202eyp.py", "back\r.py"):
        repository.write(name, "def bad():\n    return 1\n")
    done = assay(repository.root, "index", ".")
    assert done.code == 1
    assert len(done.err.splitlines()) == 5, "one line for each, whatever their names hold"
    assert all("control characters" in line for line in done.err.splitlines())
    assert repository.symbols() == {"good.py", "good.py::good"}


def test_names_in_other_scripts_are_indexed(repository: Repository) -> None:
    names = {"日本.py", "naïve.py", "עברית.py", "emoji👩‍👧.py"}
    for name in names:
        repository.write(name, "x = 1\n")
    assert assay(repository.root, "index", ".").code == 0
    assert {one for one in repository.symbols() if "::" not in one} == names


def test_printing_is_left_to_the_functions_that_make_text_safe() -> None:
    """`echo` and its kind in cli/common.py print; the progress bar draws with sequences of its own."""
    found = []
    for path in sorted(CLI.rglob("*.py")):
        if path in (CLI / "common.py", CLI / "progress.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                asks = called in ("click.confirm", "click.prompt") and not isinstance(node.args[0], ast.Constant)
                prints = called in ("print", "click.echo", "click.secho", "click.style")
                if asks or prints or called.endswith(("stdout.write", "stderr.write")):
                    found.append(f"{path.name}:{node.lineno}: {called}")
    assert not found, "print with assay.cli.common.echo, echo_styled, echo_text, confirm or print_json"


def test_json_says_to_a_program_what_it_said_before() -> None:
    import json

    value = {"name": f"a{ESCAPES}\u2028\ud800\U000e0001é漢\U0001f642"}
    text = escaped_in_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert not OBEYED.search(text)
    assert "é漢\U0001f642" in text


def test_printable_keeps_lines_and_tabs_only() -> None:
    assert printable("a\n\tb\x0b\x0c\x1c\x85c") == "a\n\tb\ufffd\ufffd\ufffd\ufffdc"
    assert printable("a\u2028b\u2029c").splitlines() == ["a\ufffdb\ufffdc"]
