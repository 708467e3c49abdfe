"""`assay eval diagnose`."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.common import echo, find_root, format_option, print_json
from assay.cli.evaluation.common import columns, root_option, run_store, runs_option
from assay.core.golden import Expected
from assay.evaluate.diagnose import Exists, as_json, diagnose
from assay.evaluate.matching import MATCHERS, matcher
from assay.evaluate.runs import RunInfo
from assay.evaluate.verify import Inventory

_SHOWN = 30


@click.command("diagnose")
@click.argument("run", default="latest")
@click.option(
    "--corpus",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="The corpus of the run, if it had one.",
)
@click.option("--verbose", "-v", is_flag=True, help="List every missed expectation.")
@root_option
@runs_option
@format_option
def command(run: str, corpus: Path | None, verbose: bool, root: Path | None, runs_file: Path | None, form: str) -> None:
    """Where each missed expectation of RUN (default: the last) was lost: the stage, aggregated, so that it is clear where to work next.

    Stages come from the trace a system returns; without one only "ranked low" (see --depth of eval run), "not returned" and "empty
    result" can be told.
    """
    with run_store(root, runs_file) as store:
        info = store.find(run)
        golden = store.golden(info)
        responses = store.responses(info.run_id, len(golden.queries))
    exists = _existence(info, find_root(root), corpus)
    lost = diagnose(golden.queries, responses, matcher(info.matching), info.level, info.k, exists)
    told = as_json(lost, len(golden.queries))
    if form == "json":
        print_json({"run_id": info.run_id, **told})
        return
    expected = sum(len(query.at(info.level)) for query in golden.queries)
    echo(f"run {info.run_id}: {len(lost)} of {expected} expectations missed in the first {info.k}\n")
    for line in columns(
        ["lost at", "missed", "share"], [[s, n, f"{n / max(len(lost), 1):.0%}"] for s, n in told["stages"].items()]
    ):
        echo(line)
    echo("")
    for one in lost[: None if verbose else _SHOWN]:
        echo(f"  {one.query}: {one.expected}: {one.stage} ({one.detail})")
    if len(lost) > _SHOWN and not verbose:
        echo(f"  … and {len(lost) - _SHOWN} more; --verbose lists them")


def _existence(info: RunInfo, root: Path, corpus: Path | None) -> Exists:
    """For our own system the index says whether an expectation exists at all; of others nobody knows."""
    if not info.system.startswith("assay"):
        return lambda expected, repository: None
    from assay.errors import AssayError
    from assay.evaluate.systems.assay import Assay

    system = Assay(root, corpus)
    known: dict[str, Inventory | None] = {}

    def exists(expected: Expected, repository: str) -> bool | None:
        if repository not in known:
            try:
                known[repository] = system.inventory(repository)
            except AssayError:
                known[repository] = None
        inventory = known[repository]
        if inventory is None or expected.level not in inventory.levels:
            return None
        return inventory.has(expected, MATCHERS["strict"])

    return exists
