"""The repository as its last commit has it: which definitions each source file holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.evaluate.mine.definitions import Definition, Locator
from assay.evaluate.mine.git import repository as repository_at
from assay.evaluate.mine.mined import Options, Progress
from assay.evaluate.mine.paths import role
from assay.git import Blob, Blobs


class Snapshot:
    """The files of HEAD by role, and their texts."""

    def __init__(self, files: list[Blob], blobs: Blobs) -> None:
        self._files, self._blobs = files, blobs

    @classmethod
    @contextmanager
    def open(cls, repository: Path) -> Iterator[Snapshot]:
        git = repository_at(repository)
        with git.blobs() as blobs:
            yield cls(git.tree(), blobs)

    def texts(self, wanted: str) -> Iterator[tuple[str, str]]:
        """Path and text of every file in a role, by path."""
        for file in self._files:
            if role(file.path) == wanted:
                yield file.path, self._blobs.text(file.id)

    def definitions(
        self, locate: Locator, options: Options, progress: Progress | None
    ) -> Iterator[tuple[str, Definition]]:
        """Path and definition of everything in source files, by path and line; of tests only when they are included."""
        if progress:
            progress.start("reading", sum(role(file.path) == "source" for file in self._files))
        for path, text in self.texts("source"):
            if progress:
                progress.advance()
            for found in sorted(locate(path, text), key=lambda d: (d.start, -d.end)):
                if options.include_tests or not found.test:
                    yield path, found
