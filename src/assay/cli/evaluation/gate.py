"""`assay eval gate`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from assay.cli.common import find_root, format_option, print_json
from assay.cli.evaluation.baseline import DEFAULT_FILE
from assay.cli.evaluation.common import root_option, run_store, runs_option
from assay.errors import AssayError
from assay.evaluate.compare import Comparison, compare_runs, compare_with_baseline
from assay.evaluate.gate import CRITICAL, Rules, as_json, floors_from, gate, github_annotations, junit, markdown
from assay.evaluate.metrics.measures import defaults, parse
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import Scores, of_run, read_baseline
from assay.evaluate.summary import main_measures


@click.command("gate")
@click.argument("run", default="latest")
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
    with run_store(root, runs_file) as store:
        info = store.find(run)
        wanted = [parse(name) for name in dict.fromkeys([*map(str, defaults(info.k)), *demanded, *guarded])]
        scores = of_run(store, info, wanted)
        names = [str(parse(name)) for name in guarded] or _usual(scores)
        comparison = _compare(store, info, baseline, find_root(root), names, force)
        if comparison is None and not demanded:
            raise AssayError(
                "nothing to hold the run against: give --min MEASURE=VALUE, or --baseline FILE (make one with `assay eval baseline set`)"
            )
        critical = store.tagged(info, CRITICAL)
    checks = gate(scores, Rules(demanded, names, tolerance, alpha, max_breaks), comparison, critical)
    if junit_file:
        _write(junit_file, junit(scores, checks))
    if github or os.environ.get("GITHUB_ACTIONS") == "true":
        for line in github_annotations(checks):
            click.echo(line, err=form == "json")
        if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
            _write(Path(summary), markdown(scores, checks), "a")
    if form == "json":
        print_json(as_json(scores, checks) | {"warnings": list(comparison.warnings) if comparison else []})
    else:
        for warning in comparison.warnings if comparison else ():
            click.echo(f"warning: {warning}", err=True)
        for check in checks:
            click.echo(f"{'pass' if check.passed else 'FAIL'}  {check.name}: {check.message}")
        click.echo("gate passed" if all(check.passed for check in checks) else "gate failed")
    raise click.exceptions.Exit(0 if all(check.passed for check in checks) else 1)  # fmt: skip


def _usual(scores: Scores) -> list[str]:
    """The main measures, as far as this run has anything to measure them by."""
    names = [str(measure) for measure in main_measures(scores.k)]
    return [name for name in names if scores.means[name] is not None]


def _compare(
    store: RunStore, info: RunInfo, given: str | None, root: Path, names: list[str], force: bool
) -> Comparison | None:
    """The run against the baseline given, a file or another run; else against the usual file; None when there is none."""
    if given is None and not (root / DEFAULT_FILE).exists():
        return None
    if not names:
        raise AssayError(
            "no query of this golden set has ranked expectations: say what to guard, as in --guard refusal_correctness"
        )
    measures = [parse(name) for name in names]
    file = root / DEFAULT_FILE if given is None else Path(given)
    if given is None or file.suffix == ".json" or file.exists():
        return compare_with_baseline(store, read_baseline(file), info, measures, force)
    return compare_runs(store, store.find(given), info, measures, force=force)


def _write(path: Path, text: str, mode: str = "w") -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise AssayError(f"{path}: cannot be written ({error.strerror or error})") from None
