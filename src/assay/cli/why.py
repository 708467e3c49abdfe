"""`assay why`."""

from __future__ import annotations

import dataclasses

import click

from assay.cli.common import format_option, print_json
from assay.cli.opening import repository_options
from assay.cli.ranking import profile_option
from assay.cli.symbols import as_json
from assay.repository import Repository
from assay.retrieve.explain import Explanation


@click.command("why")
@click.argument("task")
@click.argument("symbol")
@click.option(
    "-k", type=click.IntRange(min=1), default=10, show_default=True, help="How many results count as the answer."
)
@profile_option
@repository_options
@format_option
def command(task: str, symbol: str, k: int, profile_name: str | None, repo: Repository, form: str) -> None:
    """Why SYMBOL stands where it stands for TASK: every word, every component, the way the walk came.

    For a symbol that is not among the first k, the step that lost it. If SYMBOL means several, each is explained.
    """
    told = repo.why(task, symbol, k, profile=profile_name)
    if form == "json":
        print_json(
            {
                "task": task,
                "profile": repo.configuration.profile(profile_name).name,
                "explanations": [_json(one) for one in told],
            }
        )
        return
    for number, one in enumerate(told):
        if number:
            click.echo()
        _print(one)


def _json(one: Explanation) -> dict[str, object]:
    return {
        **as_json(one.item), "rank": one.rank, "score": one.score, "best": one.best, "lost": one.lost, "channels": one.channels,
        "factors": one.factors, "pointed": one.pointed, "shared": one.shared, "parts": one.parts, "times": one.times,
        "words": [dataclasses.asdict(word) for word in one.words], "walk": [dataclasses.asdict(way) for way in one.ways],
    }  # fmt: skip


def _print(one: Explanation) -> None:
    item = one.item
    place = f"rank {one.rank}, score {one.score:.3f} of {one.best:.3f}" if one.rank else "not ranked"
    click.echo(f"{item.kind} {item.symbol}  {item.path}:{item.start}\n  {place}")
    if one.lost:
        click.echo(f"  lost: {one.lost}")
    if one.words:
        click.echo("  words of the task:")
        for word in one.words:
            fields = ", ".join(f"{name} {count}" for name, count in word.fields.items())
            click.echo(f"    {word.score:6.2f}  {word.term} (rarity {word.rarity:.1f}; {fields})")
    if one.channels:
        click.echo("  channels: " + ", ".join(f"{name} {rank}" for name, rank in one.channels.items()))
    if one.factors:
        click.echo(f"  {one.factors['lexical']:8.2f}  by its words, times")
        for name, value in one.factors.items():
            if name != "lexical":
                click.echo(f"  {value:8.2f}    {name}")
        if one.pointed:
            click.echo(f"  {one.pointed:+8.2f}  because the task points at it")
        click.echo(f"  {one.shared:+8.2f}  from its container and members")
        click.echo(f"  {one.score:8.3f}  in all, the sum of")
        for name, value in one.parts.items():
            click.echo(f"  {value:8.3f}    {name}" + (" (share of the best)" if name in ("direct", "walk") else ""))
        for name, value in one.times.items():
            if value != 1:
                click.echo(
                    f"  {value:8.2f}  times, as one of the folder's best"
                    if name == "folder"
                    else f"  {value:8.2f}  times, as another of that name"
                )
    if one.ways:
        click.echo("  the walk came by")
    for way in one.ways:
        click.echo(f"    {way.share:6.0%}  {way.source} ({way.edge})")
