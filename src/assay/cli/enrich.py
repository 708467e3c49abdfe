"""The command that adds edges of language tools to an index: enrich."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from assay.api import EnrichOptions, Repository
from assay.cli.common import Bar, echo, echo_wrapped, format_option, print_json
from assay.cli.options import single_repository_options
from assay.core.items import EXTERNAL
from assay.errors import AssayError
from assay.rank.status import EnrichmentStatus
from assay.text.display import counted

if TYPE_CHECKING:
    from assay.index.enrich.pipeline import Enriched, ToolRun
    from assay.index.enrich.tools import Program
    from assay.store.enrichment import Disagreement

_SECONDS = 1800.0  # Django takes 20 minutes with a language server on two cores


@click.command("enrich")
@single_repository_options
@click.option(
    "--language", "languages", multiple=True, metavar="NAME", help="Only files of this language. May be repeated."
)
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Use this tool (see --list). May be repeated.")
@click.option("--deadline", default=_SECONDS, show_default=True, metavar="SECONDS", type=click.FloatRange(min=1),
              help="Stop then; what was answered is kept, and the next run continues.")  # fmt: skip
@click.option("--allow-build", is_flag=True, help="Allow tools that run code of the repository, such as its build.")
@click.option("--again", is_flag=True, help="Ask about files whose answers are cached, too.")
@click.option("--list", "--dry-run", "listed", is_flag=True, help="Show the tools and what would run; run nothing.")
@click.option("--disagreements", is_flag=True, help="List the calls that a tool and our resolver see differently.")
@format_option
def enrich_command(
    repo: Repository,
    languages: tuple[str, ...],
    tools: tuple[str, ...],
    deadline: float,
    allow_build: bool,
    again: bool,
    listed: bool,
    disagreements: bool,
    form: str,
) -> None:
    """Add compiler-exact edges to the index, from SCIP indexers and language servers that you have installed.

    Programs are taken from your PATH or your user configuration, never from the repository. For each language, an
    indexer is preferred to a server. Answers are cached by content: an interrupted run continues where it stopped.
    Exit code 1 when a tool failed or was stopped; what it answered before is kept.
    """
    if listed and disagreements:
        raise AssayError("--list and --disagreements exclude each other")
    if disagreements:
        _show_disagreements(repo.disagreements(), form)
        return
    options = EnrichOptions(languages=languages, tools=tools, allow_build=allow_build, seconds=deadline, again=again)
    if listed:
        _show_tools(repo.enrichment_tools(**options), form)
        return
    with Bar() as bar:
        result = repo.enrich(progress=bar, **options)
    _show_result(result, repo.status().enrichment, form)
    raise click.exceptions.Exit(1 if any(run.problems for run in result.runs) else 0)


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
        echo(f"{row.path}:{row.line}: {row.call}  ({row.kind})")
        echo(f"    ours: {_targets(row.own_targets)}{f'  ({row.provenance})' if row.provenance else ''}")
        echo(f"    tool: {_targets(row.tool_targets)}")
    echo(counted(len(rows), "disagreement"))


def _row_json(row: Disagreement) -> dict[str, object]:
    return {name: getattr(row, name) for name in row.__struct_fields__}


def _targets(ids: list[str]) -> str:
    return ", ".join(f"outside ({id[len(EXTERNAL) :] or '?'})" if id.startswith(EXTERNAL) else id for id in ids)


def _show_result(result: Enriched, status: EnrichmentStatus | None, form: str) -> None:
    if form == "json":
        print_json({**dataclasses.asdict(result), "enrichment": dataclasses.asdict(status) if status else None})
        return
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
