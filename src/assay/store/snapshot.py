"""Snapshots: the current generation of an index, published to a place and pulled from there.

    PLACE/
      latest.json             the newest snapshot
      commits/COMMIT.json     the newest snapshot of a commit
      snapshots/ID.json       manifest: the files with sizes and digests; ID is the digest of the manifest
      blobs/DIGEST            a file, compressed; named by the digest of what is stored

Everything but the pointers is immutable and named by its content, so publishing again stores only what changed, two
publishers cannot disturb each other, and a reader can check all it gets. What is pulled is data like any other: it is
bounded, compared with its digests, and verified like an index that came with a clone before it is used.
"""

from __future__ import annotations

import os
import re
import shutil
import time
import zlib
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

import msgspec

from assay.core.progress import Progress
from assay.store import history, layout
from assay.store.catalogue import NAME as CATALOGUE
from assay.store.generation import Generation
from assay.store.layout import Home
from assay.store.links import stated
from assay.store.remote import CHUNK, Missing, Place, RemoteError
from assay.store.seal import NAME as SEAL
from assay.system.files import check_folder, open_regular

FORMAT = 1
SIDECARS = (history.NAME, layout.SECTIONS, stated.NAME)  # published beside the generation

_LATEST = "latest.json"
_MAX_MANIFEST = 1 << 20
_MAX_FILES = 100  # a generation has about twenty
_MAX_BYTES = 1 << 36  # of one file
_NAME = re.compile(r"[a-z][a-z0-9_]{0,60}\.(?:db|npy|npz)")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_LEVEL = 1  # of compression: 3 is 4 % smaller and takes twice as long
_PARTIAL = ".pull-"  # folder of a download, kept to resume it
_ORPHAN_SECONDS = 86_400  # age of an unreferenced blob that is removed: a younger one may belong to a publisher at work


class StoredFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a snapshot."""

    name: str
    size: int  # of the file
    digest: str  # of the file
    blob: str  # digest of the compressed file, which is its name
    stored: int  # size of the compressed file


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The files of a snapshot, and the code and version of assay that they were made from."""

    format: int
    version: str  # of the indexer: another one cannot update the index
    commit: str  # HEAD when it was published; empty outside git
    created: int  # seconds since 1970
    files: tuple[StoredFile, ...]

    @property
    def size(self) -> int:
        return sum(file.stored for file in self.files)


