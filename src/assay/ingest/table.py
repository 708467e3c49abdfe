"""The table of all names: what the resolver may ask about files other than the one at hand.

Every question is written down in `reads`. An edited file changes the answers to some questions (`changed_keys`); exactly the files that
asked one of those are resolved again. That is why an incremental index equals a full one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, TypeVar

from assay.ingest.file import File, Sym, stem

T = TypeVar("T")


class Frame:
    """What the asker at hand already knows: answers that, asked again, add nothing to its reads; and which locals it is evaluating."""

    def __init__(self) -> None:
        self.answers: dict[Any, Any] = {}
        self.busy: set[tuple[str, int]] = set()


class Table:
    """All files by path and all symbols by name. `load` fetches a file's facts when they are first asked for."""

    def __init__(self, paths: Iterable[str], load: Callable[[str], File | None], configs: dict[str, str]) -> None:
        self.paths = set(paths)
        self.configs = configs  # manifests such as go.mod, by path
        self._load = load
        self._files: dict[str, File | None] = {}
        self.reads: set[str] = set()
        self.frame = Frame()
        self.behind: dict[str, set[str]] = {}  # remembered answer → the questions it took
        self._remembered: dict[str, Any] = {}
        self.places: dict[tuple[str, str, str], tuple[Any, frozenset[str]]] = {}  # of imports, see modules.locate

    @cached_property
    def by_stem(self) -> dict[str, list[str]]:
        """File stem → paths, for finding modules by the end of their path."""
        out: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            out[stem(path)].append(path)
        return out

    @cached_property
    def folders(self) -> dict[str, list[str]]:
        """Folder → the source files directly in it."""
        out: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            out[path.rpartition("/")[0]].append(path)
        return out

    @cached_property
    def all_folders(self) -> set[str]:
        """Every folder with source files somewhere below it."""
        out: set[str] = set()
        for folder in self.folders:
            while folder not in out:
                out.add(folder)
                folder = folder.rpartition("/")[0]
        return out

    def file(self, path: str) -> File | None:
        if path not in self._files:
            self._files[path] = self._load(path) if path in self.paths else None
        return self._files[path]

    def remembered(self, token: str, answer: Callable[[], T]) -> T:
        """An answer that takes questions of its own, worked out once. Whoever uses it depends on `token`, and through it on those."""
        self.reads.add(token)
        if token not in self._remembered:
            outer, frame = self.reads, self.frame
            self.reads, self.frame = set(), Frame()
            try:
                self._remembered[token] = answer()
                self.behind[token] = self.reads
            finally:
                self.reads, self.frame = outer, frame
        value: T = self._remembered[token]
        return value

    # the questions; each is recorded

    def named(self, name: str, kin: str) -> list[Sym]:
        """Every symbol of this name in languages that see each other. Thousands may share a name: the list is nobody's own."""
        self.reads.add(name)
        return self._named(name, kin)

    def member(self, owner: str, name: str) -> list[Sym]:
        self.reads.add(name)
        return self._member(owner, name)

    def members(self, owner: str) -> list[Sym]:
        self.reads.add(f"members:{owner}")
        return self._members(owner)

    def interfaces(self, kin: str) -> list[Sym]:
        """Every interface, for languages in which types satisfy them without saying so."""
        self.reads.add(f"interfaces:{kin}")
        return self._interfaces(kin)

    def scope(self, path: str) -> File | None:
        """Another file's imports and top-level names."""
        self.reads.add(f"imports:{path}")
        return self.file(path)

    def located(self, name: str) -> None:
        """Records that a file or folder of this name was looked for."""
        self.reads.add(f"file:{name}")

    # where the answers come from; see FullTable and store-backed tables

    def _named(self, name: str, kin: str) -> list[Sym]:
        raise NotImplementedError

    def _member(self, owner: str, name: str) -> list[Sym]:
        raise NotImplementedError

    def _members(self, owner: str) -> list[Sym]:
        raise NotImplementedError

    def _interfaces(self, kin: str) -> list[Sym]:
        raise NotImplementedError


class FullTable(Table):
    """All symbols in memory: for indexing from scratch."""

    def __init__(self, files: dict[str, File], configs: dict[str, str]) -> None:
        super().__init__(files, files.get, configs)
        self._by_name: dict[tuple[str, str], list[Sym]] = defaultdict(list)
        self._by_owner: dict[str, dict[str, list[Sym]]] = defaultdict(dict)
        self._by_kin: dict[str, list[Sym]] = defaultdict(list)
        for path in sorted(files):
            file = files[path]
            for index in range(len(file.facts.symbols)):
                sym = file.sym(index)
                self._by_name[sym.name, sym.kin].append(sym)
                if sym.owner:
                    self._by_owner[sym.owner].setdefault(sym.name, []).append(sym)
                if sym.kind == "interface":
                    self._by_kin[sym.kin].append(sym)

    def _named(self, name: str, kin: str) -> list[Sym]:
        return self._by_name.get((name, kin), [])

    def _member(self, owner: str, name: str) -> list[Sym]:
        members = self._by_owner.get(owner)
        return members.get(name, []) if members else []

    def _members(self, owner: str) -> list[Sym]:
        return sorted(
            (sym for syms in self._by_owner.get(owner, {}).values() for sym in syms), key=lambda s: (s.path, s.index)
        )

    def _interfaces(self, kin: str) -> list[Sym]:
        return self._by_kin[kin]
