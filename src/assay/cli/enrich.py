"""The command that adds edges of language tools to indexes: enrich."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.api import EnrichOptions, Repository
from assay.cli.common import Bar, cluster_option, echo, echo_wrapped, format_option, print_json
from assay.cli.options import open_repository, roots_options
from assay.config.cluster import choose_cluster
from assay.core.items import EXTERNAL
from assay.errors import AssayError
from assay.rank.status import EnrichmentStatus
from assay.text.display import counted, path_mark

if TYPE_CHECKING:
    from assay.index.enrich.pipeline import Enriched, ToolRun
    from assay.index.enrich.tools import Program
    from assay.store.enrichment import Disagreement

_SECONDS = 1800.0  # Django takes 20 minutes with a language server on two cores


@click.command("enrich")
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@roots_options
@click.option(
    "--language", "languages", multiple=True, metavar="NAME", help="Only files of this language. May be repeated."
)
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Use this tool (see --list). May be repeated.")
@click.option("--deadline", default=_SECONDS, show_default=True, metavar="SECONDS", type=click.FloatRange(min=1),
              help="Stop each repository then; what was answered is kept, and the next run continues.")  # fmt: skip
@click.option("--allow-build", is_flag=True, help="Allow tools that run code of the repository, such as its build.")
@click.option("--again", is_flag=True, help="Ask about files whose answers are cached, too.")
@click.option("--list", "--dry-run", "listed", is_flag=True, help="Show the tools and what would run; run nothing.")
@click.option("--disagreements", is_flag=True, help="List the calls that a tool and our resolver see differently.")
@cluster_option
@format_option
def enrich_command(
    paths: tuple[str, ...],
    roots: tuple[str, ...],
    index_dir: Path | None,
    languages: tuple[str, ...],
    tools: tuple[str, ...],
    deadline: float,
    allow_build: bool,
    again: bool,
    listed: bool,
    disagreements: bool,
    cluster: str | None,
    form: str,
) -> None:
    """Add compiler-exact edges to the indexes of PATHS, from SCIP indexers and language servers that are installed.

    PATHS: by default the workspace or repository around the current folder. Programs are taken from your PATH or your
    user configuration (on a cluster, from those of the worker), never from the repository. For each language, an
    indexer is preferred to a server. Answers are cached by content: an interrupted run continues where it stopped.
    Exit code 1 when a tool failed or was stopped; what it answered before is kept.
    """
    if listed and disagreements:
        raise AssayError("--list and --disagreements exclude each other")
    repo = open_repository(paths or roots, index_dir)
    multi_repo = "" not in repo.members
    options = EnrichOptions(languages=languages, tools=tools, allow_build=allow_build, seconds=deadline, again=again)
    if listed or disagreements:
        if multi_repo:
            raise AssayError(f"--{'list' if listed else 'disagreements'} is about one repository: pass --root DIR")
        if listed:
            _show_tools(repo.enrichment_tools(**options), form)
        else:
            _show_disagreements(repo.disagreements(), form)
        return
    chosen_cluster = choose_cluster(cluster) if cluster or multi_repo else None
    if chosen_cluster is None:
        outcomes = _enrich_members(repo.members, options, go_on=multi_repo)
    else:
        from assay.cli.cluster import enrich_on_cluster  # not needed by most commands, and slow to import

        outcomes = enrich_on_cluster(repo.members, options, chosen_cluster)
    rows, exit_code = dict[str, dict[str, object]](), 0
    for label, outcome in outcomes:
        exit_code = max(exit_code, _exit_code(outcome))
        if form == "json":
            rows[label] = _result_json(label, repo.members[label], outcome)
            continue
        if label:
            echo(f"[{label}]")
        if isinstance(outcome, Exception):
            echo(f"assay: {outcome}", err=True)
        else:
            _print_result(outcome, repo.members[label].status().enrichment)
    if form == "json":
        ordered = [rows[label] for label in repo.members]
        print_json({"repositories": ordered} if multi_repo else ordered[0])
    raise click.exceptions.Exit(exit_code)


def _enrich_members(
    members: Mapping[str, Repository], options: EnrichOptions, go_on: bool
) -> Iterator[tuple[str, Enriched | Exception]]:
    """Yield the outcome of each repository, enriched here, by label; with `go_on`, an error instead of raising it."""
    for label, member in members.items():
        try:
            with Bar() as bar:
                outcome: Enriched | Exception = member.enrich(progress=bar, **options)
        except (AssayError, OSError, sqlite3.DatabaseError) as error:
            if not go_on:
                raise
            outcome = error
        yield label, outcome  # the bar has erased itself


def _exit_code(outcome: Enriched | Exception) -> int:
    if isinstance(outcome, Exception):
        return 2
    return 1 if any(run.problems for run in outcome.runs) else 0


def _show_tools(programs: list[Program], form: str) -> None:
    if form == "json":
        print_json(
            {
                "tools": [
                    {
                        "name": program.tool.name, "kind": program.tool.kind, "languages": sorted(program.tool.languages),
                        "program": str(program.path) if program.path else None, "chosen": program.chosen,
                        "runs_repository_code": program.tool.runs_repository_code, "problem": program.problem,
                    }
                    for program in programs
                ]
            }
        )  # fmt: skip
        return
    for program in programs:
        state = "would run" if program.chosen else program.problem or "not needed"
        echo_wrapped(f"{program.tool.name:<28} {', '.join(sorted(program.tool.languages)):<28} {state}")
        if program.path:
            echo(f"    {program.path}")
    if not programs:
        echo("no tool knows the languages of this index")


def _show_disagreements(rows: list[Disagreement], form: str) -> None:
    if form == "json":
        print_json({"total": len(rows), "disagreements": [_row_json(row) for row in rows]})
        return
    for row in rows:
        echo(f"{path_mark(row.path)}{row.path}:{row.line}: {row.call}  ({row.kind})")
        echo(f"    ours: {_targets(row.own_targets)}{f'  ({row.provenance})' if row.provenance else ''}")
        echo(f"    tool: {_targets(row.tool_targets)}")
    echo(counted(len(rows), "disagreement"))


def _row_json(row: Disagreement) -> dict[str, object]:
    return {name: getattr(row, name) for name in row.__struct_fields__}


def _targets(ids: list[str]) -> str:
    return ", ".join(f"outside ({id[len(EXTERNAL) :] or '?'})" if id.startswith(EXTERNAL) else id for id in ids)


def _result_json(label: str, repo: Repository, outcome: Enriched | Exception) -> dict[str, object]:
    place: dict[str, object] = {"repository": label, "root": str(repo.root)} if label else {}
    if isinstance(outcome, Exception):
        return {**place, "failed": str(outcome)}
    status = repo.status().enrichment
    return {**place, **dataclasses.asdict(outcome), "enrichment": dataclasses.asdict(status) if status else None}


def _print_result(result: Enriched, status: EnrichmentStatus | None) -> None:
    for run in result.runs:
        _print_run(run)
    if status is not None:
        print_enrichment(status)


def _print_run(run: ToolRun) -> None:
    reused = f", {run.reused} from the cache" if run.reused else ""
    echo_wrapped(
        f"{run.tool} ({run.version}): {run.answered} of {counted(run.files, 'file')}{reused}, "
        f"{counted(run.edges, 'edge')}, {run.new_edges:,} of them new, {run.seconds:.1f} s"
    )
    for problem in run.problems:
        echo(f"problem: {run.tool}: {problem}", err=True)


def print_enrichment(status: EnrichmentStatus) -> None:
    """Print the comparison of our resolver with the tools, for `enrich` and `status`."""
    share = ""
    if status.calls_resolved is not None and status.calls_resolved_floor is not None:
        share = f"; calls resolved with them: {status.calls_resolved:.1%}, at least {status.calls_resolved_floor:.1%}"
    echo_wrapped(
        f"enriched by {', '.join(status.tools)}: {counted(status.files, 'file')}, {counted(status.calls, 'call')} answered, "
        f"{status.gained:,} that we had not resolved{share}"
    )
    echo_wrapped(
        f"disagreements with our own resolution: {status.disagreements:,}"
        + (
            f" ({status.disagreements / status.calls:.1%} of answered calls; list: assay enrich --disagreements)"
            if status.disagreements
            else ""
        )
    )
