"""Commands about symbols: symbols, why, impact, tests."""

from __future__ import annotations

from pathlib import Path

import click

from assay.api import Repository
from assay.cli.common import echo, format_option, print_json
from assay.cli.opening import repository_options
from assay.cli.options import profile_option, session_option
from assay.errors import AssayError
from assay.git import Git
from assay.rank.explain import told
from assay.rank.symbols import NoSuchSymbol
from assay.serve import json_answers
from assay.text.terms import nearest


@click.command("symbols")
@click.argument("pattern")
@repository_options
@click.option("-n", "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many.")
@click.option("--kind", help="Only symbols of this kind: function, method, class, field, …")
@format_option
def symbols_command(pattern: str, repo: Repository, limit: int, kind: str | None, form: str) -> None:
    """List symbols that match PATTERN.

    PATTERN is a name (run, Flask.run, src/app.py::Flask.run), a pattern (*Handler, Flask.*) or part of a name.

    Exit code 1 when nothing matches; the nearest names are offered.
    """
    found = repo.symbols(pattern, kind=kind)
    if form == "json":
        print_json(json_answers.symbols(pattern, found, limit))
        raise click.exceptions.Exit(0 if found else 1)
    if not found:
        raise NoSuchSymbol(pattern, nearest(pattern.strip("*?"), repo.index.names()))
    for item in found[:limit]:
        echo(f"{item.path}:{item.start}  {item.kind} {item.symbol}  {item.signature}")
    if len(found) > limit:
        echo(f"… and {len(found) - limit} more; -n shows more", err=True)


# `assay why`.


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
def why_command(
    task: str, symbol: str, k: int, profile_name: str | None, session: str, repo: Repository, form: str
) -> None:
    """Why SYMBOL stands where it stands in what `assay context TASK` answers: what each word, each factor and the graph added.

    For a symbol that is not among the first k, the step that lost it. If SYMBOL means several, each is explained.
    """
    found = repo.why(task, symbol, k, profile=profile_name, session=session)
    if form == "json":
        print_json(json_answers.why(task, repo.configuration.profile(profile_name).name, found))
        return
    for number, one in enumerate(found):
        if number:
            echo()
        for line in told(one):
            echo(line)


# `assay impact`.


@click.command("impact")
@click.argument("symbol")
@repository_options
@click.option("--depth", type=click.IntRange(min=1), default=5, show_default=True, help="How many steps to follow.")
@click.option(
    "--min-confidence", type=click.FloatRange(0, 1), default=0.1, show_default=True, help="Leave out what is less sure."
)
@click.option("--all", "everything", is_flag=True, help="Follow types, fields and inheritance too, not only calls.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=100, show_default=True, help="At most so many.")
@format_option
def impact_command(
    symbol: str,
    repo: Repository,
    depth: int,
    min_confidence: float,
    everything: bool,
    limit: int,
    form: str,
) -> None:
    """Who would notice if SYMBOL changed: its transitive callers, by depth and confidence.

    SYMBOL is a name as you would write it: run, Flask.run, or src/app.py::Flask.run. If several match, all are meant.
    """
    changed = repo.symbol(symbol)
    found = repo.impact(symbol, depth=depth, min_confidence=min_confidence, everything=everything)
    if form == "json":
        print_json(json_answers.impact(changed, found, limit))
        return
    for item in changed:
        echo(f"{item.kind} {item.symbol}  {item.path}:{item.start}")
    if not found:
        echo(f"nothing in {'this repository' if '' in repo.members else 'these repositories'} calls it")
    shown = 0
    for affected in found[:limit]:
        if affected.depth != shown:
            shown = affected.depth
            echo(f"\n{shown} step{'s' if shown > 1 else ''} away:")
        who, what = affected.item.symbol or "(file)", affected.through.rpartition("::")[2]
        echo(f"  {affected.confidence:4.2f}  {affected.item.path}:{affected.line}  {who}  {affected.edge} {what}")
    if len(found) > limit:
        echo(f"… and {len(found) - limit} more; -n shows more", err=True)


# `assay tests`.


@click.command("tests")
@click.argument("files", nargs=-1)
@repository_options
@click.option("--depth", type=click.IntRange(min=1), default=6, show_default=True, help="How many steps to follow.")
@click.option("--paths", is_flag=True, help="Print only the paths of the test files, for a test runner.")
@format_option
def tests_command(files: tuple[str, ...], repo: Repository, depth: int, paths: bool, form: str) -> None:
    """The tests that reach FILES, or without FILES what git diff HEAD shows, nearest and surest first."""
    wanted = repo.paths_of(files) if files else _changed(repo.only("what git diff shows").root)
    known = wanted if files else [path for path in wanted if path in repo.files]
    found = repo.affected_tests(known, depth=depth)
    test_files = list(dict.fromkeys(a.item.path for a in found))
    if form == "json":
        print_json({"files": known, "test_files": test_files, "tests": [json_answers.affected(one) for one in found]})
    elif paths:
        for path in test_files:
            echo(path)
    elif not wanted:
        echo("nothing changed since the last commit; name files to ask about them")
    elif not found:
        echo(f"no test reaches {', '.join(known) or 'the changed files'}")
    else:
        for affected in found:
            echo(
                f"{affected.confidence:4.2f}  {affected.item.path}:{affected.item.start}  {affected.item.symbol or '(file)'}"
            )


def _changed(root: Path) -> list[str]:
    """Tracked files that differ from HEAD, and new ones; before the first commit, all of them."""
    git, new = Git(root), ("ls-files", "-z", "--others", "--exclude-standard")
    try:
        if git.revision("HEAD"):
            return sorted({*git.paths("diff", "--name-only", "-z", "--relative", "HEAD"), *git.paths(*new)})
        return sorted({*git.paths(*new, "--cached")})
    except AssayError as error:
        raise AssayError(f"{error}; name the files whose tests are wanted") from None
