"""`assay eval tune`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from assay.cli.common import cluster_option, echo, echo_lines, find_root, format_option, print_json
from assay.cli.evaluation import options
from assay.cli.evaluation.options import Runs, echo_table, echo_warnings, progress_bar
from assay.config.cluster import choose_cluster
from assay.config.configuration import NAME, Configuration, load
from assay.config.toml import table_text, with_table
from assay.errors import AssayError
from assay.evaluate import golden as golden_sets
from assay.evaluate.files import write_text
from assay.evaluate.matching import matcher_for
from assay.evaluate.metrics import Measure, figure, parse, signed
from assay.evaluate.tune import TuningTask, report, tune
from assay.evaluate.tune.search import GAIN, NO_GAIN, TOO_FEW
from assay.html.elements import probability
from assay.rank.profile import BASE, DEFAULT, PROFILES
from assay.system.inputs import read_bytes
from assay.text.display import counted


def print_tuning(tuning_report: dict[str, Any], profile: str, file: str) -> None:
    """Print a tuning report."""
    golden, folds = tuning_report["golden"], tuning_report["folds"]
    echo(
        f"{tuning_report['base']} tuned on {golden['path']}: {counted(golden['judged'], 'query', 'queries')} judged, {tuning_report['measure']}, "
        f"matching {tuning_report['matching']}, {counted(len(folds['each']), 'fold')} by {folds['by']}\n"
    )
    _print_held_out(tuning_report)
    _print_folds(tuning_report)
    if tuning_report["changes"]:
        _print_changes(tuning_report)
    echo(
        f"\n{tuning_report['said'][0].upper()}{tuning_report['said'][1:]}"
        + ("." if tuning_report["outcome"] == GAIN else ": nothing written.")
    )
    if profile:
        target = tuning_report["written"]
        echo(f"\n{f'Added to {target}' if target else f'For {file} (--write NAME adds it)'}:\n")
        echo_lines(profile.rstrip())
    work = tuning_report["work"]
    before = f", {work['answered_before']:,} answered before" if work["answered_before"] else ""
    echo(f"\nasked: {counted(work['asked'], 'query', 'queries')} over all settings{before}")


def _print_held_out(tuning_report: dict[str, Any]) -> None:
    pair, in_sample = tuning_report["held_out"], tuning_report["in_sample"]
    echo(
        f"Held-out queries: {figure(pair['base'])} → {figure(pair['tuned'])}  ({signed(pair['delta'])}, "
        f"95 % {signed(pair['low'])} … {signed(pair['high'])}, p {probability(pair['p_corrected'])}; "
        f"{pair['wins']} better, {pair['losses']} worse, {pair['ties']} equal)"
    )
    echo(f"Training queries (optimistic): {figure(in_sample['base'])} → {figure(in_sample['tuned'])}")


def _print_folds(tuning_report: dict[str, Any]) -> None:
    rows = [
        [number, fold["queries"], figure(fold["base"]), figure(fold["tuned"]), _listed(fold["changes"])]
        for number, fold in enumerate(tuning_report["folds"]["each"], 1)
    ]
    echo("")
    echo_table(["fold", "queries", tuning_report["base"], "tuned", "chosen on the other folds"], rows)


def _print_changes(tuning_report: dict[str, Any]) -> None:
    folds = len(tuning_report["folds"]["each"])
    rows = [
        [
            change["name"],
            f"{change['from']:g}",
            f"{change['to']:g}",
            signed(change["brings"]),
            f"{change['same_direction']}/{folds}",
        ]
        for change in tuning_report["changes"]
    ]
    echo("")
    echo_table(["parameter", tuning_report["base"], "tuned", "gain", "folds that agree"], rows)


def _listed(changes: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in changes.items()) or "no change"


# assay eval tune

_LARGEST = 1_000_000  # bytes of an assay.toml

_CODES = {GAIN: 0, NO_GAIN: 1, TOO_FEW: 2}


@click.command("tune")
@options.golden("The golden set: a file or a folder, any format; a mined one works, too.")
@click.option("--measure", "-m", default="nDCG@10", show_default=True, metavar="NAME", help="The measure to optimize.")
@options.matching("The matcher: exact, strict, file, … Default: by the set.")
@click.option(
    "--from", "base", default=DEFAULT, show_default=True, metavar="PROFILE", help="The profile to start from."
)
@click.option(
    "--write", metavar="NAME", help=f"Add the tuned profile to {NAME} under this name, if it is significantly better."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=lambda: os.cpu_count() or 1,
    show_default="all cores",
    help="Worker processes.",
)
@cluster_option
@options.corpus()
@options.root
@format_option
def tune_command(
    golden_path: Path,
    measure: str,
    matching: str | None,
    base: str,
    write: str | None,
    jobs: int,
    cluster: str | None,
    corpus: Path | None,
    root: Path | None,
    form: str,
) -> None:
    """Tune the parameters of the ranking on a golden set, and test the gain on held-out queries.

    Parameters are chosen on four fifths of the set and measured on the other fifth, for each fifth in turn. A killed
    command resumes when repeated. Exit code 0: significantly better; 1: no significant gain, nothing is written; 2: too
    few queries to tell.
    """
    root_path, chosen_measure, chosen_cluster = find_root(root), _measure(measure), choose_cluster(cluster)
    configuration, golden = load(root_path), golden_sets.load(golden_path)
    configuration.profile(base)  # raises if there is none
    if write:
        _profile_text(configuration, root_path, write, {})
    task = TuningTask(golden, matcher_for(golden, matching), chosen_measure, root_path, base, corpus)
    with progress_bar() as bar:
        tuning = tune(task, Runs(root_path).folder("tuning"), jobs, bar, chosen_cluster)
    tuning_report = report(tuning)
    rows = _rows(configuration, base, dict(tuning.tuned.changes))
    better = tuning_report["outcome"] == GAIN
    tuning_report["profile"] = rows
    tuning_report["written"] = (
        _write(configuration, root_path, write, rows, tuning_report) if write and better else None
    )
    if form == "json":
        print_json(tuning_report)
    else:
        print_tuning(tuning_report, table_text(("profile", write or "tuned"), rows) if better else "", NAME)
    echo_warnings(tuning_report["warnings"])
    raise click.exceptions.Exit(_CODES[tuning_report["outcome"]])


def _measure(name: str) -> Measure:
    """Parse a ranking measure for which higher is better."""
    measure = parse(name)
    if measure.kind.cut == "no" or not measure.higher_is_better:
        raise AssayError(f"--measure {name}: not a ranking measure to maximize; use for example nDCG@10, RR@10 or R@20")
    return measure


def _rows(configuration: Configuration, base: str, changes: dict[str, float]) -> dict[str, Any]:
    """Return the TOML table of the tuned profile: built-in base, the custom profile's changes, tuned parameters."""
    if base in PROFILES:
        return {BASE: base} | changes
    custom: dict[str, Any] = configuration.given["profile"][base]
    return {BASE: DEFAULT} | custom | changes


