"""Hostile servers, and repositories that try to choose what `assay enrich` starts."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from assay.api import Repository as Opened
from assay.errors import AssayError
from assay.index.enrich import lsp
from assay.index.enrich.answers import NAME as CACHE_NAME
from assay.store.enrichment import NAME as COMPARISON_NAME
from support.command import ENVIRONMENT, assay
from support.language_tools import Tools
from support.processes import is_alive
from support.repository import Repository
from support.waiting import until

_NODE_SECONDS = 120.0


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("thing.py", "class Thing:\n    def settle(self):\n        return 1\n")
    repository.write("app.py", "from thing import Thing\n\n\ndef call():\n    return Thing().settle()\n")
    repository.index()
    return repository


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    return Tools(tmp_path / "bin", monkeypatch)


# servers


@pytest.mark.parametrize(
    ("mode", "problem"),
    [
        ("garbage", "something else than messages of the language server protocol"),
        ("huge", "sent a message of 100,000,000 MB"),
        ("not json", "not JSON"),
        ("flood", "no answer within"),
        ("silent", "no answer within"),
        ("crash", "ended (exit code 3): Error: "),
    ],
)
def test_a_server_that_breaks_the_protocol_is_given_up_with_a_line(
    shop: Repository, tools: Tools, monkeypatch: pytest.MonkeyPatch, mode: str, problem: str
) -> None:
    monkeypatch.setattr(lsp, "_REQUEST_SECONDS", 0.5)
    tools.add_server(mode)
    run = Opened(shop.root).enrich().runs[0]
    assert problem in run.problems[0]
    assert not any(letter in text for text in run.problems for letter in "\x1b\n")
    assert run.edges == 0
    assert len([line for line in tools.log if line.startswith("start")]) <= 3


def test_no_process_of_a_server_is_left_behind(
    shop: Repository, tools: Tools, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(lsp, "_REQUEST_SECONDS", 0.5)
    pids = tmp_path / "pids"
    tools.add(
        "basedpyright-langserver",
        "import os, subprocess, time\n"
        f"child = subprocess.Popen(['sleep', '300'])\nopen({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n{{child.pid}}\\n')\n"
        "print('Content-Length: 2\\r\\n\\r\\n{}', end='', flush=True)\ntime.sleep(300)\n",
    )
    monkeypatch.setattr(lsp, "_START_SECONDS", 0.5)
    Opened(shop.root).enrich()
    started = [int(pid) for pid in pids.read_text().split()]
    until(lambda: not any(map(is_alive, started)))


def test_locations_outside_the_repository_and_nonsense_give_no_edges(shop: Repository, tools: Tools) -> None:
    tools.add_server("hostile")
    run = Opened(shop.root).enrich().runs[0]
    assert (run.answered, run.edges, run.problems) == (2, 0, [])


def test_requests_of_a_server_get_settings_and_nothing_else(shop: Repository, tools: Tools) -> None:
    tools.add_server()
    Opened(shop.root).enrich()
    answers = {
        message["id"]: message for line in tools.log if line.startswith("answer") for message in [json.loads(line[7:])]
    }
    assert answers[901]["result"] == {"applied": False}
    assert answers["text"]["error"]["code"] == -32601
    python, unknown, nonsense = answers[900]["result"]
    assert (unknown, nonsense is None or isinstance(nonsense, dict)) == (None, True)
    assert os.path.isabs(python["pythonPath"])


def test_a_tool_sees_no_secrets_and_starts_outside_the_repository(
    shop: Repository, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAMPLE_API_KEY", "secret")
    monkeypatch.setenv("NODE_OPTIONS", "--require ./evil.js")
    monkeypatch.setenv("PYTHONPATH", str(shop.root))
    monkeypatch.setenv("PATH", f".:{shop.root / 'bin'}:relative/bin:{os.environ['PATH']}")
    tools.add_server()
    Opened(shop.root).enrich()
    start = json.loads(tools.log[0].removeprefix("start "))
    assert not {"EXAMPLE_API_KEY", "PYTHONPATH"} & set(start["environment"])
    assert start["path"] == f"{tools.folder}:/usr/bin:/bin"
    assert not Path(start["cwd"]).is_relative_to(shop.root)
    assert not Path(start["cwd"]).exists(), "its folder is removed"


# programs


@pytest.mark.parametrize("place", ["node_modules/.bin", ".venv/bin", "."])
def test_a_program_of_the_repository_is_never_started(
    shop: Repository, tools: Tools, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    own = Tools(shop.root / place, monkeypatch)
    own.add_server()
    for path in (str(shop.root / place), place, f"./{place}", ""):
        monkeypatch.setenv("PATH", f"{path}:/usr/bin:/bin")
        monkeypatch.chdir(shop.root)
        with pytest.raises(AssayError, match="not installed"):
            Opened(shop.root).enrich()
    assert own.log == []


def test_a_link_to_a_program_of_the_repository_is_not_followed(
    shop: Repository, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Tools(shop.root / "bin", monkeypatch).add_server()
    monkeypatch.setenv("PATH", f"{tools.folder}:/usr/bin:/bin")
    (tools.folder / "basedpyright-langserver").symlink_to(program)
    with pytest.raises(AssayError, match="not installed"):
        Opened(shop.root).enrich()


def test_settings_of_the_repository_count_only_after_trust(shop: Repository, tools: Tools, tmp_path: Path) -> None:
    program = Tools(tmp_path / "elsewhere", pytest.MonkeyPatch()).add_server(name="other")
    shop.write("assay.toml", f'[enrich]\nallow_build = true\nprograms = {{ basedpyright = "{program}" }}\n')
    environment = ENVIRONMENT | {"PATH": "/usr/bin:/bin"}
    done = assay(shop.root, "enrich", env=environment)
    assert done.code == 2
    assert "ignored until you trust it: [enrich] allow_build, [enrich] programs" in done.err
    shown = assay(shop.root, "trust", "--show", env=environment).out
    assert f"starts {program} when you run assay enrich" in shown
    assert "run code of the repository" in shown
    assert assay(shop.root, "trust", "--yes", env=environment).code == 0
    assert assay(shop.root, "enrich", env=environment).code == 0
    shutil.move(program, shop.root / "other")
    shop.write("assay.toml", f'[enrich]\nprograms = {{ basedpyright = "{shop.root / "other"}" }}\n')
    assert assay(shop.root, "trust", "--yes", env=environment).code == 0
    refused = assay(shop.root, "enrich", env=environment)
    assert (refused.code, "it is inside the repository" in refused.err) == (2, True)


@pytest.mark.parametrize(
    "text", ['programs = { basedpyright = "bin/x" }', 'programs = { basedpyright = "/etc/passwd" }']
)
def test_a_configured_program_must_be_one(
    shop: Repository, tools: Tools, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    monkeypatch.setenv("ASSAY_CONFIG_DIR", str(tmp_path))
    (tmp_path / "config.toml").write_text(f"[enrich]\n{text}\n")
    with pytest.raises(AssayError, match="not a program with an absolute path"):
        Opened(shop.root).enrich()


# what is stored


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, b"\x81\xa1x\x93", b"\xdf" + b"\xff" * 50])
def test_damaged_or_foreign_results_count_as_none(shop: Repository, tools: Tools, content: bytes) -> None:
    tools.add_server()
    Opened(shop.root).enrich()
    (shop.home.folder / COMPARISON_NAME).write_bytes(content)
    (shop.home.folder / CACHE_NAME).write_bytes(content)
    assert Opened(shop.root).status().enrichment is None
    assert Opened(shop.root).disagreements() == []
    assert Opened(shop.root).enrich().runs[0].answered == 2


def test_a_link_in_place_of_the_results_is_not_read(shop: Repository, tools: Tools, tmp_path: Path) -> None:
    tools.add_server()
    Opened(shop.root).enrich()
    target = tmp_path / "copy"
    shutil.move(shop.home.folder / COMPARISON_NAME, target)
    (shop.home.folder / COMPARISON_NAME).symlink_to(target)
    with pytest.raises(AssayError, match="a symbolic link, which is not followed here"):
        Opened(shop.root).status()


# the real thing


@pytest.mark.skipif(not shutil.which("basedpyright-langserver"), reason="basedpyright is not installed")
def test_basedpyright_runs_nothing_of_a_repository(
    shop: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    script = f"#!/bin/sh\ntouch {mark}\necho '{{}}'\n"
    for path in (".venv/bin/python", ".venv/bin/python3", "evil/bin/python", "evil/bin/python3"):
        shop.write(path, script).chmod(0o755)
    shop.write(".venv/pyvenv.cfg", "home = /usr/bin\n")
    shop.write("evil/pyvenv.cfg", "home = /usr/bin\n")
    shop.write("pyrightconfig.json", '{"venvPath": ".", "venv": "evil", "pythonPath": "evil/bin/python"}')
    shop.write(".vscode/settings.json", json.dumps({"python.pythonPath": str(shop.root / "evil/bin/python")}))
    shop.write("json.py", f"open({str(mark)!r}, 'w')\n")
    shop.write("sitecustomize.py", f"open({str(mark)!r}, 'w')\n")
    shop.index()
    monkeypatch.chdir(shop.root)
    run = Opened(shop.root).enrich(tools=["basedpyright"], seconds=_NODE_SECONDS).runs[0]
    assert run.problems == []
    assert run.edges > 0
    assert not mark.exists()
