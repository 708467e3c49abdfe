"""`assay why`."""

from __future__ import annotations

import math

import click

from assay import json_answers
from assay.cli.common import format_option, print_json
from assay.cli.opening import repository_options
from assay.cli.ranking import profile_option, session_option
from assay.repository import Repository
from assay.retrieve.explain import FACTORS, PARTS, TIMES, Explanation

_TOLD = 0.005  # a factor nearer to 1 than this is not worth a line: two digits would say 1.00


@click.command("why")
@click.argument("task")
@click.argument("symbol")
@click.option(
    "-k", type=click.IntRange(min=1), default=10, show_default=True, help="How many results count as the answer."
)
@profile_option
@session_option
@repository_options
@format_option
def command(
    task: str, symbol: str, k: int, profile_name: str | None, session: str, repo: Repository, form: str
) -> None:
    """Why SYMBOL stands where it stands in what `assay context TASK` answers: what each word, each factor and the graph added.

    For a symbol that is not among the first k, the step that lost it. If SYMBOL means several, each is explained.
    """
    told = repo.why(task, symbol, k, profile=profile_name, session=session)
    if form == "json":
        print_json(json_answers.why(task, repo.configuration.profile(profile_name).name, told))
        return
    for number, one in enumerate(told):
        if number:
            click.echo()
        _print(one)


def _print(one: Explanation) -> None:
    item = one.item
    place = f"rank {one.rank}, score {one.score:.3f}; the best has {one.best:.3f}" if one.rank else "not ranked"
    click.echo(f"{item.kind} {item.symbol}  {item.path}:{item.start}\n  {place}")
    if one.lost:
        click.echo(f"  lost: {one.lost}")
    if one.factors:
        _print_direct(one)
        _print_score(one)
    if one.ways:
        click.echo("  the walk came by")
    for way in one.ways:
        click.echo(f"      {way.share:6.0%}  {way.source}, {way.edge.replace('_', ' ')} it")


def _print_direct(one: Explanation) -> None:
    """The words, what multiplies them, and what is added."""
    click.echo("  words of the task, by their stems")
    for word in one.words:
        fields = ", ".join(f"{name} {count}" for name, count in word.fields.items())
        _line("+", word.score, f"{word.term} (rarity {word.rarity:.1f}; {fields})")
    if not one.words:
        _line("+", 0.0, "it has none")
    for name, value in one.factors.items():
        if one.words and name != "lexical" and abs(value - 1) >= _TOLD:
            _line("×", value, f"{name}: {FACTORS.get(name, '')}")
    if one.pointed:
        _line("+", one.pointed, "the task points at it")
    if one.shared:
        _line("+", one.shared, "from what contains it and what it contains")
    _line("=", math.prod(one.factors.values()) + one.pointed + one.shared, "")
    if one.channels:
        click.echo("    found as " + ", ".join(f"number {rank} by {name}" for name, rank in one.channels.items()))


def _print_score(one: Explanation) -> None:
    """The parts that add up to the score."""
    click.echo("  score")
    for name, value in one.parts.items():
        if value:
            _line("+", value, f"{name}: {PARTS.get(name, '')}", 3)
    for name, value in one.times.items():
        if abs(value - 1) >= _TOLD:
            _line("×", value, f"{name}: {TIMES.get(name, '')}", 3)
    _line("=", one.score, "", 3)


def _line(sign: str, value: float, told: str, digits: int = 2) -> None:
    click.echo(f"    {sign} {value:6.{digits}f}  {told}".rstrip())