def _profile_text(configuration: Configuration, root: Path, name: str, rows: dict[str, Any], comment: str = "") -> str:
    """Return assay.toml with the new profile. Raises AssayError if the name exists."""
    if name in configuration.profiles:
        problem = "is built in" if name in PROFILES else f"exists in {NAME}: remove it first"
        raise AssayError(f"--write {name}: that profile {problem}, or choose another name")
    path = root / NAME
    present_text = read_bytes(path, _LARGEST).decode() if path.exists() else ""
    try:
        return with_table(present_text, ("profile", name), rows, comment)
    except AssayError as error:
        raise AssayError(f"{path}: {error}. Add it by hand:\n\n{table_text(('profile', name), rows)}") from None


def _write(
    configuration: Configuration, root: Path, name: str, rows: dict[str, Any], tuning_report: dict[str, Any]
) -> str:
    """Add the tuned profile to assay.toml and return its path."""
    pair, golden = tuning_report["held_out"], tuning_report["golden"]
    comment = (
        f"by assay eval tune on {golden['judged']} queries of {Path(golden['path']).name}: {tuning_report['measure']} "
        f"{pair['base']:.4f} → {pair['tuned']:.4f} on held-out ones"
    )
    write_text(root / NAME, _profile_text(configuration, root, name, rows, comment))
    load(root)
    return str(root / NAME)
