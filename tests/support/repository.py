"""A folder with files and its index, used by most tests."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from assay.core.progress import Report
from assay.index.pipeline import index
from assay.store.index import Index
from assay.store.layout import Home


class Repository:
    """A folder with files, perhaps under git, and its index."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = Home.of(root)

    def write(self, path: str, text: str | bytes) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())
        return target

    def git(self, *arguments: str) -> str:
        command = [
            "git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false", *arguments,
        ]  # fmt: skip
        return subprocess.run(command, cwd=self.root, check=True, capture_output=True, text=True).stdout

    def commit(self, message: str = "change") -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def index(self, rebuild: bool = False) -> Report:
        return index(self.root, self.home, rebuild)

    def open(self) -> Index:
        return Index.open(self.root, self.home)

    def edges(self, kind: str) -> set[tuple[str, str]]:
        opened = self.open()
        try:
            return {(e.source, e.target) for e in opened.export()[1] if e.type == kind}
        finally:
            opened.close()

    def symbols(self) -> set[str]:
        opened = self.open()
        try:
            return {str(row[0]) for row in opened.export()[0]}
        finally:
            opened.close()


def assert_equals_full_index(root: Path, home: Home) -> None:
    """Compares the updated index with one made from scratch elsewhere."""
    with tempfile.TemporaryDirectory() as elsewhere:
        fresh = Home(Path(elsewhere) / "index")
        index(root, fresh, rebuild=True)
        updated, full = Index.open(root, home), Index.open(root, fresh)
        try:
            symbols, edges = updated.export()
            full_symbols, full_edges = full.export()
            assert symbols == full_symbols
            assert set(edges) == set(full_edges)
            assert len(edges) == len(full_edges)
            counts = "SELECT path, resolved, candidates, external, unresolved FROM files ORDER BY path"
            assert (
                updated.catalogue.connection.execute(counts).fetchall()
                == full.catalogue.connection.execute(counts).fetchall()
            )
        finally:
            updated.close()
            full.close()
