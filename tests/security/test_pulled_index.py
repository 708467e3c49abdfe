"""A hostile place: whatever it sends, the index in use stays, nothing outside is written and one line says why."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from assay.api import Repository as Opened
from support.command import Done, assay
from support.repository import Repository

CODE = "def sign_session(user):\n    return user\n"


@pytest.fixture
def place(repository: Repository, tmp_path: Path) -> Path:
    """The published index of the repository, whose own index is one function older."""
    repository.write("shop.py", CODE + "\n\ndef newer():\n    return 1\n")
    repository.index()
    with Opened(repository.root) as opened:
        opened.publish(str(tmp_path / "place"))
    repository.write("shop.py", CODE)
    repository.index()
    return tmp_path / "place"


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=32).hexdigest()


def _forge(place: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest and publish it under its new digest, as its author could."""
    path = next((place / "snapshots").iterdir())
    manifest = json.loads(path.read_text())
    change(manifest)
    data = json.dumps(manifest).encode()
    (place / "snapshots" / f"{_digest(data)}.json").write_bytes(data)
    (place / "latest.json").write_text(json.dumps({"format": 1, "snapshot": _digest(data)}))


def _replace_file(place: Path, name: str, content: bytes) -> None:
    """Replace a file of the snapshot, with digests that fit."""
    stored = zlib.compress(content)
    (place / "blobs" / _digest(stored)).write_bytes(stored)

    def change(manifest: dict[str, Any]) -> None:
        file = next(file for file in manifest["files"] if file["name"] == name)
        file |= {"size": len(content), "digest": _digest(content), "blob": _digest(stored), "stored": len(stored)}

    _forge(place, change)


def _content(place: Path, name: str) -> bytes:
    [path] = (place / "snapshots").iterdir()
    file = next(file for file in json.loads(path.read_text())["files"] if file["name"] == name)
    return zlib.decompress((place / "blobs" / file["blob"]).read_bytes())


def _pull(repository: Repository, place: Path) -> Done:
    """Pull, and check that the index in use stayed as it was."""
    before = repository.home.named()
    done = assay(repository.root, "pull", place, "--no-refresh")
    assert done.code == 2, done.out
    assert done.err.count("\n") == 1
    assert repository.home.named() == before
    assert "shop.py::newer" not in repository.symbols()
    return done


def test_a_tampered_file_is_refused(repository: Repository, place: Path) -> None:
    blob = max((place / "blobs").iterdir(), key=lambda path: path.stat().st_size)
    data = bytearray(blob.read_bytes())
    data[len(data) // 2] ^= 1
    blob.write_bytes(data)
    assert "wrong digest" in _pull(repository, place).err


def test_a_tampered_manifest_is_refused(repository: Repository, place: Path) -> None:
    [path] = (place / "snapshots").iterdir()
    path.write_text(path.read_text().replace('"commit":""', '"commit":"x"').replace('"created":', '"created":1'))
    assert "wrong digest" in _pull(repository, place).err


@pytest.mark.parametrize("name", ["../../shop.py", "/tmp/x.npy", "seal.json", "current", "a\nb.npy", "lock", "x" * 300])
def test_a_file_that_no_index_has_is_refused(repository: Repository, place: Path, name: str) -> None:
    _forge(place, lambda manifest: manifest["files"][1].update(name=name))
    _pull(repository, place)
    assert (repository.root / "shop.py").read_text() == CODE


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 1}', "[" * 100_000, '{"format": 1, "snapshot": "../x"}'])
def test_a_pointer_that_is_none_is_refused(repository: Repository, place: Path, text: str) -> None:
    (place / "latest.json").write_text(text)
    _pull(repository, place)


def test_a_compression_bomb_ends_at_the_size_it_claims(repository: Repository, place: Path) -> None:
    stored = zlib.compress(bytes(1 << 28), 9)
    (place / "blobs" / _digest(stored)).write_bytes(stored)
    _forge(
        place,
        lambda manifest: manifest["files"][1].update(blob=_digest(stored), stored=len(stored)),
    )
    assert "wrong digest" in _pull(repository, place).err


def test_a_size_that_no_disk_holds_is_refused_before_anything_is_read(repository: Repository, place: Path) -> None:
    sizes = {"size": 1 << 36}
    _forge(place, lambda manifest: [file.update(sizes) for file in manifest["files"]])
    assert "MB are free" in _pull(repository, place).err


def test_arrays_that_do_not_fit_their_catalogue_are_refused(repository: Repository, place: Path) -> None:
    edges = _content(place, "edges.npy")
    _replace_file(place, "edges.npy", edges[:-8] + bytes([255]) * 8)
    assert "not a usable index" in _pull(repository, place).err


def test_a_catalogue_with_a_trigger_is_refused(repository: Repository, place: Path, tmp_path: Path) -> None:
    path = tmp_path / "catalogue.db"
    path.write_bytes(_content(place, "catalogue.db"))
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TRIGGER t AFTER UPDATE ON files BEGIN DELETE FROM symbols; END")
    connection.close()
    _replace_file(place, "catalogue.db", path.read_bytes())
    _pull(repository, place)


def test_an_index_of_another_version_is_refused_with_what_to_do(repository: Repository, place: Path) -> None:
    _forge(place, lambda manifest: manifest.update(version="0123456789ab"))
    assert "another version" in _pull(repository, place).err


def test_a_link_in_place_of_a_download_is_not_followed(repository: Repository, place: Path, tmp_path: Path) -> None:
    [path] = (place / "snapshots").iterdir()
    folder = repository.home.folder / f".pull-{path.stem[:16]}"
    victim = tmp_path / "victim"
    victim.mkdir()
    folder.symlink_to(victim)
    assert "symbolic link" in assay(repository.root, "pull", place).err
    assert list(victim.iterdir()) == []
    folder.unlink()
    folder.mkdir()
    (folder / "edges.npy").symlink_to(victim / "new")
    assert "symbolic link" in assay(repository.root, "pull", place).err
    assert list(victim.iterdir()) == []


def test_plain_http_to_another_machine_is_refused(repository: Repository) -> None:
    repository.write("shop.py", CODE)
    done = assay(repository.root, "pull", "http://example.org/index")
    assert done.code == 2
    assert "https" in done.err
