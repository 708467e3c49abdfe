"""A team's server: personal tokens with roles, revocation, an audit log without questions, metrics and health."""

from __future__ import annotations

import json
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.serve.telemetry import AuditLog, Metrics, RequestRecord
from assay.serve.tokens import LOCAL, ROLES, Identity, Tokens
from support.command import assay
from support.repository import Repository
from support.waiting import until
from support.web_server import Server, run_server, write_files


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "configuration" / "tokens.json")


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_token_is_shown_once_and_stored_as_a_digest_that_only_the_user_can_read(tokens: Tokens) -> None:
    text = tokens.create("ada", "write")
    assert stat.S_IMODE(tokens.path.stat().st_mode) == 0o600
    assert text.split("_", 2)[2] not in tokens.path.read_text()  # the secret may contain underscores
    token = tokens.identify(text)
    assert token is not None
    assert token.identity == Identity(token.id, "ada", "write")


def test_anything_but_the_whole_token_identifies_nobody(tokens: Tokens) -> None:
    text = tokens.create("ada", "read")
    id = text.split("_")[1]
    forged = [text + "x", text[:-1], text.upper(), f"assay_{id}_{'x' * 43}", f"assay_{id}_", id, "", "\0", "ä" * 50]
    assert [tokens.identify(candidate) for candidate in forged] == [None] * len(forged)


def test_a_revoked_or_expired_token_identifies_nobody(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr("assay.serve.tokens.time.time", lambda: now)
    kept, gone = tokens.create("ada", "read", days=1), tokens.create("bob", "admin")
    assert tokens.identify(gone)
    Tokens(tokens.path).revoke("bob")
    assert tokens.identify(gone) is None
    monkeypatch.setattr("assay.serve.tokens.time.time", lambda: now + 86_399)
    assert tokens.identify(kept)
    monkeypatch.setattr("assay.serve.tokens.time.time", lambda: now + 86_401)
    assert tokens.identify(kept) is None


def test_names_are_given_once_and_a_wrong_one_is_suggested(tokens: Tokens) -> None:
    tokens.create("ada", "read")
    with pytest.raises(AssayError, match="Revoke it first"):
        tokens.create("ada", "read")
    with pytest.raises(AssayError, match="Did you mean 'ada'"):
        tokens.revoke("adda")
    with pytest.raises(AssayError, match="printable"):
        tokens.create("a\x1b[31m", "read")


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"format": 2, "tokens": []}', '{"format": 1}', "\0"])
def test_a_damaged_file_lets_nobody_in_and_is_never_overwritten(tokens: Tokens, text: str) -> None:
    token = tokens.create("ada", "read")
    tokens.path.write_text(text)
    assert tokens.identify(token) is None
    with pytest.raises(AssayError, match=re.escape(str(tokens.path))):
        tokens.create("bob", "read")
    assert tokens.path.read_text() == text


def test_roles_include_those_before_them() -> None:
    allowed = {role: [needed for needed in ROLES if Identity("1", "x", role).may(needed)] for role in ROLES}
    assert allowed == {"read": ["read"], "write": ["read", "write"], "admin": ["read", "write", "admin"]}


