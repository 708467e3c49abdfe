"""`assay eval gate`."""

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
from assay.evaluate.files import file_of
from assay.evaluate.gate import (
    CRITICAL,
    Advice,
    Judged,
    Point,
    Rules,
    advise,
    as_json,
    curve,
    floors_from,
    gate,
    github_annotations,
    junit,
    markdown,
)
from assay.evaluate.golden import load
from assay.evaluate.matching import matcher_for
from assay.evaluate.metrics.measures import defaults, parse
from assay.evaluate.run import Plan
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import Scores, of_run, read_baseline, write_baseline
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
        help=f"Default: {DEFAULT_FILE} at the root.",
    )(function)


@click.group("baseline")
def baseline_command() -> None:
    """The baseline that a gate compares with: a file of figures per query, to be committed with the code."""


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
                f"run {info.run_id} is {info.status}; a baseline must be complete. Go on with: assay eval run --resume {info.run_id}"
            )
        scores = of_run(store, info)
    where = path or file_of(find_root(root), DEFAULT_FILE)
    write_baseline(scores, where)
    if form == "json":
        print_json({"run_id": scores.run_id, "file": str(where)})
    else:
        echo(f"baseline is run {scores.run_id} ({len(scores.queries)} queries): {where}")


@baseline_command.command("show")
@_file_option
@root_option
@format_option
def show(path: Path | None, root: Path | None, form: str) -> None:
    """Show the baseline."""
    where = path or file_of(find_root(root), DEFAULT_FILE)
    scores = read_baseline(where)
    if form == "json":
        print_json({
            "file": str(where), "run_id": scores.run_id, "created": scores.created, "system": scores.system, "matching": scores.matching,
            "k": scores.k, "golden_hash": scores.golden_hash, "queries": len(scores.queries), "metrics": scores.means,
        })  # fmt: skip
        return
    echo(
        f"{where}: run {scores.run_id} of {scores.created}, {scores.system}, {len(scores.queries)} queries, matching {scores.matching}\n"
    )
    for line in columns(["metric", "value"], [[name, figure(value)] for name, value in scores.means.items()]):
        echo(line)


# `assay eval gate`.


