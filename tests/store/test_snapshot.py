"""Published indexes: what is pulled is what was published, resumed where it broke off, and never trusted unchecked."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.api import Repository as Opened
from assay.store import snapshot
from assay.store.remote import Folder, RemoteError, place_at
from support.command import assay
from support.repository import Repository, assert_equals_full_index

CODE = "def sign_session(user):\n    return seal_cookie(user)\n\n\ndef seal_cookie(user):\n    return user\n"
OTHERS = 12  # files that nothing depends on: a small share of changed files is updated, a large one is not


@pytest.fixture
def published(repository: Repository, tmp_path: Path) -> Path:
    """A place with the index of a small repository."""
    repository.write("shop.py", CODE)
    for number in range(OTHERS):
        repository.write(f"part_{number}.py", f"def part_{number}():\n    return {number}\n")
    repository.write("pyproject.toml", "[project]\nname = 'shop'\n")
    repository.write("README.md", "# Shop\n\nSessions are signed with `seal_cookie`.\n")
    repository.commit()
    repository.index()
    place = tmp_path / "place"
    with Opened(repository.root) as opened:
        opened.publish(str(place))
    return place


@pytest.fixture
def clone(repository: Repository, published: Path, tmp_path: Path) -> Repository:
    """A clone without an index."""
    repository.git("clone", "-q", str(repository.root), str(tmp_path / "clone"))
    return Repository(tmp_path / "clone")


def _blobs(place: Path) -> list[Path]:
    return sorted((place / "blobs").iterdir())


def test_a_pulled_index_equals_one_that_was_built_and_needs_no_update(clone: Repository, published: Path) -> None:
    done = assay(clone.root, "pull", published, "--format", "json")
    assert done.code == 0, done.err
    assert done.json["same"] == OTHERS + 1
    assert done.json["update"]["mode"] == "fresh"
    assert_equals_full_index(clone.root, clone.home)
    assert assay(clone.root, "status").code == 0
    assert "sign_session" in assay(clone.root, "context", "sign a session", "--format", "json").out


def test_files_that_differ_are_updated_after_the_pull(clone: Repository, published: Path) -> None:
    clone.write("shop.py", CODE.replace("seal_cookie", "seal_token"))
    clone.write("till.py", "from shop import seal_token\n\n\ndef pay():\n    return seal_token(1)\n")
    done = assay(clone.root, "pull", published, "--format", "json")
    assert (done.json["update"]["mode"], done.json["update"]["parsed"]) == ("update", 2)
    assert_equals_full_index(clone.root, clone.home)


def test_the_snapshot_of_the_nearest_commit_is_pulled(
    repository: Repository, clone: Repository, published: Path
) -> None:
    first = assay(clone.root, "pull", published, "--format", "json").json["snapshot"]
    repository.write("till.py", "def pay():\n    return 1\n")
    repository.commit()
    repository.index()
    second = assay(repository.root, "publish", published, "--format", "json").json["snapshot"]
    assert second != first
    assert assay(clone.root, "pull", published, "--format", "json").json["snapshot"] == first
    assert assay(clone.root, "pull", published, "--snapshot", second, "--format", "json").json["snapshot"] == second


def test_publishing_again_sends_only_what_changed(repository: Repository, published: Path) -> None:
    before = _blobs(published)
    again = assay(repository.root, "publish", published, "--format", "json").json
    assert again["sent"] == 0
    assert _blobs(published) == before
    assert len(list((published / "snapshots").iterdir())) == 1


def test_a_stale_index_is_published_only_on_request(repository: Repository, published: Path) -> None:
    repository.write("shop.py", CODE + "\n\ndef more():\n    return 1\n")
    refused = assay(repository.root, "publish", published)
    assert refused.code == 2
    assert "assay index" in refused.err
    assert assay(repository.root, "publish", published, "--stale").code == 0


def test_old_snapshots_are_removed_with_their_pointers(repository: Repository, published: Path) -> None:
    for number in range(3):
        repository.write("shop.py", CODE + f"\n\ndef more_{number}():\n    return 1\n")
        repository.commit()
        repository.index()
        manifest = next((published / "snapshots").iterdir())
        aged = json.loads(manifest.read_text())
        assert aged["format"] == snapshot.FORMAT
        assert assay(repository.root, "publish", published, "--keep", "1", "--format", "json").code == 0
    assert len(list((published / "snapshots").iterdir())) == 1
    assert len(list((published / "commits").iterdir())) == 1


def test_a_download_that_broke_off_is_resumed_where_it_ended(
    clone: Repository, published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[tuple[str, int, int]] = []
    real = Folder.stream

    def broken(self: Folder, path: str, offset: int) -> Iterator[bytes]:
        for chunk in real(self, path, offset):
            received.append((path, offset, len(chunk)))
            yield chunk[: len(chunk) // 2]
            if len(received) == 3:
                raise RemoteError("the line is dead")
            yield chunk[len(chunk) // 2 :]

    monkeypatch.setattr(Folder, "stream", broken)
    with Opened(clone.root) as opened:
        with pytest.raises(RemoteError, match="dead"):
            opened.pull(str(published))
        assert clone.home.named() is None
        path, _, length = received[2]
        opened.pull(str(published))
    resumed = [row for row in received[3:] if row[0] == path]
    assert resumed == [(path, length // 2, length - length // 2)]
    assert not {row[0] for row in received[:2]} & {row[0] for row in received[3:]}
    assert_equals_full_index(clone.root, clone.home)
    assert not list(clone.home.folder.glob(".pull-*"))


@pytest.fixture
def server(published: Path) -> Iterator[tuple[str, list[str]]]:
    """The place behind an HTTP server that knows ranges and wants a token."""
    ranges: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, directory=str(published), **named)

        def do_GET(self) -> None:
            if self.headers.get("Authorization") != "Bearer s3cret":
                self.send_error(401)
                return
            wanted = self.headers.get("Range")
            if not wanted:
                super().do_GET()
                return
            ranges.append(wanted)
            data = (published / self.path.lstrip("/")).read_bytes()[int(wanted.removeprefix("bytes=").rstrip("-")) :]
            self.send_response(206)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments: Any) -> None:
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_address[1]}", ranges
    running.shutdown()
    running.server_close()


def test_an_index_is_pulled_from_a_web_server_with_a_token(
    clone: Repository, published: Path, server: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, ranges = server
    refused = assay(clone.root, "pull", address)
    assert refused.code == 2
    assert "ASSAY_REMOTE_TOKEN" in refused.err
    monkeypatch.setenv("ASSAY_REMOTE_TOKEN", "s3cret")
    place = place_at(address)
    wanted = snapshot.find_snapshot(place, [])
    manifest = snapshot.read_manifest(place, wanted)
    clone.home.prepare()
    partial = clone.home.folder / f".pull-{wanted[:16]}" / f"{manifest.files[0].blob}.part"
    partial.parent.mkdir()
    partial.write_bytes((published / "blobs" / manifest.files[0].blob).read_bytes()[:100])
    with Opened(clone.root) as opened:
        opened.pull(address)
    assert ranges == ["bytes=100-"]
    assert_equals_full_index(clone.root, clone.home)


def test_any_address_of_fsspec_can_be_published_to(repository: Repository, clone: Repository) -> None:
    pytest.importorskip("fsspec", reason="the extra `remote` is not installed")
    with Opened(repository.root) as source, Opened(clone.root) as target:
        source.publish("memory://bucket/shop")
        again = source.publish("memory://bucket/shop", keep=1)
        assert again.sent == 0
        assert target.pull("memory://bucket/shop").same == OTHERS + 1
    assert_equals_full_index(clone.root, clone.home)


def test_an_unknown_protocol_is_said_in_one_line(clone: Repository) -> None:
    done = assay(clone.root, "pull", "nowhere://bucket/shop")
    assert done.code == 2
    assert "nowhere" in done.err
    assert done.err.count("\n") == 1


def test_an_empty_place_names_the_command_that_fills_it(clone: Repository, tmp_path: Path) -> None:
    done = assay(clone.root, "pull", tmp_path / "nothing")
    assert done.code == 2
    assert "assay publish" in done.err
