"""`assay init`: entries are added to the configuration of agents and editors without losing existing content."""

from __future__ import annotations

import json
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.serve.mcp.clients import CLIENTS, insert_member, parse_jsonc
from support.command import ENVIRONMENT, Done, assay
from support.repository import Repository

PLACE = ("mcpServers", "assay")
ENTRY = {"command": "assay", "args": ["mcp"]}


@pytest.fixture
def init(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Runs the command for a repository, with a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setitem(ENVIRONMENT, "HOME", str(home))
    return lambda *options, code=0: _checked(assay(repository.root, "init", *options), code)


def _checked(done: Done, code: int) -> Done:
    assert done.code == code, done.err
    return done


def test_the_repository_is_configured_for_all_and_the_home_only_for_what_is_there(
    init: Callable[..., Done], repository: Repository, tmp_path: Path
) -> None:
    (tmp_path / "home" / ".codex").mkdir()
    said = init().out
    entry = json.loads((repository.root / ".mcp.json").read_text())["mcpServers"]["assay"]
    assert entry["args"][-1] == "mcp"
    for file, section in ((".cursor/mcp.json", "mcpServers"), (".vscode/mcp.json", "servers")):
        assert json.loads((repository.root / file).read_text())[section]["assay"]["args"][-1] == "${workspaceFolder}"
    codex = tomllib.loads((tmp_path / "home" / ".codex" / "config.toml").read_text())
    assert codex["mcp_servers"]["assay"] == entry
    assert not (tmp_path / "home" / ".config").exists()
    assert "Zed: not installed; use --client zed" in said
    assert f"wrote {repository.root}/.mcp.json" in said
    assert '"mcpServers": {' in said


def test_twice_is_as_good_as_once(init: Callable[..., Done], repository: Repository) -> None:
    init("--client", "claude")
    before = (repository.root / ".mcp.json").read_bytes()
    assert "already has assay" in init("--client", "claude").out
    assert (repository.root / ".mcp.json").read_bytes() == before


def test_an_entry_of_somebody_who_knows_better_stays(init: Callable[..., Done], repository: Repository) -> None:
    own = '{"mcpServers": {"assay": {"command": "assay", "args": ["mcp", "--no-learning"]}}}'
    repository.write(".mcp.json", own)
    init("--client", "claude")
    assert (repository.root / ".mcp.json").read_text() == own


def test_print_only_shows(init: Callable[..., Done], repository: Repository) -> None:
    assert "would write" in init("--print").out
    assert not (repository.root / ".mcp.json").exists()


def test_comments_and_everything_else_stay_as_they_are(init: Callable[..., Done], tmp_path: Path) -> None:
    settings = tmp_path / "home" / ".config" / "zed" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('// mine\n{\n    "theme": "One", // dark\n    /* servers */\n    "vim_mode": true,\n}\n')
    settings.chmod(0o600)
    init("--client", "zed")
    text = settings.read_text()
    assert text.startswith(
        '// mine\n{\n    "theme": "One", // dark\n    /* servers */\n    "vim_mode": true,\n    "context_servers": {'
    )
    assert parse_jsonc(text)["vim_mode"] is True
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600


def test_a_table_is_added_behind_those_of_codex(init: Callable[..., Done], tmp_path: Path) -> None:
    config = tmp_path / "home" / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text('model = "o" # mine\n\n[mcp_servers.other]\ncommand = "x"')
    init("--client", "codex")
    assert config.read_text().startswith(
        'model = "o" # mine\n\n[mcp_servers.other]\ncommand = "x"\n\n[mcp_servers.assay]\n'
    )
    assert set(tomllib.loads(config.read_text())["mcp_servers"]) == {"other", "assay"}


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        (".mcp.json", '{"mcpServers": ', "not valid JSON (line 1)"),
        (".mcp.json", "[1]", "not one JSON object"),
        (".mcp.json", '{"mcpServers": 3}', "'mcpServers' is not an object"),
        (".mcp.json", "{} {}", "not one JSON object"),
        (".mcp.json", "[" * 5_000, "nested too deeply"),
        (".mcp.json", b"\xff\xfe", "cannot be read"),
    ],
)
def test_a_file_that_is_not_understood_is_left_as_it_is_and_the_others_are_written(
    init: Callable[..., Done], repository: Repository, file: str, text: str | bytes, complaint: str
) -> None:
    path = repository.write(file, text)
    before = path.read_bytes()
    assert complaint in init(code=1).err
    assert path.read_bytes() == before
    assert (repository.root / ".vscode" / "mcp.json").exists()


def test_a_link_stays_a_link(init: Callable[..., Done], repository: Repository) -> None:
    real = repository.write("settings/agents.json", "{}")
    (repository.root / ".mcp.json").symlink_to(real)
    init("--client", "claude")
    assert (repository.root / ".mcp.json").is_symlink()
    assert "assay" in json.loads(real.read_text())["mcpServers"]


def test_every_client_has_a_name_of_its_own() -> None:
    assert list(CLIENTS) == ["claude", "cursor", "vscode", "codex", "zed"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=5) | st.just("mcpServers"), VALUES, max_size=4)


def _with_comments(text: str, draw: st.DataObject) -> str:
    """Comments behind commas and brackets of the outermost level, which json writes at the ends of lines."""
    lines = text.split("\n")
    return "\n".join(line + draw.draw(st.sampled_from(["", " // why", " /* , */"])) for line in lines)


@given(OBJECTS, st.sampled_from([None, 2, "\t"]), st.booleans(), st.data())
def test_adding_a_member_changes_nothing_else(
    value: dict[str, Any], indent: Any, crlf: bool, data: st.DataObject
) -> None:
    text = _with_comments(json.dumps(value, indent=indent), data)
    text = text.replace("\n", "\r\n") if crlf else text
    assert parse_jsonc(text) == value
    servers = value.get("mcpServers", {})
    if not isinstance(servers, dict):
        with pytest.raises(AssayError):
            insert_member(text, PLACE, ENTRY)
        return
    new = insert_member(text, PLACE, ENTRY)
    assert parse_jsonc(new) == {**value, "mcpServers": {**servers, "assay": servers.get("assay", ENTRY)}}
    assert insert_member(new, PLACE, ENTRY) == new
    kept = iter(new)
    assert all(sign in kept for sign in text.rstrip()), "every sign of the old text is still there, in its order"