def test_the_command_makes_lists_and_revokes_tokens(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    made = assay(tmp_path, "token", "create", "ada", "--role", "write", "--days", "30", "--tokens", file)
    assert made.code == 0
    assert re.fullmatch(r"assay_[0-9a-f]{12}_[\w-]{43}\n", made.out)
    [row] = assay(tmp_path, "token", "list", "--tokens", file, "--format", "json").json["tokens"]
    assert (row["name"], row["role"], row["expires"] - row["created"]) == ("ada", "write", 30 * 86_400)
    assert "digest" not in row
    assert assay(tmp_path, "token", "revoke", "ada", "--tokens", file).code == 0
    assert "no tokens" in assay(tmp_path, "token", "list", "--tokens", file).out
    assert assay(tmp_path, "token", "revoke", "ada", "--tokens", file).code == 2


class Team:
    """A running server with a token of each role."""

    def __init__(self, server: Server, tokens: Tokens, texts: dict[str, str], audit: Path) -> None:
        self.server, self.tokens, self.texts, self.audit = server, tokens, texts, audit


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("team")
    root = write_files(folder / "shop")
    Repository(root).index()
    tokens = Tokens(folder / "tokens.json")
    texts = {role: tokens.create(f"{role}er", role) for role in ROLES}
    audit = folder / "audit.jsonl"
    with run_server(root, "--tokens", str(tokens.path), "--audit", str(audit)) as server:
        yield Team(server, tokens, texts, audit)


def test_a_server_without_any_token_does_not_start(tmp_path: Path) -> None:
    done = assay(tmp_path, "serve", "--root", tmp_path, "--port", "0", "--tokens", tmp_path / "none.json")
    assert done.code == 2
    assert "assay token create" in done.err


def test_without_a_token_no_handler_is_reached(team: Team) -> None:
    for path in ("/api/status", "/api/context?task=x", "/metrics", "/api/audit", "/openapi.json"):
        assert team.server.get(path).status == 401, path
    assert team.server.post("/api/refresh", {}).status == 401
    assert team.server.get("/").headers["location"] == "/login"


def test_a_role_opens_what_it_includes_and_nothing_more(team: Team) -> None:
    for role in ROLES:
        headers = _bearer(team.texts[role])
        assert team.server.get("/api/status", headers).status == 200
        expected = 200 if role == "admin" else 403
        assert team.server.get("/api/audit", headers).status == expected
        assert team.server.post("/api/refresh", {}, headers).status == expected
    refused = team.server.get("/api/audit", _bearer(team.texts["read"]))
    assert refused.json["error"] == "this needs a token with the role admin; yours has read"


def test_a_login_ends_when_its_token_is_revoked(team: Team) -> None:
    text = team.tokens.create("guest", "read")
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": team.server.address}
    cookie = team.server.ask("POST", "/login", form, f"token={text}".encode()).headers["set-cookie"].split(";")[0]
    assert text not in cookie
    assert team.server.get("/api/status", {"Cookie": cookie}).status == 200
    forged = cookie.replace(cookie.partition("=")[2].partition(".")[0], team.texts["admin"].split("_")[1])
    assert team.server.get("/api/status", {"Cookie": forged}).status == 401
    team.tokens.revoke("guest")
    assert team.server.get("/api/status", {"Cookie": cookie}).status == 401
    assert team.server.get("/api/status", _bearer(text)).status == 401


def test_the_audit_log_says_who_asked_what_endpoint_and_never_the_question(team: Team) -> None:
    team.server.get("/api/context", _bearer(team.texts["write"]), task="a very private question")
    team.server.get("/api/context", task="another private question")
    logged = team.server.get("/api/audit", _bearer(team.texts["admin"]), limit=5).json
    refused, answered = logged["refused"][0], logged["entries"][0]
    assert (answered["name"], answered["role"], answered["path"], answered["status"]) == (
        "writeer",
        "write",
        "/api/context",
        200,
    )
    assert (refused["name"], refused["status"]) == ("", 401)
    for log in (team.audit, Path(f"{team.audit}.refused")):
        assert "private" not in log.read_text()
        assert team.texts["write"] not in log.read_text()
        assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_health_is_told_to_everybody_and_metrics_to_readers(team: Team) -> None:
    assert (team.server.get("/healthz").status, team.server.get("/healthz").text) == (200, "ok\n")
    assert team.server.get("/readyz").text == "ready\n"
    assert team.server.get("/healthz", {"Host": "evil.example"}).status == 403
    metrics = team.server.get("/metrics", _bearer(team.texts["read"])).text
    assert re.search(r'^assay_requests_total\{path="/api/status",status="200"\} \d+$', metrics, re.M)
    assert "assay_ready 1.000" in metrics


def test_a_server_without_an_index_is_not_ready(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with run_server(tmp_path / "empty", "--no-watch") as server:
        assert server.get("/healthz").status == 200
        until(lambda: server.get("/readyz").status == 200)


def test_metrics_count_unknown_paths_as_one_and_add_up() -> None:
    metrics = Metrics(frozenset({"/api/status"}))
    for number in range(100):
        metrics.record(RequestRecord(LOCAL, "GET", f'/{number}\n"}}', 404, 0.02))
    metrics.record(RequestRecord(LOCAL, "GET", "/api/status", 200, 99.0))
    text = metrics.render({"assay_ready": 1.0})
    assert 'assay_requests_total{path="other",status="404"} 100' in text
    assert 'assay_request_seconds_bucket{path="other",le="0.01"} 0' in text
    assert 'assay_request_seconds_bucket{path="other",le="0.025"} 100' in text
    assert 'assay_request_seconds_bucket{path="/api/status",le="30.0"} 0' in text
    assert 'assay_request_seconds_bucket{path="/api/status",le="+Inf"} 1' in text
    assert all(re.fullmatch(r"#.*|[a-z_]+(\{[^\n]*\})? [\d.]+", line) for line in text.splitlines())


def test_the_audit_log_is_bounded_and_survives_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.serve.telemetry._MAX_AUDIT_BYTES", 2_000)
    log = AuditLog(tmp_path / "audit.jsonl")
    for number in range(100):
        log.record(RequestRecord(LOCAL, "GET", f"/{number}\n\x1b[31m", 200, 0.1))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 5_000
    lines = log.path.read_text().splitlines()
    assert all(json.loads(line)["method"] == "GET" for line in lines)
    assert str(log.tail(1)[0]["path"]).startswith("/99")
    AuditLog(tmp_path / "missing" / "audit.jsonl").record(RequestRecord(None, "GET", "/", 200, 0.1))
