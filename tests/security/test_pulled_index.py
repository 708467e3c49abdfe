"""A hostile place: whatever it sends, the index in use stays, nothing outside is written and one line says why."""

from __future__ import annotations

import io
import sqlite3
import zlib
from pathlib import Path

import numpy as np
import pytest

from assay.api import Repository as Opened
from support.command import Done, assay
from support.published import change_catalogue, content, digest, forge, replace_file
from support.repository import Repository

CODE = "def sign_session(user):\n    return user\n"


@pytest.fixture
def place(repository: Repository, tmp_path: Path) -> Path:
    """The published index of the repository, whose own index is one function older."""
    repository.write("README.md", "# Shop\n\nUsers have sessions.\n")
    repository.write("shop.py", CODE + "\n\ndef newer():\n    return 1\n")
    repository.index()
    with Opened(repository.root) as opened:
        opened.publish(str(tmp_path / "place"))
    repository.write("shop.py", CODE)
    repository.index()
    return tmp_path / "place"


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
    forge(place, lambda manifest: manifest["files"][1].update(name=name))
    _pull(repository, place)
    assert (repository.root / "shop.py").read_text() == CODE


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 1}', "[" * 100_000, '{"format": 1, "snapshot": "../x"}'])
def test_a_pointer_that_is_none_is_refused(repository: Repository, place: Path, text: str) -> None:
    (place / "latest.json").write_text(text)
    _pull(repository, place)


def test_a_compression_bomb_ends_at_the_size_it_claims(repository: Repository, place: Path) -> None:
    stored = zlib.compress(bytes(1 << 28), 9)
    (place / "blobs" / digest(stored)).write_bytes(stored)
    forge(
        place,
        lambda manifest: manifest["files"][1].update(blob=digest(stored), stored=len(stored)),
    )
    assert "wrong digest" in _pull(repository, place).err


def test_a_size_that_no_disk_holds_is_refused_before_anything_is_read(repository: Repository, place: Path) -> None:
    sizes = {"size": 1 << 36}
    forge(place, lambda manifest: [file.update(sizes) for file in manifest["files"]])
    assert "MB are free" in _pull(repository, place).err


def test_arrays_that_do_not_fit_their_catalogue_are_refused(repository: Repository, place: Path) -> None:
    edges = content(place, "edges.npy")
    replace_file(place, "edges.npy", edges[:-8] + bytes([255]) * 8)
    assert "not a usable index" in _pull(repository, place).err


def test_a_catalogue_with_a_trigger_is_refused(repository: Repository, place: Path, tmp_path: Path) -> None:
    path = tmp_path / "catalogue.db"
    path.write_bytes(content(place, "catalogue.db"))
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TRIGGER t AFTER UPDATE ON files BEGIN DELETE FROM symbols; END")
    connection.close()
    replace_file(place, "catalogue.db", path.read_bytes())
    _pull(repository, place)


IMPOSSIBLE = {
    "bytes for a path": ("UPDATE files SET path = ?", b"shop.py", "files.path: not a possible value"),
    "no language": ("UPDATE files SET language = ?", None, "files.language: not a possible value"),
    "bytes for a comment": ("UPDATE texts SET doc = ?", b"text", "texts.doc: not a possible value"),
    "a symbol of no file": ("UPDATE symbols SET file = ?", 77, "symbols.file: not a possible value"),
    "a text of no symbol": ("INSERT INTO texts VALUES (?, '', '', '', '')", 77, "texts.number: not a possible value"),
    "an unknown kind": ("UPDATE symbols SET kind = ?", "nothing", "symbols.kind: not a possible value"),
    "a line beyond all": ("UPDATE symbols SET start = ?", 1 << 40, "symbols.start: not a possible value"),
    "a time that is none": ("UPDATE meta SET value = ? WHERE key = 'seconds'", "soon", "meta.value: not a possible value"),
    "a missing symbol": ("DELETE FROM symbols WHERE ordinal >= 0 OR 77 = ?", 0, "texts.number: not a possible value"),
    "another file": ("UPDATE symbols SET test = 1 - test WHERE number > ?", 0, "columns: not those of the symbols"),
}  # fmt: skip


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_catalogue_with_impossible_values_is_refused(
    repository: Repository, place: Path, tmp_path: Path, name: str
) -> None:
    statement, value, problem = IMPOSSIBLE[name]
    data = change_catalogue(content(place, "catalogue.db"), tmp_path / "catalogue.db", (statement, (value,)))
    replace_file(place, "catalogue.db", data)
    assert problem in _pull(repository, place).err


@pytest.mark.parametrize("name", ["history.npz", "sections.npz", "statements.npz"])
def test_a_damaged_file_beside_the_index_is_made_again(repository: Repository, tmp_path: Path, name: str) -> None:
    place = tmp_path / "place"
    repository.write("README.md", "# Shop\n\nUsers have `sign_session`.\n")
    repository.write("CODEOWNERS", "* @shop\n")
    repository.write("shop.py", CODE)
    repository.commit("Sign sessions")
    repository.index()
    with Opened(repository.root) as opened:
        opened.publish(str(place))
    with np.load(io.BytesIO(content(place, name))) as stored:
        arrays = {key: array + 77 if key.endswith("_starts") else array for key, array in stored.items()}
    damaged = io.BytesIO()
    np.savez(damaged, allow_pickle=False, **arrays)
    replace_file(place, name, damaged.getvalue())
    assert assay(repository.root, "pull", place, "--no-refresh").code == 0
    assert not (repository.home.folder / name).exists()
    assert assay(repository.root, "search", "sign session", "--no-refresh").code == 0
    repository.index()
    assert (repository.home.folder / name).exists()


def test_an_index_of_another_version_is_refused_with_what_to_do(repository: Repository, place: Path) -> None:
    forge(place, lambda manifest: manifest.update(version="0123456789ab"))
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
