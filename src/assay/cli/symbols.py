"""Commands about symbols: symbols, why, impact, graph, owners, tests."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

import click

from assay.api import Repository
from assay.cli.common import (
    echo,
    echo_lines,
    echo_row,
    echo_styled,
    echo_wrapped,
    format_option,
    is_terminal,
    print_json,
    rows_that_fit,
)
from assay.cli.options import (
    Refresh,
    TextOrStdin,
    depth_option,
    limit_option,
    profile_option,
    question_options,
    session_option,
)
from assay.cli.screen import definition_lines
from assay.core.items import EDGE_TYPES, EXTERNAL
from assay.errors import AssayError
from assay.git import Git
from assay.pack.render.diagram import DIAGRAMS
from assay.rank.explain import render_explanation
from assay.rank.impact import Affected
from assay.rank.neighbourhood import SHOWN, Relation
from assay.rank.owners import Owners
from assay.rank.symbols import missing
from assay.serve import json_answers
from assay.store.links.authors import day
from assay.text.display import counted, one_line, path_mark


@click.command("symbols")
@click.argument("pattern")
@question_options
@limit_option(50, "symbols")
@click.option("--kind", help="Only symbols of this kind: function, method, class, field, …")
@format_option
def symbols_command(pattern: str, repo: Repository, refresh: Refresh, limit: int, kind: str | None, form: str) -> None:
    """List symbols that match PATTERN.

    PATTERN is a name (run, Flask.run, flask.app.Flask.run, src/app.py::Flask.run), a place (src/app.py:120), a pattern
    (*Handler, Flask.*) or part of a name.

    Exit code 1 when nothing matches; the nearest names are suggested.
    """
    refresh()
    matches = repo.symbols(pattern, kind=kind)
    if form == "json":
        print_json(json_answers.symbols(pattern, matches, limit))
        raise click.exceptions.Exit(0 if matches else 1)
    if not matches:
        raise missing(repo.index, pattern)
    for item in matches[:limit]:
        if is_terminal():
            for line in definition_lines(item, shutil.get_terminal_size().columns):
                echo_styled(*line)
        else:
            echo(
                one_line(f"{path_mark(item.path)}{item.path}:{item.start}  {item.kind} {item.symbol}  {item.signature}")
            )
    if len(matches) > limit:
        echo(f"… and {len(matches) - limit} more; -n shows more", err=True)


# assay why


@click.command("why")
@click.argument("task", type=TextOrStdin("task"))
@click.argument("symbol")
@click.option(
    "-k", type=click.IntRange(min=1), default=10, show_default=True, help="Number of results that count as the answer."
)
@profile_option
@session_option
@question_options
@format_option
def why_command(
    task: str,
    symbol: str,
    k: int,
    profile_name: str | None,
    session: str,
    repo: Repository,
    refresh: Refresh,
    form: str,
) -> None:
    """Explain the rank of SYMBOL in `assay context TASK`: the contribution of each word, each factor and the graph.

    For a symbol outside the first k, name the step that dropped it. SYMBOL is a name (Flask.run, flask.app.Flask.run,
    src/app.py::Flask.run) or a place (src/app.py:120). If several match, all are explained. The TASK - is read from
    standard input.
    """
    refresh()
    explanations = repo.why(task, symbol, k, profile=profile_name, session=session)
    if form == "json":
        print_json(json_answers.why(task, repo.configuration.profile(profile_name).name, explanations))
        return
    for number, explanation in enumerate(explanations):
        if number:
            echo()
        for line in render_explanation(explanation):
            echo_wrapped(line)


# assay impact


@click.command("impact")
@click.argument("symbol")
@question_options
@depth_option(5)
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.1,
    show_default=True,
    help="Minimum confidence of a result.",
)
@click.option("--all", "everything", is_flag=True, help="Follow types, fields and inheritance too, not only calls.")
@limit_option(100, "results")
@format_option
def impact_command(
    symbol: str,
    repo: Repository,
    refresh: Refresh,
    depth: int,
    min_confidence: float,
    everything: bool,
    limit: int,
    form: str,
) -> None:
    """List the transitive callers of SYMBOL, by depth and confidence: what a change could break.

    SYMBOL is a name such as run, Flask.run, flask.app.Flask.run or src/app.py::Flask.run, or a place such as
    src/app.py:120. If several match, all are included.
    """
    refresh(complete=True)
    changed = repo.symbol(symbol)
    dependents = repo.impact(symbol, depth=depth, min_confidence=min_confidence, everything=everything)
    around = repo.surroundings(symbol, [affected.item for affected in dependents])
    if form == "json":
        print_json(json_answers.impact(repo, changed, dependents, limit, around))
        return
    for item in changed:
        echo(f"{item.kind} {item.symbol}  {item.path}:{item.start}")
        if observed := repo.observed(item):
            echo(f"  {observed}")
    if not dependents:
        echo(f"nothing in {'this repository' if '' in repo.members else 'these repositories'} calls it")
    shown_depth = 0
    for affected in dependents[:limit]:
        if affected.depth != shown_depth:
            shown_depth = affected.depth
            echo(f"\n{shown_depth} step{'s' if shown_depth > 1 else ''} away:")
        name, what = affected.item.symbol or "(file)", affected.through.rpartition("::")[2]
        detail = f" ({affected.detail})" if affected.detail else ""
        echo_row(
            f"  {affected.confidence:4.2f}  {affected.item.path}:{affected.line}  {name}  {affected.edge} {what}{detail}"
        )
    if len(dependents) > limit:
        echo(f"… and {len(dependents) - limit} more; -n shows more", err=True)
    _print_surroundings(around, {item.id for item in changed}, limit)


def _print_surroundings(around: Sequence[Relation], changed: Collection[str], limit: int) -> None:
    """Print what is outside the code, without the name of the symbol that was asked about."""
    if around:
        echo("\naround it:")
    for relation in around[:limit]:
        is_incoming = relation.target in changed
        other = (relation.source if is_incoming else relation.target).removeprefix(EXTERNAL)
        kind = EDGE_TYPES[relation.type].reverse if is_incoming else relation.type
        through = "" if is_incoming or relation.source in changed else f", through {relation.source}"
        detail = f" ({relation.detail})" if relation.detail else ""
        name = other if "::" in other else other.partition(":")[2] or other  # an item, or `kind:name`
        echo_row(f"  {kind.replace('_', ' ')}  {name}{through}{detail}")
    if len(around) > limit:
        echo(f"… and {len(around) - limit} more; -n shows more", err=True)


# assay graph


@click.command("graph")
@click.argument("symbol")
@question_options
@depth_option(1)
@limit_option(40, "nodes")
@click.option(
    "--edge",
    "edges",
    multiple=True,
    type=click.Choice(SHOWN),
    metavar="TYPE",
    help="Only relations of this type, such as calls; repeatable.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["mermaid", "dot", "json"]),
    default="mermaid",
    show_default=True,
    help="Mermaid (GitHub, GitLab and editors render it), Graphviz or JSON.",
)
def graph_command(
    symbol: str, repo: Repository, refresh: Refresh, depth: int, limit: int, edges: tuple[str, ...], form: str
) -> None:
    """Draw what is around SYMBOL: callers, callees, types, tests, routes, deployments, owners, other services.

    SYMBOL may also be the path of a manifest, dependency:NAME or deployment:PATH#UNIT.

    Solid lines are certain, dotted ones inferred. `assay graph Flask.run --format dot | dot -Tsvg > run.svg`
    """
    refresh(complete=True)
    graph = repo.graph(symbol, depth=depth, limit=limit, edges=edges)
    if form == "json":
        print_json(json_answers.graph(graph))
        return
    echo_lines(DIAGRAMS[form](graph).rstrip("\n"))


# assay owners


@click.command("owners")
@click.argument("place")
@question_options
@limit_option(5, "authors")
@format_option
def owners_command(place: str, repo: Repository, refresh: Refresh, limit: int, form: str) -> None:
    """Name whom to ask about PLACE: its owners by CODEOWNERS, its authors, and its last change.

    PLACE is a file, indexed or not, or a symbol (src/app.py, Flask.run, src/app.py:120). Authors are those of the
    commits that `assay index` reads; commits by bots, merges and bulk changes do not count. Exit code 1 when nobody is
    known.
    """
    refresh(complete=True)
    answers = repo.owners(place)
    nobody = not any(answer.rules or answer.authors for answer in answers)
    if form == "json":
        print_json(json_answers.owners(place, answers))
    else:
        for number, answer in enumerate(answers):
            if number:
                echo()
            _print_owners(answer, limit)
    raise click.exceptions.Exit(1 if nobody else 0)


def _print_owners(answer: Owners, limit: int) -> None:
    echo(one_line(f"{path_mark(answer.place.partition('::')[0])}{answer.place}"))
    if not answer.rules:
        echo_row("  owners   no rule of a CODEOWNERS file matches")
    for number, rule in enumerate(answer.rules):
        echo_row(f"  {'owners ' if not number else '       '}  {rule.owner}  {rule.path}:{rule.line} ({rule.pattern})")
    about = "the file, as no recorded commit touched the symbol itself" if answer.of_file else ""
    if not answer.authors:
        echo_row("  authors  none: no commit of the recorded history, which is that of indexed files, changed it")
    for number, author in enumerate(answer.authors[:limit]):
        commits = f"{counted(author.commits, 'commit')} ({author.share:.0%}), last {day(author.last)}"
        echo_row(f"  {'authors' if not number else '       '}  {author.name}  {commits}")
    if len(answer.authors) > limit:
        echo_row(f"           and {len(answer.authors) - limit} more")
    if answer.last:
        change = answer.last
        echo_row(f"  changed  {day(change.time)}  {change.commit[:10]}  {change.author}  {change.subject}")
    if about and answer.authors:
        echo_row(f"  authors and last change are those of {about}")


# assay tests


@click.command("tests")
@click.argument("places", nargs=-1)
@question_options
@depth_option(6)
@click.option("--paths", is_flag=True, help="Print only the paths of the test files, for a test runner.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    help="Maximum number of tests. Default: all; in a terminal as many as fit.",
)
@format_option
def tests_command(
    places: tuple[str, ...], repo: Repository, refresh: Refresh, depth: int, paths: bool, limit: int | None, form: str
) -> None:
    """List the tests that reach PLACES, nearest and most certain first.

    PLACES are files or symbols (src/app.py, Flask.run, src/app.py:120); by default the files of git diff HEAD.
    """
    refresh(complete=True)
    requested = repo.ids_of(places) if places else _changed_files(repo.only("what git diff shows").root)
    indexed = requested if places else [path for path in requested if path in repo.files]
    tests = repo.affected_tests(indexed, depth=depth)
    test_files = list(dict.fromkeys(affected.item.path for affected in tests))
    if form == "json":
        print_json(
            {
                "files": indexed,
                "test_files": test_files,
                "tests": [json_answers.affected(affected) for affected in tests],
            }
        )
    elif paths:
        for path in test_files:
            echo(path)
    elif not requested:
        echo("nothing changed since the last commit; name files to ask about them")
    elif not tests:
        echo(f"no test reaches {', '.join(indexed) or 'the changed files'}")
    else:
        _print_tests(tests, limit or (rows_that_fit() if is_terminal() else len(tests)))


def _print_tests(tests: list[Affected], limit: int) -> None:
    for affected in tests[:limit]:
        item = affected.item
        echo_row(f"{affected.confidence:4.2f}  {item.path}:{item.start}  {item.symbol or '(file)'}")
    if len(tests) > limit:
        echo(f"… and {len(tests) - limit} more; -n shows more, --paths the files", err=True)


def _changed_files(root: Path) -> list[str]:
    """Return tracked files that differ from HEAD, and new ones; before the first commit, all files."""
    git, new = Git(root), ("ls-files", "-z", "--others", "--exclude-standard")
    try:
        if git.revision("HEAD"):
            return sorted({*git.paths("diff", "--name-only", "-z", "--relative", "HEAD"), *git.paths(*new)})
        return sorted({*git.paths(*new, "--cached")})
    except AssayError as error:
        raise AssayError(f"{error}; name the files to find tests for") from None
