"""Work and memory grow linearly with the code. Counted, not timed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.index.file import Sym
from assay.index.parse import AHEAD, BATCH_BYTES, ParseCache, parse_files, worker_count
from assay.index.resolve.guesses import Guesses
from assay.index.scan import Source, read_source
from assay.index.table import NAME
from support.repository import Repository


def _go(repository: Repository, packages: int) -> None:
    """Packages of types, each of which satisfies one interface of many."""
    repository.write("go.mod", "module example.org/shop\n")
    for number in range(packages):
        lines = [f"package p{number}"]
        for one in range(5):
            lines += [
                f"type Runner{one} interface {{\n\tRun{number}x{one}()\n\tClose()\n}}",
                f"type Thing{one} struct{{}}",
                f"func (t *Thing{one}) Run{number}x{one}() {{}}",
                f"func (t *Thing{one}) Close() {{}}",
            ]
        repository.write(f"p{number}/all.go", "\n".join(lines) + "\n")


def _questions(repository: Repository) -> int:
    """How many questions the last index keeps a record of."""
    repository.index()
    folder = repository.home.current()
    assert folder is not None
    with np.load(folder / NAME) as stored:
        return len(stored["askers"])


def test_twice_the_types_and_interfaces_ask_twice_the_questions(repository: Repository) -> None:
    _go(repository, 10)
    once = _questions(repository)
    assert len(repository.edges("implements")) == 50
    _go(repository, 20)
    assert _questions(repository) < 2.2 * once
    assert len(repository.edges("implements")) == 100


def test_a_name_that_many_share_is_looked_through_once(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    through = Guesses._is_called_on_instance

    def watch(self: Guesses, sym: Sym) -> bool:
        looked.append(sym.id)
        return through(self, sym)

    monkeypatch.setattr(Guesses, "_is_called_on_instance", watch)
    for number in range(20):
        repository.write(
            f"m{number}.py",
            f"class C{number}:\n    def ripen(self):\n        pass\n\ndef use(thing, other):\n    thing.ripen()\n    other.ripen()\n",
        )
    repository.index()
    assert len(looked) == 20


def test_files_are_read_as_they_are_parsed_not_all_at_first(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large repository is never in memory whole."""
    import assay.index.parse as parse

    read: list[str] = []

    def watch(root: Path, path: str, whole: bool = False) -> Source:
        read.append(path)
        return read_source(root, path, whole)

    monkeypatch.setattr(parse, "read_source", watch)
    size = BATCH_BYTES // 2
    paths = [f"m{number:03}.py" for number in range(2 * (AHEAD + 3) * worker_count() + 10)]
    for path in paths:
        repository.write(path, f"NAME = '{path}'\n" + "x = 1  # and so on\n" * (size // 18))
    found = parse_files(repository.root, paths, ParseCache(None), lambda _: None)
    next(found)
    assert len(read) < len(paths)
    assert sorted(one.path for one in found) == paths[1:]
    assert read == paths


def test_what_the_cache_knows_is_given_at_once(repository: Repository) -> None:
    paths = [f"m{number}.py" for number in range(5)]
    for path in paths:
        repository.write(path, f"NAME = '{path}'\n")
    cache = ParseCache(repository.root / "parses.db")
    list(parse_files(repository.root, paths, cache, lambda _: None))
    (repository.root / "m4.py").unlink()
    found = parse_files(repository.root, paths, cache, lambda _: None)
    assert next(found).path == "m0.py"
    repository.write("m4.py", "NAME = 'read when its turn comes'\n")
    rest = list(found)
    assert [one.path for one in rest] == paths[1:]
    assert not rest[-1].skip
