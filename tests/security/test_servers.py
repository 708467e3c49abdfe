"""Model servers and their keys: a key is sent only to its own server, unencrypted only if the user allows it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.answer.answering import chat
from assay.config import user
from assay.config.configuration import AskSettings, BadConfiguration, SearchSettings, load
from assay.config.user import origin_of
from assay.errors import AssayError
from assay.search.embed.rerankers import ServerReranker
from assay.search.embed.server import ServerEmbedder, ServerFailed, server
from assay.system.http import is_loopback
from support.command import ENVIRONMENT, assay
from support.model_server import ModelServer, Reply, run_model_server
from support.paths import ROOT
from support.trust import trust_settings


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's configuration, empty at first."""
    folder = tmp_path / "config"
    folder.mkdir()
    monkeypatch.setenv(user.DIRECTORY_VARIABLE, str(folder))
    monkeypatch.setitem(ENVIRONMENT, user.DIRECTORY_VARIABLE, str(folder))
    return folder / user.NAME


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setenv("THEIR_KEY", "theirs")
    monkeypatch.setenv("MY_KEY", "mine")

    def answer(path: str, body: dict[str, Any]) -> dict[str, Any]:
        return {"data": [{"index": place, "embedding": [1.0]} for place in range(len(body["input"]))]}

    with run_model_server(answer) as state:
        yield state


# keys


def test_a_key_of_the_users_configuration_goes_to_its_server_alone(own: Path, listening: ModelServer) -> None:
    port = listening.url.split(":")[2].split("/")[0]
    own.write_text(f'[servers."127.0.0.1:{port}"]\nkey_variable = "MY_KEY"\n')
    server(listening.url, "embeddings").ask({"input": ["a"]})
    assert listening.headers[-1]["Authorization"] == "Bearer mine"
    for other in (f"localhost:{port}", "127.0.0.1", f"https://127.0.0.1:{port}", f"127.0.0.2:{port}"):
        own.write_text(f'[servers."{other}"]\nkey_variable = "MY_KEY"\n')
        server(listening.url, "embeddings").ask({"input": ["a"]})
        assert "Authorization" not in listening.headers[-1], other


@pytest.mark.parametrize(
    ("entry", "url", "covered"),
    [
        ("api.example.com", "https://api.example.com/v1", True),
        ("api.example.com", "https://api.example.com:8443/v1", False),
        ("api.example.com", "http://api.example.com/v1", False),
        ("api.example.com", "https://example.com/v1", False),
        ("api.example.com", "https://api.example.com.evil.org/v1", False),
        ("api.example.com:8443", "https://api.example.com:8443/v1", True),
        ("API.example.com", "https://api.EXAMPLE.com/v1", True),
        ("http://10.0.0.5:8080", "http://10.0.0.5:8080/v1", True),
        ("http://10.0.0.5:8080", "https://10.0.0.5:8080/v1", False),
        ("localhost:8080", "http://localhost:8080/v1", True),
        ("[::1]:8080", "http://[::1]:8080/v1", True),
    ],
)
def test_a_server_is_scheme_host_and_port(own: Path, entry: str, url: str, covered: bool) -> None:
    own.write_text(f'[servers."{entry}"]\nkey_variable = "MY_KEY"\n')
    assert (user.settings_for(origin_of(url)) is not None) == covered


def test_an_option_with_another_server_does_not_get_the_key_of_the_first() -> None:
    trusted = SearchSettings(embedder="openai:https://a.example#m", embedder_key_variable="THEIR_KEY")
    assert trusted.but(embedder="openai:https://b.example#m").embedder_key_variable == ""
    assert trusted.but(embedder="openai:https://a.example/v1#other").embedder_key_variable == "THEIR_KEY"
    assert trusted.but(k=3).embedder_key_variable == "THEIR_KEY"
    assert trusted.but(embedder="openai:https://b.example", embedder_key_variable="X").embedder_key_variable == "X"
    asking = AskSettings(model="https://a.example#m", model_key_variable="THEIR_KEY")
    assert asking.but(model="http://a.example#m").model_key_variable == ""


