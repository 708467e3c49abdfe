"""What a golden set can be verified against: the index, the files of a folder, a list of items, a BEIR corpus."""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from assay.core.golden import GoldenSet
from assay.core.hits import Hit
from assay.errors import AssayError
from assay.evaluate.systems.assay import Assay
from assay.evaluate.systems.protocol import SystemFailed
from assay.evaluate.systems.shape import response
from assay.evaluate.verify import Inventory
from assay.git import Listing
from assay.system.inputs import open_unpacked, read_json, read_lines

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
