"""`assay eval run` and `assay eval list`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from assay.cli.common import cluster_option, echo, print_json
from assay.cli.evaluation import options
from assay.cli.evaluation.options import Runs, echo_table, echo_warnings, parsed, progress_bar
from assay.config.cluster import choose_cluster
from assay.core.cautions import Caution
from assay.core.golden import GoldenSet
from assay.errors import AssayError
from assay.evaluate import golden as golden_sets
from assay.evaluate.fan_out import Opening, Workers, open_workers
from assay.evaluate.markdown import metric_rows, save_run
from assay.evaluate.matching import matcher_for
from assay.evaluate.metrics import Measure, figure, parse, require_depth, required_depth
from assay.evaluate.run import STOP_AFTER, Outcome, Plan, execute, reopen_system, resume, resume_command
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import list_runs, main_measures, run_json
from assay.evaluate.selection import Selection
from assay.evaluate.systems import INDEXED, System, folder_of, open_system
from assay.evaluate.validity import OK, Sanity
from assay.evaluate.verdicts import SIGNS, WEAK, WEAK_BELOW
from assay.text.display import collapsed, counted, one_line

_TASK = 50  # characters of a query in the table
_ERROR = 60  # characters of an error in the table
_WEAK_SHOWN = 5
_UNSTABLE_SHOWN = 5


@click.command("run")
@options.golden(required=False)
@options.system()
@options.matching("The matcher: exact, symbol, dotted, strict, file, doc, chunk, span. Default: by the set.")
@options.cutoff
@options.count(
    "--depth",
    help="Retrieve more results than k, for measures without cut-off and for eval diagnose. "
    "Default: the deepest cut-off of --measure, at least k.",
)
@options.count("--budget", help="A token budget passed to the system.")
@options.count(
    "--repeat", default=1, help="Repetitions: the median latency counts, and queries with differing results are listed."
)
@options.count("--jobs", default=1, help="Concurrent queries, if the system allows it.")
@cluster_option
@click.option(
    "--ties",
    type=click.Choice(["order", "trec"]),
    default="order",
    show_default=True,
    help="Order of equal scores: as returned, or by id as in trec_eval.",
)
@click.option(
    "--group",
    type=click.Choice(["file"]),
    help="Count results of one file as one, at the rank of the first: for sets that expect files. Default: no grouping.",
)
@options.timeout()
@click.option(
    "--max-time",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop the whole run after this time; what was answered is stored. Default: no limit.",
)
@options.count(
    "--stop-after",
    default=STOP_AFTER,
    least=0,
    help="Stop when the first N queries all fail; 0: never.",
)
@click.option("--answers", is_flag=True, help="Request generated answers, too.")
@options.corpus()
@click.option(
    "--index", is_flag=True, help="Update the index first (or build it), if the system is assay, search or ask."
)
@options.selection()
@click.option("--label", default="", metavar="NAME", help="A name for the run.")
@click.option(
    "--resume",
    "resumed",
    metavar="RUN",
    help="Resume an interrupted run; failed queries are retried. Repeat --system if it is a command, module or URL.",
)
@options.path(
    "--output",
    type=options.PATH,
    metavar="DIR",
    help="Folder for results.json and FINDINGS.md. Default: .assay/runs/RUN.",
)
@options.path(
    "--findings", "findings_file", type=options.PATH, help="Also write FINDINGS.md to this file, to commit it."
)
@options.measures
@options.store
def run_command(
    golden_path: Path | None,
    spec: str,
    matching: str | None,
    depth: int | None,
    jobs: int,
    cluster: str | None,
    timeout: float,
    max_time: float | None,
    stop_after: int,
    corpus: Path | None,
    index: bool,
    selection: Selection,
    resumed: str | None,
    output: Path | None,
    findings_file: Path | None,
    group: str | None,
    measures: tuple[str, ...],
    runs: Runs,
    form: str,
    **settings: Any,
) -> None:
    """Run a golden set against a system and report the metrics.

    Errors, timeouts and empty results are recorded and score 0. Responses are stored as they arrive: resume a killed
    run with --resume. Exit code 1 when the system failed on some query, 2 when it could not finish, or when the figures
    are no measurement: no results, ids unknown to the set, nothing to judge.
    """
    chosen_measures = parsed(measures)
    timeout = min(timeout, max_time or timeout)
    limits: dict[str, Any] = {"max_time": max_time or 0.0, "stop_after": stop_after}
    chosen_cluster = choose_cluster(cluster)
    if resumed and golden_path:
        raise AssayError("--resume uses the golden set of its run: leave out --golden, or leave out --resume")
    with runs.open(write=True) as store:
        if resumed:
            explicit = click.get_current_context().get_parameter_source("spec") is ParameterSource.COMMANDLINE
            info = store.find(resumed)
            require_depth(chosen_measures or (), info.requested, info.run_id)
            system = reopen_system(info, spec if explicit else None, runs.root, corpus, timeout)
            place = corpus or (Path(info.corpus) if info.corpus else None)
            opening = Opening(info.system, timeout, runs.root, place.resolve() if place else None, Path.cwd())
            outcome = _resume(
                store, info, system, runs.root, jobs, limits, open_workers(chosen_cluster, opening, system)
            )
        else:
            depth = required_depth(settings["k"], depth or 0, chosen_measures or ())
            golden = selection.of(golden_sets.load(golden_path or golden_sets.default(runs.root)))
            folder = str(corpus.resolve()) if corpus else ""
            if index:
                update_indexes(spec, runs.root, corpus, golden)
            chosen = matcher_for(golden, matching)
            plan = Plan(chosen, depth=depth, jobs=jobs, corpus=folder, group=group or "", **limits, **settings)
            system = open_system(spec, timeout=timeout, root=runs.root, corpus=corpus)
            opening = Opening(spec, timeout, runs.root, corpus.resolve() if corpus else None, Path.cwd())
            outcome = begin(store, golden, plan, system, runs.root, open_workers(chosen_cluster, opening, system))
        run = run_json(store, outcome.info, chosen_measures, summary=None if chosen_measures else outcome.summary)
        unstable = store.unstable(outcome.info.run_id)
    if unstable:
        message = (
            f"{len(unstable)} queries had different results when repeated: {', '.join(unstable[:_UNSTABLE_SHOWN])}"
        )
        run["warnings"].append(Caution("unstable-results", message).as_json())
    saved = save_run(run, output or runs.folder("runs", outcome.info.run_id), findings_file)
    if form == "json":
        print_json(run)
    elif run["counts"]["failed"] < run["counts"]["queries"]:  # otherwise there are no figures
        print_run(run, chosen_measures or main_measures(run["k"]))
        echo(f"\nsaved: {', '.join(map(str, saved))}")
    if outcome.info.status == "incomplete":
        died = f" ({outcome.died})" if outcome.died else ""
        raise AssayError(
            f"the run is incomplete{died}; responses so far are stored. Resume with: {resume_command(outcome.info)}"
        )
    sanity = Sanity.from_json(run["sanity"])
    if not sanity.is_measurement:
        raise AssayError(f"run {outcome.info.run_id} is stored, but not a measurement: {sanity.reason}")
    if run["counts"]["failed"]:
        echo(f"failed queries are sent again with: {resume_command(outcome.info)}", err=True)
    raise click.exceptions.Exit(1 if run["counts"]["failed"] else 0)


def update_indexes(spec: str, root: Path, corpus: Path | None, golden: GoldenSet) -> None:
    """Bring the index of the root, or of each repository of the corpus, up to date."""
    if spec.partition(":")[0] not in INDEXED:
        raise AssayError(f"--index: {spec} has no index of assay; leave --index out")
    from assay.api import Repository  # slow to import, and only needed here

    names = sorted({query.repository for query in golden.queries}) if corpus else [""]
    with progress_bar() as bar:
        for name in names:
            with Repository(folder_of(root, corpus, name)) as repository:
                repository.refresh(progress=bar)


def begin(
    store: RunStore,
    golden: GoldenSet,
    plan: Plan,
    system: System,
    root: Path,
    answering: AbstractContextManager[Workers | None] = nullcontext(),  # noqa: B008 (has no state)
) -> Outcome:
    """Execute a new run to its end and close the system."""
    with closing(system), answering as workers, progress_bar("asking", len(golden.queries)) as bar:
        plan = replace(plan, at_once=workers.count) if workers else plan
        return execute(golden, system, store, plan, root, bar.advance, workers)


def _resume(
    store: RunStore,
    info: RunInfo,
    system: System,
    root: Path,
    jobs: int,
    limits: Mapping[str, Any],
    answering: AbstractContextManager[Workers | None],
) -> Outcome:
    remaining = len(store.repositories(info)) - sum(store.answered(info.run_id).values())
    with closing(system), answering as workers, progress_bar("asking", remaining) as bar:
        return resume(info, system, store, jobs, bar.advance, ask=workers, root=root, **limits)


# Text output


def print_run(run: dict[str, Any], measures: Sequence[Measure]) -> None:
    """Print metrics per query, per group and overall."""
    names = [str(measure) for measure in measures]
    echo(
        f"{run['system']} on {run['golden']['path']}: {run['golden']['queries']} queries, matching {run['matching']}, k = {run['k']}\n"
    )
    errors = ["error"] if any(query["error"] for query in run["queries"]) else []
    rows = [
        [
            SIGNS[query["verdict"]],
            collapsed(query["text"], _TASK),
            *(figure(query["metrics"].get(name)) for name in names),
            query["first_rank"] or "–",
            _remark(query),
            query["tier"],
            *([collapsed(query["error"], _ERROR)] if errors else []),
        ]
        for query in run["queries"]
    ]
    echo_table(["", "task", *names, "first", "", "tier", *errors], rows)
    for title in ("tiers", "categories", "repositories", "languages"):
        if run[title]:
            echo("")
            groups = [
                [group, *(figure(entry["metrics"].get(name)) for name in names), entry["count"]]
                for group, entry in run[title].items()
            ]
            echo_table([title, *names, "N"], groups)
    _print_weak(run)
    echo("")
    for name, value in metric_rows(run):
        if (value is None and name not in names) or (not value and not parse(name).higher_is_better):
            continue  # error rates are printed only if not zero
        spread = run["spread"].get(name, {})
        interval = f"  95 % {figure(spread['low'])} … {figure(spread['high'])}" if spread.get("low") is not None else ""
        echo(f"  {name + ':':22}{figure(value)} (±{figure(spread.get('sd'))}){interval}")
    latency = run["latency"]
    if latency["p50"] is not None:
        echo(
            f"  {'latency:':22}p50 {latency['p50']:.1f} ms, p95 {latency['p95']:.1f} ms, mean {latency['mean']:.1f} ms"
        )
    for name in ("tokens", "cost"):
        if run[name]["queries"]:
            echo(
                f"  {name + ':':22}{run[name]['total']:,g} in {run[name]['queries']} queries, mean {run[name]['mean']:g}"
            )
    echo(f"\nrun {run['run_id']}" + (f" ({run['label']})" if run["label"] else ""))
    sanity = Sanity.from_json(run["sanity"])
    print_sanity(sanity)
    in_block = {caution.message for caution in sanity.cautions}
    echo_warnings(warning for warning in run["warnings"] if warning["message"] not in in_block)


def print_sanity(sanity: Sanity) -> None:
    """Print the sanity block: a line per check. Cautions from before the run are printed as warnings, too."""
    echo("sanity:")
    for check in sanity.checks:
        message = check.message if check.code or check.state == OK else "see the warnings"
        echo(f"  {check.name + ':':22}{check.state:8} {one_line(message)}")


def _remark(query: dict[str, Any]) -> str:
    if query["error"]:
        return "failed"
    if query["refuse"]:
        return "refused" if query["refused"] else "answered, should refuse"
    return "" if query["first_rank"] else "nothing found"


def _print_weak(run: dict[str, Any]) -> None:
    """List the queries that seed 002 calls failed: those whose first relevant result comes third or later."""
    weak = [query for query in run["queries"] if query["verdict"] == WEAK]
    if not weak:
        return
    echo(
        f"\n{counted(len(weak), 'weak query', 'weak queries')} (RR@{run['k']} < {WEAK_BELOW:g}, failed, or wrongly answered):"
    )
    for query in weak[:_WEAK_SHOWN]:
        echo(f"  {query['id']}: {collapsed(query['text'], 90)}")
        echo(f"    expected:  {collapsed(', '.join(query['expected']), 110) or 'a refusal'}")
        echo(f"    retrieved: {collapsed(query['error'] or ', '.join(query['retrieved']) or 'nothing', 110)}")
    if len(weak) > _WEAK_SHOWN:
        echo(f"  … and {len(weak) - _WEAK_SHOWN} more in FINDINGS.md")


# assay eval list


@click.command("list")
@click.option("--system", metavar="TEXT", help="Only runs of systems that contain TEXT.")
@click.option("--golden", metavar="TEXT", help="Only runs on golden sets whose path contains TEXT.")
@options.count("-n", "--limit", default=50, help="The last N runs.")
@options.store
def list_command(system: str | None, golden: str | None, limit: int, runs: Runs, form: str) -> None:
    """List the stored runs, oldest first."""
    with runs.open() as store:
        stored = list_runs(store)
    selected = [run for run in stored if (system or "") in run["system"] and (golden or "") in run["golden"]][-limit:]
    if form == "json":
        print_json({"runs": selected})
        return
    rows = [
        [run["run_id"], "invalid" if run["status"] == "complete" and not run["measurement"] else run["status"],
         *(figure(run["metrics"].get(f"{name}@{run['k']}")) for name in ("P", "R", "RR", "nDCG")), run["queries"],
         run["label"], collapsed(run["system"], 40), collapsed(run["golden"], 40)]
        for run in selected
    ]  # fmt: skip
    echo_table(["run", "status", "P@k", "R@k", "RR@k", "nDCG@k", "N", "label", "system", "golden"], rows)
