"""Install a pulled snapshot as the index of a working tree.

A catalogue records size and modification time of every file, by which an update skips unchanged files. Those times
are of the machine that published: files of the same content get the times they have here, so that the next update reads
only what differs.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.core.progress import Progress
from assay.errors import AssayError
from assay.git import Git
from assay.index.contents import file_hash
from assay.index.parse import ParseCache, TextParser, cache_path
from assay.index.scan import Scan, read_configs, scan
from assay.index.version import extractor_version, index_version
from assay.store import history, sections, snapshot
from assay.store.catalogue import NAME as CATALOGUE
from assay.store.catalogue import Catalogue, FileRow
from assay.store.generation import Generation
from assay.store.layout import Home, content_hash, decode
from assay.store.links import stated
from assay.store.remote import RemoteError, place_at

_MOST_CHANGED = 2_000  # files: with more, indexing from scratch is faster
_ANCESTORS = 50  # commits before HEAD whose snapshot is looked for


@dataclass(frozen=True, slots=True)
class Pulled:
    """Result of pulling."""

    snapshot: str
    commit: str
    bytes: int  # compressed
    files: int
    same: int  # indexed files that are the same here


def pull(root: Path, home: Home, address: str, wanted: str = "", progress: Progress | None = None) -> Pulled:
    """Make the snapshot `wanted`, or the one nearest to HEAD, the index of a working tree.

    The previous index stays in use until the new one is complete and verified. Raises RemoteError.
    """
    progress = progress or Progress()
    place = place_at(address)
    chosen = wanted or snapshot.find_snapshot(place, _recent_commits(root))
    manifest = snapshot.read_manifest(place, chosen)
    if manifest.version != index_version():
        raise RemoteError(
            f"{address}: the snapshot was published by another version of assay, which indexes differently. "
            "Publish it again with this version, or index here with: assay index"
        )
    with home.writing(progress.waiting):
        downloaded = snapshot.download(place, chosen, manifest, home, progress)
        scanned = scan(root)
        progress.start("comparing files", len(scanned.files))
        with home.new_generation() as folder:
            for file in manifest.files:
                if file.name not in snapshot.SIDECARS:
                    shutil.move(downloaded / file.name, folder / file.name)
            changed = _adopt_files(root, folder / CATALOGUE, scanned, progress)
            _verify(root, home, folder, address)
        _adopt_documents(root, downloaded / sections.NAME, scanned)
        for sidecar in (history, stated):  # unusable ones are made again by the next update
            if sidecar.key_of(downloaded / sidecar.NAME) is None:
                (downloaded / sidecar.NAME).unlink(missing_ok=True)
        for name in snapshot.SIDECARS:
            if (downloaded / name).exists():
                shutil.move(downloaded / name, home.folder / name)
            else:
                (home.folder / name).unlink(missing_ok=True)
        shutil.rmtree(downloaded, ignore_errors=True)
        _parse_published(root, home, manifest.commit, changed)
    return Pulled(chosen, manifest.commit, manifest.size, len(manifest.files), len(scanned.files) - len(changed))


def _recent_commits(root: Path) -> list[str]:
    try:
        commits = Git(root).ask("rev-list", "--first-parent", f"--max-count={_ANCESTORS}", "HEAD")
    except AssayError:
        return []
    return (commits or "").split()


def _verify(root: Path, home: Home, folder: Path, address: str) -> None:
    """Open a generation as one that came with a clone: schema, digests and numbers are checked. Raises RemoteError."""
    try:
        generation = Generation.verified(root, home, folder)
    except (AssayError, OSError) as error:
        raise RemoteError(f"{address}: not a usable index ({error})") from None
    generation.close()


def _adopt_files(root: Path, path: Path, scanned: Scan, progress: Progress) -> dict[str, FileRow]:
    """Give unchanged files and manifests the times they have here; return the files that differ, as published."""
    opened = Catalogue.read(path)  # refuses another schema, views and triggers
    try:
        files, configs = opened.files(), dict(opened.connection.execute("SELECT path, text FROM configs").fetchall())
    finally:
        opened.close()
    same = set(_unchanged(root, scanned, {name: row.hash for name, row in files.items()}, progress))
    texts = read_configs(root, scanned)
    edited = Catalogue.edit(path)
    edited.connection.executemany(
        "UPDATE files SET size = ?, mtime = ? WHERE path = ?",
        [(scanned.files[name].size, scanned.files[name].mtime, name) for name in same],
    )
    edited.connection.executemany(
        "UPDATE configs SET size = ?, mtime = ? WHERE path = ?",
        [
            (file.size, file.mtime, name)
            for name, file in scanned.configs.items()
            if texts.get(name) == configs.get(name)
        ],
    )
    edited.set_meta({"indexed_at": str(scanned.at)})
    edited.finish(path)
    return {name: row for name, row in files.items() if name not in same}


def _unchanged(root: Path, scanned: Scan, hashes: dict[str, bytes], progress: Progress) -> Iterator[str]:
    for name in scanned.files:
        progress.advance()
        if name in hashes and file_hash(root, name) == hashes[name]:
            yield name


def _parse_published(root: Path, home: Home, commit: str, files: Mapping[str, FileRow]) -> None:
    """Parse the published versions of files that differ here, read from git: an update compares both versions.

    Facts are never pulled: the parse cache is trusted, and outlives the index. Without the commit, or with very many
    files, the next update indexes from scratch.
    """
    if not commit or not files or len(files) > _MOST_CHANGED:
        return
    git = Git(root)
    try:
        if not git.revision(commit):
            return
        ids = {blob.path: blob.id for blob in git.tree(commit)}
        cache = ParseCache(cache_path(root, home.folder))
        try:
            with git.blobs() as blobs, TextParser() as parser:
                for path, row in files.items():
                    data = decode(blobs.content(ids[path])).data if path in ids else b""
                    extracted = parser.extract(path, data) if content_hash(data) == row.hash else None
                    if extracted is not None:
                        cache.put_all([(row.hash, row.language, extracted)])
        finally:
            cache.close()
    except AssayError:
        return  # a repository that git cannot read: the next update indexes from scratch


def _adopt_documents(root: Path, path: Path, scanned: Scan) -> None:
    """Give unchanged documents the times they have here. Unusable sections are deleted: the next update makes them."""
    indexed = sections.read_indexed_documents(path, extractor_version())
    if indexed is None:
        path.unlink(missing_ok=True)
        return
    times = {
        row.path: (file.size, file.mtime)
        for row in indexed.documents.values()
        if (file := scanned.documents.get(row.path)) and row.hash and file_hash(root, row.path) == row.hash
    }
    sections.set_times(path, times, scanned.at)