def test_keys_and_servers_of_two_files_are_not_mixed(own: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    own.write_text('[search]\nembedder = "openai:https://mine.example"\nembedder_key_variable = "MY_KEY"\n')
    assert load(root).search.embedder_key_variable == "MY_KEY"
    for text, embedder in (
        ('[search]\nembedder = "openai:https://theirs.example"\n', "openai:https://theirs.example"),
        ('[search]\nembedder_key_variable = "AWS_SECRET_ACCESS_KEY"\n', "openai:https://mine.example"),
    ):
        (root / "assay.toml").write_text(text)
        trust_settings(root)
        found = load(root).search
        assert found.embedder == embedder
        assert found.embedder_key_variable == ("" if "theirs" in embedder else "MY_KEY")


def test_a_redirect_takes_no_key_along(own: Path, listening: ModelServer) -> None:
    with run_model_server(listening.answer) as elsewhere:
        for status in (301, 302, 307, 308):
            listening.script = [Reply(status=status, headers={"Location": f"{elsewhere.url}/embeddings"})]
            with pytest.raises(ServerFailed, match="it points to"):
                server(listening.url, "embeddings", "MY_KEY").ask({"input": ["a"]})
        assert elsewhere.asked == []


# encryption


@pytest.mark.parametrize(
    "make", [lambda url: ServerEmbedder(url), lambda url: ServerReranker(url), lambda url: chat(url)]
)
@pytest.mark.parametrize(
    "host", ["example.com", "10.0.0.5:8080", "127.0.0.1.example.com", "localhost.example.com", "0.0.0.0"]
)
def test_plain_http_reaches_this_machine_alone(own: Path, make: Any, host: str) -> None:
    with pytest.raises(AssayError, match="use https") as error:
        make(f"http://{host}/v1#m")
    assert "\n" not in str(error.value)
    make(f"https://{host}/v1#m")
    own.write_text(f'[servers."{host}"]\nallow_http = true\n')
    make(f"http://{host}/v1#m")


def test_the_hint_can_be_pasted(own: Path) -> None:
    with pytest.raises(AssayError) as error:
        chat("http://10.0.0.5:8080/v1#m")
    table = str(error.value).partition("under ")[2].partition(" in ")[0]
    own.write_text(f"{table}\nallow_http = true\n")
    chat("http://10.0.0.5:8080/v1#m")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "a.localhost"])
def test_loopback_is_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0", "::", "localhost.", "notlocalhost", "127.0.0.1.nip.io"])
def test_anything_else_is_not(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    "url", ["http://evil.org%2f.localhost/", "http://a@127.0.0.1/", "http://e\\.localhost", "ftp://x/"]
)
def test_an_address_that_could_mean_two_hosts_is_refused(own: Path, url: str) -> None:
    with pytest.raises(AssayError):
        server(url, "embeddings")


# the user's configuration


def test_the_users_settings_stand_below_those_of_the_repository(own: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    own.write_text('[context]\nk = 7\nbudget = 700\n[search]\nembedder = "none"\n[ask]\nthreshold = 0.25\n')
    (root / "assay.toml").write_text('[context]\nk = 3\n[search]\nembedder = "openai:https://theirs.example"\n')
    rows = {row["name"]: row for row in assay(root, "config", "--format", "json").json["settings"]}
    assert (rows["context.k"]["value"], rows["context.k"]["origin"]) == (3, "assay.toml")
    assert (rows["context.budget"]["value"], rows["context.budget"]["origin"]) == (700, "user configuration")
    assert (rows["ask.threshold"]["value"], rows["ask.threshold"]["origin"]) == (0.25, "user configuration")
    assert (rows["search.embedder"]["value"], rows["search.embedder"]["origin"]) == ("none", "user configuration")
    assert rows["context.format"]["origin"] == "default"


def test_a_folder_of_a_model_begins_where_the_users_configuration_stands(own: Path, tmp_path: Path) -> None:
    own.write_text('[search]\nembedder = "folder:models/small"\n')
    assert load(tmp_path).search.embedder == f"folder:{own.parent / 'models' / 'small'}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[serch]\nk = 1\n", "Did you mean 'search'?"),
        ("[workspace]\nroots = []\n", "unknown section 'workspace'"),
        ("[search]\nk = 0\n", "[search] k must be a whole number"),
        ('[servers."a.example"]\nkey = "X"\n', "unknown setting 'key'"),
        ('[servers."a.example"]\nallow_http = "yes"\n', "must be true or false"),
        ('[servers."a.example/path"]\n', "no server"),
        ("servers = 3\n", "must be a table"),
        ("[search\n", "not TOML"),
    ],
)
def test_a_mistake_in_the_users_configuration_names_the_file(own: Path, tmp_path: Path, text: str, says: str) -> None:
    own.write_text(text)
    with pytest.raises(BadConfiguration) as error:
        load(tmp_path)
    assert str(error.value).startswith(str(own))
    assert says in str(error.value)


def test_the_guide_shows_a_file_that_is_right(own: Path, tmp_path: Path) -> None:
    guide = ROOT / "docs" / "guides" / "trust.md"
    (example,) = re.findall(r"^```toml\n(.*?)^```$", guide.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    own.write_text(example)
    found = load(tmp_path)
    assert chat(found.ask.model).server.url == "http://10.0.0.5:8080/v1/chat/completions"
    assert ServerEmbedder(found.search.embedder.partition(":")[2]).server.key_variable == "MODELS_KEY"


def test_where_the_users_configuration_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(user.DIRECTORY_VARIABLE, "relative")
    with pytest.raises(AssayError, match="not an absolute path"):
        user.directory()
    monkeypatch.delenv(user.DIRECTORY_VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert user.directory() == tmp_path / "assay"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", os.fspath(tmp_path / "home"))
    assert user.directory() == tmp_path / "home" / ".config" / "assay"
