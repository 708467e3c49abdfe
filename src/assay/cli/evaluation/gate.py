"""`assay eval baseline`, `assay eval gate` and `assay eval threshold`."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import click

from assay.cli.common import echo, find_root, format_option, print_json
from assay.cli.evaluation import options
from assay.cli.evaluation.options import Runs, echo_table, echo_warnings, figure, progress_bar
from assay.cli.evaluation.run import begin
from assay.config.configuration import load as load_configuration
from assay.core.cautions import Caution
from assay.database.address import shown_store
from assay.errors import AssayError
from assay.evaluate import golden as golden_sets
from assay.evaluate.files import repository_file, write_output
from assay.evaluate.gate import (
    BASELINE_FILE,
    Gated,
    Rules,
    baseline_file,
    comparable_plan,
    gate_run,
    github_annotations,
    junit,
    markdown,
    parse_floors,
)
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import read_baseline, score_run, write_baseline
from assay.evaluate.systems import open_system
from assay.evaluate.threshold import Advice, Point, advise, ask_confidences, threshold_curve, threshold_json
from assay.text.display import counted

_file_option = options.path(
    "--file", "path", type=options.FILE, help=f"The baseline file. Default: {BASELINE_FILE} at the root."
)


@click.group("baseline")
def baseline_command() -> None:
    """Manage the baseline of a gate: a file of per-query figures, to be committed with the code."""


@baseline_command.command("set")
@click.argument("run", default="latest")
@_file_option
@options.store
def set_(run: str, path: Path | None, runs: Runs, form: str) -> None:
    """Make RUN (default: the last) the baseline."""
    with runs.open() as store:
        info = store.find(run)
        if info.status != "complete":
            raise AssayError(
                f"run {info.run_id} is {info.status}; a baseline must be complete. Resume with: assay eval run --resume {info.run_id}"
            )
        scores = score_run(store, info)
    baseline_path = path or repository_file(runs.root, BASELINE_FILE)
    write_baseline(scores, baseline_path)
    if form == "json":
        print_json({"run_id": scores.run_id, "file": str(baseline_path)})
    else:
        echo(f"baseline is run {scores.run_id} ({len(scores.queries)} queries): {baseline_path}")


@baseline_command.command("show")
@_file_option
@options.root
@format_option
def show(path: Path | None, root: Path | None, form: str) -> None:
    """Show the baseline."""
    baseline_path = path or repository_file(find_root(root), BASELINE_FILE)
    scores = read_baseline(baseline_path)
    if form == "json":
        facts = {
            name: getattr(scores, name) for name in ("run_id", "created", "system", "matching", "k", "golden_hash")
        }
        print_json({"file": str(baseline_path), **facts, "queries": len(scores.queries), "metrics": scores.means})
        return
    echo(
        f"{baseline_path}: run {scores.run_id} of {scores.created}, {scores.system}, {len(scores.queries)} queries, matching {scores.matching}\n"
    )
    echo_table(["metric", "value"], [[name, figure(value)] for name, value in scores.means.items()])


# assay eval gate


@click.command("gate")
@click.argument("run", default="")
@options.golden("Run this golden set first and gate that run: one command for hooks and CI.", required=False)
@options.system()
@options.repeated(
    "--min", "floors", metavar="MEASURE=VALUE", help="The minimum of a measure, e.g. RR@10=0.7; may be repeated."
)
@click.option(
    "--baseline",
    metavar="FILE|RUN",
    help=f"Compare with a baseline file or another run. Default: {BASELINE_FILE} if it exists.",
)
@options.repeated(
    "--guard",
    "guarded",
    metavar="MEASURE",
    help="A measure that must not fall; may be repeated. Default: P, R, RR and nDCG at k.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1),
    default=0.02,
    show_default=True,
    help="The loss that is accepted even if significant.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="The significance level of a loss.",
)
@options.count(
    "--max-breaks", least=0, help="Queries that may drop from the top 3 to no hit. Default: 1, plus 1 per 50 queries."
)
@options.force()
@options.path("--junit", "junit_file", type=options.FILE, help="Write the outcome as JUnit XML.")
@click.option(
    "--github", is_flag=True, help="Print annotations and write the step summary. Automatic in GitHub Actions."
)
@options.store
def gate_command(
    run: str,
    golden_path: Path | None,
    spec: str,
    floors: tuple[str, ...],
    baseline: str | None,
    guarded: tuple[str, ...],
    tolerance: float,
    alpha: float,
    max_breaks: int | None,
    force: bool,
    junit_file: Path | None,
    github: bool,
    runs: Runs,
    form: str,
) -> None:
    """Pass or fail RUN (default: the last). Exit code 0 pass, 1 fail, 2 could not tell.

    Against a baseline, it fails on a significant loss above the tolerance, or if too many queries that had a hit in
    the top 3 lost it. Queries tagged `critical` may never break.
    """
    rules = Rules(parse_floors(floors), guarded, tolerance, alpha, max_breaks)
    if run and golden_path:
        raise AssayError("RUN has its own golden set: leave out --golden, or leave out RUN to run it anew")
    if baseline is None and not rules.floors and baseline_file(None, runs.root) is None:
        raise AssayError(
            "nothing to compare the run with: give --min MEASURE=VALUE, or --baseline FILE (make one with `assay eval baseline set`)"
        )
    with runs.open(write=golden_path is not None) as store:
        info = _new_run(store, golden_path, spec, baseline, runs.root) if golden_path else store.find(run or "latest")
        gated = gate_run(store, info, rules, baseline, runs.root, force)
    advice = "" if gated.comparison is None or gated.passed else _renewal_hint(info.run_id, runs.option)
    if junit_file:
        write_output(junit_file, junit(gated.scores, gated.checks))
    if github or os.environ.get("GITHUB_ACTIONS") == "true":
        _tell_github(gated, advice, on_stderr=form == "json")
    if form == "json":
        print_json(gated.as_json())
    else:
        _print_gate(gated, advice)
    raise click.exceptions.Exit(0 if gated.passed else 1)


def _new_run(store: RunStore, golden_path: Path, spec: str, baseline: str | None, root: Path) -> RunInfo:
    """Execute a run that is comparable with the baseline."""
    golden = golden_sets.load(golden_path)
    return begin(store, golden, comparable_plan(golden, baseline, root), open_system(spec, root=root), root).info


def _renewal_hint(run: str, store: Path | str | None) -> str:
    runs_argument = f" --runs {shown_store(store)}" if store else ""
    return f"If this is intended, renew the baseline and commit it: assay eval baseline set {run}{runs_argument}"


def _tell_github(gated: Gated, advice: str, on_stderr: bool) -> None:
    for line in github_annotations(gated.checks):
        echo(line, err=on_stderr)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        write_output(Path(summary), markdown(gated.scores, gated.checks, advice), append=True)


def _print_gate(gated: Gated, advice: str) -> None:
    echo_warnings(gated.warnings)
    for check in gated.checks:
        echo(f"{'pass' if check.passed else 'FAIL'}  {check.name}: {check.message}")
    if advice:
        echo(advice)
    echo("gate passed" if gated.passed else "gate failed")


# assay eval threshold


@click.command("threshold")
@options.golden("The golden set, with some questions to refuse.")
@options.system("The system: ask, ask:model=URL#NAME, or any that returns a confidence.", default="ask")
@options.timeout("Seconds per question.")
@options.root
@format_option
def threshold_command(golden_path: Path, spec: str, timeout: float, root: Path | None, form: str) -> None:
    """Choose the confidence below which `assay ask` refuses: evaluates all thresholds on a golden set.

    Balanced accuracy is the mean of two shares: of the answerable questions that are answered, and of the others that
    are refused. Prints the line for assay.toml.
    """
    root_path = find_root(root)
    golden = golden_sets.load(golden_path)
    current = load_configuration(root_path).ask.threshold
    system = open_system(spec, timeout=timeout, root=root_path)
    with closing(system), progress_bar("asking", len(golden.queries)) as bar:
        judged, failed = ask_confidences(system, golden.queries, bar.advance)
    answerable, to_refuse = (sum(entry.refuse == kind for entry in judged) for kind in (False, True))
    if not answerable or not to_refuse:
        raise AssayError(
            f"{golden_path}: {counted(answerable, 'question')} to answer and {to_refuse} to refuse got a confidence; both kinds are needed"
        )
    points, advice = threshold_curve(judged), advise(judged, current)
    if form == "json":
        counts = {"answerable": answerable, "to_refuse": to_refuse, "failed": failed}
        print_json({"golden": str(golden_path), "system": spec, **counts, **threshold_json(points, advice)})
    else:
        echo(f"{spec} on {golden_path}: {answerable} answerable questions, {to_refuse} to refuse\n")
        _print_thresholds(points, advice)
    message = f"{counted(failed, 'question')} got no confidence and are left out"
    echo_warnings([Caution("failed-queries", message)] if failed else [])


def _print_thresholds(points: list[Point], advice: Advice) -> None:
    rows = [
        [
            f"{entry.threshold:.2f}",
            *map(figure, (entry.answered, entry.refused, entry.balanced_accuracy)),
            f"{entry.low:.2f} … {entry.high:.2f}",
        ]
        for entry in points
    ]
    echo_table(["threshold", "answered", "refused", "balanced accuracy", "95 %"], rows)
    best, used = advice.point, advice.used
    echo(f"\nin use: {used.threshold:g}, balanced accuracy {figure(used.balanced_accuracy)}")
    if best == used:
        echo(f"keep it: {advice.why}")
        return
    echo(f"best: {best.threshold:g}, balanced accuracy {figure(best.balanced_accuracy)}: {advice.why}")
    echo(f"\nin assay.toml:\n[ask]\nthreshold = {best.threshold:g}")
