"""Our own engine as a system under test: the one door between the measuring and the finding half.

Cold start is enforced here: nothing but the index is opened, so no feedback, session or learned state can reach a run; the
fingerprint of the index is part of the run.
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
from typing import Any

from assay import __version__
from assay.config.configuration import Configuration, load
from assay.core.golden import Hit, Response, Stage
from assay.errors import AssayError
from assay.evaluate.systems.protocol import Base, SystemDied, finished, folder_of
from assay.evaluate.verify import Inventory
from assay.rank.engine import Engine
from assay.rank.profile import DEFAULT, PROFILES, Profile, changed, flat, numbers
from assay.rank.ranking import Ranking, highest
from assay.rank.signals.classes import EquivalenceClass
from assay.store.caches import key_of
from assay.store.history import History
from assay.store.index import Index, NoIndex, UnusableIndex
from assay.store.layout import Home

_TRACE = 300  # results of a stage kept for `eval diagnose`


@dataclass
class _Opened:
    """One repository's index, ready to search. The engine is made when it is first asked."""

    index: Index
    fingerprint: str
    profile: Profile
    classes: Sequence[EquivalenceClass]

    @cached_property
    def engine(self) -> Engine:
        return Engine(self.index, self.profile, self.classes)

    def varied(self, changes: Mapping[str, float]) -> Engine:
        """The engine with some numbers of its profile changed."""
        return self.engine.varied(changed(self.profile, self.profile.name, changes, "variation"))


class Assay(Base):
    """Searches the index of the root, or of the query's repository inside the corpus."""

    concurrent = False

    def __init__(
        self,
        root: Path,
        corpus: Path | None = None,
        profile: str = "",
        index_dir: Path | None = None,
        configuration: Configuration = Configuration(),  # noqa: B008 (frozen)
    ) -> None:
        self._profile = _profile(configuration, profile)
        usual = self._profile.name == configuration.context.profile == DEFAULT
        super().__init__(
            "assay" if usual else f"assay:{self._profile.name}"
        )  # as `--system` names it, whatever is configured
        self._root, self._corpus, self._index_dir, self._configuration = root, corpus, index_dir, configuration
        self._open: dict[str, _Opened] = {}

    def describe(self) -> dict[str, Any]:
        return {
            "spec": self.name,
            "profile": self._profile.name,
            "version": __version__,
            "cold_start": True,
            "index_fingerprint": self._fingerprint(),
            **self._settled(),
        }

    def _settled(self) -> dict[str, Any]:
        """What only assay.toml knows: the numbers of a profile of one's own, and the classes."""
        settled = flat(numbers(self._profile)) if self._profile.name not in PROFILES else {}
        if self._configuration.classes:
            settled["classes"] = [dataclasses.asdict(one) for one in self._configuration.classes]
        return {"config": settled} if settled else {}

    def _fingerprint(self) -> str:
        """Of all that can be searched: the root, or every indexed repository of the corpus."""
        if self._corpus is None:
            return self.opened("").fingerprint
        names = sorted(folder.name for folder in self._corpus.iterdir() if Home.of(folder).current() is not None)
        return digest(f"{name} {self.opened(name).fingerprint}" for name in names)

    def opened(self, repository: str) -> _Opened:
        key = repository if self._corpus is not None else ""
        if key not in self._open:
            folder = folder_of(self._root, self._corpus, repository)
            with reading():
                index = Index.open(folder, Home.of(folder, self._index_dir))
                self._open[key] = _Opened(index, fingerprint(index), self._profile, self._configuration.classes)
        return self._open[key]

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        opened = self.opened(repository)
        with reading():
            engine = opened.engine
            started = time.perf_counter()
            ranking = engine.rank(text)
            best = ranking.best(max(k, _TRACE))
            items = engine.index.numbered(best[:k])
            found = [(items[number], float(ranking.scores[number])) for number in best[:k]]
            spent = time.perf_counter() - started
            stages = _stages(engine, ranking, best, k)
        hits = tuple(Hit(i.id, i.symbol, i.path, i.path, i.start, i.end, round(score, 6)) for i, score in found)
        return finished(Response(hits, stages=stages), k, spent)

    def retrieve_each(
        self, text: str, k: int, variations: Sequence[Mapping[str, float]], repository: str = ""
    ) -> list[Response]:
        """The best `k` by the profile with each of some changes of its numbers. What does not depend on them is worked out once."""
        opened = self.opened(repository)
        with reading():
            evidence = opened.engine.evidence(text)
            bests = [opened.varied(changes).weighed(evidence).best(k) for changes in variations]
            items = opened.index.numbered({number for best in bests for number in best})
        hits = {number: Hit(i.id, i.symbol, i.path, i.path, i.start, i.end) for number, i in items.items()}
        return [Response(tuple(hits[number] for number in best)) for best in bests]

    @property
    def profile(self) -> Profile:
        return self._profile

    def state(self) -> str:
        """Of everything an answer depends on: this code, the profile, the classes, and each index with its history and documents."""
        if self._corpus is None:
            names = [""]
        else:
            names = sorted(folder.name for folder in self._corpus.iterdir() if Home.of(folder).current() is not None)
        question = (self._profile, self._configuration.classes)
        return digest(key_of(self.opened(name).index, "", question).hex() for name in names)

    def remembered(self, commits: Collection[str], repository: str = "") -> set[str]:
        """Which of some commits are in the history that is searched."""
        history = History.open(self.opened(repository).index)
        return {history.id(number) for number in range(len(history))} & set(commits)

    def holds(self, path: Path) -> bool:
        """Whether a file, or anything below a folder, is in the index."""
        if self._corpus is not None or not path.is_relative_to(self._root):
            return False
        inside = path.relative_to(self._root).as_posix()
        return any(file == inside or file.startswith(inside + "/") for file in self.opened("").index.files)

    def inventory(self, repository: str = "") -> Inventory:
        """Everything that could be retrieved, for `eval verify` and `eval diagnose`."""
        index = self.opened(repository).index
        with reading():
            rows = index.catalogue.connection.execute(
                "SELECT s.id, s.symbol, f.path FROM symbols s JOIN files f ON f.number = s.file"
            )
            return Inventory((Hit(one, symbol, path, path) for one, symbol, path in rows), ("symbol", "file"))

    def close(self) -> None:
        for opened in self._open.values():
            opened.index.close()


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """An index that is missing or damaged ends the system, in words about the index: the run file is a database, too."""
    try:
        yield
    except (NoIndex, UnusableIndex) as error:
        raise SystemDied(str(error)) from None
    except sqlite3.DatabaseError as error:
        raise SystemDied(f"the index is damaged ({error}). Rebuild it with: assay index --rebuild") from None


