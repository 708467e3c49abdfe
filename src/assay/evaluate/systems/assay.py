"""assay's engine as a system under test: the only link between evaluation and retrieval.

Runs start cold: only the index is opened, so no feedback, session or learned state can reach a run. The fingerprint of
the index is part of the run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import sqlite3
import time
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from assay import __version__
from assay.config.configuration import Configuration, load
from assay.core.golden import Hit, Response, Stage
from assay.core.progress import NAMES
from assay.errors import AssayError
from assay.evaluate.systems import System, SystemDied, finished, folder_of
from assay.index.freshness import check_tree
from assay.rank.engine import Engine, open_engine
from assay.rank.profile import DEFAULT, PROFILES, Profile, flatten, nested, settings_of, with_settings
from assay.rank.ranking import Ranking
from assay.rank.signals.classes import EquivalenceClass
from assay.rank.signals.table import HISTORY_SETTINGS as HISTORY_SETTINGS
from assay.rank.signals.table import TUNED as TUNED
from assay.store.caches import key_of
from assay.store.history import History
from assay.store.index import Index, NoIndex, UnusableIndex
from assay.store.layout import Home
from assay.text.display import counted

_TRACE = 300  # results per stage kept for `eval diagnose`


class OpenedIndex(Protocol):
    """A repository's index with the profile that ranks it."""

    index: Index
    profile: Profile


Opened = TypeVar("Opened", bound=OpenedIndex)


class IndexedSystem(System, Generic[Opened]):
    """A system that searches the index of the root, or of the query's repository inside the corpus."""

    concurrent = False
    reads_folder = True

    def __init__(self, name: str, root: Path, corpus: Path | None) -> None:
        super().__init__(name)
        self._root, self._corpus = root, corpus
        self._open: dict[str, Opened] = {}

    def open_folder(self, folder: Path) -> Opened:
        """Open the index of a repository's folder."""
        raise NotImplementedError

    def opened(self, repository: str) -> Opened:
        """Return a repository's index, opened once. Raises SystemDied if there is none."""
        key = repository if self._corpus is not None else ""
        if key not in self._open:
            folder = folder_of(self._root, self._corpus, repository)
            with index_errors():
                self._open[key] = self.open_folder(folder)
        return self._open[key]

    def remembered(self, commits: Collection[str], repository: str = "") -> set[str]:
        """Return those of the commits that are in the searched history."""
        history = History.open(self.opened(repository).index)
        return {history.id(number) for number in range(len(history))} & set(commits)

    def searched_commits(self, commits: Collection[str], repository: str = "") -> set[str]:
        settings = flatten(settings_of(self.opened(repository).profile))
        has_weight = any(settings.get(name) for name in HISTORY_SETTINGS)
        return self.remembered(commits, repository) if has_weight else set()

    def paths(self, opened: Opened) -> Iterable[str]:
        """Return the paths of what is searched."""
        return opened.index.files

    def holds(self, path: Path) -> bool:
        if self._corpus is not None or not path.is_relative_to(self._root.resolve()):
            return False
        relative = path.relative_to(self._root.resolve()).as_posix()
        return any(file == relative or file.startswith(relative + "/") for file in self.paths(self.opened("")))

    def stale(self, repository: str = "") -> str:
        folder = folder_of(self._root, self._corpus, repository)
        index = self.opened(repository).index
        if index.generation.stage == NAMES:
            return "calls and history are not indexed yet"
        stale = check_tree(folder, index).freshness.stale
        return f"{counted(len(stale), 'file')} changed" if stale else ""

    def close(self) -> None:
        for opened in self._open.values():
            opened.index.close()


@dataclass
class _Ranked:
    """A repository's index; the engine is created on first use."""

    index: Index
    fingerprint: str
    profile: Profile
    classes: Sequence[EquivalenceClass]

    @cached_property
    def engine(self) -> Engine:
        return open_engine(self.index, self.profile, self.classes)

    def varied(self, changes: Mapping[str, float]) -> Engine:
        """Return the engine with changed profile parameters."""
        return self.engine.varied(with_settings(self.profile, self.profile.name, nested(changes), "variation"))


