"""Published indexes, changed as their author could: every digest fits."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

from assay.store import catalogue
from assay.store.columns import Columns
from assay.store.edges import Edges
from assay.store.generation import map_arrays
from assay.store.postings import Segment


def forge(place: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest and publish it under its new digest."""
    path = _manifest(place)
    manifest = json.loads(path.read_text())
    change(manifest)
    data = json.dumps(manifest).encode()
    (place / "snapshots" / f"{digest(data)}.json").write_bytes(data)
    for pointer in (place / "latest.json", *place.glob("commits/*")):
        pointer.write_text(json.dumps({"format": 1, "snapshot": digest(data)}))


def replace_file(place: Path, name: str, content: bytes) -> None:
    """Replace a file of the snapshot."""
    stored = zlib.compress(content, 1)
    (place / "blobs" / digest(stored)).write_bytes(stored)

    def change(manifest: dict[str, Any]) -> None:
        file = next(file for file in manifest["files"] if file["name"] == name)
        file |= {"size": len(content), "digest": digest(content), "blob": digest(stored), "stored": len(stored)}

    forge(place, change)


def content(place: Path, name: str) -> bytes:
    file = next(file for file in json.loads(_manifest(place).read_text())["files"] if file["name"] == name)
    return zlib.decompress((place / "blobs" / file["blob"]).read_bytes())


def names(place: Path) -> list[str]:
    return [file["name"] for file in json.loads(_manifest(place).read_text())["files"]]


def change_catalogue(data: bytes, scratch: Path, *statements: tuple[str, tuple[object, ...]]) -> bytes:
    """Return a catalogue after some statements, with the size that it states."""
    scratch.write_bytes(data)
    connection = sqlite3.connect(scratch, isolation_level=None)
    try:
        for statement, parameters in statements:
            connection.execute(statement, parameters)
        connection.execute(
            "UPDATE meta SET value = ? WHERE key = 'catalogue_bytes'", (f"{scratch.stat().st_size:012d}",)
        )
    finally:
        connection.close()
    return scratch.read_bytes()


def restate_digests(folder: Path) -> None:
    """State the checksums of the arrays of a generation as they are now."""
    maps = map_arrays(folder, [path.name for path in folder.iterdir()])
    stated = (
        ("edges", Edges.open(maps).digest), ("words", Segment.open(maps).digest), ("columns", Columns.open(maps).digest),
    )  # fmt: skip
    changes = [("UPDATE meta SET value = ? WHERE key = ?", (value, name)) for name, value in stated]
    path = folder / catalogue.NAME
    path.write_bytes(change_catalogue(path.read_bytes(), folder.with_name(f"{folder.name}.db"), *changes))
    folder.with_name(f"{folder.name}.db").unlink()


def digest(data: bytes) -> str:
    return blake2b(data, digest_size=32).hexdigest()


def _manifest(place: Path) -> Path:
    snapshot = json.loads((place / "latest.json").read_text())["snapshot"]
    return place / "snapshots" / f"{snapshot}.json"
