"""A tuning from a golden set to a verdict: `tune` is the whole story."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from assay.core.golden import GoldenQuery
from assay.core.progress import Progress
from assay.errors import AssayError
from assay.evaluate.summary import clusters_of
from assay.evaluate.systems.assay import Assay
from assay.evaluate.tune.asking import Asked, Asking
from assay.evaluate.tune.crossing import Tuned, cross
from assay.evaluate.tune.folds import Folds, split
from assay.evaluate.tune.memory import Memory
from assay.evaluate.tune.numbers import OF_HISTORY, TUNED, without
from assay.evaluate.tune.verdict import LEAST
from assay.text.counting import counted


class TooFew(AssayError):
    """A golden set that is too small to tune on."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What was asked and how it came out."""

    asking: Asking
    base: dict[str, float]  # the numbers that were tuned, as the base has them
    folds: Folds
    tuned: Tuned
    leaked: int  # queries whose commit is in the history that is searched
    asked: int  # queries asked by this command, counted for each setting
    before: int  # … and by earlier ones


def tune(asking: Asking, folder: Path, jobs: int, progress: Progress) -> Tuning:
    """Asks as much as it takes to say which numbers to change, and whether that helps. Figures are kept in a folder, to go on after a kill."""
    level = asking.matching.level_for(asking.golden)
    _require(asking, sum(bool(query.at(level)) for query in asking.golden.queries))
    system = asking.open()
    try:
        leaked = _leaked(asking.golden.queries, system)
        if leaked:
            asking = replace(asking, fixed=tuple((name, 0.0) for name in OF_HISTORY))
        values = without([name for name, _ in asking.fixed], TUNED)
        base = {name: float(getattr(system.profile, name)) for name in values}
        memory = Memory(folder, _state(asking, system))
        folds = split(asking.golden.queries)
        with Asked(asking, system, memory, jobs, progress).working() as asked:
            _require(asking, int(np.count_nonzero(~np.isnan(asked([()])[0]))))
            tuned = cross(asked, values, base, folds, clusters_of(asking.golden.queries), asked.begin)
        return Tuning(asking, base, folds, tuned, leaked, asked.count, memory.before)
    finally:
        system.close()


def _require(asking: Asking, judged: int) -> None:
    """Refuses a set with too few queries that can be judged."""
    if judged < LEAST:
        raise TooFew(
            f"{asking.golden.path}: {counted(judged, 'query', 'queries')} that {asking.measure} can judge, and whatever was tuned on them would be "
            f"chance; at least {LEAST} are needed. `assay eval mine` makes some from the commits of a repository"
        )


def _leaked(queries: tuple[GoldenQuery, ...], system: Assay) -> int:
    """How many queries were made of commits that the history channel reads: it would know their answers."""
    mined: dict[str, list[str]] = {}
    for query in queries:
        if query.commit:
            mined.setdefault(query.repository, []).append(query.commit)
    known = {repository: system.remembered(commits, repository) for repository, commits in mined.items()}
    return sum(commit in known[repository] for repository, commits in mined.items() for commit in commits)


def _state(asking: Asking, system: Assay) -> str:
    """Of everything a figure depends on."""
    facts = (asking.golden.digest, asking.matching.name, str(asking.measure), asking.fixed, system.state())
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
