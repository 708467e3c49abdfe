"""`assay eval tune`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from assay.cli.common import Bar, echo, find_root, format_option, print_json
from assay.cli.evaluation.common import columns, corpus_option, echo_warnings, figure, kept_at, root_option
from assay.config.configuration import NAME, Configuration, load, table_text, with_table
from assay.errors import AssayError
from assay.evaluate import golden as golden_sets
from assay.evaluate.files import write_text
from assay.evaluate.matching import matcher_for
from assay.evaluate.metrics.measures import Measure, parse
from assay.evaluate.tune.search import GAIN, NO_GAIN, TOO_FEW
from assay.evaluate.tune.tuning import Asking, report, tune
from assay.html.elements import probability
from assay.rank.profile import BASE, DEFAULT, PROFILES
from assay.system.inputs import read_bytes
from assay.text.display import counted


def print_tuning(told: dict[str, Any], profile: str, file: str) -> None:
    """Everything there is to say on one screen."""
    golden, folds = told["golden"], told["folds"]
    echo(
        f"{told['base']} tuned on {golden['path']}: {counted(golden['judged'], 'query', 'queries')} judged, {told['measure']}, "
        f"matching {told['matching']}, {counted(len(folds['each']), 'fold')} by {folds['by']}\n"
    )
    _print_held_out(told)
    _print_folds(told)
    if told["changes"]:
        _print_changes(told)
    echo(f"\n{told['said'][0].upper()}{told['said'][1:]}" + ("." if told["outcome"] == GAIN else ": nothing written."))
    if profile:
        written = told["written"]
        echo(f"\n{f'Added to {written}' if written else f'For {file} (--write NAME adds it)'}:\n\n{profile}".rstrip())
    work = told["work"]
    before = f", {work['answered_before']:,} answered before" if work["answered_before"] else ""
    echo(f"\nasked: {counted(work['asked'], 'query', 'queries')} over all settings{before}")


def _print_held_out(told: dict[str, Any]) -> None:
    pair, seen = told["held_out"], told["in_sample"]
    echo(
        f"On queries it was not tuned on: {figure(pair['base'])} → {figure(pair['tuned'])}  ({figure(pair['delta'], signed=True)}, "
        f"95 % {figure(pair['low'], signed=True)} … {figure(pair['high'], signed=True)}, p {probability(pair['p'])}; "
        f"{pair['wins']} better, {pair['losses']} worse, {pair['ties']} alike)"
    )
    echo(f"On those it was tuned on (too good to believe): {figure(seen['base'])} → {figure(seen['tuned'])}")


def _print_folds(told: dict[str, Any]) -> None:
    rows = [
        [number, one["queries"], figure(one["base"]), figure(one["tuned"]), _listed(one["changes"])]
        for number, one in enumerate(told["folds"]["each"], 1)
    ]
    echo("")
    for line in columns(["fold", "queries", told["base"], "tuned", "chosen without it"], rows):
        echo(line)


def _print_changes(told: dict[str, Any]) -> None:
    folds = len(told["folds"]["each"])
    rows = [
        [
            one["name"],
            f"{one['from']:g}",
            f"{one['to']:g}",
            figure(one["brings"], signed=True),
            f"{one['same_direction']}/{folds}",
        ]
        for one in told["changes"]
    ]
    echo("")
    for line in columns(["number", told["base"], "tuned", "brings", "folds that agree"], rows):
        echo(line)


def _listed(changes: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in changes.items()) or "nothing"


# `assay eval tune`.

_LARGEST = 1_000_000  # bytes of an assay.toml

_CODES = {GAIN: 0, NO_GAIN: 1, TOO_FEW: 2}


@click.command("tune")
@click.option(
    "--golden",
    "golden_path",
    required=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The golden set: a file or a folder, any format; one that was mined will do.",
)
@click.option("--measure", "-m", default="nDCG@10", show_default=True, metavar="NAME", help="What is to become better.")
@click.option("--matching", metavar="NAME", help="What counts as found: exact, strict, file, … Default: by the set.")
@click.option(
    "--from", "base", default=DEFAULT, show_default=True, metavar="PROFILE", help="The profile to start from."
)
@click.option("--write", metavar="NAME", help=f"Add the tuned profile to {NAME} under this name, if it is better.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=lambda: os.cpu_count() or 1,
    show_default="all cores",
    help="Processes that ask.",
)
@corpus_option
@root_option
@format_option
def tune_command(
    golden_path: Path,
    measure: str,
    matching: str | None,
    base: str,
    write: str | None,
    jobs: int,
    corpus: Path | None,
    root: Path | None,
    form: str,
) -> None:
    """Adapt the numbers of the ranking to a golden set, and say whether that helps on queries they were not adapted to.

    Numbers are chosen on four fifths of the set and measured on the rest, by turns. Killed, the same command goes on. Exit code 0: better by
    more than chance; 1: no gain that is more than chance, nothing is written; 2: too few queries to tell.
    """
    where, wanted = find_root(root), _measure(measure)
    settled, golden = load(where), golden_sets.load(golden_path)
    settled.profile(base)  # an error when there is none
    if write:
        _profile_text(settled, where, write, {})
    asking = Asking(golden, matcher_for(golden, matching), wanted, where, base, corpus)
    bar = Bar()
    try:
        tuning = tune(asking, kept_at(where, None, "tuning"), jobs, bar)
    finally:
        bar.close()
    told = report(tuning)
    rows = _rows(settled, base, dict(tuning.tuned.changes))
    better = told["outcome"] == GAIN
    told["profile"] = rows
    told["written"] = _write(settled, where, write, rows, told) if write and better else None
    if form == "json":
        print_json(told)
    else:
        print_tuning(told, table_text(("profile", write or "tuned"), rows) if better else "", NAME)
    echo_warnings(told["warnings"])
    raise click.exceptions.Exit(_CODES[told["outcome"]])


def _measure(name: str) -> Measure:
    """A measure of rankings; higher must be better."""
    found = parse(name)
    if found.kind.cut == "no" or not found.higher_is_better:
        raise AssayError(
            f"--measure {name}: rankings are tuned by a measure of rankings, such as nDCG@10, RR@10 or R@20"
        )
    return found


def _rows(settled: Configuration, base: str, changes: dict[str, float]) -> dict[str, Any]:
    """The table of the tuned profile. A base is a built-in one; what one's own profile changes in it stays changed."""
    if base in PROFILES:
        return {BASE: base} | changes
    own: dict[str, Any] = settled.given["profile"][base]
    return {BASE: DEFAULT} | own | changes


def _profile_text(settled: Configuration, root: Path, name: str, rows: dict[str, Any], comment: str = "") -> str:
    """The file as it would be; an error when the name is taken."""
    if name in settled.profiles:
        what = "is built in" if name in PROFILES else f"stands in {NAME} already: remove it there first"
        raise AssayError(f"--write {name}: that profile {what}, or give another name")
    path = root / NAME
    before = read_bytes(path, _LARGEST).decode() if path.exists() else ""
    try:
        return with_table(before, ("profile", name), rows, comment)
    except AssayError as error:
        raise AssayError(f"{path}: {error}. Add it by hand:\n\n{table_text(('profile', name), rows)}") from None


def _write(settled: Configuration, root: Path, name: str, rows: dict[str, Any], told: dict[str, Any]) -> str:
    pair, golden = told["held_out"], told["golden"]
    comment = (
        f"by assay eval tune on {golden['judged']} queries of {Path(golden['path']).name}: {told['measure']} "
        f"{pair['base']:.4f} → {pair['tuned']:.4f} on held-out ones"
    )
    write_text(root / NAME, _profile_text(settled, root, name, rows, comment))
    load(root)
    return str(root / NAME)
