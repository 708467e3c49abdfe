"""A tuning for people at a terminal: the verdict with its figures, what changes, how stable the choice is, and the profile."""

from __future__ import annotations

from typing import Any

from assay.cli.common import echo
from assay.cli.evaluation.common import columns, figure
from assay.evaluate.report.wording import probability
from assay.evaluate.tune.verdict import GAIN
from assay.text.counting import counted


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
