"""`assay eval baseline`, `assay eval gate` and `assay eval threshold`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from assay.cli.common import Bar, echo, find_root, format_option, print_json
from assay.cli.evaluation.common import (
    columns,
    echo_warnings,
    figure,
    root_option,
    run_store,
    runs_option,
    system_option,
)
from assay.cli.evaluation.run import begin
from assay.config.configuration import load as configuration
from assay.errors import AssayError
from assay.evaluate import golden as golden_sets
from assay.evaluate.compare import Comparison, compare_runs, compare_with_baseline
from assay.evaluate.files import repository_file
from assay.evaluate.gate import (
    CRITICAL,
    Advice,
    JudgedQuestion,
    Point,
    Rules,
    advise,
    as_json,
    gate,
    github_annotations,
    junit,
    markdown,
    parse_floors,
    threshold_curve,
)
from assay.evaluate.golden import load
from assay.evaluate.matching import matcher_for
from assay.evaluate.metrics.measures import defaults, parse
from assay.evaluate.run import Plan
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import Scores, read_baseline, score_run, write_baseline
from assay.evaluate.summary import main_measures
from assay.evaluate.systems import System, SystemFailed, open_system
from assay.text.display import counted

DEFAULT_FILE = "eval/baseline.json"


def _file_option(function: click.decorators.FC) -> click.decorators.FC:
    return click.option(
        "--file",
        "path",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help=f"The baseline file. Default: {DEFAULT_FILE} at the root.",
    )(function)


@click.group("baseline")
def baseline_command() -> None:
    """Manage the baseline of a gate: a file of per-query figures, to be committed with the code."""


@baseline_command.command("set")
@click.argument("run", default="latest")
@_file_option
@root_option
@runs_option
@format_option
def set_(run: str, path: Path | None, root: Path | None, runs_file: Path | None, form: str) -> None:
    """Make RUN (default: the last) the baseline."""
    with run_store(root, runs_file) as store:
        info = store.find(run)
        if info.status != "complete":
            raise AssayError(
                f"run {info.run_id} is {info.status}; a baseline must be complete. Resume with: assay eval run --resume {info.run_id}"
            )
        scores = score_run(store, info)
    baseline_path = path or repository_file(find_root(root), DEFAULT_FILE)
    write_baseline(scores, baseline_path)
    if form == "json":
        print_json({"run_id": scores.run_id, "file": str(baseline_path)})
    else:
        echo(f"baseline is run {scores.run_id} ({len(scores.queries)} queries): {baseline_path}")


@baseline_command.command("show")
@_file_option
@root_option
@format_option
def show(path: Path | None, root: Path | None, form: str) -> None:
    """Show the baseline."""
    baseline_path = path or repository_file(find_root(root), DEFAULT_FILE)
    scores = read_baseline(baseline_path)
    if form == "json":
        print_json({
            "file": str(baseline_path), "run_id": scores.run_id, "created": scores.created, "system": scores.system, "matching": scores.matching,
            "k": scores.k, "golden_hash": scores.golden_hash, "queries": len(scores.queries), "metrics": scores.means,
        })  # fmt: skip
        return
    echo(
        f"{baseline_path}: run {scores.run_id} of {scores.created}, {scores.system}, {len(scores.queries)} queries, matching {scores.matching}\n"
    )
    for line in columns(["metric", "value"], [[name, figure(value)] for name, value in scores.means.items()]):
        echo(line)


# assay eval gate


@click.command("gate")
@click.argument("run", default="")
@click.option(
    "--golden",
    "golden_path",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Run this golden set first and gate that run: one command for hooks and CI.",
)
@system_option
@click.option(
    "--min",
    "floors",
    multiple=True,
    metavar="MEASURE=VALUE",
    help="The minimum of a measure, e.g. RR@10=0.7; may be repeated.",
)
@click.option(
    "--baseline",
    metavar="FILE|RUN",
    help=f"Compare with a baseline file or another run. Default: {DEFAULT_FILE} if it exists.",
)
@click.option(
    "--guard",
    "guarded",
    multiple=True,
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
@click.option(
    "--max-breaks",
    type=click.IntRange(min=0),
    help="Queries that may drop from the top 3 to no hit. Default: 1, plus 1 per 50 queries.",
)
@click.option("--force", is_flag=True, help="Compare even if golden set or settings differ.")
@click.option(
    "--junit",
    "junit_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the outcome as JUnit XML.",
)
@click.option(
    "--github", is_flag=True, help="Print annotations and write the step summary. Automatic in GitHub Actions."
)
@root_option
@runs_option
@format_option
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
    root: Path | None,
    runs_file: Path | None,
    form: str,
) -> None:
    """Pass or fail RUN (default: the last). Exit code 0 pass, 1 fail, 2 could not tell.

    Against a baseline, it fails on a significant loss above the tolerance, or if too many queries that had a hit in
    the top 3 lost it. Queries tagged `critical` may never break.
    """
    minimums = parse_floors(floors)
    if run and golden_path:
        raise AssayError("RUN has its own golden set: leave out --golden, or leave out RUN to run it anew")
    if baseline is None and not minimums and _baseline_file(None, find_root(root)) is None:
        raise AssayError(
            "nothing to compare the run with: give --min MEASURE=VALUE, or --baseline FILE (make one with `assay eval baseline set`)"
        )
    with run_store(root, runs_file, write=golden_path is not None) as store:
        info = (
            _new_run(store, golden_path, spec, baseline, find_root(root))
            if golden_path
            else store.find(run or "latest")
        )
        measures = [parse(name) for name in dict.fromkeys([*map(str, defaults(info.k)), *minimums, *guarded])]
        scores = score_run(store, info, measures)
        names = [str(parse(name)) for name in guarded] or _default_measures(scores)
        comparison = _compare(store, info, baseline, find_root(root), names, force)
        critical = store.tagged(info, CRITICAL)
    checks = gate(scores, Rules(minimums, names, tolerance, alpha, max_breaks), comparison, critical)
    advice = (
        "" if comparison is None or all(check.passed for check in checks) else _renewal_hint(info.run_id, runs_file)
    )
    if junit_file:
        _write(junit_file, junit(scores, checks))
    if github or os.environ.get("GITHUB_ACTIONS") == "true":
        for line in github_annotations(checks):
            echo(line, err=form == "json")
        if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
            _write(Path(summary), markdown(scores, checks, advice), "a")
    if form == "json":
        print_json(as_json(scores, checks) | {"warnings": list(comparison.warnings) if comparison else []})
    else:
        for warning in comparison.warnings if comparison else ():
            echo(f"warning: {warning}", err=True)
        for check in checks:
            echo(f"{'pass' if check.passed else 'FAIL'}  {check.name}: {check.message}")
        if advice:
            echo(advice)
        echo("gate passed" if all(check.passed for check in checks) else "gate failed")
    raise click.exceptions.Exit(0 if all(check.passed for check in checks) else 1)  # fmt: skip


def _new_run(store: RunStore, golden_path: Path, spec: str, baseline: str | None, root: Path) -> RunInfo:
    """Execute a run with the matcher and k of the baseline file, if any, so that they are comparable."""
    golden = golden_sets.load(golden_path)
    file = _baseline_file(baseline, root)
    scores = read_baseline(file) if file else None
    matching = matcher_for(golden, scores.matching if scores else None)
    plan = Plan(matching, scores.k) if scores else Plan(matching)
    return begin(store, golden, plan, open_system(spec, root=root), root).info


def _baseline_file(baseline: str | None, root: Path) -> Path | None:
    """Return the baseline file; None if there is none, or if the baseline is another run."""
    default = root / DEFAULT_FILE
    if baseline is None:
        return default if default.exists() else None
    return Path(baseline) if baseline.endswith(".json") or Path(baseline).exists() else None


def _renewal_hint(run: str, runs_file: Path | None) -> str:
    runs_argument = f" --runs {runs_file}" if runs_file else ""
    return f"If this is intended, renew the baseline and commit it: assay eval baseline set {run}{runs_argument}"


def _default_measures(scores: Scores) -> list[str]:
    """Return the main measures that this run can be judged by."""
    names = [str(measure) for measure in main_measures(scores.k)]
    return [name for name in names if scores.means[name] is not None]


def _compare(
    store: RunStore, info: RunInfo, baseline: str | None, root: Path, names: list[str], force: bool
) -> Comparison | None:
    """Compare the run with the given or default baseline; None if there is none."""
    file = _baseline_file(baseline, root)
    if file is None and baseline is None:
        return None
    if not names:
        raise AssayError(
            "no query of this golden set has ranked expectations: name the measures, as in --guard refusal_correctness"
        )
    measures = [parse(name) for name in names]
    if file is not None:
        return compare_with_baseline(store, read_baseline(file), info, measures, force)
    return compare_runs(store, store.find(baseline or ""), info, measures, force=force)


def _write(path: Path, text: str, mode: str = "w") -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise AssayError(f"{path}: cannot be written ({error.strerror or error})") from None


# assay eval threshold


@click.command("threshold")
@click.option(
    "--golden",
    "golden_path",
    required=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The golden set, with some questions to refuse.",
)
@click.option(
    "--system",
    "spec",
    metavar="SPEC",
    default="ask",
    show_default=True,
    help="The system: ask, ask:model=URL#NAME, or any that returns a confidence.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds per question.",
)
@root_option
@format_option
def threshold_command(golden_path: Path, spec: str, timeout: float, root: Path | None, form: str) -> None:
    """Choose the confidence below which `assay ask` refuses: evaluates all thresholds on a golden set.

    Balanced accuracy is the mean of two shares: of the answerable questions that are answered, and of the others that
    are refused. Prints the line for assay.toml.
    """
    root_path = find_root(root)
    golden = load(golden_path)
    current = configuration(root_path).ask.threshold
    system = open_system(spec, timeout=timeout, root=root_path)
    try:
        judged, failed = _confidences(system, [(query.text, query.refuse, query.id) for query in golden.queries])
    finally:
        system.close()
    counts = [sum(entry.refuse == kind for entry in judged) for kind in (False, True)]
    if not all(counts):
        raise AssayError(
            f"{golden_path}: {counted(counts[0], 'question')} to answer and {counts[1]} to refuse got a confidence; both kinds are needed"
        )
    points, advice = threshold_curve(judged), advise(judged, current)
    if form == "json":
        print_json(_json(str(golden_path), spec, counts, points, advice, failed))
    else:
        echo(f"{spec} on {golden_path}: {counts[0]} answerable questions, {counts[1]} to refuse\n")
        _print(points, advice)
    echo_warnings([f"{counted(failed, 'question')} got no confidence and are left out"] if failed else [])


def _confidences(system: System, questions: list[tuple[str, bool, str]]) -> tuple[list[JudgedQuestion], int]:
    """Return the confidence of each question, and the number without one."""
    bar = Bar()
    bar.start("asking", len(questions))
    judged, failed = [], 0
    try:
        system.index()
        for text, refuse, query_id in questions:
            try:
                answer = system.answer(text, 10, None, "", query_id).answer
            except SystemFailed:
                answer = None
            if answer is None or answer.confidence is None:
                failed += 1
            else:
                judged.append(JudgedQuestion(answer.confidence, refuse))
            bar.advance()
    finally:
        bar.close()
    return judged, failed


def _json(
    golden: str, spec: str, counts: list[int], points: list[Point], advice: Advice, failed: int
) -> dict[str, object]:
    return {
        "golden": golden,
        "system": spec,
        "answerable": counts[0],
        "to_refuse": counts[1],
        "failed": failed,
        "curve": [_point(point) for point in points],
        "used": _point(advice.used),
        "best": _point(advice.point),
        "change": advice.change,
        "why": advice.why,
    }


def _point(point: Point) -> dict[str, float]:
    return {
        "threshold": round(point.threshold, 4), "answered": round(point.answered, 4), "refused": round(point.refused, 4),
        "balanced_accuracy": round(point.balanced, 4), "low": round(point.low, 4), "high": round(point.high, 4),
    }  # fmt: skip


def _print(points: list[Point], advice: Advice) -> None:
    head = ["threshold", "answered", "refused", "balanced accuracy", "95 %"]
    rows = [
        [
            f"{entry.threshold:.2f}",
            *map(figure, (entry.answered, entry.refused, entry.balanced)),
            f"{entry.low:.2f} … {entry.high:.2f}",
        ]
        for entry in points
    ]
    for line in columns(head, rows):
        echo(line)
    best, used = advice.point, advice.used
    echo(f"\nin use: {used.threshold:g}, balanced accuracy {figure(used.balanced)}")
    if best == used:
        echo(f"keep it: {advice.why}")
        return
    echo(f"best: {best.threshold:g}, balanced accuracy {figure(best.balanced)}: {advice.why}")
    echo(f"\nin assay.toml:\n[ask]\nthreshold = {best.threshold:g}")
