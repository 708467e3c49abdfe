"""`assay eval run` and `assay eval list`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from assay.cli.common import Bar, echo, find_root, format_option, print_json
from assay.cli.evaluation.common import (
    columns,
    corpus_option,
    cutoff_option,
    echo_warnings,
    figure,
    kept_at,
    measures_option,
    parsed,
    root_option,
    run_store,
    runs_option,
    shortened,
    system_option,
    timeout_option,
)
from assay.core.golden import GoldenSet
from assay.errors import AssayError
from assay.evaluate import golden as golden_sets
from assay.evaluate.matching import matcher_for
from assay.evaluate.metrics.measures import Measure, parse
from assay.evaluate.run import Outcome, Plan, execute, resume
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.summary import list_runs, main_measures, run_json
from assay.evaluate.systems import System, is_external, open_system
from assay.evaluate.verify import cross_repo_findings, findings
from assay.text.display import printable

_TASK = 50  # characters of a query in the table
_FAILED_SHOWN = 5
_UNSTABLE_SHOWN = 5


@click.command("run")
@click.option(
    "--golden",
    "golden_path",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The golden set: a file or a folder, any format.",
)
@system_option
@click.option(
    "--matching",
    metavar="NAME",
    help="The matcher: exact, symbol, dotted, strict, file, doc, chunk, span. Default: by the set.",
)
@cutoff_option
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=None,
    help="Retrieve more results than k, for measures without cut-off and for eval diagnose.",
)
@click.option("--budget", type=click.IntRange(min=1), help="A token budget passed to the system.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Repetitions: the median latency counts, and queries with differing results are listed.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Concurrent queries, if the system allows it.",
)
@click.option(
    "--ties",
    type=click.Choice(["order", "trec"]),
    default="order",
    show_default=True,
    help="Order of equal scores: as returned, or by id as in trec_eval.",
)
@timeout_option
@click.option("--answers", is_flag=True, help="Request generated answers, too.")
@corpus_option
@click.option("--label", default="", metavar="NAME", help="A name for the run.")
@click.option(
    "--resume",
    "resumed",
    metavar="RUN",
    help="Resume an interrupted run; failed queries are retried. Repeat --system if it is a command, module or URL.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for results.json and FINDINGS.md. Default: .assay/runs/RUN.",
)
@click.option(
    "--findings",
    "findings_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write FINDINGS.md to this file, to commit it.",
)
@measures_option
@root_option
@runs_option
@format_option
def run_command(
    golden_path: Path | None,
    spec: str,
    matching: str | None,
    k: int,
    depth: int | None,
    budget: int | None,
    repeat: int,
    jobs: int,
    ties: str,
    timeout: float,
    answers: bool,
    corpus: Path | None,
    label: str,
    resumed: str | None,
    output: Path | None,
    findings_file: Path | None,
    measures: tuple[str, ...],
    root: Path | None,
    runs_file: Path | None,
    form: str,
) -> None:
    """Run a golden set against a system and report the metrics.

    Errors, timeouts and empty results are recorded and score 0. Responses are stored as they arrive: resume a killed
    run with --resume. Exit code 1 when the system failed on some query, 2 when it could not finish.
    """
    root_path, chosen_measures = find_root(root), parsed(measures)
    if resumed and golden_path:
        raise AssayError("--resume uses the golden set of its run: leave out --golden, or leave out --resume")
    with run_store(root_path, runs_file, write=True) as store:
        if resumed:
            explicit = click.get_current_context().get_parameter_source("spec") is ParameterSource.COMMANDLINE
            outcome = _resume(store, store.find(resumed), spec if explicit else None, root_path, corpus, timeout, jobs)
        else:
            golden = _load_golden(golden_path)
            corpus_path = str(corpus.resolve()) if corpus else ""
            matcher = matcher_for(golden, matching)
            plan = Plan(matcher, k, depth or 0, budget, repeat, jobs, answers, corpus_path, label, ties)
            outcome = begin(
                store, golden, plan, open_system(spec, timeout=timeout, root=root_path, corpus=corpus), root_path
            )
        run = run_json(store, outcome.info, chosen_measures, summary=None if chosen_measures else outcome.summary)
        unstable = store.unstable(outcome.info.run_id)
    if unstable:
        run["warnings"].append(
            f"{len(unstable)} queries had different results when repeated: {', '.join(unstable[:_UNSTABLE_SHOWN])}"
        )
    folder = output or kept_at(root_path, runs_file, "runs", outcome.info.run_id)
    saved = _save(run, folder, findings_file)
    if form == "json":
        print_json(run)
    else:
        print_run(run, chosen_measures or main_measures(run["k"]))
        echo(f"\nsaved: {', '.join(map(str, saved))}")
    if outcome.info.status != "complete":
        died = f" ({outcome.died})" if outcome.died else ""
        raise AssayError(
            f"the run is incomplete{died}; responses so far are stored. Resume with: {_resume_command(outcome.info)}"
        )
    raise click.exceptions.Exit(1 if run["counts"]["failed"] else 0)  # fmt: skip


def _load_golden(golden_path: Path | None) -> GoldenSet:
    if golden_path is None:
        raise AssayError("no golden set: give --golden PATH (or --resume RUN to resume an interrupted run)")
    return golden_sets.load(golden_path)


def begin(store: RunStore, golden: GoldenSet, plan: Plan, system: System, root: Path) -> Outcome:
    """Execute a new run to its end."""
    with _progress(system, len(golden.queries)) as advance:
        return execute(golden, system, store, plan, root, advance)


def _resume(
    store: RunStore, info: RunInfo, spec: str | None, root: Path, corpus: Path | None, timeout: float, jobs: int
) -> Outcome:
    """Resume a run. The store may be a stranger's: what it names is started only if the user names it, too."""
    if spec is None and is_external(info.system):
        raise AssayError(
            printable(f"run {info.run_id} used {info.system}; to use it again, name it: {_resume_command(info)}")
        )
    if spec is not None and spec.strip() != info.system:
        raise AssayError(
            printable(f"run {info.run_id} used {info.system}, not {spec}: leave out --system, or repeat it")
        )
    corpus_path = corpus or (Path(info.corpus) if info.corpus else None)
    if corpus is None and corpus_path is not None and not corpus_path.resolve().is_relative_to(root.resolve()):
        raise AssayError(
            printable(f"run {info.run_id} used the corpus {info.corpus}; to resume there, repeat --corpus")
        )
    system = open_system(info.system, timeout=timeout, root=root, corpus=corpus_path)
    remaining = len(store.repositories(info)) - sum(store.answered(info.run_id).values())
    with _progress(system, remaining) as advance:
        return resume(info, system, store, jobs, advance)