class Pointer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a pointer file."""

    format: int
    snapshot: str


class Published(NamedTuple):
    """Result of publishing."""

    snapshot: str
    files: int
    bytes: int  # compressed size of all files
    sent: int  # of those that the place did not have
    removed: int  # old snapshots


# Publishing


def publish(
    generation: Generation, place: Place, commit: str, progress: Progress, scratch: Path, keep: int = 0
) -> Published:
    """Publish a generation and its sidecars; with `keep`, remove all but the newest snapshots.

    Compressed files are made in the folder `scratch`.
    """
    sources = [generation.folder / name for name in sorted(os.listdir(generation.folder)) if name != SEAL]
    sources += [path for name in SIDECARS if (path := generation.home / name).is_file()]
    stored, sent = [], 0
    progress.start("publishing", sum(path.stat().st_size for path in sources))
    for path in sources:
        compressed = scratch / path.name
        file = _compress(path, compressed, progress)
        if not place.has(f"blobs/{file.blob}"):
            place.write(f"blobs/{file.blob}", compressed)
            sent += file.stored
        compressed.unlink()
        stored.append(file)
    manifest = Manifest(FORMAT, generation.meta["version"], commit, int(time.time()), tuple(stored))
    snapshot = _same_snapshot(place, manifest)
    if not snapshot:
        data = msgspec.json.encode(manifest)
        snapshot = blake2b(data, digest_size=32).hexdigest()
        place.write(f"snapshots/{snapshot}.json", data)
    pointer = msgspec.json.encode(Pointer(FORMAT, snapshot))
    if commit:
        place.write(_commit_pointer(commit), pointer)
    place.write(_LATEST, pointer)
    removed = _prune(place, keep) if keep else 0
    return Published(snapshot, len(stored), manifest.size, sent, removed)


def _same_snapshot(place: Place, manifest: Manifest) -> str:
    """Return the newest snapshot if it differs from a manifest by its time only, else an empty string."""
    try:
        snapshot = _pointed(place, _LATEST)
        latest = read_manifest(place, snapshot)
    except RemoteError:
        return ""
    return snapshot if msgspec.structs.replace(latest, created=manifest.created) == manifest else ""


def _compress(path: Path, target: Path, progress: Progress) -> StoredFile:
    content, stored = blake2b(digest_size=32), blake2b(digest_size=32)
    compressor = zlib.compressobj(_LEVEL)
    size = written = 0
    with open_regular(path) as source, target.open("wb") as sink:
        while chunk := source.read(CHUNK):
            content.update(chunk)
            size += len(chunk)
            progress.advance(len(chunk))
            compressed = compressor.compress(chunk)
            stored.update(compressed)
            written += sink.write(compressed)
        rest = compressor.flush()
        stored.update(rest)
        written += sink.write(rest)
    return StoredFile(path.name, size, content.hexdigest(), stored.hexdigest(), written)


def _prune(place: Place, keep: int) -> int:
    """Remove all but the newest snapshots, and the blobs that none of the others has."""
    ages = {name: age for name, age in place.list("snapshots").items() if name.endswith(".json")}
    manifests = {name: read_manifest(place, name.removesuffix(".json")) for name in ages}
    newest = sorted(manifests, key=lambda name: (-manifests[name].created, name))
    old = newest[keep:]
    for name in old:
        place.remove(f"snapshots/{name}")
    pointers = {name: f"commits/{name}" for name in place.list("commits")}
    gone = {name.removesuffix(".json") for name in old}
    for path in pointers.values():
        if _pointed(place, path) in gone:
            place.remove(path)
    needed = {file.blob for name in newest[:keep] for file in manifests[name].files}
    for blob, age in place.list("blobs").items():
        if blob not in needed and age > _ORPHAN_SECONDS:
            place.remove(f"blobs/{blob}")
    return len(old)


# Finding a snapshot


def find_snapshot(place: Place, commits: Sequence[str]) -> str:
    """Return the snapshot of the first commit that has one, or the newest one."""
    for commit in commits:
        try:
            return _pointed(place, _commit_pointer(commit))
        except Missing:
            continue
    try:
        return _pointed(place, _LATEST)
    except Missing:
        raise RemoteError(f"{place.address}: no published index there. Publish one with: assay publish") from None


def _commit_pointer(commit: str) -> str:
    if not _COMMIT.fullmatch(commit):
        raise RemoteError(f"{commit[:80]!r} is not a commit id")
    return f"commits/{commit}.json"


def _pointed(place: Place, path: str) -> str:
    pointer = _decode(place, path, place.read(path, 1 << 12), Pointer)
    if pointer.format != FORMAT or not _DIGEST.fullmatch(pointer.snapshot):
        raise RemoteError(f"{place.address}/{path}: not a pointer to a snapshot of this version of assay")
    return pointer.snapshot


def read_manifest(place: Place, snapshot: str) -> Manifest:
    """Return the manifest of a snapshot, checked against the snapshot's id. Raises RemoteError."""
    path = f"snapshots/{snapshot}.json"
    if not _DIGEST.fullmatch(snapshot):
        raise RemoteError(f"{snapshot[:80]!r} is not the id of a snapshot")
    data = place.read(path, _MAX_MANIFEST)
    if blake2b(data, digest_size=32).hexdigest() != snapshot:
        raise RemoteError(f"{place.address}/{path}: changed since it was published (wrong digest)")
    manifest = _decode(place, path, data, Manifest)
    if problem := _problem(manifest):
        raise RemoteError(f"{place.address}/{path}: {problem}")
    return manifest


