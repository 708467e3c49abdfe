"""`assay eval mine`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import click

from assay.cli.common import cluster_option, echo, find_root, format_option, print_json
from assay.cli.evaluation import options
from assay.cli.evaluation.options import echo_warnings, progress_bar
from assay.config.cluster import choose_cluster
from assay.core.cautions import as_json
from assay.core.golden import GoldenQuery
from assay.errors import AssayError
from assay.evaluate.golden import save
from assay.evaluate.mine import (
    HELD_OUT,
    Definition,
    Mined,
    Options,
    cut,
    mine_docstrings,
    mine_documents,
    mine_history,
    sample,
    split,
)
from assay.index.parse import TextParser, outline
from assay.languages import language_of
from assay.languages.conventions import is_test_path

_SOURCES: dict[str, Callable[..., Mined]] = {
    "history": mine_history,
    "docstrings": mine_docstrings,
    "documents": mine_documents,
}
_SUFFIXES = (".jsonl", ".ndjson")
_parser = TextParser()  # starts its worker with the first text


def _limit_option(name: str, help: str) -> options.Decorator:
    return click.option(name, type=click.IntRange(min=0), default=0, metavar="N", help=help)


def locate(path: str, text: str) -> list[Definition]:
    """Return the named definitions of a source text, as the indexer extracts them."""
    language, test = language_of(path), is_test_path(path)
    return [
        Definition(
            fact.symbol, fact.kind, fact.start, fact.end, doc, language.name if language else "", test or fact.test
        )
        for fact, doc in outline(_parser, path, text)
    ]


def parsing() -> AbstractContextManager[object]:
    """Return a context that stops the parser of this process in the end."""
    return closing(_parser)


@click.command("mine")
@options.root
@click.option(
    "--from",
    "sources",
    type=click.Choice(list(_SOURCES)),
    multiple=True,
    default=("history",),
    show_default=True,
    help="The source; may be repeated.",
)
@options.path(
    "--output", "-o", metavar="FILE.jsonl", help="The file to write. Without it, only the counts are printed."
)
@_limit_option("--limit", "At most N queries per source, newest commits first; 0: all.")
@_limit_option("--max-commits", "Read at most N commits; 0: all.")
@click.option(
    "--since", default="", metavar="DATE|REVISION", help="Only commits from this day on (UTC), or after this revision."
)
@click.option(
    "--until", default="", metavar="DATE|REVISION", help="Only commits up to and including this day or revision."
)
@click.option("--sample", "size", type=click.IntRange(min=1), metavar="N", help="Draw a random sample of N queries.")
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of the sample.")
@click.option(
    "--split",
    "at",
    default="",
    metavar="DATE|SHARE",
    help="Write FILE.train.jsonl (older commits) and FILE.test.jsonl (newer): at 2025-01-31, or 0.8 for 80 % older.",
)
@click.option("--strip-ids", is_flag=True, help="Remove issue and pull request numbers from messages.")
@click.option(
    "--strip-names",
    is_flag=True,
    help="Remove expected names and paths from the text: harder, and closer to how people ask.",
)
@click.option("--keep-trailers", is_flag=True, help="Keep Signed-off-by and the like.")
@click.option("--include-tests", is_flag=True, help="Include tests among the expected items.")
@options.count("--jobs", default=1, help="Processes that read commits. The result is the same.")
@cluster_option
@options.path(
    "--held-out", help="With --from docstrings: write the symbols whose doc comments must be hidden from the index."
)
@format_option
def mine_command(
    root: Path | None,
    sources: tuple[str, ...],
    output: Path | None,
    size: int | None,
    seed: int,
    at: str,
    held_out: Path | None,
    cluster: str | None,
    form: str,
    **choices: Any,
) -> None:
    """Build a golden set from what a repository already holds.

    history: a commit message is the query, the symbols its diff touches (in the parent) are expected. docstrings: the
    first paragraph of a doc comment is the query for its symbol. documents: a section is the query for the symbols it
    names in backticks.
    """
    _check(sources, output, at, held_out)
    split_point = cut(at) if at else ""
    chosen_options = Options(**choices, cluster=choose_cluster(cluster), session=parsing, held_out=held_out is not None)
    mined = _mine(find_root(root), tuple(dict.fromkeys(sources)), chosen_options)
    queries = [query for source in mined.values() for query in source.queries]
    if size:
        queries = sample(queries, size, seed)
    written = _write(queries, output, split_point)
    if held_out:
        names = [query.id for query in queries if HELD_OUT in query.tags]
        held_out.write_text("".join(f"{name}\n" for name in names), "utf-8")
        written[str(held_out)] = len(names)
    if form == "json":
        print_json(_as_json(mined, len(queries), written))
    else:
        _print(mined, len(queries), written)


def _check(sources: tuple[str, ...], output: Path | None, at: str, held_out: Path | None) -> None:
    """Reject combinations of options that would fail only after the work is done."""
    if output is not None and output.suffix not in _SUFFIXES:
        raise AssayError(
            f"--output {output}: mined sets are JSON lines; give a name that ends in .jsonl (`assay eval convert` makes others)"
        )
    if at and output is None:
        raise AssayError(f"--split {at}: nothing would be written; give --output FILE.jsonl")
    if at and set(sources) != {"history"}:
        raise AssayError(f"--split {at}: only commits have a date; split with --from history alone")
    if held_out is not None and "docstrings" not in sources:
        raise AssayError(f"--held-out {held_out}: only docstrings are held out; add --from docstrings")


def _mine(root: Path, sources: tuple[str, ...], options: Options) -> dict[str, Mined]:
    with progress_bar() as bar, parsing():
        return {source: _SOURCES[source](root, locate, options, bar) for source in sources}


def _write(queries: list[GoldenQuery], output: Path | None, at: str | float) -> dict[str, int]:
    """Write one set, or two if split; return path → number of queries."""
    if output is None:
        return {}
    sets = {output: queries}
    if at:
        older, newer = split(queries, at)
        sets = {
            output.with_suffix(f".{side}{output.suffix}"): part for side, part in (("train", older), ("test", newer))
        }
    for path, part in sets.items():
        if not part:
            hint = (
                f"--split {at} leaves none on this side" if at else "without --output, the counts say why none was made"
            )
            raise AssayError(f"{path}: no queries to write; {hint}")
    for path, part in sets.items():
        save(part, path, "pairs")
    return {str(path): len(part) for path, part in sets.items()}


def _as_json(mined: dict[str, Mined], total: int, written: dict[str, int]) -> dict[str, object]:
    sources = {name: {"queries": len(result.queries), "left_out": result.counts} for name, result in mined.items()}
    warnings = [warning for result in mined.values() for warning in result.warnings]
    return {"queries": total, "sources": sources, "written": written, "warnings": as_json(warnings)}


def _print(mined: dict[str, Mined], total: int, written: dict[str, int]) -> None:
    for source, result in mined.items():
        echo_warnings(result.warnings)
        echo(f"{source}: {len(result.queries)} queries, {sum(result.counts.values())} left out")
        for reason, number in sorted(result.counts.items(), key=lambda row: (-row[1], row[0])):
            echo(f"  {number:6}  {reason}")
    if total != sum(len(result.queries) for result in mined.values()):
        echo(f"sampled: {total} queries")
    for path, number in written.items():
        echo(f"wrote {number} to {path}")
