"""Retrieval quality on tasks mined from commits of repositories it was not tuned on, against plain BM25.

    python benchmarks/mined.py --work DIR CLONE…        prepare what is not prepared yet, then rank
    python benchmarks/mined.py --work DIR               only rank, in all that is prepared there
    python benchmarks/mined.py --work DIR --lost        also list the tasks that BM25 finds and the engine does not

A clone may be bare. Its history is split in time: about `--tasks` usable commits lie after the cutoff. The state at the cutoff is checked out
in a repository of its own, which knows nothing that came later, and indexed there with the history up to it. `assay eval mine` makes the tasks of the
later commits: a message asks; the definitions and files that its diff touches answer, those that the state at the cutoff has, files that moved
since where they were. A task is left out if less than half of its definitions were there yet, or if an earlier commit has the same subject.

Acc@k: the share of tasks with any answer among the first k. A file ranks where its best definition does. Intervals (95 %, bootstrap) and p
(randomisation) over all repositories draw and flip whole repositories. The work folder keeps states, indexes and tasks.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import bm25
import numpy as np
from numpy.typing import NDArray
from time_split import TASKS, Prepared, prepare, prepared

from assay.core.golden import GoldenQuery, Hit, Response
from assay.errors import AssayError
from assay.evaluate.statistics import mean_interval, paired
from assay.evaluate.systems import open_system

CUTS = (1, 5, 10)
DECIDING = 5  # the cut at which systems are compared
DEPTH = 500  # definitions asked for, so that ten different files are among them
LEVELS = ("symbol", "file")

Values = NDArray[np.float64]


class Searches(Protocol):
    """A retriever under test: a profile of ours, or the baseline."""

    def retrieve(self, text: str, k: int) -> Response: ...
    def close(self) -> None: ...


def ours(spec: str) -> Callable[[Path], Searches]:
    return lambda root: open_system(spec, root=root)


OURS = ("assay", "assay:no-history", "assay:lexical")
BASELINES: dict[str, Callable[[Path], Searches]] = {"BM25": bm25.Symbols, "BM25 of files": bm25.Files}
JUDGED = {level: [name for name in BASELINES if level == "file" or name == "BM25"] for level in LEVELS}


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ranks of a task's expected answers by level; infinity if not retrieved."""

    repository: str
    task: GoldenQuery
    ranks: dict[str, list[float]]
    first: tuple[str, ...]  # what it has on the first places

    def any_within(self, level: str, cut: int) -> bool:
        return min(self.ranks[level]) <= cut

    def all_within(self, level: str, cut: int) -> bool:
        return max(self.ranks[level]) <= cut


def clone_name(clone: Path) -> str:
    return clone.name.removesuffix(".git")


def prepare_all(clones: list[Path], work: Path, tasks: int, strip_names: bool) -> None:
    """Prepares what is not prepared yet. A clone that makes no tasks is told and left out: the others go on."""
    names = [clone_name(clone) for clone in clones]
    if tasks < 1 or len(set(names)) < len(names):
        raise AssayError("give at least one task, and clones in folders of different names")
    for clone, name in zip(clones, names, strict=True):
        print(f"preparing {name}", file=sys.stderr)
        try:
            prepare(clone, work / name, tasks, strip_names)
        except AssayError as error:
            print(f"left out: {error}", file=sys.stderr)


def rank_repositories(work: Path, names: list[str], systems: list[str]) -> dict[str, dict[str, list[Ranks]]]:
    """The ranks in these repositories, or in all that are prepared."""
    ready = sorted(one.parent for one in work.glob(f"*/{TASKS}") if not names or one.parent.name in names)
    if not ready:
        raise AssayError(f"nothing is prepared in {work}; give clones")
    asked = {name: ours(name) for name in systems} | BASELINES
    out = {}
    for folder in ready:
        print(f"ranking {folder.name}", file=sys.stderr)
        out[folder.name] = rank_all(prepared(folder), asked)
    return out