def _stages(engine: Engine, ranking: Ranking, best: list[int], k: int) -> tuple[Stage, ...]:
    """What each step passed on, for `eval diagnose`."""
    told = {"lexical": ranking.factors.get("lexical"), "walk": ranking.walked}
    orders = {name: highest(values, _TRACE).tolist() for name, values in told.items() if values is not None}
    orders |= {"ranking": best, "result": best[:k]}
    ids = engine.index.ids({number for numbers in orders.values() for number in numbers})
    return tuple(Stage(name, tuple(ids[number] for number in numbers)) for name, numbers in orders.items())


def _profile(configuration: Configuration, argument: str) -> Profile:
    """`PROFILE`, `walk=0.5,steps=20`, or `PROFILE,walk=0.5`: a profile, perhaps with some of its numbers changed."""
    name, *rest = [part.strip() for part in argument.split(",")]
    if "=" in name:
        name, rest = "", [name, *rest]
    base = configuration.profile(name)
    if not rest:
        return base
    where = f"system 'assay:{argument}'"
    table: dict[str, Any] = {}
    for part in rest:
        key, sign, value = part.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise AssayError(f"{where}: '{part}' is no setting; write NAME=VALUE, as in assay:default,walk=0.5")
        setting, _, weight = key.strip().partition(".")
        given = table.setdefault(setting, {} if weight else _value(value))
        if isinstance(given, dict) and weight:
            given[weight] = _value(value)
    return changed(base, ",".join([base.name, *rest]), table, where)


def _value(text: str) -> Any:
    """A value as TOML has it; what is none is text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def open(root: Path, corpus: Path | None, argument: str, timeout: float) -> Assay:
    """`assay`, `assay:PROFILE` or `assay:PROFILE,SETTING=VALUE`, as the root's assay.toml has it; repositories of a corpus have no say."""
    return Assay(root, corpus, argument, configuration=load(root))


def fingerprint(index: Index) -> str:
    """Of the files that were indexed, by path and content."""
    hashes = index.catalogue.connection.execute("SELECT path, hex(hash) FROM files ORDER BY path")
    return digest(f"{path} {content}" for path, content in hashes)


def digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