def _resume_command(info: RunInfo) -> str:
    """Return the command that resumes a run."""
    system_option = f" --system {shlex.quote(info.system)}" if is_external(info.system) else ""
    return f"assay eval run --resume {info.run_id}{system_option}"


@contextmanager
def _progress(system: System, queries: int) -> Iterator[Callable[[], None]]:
    """Show progress and close the system at the end."""
    bar = Bar()
    bar.start("asking", queries)
    try:
        yield bar.advance
    finally:
        bar.close()
        system.close()


def _save(run: dict[str, Any], folder: Path, findings_file: Path | None) -> list[Path]:
    """Write results.json, FINDINGS.md and, over several repositories, CROSS_REPO_FINDINGS.md."""
    files = {
        folder / "results.json": json.dumps(run, indent=2, ensure_ascii=False) + "\n",
        folder / "FINDINGS.md": findings(run),
    }
    if len(run["repositories"]) > 1:
        files[folder / "CROSS_REPO_FINDINGS.md"] = cross_repo_findings(run)
    if findings_file:
        files[findings_file] = cross_repo_findings(run) if len(run["repositories"]) > 1 else findings(run)
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        except OSError as error:
            raise AssayError(
                f"{path}: cannot be written ({error.strerror or error}); the run itself is stored"
            ) from None
    return list(files)


