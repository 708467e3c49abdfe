"""`assay eval gate`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from assay.cli.common import echo, find_root, format_option, print_json
from assay.cli.evaluation.baseline import DEFAULT_FILE
from assay.cli.evaluation.common import root_option, run_store, runs_option, system_option
from assay.cli.evaluation.run import begin
from assay.errors import AssayError
from assay.evaluate import golden as golden_sets
from assay.evaluate.compare import Comparison, compare_runs, compare_with_baseline
from assay.evaluate.gate import CRITICAL, Rules, as_json, floors_from, gate, github_annotations, junit, markdown
from assay.evaluate.matching import matcher_for
from assay.evaluate.metrics.measures import defaults, parse
from assay.evaluate.run import Plan
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import Scores, of_run, read_baseline
from assay.evaluate.summary import main_measures
from assay.evaluate.systems import open_system


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
def command(
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