def rank_all(repository: Prepared, systems: dict[str, Callable[[Path], Searches]]) -> dict[str, list[Ranks]]:
    """The ranks of every task's answers in every system."""
    found = {}
    for name, opened in systems.items():
        system = opened(repository.root)
        found[name] = [
            ranks_of(repository.name, task, system.retrieve(task.text, DEPTH).hits) for task in repository.tasks
        ]
        system.close()
    return found


def ranks_of(repository: str, task: GoldenQuery, hits: tuple[Hit, ...]) -> Ranks:
    """Return the ranks of a task's answers. A definition has to be in one of the files, as names are not unique."""
    files = [one.name for one in task.at("file")]
    symbols = _places(hit.symbol if hit.path in files else "" for hit in hits)
    paths = _places(dict.fromkeys(hit.path for hit in hits))
    ranks = {
        "symbol": [symbols.get(one.name, math.inf) for one in task.at("symbol")],
        "file": [paths.get(one, math.inf) for one in files],
    }
    return Ranks(repository, task, ranks, tuple(hit.id for hit in hits[:DECIDING]))


def _places(names: Iterable[str]) -> dict[str, int]:
    """Return the first rank of each name."""
    places: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        places.setdefault(name, place)
    return places


# telling


def accuracy(found: list[Ranks], level: str, cut: int) -> Values:
    return np.array([one.any_within(level, cut) for one in found], dtype=np.float64)


def complete(found: list[Ranks], level: str, cut: int) -> Values:
    return np.array([one.all_within(level, cut) for one in found], dtype=np.float64)


def clusters_of(found: list[Ranks]) -> list[str] | None:
    """The repository of each task; none if there is but one."""
    names = [one.repository for one in found]
    return names if len(set(names)) > 1 else None


def figures(found: dict[str, list[Ranks]], level: str, names: Iterable[str]) -> dict[str, Any]:
    """Return recall per cut-off with its interval, and the share of tasks with all answers, at one level."""
    out: dict[str, Any] = {}
    for name in names:
        out[name] = {}
        for cut in CUTS:
            values = accuracy(found[name], level, cut)
            interval = mean_interval(values, clusters=clusters_of(found[name]))
            out[name][cut] = {
                "accuracy": float(values.mean()),
                "low": interval.low,
                "high": interval.high,
                "all": float(complete(found[name], level, cut).mean()),
            }
    return out


def gains(found: dict[str, list[Ranks]], level: str, systems: Iterable[str]) -> dict[str, Any]:
    """Each of our systems against the better base line, at the deciding cut."""
    base = max(JUDGED[level], key=lambda name: accuracy(found[name], level, DECIDING).mean())
    before = accuracy(found[base], level, DECIDING)
    out = {}
    for name in systems:
        told = paired(before, accuracy(found[name], level, DECIDING), clusters=clusters_of(found[name]))
        out[name] = {
            "against": base,
            "relative": told.delta / told.mean_a if told.mean_a else math.inf,
            "delta": told.delta,
            "low": told.interval.low,
            "high": told.interval.high,
            "p": told.p,
            "wins": told.wins,
            "losses": told.losses,
        }
    return out


