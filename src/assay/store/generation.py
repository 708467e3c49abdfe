"""One generation of an index, open for reading: catalogue, edges, postings and columns, verified before use.

Array files are mapped on opening and parsed on first use: a cached answer needs no numpy.
"""

from __future__ import annotations

import mmap
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from assay.core.progress import COMPLETE
from assay.errors import AssayError
from assay.store import catalogue
from assay.store.catalogue import Catalogue, FileRow
from assay.store.layout import Home
from assay.store.seal import is_sealed
from assay.system.files import UnsafeFolder, files_in

if TYPE_CHECKING:
    from assay.store.columns import Columns
    from assay.store.edges import Edges
    from assay.store.postings import Segment

    Arrays = TypeVar("Arrays", Edges, Segment, Columns)

MappedFiles = Mapping[str, mmap.mmap]  # array files by name


class NoIndex(AssayError):
    """No index exists yet."""


class UnusableIndex(AssayError):
    """The index is damaged or of another version."""


class OtherVersion(UnusableIndex):
    """A file was written by another version of assay."""


class Generation:
    """One generation of a repository's index."""

    def __init__(self, root: Path, folder: Path, opened: Catalogue, maps: MappedFiles, hint: str, sealed: bool) -> None:
        self.root, self.folder, self.catalogue = root, folder, opened
        self.sealed = sealed  # written by this user on this machine, and unchanged since
        self._maps, self._hint = maps, hint

    @classmethod
    def open(cls, root: Path, home: Home) -> Generation:
        arguments = str(root) if home.folder == Home.of(root).folder else f"{root} --index-dir {home.folder}"
        hint = f"Rebuild it with: assay index --rebuild {arguments}"
        home.check()
        name = home.named()
        while name is not None:
            try:
                return cls._open(root, home, home.generations / name, hint)
            except (FileNotFoundError, UnusableIndex) as error:
                before, name = name, home.named()
                if name == before:  # otherwise a writer removed that generation meanwhile
                    if isinstance(error, UnusableIndex):
                        raise
                    raise UnusableIndex(f"{home.folder}: the index is incomplete. {hint}") from None
        raise NoIndex(f"{root}: no index yet. Make one with: assay index {arguments}")

    @classmethod
    def verified(cls, root: Path, home: Home, folder: Path) -> Generation:
        """Open a folder that is not in use yet. Raises UnusableIndex, FileNotFoundError."""
        return cls._open(root, home, folder, "It cannot be used")

    @classmethod
    def _open(cls, root: Path, home: Home, folder: Path, hint: str) -> Generation:
        path = folder / catalogue.NAME
        try:
            files = files_in(folder, home.owners)
        except UnsafeFolder as error:
            raise UnusableIndex(f"{error} Or rebuild the index with: assay index --rebuild {root}") from None
        except NotADirectoryError:
            raise FileNotFoundError(folder) from None
        if catalogue.NAME not in files:
            raise FileNotFoundError(path)
        sealed = is_sealed(folder, files)
        if not sealed:  # from a clone, copied, or damaged
            home.refuse_tracked()
        try:
            opened = Catalogue.read(path)
        except sqlite3.DatabaseError as error:
            raise UnusableIndex(f"{path}: the index is damaged ({error}). {hint}") from None
        try:
            _check_meta(opened, path, files[catalogue.NAME].st_size, hint)
            generation = cls(root, folder, opened, map_arrays(folder, files, hint), hint, sealed)
            if not sealed:  # sealed content needs no verification
                generation._verify()
        except BaseException:
            opened.close()
            raise
        return generation

    def _verify(self) -> None:
        from assay.store.verify import damage

        if problem := damage(self):
            raise UnusableIndex(f"{self.folder}: the index is damaged ({problem}). {self._hint}")

    @cached_property
    def edges(self) -> Edges:
        from assay.store.edges import Edges

        return self._read_arrays(Edges.open)

    @cached_property
    def postings(self) -> Segment:
        from assay.store.postings import Segment

        return self._read_arrays(Segment.open)

    @cached_property
    def columns(self) -> Columns:
        from assay.store.columns import Columns

        return self._read_arrays(Columns.open)

    def _read_arrays(self, read: Callable[[MappedFiles], Arrays]) -> Arrays:
        try:
            return read(self._maps)
        except FileNotFoundError:
            raise
        except Exception as error:  # numpy parses headers as Python, so damage can raise nearly anything
            raise _damage_error(self.folder, error, self._hint) from None

    def close(self) -> None:
        self.catalogue.close()

    @cached_property
    def meta(self) -> dict[str, str]:
        return self.catalogue.meta()

    @property
    def stage(self) -> str:
        """NAMES while calls and history are still to come, else COMPLETE."""
        return self.meta.get(catalogue.STAGE, COMPLETE)

    @cached_property
    def files(self) -> dict[str, FileRow]:
        return self.catalogue.files()

    @cached_property
    def last_file(self) -> int:
        """The highest file number in use."""
        return max((row.number for row in self.files.values()), default=0)

    @property
    def home(self) -> Path:
        """The index folder, which also holds what is stored outside the generations."""
        return self.folder.parent.parent


def _check_meta(opened: Catalogue, path: Path, size: int, hint: str) -> None:
    """Raise UnusableIndex if a catalogue is truncated or of another version."""
    try:
        meta = opened.meta()
    except sqlite3.DatabaseError as error:
        raise UnusableIndex(f"{path}: the index is damaged ({error}). {hint}") from None
    if meta.get("schema") != str(catalogue.SCHEMA_VERSION):
        raise UnusableIndex(
            f"{path}: the index has format {meta.get('schema', '?')}, this version of assay writes {catalogue.SCHEMA_VERSION}. {hint}"
        )
    if meta.get("catalogue_bytes") != f"{size:012d}":
        raise UnusableIndex(f"{path}: the index is truncated. {hint}")


def map_arrays(folder: Path, files: Iterable[str], hint: str = "") -> MappedFiles:
    """Memory-map the array files among the files of a generation, by name."""
    try:
        return {name: _map(os.path.join(folder, name)) for name in files if name.endswith(".npy")}
    except ValueError as error:  # an empty file
        raise _damage_error(folder, error, hint) from None


def _map(path: str) -> mmap.mmap:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    try:
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)


def _damage_error(folder: Path, error: Exception, hint: str) -> UnusableIndex:
    problem = (str(error) or type(error).__name__).splitlines()[0]
    return UnusableIndex(f"{folder}: the index is damaged ({problem}). {hint}")
