"""Comparison of a tool's targets of calls with our own, file by file, stored beside the generations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from assay.store.catalogue import FileRow
from assay.system.files import TooLarge, atomic_write, read_regular

NAME = "enrichment.msgpack"
_MAX_BYTES = 64_000_000


class Disagreement(msgspec.Struct, array_like=True, frozen=True):
    """A call whose target differs: `target` (another item), `outside` (outside for the tool), `missed` (outside for us)."""

    path: str
    line: int
    source: str
    call: str  # as written
    kind: str
    own_targets: list[str]
    provenance: str  # of our own
    tool_targets: list[str]


class FileComparison(msgspec.Struct, array_like=True):
    """Counts of one file's calls."""

    hash: bytes
    tool: str
    version: str  # of the tool
    answered: int = 0
    agreed: int = 0
    gained: int = 0  # not resolved by us, an item by the tool
    values: int = 0  # calls of values, about which we say nothing, an item by the tool
    everyday: int = 0  # answered calls of common method names that we took for external without knowing
    external: int = 0  # not resolved by us, outside the repository by the tool
    disagreements: list[Disagreement] = []


_decode = msgspec.msgpack.Decoder(dict[str, FileComparison]).decode


def read(folder: Path, files: Mapping[str, FileRow]) -> dict[str, FileComparison]:
    """Return the comparisons of the files that are unchanged; none if there are none, or the file is damaged."""
    try:
        stored = _decode(read_regular(folder / NAME, _MAX_BYTES, follow=False))
    except (OSError, TooLarge, msgspec.MsgspecError):
        return {}
    return {path: row for path, row in stored.items() if path in files and files[path].hash == row.hash}


def write(folder: Path, comparisons: Mapping[str, FileComparison]) -> None:
    with atomic_write(folder / NAME) as file:
        file.write(msgspec.msgpack.encode(comparisons))