def table(per_repository: dict[str, dict[str, list[Ranks]]], level: str, systems: list[str]) -> str:
    """Acc@1/5/10 in per cent, one row a repository."""
    names = [*systems, *JUDGED[level]]
    lines = [f"| {level}s: Acc@1/5/10 | tasks | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for repository, found in per_repository.items():
        cells = (" / ".join(f"{accuracy(found[name], level, cut).mean():.0%}" for cut in CUTS) for name in names)
        lines.append(f"| {repository} | {len(found[names[0]])} | {' | '.join(cells)} |".replace("%", ""))
    return "\n".join(lines)


def summary(told: dict[str, Any]) -> str:
    """All repositories together: shares with their intervals, then what is gained over the better base line."""
    lines = [
        f"| all, {told['tasks']} tasks | " + " | ".join(f"Acc@{cut}" for cut in CUTS) + f" | all answers @{CUTS[-1]} |",
        "|---" * (len(CUTS) + 2) + "|",
    ]
    for level in LEVELS:
        for name, row in told[level]["systems"].items():
            cells = [f"{at['accuracy']:.3f} ({at['low']:.2f} to {at['high']:.2f})" for at in (row[cut] for cut in CUTS)]
            lines.append(f"| {level}s: {name} | {' | '.join(cells)} | {row[CUTS[-1]]['all']:.3f} |")
    lines.append("")
    for level in LEVELS:
        for name, row in told[level]["gains"].items():
            lines.append(
                f"{level}s @{DECIDING}: {name} against {row['against']}: {row['relative']:+.0%} relative, "
                f"{row['delta']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f}), p = {row['p']:.2g}, "
                f"{row['wins']} won, {row['losses']} lost"
            )
    return "\n".join(lines)


def lost(found: dict[str, list[Ranks]], system: str) -> Iterable[str]:
    """The tasks whose definitions BM25 has on the first places and the system has not, as paragraphs."""
    for own, other in zip(found[system], found["BM25"], strict=True):
        if other.any_within("symbol", DECIDING) and not own.any_within("symbol", DECIDING):
            gold = ", ".join(
                f"{one.name} ({_rank(r)})" for one, r in zip(own.task.at("symbol"), own.ranks["symbol"], strict=True)
            )
            yield "\n".join(
                [
                    f"{own.repository} {own.task.id}  {' '.join(own.task.text.split())[:300]}",
                    f"  wanted: {gold}; BM25 has the first at {_rank(min(other.ranks['symbol']))}",
                    f"  instead: {', '.join(own.first)}",
                ]
            )


def _rank(rank: float) -> str:
    return "not found" if math.isinf(rank) else f"{rank:.0f}"


def told_of(per_repository: dict[str, dict[str, list[Ranks]]], systems: list[str]) -> dict[str, Any]:
    """Everything as values, for JSON and the summary."""
    whole = {name: [one for found in per_repository.values() for one in found[name]] for name in [*systems, *BASELINES]}
    out: dict[str, Any] = {"tasks": len(whole["BM25"])}
    for level in LEVELS:
        names = [*systems, *JUDGED[level]]
        out[level] = {
            "systems": figures(whole, level, names),
            "gains": gains(whole, level, systems),
            "repositories": {
                repository: {"tasks": len(found["BM25"])} | figures(found, level, names)
                for repository, found in per_repository.items()
            },
        }
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", nargs="*", type=Path, help="clones to prepare; a folder's name is the repository's")
    parser.add_argument("--work", type=Path, required=True, help="where states, indexes and tasks are kept")
    parser.add_argument("--tasks", type=int, default=60, help="usable commits after the cutoff of each repository")
    parser.add_argument("--strip-names", action="store_true", help="take the names of the answers out of new tasks")
    parser.add_argument("--system", action="append", help=f"ours to be measured; default: {', '.join(OURS)}")
    parser.add_argument("--lost", action="store_true", help="list what BM25 finds and the first system does not")
    parser.add_argument("--json", type=Path, help="write the figures here")
    given = parser.parse_args()
    systems = given.system or list(OURS)
    try:
        prepare_all(given.clones, given.work, given.tasks, given.strip_names)
        names = [clone_name(clone) for clone in given.clones]
        per_repository = rank_repositories(given.work, names, systems)
    except AssayError as error:
        raise SystemExit(f"error: {error}") from None
    told = told_of(per_repository, systems)
    print("\n\n".join([*(table(per_repository, level, systems) for level in LEVELS), summary(told)]))
    if given.lost:
        for found in per_repository.values():
            for paragraph in lost(found, systems[0]):
                print(f"\n{paragraph}")
    if given.json:
        given.json.write_text(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
