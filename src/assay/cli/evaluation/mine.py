"""`assay eval mine`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from assay.cli.common import echo, find_root, format_option, print_json
from assay.cli.progress import Bar
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
from assay.ingest.languages import language_of
from assay.ingest.outline import outline
from assay.ingest.parse import TextParser
from assay.ingest.walk import is_test_path

_SOURCES: dict[str, Callable[..., Mined]] = {
    "history": mine_history,
    "docstrings": mine_docstrings,
    "documents": mine_documents,
}
_SUFFIXES = (".jsonl", ".ndjson")
_parser = TextParser()  # its worker starts with the first text


def locate(path: str, text: str) -> list[Definition]:
    """The named definitions of a source text, by the same extractor that indexes it."""
    language, test = language_of(path), is_test_path(path)
    return [
        Definition(
            fact.symbol, fact.kind, fact.start, fact.end, doc, language.name if language else "", test or fact.test
        )
        for fact, doc in outline(_parser, path, text)
    ]


@click.command("mine")
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The repository. Default: the one around the current folder.",
)
@click.option(
    "--from",
    "sources",
    type=click.Choice(list(_SOURCES)),
    multiple=True,
    default=("history",),
    show_default=True,
    help="What to mine; may be given several times.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FILE.jsonl",
    help="Where to write the queries. Without it, only the counts are printed.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="At most N queries from each source, of commits the newest; 0: all.",
)
@click.option(
    "--max-commits", type=click.IntRange(min=0), default=0, metavar="N", help="Look at no more than N commits; 0: all."
)
@click.option(
    "--since", default="", metavar="DATE|REVISION", help="Only commits from this day on (UTC), or after this revision."
)
@click.option(
    "--until", default="", metavar="DATE|REVISION", help="Only commits up to this day, or this revision, included."
)
@click.option("--sample", "size", type=click.IntRange(min=1), metavar="N", help="Draw N of the queries.")
@click.option("--seed", type=int, default=0, show_default=True, help="Which sample is drawn.")
@click.option(
    "--split",
    "at",
    default="",
    metavar="DATE|SHARE",
    help="Write two sets, FILE.train.jsonl of older and FILE.test.jsonl of newer commits: 2025-01-31, or 0.8 for 80 % older.",
)
@click.option("--strip-ids", is_flag=True, help="Remove numbers of issues and pull requests from messages.")
@click.option(
    "--strip-names",
    is_flag=True,
    help="Remove expected names and paths from the text: harder, and nearer to how people ask.",
)
@click.option("--keep-trailers", is_flag=True, help="Keep Signed-off-by and the like.")
@click.option("--include-tests", is_flag=True, help="Expect tests, too.")
@click.option(
    "--held-out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --from docstrings: list there the symbols whose doc comments an index must not see.",
)
@format_option
def command(
    root: Path | None,
    sources: tuple[str, ...],
    output: Path | None,
    size: int | None,
    seed: int,
    at: str,
    held_out: Path | None,
    form: str,
    **choices: Any,
) -> None:
    """Make a golden set of what a repository already holds.

    history: a commit's message asks, the symbols its diff touches (as the parent has them) answer. docstrings: a doc comment's first
    paragraph asks for its symbol. documents: a section asks for the symbols it names in backticks.
    """
    _check(sources, output, at, held_out)
    where = cut(at) if at else ""
    mined = _mine(find_root(root), tuple(dict.fromkeys(sources)), Options(**choices, held_out=held_out is not None))
    queries = [query for one in mined.values() for query in one.queries]
    if size:
        queries = sample(queries, size, seed)
    written = _write(queries, output, where)
    if held_out:
        names = [query.id for query in queries if HELD_OUT in query.tags]
        held_out.write_text("".join(f"{name}\n" for name in names), "utf-8")
        written[str(held_out)] = len(names)
    if form == "json":
        print_json(_as_json(mined, len(queries), written))
    else:
        _print(mined, len(queries), written)


def _check(sources: tuple[str, ...], output: Path | None, at: str, held_out: Path | None) -> None:
    """Refuses at once what could only fail after the work is done."""
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
    bar = Bar()
    try:
        return {source: _SOURCES[source](root, locate, options, bar) for source in sources}
    finally:
        bar.close()
        _parser.close()


def _write(queries: list[GoldenQuery], output: Path | None, at: str | float) -> dict[str, int]:
    """Writes one set, or two when split; path → number of queries."""
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
    sources = {name: {"queries": len(one.queries), "left_out": one.counts} for name, one in mined.items()}
    warnings = [warning for one in mined.values() for warning in one.warnings]
    return {"queries": total, "sources": sources, "written": written, "warnings": warnings}


def _print(mined: dict[str, Mined], total: int, written: dict[str, int]) -> None:
    for source, one in mined.items():
        for warning in one.warnings:
            echo(f"warning: {warning}", err=True)
        echo(f"{source}: {len(one.queries)} queries, {sum(one.counts.values())} left out")
        for reason, number in sorted(one.counts.items(), key=lambda row: (-row[1], row[0])):
            echo(f"  {number:6}  {reason}")
    if total != sum(len(one.queries) for one in mined.values()):
        echo(f"sampled: {total} queries")
    for path, number in written.items():
        echo(f"wrote {number} to {path}")
