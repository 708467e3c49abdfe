"""`assay eval show`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from assay.cli.common import echo, format_option, print_json
from assay.cli.evaluation.common import measures_option, parsed, root_option, run_store, runs_option
from assay.cli.evaluation.run import print_run
from assay.errors import AssayError
from assay.evaluate.stored import told
from assay.evaluate.summary import main_measures
from assay.text.identifiers import nearest


@click.command("show")
@click.argument("run", default="latest")
@click.option("--query", "query_id", metavar="ID", help="One query: what was expected, what came, at which rank.")
@click.option("--matching", metavar="NAME", help="Judge the stored results by another matcher.")
@measures_option
@root_option
@runs_option
@format_option
def command(
    run: str,
    query_id: str | None,
    matching: str | None,
    measures: tuple[str, ...],
    root: Path | None,
    runs_file: Path | None,
    form: str,
) -> None:
    """A stored run again (RUN is its id, a beginning of it, its label, `latest` or `latest~1`).

    Everything is computed from the stored answers, so a measure or matcher that did not exist then can be applied now.
    """
    chosen = parsed(measures)
    with run_store(root, runs_file) as store:
        shown = told(store, store.find(run), chosen, matching or "")
    if query_id is not None:
        query = _one(shown["queries"], query_id)
        print_json(query) if form == "json" else _print_query(query)
    elif form == "json":
        print_json(shown)
    else:
        print_run(shown, chosen or main_measures(shown["k"]))


def _one(queries: list[dict[str, Any]], wanted: str) -> dict[str, Any]:
    for query in queries:
        if query["id"] == wanted:
            return query
    near = nearest(wanted, [query["id"] for query in queries], 3)
    raise AssayError(f"no query '{wanted}' in this run." + (f" Nearest: {', '.join(near)}" if near else ""))


def _print_query(query: dict[str, Any]) -> None:
    echo(f"{query['id']}  {query['tier']}\n{query['text']}\n")
    for name in query["expected"]:
        rank = query["found"].get(name)
        echo(f"  expected  {name}  " + (f"found at {rank}" if rank else "not found"))
    if query["refuse"]:
        echo(f"  should be refused; was {'' if query['refused'] else 'not '}refused")
    ranks = {rank: name for name, rank in query["found"].items()}
    echo("")
    for rank, name in enumerate(query["retrieved"], 1):
        echo(f"  {rank:3}  {name}" + (f"   ← {ranks[rank]}" if rank in ranks else ""))
    if query["error"]:
        echo(f"  failed: {query['error']}")
