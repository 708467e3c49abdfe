"""Decisions about runs: baselines that gates compare with, and experiments; rows of the run store.

A baseline is a name for a run of the same store, so that every measure of it can be compared, and pruning keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from datetime import UTC, datetime

from assay.database import Damaged, Database
from assay.errors import AssayError
from assay.evaluate.encoding import plain_text

MAIN = "main"  # the baseline of a gate that names none
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True, slots=True)
class Baseline:
    """A named run; `author` is the login that set it, empty in a file."""

    name: str
    run_id: str
    created: str
    author: str = ""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A hypothesis, the runs before and after a change, and a conclusion."""

    number: int
    created: str
    author: str
    title: str
    hypothesis: str
    what: str
    before: str  # run id
    after: str = ""
    result: str = ""  # Markdown
    conclusion: str = ""

    @property
    def is_open(self) -> bool:
        return not self.after


_BASELINE_COLUMNS = tuple(field.name for field in fields(Baseline))
_EXPERIMENT_COLUMNS = tuple(field.name for field in fields(Experiment))


class Ledger:
    """Baselines and experiments of a run store."""

    def __init__(self, database: Database) -> None:
        self.place, self._db = database.place, database

    # baselines

    def baselines(self) -> list[Baseline]:
        """Return all baselines by name."""
        rows = self._db.rows(f"SELECT {', '.join(_BASELINE_COLUMNS)} FROM eval_baselines ORDER BY name")
        return [Baseline(*row) for row in rows]

    def baseline(self, name: str) -> Baseline | None:
        return next((baseline for baseline in self.baselines() if baseline.name == name), None)

    def set_baseline(self, name: str, run_id: str) -> Baseline:
        """Make a run the baseline of a name. Raises AssayError for a name that could mean something else."""
        if not _NAME.fullmatch(name) or name.endswith(".json") or re.fullmatch(r"latest(~\d+)?", name):
            raise AssayError(
                f"'{name}': not a name for a baseline; use up to 80 letters, digits, ., _ and -, neither .json nor latest"
            )
        baseline = Baseline(name, run_id, datetime.now(UTC).isoformat(timespec="seconds"), self._db.member)
        changes = {column: f"new.{column}" for column in _BASELINE_COLUMNS[1:]}
        self._db.merge("eval_baselines", _BASELINE_COLUMNS, [astuple(baseline)], changes)
        return baseline

    def remove_baseline(self, name: str) -> bool:
        """Delete a baseline, not its run; return whether there was one."""
        return self._db.change("DELETE FROM eval_baselines WHERE name = ?", (name,)) > 0

    # experiments

    def experiments(self) -> list[Experiment]:
        """Return all experiments by number."""
        rows = self._db.rows(f"SELECT {', '.join(_EXPERIMENT_COLUMNS)} FROM eval_experiments ORDER BY number")
        if any(row[0] < 1 for row in rows):
            raise Damaged("an experiment has a number below 1")
        return [Experiment(*row) for row in rows]

    def add_experiment(self, experiment: Experiment) -> Experiment:
        """Add an experiment under its number if that is free, else under the next one; return it as stored."""
        author = experiment.author or self._db.member
        texts = [plain_text(str(value)) for value in astuple(replace(experiment, author=author))[1:]]
        with self._db.transaction():
            numbers = {entry.number for entry in self.experiments()}
            number = experiment.number
            if number < 1 or number in numbers:
                number = max(numbers, default=0) + 1
            while not self._db.insert("eval_experiments", _EXPERIMENT_COLUMNS, (number, *texts)):
                number += 1  # somebody else's, added meanwhile
        return Experiment(number, *texts)

    def conclude_experiment(self, experiment: Experiment) -> None:
        """Store the outcome of an open experiment. Raises AssayError if somebody else concluded it meanwhile."""
        columns = _EXPERIMENT_COLUMNS[_EXPERIMENT_COLUMNS.index("after") :]
        values = [plain_text(getattr(experiment, column)) for column in columns]
        assignments = ", ".join(f"{column} = ?" for column in columns)
        statement = f"UPDATE eval_experiments SET {assignments} WHERE number = ? AND after = ''"
        if not self._db.change(statement, (*values, experiment.number)):
            raise AssayError(
                f"{self.place}: experiment {experiment.number} was concluded meanwhile; nothing was changed"
            )

    # of both

    def needed_runs(self) -> set[str]:
        """Return the ids of runs that must be kept: baselines, and where open experiments started."""
        started = {experiment.before for experiment in self.experiments() if experiment.is_open}
        return started | {baseline.run_id for baseline in self.baselines()}

    def copy(self, source: Ledger, ids: dict[str, str], with_experiments: bool) -> Sequence[str]:
        """Copy what is missing here; return what was copied, in words.

        `ids` maps runs of the source to their ids here. A baseline whose name is taken stays as it is here.
        """
        copied = []
        for baseline in source.baselines():
            if baseline.run_id in ids and self.baseline(baseline.name) is None:
                row = astuple(replace(baseline, run_id=ids[baseline.run_id]))
                if self._db.insert("eval_baselines", _BASELINE_COLUMNS, row):
                    copied.append(f"baseline {baseline.name}")
        for experiment in source.experiments() if with_experiments else ():
            moved = replace(
                experiment,
                before=ids.get(experiment.before, experiment.before),
                after=ids.get(experiment.after, experiment.after),
            )
            same = next((entry for entry in self.experiments() if _origin(entry) == _origin(moved)), None)
            if same is None:
                copied.append(f"experiment {self.add_experiment(moved).number}")
            elif same.is_open and not moved.is_open:
                self.conclude_experiment(replace(moved, number=same.number))
                copied.append(f"conclusion of experiment {same.number}")
        return copied


def _origin(entry: Experiment) -> tuple[str, ...]:
    """Return what two entries have in common that are one experiment, perhaps in two states."""
    return entry.created, entry.title, entry.hypothesis, entry.what, entry.before