# Text output


def print_run(run: dict[str, Any], measures: Sequence[Measure]) -> None:
    """Print metrics per query, per group and overall."""
    names = [str(measure) for measure in measures]
    echo(
        f"{run['system']} on {run['golden']['path']}: {run['golden']['queries']} queries, matching {run['matching']}, k = {run['k']}\n"
    )
    rows = [
        [
            shortened(query["text"], _TASK),
            *(figure(query["metrics"].get(name)) for name in names),
            query["first_rank"] or "–",
            _remark(query),
            query["tier"],
        ]
        for query in run["queries"]
    ]
    for line in columns(["task", *names, "first", "", "tier"], rows):
        echo(line)
    for title in ("tiers", "categories", "repositories", "languages"):
        if run[title]:
            echo("")
            groups = [
                [group, *(figure(entry["metrics"].get(name)) for name in names), entry["count"]]
                for group, entry in run[title].items()
            ]
            for line in columns([title, *names, "N"], groups):
                echo(line)
    _print_failed(run)
    echo("")
    for name, value in run["metrics"].items():
        if not value and not parse(name).higher_is_better:
            continue  # error rates are printed only if not zero
        spread = run["spread"].get(name, {})
        interval = f"  95 % {figure(spread['low'])} … {figure(spread['high'])}" if spread.get("low") is not None else ""
        echo(f"  {name + ':':22}{figure(value)} (±{figure(spread.get('sd'))}){interval}")
    latency = run["latency"]
    if latency["p50"] is not None:
        echo(
            f"  {'latency:':22}p50 {latency['p50']:.1f} ms, p95 {latency['p95']:.1f} ms, mean {latency['mean']:.1f} ms"
        )
    echo(f"\nrun {run['run_id']}" + (f" ({run['label']})" if run["label"] else ""))
    echo_warnings(run["warnings"])


def _remark(query: dict[str, Any]) -> str:
    if query["error"]:
        return "failed"
    if query["refuse"]:
        return "refused" if query["refused"] else "answered, should refuse"
    return "" if query["first_rank"] else "nothing found"


def _print_failed(run: dict[str, Any]) -> None:
    failed = [query for query in run["queries"] if query["expected"] and not query["first_rank"]]
    if not failed:
        return
    echo(f"\nnothing found for {len(failed)} queries:")
    for query in failed[:_FAILED_SHOWN]:
        echo(f"  {query['id']}: {shortened(query['text'], 90)}")
        echo(f"    expected:  {shortened(', '.join(query['expected']), 110)}")
        echo(f"    retrieved: {shortened(query['error'] or ', '.join(query['retrieved']) or 'nothing', 110)}")
    if len(failed) > _FAILED_SHOWN:
        echo(f"  … and {len(failed) - _FAILED_SHOWN} more in FINDINGS.md")


# assay eval list


@click.command("list")
@click.option("--system", metavar="TEXT", help="Only runs of systems that contain TEXT.")
@click.option("--golden", metavar="TEXT", help="Only runs on golden sets whose path contains TEXT.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="The last N runs.")
@root_option
@runs_option
@format_option
def list_command(
    system: str | None, golden: str | None, limit: int, root: Path | None, runs_file: Path | None, form: str
) -> None:
    """List the stored runs, oldest first."""
    with run_store(root, runs_file) as store:
        runs = list_runs(store)
    selected = [run for run in runs if (system or "") in run["system"] and (golden or "") in run["golden"]][-limit:]
    if form == "json":
        print_json({"runs": selected})
        return
    rows = [
        [run["run_id"], run["status"], *(figure(run["metrics"].get(f"{name}@{run['k']}")) for name in ("P", "R", "RR", "nDCG")), run["queries"],
         run["label"], shortened(run["system"], 40), shortened(run["golden"], 40)]
        for run in selected
    ]  # fmt: skip
    for line in columns(["run", "status", "P@k", "R@k", "RR@k", "nDCG@k", "N", "label", "system", "golden"], rows):
        echo(line)
