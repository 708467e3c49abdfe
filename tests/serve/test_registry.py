"""Repositories registered with a server: by command, by an administrator's request, and by nobody else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from assay.config import user
from assay.config.configuration import load
from assay.config.roots import Root
from assay.errors import AssayError
from assay.serve.registry import Registry
from assay.serve.tokens import ROLES, Tokens
from support.command import ENVIRONMENT, assay
from support.waiting import until
from support.web_server import Server, run_server, write_files


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "configuration" / "repositories.json")


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    folder = tmp_path / "allowed"
    write_files(folder / "shop")
    write_files(folder / "office", {"office/desk.py": "def tidy_desk():\n    return 1\n"})
    return folder


def test_a_registered_repository_is_kept_and_removed_by_label_or_path(registry: Registry, allowed: Path) -> None:
    assert registry.add(str(allowed / "shop")) == Root("shop", allowed / "shop")
    registry.add(str(allowed / "office"), "desks")
    assert Registry(registry.path).all() == [Root("desks", allowed / "office"), Root("shop", allowed / "shop")]
    registry.remove("desks")
    registry.remove(str(allowed / "shop"))
    assert registry.all() == []
    with pytest.raises(AssayError, match="assay repositories list"):
        registry.remove("shop")


@pytest.mark.parametrize(
    "path",
    ["shop", "", "../shop", "/", "/etc", "/nowhere", "{allowed}/../outside", "{allowed}/link", "{allowed}-2", "a\0b"],
)
def test_a_request_registers_nothing_outside_the_allowed_folders(
    registry: Registry, allowed: Path, tmp_path: Path, path: str
) -> None:
    write_files(tmp_path / "outside")
    write_files(tmp_path / "allowed-2")
    (allowed / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(AssayError):
        registry.add(path.format(allowed=allowed), "x", [allowed])
    assert registry.all() == []


def test_nothing_is_allowed_unless_the_operator_says_so(registry: Registry, allowed: Path) -> None:
    with pytest.raises(AssayError, match=r"\[serve\] allow"):
        registry.add(str(allowed / "shop"), allowed=[])


@pytest.mark.parametrize("label", ["a/b", "..", "a b", "x" * 101, "a\nb", "=", "\x1b[31m"])
def test_a_label_that_could_be_mistaken_for_a_path_is_refused(registry: Registry, allowed: Path, label: str) -> None:
    with pytest.raises(AssayError):
        registry.add(str(allowed / "shop"), label, [allowed])


def test_labels_and_folders_are_registered_once(registry: Registry, allowed: Path) -> None:
    registry.add(str(allowed / "shop"))
    for path, label in ((allowed / "shop", "again"), (allowed / "office", "shop"), (allowed / "shop" / "docs", "d")):
        with pytest.raises(AssayError):
            registry.add(str(path), label)
    assert len(registry.all()) == 1


def test_a_folder_replaced_by_a_link_is_left_out(registry: Registry, allowed: Path, tmp_path: Path) -> None:
    registry.add(str(allowed / "shop"))
    (allowed / "shop").rename(tmp_path / "moved")
    (allowed / "shop").symlink_to(tmp_path / "moved")
    usable, [problem] = registry.usable()
    assert usable == []
    assert "not the folder that was registered" in problem


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 2, "repositories": []}', '{"format": 1}', "\0"])
def test_a_damaged_file_is_reported_and_never_overwritten(registry: Registry, allowed: Path, text: str) -> None:
    registry.add(str(allowed / "shop"))
    registry.path.write_text(text)
    with pytest.raises(AssayError, match="repositories"):
        registry.add(str(allowed / "office"))
    assert registry.path.read_text() == text


@pytest.mark.parametrize(
    "rows", ["serve = 1", "[serve]\nallow = 'x'", "[serve]\nallow = ['x']", "[serve]\nfolder = '/'"]
)
def test_wrong_settings_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: str) -> None:
    monkeypatch.setenv("ASSAY_CONFIG_DIR", str(tmp_path))
    (tmp_path / "config.toml").write_text(rows)
    with pytest.raises(AssayError, match="serve"):
        user.allowed_folders(user.read())


def test_a_repository_cannot_allow_folders(tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_text("[serve]\nallow = ['/']\n")
    with pytest.raises(AssayError, match="serve"):
        load(tmp_path)


class Team:
    """A server of registered repositories with a token of each role."""

    def __init__(self, server: Server, tokens: dict[str, str], environment: dict[str, str]) -> None:
        self.server, self.tokens, self.environment = server, tokens, environment

    def headers(self, role: str = "admin") -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[role]}"}

    def labels(self) -> list[str]:
        rows = self.server.get("/api/repositories", self.headers("read")).json["repositories"]
        return [row["repository"] for row in rows if row["state"] == "fresh"]


@pytest.fixture(params=[[], ["--workers", "2"]], ids=["one process", "two workers"])
def team(tmp_path: Path, allowed: Path, request: pytest.FixtureRequest) -> Iterator[Team]:
    configuration = tmp_path / "configuration"
    tokens = Tokens(configuration / "tokens.json")
    texts = {role: tokens.create(role, role) for role in ROLES}
    (configuration / "config.toml").write_text(f"[serve]\nallow = [{json.dumps(str(allowed))}]\n")
    environment = {"ASSAY_CONFIG_DIR": str(configuration)}
    options: Sequence[str] = request.param
    with run_server(None, "--registered", "--tokens", *options, **environment) as server:
        yield Team(server, texts, environment)


def test_an_administrator_registers_repositories_while_the_server_runs(
    team: Team, allowed: Path, tmp_path: Path
) -> None:
    server = team.server
    assert server.get("/api/context", team.headers("read"), task="x").status == 503
    for page in ("/", "/?task=price", "/index", "/api/status", "/readyz"):
        assert server.get(page, team.headers("read")).status == 200, page
    order = {"path": str(allowed / "shop")}
    assert server.post("/api/register", order).status == 401
    for role in ("read", "write"):
        assert server.post("/api/register", order, team.headers(role)).status == 403
    refused = server.post("/api/register", {"path": str(tmp_path)}, team.headers())
    assert (refused.status, "allow" in refused.json["error"]) == (400, True)
    made = server.post("/api/register", order, team.headers())
    assert (made.status, made.json["repository"]) == (200, "shop")
    until(lambda: team.labels() == ["shop"])

    environment = ENVIRONMENT | team.environment
    assert assay(tmp_path, "repositories", "add", f"desks={allowed / 'office'}", env=environment).code == 0
    until(lambda: team.labels() == ["desks", "shop"])

    def asked(pattern: str) -> set[int]:  # by all workers
        answers = [server.get("/api/symbols", team.headers("read"), pattern=pattern).json for _ in range(10)]
        return {answer["total"] for answer in answers}

    until(lambda: asked("tidy_desk") == {1} and asked("Basket") == {1})
    assert server.post("/api/unregister", {"label": "shop"}, team.headers("write")).status == 403
    assert server.post("/api/unregister", {"label": "shop"}, team.headers()).status == 200
    until(lambda: asked("Basket") == {0} and asked("tidy_desk") == {1})
    listed = assay(tmp_path, "repositories", "list", "--format", "json", env=environment).json
    assert [row["repository"] for row in listed["repositories"]] == ["desks"]


def test_a_server_of_given_repositories_registers_none(allowed: Path) -> None:
    with run_server(allowed / "shop") as server:
        answer = server.post("/api/register", {"path": str(allowed / "office")})
        assert (answer.status, "--registered" in answer.json["error"]) == (400, True)
        [row] = server.get("/api/repositories").json["repositories"]
        assert (row["repository"], row["root"]) == ("", str(allowed / "shop"))


def test_registered_and_given_repositories_exclude_each_other(allowed: Path) -> None:
    done = assay(allowed, "serve", "--registered", "--root", allowed / "shop")
    assert done.code == 2
    assert "assay repositories" in done.err
