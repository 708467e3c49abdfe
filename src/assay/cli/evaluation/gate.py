"""`assay eval baseline`, `assay eval gate` and `assay eval threshold`."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import click

from assay.cli.common import echo, echo_lines, find_root, format_option, print_json
from assay.cli.evaluation import options
from assay.cli.evaluation.options import Runs, echo_table, echo_warnings, print_result, progress_bar
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
    comparable_plan,
    find_baseline,
    gate_run,
    github_annotations,
    junit,
    markdown,
    parse_floors,
)
from assay.evaluate.ledger import MAIN
from assay.evaluate.metrics import figure, parse, required_depth
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import read_baseline, score_run, write_baseline
from assay.evaluate.systems import open_system
from assay.evaluate.threshold import Advice, Point, advise, ask_confidences, threshold_curve, threshold_json
from assay.text.display import counted
from assay.text.suggest import did_you_mean

_file_option = options.path(
    "--file", "path", type=options.FILE, help=f"The baseline file. Default: {BASELINE_FILE} at the root."
)
_name_option = click.option(
    "--name", metavar="NAME", help=f"The name of a baseline in the store. Default in the store of a team: {MAIN}."
)


@click.group("baseline")
def baseline_command() -> None:
    """Manage the baselines of gates: a file of per-query figures to commit with the code, or runs of the store.

    With the store of a team, a baseline is a named run there, unless --file names a file.
    """


@baseline_command.command("set")
@click.argument("run", default="latest")
@_name_option
@_file_option
@options.repeated(
    "--min",
    "floors",
    metavar="[TIER:]MEASURE=VALUE",
    help="A floor to keep in the file, which every gate against it checks; may be repeated. Default: those in the file.",
)
@options.store
def set_(run: str, name: str | None, path: Path | None, floors: tuple[str, ...], runs: Runs, form: str) -> None:
    """Make RUN (default: the last) the baseline."""
    parse_floors(floors)
    if name and path:
        raise AssayError("a baseline is in a file or in the store: leave out --file or --name")
    name = name or (MAIN if runs.shared and not path else None)
    if name and floors:
        raise AssayError("floors are kept in a baseline file: name one with --file, or give --min to the gate")
    with runs.open(write=bool(name)) as store:
        info = store.find(run)
        if info.status != "complete":
            raise AssayError(
                f"run {info.run_id} is {info.status}; a baseline must be complete. Resume with: assay eval run --resume {info.run_id}"
            )
        scores = score_run(store, info)
        scores.require_measurement()
        if name:
            store.ledger.set_baseline(name, info.run_id)
    if name:
        facts, place = {"name": name, "store": shown_store(runs.address)}, f"{name} in {shown_store(runs.address)}"
    else:
        baseline_path = path or repository_file(runs.root, BASELINE_FILE)
        write_baseline(scores, baseline_path, floors)
        facts, place = {"file": str(baseline_path)}, str(baseline_path)
    message = f"baseline is run {scores.run_id} ({len(scores.queries)} queries): {place}"
    print_result(form, {"run_id": scores.run_id, **facts}, message)


@baseline_command.command("show")
@_name_option
@_file_option
@options.store
def show(name: str | None, path: Path | None, runs: Runs, form: str) -> None:
    """Show the baseline that a gate compares with by default, or another."""
    usual = repository_file(runs.root, BASELINE_FILE)
    file = path or (None if name or runs.exists else usual)
    if file is None:
        with runs.open() as store:
            baseline = _stored(store, name) if name else find_baseline(store, None, runs.root)
            if isinstance(baseline, RunInfo):
                scores, place = score_run(store, baseline), f"{name or MAIN} in {shown_store(runs.address)}"
            else:
                file = usual
    if file is not None:
        scores, place = read_baseline(file), str(file)
    if form == "json":
        facts = {
            name: getattr(scores, name) for name in ("run_id", "created", "system", "matching", "k", "golden_hash")
        }
        print_json({"file": place, **facts, "queries": len(scores.queries), "metrics": scores.means})
        return
    echo(
        f"{place}: run {scores.run_id} of {scores.created}, {scores.system}, {len(scores.queries)} queries, matching {scores.matching}\n"
    )
    echo_table(["metric", "value"], [[name, figure(value)] for name, value in scores.means.items()])


def _stored(store: RunStore, name: str) -> RunInfo:
    baseline = store.ledger.baseline(name)
    if baseline is None:
        names = [baseline.name for baseline in store.ledger.baselines()]
        raise AssayError(
            f"{store.place}: no baseline called '{name}'.{did_you_mean(name, names)} "
            f"Make one with: assay eval baseline set RUN --name {name}"
        )
    return store.info(baseline.run_id)


@baseline_command.command("list")
@options.store
def list_(runs: Runs, form: str) -> None:
    """List the baselines of the store."""
    with runs.open() as store:
        baselines = store.ledger.baselines()
    if form == "json":
        print_json({"store": shown_store(runs.address), "baselines": [asdict(baseline) for baseline in baselines]})
    elif baselines:
        rows = [[baseline.name, baseline.run_id, baseline.created, baseline.author] for baseline in baselines]
        echo_table(["name", "run", "set", "by"], rows)
    else:
        echo(f"{shown_store(runs.address)}: no baselines; make one with: assay eval baseline set RUN --name NAME")


@baseline_command.command("remove")
@click.argument("name")
@options.store
def remove(name: str, runs: Runs, form: str) -> None:
    """Remove the baseline NAME from the store; its run stays."""
    with runs.open(write=True) as store:
        run = _stored(store, name)
        store.ledger.remove_baseline(name)
    print_result(form, {"name": name, "run_id": run.run_id}, f"removed baseline {name}; run {run.run_id} stays")


# assay eval gate


@click.command("gate")
@click.argument("run", default="")
@options.golden("Run this golden set first and gate that run: one command for hooks and CI.", required=False)
@options.system()
@options.repeated(
    "--min",
    "floors",
    metavar="[TIER:]MEASURE=VALUE",
    help="The minimum of a measure: RR@10=0.7, easy:RR@10=0.3 of a tier, RR@10=90% of the baseline. May be repeated.",
)
@click.option(
    "--baseline",
    metavar="FILE|NAME|RUN",
    help=f"Compare with a baseline, in a file or in the store, or with another run. "
    f"Default: '{MAIN}' in the store, else {BASELINE_FILE} if it exists.",
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
    "--max-breaks", least=0, help="Queries that may drop from the top 3 to no hit. Default: as noise explains."
)
@options.count(
    "--repeat", default=1, help="With --golden, repetitions: a break counts in any case where the results agree."
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
    repeat: int,
    force: bool,
    junit_file: Path | None,
    github: bool,
    runs: Runs,
    form: str,
) -> None:
    """Pass or fail RUN (default: the last). Exit code 0 pass, 1 fail, 2 could not tell.

    Against a baseline, it fails on a significant loss above the tolerance, or if more queries that had a hit in the top
    3 lost it than noise explains. Queries tagged `critical` may never break.
    """
    rules = Rules(parse_floors(floors), guarded, tolerance, alpha, max_breaks)
    if run and golden_path:
        raise AssayError("RUN has its own golden set: leave out --golden, or leave out RUN to run it anew")
    nothing = AssayError(
        "nothing to compare the run with: give --min MEASURE=VALUE, or --baseline FILE (make one with `assay eval baseline set`)"
    )
    if baseline is None and not rules.floors and not runs.exists and not (runs.root / BASELINE_FILE).exists():
        raise nothing  # before a run file is made
    with runs.open(write=golden_path is not None) as store:
        before = find_baseline(store, baseline, runs.root)
        if before is None and not rules.floors:
            raise nothing
        info = (
            _new_run(store, golden_path, spec, before, rules, repeat, runs.root)
            if golden_path
            else store.find(run or "latest")
        )
        gated = gate_run(store, info, rules, before, force)
        named = store.ledger.baseline(baseline or MAIN) is not None
    failed = gated.comparison is not None and not gated.passed
    advice = _renewal_hint(info.run_id, baseline, before, named, runs) if failed else ""
    if junit_file:
        write_output(junit_file, junit(gated.scores, gated.checks))
    if github or os.environ.get("GITHUB_ACTIONS") == "true":
        for line in github_annotations(gated.checks):
            echo(line, err=form == "json")
        if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
            write_output(Path(summary), markdown(gated.scores, gated.checks, advice), append=True)
    if form == "json":
        print_json(gated.as_json())
    else:
        _print_gate(gated, advice)
    raise click.exceptions.Exit(0 if gated.passed else 1 if gated.decided else 2)


def _new_run(
    store: RunStore,
    golden_path: Path,
    spec: str,
    baseline: Path | RunInfo | None,
    rules: Rules,
    repeat: int,
    root: Path,
) -> RunInfo:
    """Execute a run that is comparable with the baseline, as deep as the rules need."""
    golden = golden_sets.load(golden_path)
    plan = comparable_plan(golden, baseline)
    measures = [parse(name) for name in (*(floor.measure for floor in rules.floors), *rules.guarded)]
    plan = replace(plan, depth=required_depth(plan.k, 0, measures), repeat=repeat)
    return begin(store, golden, plan, open_system(spec, root=root), root).info


def _renewal_hint(run: str, baseline_name: str | None, baseline: Path | RunInfo | None, named: bool, runs: Runs) -> str:
    """Return the command that replaces the baseline of a gate where it is."""
    store = f" --runs {shown_store(runs.option)}" if runs.option else ""
    if isinstance(baseline, RunInfo) and named:
        name = f" --name {baseline_name}" if baseline_name else ""
        return f"If this is intended, renew the baseline: assay eval baseline set {run}{name}{store}"
    file = f" --file {baseline}" if isinstance(baseline, Path) and (baseline_name or runs.shared) else ""
    return f"If this is intended, renew the baseline and commit it: assay eval baseline set {run}{file}{store}"


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
    echo_lines(f"\nin assay.toml:\n[ask]\nthreshold = {best.threshold:g}")