@click.command("gate")
@click.argument("run", default="")
@click.option(
    "--golden",
    "golden_path",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Ask this golden set first, and gate that run: all of it in one command, for hooks and CI.",
)
@system_option
@click.option(
    "--min",
    "floors",
    multiple=True,
    metavar="MEASURE=VALUE",
    help="The least a measure must have, e.g. RR@10=0.7; may be given several times.",
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
    help="Which measures must not fall. Default: P, R, RR and nDCG at k.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1),
    default=0.02,
    show_default=True,
    help="A fall up to this is accepted even if it is no chance.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="How unlikely a fall must be by chance to count as one.",
)
@click.option(
    "--max-breaks",
    type=click.IntRange(min=0),
    help="Queries that may go from the top 3 to nothing. Default: 1, and 1 more per 50 queries.",
)
@click.option("--force", is_flag=True, help="Compare although golden set or settings differ.")
@click.option(
    "--junit",
    "junit_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the outcome as JUnit XML.",
)
@click.option(
    "--github", is_flag=True, help="Print annotations and write the step summary. On by itself inside GitHub Actions."
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
    """May RUN (default: the last) go out? Exit code 0 yes, 1 no, 2 could not tell.

    Two guards against a baseline: a measure fell by more than the tolerance and that is no chance; single queries broke that were answered at
    the top. Queries tagged `critical` may never break.
    """
    demanded = floors_from(floors)
    if run and golden_path:
        raise AssayError("a RUN has its golden set: leave out --golden, or leave out RUN to ask anew")
    if baseline is None and not demanded and _baseline_file(None, find_root(root)) is None:
        raise AssayError(
            "nothing to hold the run against: give --min MEASURE=VALUE, or --baseline FILE (make one with `assay eval baseline set`)"
        )
    with run_store(root, runs_file, write=golden_path is not None) as store:
        info = (
            _asked(store, golden_path, spec, baseline, find_root(root)) if golden_path else store.find(run or "latest")
        )
        wanted = [parse(name) for name in dict.fromkeys([*map(str, defaults(info.k)), *demanded, *guarded])]
        scores = of_run(store, info, wanted)
        names = [str(parse(name)) for name in guarded] or _usual(scores)
        comparison = _compare(store, info, baseline, find_root(root), names, force)
        critical = store.tagged(info, CRITICAL)
    checks = gate(scores, Rules(demanded, names, tolerance, alpha, max_breaks), comparison, critical)
    advice = "" if comparison is None or all(check.passed for check in checks) else _renewal(info.run_id, runs_file)
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


def _asked(store: RunStore, golden_path: Path, spec: str, baseline: str | None, root: Path) -> RunInfo:
    """A new run, by the rules of the baseline file where there is one, so that they can be compared."""
    golden = golden_sets.load(golden_path)
    file = _baseline_file(baseline, root)
    known = read_baseline(file) if file else None
    matching = matcher_for(golden, known.matching if known else None)
    plan = Plan(matching, known.k) if known else Plan(matching)
    return begin(store, golden, plan, open_system(spec, root=root), root).info


def _baseline_file(given: str | None, root: Path) -> Path | None:
    """The file that is meant; None when there is none, or when another run is meant."""
    usual = root / DEFAULT_FILE
    if given is None:
        return usual if usual.exists() else None
    return Path(given) if given.endswith(".json") or Path(given).exists() else None


def _renewal(run: str, runs_file: Path | None) -> str:
    kept = f" --runs {runs_file}" if runs_file else ""
    return f"If that is meant, renew the baseline and commit it: assay eval baseline set {run}{kept}"


def _usual(scores: Scores) -> list[str]:
    """The main measures, as far as this run has anything to measure them by."""
    names = [str(measure) for measure in main_measures(scores.k)]
    return [name for name in names if scores.means[name] is not None]


def _compare(
    store: RunStore, info: RunInfo, given: str | None, root: Path, names: list[str], force: bool
) -> Comparison | None:
    """The run against the baseline given, a file or another run; else against the usual file; None when there is none."""
    file = _baseline_file(given, root)
    if file is None and given is None:
        return None
    if not names:
        raise AssayError(
            "no query of this golden set has ranked expectations: say what to guard, as in --guard refusal_correctness"
        )
    measures = [parse(name) for name in names]
    if file is not None:
        return compare_with_baseline(store, read_baseline(file), info, measures, force)
    return compare_runs(store, store.find(given or ""), info, measures, force=force)


def _write(path: Path, text: str, mode: str = "w") -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise AssayError(f"{path}: cannot be written ({error.strerror or error})") from None


# `assay eval threshold`.


@click.command("threshold")
@click.option(
    "--golden",
    "golden_path",
    required=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The golden set, with questions to refuse among the others.",
)
@click.option(
    "--system",
    "spec",
    metavar="SPEC",
    default="ask",
    show_default=True,
    help="Whom to ask: ask, ask:model=URL#NAME, or any system that says its confidence.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds for one question.",
)
@root_option
@format_option
def threshold_command(golden_path: Path, spec: str, timeout: float, root: Path | None, form: str) -> None:
    """At which confidence `assay ask` should refuse: what each threshold would have done with a golden set, and the line for assay.toml.

    Balanced accuracy is the mean of two shares: of the answerable questions that are answered, and of the others that are refused.
    """
    where = find_root(root)
    golden = load(golden_path)
    used = configuration(where).ask.threshold
    system = open_system(spec, timeout=timeout, root=where)
    try:
        judged, failed = _asked_thresholds(system, [(query.text, query.refuse, query.id) for query in golden.queries])
    finally:
        system.close()
    kinds = [sum(one.refuse == kind for one in judged) for kind in (False, True)]
    if not all(kinds):
        raise AssayError(
            f"{golden_path}: {counted(kinds[0], 'question')} to answer and {kinds[1]} to refuse came back with a confidence; both kinds are needed"
        )
    points, advice = curve(judged), advise(judged, used)
    if form == "json":
        print_json(_json(str(golden_path), spec, kinds, points, advice, failed))
    else:
        echo(f"{spec} on {golden_path}: {kinds[0]} answerable questions, {kinds[1]} to refuse\n")
        _print(points, advice)
    echo_warnings([f"{counted(failed, 'question')} got no answer with a confidence and are left out"] if failed else [])


def _asked_thresholds(system: System, questions: list[tuple[str, bool, str]]) -> tuple[list[Judged], int]:
    """How sure the system is about each question, and how many it could not say that of."""
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
                judged.append(Judged(answer.confidence, refuse))
            bar.advance()
    finally:
        bar.close()
    return judged, failed


def _json(
    golden: str, spec: str, kinds: list[int], points: list[Point], advice: Advice, failed: int
) -> dict[str, object]:
    return {
        "golden": golden,
        "system": spec,
        "answerable": kinds[0],
        "to_refuse": kinds[1],
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
        [f"{p.threshold:.2f}", *map(figure, (p.answered, p.refused, p.balanced)), f"{p.low:.2f} … {p.high:.2f}"]
        for p in points
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
