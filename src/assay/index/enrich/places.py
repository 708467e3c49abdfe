"""The indexed files as a tool sees them: facts, and the positions of references and definitions.

Files that changed since they were indexed are left out: edges belong to indexed content.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from assay.core.progress import Progress
from assay.index.extract.places import Place, Places, locate
from assay.index.facts import Reference, decode_facts
from assay.index.file import File
from assay.index.parse import ParseCache, cache_path, parse_files, worker_count
from assay.index.scan import read_source
from assay.languages import by_name
from assay.languages.conventions import is_test_path
from assay.store.generation import Generation
from assay.store.layout import Home, content_hash
from assay.system.pool import Failure, Pool

_SECONDS, _SECONDS_PER_BYTE = 4.0, 2e-5  # twice those of parsing: the text is parsed and its positions are computed
_BATCH = 20  # files per task of a worker


class _Task(NamedTuple):
    path: str
    language: str
    data: bytes


class Tree:
    """Facts and positions of the files of an index, as far as they are unchanged."""

    def __init__(self, root: Path, index: Generation) -> None:
        self.root, self.index = root, index
        self.files: dict[str, File] = {}
        self.references: dict[str, list[Reference]] = {}
        self.places: dict[str, Places] = {}
        self._names: dict[str, dict[tuple[int, int], int]] = {}

    @classmethod
    def read(cls, root: Path, home: Home, index: Generation, languages: Iterable[str], progress: Progress) -> Tree:
        """Read all files of the index; positions only of those in the given languages."""
        tree, located = cls(root, index), set(languages)
        cache = ParseCache(cache_path(root, home.folder))
        try:
            progress.start("reading", len(index.files))
            for parsed in parse_files(root, index.files, cache, progress.advance):
                row = index.files[parsed.path]
                if parsed.extracted is not None and parsed.digest == row.hash:
                    facts = decode_facts(parsed.extracted.facts)
                    tree.files[parsed.path] = File(parsed.path, facts, is_test_path(parsed.path))
        finally:
            cache.close()
        tree._locate([path for path, file in tree.files.items() if index.files[path].language in located], progress)
        return tree

    def _locate(self, paths: list[str], progress: Progress) -> None:
        progress.start("locating", len(paths))
        with Pool(_locate_file, _seconds, worker_count(), _prepare) as pool:
            batches = [pool.submit(tasks) for tasks in self._batches(paths)]
            for batch in batches:
                for task, result in batch.results():
                    progress.advance()
                    if isinstance(result, Failure) or result is None:
                        continue
                    references = self.files[task.path].references()
                    if len(references) == len(result.references):  # else the file changed meanwhile
                        self.places[task.path], self.references[task.path] = result, references

    def _batches(self, paths: list[str]) -> Iterable[list[_Task]]:
        for first in range(0, len(paths), _BATCH):
            tasks = []
            for path in paths[first : first + _BATCH]:
                data = self.text(path)
                if data is not None:
                    tasks.append(_Task(path, self.files[path].facts.language, data))
            yield tasks

    def text(self, path: str) -> bytes | None:
        """Return the indexed text of a file in UTF-8; None if it changed."""
        source = read_source(self.root, path)
        unchanged = not source.skip and not source.problem and content_hash(source.data) == self.index.files[path].hash
        return source.data if unchanged else None

    def item_at(self, path: str, line: int, column: int) -> str | None:
        """Return the id of the item whose name is at a position, or of the file at its start; None without one."""
        file, places = self.files.get(path), self.places.get(path)
        if file is None or places is None:
            return None
        if path not in self._names:
            named = {_key(place): index for index, place in enumerate(places.symbols) if place is not None}
            self._names[path] = named
        index = self._names[path].get((line, column))
        if index is not None:
            return file.sym(index).id
        return path if (line, column) == (1, 0) else None


def _key(place: Place) -> tuple[int, int]:
    return place.line, place.column


def _locate_file(task: _Task) -> Places | None:
    try:
        return locate(task.data, by_name()[task.language])
    except MemoryError:
        raise  # the worker is out of memory
    except Exception:  # a failure is limited to its file
        return None


def _seconds(task: _Task) -> float:
    return _SECONDS + _SECONDS_PER_BYTE * len(task.data)


def _prepare(task: _Task) -> object:
    return by_name()[task.language].query_objects
