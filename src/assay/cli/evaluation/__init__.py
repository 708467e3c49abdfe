"""`assay eval`: the evaluation commands, imported when they run."""

from __future__ import annotations

import click

from assay.cli import LazyGroup

COMMANDS = {
    "run": ("assay.cli.evaluation.run", "Run a golden set against a system and report the metrics."),
    "sweep": ("assay.cli.evaluation.sweep", "Compare many configurations on a golden set and recommend one."),
    "tune": ("assay.cli.evaluation.tune", "Tune ranking parameters on a golden set, if the gain is significant."),
    "list": ("assay.cli.evaluation.run", "List the stored runs."),
    "show": ("assay.cli.evaluation.report", "Show a stored run, with other measures, another matcher, or one query."),
    "compare": ("assay.cli.evaluation.report", "Compare two runs, with significance tests."),
    "gate": ("assay.cli.evaluation.gate", "Pass or fail a run in CI: exit code 0 pass, 1 fail, 2 could not tell."),
    "baseline": ("assay.cli.evaluation.gate", "Set, show and list the baselines that gates compare with."),
    "threshold": ("assay.cli.evaluation.gate", "Choose the confidence below which assay ask refuses, on a golden set."),
    "diagnose": ("assay.cli.evaluation.report", "Show at which stage missed expectations were lost."),
    "experiment": ("assay.cli.evaluation.experiment", "Log a hypothesis, and its outcome from two runs."),
    "report": ("assay.cli.evaluation.report", "Render a run, or a comparison of two, as one HTML page."),
    "verify": ("assay.cli.evaluation.golden", "Check that everything a golden set expects exists."),
    "create": ("assay.cli.evaluation.golden", "Add a query to a golden set, picking from search results."),
    "chunks": ("assay.cli.evaluation.chunks", "List the chunks of the documents, and pick those a question expects."),
    "convert": ("assay.cli.evaluation.golden", "Write a golden set in another format."),
    "mine": ("assay.cli.evaluation.mine", "Build a golden set from history, doc comments or documents."),
}  # fmt: skip


@click.group("eval", cls=LazyGroup, commands_table=COMMANDS)
def eval_command() -> None:
    """Evaluate a retriever, assay or any other: golden sets, runs, comparisons, gates.

    Needs no index: a system is assay, a command, an HTTP endpoint, a Python function or a TREC run file.
    """