class Assay(IndexedSystem[_Ranked]):
    """Ranks the symbols of an index."""

    def __init__(
        self,
        root: Path,
        corpus: Path | None = None,
        profile: str = "",
        index_dir: Path | None = None,
        configuration: Configuration = Configuration(),  # noqa: B008 (frozen)
    ) -> None:
        self._profile = _profile(configuration, profile)
        is_default = self._profile.name == configuration.context.profile == DEFAULT
        name = "assay" if is_default else f"assay:{self._profile.name}"  # as `--system` names it
        super().__init__(name, root, corpus)
        self._index_dir, self._configuration = index_dir, configuration

    def describe(self) -> dict[str, Any]:
        return {
            "spec": self.name,
            "profile": self._profile.name,
            "version": __version__,
            "cold_start": True,
            "index_fingerprint": self._fingerprint(),
            **self._custom_settings(),
        }

    def _custom_settings(self) -> dict[str, Any]:
        """Return what only assay.toml defines: the parameters of a custom profile, and the classes."""
        settings = flatten(settings_of(self._profile)) if self._profile.name not in PROFILES else {}
        if self._configuration.classes:
            settings["classes"] = [dataclasses.asdict(class_) for class_ in self._configuration.classes]
        return {"config": settings} if settings else {}

    def _fingerprint(self) -> str:
        """Return the fingerprint of the root, or of every indexed repository of the corpus."""
        if self._corpus is None:
            return self.opened("").fingerprint
        return digest(f"{name} {self.opened(name).fingerprint}" for name in self._indexed())

    def _indexed(self) -> list[str]:
        """Return the names of the indexed repositories of the corpus."""
        assert self._corpus is not None
        return sorted(folder.name for folder in self._corpus.iterdir() if Home.of(folder).current() is not None)

    def open_folder(self, folder: Path) -> _Ranked:
        index = Index.open(folder, Home.of(folder, self._index_dir))
        return _Ranked(index, fingerprint(index), self._profile, self._configuration.classes)

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        opened = self.opened(repository)
        with index_errors():
            engine = opened.engine
            started = time.perf_counter()
            ranking = engine.rank(text)
            best = ranking.best(max(k, _TRACE))
            items = engine.index.numbered(best[:k])
            scored_items = [(items[number], float(ranking.scores[number])) for number in best[:k]]
            seconds = time.perf_counter() - started
            stages = _stages(engine, ranking, best, k)
        hits = tuple(
            Hit(item.id, item.symbol, item.path, item.path, item.start, item.end, round(score, 6))
            for item, score in scored_items
        )
        return finished(Response(hits, stages=stages), k, seconds)

    def retrieve_each(
        self, text: str, k: int, variations: Sequence[Mapping[str, float]], repository: str = ""
    ) -> list[Response]:
        """Return the best `k` for each set of profile changes; shared evidence is computed once."""
        opened = self.opened(repository)
        with index_errors():
            query = opened.engine.read(text)
            bests = [opened.varied(changes).score(query).best(k) for changes in variations]
            items = opened.index.numbered({number for best in bests for number in best})
        hits = {
            number: Hit(item.id, item.symbol, item.path, item.path, item.start, item.end)
            for number, item in items.items()
        }
        return [Response(tuple(hits[number] for number in best)) for best in bests]

    @property
    def profile(self) -> Profile:
        return self._profile

    def state(self) -> str:
        """Return a digest of all an answer depends on: code, profile, classes, indexes, history and documents."""
        names = [""] if self._corpus is None else self._indexed()
        question = (self._profile, self._configuration.classes)
        return digest(key_of(self.opened(name).index, "", question).hex() for name in names)

    def items(self, repository: str = "") -> list[Hit]:
        """Return every retrievable symbol, for `eval verify` and `eval diagnose`."""
        index = self.opened(repository).index
        with index_errors():
            rows = index.catalogue.connection.execute(
                "SELECT s.id, s.symbol, f.path FROM symbols s JOIN files f ON f.number = s.file"
            )
            return [Hit(identifier, symbol, path, path) for identifier, symbol, path in rows]


@contextlib.contextmanager
def index_errors() -> Iterator[None]:
    """Raise SystemDied for a missing or damaged index; names the index, as the run file is a database, too."""
    try:
        yield
    except (NoIndex, UnusableIndex) as error:
        raise SystemDied(str(error)) from None
    except sqlite3.DatabaseError as error:
        raise SystemDied(f"the index is damaged ({error}). Rebuild it with: assay index --rebuild") from None


def _stages(engine: Engine, ranking: Ranking, best: list[int], k: int) -> tuple[Stage, ...]:
    """Return the ranked output of each ranking stage, for `eval diagnose`."""
    scores = {"lexical": ranking.factors.get("lexical"), "walk": ranking.walk.visits}
    orders = {name: ranking.highest(values, _TRACE).tolist() for name, values in scores.items() if values is not None}
    orders |= {"ranking": best, "result": best[:k]}
    ids = engine.index.ids({number for numbers in orders.values() for number in numbers})
    return tuple(Stage(name, tuple(ids[number] for number in numbers)) for name, numbers in orders.items())


def _profile(configuration: Configuration, argument: str) -> Profile:
    """Parse `PROFILE`, `walk=0.5,steps=20` or `PROFILE,walk=0.5`: a profile with changed parameters."""
    name, *assignments = [part.strip() for part in argument.split(",")]
    if "=" in name:
        name, assignments = "", [name, *assignments]
    base = configuration.profile(name)
    if not assignments:
        return base
    source = f"system 'assay:{argument}'"
    table: dict[str, Any] = {}
    for part in assignments:
        key, sign, value = part.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise AssayError(f"{source}: '{part}' is not a setting; write NAME=VALUE, as in assay:default,walk=0.5")
        setting, _, weight = key.strip().partition(".")
        entry = table.setdefault(setting, {} if weight else _value(value))
        if isinstance(entry, dict) and weight:
            entry[weight] = _value(value)
    return with_settings(base, ",".join([base.name, *assignments]), table, source)


def _value(text: str) -> Any:
    """Parse a TOML value; anything else is text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def open(root: Path, corpus: Path | None, argument: str, timeout: float) -> Assay:
    """Open `assay`, `assay:PROFILE` or `assay:PROFILE,SETTING=VALUE` with the root's assay.toml.

    The configuration of repositories in a corpus is ignored.
    """
    return Assay(root, corpus, argument, configuration=load(root))


def fingerprint(index: Index) -> str:
    """Return a digest of the indexed files' paths and contents."""
    hashes = index.catalogue.connection.execute("SELECT path, hex(hash) FROM files ORDER BY path")
    return digest(f"{path} {content}" for path, content in hashes)


def digest(lines: Iterable[str]) -> str:
    """Return a short SHA-256 of the lines."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
