"""`assay eval`: the commands of the measuring half, imported when they run."""

from __future__ import annotations

import click

from assay.cli.lazy import LazyGroup

COMMANDS = {
    "run": ("assay.cli.evaluation.run", "Ask a system every query of a golden set and say how well it did."),
    "sweep": ("assay.cli.evaluation.sweep", "Try many configurations on a golden set and say which to take."),
    "tune": ("assay.cli.evaluation.tune", "Adapt the ranking's numbers to a golden set, if that is more than chance."),
    "list": ("assay.cli.evaluation.run", "The runs there are."),
    "show": ("assay.cli.evaluation.report", "A stored run again: other measures, another matcher, single queries."),
    "compare": ("assay.cli.evaluation.compare", "What changed from one run to another, and whether it is more than chance."),
    "gate": ("assay.cli.evaluation.gate", "May this run go out? For CI: exit code 0 yes, 1 no, 2 could not tell."),
    "baseline": ("assay.cli.evaluation.gate", "Write or show the baseline that a gate compares with."),
    "threshold": ("assay.cli.evaluation.gate", "At which confidence assay ask should refuse, by a golden set."),
    "diagnose": ("assay.cli.evaluation.compare", "Where each missed expectation was lost."),
    "experiment": ("assay.cli.evaluation.report", "Log a hypothesis, and its outcome from two runs."),
    "report": ("assay.cli.evaluation.report", "A run, or two, as one HTML page that opens offline."),
    "verify": ("assay.cli.evaluation.golden", "Does everything a golden set expects exist?"),
    "create": ("assay.cli.evaluation.golden", "Add a query to a golden set, with search in view."),
    "convert": ("assay.cli.evaluation.golden", "Write a golden set in another format."),
    "mine": ("assay.cli.evaluation.mine", "Make a golden set of what a repository already holds."),
}  # fmt: skip


@click.group("eval", cls=LazyGroup, commands_table=COMMANDS)
def eval_command() -> None:
    """Measure a retriever, ours or yours: golden sets, runs, comparisons, gates.

    Needs no index and none of our engine: a system is a command, an HTTP endpoint, a Python function or a TREC run file.
    """
