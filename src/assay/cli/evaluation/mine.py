"""`assay eval mine`."""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from assay.cli.common import Bar, echo, find_root, format_option, print_json
from assay.core.golden import GoldenQuery, GoldenSet, Hit
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
from assay.evaluate.systems.assay import Assay
from assay.evaluate.systems.protocol import SystemFailed
from assay.evaluate.systems.shape import response
from assay.evaluate.verify import Inventory
from assay.git import Listing
from assay.index.outline import outline
from assay.index.parse import TextParser
from assay.index.scan import is_test_path
from assay.languages import language_of
from assay.system.inputs import open_unpacked, read_json, read_lines

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
def mine_command(
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


# What a golden set can be verified against: the index, the files of a folder, a list of items, a BEIR corpus.

_LARGEST_CORPUS = 8_000_000_000  # bytes of a BEIR corpus, of which only the ids are kept


def inventories(golden: GoldenSet, root: Path, corpus: Path | None, items: Path | None) -> dict[str, Inventory]:
    """What there is, by repository; under "" for queries that name none."""
    if items is not None:
        return {"": Inventory(_listed(items), ("symbol", "file", "doc", "chunk", "span"))}
    if golden.format == "beir":
        found = _beir_corpus(Path(golden.path))
        return {"": Inventory((Hit(one) for one in _beir_ids(found)), ("doc",))} if found else {}
    if golden.format == "trec":
        return {}  # the documents of a collection that is elsewhere
    if corpus is None:
        return {"": _of_folder(root)}
    names = {query.repository for query in golden.queries if query.repository}
    return {name: _of_folder(corpus / name) for name in sorted(names) if (corpus / name).is_dir()}


def _of_folder(folder: Path) -> Inventory:
    """The symbols of its index, if there is one, and its files."""
    hits = [Hit(path, path=path, doc=path) for path in _files(folder)]
    levels = ["file", "span", "doc"]
    system = Assay(folder)
    try:
        hits += system.inventory().hits
        levels.append("symbol")
    except SystemFailed:
        pass
    finally:
        system.close()
    return Inventory(hits, levels)


def _files(folder: Path) -> Iterator[str]:
    listed = Listing(folder).paths()
    if listed is not None:
        yield from listed
        return
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            yield (Path(place) / name).relative_to(folder).as_posix()


def _listed(path: Path) -> Iterator[Hit]:
    """Items from a file: a JSON list, JSON lines, or one id per line."""
    with _there(path):
        if _begins_as_list(path):
            try:
                yield from response(read_json(path)).hits
            except ValueError as error:
                raise AssayError(f"{path}: not JSON ({error})") from None
            return
        yield from _listed_by_line(path)


def _listed_by_line(path: Path) -> Iterator[Hit]:
    for number, line in read_lines(path):
        if not line.strip():
            continue
        if line.lstrip().startswith("{"):
            try:
                yield from response([json.loads(line)]).hits
            except (ValueError, RecursionError, AssayError) as error:
                raise AssayError(f"{path}:{number}: {error}") from None
        else:
            yield Hit(line.strip(), symbol=line.strip(), path=line.strip())


def _beir_corpus(golden: Path) -> Path | None:
    folder = golden if golden.is_dir() else golden.parent.parent
    return next((p for p in (folder / "corpus.jsonl", folder / "corpus.jsonl.gz") if p.exists()), None)


def _beir_ids(path: Path) -> Iterator[str]:
    with _there(path):
        for number, line in read_lines(path, _LARGEST_CORPUS):
            try:
                yield str(json.loads(line)["_id"])
            except (ValueError, KeyError, TypeError, RecursionError):
                raise AssayError(f'{path}:{number}: not a BEIR document (an object with "_id")') from None


def _begins_as_list(path: Path) -> bool:
    with open_unpacked(path, _LARGEST_CORPUS) as file:
        return file.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


@contextlib.contextmanager
def _there(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise AssayError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