def _problem(manifest: Manifest) -> str:
    if manifest.format != FORMAT:
        return f"has format {manifest.format}, this version of assay reads {FORMAT}"
    if manifest.commit and not _COMMIT.fullmatch(manifest.commit):
        return "names something else than a commit"
    names = [file.name for file in manifest.files]
    if len(names) > _MAX_FILES or len(set(names)) != len(names) or CATALOGUE not in names:
        return "does not list the files of an index"
    for file in manifest.files:
        if not (_NAME.fullmatch(file.name) and _DIGEST.fullmatch(file.blob) and _DIGEST.fullmatch(file.digest)):
            return f"names a file that no index has: {file.name[:80]!r}"
        if not (0 <= file.size <= _MAX_BYTES and 0 <= file.stored <= _MAX_BYTES):
            return f"{file.name}: impossible size"
    return ""


Kind = TypeVar("Kind", Manifest, Pointer)


def _decode(place: Place, path: str, data: bytes, kind: type[Kind]) -> Kind:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise RemoteError(f"{place.address}/{path}: not what assay publishes ({error})") from None


# Pulling


def download(place: Place, snapshot: str, manifest: Manifest, home: Home, progress: Progress) -> Path:
    """Download the files of a snapshot into a folder of the index, resuming an earlier attempt; return the folder.

    Every file has the digest that the manifest states. Raises RemoteError.
    """
    folder = home.folder / f"{_PARTIAL}{snapshot[:16]}"
    for other in home.folder.glob(f"{_PARTIAL}*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    _check_space(home.folder, manifest)
    folder.mkdir(exist_ok=True)
    check_folder(folder, home.owners)
    progress.start("pulling", manifest.size)
    for file in manifest.files:
        target = folder / file.name
        if target.is_file() and target.stat().st_size == file.size and _digest(target) == file.digest:
            progress.advance(file.stored)
            continue
        partial = folder / f"{file.blob}.part"
        _download_blob(place, file, partial, progress)
        _decompress(place, file, partial, target)
        partial.unlink()
    return folder


def _check_space(folder: Path, manifest: Manifest) -> None:
    needed = manifest.size + sum(file.size for file in manifest.files)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise RemoteError(f"{folder}: the index needs {needed / 1e6:,.0f} MB, {free / 1e6:,.0f} MB are free")


def _download_blob(place: Place, file: StoredFile, partial: Path, progress: Progress) -> None:
    """Append what is missing of a blob, then check its digest; a wrong blob is deleted."""
    offset = partial.stat().st_size if partial.exists() else 0
    if offset > file.stored:
        partial.unlink()
        offset = 0
    progress.advance(offset)
    with partial.open("ab") as sink:
        for chunk in place.stream(f"blobs/{file.blob}", offset) if offset < file.stored else ():
            offset += sink.write(chunk)
            progress.advance(len(chunk))
            if offset > file.stored:
                break
    if offset < file.stored:
        raise RemoteError(f"{place.address}: {file.name} ended early. Run the command again to resume")
    if _digest(partial) != file.blob:
        partial.unlink()
        raise RemoteError(f"{place.address}: {file.name} changed since it was published (wrong digest)")


def _decompress(place: Place, file: StoredFile, source: Path, target: Path) -> None:
    digest, size = blake2b(digest_size=32), 0
    temporary = target.with_name(f"{target.name}.{os.urandom(8).hex()}.tmp")
    with open_regular(source) as stream, temporary.open("xb") as sink:
        for chunk in _inflated(stream):
            size += len(chunk)
            if size > file.size:
                break
            digest.update(chunk)
            sink.write(chunk)
    if size != file.size or digest.hexdigest() != file.digest:
        temporary.unlink()
        raise RemoteError(f"{place.address}: {file.name} is not the file that was published (wrong digest)")
    temporary.replace(target)


def _inflated(stream: IO[bytes]) -> Iterator[bytes]:
    """Decompress in bounded pieces; ends silently at damage, which the digest shows."""
    inflater = zlib.decompressobj()
    try:
        while rest := stream.read(CHUNK):
            while rest:
                yield inflater.decompress(rest, CHUNK)
                rest = inflater.unconsumed_tail
        yield inflater.flush()
    except zlib.error:
        return


def _digest(path: Path) -> str:
    digest = blake2b(digest_size=32)
    with open_regular(path) as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
