"""`assay eval mine`, and the inventories that `assay eval verify` checks against."""

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
from assay.languages import language_of
from assay.languages.conventions import is_test_path
from assay.system.inputs import open_unpacked, read_json, read_lines

_SOURCES: dict[str, Callable[..., Mined]] = {
    "history": mine_history,
    "docstrings": mine_docstrings,
    "documents": mine_documents,
}
_SUFFIXES = (".jsonl", ".ndjson")
_parser = TextParser()  # starts its worker with the first text


def locate(path: str, text: str) -> list[Definition]:
    """Return the named definitions of a source text, as the indexer extracts them."""
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
    help="The repository. Default: the one that contains the current folder.",
)
@click.option(
    "--from",
    "sources",
    type=click.Choice(list(_SOURCES)),
    multiple=True,
    default=("history",),
    show_default=True,
    help="The source; may be repeated.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FILE.jsonl",
    help="The file to write. Without it, only the counts are printed.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="At most N queries per source, newest commits first; 0: all.",
)
@click.option(
    "--max-commits", type=click.IntRange(min=0), default=0, metavar="N", help="Read at most N commits; 0: all."
)
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
@click.option(
    "--held-out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --from docstrings: write the symbols whose doc comments must be hidden from the index.",
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
    """Build a golden set from what a repository already holds.

    history: a commit message is the query, the symbols its diff touches (in the parent) are expected. docstrings: the
    first paragraph of a doc comment is the query for its symbol. documents: a section is the query for the symbols it
    names in backticks.
    """
    _check(sources, output, at, held_out)
    split_point = cut(at) if at else ""
    mined = _mine(find_root(root), tuple(dict.fromkeys(sources)), Options(**choices, held_out=held_out is not None))
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
    bar = Bar()
    try:
        return {source: _SOURCES[source](root, locate, options, bar) for source in sources}
    finally:
        bar.close()
        _parser.close()


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
    return {"queries": total, "sources": sources, "written": written, "warnings": warnings}


def _print(mined: dict[str, Mined], total: int, written: dict[str, int]) -> None:
    for source, result in mined.items():
        for warning in result.warnings:
            echo(f"warning: {warning}", err=True)
        echo(f"{source}: {len(result.queries)} queries, {sum(result.counts.values())} left out")
        for reason, number in sorted(result.counts.items(), key=lambda row: (-row[1], row[0])):
            echo(f"  {number:6}  {reason}")
    if total != sum(len(result.queries) for result in mined.values()):
        echo(f"sampled: {total} queries")
    for path, number in written.items():
        echo(f"wrote {number} to {path}")


# Inventories of retrievable items: index, folder, item list, BEIR corpus

_LARGEST_CORPUS = 8_000_000_000  # bytes of a BEIR corpus; only its ids are kept


def inventories(golden: GoldenSet, root: Path, corpus: Path | None, items: Path | None) -> dict[str, Inventory]:
    """Return the retrievable items by repository; "" for queries without one."""
    if items is not None:
        return {"": Inventory(_read_items(items), ("symbol", "file", "doc", "chunk", "span"))}
    if golden.format == "beir":
        corpus_file = _beir_corpus(Path(golden.path))
        return (
            {"": Inventory((Hit(identifier) for identifier in _beir_ids(corpus_file)), ("doc",))} if corpus_file else {}
        )
    if golden.format == "trec":
        return {}  # the documents are elsewhere
    if corpus is None:
        return {"": _folder_inventory(root)}
    names = {query.repository for query in golden.queries if query.repository}
    return {name: _folder_inventory(corpus / name) for name in sorted(names) if (corpus / name).is_dir()}


def _folder_inventory(folder: Path) -> Inventory:
    """Return the files of a folder and the symbols of its index, if any."""
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
    git_paths = Listing(folder).paths()
    if git_paths is not None:
        yield from git_paths
        return
    for folder_path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            yield (Path(folder_path) / name).relative_to(folder).as_posix()


def _read_items(path: Path) -> Iterator[Hit]:
    """Read items from a file: a JSON list, JSON lines, or one id per line."""
    with _readable(path):
        if _is_json_list(path):
            try:
                yield from response(read_json(path)).hits
            except ValueError as error:
                raise AssayError(f"{path}: not JSON ({error})") from None
            return
        yield from _read_item_lines(path)


def _read_item_lines(path: Path) -> Iterator[Hit]:
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
    return next((path for path in (folder / "corpus.jsonl", folder / "corpus.jsonl.gz") if path.exists()), None)


def _beir_ids(path: Path) -> Iterator[str]:
    with _readable(path):
        for number, line in read_lines(path, _LARGEST_CORPUS):
            try:
                yield str(json.loads(line)["_id"])
            except (ValueError, KeyError, TypeError, RecursionError):
                raise AssayError(f'{path}:{number}: not a BEIR document (an object with "_id")') from None


def _is_json_list(path: Path) -> bool:
    with open_unpacked(path, _LARGEST_CORPUS) as file:
        return file.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Convert read errors to AssayError."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise AssayError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
